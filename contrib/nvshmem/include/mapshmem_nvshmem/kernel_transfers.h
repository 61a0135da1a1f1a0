/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Put, get, put with signal, fence and quiet with NVSHMEM's names in kernels. Included by kernel_calls.h.
 *
 * Elements are moved as units of their size, so that types of a size share their code.
 */
#ifndef MAPSHMEM_NVSHMEM_KERNEL_TRANSFERS_H
#define MAPSHMEM_NVSHMEM_KERNEL_TRANSFERS_H

namespace nvshmemi_kernel
{

typedef shmemx_device_thread_t thread;
typedef shmemx_device_warp_t warp;
typedef shmemx_device_block_t block;

enum transfer_kind { BLOCKING, NBI };

template <class GROUP>
SHMEMI_DEVICE_RARE void put_by_agent(const GROUP group, void *dest, const void *source, word nbytes, int pe,
                                     bool is_blocking)
{
    const shmemx_device_view_t &view = object_of(dest, pe, NVSHMEMI_CALL_PUT);
    const shmemi_device::request r = shmemi_device::request_to(SHMEMI_DEVICE_PUT, view, dest, nbytes, pe);
    shmemi_device::far_put(group, shmemi_device::ring_to(view, pe), r, static_cast<const char *>(source), is_blocking);
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_bytes(const GROUP &group, void *dest, const void *source, word nbytes, int pe,
                                      bool is_blocking)
{
    char *there = direct_at(dest, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_PUT);
    if (!there) {
        put_by_agent(group, dest, source, nbytes, pe, is_blocking);
        return;
    }
    shmemi_device::copy<shmemi_device::plain_loads>(group, there, static_cast<const char *>(source), nbytes);
    if (is_blocking)
        group.sync();
}

template <class UNIT> SHMEMI_DEVICE_RARE void put_word_by_agent(void *dest, UNIT value, int pe)
{
    shmemi_device::put_word(object_of(dest, pe, NVSHMEMI_CALL_PUT), dest, value, pe);
}

template <class UNIT> SHMEMI_DEVICE_TEMPLATE void put_word(void *dest, UNIT value, int pe)
{
    UNIT *there = reinterpret_cast<UNIT *>(direct_at(dest, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_PUT));
    if (there)
        shmemi_device::store_value(there, value);
    else
        put_word_by_agent(dest, value, pe);
}

template <unsigned SIZE, class GROUP>
SHMEMI_DEVICE_TEMPLATE void put(const GROUP group, void *dest, const void *source, size_t nelems, int pe,
                                transfer_kind kind)
{
    put_bytes(group, dest, source, nelems * SIZE, pe, kind == BLOCKING);
}
/* A thread's single element takes the shortest way, where the compiler knows that it is one. */
template <unsigned SIZE>
SHMEMI_DEVICE_TEMPLATE void put(const thread group, void *dest, const void *source, size_t nelems, int pe,
                                transfer_kind kind)
{
    typedef typename shmemi_device::unit_of<SIZE <= sizeof(word) ? SIZE : 1>::type unit;
    if (sizeof(unit) == SIZE && nelems == 1)
        put_word(dest, shmemi_device::load_plain<unit>(static_cast<const char *>(source)), pe);
    else
        put_bytes(group, dest, source, nelems * SIZE, pe, kind == BLOCKING);
}

template <class GROUP>
SHMEMI_DEVICE_RARE void get_by_agent(const GROUP group, void *dest, const void *source, word nbytes, int pe,
                                     bool is_blocking)
{
    const shmemx_device_view_t &view = object_of(source, pe, NVSHMEMI_CALL_GET);
    const shmemi_device::request r = shmemi_device::request_to(SHMEMI_DEVICE_GET, view, source, nbytes, pe);
    shmemi_device::far_get(group, shmemi_device::ring_to(view, pe), r, static_cast<char *>(dest), is_blocking);
}

template <unsigned SIZE, class GROUP>
SHMEMI_DEVICE_TEMPLATE void get(const GROUP group, void *dest, const void *source, size_t nelems, int pe,
                                transfer_kind kind)
{
    const char *there = direct_at(source, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_GET);
    if (!there) {
        get_by_agent(group, dest, source, nelems * SIZE, pe, kind == BLOCKING);
        return;
    }
    shmemi_device::copy<shmemi_device::fresh_loads>(group, static_cast<char *>(dest), there, nelems * SIZE);
    if (kind == BLOCKING)
        group.sync();
}

template <unsigned SIZE, class GROUP>
SHMEMI_DEVICE_TEMPLATE void iput(const GROUP group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                 size_t nelems, int pe)
{
    typedef typename shmemi_device::unit_of<SIZE>::type unit;
    const shmemi_device::element_steps s = {dst, sst, nelems};
    unit *there = reinterpret_cast<unit *>(direct_at(dest, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_STRIDED));
    if (there)
        shmemi_device::copy_strided<shmemi_device::plain_loads>(group, there, static_cast<const unit *>(source), s);
    else
        shmemi_device::put_far_strided(group, object_of(dest, pe, NVSHMEMI_CALL_STRIDED), static_cast<unit *>(dest),
                                       static_cast<const unit *>(source), s, pe);
    group.sync();
}

template <unsigned SIZE, class GROUP>
SHMEMI_DEVICE_TEMPLATE void iget(const GROUP group, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                                 size_t nelems, int pe)
{
    typedef typename shmemi_device::unit_of<SIZE>::type unit;
    const shmemi_device::element_steps s = {dst, sst, nelems};
    const unit *there =
        reinterpret_cast<const unit *>(direct_at(source, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_STRIDED));
    if (there)
        shmemi_device::copy_strided<shmemi_device::fresh_loads>(group, static_cast<unit *>(dest), there, s);
    else
        shmemi_device::get_far_strided(group, object_of(source, pe, NVSHMEMI_CALL_STRIDED), static_cast<unit *>(dest),
                                       static_cast<const unit *>(source), s, pe);
    group.sync();
}

template <class T> SHMEMI_DEVICE_TEMPLATE void p(T *dest, T value, int pe)
{
    typedef typename shmemi_device::unit_of<sizeof(T)>::type unit;
    put_word(dest, shmemi_device::bits_of<unit>(value), pe);
}

template <class UNIT> SHMEMI_DEVICE_RARE UNIT get_word_by_agent(const UNIT *source, int pe)
{
    return shmemx_device_g(object_of(source, pe, NVSHMEMI_CALL_GET), source, pe);
}

template <class T> SHMEMI_DEVICE_TEMPLATE T g(const T *source, int pe)
{
    typedef typename shmemi_device::unit_of<sizeof(T)>::type unit;
    const char *there = direct_at(source, pe, SHMEMI_DEVICE_STORES, NVSHMEMI_CALL_GET);
    return shmemi_device::bits_of<T>(there ? shmemi_device::fresh<unit>::load(there)
                                           : get_word_by_agent(reinterpret_cast<const unit *>(source), pe));
}

struct signal {
    uint64_t *address;
    uint64_t value;
    int op;
};

template <class GROUP>
SHMEMI_DEVICE_RARE void put_signal_elsewhere(const GROUP group, void *dest, const void *source, size_t nbytes,
                                             const signal s, int pe, transfer_kind kind)
{
    const shmemi_device::payload data = {dest, static_cast<const char *>(source), nbytes};
    const shmemi_device::word_update update = {s.address, s.value, s.op == NVSHMEM_SIGNAL_ADD};
    shmemi_device::put_signal_by_table(group, object_of(dest, pe, NVSHMEMI_CALL_PUT_SIGNAL), data,
                                       object_of(s.address, pe, NVSHMEMI_CALL_PUT_SIGNAL), update, pe,
                                       kind == BLOCKING);
}

template <class GROUP>
SHMEMI_DEVICE_TEMPLATE void put_signal(const GROUP group, void *dest, const void *source, size_t nbytes,
                                       const signal &s, int pe, transfer_kind kind)
{
    const shmemx_device_view_t &slab = nvshmemi_mapshmem_state.slab;
    if (!is_in_slab(dest) || !is_in_slab(s.address)) {
        put_signal_elsewhere(group, dest, source, nbytes, s, pe, kind);
        return;
    }
    const shmemi_device::payload data = {dest, static_cast<const char *>(source), nbytes};
    const shmemi_device::word_update update = {s.address, s.value, s.op == NVSHMEM_SIGNAL_ADD};
    shmemi_device::put_signal(group, slab, data, slab, update, pe, kind == BLOCKING);
}

} // namespace nvshmemi_kernel

/* ---- Of elements and bytes: what hosts have, too -------------------------------------------------------------------- */

/* DEFINE(PREFIX, NAME, GROUP, ENDING, T, SIZE): dest and source are T *. */
#define NVSHMEMI_PUTS_AND_GETS(SPACE, PREFIX, PUT, GET, GROUP, ENDING, T, SIZE)                                        \
    SPACE void PREFIX##PUT##ENDING(T *dest, const T *source, size_t nelems, int pe)                                    \
    {                                                                                                                  \
        nvshmemi_kernel::put<SIZE>(nvshmemi_kernel::GROUP(), dest, source, nelems, pe, nvshmemi_kernel::BLOCKING);     \
    }                                                                                                                  \
    SPACE void PREFIX##PUT##_nbi##ENDING(T *dest, const T *source, size_t nelems, int pe)                              \
    {                                                                                                                  \
        nvshmemi_kernel::put<SIZE>(nvshmemi_kernel::GROUP(), dest, source, nelems, pe, nvshmemi_kernel::NBI);          \
    }                                                                                                                  \
    SPACE void PREFIX##GET##ENDING(T *dest, const T *source, size_t nelems, int pe)                                    \
    {                                                                                                                  \
        nvshmemi_kernel::get<SIZE>(nvshmemi_kernel::GROUP(), dest, source, nelems, pe, nvshmemi_kernel::BLOCKING);     \
    }                                                                                                                  \
    SPACE void PREFIX##GET##_nbi##ENDING(T *dest, const T *source, size_t nelems, int pe)                              \
    {                                                                                                                  \
        nvshmemi_kernel::get<SIZE>(nvshmemi_kernel::GROUP(), dest, source, nelems, pe, nvshmemi_kernel::NBI);          \
    }

#define NVSHMEMI_STRIDED(SPACE, PREFIX, PUT, GET, GROUP, ENDING, T, SIZE)                                              \
    SPACE void PREFIX##PUT##ENDING(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)      \
    {                                                                                                                  \
        nvshmemi_kernel::iput<SIZE>(nvshmemi_kernel::GROUP(), dest, source, dst, sst, nelems, pe);                     \
    }                                                                                                                  \
    SPACE void PREFIX##GET##ENDING(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)      \
    {                                                                                                                  \
        nvshmemi_kernel::iget<SIZE>(nvshmemi_kernel::GROUP(), dest, source, dst, sst, nelems, pe);                     \
    }

#if defined(NVSHMEMI_FOR_KERNELS)
extern "C" {

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_KERNEL_SHARED void nvshmem_##TYPENAME##_p(TYPE *dest, const TYPE value, int pe)                           \
    {                                                                                                                  \
        nvshmemi_kernel::p(dest, value, pe);                                                                           \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_g(const TYPE *source, int pe)                                     \
    {                                                                                                                  \
        return nvshmemi_kernel::g(source, pe);                                                                         \
    }                                                                                                                  \
    NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL_SHARED, nvshmem_, TYPENAME##_put, TYPENAME##_get, thread, , TYPE,           \
                           sizeof(TYPE))                                                                               \
    NVSHMEMI_STRIDED(NVSHMEMI_KERNEL_SHARED, nvshmem_, TYPENAME##_iput, TYPENAME##_iget, thread, , TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#define NVSHMEMI_DEFINE(BITS, BYTES, ...)                                                                              \
    NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL_SHARED, nvshmem_, put##BITS, get##BITS, thread, , void, BYTES)              \
    NVSHMEMI_STRIDED(NVSHMEMI_KERNEL_SHARED, nvshmem_, iput##BITS, iget##BITS, thread, , void, BYTES)
NVSHMEMI_FOR_SIZES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL_SHARED, nvshmem_, putmem, getmem, thread, , void, 1)

NVSHMEMI_KERNEL_SHARED void nvshmem_quiet(void)
{
    shmemx_device_quiet(nvshmemi_kernel::thread(), nvshmemi_mapshmem_state.slab);
}

NVSHMEMI_KERNEL_SHARED void nvshmem_fence(void)
{
    shmemx_device_fence(nvshmemi_kernel::thread(), nvshmemi_mapshmem_state.slab);
}

} // extern "C"
#endif

/* ---- Of a warp or block ----------------------------------------------------------------------------------------------- */

#define NVSHMEMI_DEFINE_FOR(TYPENAME, TYPE, GROUP)                                                                     \
    NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL, nvshmemx_, TYPENAME##_put, TYPENAME##_get, GROUP, _##GROUP, TYPE,          \
                           sizeof(TYPE))                                                                               \
    NVSHMEMI_STRIDED(NVSHMEMI_KERNEL, nvshmemx_, TYPENAME##_iput, TYPENAME##_iget, GROUP, _##GROUP, TYPE, sizeof(TYPE))
#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_DEFINE_FOR(TYPENAME, TYPE, warp)                                                                          \
    NVSHMEMI_DEFINE_FOR(TYPENAME, TYPE, block)
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE
#undef NVSHMEMI_DEFINE_FOR

#define NVSHMEMI_DEFINE_FOR(BITS, BYTES, GROUP)                                                                        \
    NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL, nvshmemx_, put##BITS, get##BITS, GROUP, _##GROUP, void, BYTES)             \
    NVSHMEMI_STRIDED(NVSHMEMI_KERNEL, nvshmemx_, iput##BITS, iget##BITS, GROUP, _##GROUP, void, BYTES)
#define NVSHMEMI_DEFINE(BITS, BYTES, ...)                                                                              \
    NVSHMEMI_DEFINE_FOR(BITS, BYTES, warp)                                                                             \
    NVSHMEMI_DEFINE_FOR(BITS, BYTES, block)
NVSHMEMI_FOR_SIZES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE
#undef NVSHMEMI_DEFINE_FOR

NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL, nvshmemx_, putmem, getmem, warp, _warp, void, 1)
NVSHMEMI_PUTS_AND_GETS(NVSHMEMI_KERNEL, nvshmemx_, putmem, getmem, block, _block, void, 1)

#undef NVSHMEMI_PUTS_AND_GETS
#undef NVSHMEMI_STRIDED

/* ---- Put with signal -------------------------------------------------------------------------------------------------- */

#define NVSHMEMI_PUT_SIGNAL(NAME, GROUP, T, SIZE, KIND)                                                                \
    NVSHMEMI_KERNEL void NAME(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,            \
                              int sig_op, int pe)                                                                      \
    {                                                                                                                  \
        const nvshmemi_kernel::signal s = {sig_addr, signal, sig_op};                                                  \
        nvshmemi_kernel::put_signal(nvshmemi_kernel::GROUP(), dest, source, nelems *(SIZE), s, pe,                     \
                                    nvshmemi_kernel::KIND);                                                            \
    }
#define NVSHMEMI_PUT_SIGNALS(NAME, T, SIZE)                                                                            \
    NVSHMEMI_PUT_SIGNAL(nvshmem_##NAME##_signal, thread, T, SIZE, BLOCKING)                                            \
    NVSHMEMI_PUT_SIGNAL(nvshmem_##NAME##_signal_nbi, thread, T, SIZE, NBI)                                             \
    NVSHMEMI_PUT_SIGNAL(nvshmemx_##NAME##_signal_warp, warp, T, SIZE, BLOCKING)                                        \
    NVSHMEMI_PUT_SIGNAL(nvshmemx_##NAME##_signal_nbi_warp, warp, T, SIZE, NBI)                                         \
    NVSHMEMI_PUT_SIGNAL(nvshmemx_##NAME##_signal_block, block, T, SIZE, BLOCKING)                                      \
    NVSHMEMI_PUT_SIGNAL(nvshmemx_##NAME##_signal_nbi_block, block, T, SIZE, NBI)

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...) NVSHMEMI_PUT_SIGNALS(TYPENAME##_put, TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE
#define NVSHMEMI_DEFINE(BITS, BYTES, ...) NVSHMEMI_PUT_SIGNALS(put##BITS, void, BYTES)
NVSHMEMI_FOR_SIZES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE
NVSHMEMI_PUT_SIGNALS(putmem, void, 1)

#undef NVSHMEMI_PUT_SIGNALS
#undef NVSHMEMI_PUT_SIGNAL

#endif
