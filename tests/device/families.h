/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Families of shmemx_device.h by all groups, at sizes around a slot of the work area: fcollect, alltoall, broadcast,
 * reductions and reducescatter, with and without a view; strided transfers; sums of real numbers; waits for words of 16
 * bits; flush. Sources are written again as soon as a call allows it, and every byte of what a call may write to is
 * compared. The same code for threads of the CPU (tests/api/device_families.cc) and for kernels (families.cu).
 */
#ifndef DEVICE_FAMILIES_H
#define DEVICE_FAMILIES_H

#include <shmemx_device.h>

enum { FAMILY_GUARD = 64, FAMILY_SLOT = 2064, FAMILY_BLOCK = 5000, FAMILY_SIZES = 10 };
enum { FAMILY_LARGE = 17000 }; /* more than a slot of the ring: the agent reads the source where it is */

struct family_run {
    shmemx_device_view_t view;
    shmemx_device_team_t team; /* of all PEs, with slots of FAMILY_SLOT bytes */
    unsigned char *dest;       /* symmetric, family_bytes(n_pes) */
    unsigned char *source;     /* of this PE alone, as much */
    double *sums;              /* symmetric, 4, all 0 at the start */
    float *single_sums;        /* symmetric, 4, all 0 at the start */
    unsigned short *pairs;     /* symmetric, 4, all 0 at the start */
    int *failed;               /* the line of a check that has failed */
};

#ifdef __CUDACC__
#define FAMILY static __device__ __noinline__
#define FAMILY_MEMBER __device__ __noinline__
#define FAMILY_SIZE static __device__ __host__
#else
#define FAMILY static inline
#define FAMILY_MEMBER inline
#define FAMILY_SIZE static inline
#endif
#define FAMILY_EXPECT(condition)                                                                                       \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            shmemi_device::store_relaxed(reinterpret_cast<unsigned *>(run.failed), static_cast<unsigned>(__LINE__));   \
    } while (0)

FAMILY_SIZE unsigned family_bytes(int n_pes)
{
    return static_cast<unsigned>(n_pes) * FAMILY_LARGE + 2 * FAMILY_GUARD;
}

FAMILY unsigned family_size(unsigned i)
{
    const unsigned sizes[FAMILY_SIZES] = {
        0,           1, 15, 16, FAMILY_SLOT - 16, FAMILY_SLOT - 1, FAMILY_SLOT, FAMILY_SLOT + 1, 2 * FAMILY_SLOT + 8,
        FAMILY_BLOCK};
    return sizes[i];
}

/* What a PE sends to another one; to -1: to all. */
FAMILY unsigned char family_byte(unsigned i, int from, int to, unsigned round)
{
    return static_cast<unsigned char>(i * 5 + i / 251 + static_cast<unsigned>(from) * 37 +
                                      static_cast<unsigned>(to + 1) * 59 + round * 11 + 1);
}

/* The first group of its kind in the block makes calls that are for a group. */
FAMILY bool is_caller(shmemx_device_block_t)
{
    return true;
}
FAMILY bool is_caller(shmemx_device_warp_t group)
{
    return shmemx_device_block_t().rank() < group.size() && shmemx_device_block_t().rank() == group.rank();
}
FAMILY bool is_caller(shmemx_device_thread_t)
{
    return shmemx_device_block_t().rank() == 0;
}

/* ---- Blocks of bytes ----------------------------------------------------------------------------------------------- */

enum { TO_ONE, TO_EACH, TO_ALL, WAYS_OF_BYTES }; /* broadcast, alltoall, fcollect */

FAMILY void fill_for(const family_run &run, int way, unsigned n, unsigned round)
{
    const shmemx_device_block_t block;
    const unsigned n_blocks = way == TO_EACH ? static_cast<unsigned>(run.team.n_pes) : 1;
    block.sync();
    for (unsigned i = block.rank(); i < family_bytes(run.team.n_pes); i += block.size())
        run.dest[i] = 0xee;
    for (unsigned i = block.rank(); i < n_blocks * n; i += block.size())
        run.source[i] = family_byte(i % n, run.team.pe, way == TO_EACH ? static_cast<int>(i / n) : -1, round);
    shmemx_device_barrier(block, run.team);
}

