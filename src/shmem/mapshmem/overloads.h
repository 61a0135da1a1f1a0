/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What generic.h is for C11, for C++11 and later, CUDA files included: the names without a TYPENAME as functions,
 * overloaded by the C type that their pointers point to. Included by shmem.h; not for direct use.
 *
 *     shmem_put(dest, source, n, pe);         // double * : shmem_double_put
 *     shmem_put(ctx, dest, source, n, pe);    //            shmem_ctx_double_put
 *     shmem_atomic_add(&counter, 1, pe);      // unsigned long counter: shmem_ulong_atomic_add
 *     shmem_sum_reduce(team, z, z, n);        // std::complex<double> * : shmem_complexd_sum_reduce
 *
 * The pointers alone decide; other arguments are converted as in any call. A pointer to a type that has no such routine
 * does not compile. A program that has functions of these names itself defines SHMEMX_NO_OVERLOADS before it includes
 * shmem.h.
 */
#ifndef SHMEMI_OVERLOADS_H
#define SHMEMI_OVERLOADS_H

#include <mapshmem/types.h>

/* The header may have been included inside extern "C". */
extern "C++" {

/* ---- Forms ----------------------------------------------------------------------------------------------------------
 * V is the part of the routine's name after the TYPENAME, ARGUMENTS are those of the call in parentheses, and what comes
 * last declares them. */

#define SHMEMI_UNPACK(...) __VA_ARGS__

#define SHMEMI_OVERLOAD(RET, NAME, V, ARGUMENTS, ...)                                                                  \
    inline RET shmem_##V(__VA_ARGS__)                                                                                  \
    {                                                                                                                  \
        return shmem_##NAME##_##V ARGUMENTS;                                                                           \
    }
#define SHMEMI_OVERLOAD_BOTH(RET, NAME, V, ARGUMENTS, ...)                                                             \
    SHMEMI_OVERLOAD(RET, NAME, V, ARGUMENTS, __VA_ARGS__)                                                              \
    inline RET shmem_##V(shmem_ctx_t ctx, __VA_ARGS__)                                                                 \
    {                                                                                                                  \
        return shmem_ctx_##NAME##_##V(ctx, SHMEMI_UNPACK ARGUMENTS);                                                   \
    }

/* ---- Remote memory access [9.6], signals [9.8] ------------------------------------------------------------------- */

#define SHMEMI_OVERLOAD_TRANSFER(NAME, TYPE, V)                                                                        \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, source, nelems, pe), TYPE *dest, const TYPE *source, size_t nelems,     \
                         int pe)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TRANSFER, put)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TRANSFER, get)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TRANSFER, put_nbi)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TRANSFER, get_nbi)

/* dest, value: shmem_p, and atomic operations with and without a result */
#define SHMEMI_OVERLOAD_STORE(NAME, TYPE, V)                                                                           \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, value, pe), TYPE *dest, TYPE value, int pe)
#define SHMEMI_OVERLOAD_EXCHANGE(NAME, TYPE, V)                                                                        \
    SHMEMI_OVERLOAD_BOTH(TYPE, NAME, V, (dest, value, pe), TYPE *dest, TYPE value, int pe)
#define SHMEMI_OVERLOAD_EXCHANGE_NBI(NAME, TYPE, V)                                                                    \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (fetch, dest, value, pe), TYPE *fetch, TYPE *dest, TYPE value, int pe)
/* source: shmem_g and atomic loads */
#define SHMEMI_OVERLOAD_LOAD(NAME, TYPE, V)                                                                            \
    SHMEMI_OVERLOAD_BOTH(TYPE, NAME, V, (source, pe), const TYPE *source, int pe)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_STORE, p)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_LOAD, g)

#define SHMEMI_OVERLOAD_STRIDED(NAME, TYPE, V)                                                                         \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, source, dst, sst, nelems, pe), TYPE *dest, const TYPE *source,          \
                         ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_STRIDED, iput)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_STRIDED, iget)

