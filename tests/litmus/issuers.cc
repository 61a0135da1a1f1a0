// SPDX-License-Identifier: BSD-3-Clause
//
// Who carries out the steps of litmus tests: the program's thread, another thread of it, a kernel that a thread of the CPU
// plays, an OpenCL queue, a CUDA stream.
#include "litmus.h"

#include "../api/check.h"

#include <thread>

// What is put: words that stay as they are until the batch has ended. All threads of a PE put the same value and as many
// bytes at a time, so no more is written than that: a batch of 8-byte tries takes less time than filling 256 KiB.
static uint64_t *source_of(uint64_t value, size_t nbytes)
{
    static uint64_t *sources[2]; // of even and odd values: a batch has values of one or two
    static size_t filled[2];     // words
    uint64_t *&words = sources[value % 2];
    size_t &n = filled[value % 2];
    if (!words)
        words = static_cast<uint64_t *>(aligned_alloc(4096, LITMUS_X_BYTES));
    if (words[0] != value)
        n = 0;
    for (; n < nbytes / sizeof(uint64_t); n++)
        words[n] = value;
    CHECK(nbytes <= LITMUS_X_BYTES);
    return words;
}

static bool all(const litmus_object &)
{
    return true;
}

// ---- A thread of the host -------------------------------------------------------------------------------------------

static void run_here(void (*body)(void *), void *argument)
{
    body(argument);
}
static void run_in_thread(void (*body)(void *), void *argument)
{
    std::thread(body, argument).join();
}

static void host_write(litmus_form form, const litmus_place &to, uint64_t value, size_t nbytes)
{
    switch (form) {
    case FORM_PUT:
        shmem_putmem(to.word(), source_of(value, nbytes), nbytes, to.pe);
        break;
    case FORM_PUT_NBI:
        shmem_putmem_nbi(to.word(), source_of(value, nbytes), nbytes, to.pe);
        break;
    case FORM_P:
        shmem_uint64_p(to.word(), value, to.pe);
        break;
    case FORM_ATOMIC:
        shmem_uint64_atomic_set(to.word(), value, to.pe);
        break;
    default:
        shmem_signal_set(SHMEM_CTX_DEFAULT, to.word(), value, to.pe);
    }
}

static void host_put_signal(const litmus_place &to, uint64_t value, size_t nbytes, const litmus_place &signal)
{
    shmem_putmem_signal_nbi(to.word(), source_of(value, nbytes), nbytes, signal.word(), value, SHMEM_SIGNAL_SET, to.pe);
}

static void host_order(litmus_order order, const litmus_object &)
{
    if (order == ORDER_FENCE)
        shmem_fence();
    else if (order == ORDER_QUIET)
        shmem_quiet();
}

static void host_read(const litmus_place &from, uint64_t *result)
{
    if (from.object->is_host && from.pe == shmem_my_pe())
        *result = __atomic_load_n(from.word(), __ATOMIC_ACQUIRE);
    else
        *result = shmem_uint64_g(from.word(), from.pe);
}

static void host_wait(const litmus_place &own, uint64_t value)
{
    shmem_uint64_wait_until(own.word(), SHMEM_CMP_GE, value);
}

static const litmus_issuer host = {"host",     false,           false,      256,       all,      run_here,
                                   host_write, host_put_signal, host_order, host_read, host_wait};
static const litmus_issuer another = {"thread",   false,           false,      256,       all,      run_in_thread,
                                      host_write, host_put_signal, host_order, host_read, host_wait};

// ---- A kernel, played by a thread of the CPU ------------------------------------------------------------------------

static const shmemx_device_thread_t one;

static bool has_view(const litmus_object &object)
{
    return object.has_view;
}
static void run_kernel(void (*body)(void *), void *argument)
{
    shmemx_device_host_launch(1, 1, [=] { body(argument); });
}

static void kernel_write(litmus_form form, const litmus_place &to, uint64_t value, size_t nbytes)
{
    const shmemx_device_view_t &view = to.object->view;
    switch (form) {
    case FORM_PUT:
        shmemx_device_putmem(one, view, to.word(), source_of(value, nbytes), nbytes, to.pe);
        break;
    case FORM_PUT_NBI:
        shmemx_device_putmem_nbi(one, view, to.word(), source_of(value, nbytes), nbytes, to.pe);
        break;
    case FORM_P:
        shmemx_device_p(view, to.word(), value, to.pe);
        break;
    case FORM_ATOMIC:
        shmemx_device_atomic_set(view, to.word(), value, to.pe);
        break;
    default:
        shmemx_device_signal_set(view, to.word(), value, to.pe);
    }
}

static void kernel_put_signal(const litmus_place &to, uint64_t value, size_t nbytes, const litmus_place &signal)
{
    shmemx_device_put_signal_nbi(one, to.object->view, reinterpret_cast<char *>(to.word()),
                                 reinterpret_cast<const char *>(source_of(value, nbytes)), nbytes, signal.object->view,
                                 signal.word(), value, SHMEM_SIGNAL_SET, to.pe);
}

