/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call of shmemx_device.h, made by one block of each PE and checked: the same code for threads of the CPU
 * (tests/api/device.cc, tests/device/threads.cc) and for kernels (tests/device/kernel.cu).
 *
 * The PEs form a ring: each writes to the next one, and checks what the one before has written.
 */
#ifndef DEVICE_CALLS_H
#define DEVICE_CALLS_H

#include <shmemx_device.h>

enum { N_BYTES = 5000, N_WORDS = 32, N_NUMBERS = 200, WORK_NUMBERS = 512, TIMES = 6 };

/* What every PE has: symmetric, all 0 at the start. */
struct symmetric {
    alignas(16) unsigned char bytes[N_BYTES];
    unsigned long signals[N_WORDS];
    unsigned long words[N_WORDS];
    unsigned int halves[N_WORDS];
    double numbers[N_NUMBERS];
    float single;
    unsigned short pair;
    alignas(16) char work[WORK_NUMBERS * 16];
};

struct calls {
    shmemx_device_view_t view;
    shmemx_device_team_t team;
    symmetric *own;
    unsigned char *source; /* N_BYTES of this PE, not symmetric */
    int *failed;           /* the line of a check that has failed */
};

/* Not inlined into kernels, which would take the compiler minutes. */
#ifdef __CUDACC__
#define CALLS static __device__ __noinline__
#else
#define CALLS static inline
#endif
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            shmemi_device::store_relaxed(reinterpret_cast<unsigned *>(c.failed), static_cast<unsigned>(__LINE__));     \
    } while (0)

typedef shmemx_device_block_t block_group;
typedef shmemx_device_warp_t warp_group;
typedef shmemx_device_thread_t thread_group;

CALLS int next_of(const calls &c)
{
    return (c.view.pe + 1) % c.view.n_pes;
}
CALLS int previous_of(const calls &c)
{
    return (c.view.pe + c.view.n_pes - 1) % c.view.n_pes;
}

CALLS unsigned char pattern(unsigned long i, int pe, unsigned round)
{
    return static_cast<unsigned char>(i * 7 + static_cast<unsigned long>(pe) * 31 + round * 13 + 1);
}

/* Is this thread one of the first group of its kind in the block? */
CALLS bool is_in(block_group)
{
    return true;
}
CALLS bool is_in(warp_group group)
{
    return block_group().rank() < group.size() && block_group().rank() == group.rank();
}
CALLS bool is_in(thread_group)
{
    return block_group().rank() == 0;
}

CALLS void fill_source(const calls &c, unsigned round)
{
    const block_group block;
    for (unsigned long i = block.rank(); i < N_BYTES; i += block.size())
        c.source[i] = pattern(i, c.view.pe, round);
    block.sync();
}

/* The bytes from `at` on came from source + from of a PE; all others are as clear_bytes has left them. */
CALLS void check_bytes(const calls &c, const unsigned char *bytes, unsigned long at, unsigned long from,
                       unsigned long n, int pe, unsigned round)
{
    const block_group block;
    for (unsigned long i = block.rank(); i < N_BYTES; i += block.size())
        EXPECT(bytes[i] == (i >= at && i < at + n ? pattern(from + i - at, pe, round) : 0));
    block.sync();
}
CALLS void clear_bytes(unsigned char *bytes)
{
    const block_group block;
    for (unsigned long i = block.rank(); i < N_BYTES; i += block.size())
        bytes[i] = 0;
    block.sync();
}

template <class GROUP>
CALLS void check_put(const calls &c, GROUP group, unsigned long at, unsigned long from, unsigned long n, bool nbi,
                     unsigned round)
{
    const block_group block;
    fill_source(c, round);
    if (is_in(group) && nbi) {
        shmemx_device_put_nbi(group, c.view, c.own->bytes + at, c.source + from, n, next_of(c));
        shmemx_device_quiet(group, c.view);
    } else if (is_in(group))
        shmemx_device_putmem(group, c.view, c.own->bytes + at, c.source + from, n, next_of(c));
    shmemx_device_barrier(block, c.team);
    check_bytes(c, c.own->bytes, at, from, n, previous_of(c), round);
    clear_bytes(c.own->bytes);
    shmemx_device_barrier(block, c.team);
}