template <class GROUP> FAMILY void spoil_source(const family_run &run, GROUP group, unsigned n)
{
    group.sync();
    for (unsigned i = group.rank(); i < n; i += group.size())
        run.source[i] = 0x55;
    group.sync();
}

template <class GROUP>
FAMILY void call_for_bytes(const family_run &run, GROUP group, int way, bool has_view, unsigned n, int root)
{
    unsigned char *dest = run.dest + FAMILY_GUARD;
    if (way == TO_ONE && has_view)
        shmemx_device_broadcast(group, run.team, run.view, dest, run.source, n, root);
    else if (way == TO_ONE)
        shmemx_device_broadcast(group, run.team, dest, run.source, n, root);
    else if (way == TO_ALL && has_view)
        shmemx_device_fcollect(group, run.team, run.view, dest, run.source, n);
    else if (way == TO_ALL)
        shmemx_device_fcollect(group, run.team, dest, run.source, n);
    else if (has_view)
        shmemx_device_alltoall(group, run.team, run.view, dest, run.source, n);
    else
        shmemx_device_alltoall(group, run.team, dest, run.source, n);
    spoil_source(run, group, way == TO_EACH ? n * static_cast<unsigned>(run.team.n_pes) : n);
}

FAMILY void expect_blocks(const family_run &run, int way, unsigned n, int root, unsigned round)
{
    const shmemx_device_block_t block;
    const unsigned n_blocks = way == TO_ONE ? 1 : static_cast<unsigned>(run.team.n_pes);
    block.sync();
    for (unsigned i = block.rank(); i < family_bytes(run.team.n_pes); i += block.size()) {
        const unsigned at = i - FAMILY_GUARD;
        const bool is_data = i >= FAMILY_GUARD && at < n_blocks * n;
        const int from = way == TO_ONE ? root : static_cast<int>(is_data ? at / n : 0);
        FAMILY_EXPECT(run.dest[i] ==
                      (is_data ? family_byte(at % n, from, way == TO_EACH ? run.team.pe : -1, round) : 0xee));
    }
    block.sync();
}

template <class GROUP> FAMILY void check_bytes_of(const family_run &run, GROUP group, unsigned n, unsigned round)
{
    const int root = static_cast<int>(round) % run.team.n_pes;
    for (int way = 0; way < WAYS_OF_BYTES; way++)
        for (int has_view = 0; has_view < 2; has_view++) {
            fill_for(run, way, n, round);
            if (is_caller(group))
                call_for_bytes(run, group, way, has_view != 0, n, root);
            expect_blocks(run, way, n, root, round);
            shmemx_device_barrier(shmemx_device_block_t(), run.team);
        }
}

/* ---- Reductions ----------------------------------------------------------------------------------------------------- */

/* The operation for two numbers, and its calls. */
#define FAMILY_OPERATION(NAME, RESULT)                                                                                 \
    struct NAME##_family {                                                                                             \
        template <class T> static FAMILY_MEMBER T combine(T a, T b)                                                    \
        {                                                                                                              \
            return static_cast<T>(RESULT);                                                                             \
        }                                                                                                              \
        template <class GROUP, class T>                                                                                \
        static FAMILY_MEMBER void reduce(const family_run &run, GROUP group, T *dest, const T *source, unsigned n)     \
        {                                                                                                              \
            shmemx_device_##NAME##_reduce(group, run.team, dest, source, n);                                           \
        }                                                                                                              \
        template <class GROUP, class T>                                                                                \
        static FAMILY_MEMBER void directly(const family_run &run, GROUP group, T *dest, const T *source, unsigned n)   \
        {                                                                                                              \
            shmemx_device_##NAME##_reduce(group, run.team, run.view, dest, source, n);                                 \
        }                                                                                                              \
        template <class GROUP, class T>                                                                                \
        static FAMILY_MEMBER void scatter(const family_run &run, GROUP group, T *dest, const T *source, unsigned n)    \
        {                                                                                                              \
            shmemx_device_##NAME##_reducescatter(group, run.team, dest, source, n);                                    \
        }                                                                                                              \
    };
FAMILY_OPERATION(sum, a + b)
FAMILY_OPERATION(prod, a *b)
FAMILY_OPERATION(min, b < a ? b : a)
FAMILY_OPERATION(max, a < b ? b : a)
FAMILY_OPERATION(and, a &b)
FAMILY_OPERATION(or, a | b)
FAMILY_OPERATION(xor, a ^ b)