#define SHMEMI_OVERLOAD_BLOCKS(NAME, TYPE, V)                                                                          \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, source, dst, sst, bsize, nblocks, pe), TYPE *dest, const TYPE *source,  \
                         ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_BLOCKS, ibput)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_BLOCKS, ibget)

#define SHMEMI_OVERLOAD_SIGNAL(NAME, TYPE, V)                                                                          \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, source, nelems, sig_addr, signal, sig_op, pe), TYPE *dest,              \
                         const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_SIGNAL, put_signal)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_SIGNAL, put_signal_nbi)

/* The forms without a context are functions of C. */
inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}

/* ---- Atomics [9.7] ----------------------------------------------------------------------------------------------- */

#define SHMEMI_OVERLOAD_LOAD_NBI(NAME, TYPE, V)                                                                        \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V, (fetch, source, pe), TYPE *fetch, const TYPE *source, int pe)
SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_OVERLOAD_LOAD, atomic_fetch)
SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_OVERLOAD_LOAD_NBI, atomic_fetch_nbi)
SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_OVERLOAD_STORE, atomic_set)
SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE, atomic_swap)
SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE_NBI, atomic_swap_nbi)

#define SHMEMI_OVERLOAD_COMPARE_SWAP(NAME, TYPE, V)                                                                    \
    SHMEMI_OVERLOAD_BOTH(TYPE, NAME, V, (dest, cond, value, pe), TYPE *dest, TYPE cond, TYPE value, int pe)            \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V##_nbi, (fetch, dest, cond, value, pe), TYPE *fetch, TYPE *dest, TYPE cond,      \
                         TYPE value, int pe)
#define SHMEMI_OVERLOAD_INC(NAME, TYPE, V) SHMEMI_OVERLOAD_BOTH(void, NAME, V, (dest, pe), TYPE *dest, int pe)
#define SHMEMI_OVERLOAD_FETCH_INC(NAME, TYPE, V)                                                                       \
    SHMEMI_OVERLOAD_BOTH(TYPE, NAME, V, (dest, pe), TYPE *dest, int pe)                                                \
    SHMEMI_OVERLOAD_BOTH(void, NAME, V##_nbi, (fetch, dest, pe), TYPE *fetch, TYPE *dest, int pe)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_COMPARE_SWAP, atomic_compare_swap)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_INC, atomic_inc)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_FETCH_INC, atomic_fetch_inc)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_STORE, atomic_add)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE, atomic_fetch_add)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE_NBI, atomic_fetch_add_nbi)

SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_STORE, atomic_and)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_STORE, atomic_or)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_STORE, atomic_xor)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE, atomic_fetch_and)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE, atomic_fetch_or)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE, atomic_fetch_xor)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE_NBI, atomic_fetch_and_nbi)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE_NBI, atomic_fetch_or_nbi)
SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_OVERLOAD_EXCHANGE_NBI, atomic_fetch_xor_nbi)