template <class GROUP>
CALLS void check_get(const calls &c, GROUP group, unsigned long at, unsigned long from, unsigned long n, bool nbi,
                     unsigned round)
{
    const block_group block;
    for (unsigned long i = block.rank(); i < N_BYTES; i += block.size())
        c.own->bytes[i] = pattern(i, c.view.pe, round);
    clear_bytes(c.source);
    shmemx_device_barrier(block, c.team);
    if (is_in(group) && nbi) {
        shmemx_device_getmem_nbi(group, c.view, c.source + at, c.own->bytes + from, n, next_of(c));
        shmemx_device_quiet(group, c.view);
    } else if (is_in(group))
        shmemx_device_get(group, c.view, c.source + at, c.own->bytes + from, n, next_of(c));
    block.sync();
    check_bytes(c, c.source, at, from, n, next_of(c), round);
    shmemx_device_barrier(block, c.team);
    clear_bytes(c.own->bytes);
    shmemx_device_barrier(block, c.team);
}

/* Lengths below and above what a group copies at once, and each unit in which both sides can be alike; or much more. */
template <class GROUP> CALLS void check_copies(const calls &c, GROUP group, bool much)
{
    const unsigned long lengths[] = {7, 100, 4097, 0, 1, 8, 16, 33, 1000};
    const unsigned long distances[] = {0, 8, 4, 2, 1, 3, 6, 12, 15};
    unsigned round = 0;
    for (int l = 0; l < (much ? 9 : 3); l++)
        for (int d = 0; d < (much ? 9 : 5); d++)
            for (unsigned long at = 3; at < (much ? 19u : 4u); at++) {
                const unsigned long dest = 64 + at, source = 64 + (at + distances[d]) % 19;
                check_put(c, group, dest, source, lengths[l], round % 2, round);
                check_get(c, group, dest, source, lengths[l], round % 2, round);
                round++;
            }
}

/* As many messages as times: each waits for the one before, so the data may be written again. */
template <class GROUP> CALLS void check_signals(const calls &c, GROUP group, int op, unsigned word)
{
    const block_group block;
    unsigned long *signal = &c.own->signals[word], *answer = &c.own->signals[word + 1];
    for (unsigned k = 1; k <= TIMES; k++) {
        fill_source(c, k);
        if (is_in(group))
            shmemx_device_put_signal(group, c.view, c.own->bytes + 5, c.source + 21, 777, signal,
                                     op == SHMEM_SIGNAL_SET ? k : 1, op, next_of(c));
        shmemx_device_signal_wait_until(block, c.view, signal, SHMEM_CMP_GE, k);
        EXPECT(shmemx_device_signal_fetch(c.view, signal) == k);
        check_bytes(c, c.own->bytes, 5, 21, 777, previous_of(c), k);
        if (block.rank() == 0)
            shmemx_device_signal_op(c.view, answer, op == SHMEM_SIGNAL_SET ? k : 1, op, previous_of(c));
        shmemx_device_wait_until(block, c.view, answer, SHMEM_CMP_EQ, k);
    }
    shmemx_device_barrier(block, c.team);
    clear_bytes(c.own->bytes);
    shmemx_device_barrier(block, c.team);
}

CALLS void check_values(const calls &c)
{
    const block_group block;
    const int me = c.view.pe, next = next_of(c), previous = previous_of(c);
    if (block.rank() == 0) {
        shmemx_device_p(c.view, &c.own->numbers[0], 1.5 + me, next);
        shmemx_device_p(c.view, &c.own->single, 2.5f + static_cast<float>(me), next);
        shmemx_device_p(c.view, &c.own->pair, static_cast<unsigned short>(300 + me), next);
        shmemx_device_p(c.view, &c.own->bytes[3], static_cast<unsigned char>(7 + me), next);
    }
    shmemx_device_barrier(block, c.team);
    EXPECT(c.own->numbers[0] == 1.5 + previous);
    EXPECT(c.own->single == 2.5f + static_cast<float>(previous));
    EXPECT(c.own->pair == 300 + previous && c.own->bytes[3] == 7 + previous && c.own->bytes[2] == 0);
    if (block.rank() == block.size() - 1) {
        EXPECT(shmemx_device_g(c.view, &c.own->numbers[0], next) == 1.5 + me);
        EXPECT(shmemx_device_g(c.view, &c.own->single, next) == 2.5f + static_cast<float>(me));
        EXPECT(shmemx_device_g(c.view, &c.own->pair, next) == 300 + me);
        EXPECT(shmemx_device_g(c.view, &c.own->bytes[3], next) == 7 + me);
    }
    shmemx_device_barrier(block, c.team);
    clear_bytes(c.own->bytes);
    shmemx_device_barrier(block, c.team);
}