enum { REDUCE, REDUCE_DIRECTLY, REDUCE_SCATTER, WAYS_OF_NUMBERS };

/* Small numbers: sums and products over all PEs are exact, or wrap as those of integers do. */
template <class T> FAMILY T family_number(unsigned i, int pe, unsigned round)
{
    return static_cast<T>((i * 7 + static_cast<unsigned>(pe) * 3 + round) % 5 + 1);
}

template <class OP, class T> FAMILY T expected_number(const family_run &run, unsigned i, unsigned round)
{
    T result = family_number<T>(i, 0, round);
    for (int pe = 1; pe < run.team.n_pes; pe++)
        result = OP::template combine<T>(result, family_number<T>(i, pe, round));
    return result;
}

/* All of dest is 0xee, but where it is the source, too. */
template <class T> FAMILY void fill_numbers(const family_run &run, T *source, unsigned n, unsigned round)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned i = block.rank(); i < family_bytes(run.team.n_pes); i += block.size())
        run.dest[i] = 0xee;
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size())
        source[i] = family_number<T>(i, run.team.pe, round);
    shmemx_device_barrier(block, run.team);
}

/* n results from the numbers `first` and so on; behind them up to n_kept that the call has left alone; and 0xee. */
template <class OP, class T>
FAMILY void expect_numbers(const family_run &run, unsigned first, unsigned n, unsigned n_kept, unsigned round)
{
    const shmemx_device_block_t block;
    const T *dest = reinterpret_cast<const T *>(run.dest + FAMILY_GUARD);
    const unsigned touched = FAMILY_GUARD + (n_kept > n ? n_kept : n) * static_cast<unsigned>(sizeof(T));
    block.sync();
    for (unsigned i = block.rank(); i < n || i < n_kept; i += block.size())
        FAMILY_EXPECT(dest[i] == (i < n ? expected_number<OP, T>(run, first + i, round)
                                        : family_number<T>(i, run.team.pe, round)));
    for (unsigned i = block.rank(); i < family_bytes(run.team.n_pes); i += block.size())
        FAMILY_EXPECT((i >= FAMILY_GUARD && i < touched) || run.dest[i] == 0xee);
    block.sync();
}

template <class OP, class T, class GROUP>
FAMILY void check_reduction(const family_run &run, GROUP group, int way, bool in_place, unsigned n, unsigned round)
{
    T *dest = reinterpret_cast<T *>(run.dest + FAMILY_GUARD);
    T *source = in_place ? dest : reinterpret_cast<T *>(run.source);
    const unsigned n_sources = way == REDUCE_SCATTER ? n * static_cast<unsigned>(run.team.n_pes) : n;
    fill_numbers(run, source, n_sources, round);
    if (is_caller(group)) {
        if (way == REDUCE)
            OP::reduce(run, group, dest, source, n);
        else if (way == REDUCE_DIRECTLY)
            OP::directly(run, group, dest, source, n);
        else
            OP::scatter(run, group, dest, source, n);
        if (!in_place)
            spoil_source(run, group, n_sources * static_cast<unsigned>(sizeof(T)));
    }
    expect_numbers<OP, T>(run, way == REDUCE_SCATTER ? n * static_cast<unsigned>(run.team.pe) : 0, n,
                          in_place ? n_sources : 0, round);
    shmemx_device_barrier(shmemx_device_block_t(), run.team);
}

template <class OP, class T, class GROUP>
FAMILY void check_reductions(const family_run &run, GROUP group, unsigned nbytes, unsigned round)
{
    for (int way = 0; way < WAYS_OF_NUMBERS; way++)
        for (int in_place = 0; in_place < 2; in_place++)
            check_reduction<OP, T>(run, group, way, in_place != 0, nbytes / static_cast<unsigned>(sizeof(T)), round);
}