/* Deprecated names: they call others, of which only the program is to be warned. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SHMEMI_OVERLOAD_OLD_XAMO(NAME, TYPE, ...)                                                                      \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED TYPE, NAME, fetch, (source, pe), const TYPE *source, int pe)                     \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED void, NAME, set, (dest, value, pe), TYPE *dest, TYPE value, int pe)
/* shmem_swap for long is a function of C. */
#define SHMEMI_OVERLOAD_OLD_SWAP(NAME, TYPE)                                                                           \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED TYPE, NAME, swap, (dest, value, pe), TYPE *dest, TYPE value, int pe)
SHMEMI_OVERLOAD_OLD_SWAP(float, float)
SHMEMI_OVERLOAD_OLD_SWAP(double, double)
SHMEMI_OVERLOAD_OLD_SWAP(int, int)
SHMEMI_OVERLOAD_OLD_SWAP(longlong, long long)
#define SHMEMI_OVERLOAD_OLD_AMO(NAME, TYPE, ...)                                                                       \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED TYPE, NAME, cswap, (dest, cond, value, pe), TYPE *dest, TYPE cond, TYPE value,   \
                    int pe)                                                                                            \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED TYPE, NAME, finc, (dest, pe), TYPE *dest, int pe)                                \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED void, NAME, inc, (dest, pe), TYPE *dest, int pe)                                 \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED TYPE, NAME, fadd, (dest, value, pe), TYPE *dest, TYPE value, int pe)             \
    SHMEMI_OVERLOAD(SHMEMI_DEPRECATED void, NAME, add, (dest, value, pe), TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_OLD_XAMO_TYPES(SHMEMI_OVERLOAD_OLD_XAMO, )
SHMEMI_FOR_OLD_AMO_TYPES(SHMEMI_OVERLOAD_OLD_AMO, )
#pragma GCC diagnostic pop

/* ---- Collectives [9.10] ------------------------------------------------------------------------------------------ */

/* shmem_sync over an active set is a function of C. */
inline int shmem_sync(shmem_team_t team)
{
    return shmem_team_sync(team);
}

#define SHMEMI_OVERLOAD_TEAM(NAME, TYPE, V)                                                                            \
    SHMEMI_OVERLOAD(int, NAME, V, (team, dest, source, nelems), shmem_team_t team, TYPE *dest, const TYPE *source,     \
                    size_t nelems)
#define SHMEMI_OVERLOAD_BROADCAST(NAME, TYPE, V)                                                                       \
    SHMEMI_OVERLOAD(int, NAME, V, (team, dest, source, nelems, PE_root), shmem_team_t team, TYPE *dest,                \
                    const TYPE *source, size_t nelems, int PE_root)
#define SHMEMI_OVERLOAD_ALLTOALLS(NAME, TYPE, V)                                                                       \
    SHMEMI_OVERLOAD(int, NAME, V, (team, dest, source, dst, sst, nelems), shmem_team_t team, TYPE *dest,               \
                    const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_BROADCAST, broadcast)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TEAM, collect)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TEAM, fcollect)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TEAM, alltoall)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_ALLTOALLS, alltoalls)
SHMEMI_FOR_C_BITS_TYPES(SHMEMI_OVERLOAD_TEAM, and_reduce)
SHMEMI_FOR_C_BITS_TYPES(SHMEMI_OVERLOAD_TEAM, or_reduce)
SHMEMI_FOR_C_BITS_TYPES(SHMEMI_OVERLOAD_TEAM, xor_reduce)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TEAM, max_reduce)
SHMEMI_FOR_C_RMA_TYPES(SHMEMI_OVERLOAD_TEAM, min_reduce)
SHMEMI_FOR_C_ARITHMETIC_TYPES(SHMEMI_OVERLOAD_TEAM, sum_reduce)
SHMEMI_FOR_C_ARITHMETIC_TYPES(SHMEMI_OVERLOAD_TEAM, prod_reduce)
SHMEMI_FOR_C_ARITHMETIC_TYPES(SHMEMI_OVERLOAD_TEAM, sum_inscan)
SHMEMI_FOR_C_ARITHMETIC_TYPES(SHMEMI_OVERLOAD_TEAM, sum_exscan)

/* Complex numbers of C++: std::complex<float> and <double>, and classes that are made like them, such as those of thrust
 * and cuda::std. They have a real and an imaginary part, in this order, and nothing else. */