/* Puts of one element by a thread, whether the compiler knows that it is one or not, and of one that is no word. */
CALLS void check_elements(const calls &c)
{
    struct two_words {
        unsigned first, second;
    };
    const block_group block;
    const int me = c.view.pe, next = next_of(c), previous = previous_of(c);
    two_words *places = reinterpret_cast<two_words *>(c.own->halves);
    if (block.rank() == 0) {
        const thread_group thread;
        const double number = 3.5 + me;
        const float single = 4.5f + static_cast<float>(me);
        const unsigned short pair = static_cast<unsigned short>(500 + me);
        const unsigned char byte = static_cast<unsigned char>(9 + me);
        const two_words both = {11u + static_cast<unsigned>(me), 13u + static_cast<unsigned>(me)};
        shmemx_device_put(thread, c.view, &c.own->numbers[1], &number, static_cast<unsigned long>(c.view.n_pes > 0),
                          next);
        shmemx_device_put(thread, c.view, &c.own->single, &single, 1, next);
        shmemx_device_put_nbi(thread, c.view, &c.own->pair, &pair, 1, next);
        shmemx_device_put_nbi(thread, c.view, &c.own->bytes[5], &byte, 1, next);
        shmemx_device_put(thread, c.view, &places[1], &both, 1, next);
    }
    shmemx_device_barrier(block, c.team);
    EXPECT(c.own->numbers[1] == 3.5 + previous);
    EXPECT(c.own->single == 4.5f + static_cast<float>(previous));
    EXPECT(c.own->pair == 500 + previous);
    EXPECT(c.own->bytes[4] == 0 && c.own->bytes[5] == 9 + previous && c.own->bytes[6] == 0);
    EXPECT(places[1].first == 11u + static_cast<unsigned>(previous));
    EXPECT(places[1].second == 13u + static_cast<unsigned>(previous));
    shmemx_device_barrier(block, c.team);
    clear_bytes(c.own->bytes);
    if (block.rank() == 0)
        c.own->halves[2] = c.own->halves[3] = 0;
    shmemx_device_barrier(block, c.team);
}

/* All threads put words at the same time: side by side, in which case those of a warp may travel together; in the opposite
 * order; with gaps; and by turns to this PE and to the next one. */
template <class T> CALLS void check_words(const calls &c)
{
    enum { PATTERNS = 4 };
    const block_group block;
    T *words = reinterpret_cast<T *>(c.own->bytes);
    const unsigned n = block.size(), me = block.rank();
    const unsigned places[PATTERNS] = {me, n - 1 - me, 2 * me, me};
    for (unsigned k = 0; k < PATTERNS; k++) {
        const bool in_turns = k == PATTERNS - 1;
        const int to = in_turns && me % 2 ? c.view.pe : next_of(c),
                  from = in_turns && me % 2 ? c.view.pe : previous_of(c);
        shmemx_device_p(c.view, &words[places[k]], static_cast<T>(3 * me + 1 + static_cast<unsigned>(c.view.pe)), to);
        shmemx_device_barrier(block, c.team);
        EXPECT(words[places[k]] == static_cast<T>(3 * me + 1 + static_cast<unsigned>(from)));
        EXPECT(k != 2 || words[2 * me + 1] == 0);
        block.sync();
        clear_bytes(c.own->bytes);
        shmemx_device_barrier(block, c.team);
    }
}