template <class GROUP> FAMILY void check_numbers_of(const family_run &run, GROUP group, unsigned nbytes, unsigned round)
{
    check_reductions<sum_family, double>(run, group, nbytes, round);
    check_reductions<xor_family, unsigned short>(run, group, nbytes, round);
}
FAMILY void check_numbers_of(const family_run &run, shmemx_device_block_t group, unsigned nbytes, unsigned round)
{
    check_reductions<sum_family, double>(run, group, nbytes, round);
    check_reductions<prod_family, int>(run, group, nbytes, round);
    check_reductions<min_family, short>(run, group, nbytes, round);
    check_reductions<max_family, float>(run, group, nbytes, round);
    check_reductions<and_family, unsigned char>(run, group, nbytes, round);
    check_reductions<or_family, unsigned long>(run, group, nbytes, round);
    check_reductions<xor_family, unsigned short>(run, group, nbytes, round);
}

/* ---- Strided transfers ---------------------------------------------------------------------------------------------- */

struct alignas(16) four_words {
    unsigned word[4];
};

/* By their bytes: some are no numbers. */
template <class T> FAMILY bool same_element(const T &a, const T &b)
{
    const unsigned char *left = reinterpret_cast<const unsigned char *>(&a);
    const unsigned char *right = reinterpret_cast<const unsigned char *>(&b);
    unsigned k = 0;
    while (k < sizeof(T) && left[k] == right[k])
        k++;
    return k == sizeof(T);
}

template <class T> FAMILY T element_of(unsigned i, int pe)
{
    T element;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(&element);
    for (unsigned k = 0; k < sizeof(T); k++)
        bytes[k] = family_byte(i * 16 + k, pe, -1, 0);
    return element;
}

template <class T> FAMILY void fill_elements(const family_run &run, T *elements, unsigned n, bool is_source)
{
    const shmemx_device_block_t block;
    for (unsigned i = block.rank(); i < n; i += block.size())
        elements[i] = element_of<T>(i, is_source ? run.view.pe : -2);
    block.sync();
}

/* Of n elements those that are multiples of `apart` came from another place, `from_apart` times as far from the begin. */
template <class T>
FAMILY void expect_elements(const family_run &run, const T *elements, unsigned n, unsigned apart, unsigned from_apart,
                            int from)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size())
        FAMILY_EXPECT(same_element(elements[i], i % apart == 0 ? element_of<T>(i / apart * from_apart, from)
                                                               : element_of<T>(i, -2)));
    block.sync();
}

template <class T, class GROUP> FAMILY void check_strided(const family_run &run, GROUP group, long dst, long sst)
{
    enum { ELEMENTS = 40, PLACES = 120 };
    const shmemx_device_block_t block;
    const int n_pes = run.view.n_pes, next = (run.view.pe + 1) % n_pes, before = (run.view.pe + n_pes - 1) % n_pes;
    const unsigned to_apart = static_cast<unsigned>(dst), from_apart = static_cast<unsigned>(sst);
    T *shared = reinterpret_cast<T *>(run.dest), *own = reinterpret_cast<T *>(run.source);
    fill_elements(run, shared, PLACES, false);
    fill_elements(run, own, PLACES, true);
    shmemx_device_barrier(block, run.team);
    if (is_caller(group))
        shmemx_device_iput(group, run.view, shared, own, dst, sst, ELEMENTS, next);
    shmemx_device_barrier(block, run.team);
    expect_elements(run, shared, ELEMENTS * to_apart, to_apart, from_apart, before);
    fill_elements(run, shared, PLACES, true);
    fill_elements(run, own, PLACES, false);
    shmemx_device_barrier(block, run.team);
    if (is_caller(group))
        shmemx_device_iget(group, run.view, own, shared, dst, sst, ELEMENTS, next);
    expect_elements(run, own, ELEMENTS * to_apart, to_apart, from_apart, next);
    shmemx_device_barrier(block, run.team);
}

template <class GROUP> FAMILY void check_strided_of(const family_run &run, GROUP group)
{
    check_strided<unsigned char>(run, group, 1, 3);
    check_strided<unsigned short>(run, group, 2, 1);
    check_strided<float>(run, group, 3, 2);
    check_strided<double>(run, group, 1, 1);
    check_strided<four_words>(run, group, 2, 3);
}

/* ---- Words ---------------------------------------------------------------------------------------------------------- */

