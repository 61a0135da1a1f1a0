/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations, signals, waits and tests with NVSHMEM's names in kernels. Included by kernel_calls.h.
 */
#ifndef MAPSHMEM_NVSHMEM_KERNEL_WORDS_H
#define MAPSHMEM_NVSHMEM_KERNEL_WORDS_H

namespace nvshmemi_kernel
{

/* Those that the thread does not do at the slab's copies by itself are code that programs have once for each type. */
#define NVSHMEMI_ATOMIC(NAME)                                                                                          \
    template <class T, class... OPERANDS>                                                                              \
    SHMEMI_DEVICE_RARE auto atomic_##NAME##_elsewhere(T *dest, int pe, OPERANDS... operands)                           \
        ->decltype(shmemx_device_atomic_##NAME(nvshmemi_mapshmem_state.slab, dest, operands..., pe))                   \
    {                                                                                                                  \
        return shmemx_device_atomic_##NAME(object_of(dest, pe, NVSHMEMI_CALL_ATOMIC), dest, operands..., pe);          \
    }                                                                                                                  \
    template <class T, class... OPERANDS>                                                                              \
    SHMEMI_DEVICE_TEMPLATE auto atomic_##NAME(T *dest, int pe, OPERANDS... operands)                                   \
        ->decltype(shmemx_device_atomic_##NAME(nvshmemi_mapshmem_state.slab, dest, operands..., pe))                   \
    {                                                                                                                  \
        return is_in_slab(dest) ? shmemx_device_atomic_##NAME(nvshmemi_mapshmem_state.slab, dest, operands..., pe)     \
                                : atomic_##NAME##_elsewhere(dest, pe, operands...);                                    \
    }
NVSHMEMI_ATOMIC(fetch)
NVSHMEMI_ATOMIC(set)
NVSHMEMI_ATOMIC(swap)
NVSHMEMI_ATOMIC(compare_swap)
NVSHMEMI_ATOMIC(inc)
NVSHMEMI_ATOMIC(fetch_inc)
NVSHMEMI_ATOMIC(add)
NVSHMEMI_ATOMIC(fetch_add)
NVSHMEMI_ATOMIC(and)
NVSHMEMI_ATOMIC(fetch_and)
NVSHMEMI_ATOMIC(or)
NVSHMEMI_ATOMIC(fetch_or)
NVSHMEMI_ATOMIC(xor)
NVSHMEMI_ATOMIC(fetch_xor)
#undef NVSHMEMI_ATOMIC

/* Waits are for words of this PE. */
SHMEMI_DEVICE const shmemx_device_view_t &waited_object(const void *ivars)
{
    return object_of(ivars, nvshmemi_mapshmem_state.slab.pe, NVSHMEMI_CALL_WAIT);
}

/* Waits look at a word whatever it belongs to: what the watchdog is told needs an object, the wait does not. */
template <class T> SHMEMI_DEVICE_RARE T wait_long(const T *ivar, int cmp, T value)
{
    const shmemx_device_view_t *view = is_in_slab(ivar) ? &nvshmemi_mapshmem_state.slab : find_object(ivar);
    const word offset = view ? static_cast<word>(reinterpret_cast<const char *>(ivar) - view->own) : 0;
    return shmemi_device::wait_long(view ? view->waits : 0, view ? view->region : 0, offset, ivar, cmp, value, -1);
}

template <class T> SHMEMI_DEVICE_TEMPLATE T wait_until(const T *ivar, int cmp, T value)
{
    shmemi_device::patience waiting;
    T seen;
    return shmemi_device::look_for(waiting, ivar, cmp, value, &seen) ? seen : wait_long(ivar, cmp, value);
}

} // namespace nvshmemi_kernel

#if defined(NVSHMEMI_FOR_KERNELS)
extern "C" {

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch(const TYPE *source, int pe)                          \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_fetch(source, pe);                                                              \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED void nvshmem_##TYPENAME##_atomic_set(TYPE *dest, TYPE value, int pe)                        \
    {                                                                                                                  \
        nvshmemi_kernel::atomic_set(dest, pe, value);                                                                  \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_swap(TYPE *dest, TYPE value, int pe)                       \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_swap(dest, pe, value);                                                          \
    }
NVSHMEMI_FOR_EXTENDED_AMO_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_KERNEL_SHARED void nvshmem_##TYPENAME##_atomic_inc(TYPE *dest, int pe)                                    \
    {                                                                                                                  \
        nvshmemi_kernel::atomic_inc(dest, pe);                                                                         \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_inc(TYPE *dest, int pe)                              \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_fetch_inc(dest, pe);                                                            \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED void nvshmem_##TYPENAME##_atomic_add(TYPE *dest, TYPE value, int pe)                        \
    {                                                                                                                  \
        nvshmemi_kernel::atomic_add(dest, pe, value);                                                                  \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_add(TYPE *dest, TYPE value, int pe)                  \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_fetch_add(dest, pe, value);                                                     \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe)    \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_compare_swap(dest, pe, cond, value);                                            \
    }
NVSHMEMI_FOR_AMO_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, OP, ...)                                                                       \
    NVSHMEMI_KERNEL_SHARED void nvshmem_##TYPENAME##_atomic_##OP(TYPE *dest, TYPE value, int pe)                       \
    {                                                                                                                  \
        nvshmemi_kernel::atomic_##OP(dest, pe, value);                                                                 \
    }                                                                                                                  \
    NVSHMEMI_KERNEL_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_##OP(TYPE *dest, TYPE value, int pe)                 \
    {                                                                                                                  \
        return nvshmemi_kernel::atomic_fetch_##OP(dest, pe, value);                                                    \
    }
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DEFINE, and, )
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DEFINE, or, )
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DEFINE, xor, )
#undef NVSHMEMI_DEFINE