/* Every thread of every PE updates words of PE 0. */
template <class T> CALLS void check_atomics(const calls &c, T *words)
{
    const block_group block;
    const T threads = static_cast<T>(block.size()) * static_cast<T>(c.view.n_pes);
    const T mine = static_cast<T>(static_cast<T>(c.view.pe) * static_cast<T>(block.size()) + block.rank());
    const T bit = static_cast<T>(static_cast<T>(1) << mine % 31);
    EXPECT(shmemx_device_atomic_fetch_add(c.view, &words[0], 2, 0) % 2 == 0);
    EXPECT(shmemx_device_atomic_fetch_inc(c.view, &words[1], 0) < threads);
    shmemx_device_atomic_add(c.view, &words[2], mine, 0);
    shmemx_device_atomic_inc(c.view, &words[3], 0);
    shmemx_device_atomic_or(c.view, &words[4], bit, 0);
    shmemx_device_atomic_fetch_or(c.view, &words[5], bit, 0);
    shmemx_device_atomic_xor(c.view, &words[6], 5, 0);
    EXPECT(shmemx_device_atomic_fetch_xor(c.view, &words[7], 6, 0) % 2 == 0);
    for (;;) { /* a counter that only compare_swap changes */
        const T seen = shmemx_device_atomic_fetch(c.view, &words[8], 0);
        if (shmemx_device_atomic_compare_swap(c.view, &words[8], seen, seen + 1, 0) == seen)
            break;
    }
    shmemx_device_atomic_swap(c.view, &words[9], mine + 1, 0);
    shmemx_device_barrier(block, c.team);
    if (c.view.pe == 0 && block.rank() == 0) {
        EXPECT(words[0] == 2 * threads && words[1] == threads && words[3] == threads && words[8] == threads);
        EXPECT(words[2] == static_cast<T>(threads * (threads - 1) / 2));
        EXPECT(words[4] == words[5] && (words[4] & 1));
        EXPECT(words[6] == (threads % 2 ? 5 : 0) && words[7] == (threads % 2 ? 6 : 0));
        EXPECT(words[9] >= 1 && words[9] <= threads);
        shmemx_device_atomic_and(c.view, &words[4], 1, 0);
        EXPECT(shmemx_device_atomic_fetch(c.view, &words[4], 0) == 1);
        EXPECT(shmemx_device_atomic_fetch_and(c.view, &words[5], 1, 0) & 1);
        shmemx_device_atomic_set(c.view, &words[9], 77, 0);
        EXPECT(shmemx_device_atomic_swap(c.view, &words[9], 78, 0) == 77);
        EXPECT(shmemx_device_atomic_compare_swap(c.view, &words[9], 77, 1, 0) == 78);
    }
    shmemx_device_barrier(block, c.team);
    if (block.rank() == 0) {
        EXPECT(shmemx_device_atomic_fetch(c.view, &words[5], 0) == 1);
        EXPECT(shmemx_device_atomic_fetch(c.view, &words[9], 0) == 78);
        EXPECT(shmemx_device_atomic_swap(c.view, &c.own->single, 1.25f, c.view.pe) ==
               shmemx_device_g(c.view, &c.own->numbers[1], c.view.pe) + c.own->numbers[2]);
        c.own->numbers[2] = 1.25;
    }
    shmemx_device_barrier(block, c.team);
}

/* The next PE's words 0, 2, 4, ... change one after the other; the odd ones are left out or stay. */
CALLS void check_sets(const calls &c)
{
    const block_group block;
    unsigned long *words = &c.own->signals[16];
    const unsigned long values[4] = {10, 99, 12, 99};
    const int status[4] = {0, 1, 0, 1}, none[4] = {1, 1, 1, 1};
    unsigned long indices[4];
    const shmemx_device_view_t &v = c.view;
    if (block.rank() == 0) {
        EXPECT(shmemx_device_test_any(v, words, 4, nullptr, SHMEM_CMP_NE, 0) == ~0ul);
        EXPECT(!shmemx_device_test_all(v, words, 4, status, SHMEM_CMP_GT, 0));
        EXPECT(shmemx_device_test_all(v, words, 4, none, SHMEM_CMP_GT, 0));
        EXPECT(shmemx_device_wait_until_any(v, words, 4, none, SHMEM_CMP_GT, 0) == ~0ul);
        EXPECT(shmemx_device_wait_until_some(v, words, 4, indices, none, SHMEM_CMP_GT, 0) == 0);
    }
    shmemx_device_barrier(block, c.team);
    if (block.rank() == 0) {
        shmemx_device_signal_set(v, &words[2], 12, next_of(c));
        EXPECT(shmemx_device_wait_until_any(v, words, 4, nullptr, SHMEM_CMP_NE, 0) == 2);
        EXPECT(shmemx_device_wait_until_any_vector(v, words, 4, status, SHMEM_CMP_EQ, values) == 2);
        EXPECT(shmemx_device_wait_until_some(v, words, 4, indices, nullptr, SHMEM_CMP_GE, 12) == 1 && indices[0] == 2);
    }
    shmemx_device_barrier(block, c.team);
    if (block.rank() == 0)
        shmemx_device_signal_add(v, &words[0], 10, next_of(c));
    shmemx_device_wait_until_all_vector(block, v, words, 4, status, SHMEM_CMP_EQ, values);
    shmemx_device_wait_until_all(block, v, words, 4, status, SHMEM_CMP_LE, 12);
    shmemx_device_wait_until(block, v, &words[1], SHMEM_CMP_LT, 1);
    if (block.rank() == 0) {
        EXPECT(shmemx_device_test(v, &words[0], SHMEM_CMP_EQ, 10) && !shmemx_device_test(v, words, SHMEM_CMP_NE, 10));
        EXPECT(shmemx_device_test_some(v, words, 4, indices, nullptr, SHMEM_CMP_GT, 0) == 2 && indices[1] == 2);
        EXPECT(shmemx_device_test_some_vector(v, words, 4, indices, nullptr, SHMEM_CMP_EQ, values) == 2);
        EXPECT(shmemx_device_test_any_vector(v, words, 4, nullptr, SHMEM_CMP_EQ, values) == 0);
        EXPECT(shmemx_device_test_all_vector(v, words, 4, status, SHMEM_CMP_EQ, values));
        EXPECT(shmemx_device_wait_until_some_vector(v, words, 4, indices, status, SHMEM_CMP_EQ, values) == 2);
    }
    shmemx_device_barrier(block, c.team);
}