/* Every thread of every PE adds to words of PE 0. */
template <class T> FAMILY void check_sums(const family_run &run, T *sums)
{
    const shmemx_device_block_t block;
    const T threads = static_cast<T>(block.size() * static_cast<unsigned>(run.view.n_pes));
    shmemx_device_atomic_add(run.view, &sums[1], static_cast<T>(0.5), 0);
    const T before = shmemx_device_atomic_fetch_add(run.view, &sums[2], static_cast<T>(0.25), 0);
    FAMILY_EXPECT(before >= 0 && before < threads / 4 && before * 4 == static_cast<T>(static_cast<int>(before * 4)));
    shmemx_device_barrier(block, run.team);
    if (block.rank() == 0) {
        FAMILY_EXPECT(shmemx_device_atomic_fetch(run.view, &sums[1], 0) == threads / 2);
        FAMILY_EXPECT(shmemx_device_atomic_fetch(run.view, &sums[2], 0) == threads / 4);
        FAMILY_EXPECT(run.view.pe ? sums[1] == 0 && sums[2] == 0 : sums[1] > 0);
        FAMILY_EXPECT(sums[0] == 0 && sums[3] == 0);
    }
    shmemx_device_barrier(block, run.team);
}

FAMILY void check_pairs(const family_run &run)
{
    const shmemx_device_block_t block;
    const int n_pes = run.view.n_pes, next = (run.view.pe + 1) % n_pes;
    const int none[2] = {0, 0};
    unsigned short *pairs = run.pairs;
    if (block.rank() == 0)
        shmemx_device_p(run.view, &pairs[1], static_cast<unsigned short>(65001), next);
    shmemx_device_wait_until(block, run.view, &pairs[1], SHMEM_CMP_GT, 65000);
    FAMILY_EXPECT(shmemx_device_test(run.view, &pairs[1], SHMEM_CMP_EQ, 65001));
    FAMILY_EXPECT(!shmemx_device_test(run.view, &pairs[1], SHMEM_CMP_LT, 65001));
    if (block.rank() == 0) {
        shmemx_device_p(run.view, &pairs[2], static_cast<unsigned short>(65002), next);
        FAMILY_EXPECT(shmemx_device_wait_until_any(run.view, pairs + 2, 2, none, SHMEM_CMP_EQ, 65002) == 0);
    }
    shmemx_device_barrier(block, run.team);
    FAMILY_EXPECT(pairs[0] == 0 && pairs[1] == 65001 && pairs[2] == 65002 && pairs[3] == 0);
    shmemx_device_barrier(block, run.team);
}

/* A source is free after flush; dest has it after the barrier. */
template <class GROUP> FAMILY void check_flush(const family_run &run, GROUP group, unsigned n)
{
    const shmemx_device_block_t block;
    const int n_pes = run.view.n_pes, next = (run.view.pe + 1) % n_pes, before = (run.view.pe + n_pes - 1) % n_pes;
    fill_for(run, TO_ALL, n, 3);
    if (is_caller(group)) {
        shmemx_device_putmem_nbi(group, run.view, run.dest + FAMILY_GUARD, run.source, n, next);
        shmemx_device_flush(group, run.view);
        spoil_source(run, group, n);
    }
    shmemx_device_barrier(block, run.team);
    expect_blocks(run, TO_ONE, n, before, 3);
    shmemx_device_barrier(block, run.team);
}

/* ---- All of it ------------------------------------------------------------------------------------------------------ */

template <class GROUP> FAMILY void check_families_of(const family_run &run, GROUP group, unsigned first, unsigned step)
{
    for (unsigned i = first; i < FAMILY_SIZES; i += step) {
        check_bytes_of(run, group, family_size(i), i);
        check_numbers_of(run, group, family_size(i), i);
    }
    check_strided_of(run, group);
    check_flush(run, group, FAMILY_BLOCK);
    check_flush(run, group, family_bytes(run.team.n_pes) - 2 * FAMILY_GUARD);
}

FAMILY void check_families(const family_run &run, unsigned step)
{
    check_sums(run, run.sums);
    check_sums(run, run.single_sums);
    check_pairs(run);
    check_bytes_of(run, shmemx_device_block_t(), FAMILY_LARGE, 1);
    check_families_of(run, shmemx_device_block_t(), 0, 1);
    check_families_of(run, shmemx_device_warp_t(), 1 % step, step);
    check_families_of(run, shmemx_device_thread_t(), 2 % step, step);
}

#endif