/* ---- Signals -------------------------------------------------------------------------------------------------------- */

NVSHMEMI_KERNEL_SHARED uint64_t nvshmem_signal_fetch(uint64_t *sig_addr)
{
    return shmemx_device_signal_fetch(nvshmemi_mapshmem_state.slab, sig_addr);
}

/* Without order, as in NVSHMEM: a fence comes before where there has to be one. */
NVSHMEMI_KERNEL_SHARED void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    if (sig_op == NVSHMEM_SIGNAL_ADD)
        nvshmemi_kernel::atomic_add(sig_addr, pe, signal);
    else
        nvshmemi_kernel::p(sig_addr, signal, pe);
}

} // extern "C"
#endif

NVSHMEMI_KERNEL uint64_t nvshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return nvshmemi_kernel::wait_until(sig_addr, cmp, cmp_value);
}

/* ---- Waits and tests ------------------------------------------------------------------------------------------------ */

/* With the value or values that are compared; ENDING is empty or _vector. */
#define NVSHMEMI_DEFINE_SETS(TYPENAME, TYPE, ENDING, VALUE)                                                            \
    NVSHMEMI_KERNEL void nvshmem_##TYPENAME##_wait_until_all##ENDING(TYPE *ivars, size_t nelems, const int *status,    \
                                                                     int cmp, VALUE)                                   \
    {                                                                                                                  \
        shmemx_device_wait_until_all##ENDING(nvshmemi_kernel::thread(), nvshmemi_kernel::waited_object(ivars), ivars,  \
                                             nelems, status, cmp, value);                                              \
    }                                                                                                                  \
    NVSHMEMI_KERNEL size_t nvshmem_##TYPENAME##_wait_until_any##ENDING(TYPE *ivars, size_t nelems, const int *status,  \
                                                                       int cmp, VALUE)                                 \
    {                                                                                                                  \
        return shmemx_device_wait_until_any##ENDING(nvshmemi_kernel::waited_object(ivars), ivars, nelems, status, cmp, \
                                                    value);                                                            \
    }                                                                                                                  \
    NVSHMEMI_KERNEL size_t nvshmem_##TYPENAME##_wait_until_some##ENDING(TYPE *ivars, size_t nelems, size_t *indices,   \
                                                                        const int *status, int cmp, VALUE)             \
    {                                                                                                                  \
        return shmemx_device_wait_until_some##ENDING(nvshmemi_kernel::waited_object(ivars), ivars, nelems, indices,    \
                                                     status, cmp, value);                                              \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmem_##TYPENAME##_test_all##ENDING(TYPE *ivars, size_t nelems, const int *status, int cmp,  \
                                                              VALUE)                                                   \
    {                                                                                                                  \
        return shmemx_device_test_all##ENDING(nvshmemi_mapshmem_state.slab, ivars, nelems, status, cmp, value);        \
    }                                                                                                                  \
    NVSHMEMI_KERNEL size_t nvshmem_##TYPENAME##_test_any##ENDING(TYPE *ivars, size_t nelems, const int *status,        \
                                                                 int cmp, VALUE)                                       \
    {                                                                                                                  \
        return shmemx_device_test_any##ENDING(nvshmemi_mapshmem_state.slab, ivars, nelems, status, cmp, value);        \
    }                                                                                                                  \
    NVSHMEMI_KERNEL size_t nvshmem_##TYPENAME##_test_some##ENDING(TYPE *ivars, size_t nelems, size_t *indices,         \
                                                                  const int *status, int cmp, VALUE)                   \
    {                                                                                                                  \
        return shmemx_device_test_some##ENDING(nvshmemi_mapshmem_state.slab, ivars, nelems, indices, status, cmp,      \
                                               value);                                                                 \
    }

#define NVSHMEMI_DEFINE(TYPENAME, TYPE, ...)                                                                           \
    NVSHMEMI_KERNEL void nvshmem_##TYPENAME##_wait_until(TYPE *ivar, int cmp, TYPE value)                              \
    {                                                                                                                  \
        nvshmemi_kernel::wait_until(ivar, cmp, value);                                                                 \
    }                                                                                                                  \
    NVSHMEMI_KERNEL int nvshmem_##TYPENAME##_test(TYPE *ivar, int cmp, TYPE value)                                     \
    {                                                                                                                  \
        return shmemx_device_test(nvshmemi_mapshmem_state.slab, ivar, cmp, value);                                     \
    }                                                                                                                  \
    NVSHMEMI_DEFINE_SETS(TYPENAME, TYPE, , TYPE value)                                                                 \
    NVSHMEMI_DEFINE_SETS(TYPENAME, TYPE, _vector, TYPE *value)
NVSHMEMI_FOR_WAIT_TYPES(NVSHMEMI_DEFINE, )
#undef NVSHMEMI_DEFINE
#undef NVSHMEMI_DEFINE_SETS

#endif