/* One after the other without barriers between them: slots are used again. */
template <class GROUP> CALLS void check_collectives(const calls &c, GROUP group)
{
    const int n = c.team.n_pes, me = c.team.pe;
    double *source = c.own->numbers, *dest = source + N_NUMBERS / 2;
    if (!is_in(group))
        return;
    for (int k = 0; k < TIMES; k++) {
        const int length = k % 3 == 0 ? 1 : k % 3 == 1 ? 7 : N_NUMBERS / 2;
        for (int i = static_cast<int>(group.rank()); i < length; i += static_cast<int>(group.size()))
            source[i] = 100 * me + i + k;
        group.sync();
        shmemx_device_sum_reduce(group, c.team, dest, source, static_cast<unsigned long>(length));
        for (int i = 0; i < length; i++)
            EXPECT(dest[i] == 50 * n * (n - 1) + n * (i + k));
        group.sync();
        shmemx_device_max_reduce(group, c.team, dest, source, static_cast<unsigned long>(length));
        EXPECT(dest[length - 1] == 100 * (n - 1) + length - 1 + k);
        group.sync();
        shmemx_device_min_reduce(group, c.team, dest, source, static_cast<unsigned long>(length));
        EXPECT(dest[length - 1] == length - 1 + k);
        group.sync();
        shmemx_device_broadcast(group, c.team, dest, source, static_cast<unsigned long>(length), k % n);
        for (int i = 0; i < length; i++)
            EXPECT(dest[i] == 100 * (k % n) + i + k);
        group.sync();
        if (k % 4 == 0)
            shmemx_device_sync(group, c.team);
        shmemx_device_sum_reduce(group, c.team, source, source, 1); /* in place */
        EXPECT(source[0] == 50 * n * (n - 1) + n * k);
        group.sync();
    }
}

CALLS void make_all_calls(const calls &c, bool much)
{
    const block_group block;
    shmemx_device_sync(block, c.team);
    check_copies(c, block_group(), much);
    check_copies(c, warp_group(), false);
    check_copies(c, thread_group(), false);
    check_signals(c, block_group(), SHMEM_SIGNAL_SET, 0);
    check_signals(c, warp_group(), SHMEM_SIGNAL_ADD, 2);
    check_signals(c, thread_group(), SHMEM_SIGNAL_SET, 4);
    check_values(c);
    check_elements(c);
    clear_bytes(c.own->bytes);
    shmemx_device_barrier(block, c.team);
    check_words<unsigned char>(c);
    check_words<unsigned short>(c);
    check_words<unsigned int>(c);
    check_words<unsigned long>(c);
    if (block.rank() == 0)
        c.own->numbers[1] = c.own->single, c.own->numbers[2] = 0;
    shmemx_device_barrier(block, c.team);
    check_atomics(c, c.own->words);
    if (block.rank() == 0)
        c.own->numbers[1] = 0;
    shmemx_device_barrier(block, c.team);
    check_atomics(c, c.own->halves);
    check_sets(c);
    check_collectives(c, block_group());
    block.sync();
    check_collectives(c, warp_group());
    block.sync();
    check_collectives(c, thread_group());
    shmemx_device_barrier(block, c.team);
}

#endif
