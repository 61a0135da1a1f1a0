/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public routines that the applications' exchanges call, in simulated time (linked with --wrap).
 */
#include "calls.h"

#include "shmem.h"
#include "shmem/team.h"

static const ptrdiff_t part = 32 << 20; /* bytes */

void __wrap_shmem_putmem_nbi(void *dest, const void *source, size_t nbytes, int pe);
void __wrap_shmem_putmem(void *dest, const void *source, size_t nbytes, int pe);
void __wrap_shmem_putmem_signal(void *dest, const void *source, size_t nbytes, uint64_t *signal, uint64_t value, int op,
                                int pe);
void __wrap_shmem_putmem_signal_nbi(void *dest, const void *source, size_t nbytes, uint64_t *signal, uint64_t value,
                                    int op, int pe);
void *__wrap_shmem_ptr(const void *dest, int pe);
void __wrap_shmem_signal_set(uint64_t *signal, uint64_t value, int pe);
uint64_t __wrap_shmem_signal_wait_until(uint64_t *signal, int cmp, uint64_t value);
void __wrap_shmem_quiet(void);
void __wrap_shmem_fence(void);
void __wrap_shmem_barrier_all(void);

/* The first part of the memory of a PE stands for that of its GPU. */
static bool is_device(const void *address)
{
    return (const char *)address - library_memory() < part;
}

char *calls_device_memory(void)
{
    return library_memory();
}

char *calls_host_memory(void)
{
    return library_memory() + part;
}

void calls_send(void *dest, size_t nbytes, uint64_t *signal, uint64_t value, int pe)
{
    struct message message = {.pe = pe, .bytes = nbytes, .to = is_device(dest) ? TO_DEVICE : TO_HOST, .value = value};
    sim_cpu(model.call);
    message.word = signal ? library_copy_of(signal, pe) : NULL;
    network_send(&message);
}

void __wrap_shmem_putmem_nbi(void *dest, const void *source, size_t nbytes, int pe)
{
    (void)source;
    calls_send(dest, nbytes, NULL, 0, pe);
}

void __wrap_shmem_putmem(void *dest, const void *source, size_t nbytes, int pe)
{
    (void)source;
    calls_send(dest, nbytes, NULL, 0, pe);
}

void __wrap_shmem_putmem_signal(void *dest, const void *source, size_t nbytes, uint64_t *signal, uint64_t value, int op,
                                int pe)
{
    (void)source, (void)op;
    calls_send(dest, nbytes, signal, value, pe);
}

void __wrap_shmem_putmem_signal_nbi(void *dest, const void *source, size_t nbytes, uint64_t *signal, uint64_t value,
                                    int op, int pe)
{
    __wrap_shmem_putmem_signal(dest, source, nbytes, signal, value, op, pe);
}

/* GPUs of a node reach each other. */
void *__wrap_shmem_ptr(const void *dest, int pe)
{
    return sim_pe(pe)->node == sim_me()->node ? library_copy_of((void *)(uintptr_t)dest, pe) : NULL;
}

void __wrap_shmem_signal_set(uint64_t *signal, uint64_t value, int pe)
{
    calls_send(signal, sizeof *signal, signal, value, pe);
}

uint64_t __wrap_shmem_signal_wait_until(uint64_t *signal, int cmp, uint64_t value)
{
    unsigned spins = 0;
    (void)cmp; /* all are >= */
    while (*signal < value) {
        sim_me()->watched = signal;
        sim_wait_turn(&spins);
    }
    return *signal;
}

void __wrap_shmem_quiet(void)
{
    network_quiet();
}

void __wrap_shmem_fence(void)
{
    network_quiet();
}

void __wrap_shmem_barrier_all(void)
{
    sim_cpu(model.call);
    network_quiet();
    shmemi_collective_sync(library_team(sim_me()));
}

void calls_compute(double seconds)
{
    if (model.gpu_is_cpu > 0)
        sim_cpu(model.gpu_launch + seconds);
    else
        sim_sleep(model.gpu_launch + seconds);
}

void calls_copy(size_t nbytes)
{
    const double seconds = model.gpu_copy + (double)nbytes * model.gpu_copy_per_byte;
    if (model.gpu_is_cpu > 0)
        sim_cpu(seconds);
    else
        sim_sleep(seconds);
}