static void kernel_order(litmus_order order, const litmus_object &object)
{
    if (order == ORDER_FENCE)
        shmemx_device_fence(one, object.view);
    else if (order == ORDER_QUIET)
        shmemx_device_quiet(one, object.view);
}

static void kernel_read(const litmus_place &from, uint64_t *result)
{
    *result = shmemx_device_g(from.object->view, from.word(), from.pe);
}

static void kernel_wait(const litmus_place &own, uint64_t value)
{
    shmemx_device_wait_until(one, own.object->view, own.word(), SHMEM_CMP_GE, value);
}

static const litmus_issuer kernel = {"kernel",     true,        true,         512,
                                     has_view,     run_kernel,  kernel_write, kernel_put_signal,
                                     kernel_order, kernel_read, kernel_wait};

// ---- A queue or a stream --------------------------------------------------------------------------------------------

#define ENQUEUE_ON(_suffix, _name, ...) shmemx_##_name##_on_##_suffix(__VA_ARGS__)
#define ISSUER(_suffix, _end, ...)                                                                                     \
    static void _suffix##_run(void (*body)(void *), void *argument)                                                    \
    {                                                                                                                  \
        body(argument);                                                                                                \
        litmus_finish(litmus_##_suffix());                                                                             \
    }                                                                                                                  \
    static void _suffix##_write(litmus_form form, const litmus_place &to, uint64_t value, size_t nbytes)               \
    {                                                                                                                  \
        switch (form) {                                                                                                \
        case FORM_P:                                                                                                   \
            ENQUEUE_ON(_suffix, uint64_p, to.word(), value, to.pe, __VA_ARGS__);                                       \
            break;                                                                                                     \
        case FORM_ATOMIC:                                                                                              \
            ENQUEUE_ON(_suffix, uint64_atomic_set, to.word(), value, to.pe, __VA_ARGS__);                              \
            break;                                                                                                     \
        case FORM_SIGNAL:                                                                                              \
            ENQUEUE_ON(_suffix, signal_op, to.word(), value, SHMEM_SIGNAL_SET, to.pe, __VA_ARGS__);                    \
            break;                                                                                                     \
        default:                                                                                                       \
            ENQUEUE_ON(_suffix, putmem, to.word(), source_of(value, nbytes), nbytes, to.pe, __VA_ARGS__);              \
        }                                                                                                              \
    }                                                                                                                  \
    static void _suffix##_put_signal(const litmus_place &to, uint64_t value, size_t nbytes,                            \
                                     const litmus_place &signal)                                                       \
    {                                                                                                                  \
        ENQUEUE_ON(_suffix, putmem_signal, to.word(), source_of(value, nbytes), nbytes, signal.word(), value,          \
                   SHMEM_SIGNAL_SET, to.pe, __VA_ARGS__);                                                              \
    }                                                                                                                  \
    static void _suffix##_order(litmus_order order, const litmus_object &)                                             \
    {                                                                                                                  \
        if (order == ORDER_FENCE)                                                                                      \
            ENQUEUE_ON(_suffix, fence, __VA_ARGS__);                                                                   \
        else if (order == ORDER_QUIET)                                                                                 \
            ENQUEUE_ON(_suffix, quiet, __VA_ARGS__);                                                                   \
    }                                                                                                                  \
    static void _suffix##_read(const litmus_place &from, uint64_t *result)                                             \
    {                                                                                                                  \
        ENQUEUE_ON(_suffix, uint64_g, result, from.word(), from.pe, __VA_ARGS__);                                      \
    }                                                                                                                  \
    static void _suffix##_wait(const litmus_place &own, uint64_t value)                                                \
    {                                                                                                                  \
        ENQUEUE_ON(_suffix, uint64_wait_until, own.word(), SHMEM_CMP_GE, value, __VA_ARGS__);                          \
    }                                                                                                                  \
    static const litmus_issuer _suffix##_issuer = {                                                                    \
        #_suffix,        true,           true,          64, all, _suffix##_run, _suffix##_write, _suffix##_put_signal, \
        _suffix##_order, _suffix##_read, _suffix##_wait};

ISSUER(queue, , static_cast<shmemx_queue_t>(litmus_queue()), 0, nullptr, nullptr)
ISSUER(stream, , static_cast<shmemx_stream_t>(litmus_stream()))

int litmus_issuers(const litmus_issuer **issuers, int most)
{
    const litmus_issuer *const known[] = {&host, &another, litmus_stream() ? nullptr : &kernel,
                                          litmus_queue() ? &queue_issuer : nullptr,
                                          litmus_stream() ? &stream_issuer : nullptr};
    int n = 0;
    for (const litmus_issuer *issuer : known)
        if (issuer && n < most)
            issuers[n++] = issuer;
    return n;
}