template <typename Part> struct shmemi_complex_of;
template <> struct shmemi_complex_of<float> {
    typedef shmemi_complexf type;
};
template <> struct shmemi_complex_of<double> {
    typedef shmemi_complexd type;
};
template <typename Class> const Class &shmemi_any_of(); /* never called */
template <typename Class> struct shmemi_complex_class {
    typedef decltype(shmemi_any_of<Class>().imag()) part;
    typedef typename shmemi_complex_of<part>::type type;
    static_assert(sizeof(Class) == 2 * sizeof(part), "not a complex number: more than two parts");
};
#define SHMEMI_OVERLOAD_COMPLEX(V)                                                                                     \
    template <typename Class>                                                                                          \
    inline auto shmem_##V(shmem_team_t team, Class *dest, const Class *source, size_t nelems)                          \
        ->decltype(source->real(), source->imag(), int())                                                              \
    {                                                                                                                  \
        typedef typename shmemi_complex_class<Class>::type number;                                                     \
        return shmem_##V(team, reinterpret_cast<number *>(dest), reinterpret_cast<const number *>(source), nelems);    \
    }
SHMEMI_OVERLOAD_COMPLEX(sum_reduce)
SHMEMI_OVERLOAD_COMPLEX(prod_reduce)
SHMEMI_OVERLOAD_COMPLEX(sum_inscan)
SHMEMI_OVERLOAD_COMPLEX(sum_exscan)

/* ---- Point-to-point synchronisation [9.11] ----------------------------------------------------------------------- */

#define SHMEMI_OVERLOAD_WAIT(NAME, TYPE, ...)                                                                          \
    SHMEMI_OVERLOAD(void, NAME, wait_until, (ivar, cmp, cmp_value), TYPE *ivar, int cmp, TYPE cmp_value)
/* shmem_wait_until for long is a function of C. */
SHMEMI_FOR_SHORT_TYPES(SHMEMI_OVERLOAD_WAIT, )
SHMEMI_FOR_C_UNSIGNED_TYPES(SHMEMI_OVERLOAD_WAIT, )
SHMEMI_OVERLOAD_WAIT(int, int, )
SHMEMI_OVERLOAD_WAIT(longlong, long long, )

#define SHMEMI_OVERLOAD_TEST(NAME, TYPE, ...)                                                                          \
    SHMEMI_OVERLOAD(int, NAME, test, (ivar, cmp, cmp_value), TYPE *ivar, int cmp, TYPE cmp_value)
SHMEMI_FOR_C_WAIT_TYPES(SHMEMI_OVERLOAD_TEST, )

#define SHMEMI_OVERLOAD_SET(NAME, TYPE, VERB, ALL)                                                                     \
    SHMEMI_OVERLOAD(ALL, NAME, VERB##_all, (ivars, nelems, status, cmp, cmp_value), TYPE *ivars, size_t nelems,        \
                    const int *status, int cmp, TYPE cmp_value)                                                        \
    SHMEMI_OVERLOAD(size_t, NAME, VERB##_any, (ivars, nelems, status, cmp, cmp_value), TYPE *ivars, size_t nelems,     \
                    const int *status, int cmp, TYPE cmp_value)                                                        \
    SHMEMI_OVERLOAD(size_t, NAME, VERB##_some, (ivars, nelems, indices, status, cmp, cmp_value), TYPE *ivars,          \
                    size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value)                        \
    SHMEMI_OVERLOAD(ALL, NAME, VERB##_all_vector, (ivars, nelems, status, cmp, cmp_values), TYPE *ivars,               \
                    size_t nelems, const int *status, int cmp, const TYPE *cmp_values)                                 \
    SHMEMI_OVERLOAD(size_t, NAME, VERB##_any_vector, (ivars, nelems, status, cmp, cmp_values), TYPE *ivars,            \
                    size_t nelems, const int *status, int cmp, const TYPE *cmp_values)                                 \
    SHMEMI_OVERLOAD(size_t, NAME, VERB##_some_vector, (ivars, nelems, indices, status, cmp, cmp_values), TYPE *ivars,  \
                    size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_SET, wait_until, void)
SHMEMI_FOR_C_AMO_TYPES(SHMEMI_OVERLOAD_SET, test, int)

} // extern "C++"

#endif
