/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device calls with NVSHMEM's names, made by one block of each PE and checked: the same code for threads of the CPU that
 * play a kernel (played.cc) and for kernels (device.cu). The PEs form a ring: each writes to the next one, and checks what
 * the one before has written, and that nothing else has changed.
 */
#ifndef KERNEL_CHECKS_H
#define KERNEL_CHECKS_H

enum { CHECK_ELEMENTS = 21, CHECK_FIRST = 4, CHECK_PLACES = 80, CHECK_BYTES = CHECK_PLACES * 16, CHECK_WORDS = 16 };
enum { CHECK_COUNT = 700, CHECK_PES = 8 };

struct check_memory { /* symmetric */
    alignas(16) unsigned char data[CHECK_BYTES];
    uint64_t signals[CHECK_WORDS];
    uint64_t words[CHECK_WORDS];
    alignas(16) unsigned char collected[CHECK_PES * CHECK_COUNT * 8];
};

struct check_run {
    check_memory *own;
    unsigned char *local; /* of this PE alone, as much as collected */
    nvshmem_team_t team;  /* of all PEs, or some */
    int *failed;          /* the line of a check that has failed */
};

/* Not inlined into kernels, which would take the compiler minutes. */
#if defined(__CUDACC__)
#define CHECKS static __device__ __noinline__
#else
#define CHECKS static inline
#endif
#define EXPECT_IN_KERNEL(condition)                                                                                    \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            shmemi_device::store_relaxed(reinterpret_cast<unsigned *>(run.failed), static_cast<unsigned>(__LINE__));   \
    } while (0)

typedef shmemx_device_block_t whole_block;
typedef shmemx_device_warp_t one_warp;

CHECKS bool is_thread()
{
    return whole_block().rank() == 0;
}
CHECKS bool is_warp()
{
    return whole_block().rank() < one_warp().size();
}

CHECKS int next_pe()
{
    return (nvshmem_my_pe() + 1) % nvshmem_n_pes();
}
CHECKS int previous_pe()
{
    return (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes();
}

CHECKS unsigned char check_byte(unsigned i, int pe, unsigned round)
{
    return static_cast<unsigned char>(i * 5 + i / 251 + static_cast<unsigned>(pe) * 37 + round * 11 + 1);
}

CHECKS void fill_bytes(unsigned char *bytes, unsigned n, int pe, unsigned round)
{
    const whole_block block;
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size())
        bytes[i] = check_byte(i, pe, round);
    block.sync();
}
CHECKS void set_bytes(unsigned char *bytes, unsigned n, unsigned char value)
{
    const whole_block block;
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size())
        bytes[i] = value;
    block.sync();
}

/* Elements of `size` bytes: of those from CHECK_FIRST on every dst-th came from another place, at every sst-th element. */
CHECKS void expect_elements(const check_run &run, const unsigned char *bytes, unsigned size, unsigned n, unsigned dst,
                            unsigned sst, int pe, unsigned round)
{
    const whole_block block;
    block.sync();
    for (unsigned i = block.rank(); i < CHECK_BYTES; i += block.size()) {
        const unsigned element = i / size - CHECK_FIRST;
        const bool has_come = i / size >= CHECK_FIRST && element % dst == 0 && element / dst < n;
        EXPECT_IN_KERNEL(bytes[i] == (has_come ? check_byte(element / dst * sst * size + i % size, pe, round) : 0xee));
    }
    block.sync();
}

/* ---- Put, get --------------------------------------------------------------------------------------------------------- */

/* A transfer to the next PE: WHO makes CALL, in which data, local, n and next are what it is about. */
#define CHECK_PUT(T, N, DST, SST, WHO, CALL)                                                                           \
    do {                                                                                                               \
        fill_bytes(run.local, CHECK_BYTES, nvshmem_my_pe(), round);                                                    \
        set_bytes(run.own->data, CHECK_BYTES, 0xee);                                                                   \
        nvshmemx_barrier_all_block();                                                                                  \
        if (WHO) {                                                                                                     \
            CALL;                                                                                                      \
        }                                                                                                              \
        nvshmemx_barrier_all_block();                                                                                  \
        expect_elements(run, run.own->data, sizeof(T), N, DST, SST, previous_pe(), round);                             \
        round++;                                                                                                       \
    } while (0)
#define CHECK_GET(T, N, DST, SST, WHO, CALL)                                                                           \
    do {                                                                                                               \
        fill_bytes(run.own->data, CHECK_BYTES, nvshmem_my_pe(), round);                                                \
        set_bytes(run.local, CHECK_BYTES, 0xee);                                                                       \
        nvshmemx_barrier_all_block();                                                                                  \
        if (WHO) {                                                                                                     \
            CALL;                                                                                                      \
        }                                                                                                              \
        whole_block().sync();                                                                                          \
        expect_elements(run, run.local, sizeof(T), N, DST, SST, next_pe(), round);                                     \
        nvshmemx_barrier_all_block();                                                                                  \
        round++;                                                                                                       \
    } while (0)
/* A put with signal: WHO waits for the one before. */
#define CHECK_PUT_SIGNAL(T, WHO, NAME, OP)                                                                             \
    do {                                                                                                               \
        const uint64_t before = nvshmem_signal_fetch(signal);                                                          \
        fill_bytes(run.local, CHECK_BYTES, nvshmem_my_pe(), round);                                                    \
        set_bytes(run.own->data, CHECK_BYTES, 0xee);                                                                   \
        nvshmemx_barrier_all_block();                                                                                  \
        if (WHO)                                                                                                       \
            NAME(data, local, n, signal, OP == NVSHMEM_SIGNAL_ADD ? 1 : before + 1, OP, next);                         \
        EXPECT_IN_KERNEL(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GT, before) == before + 1);                     \
        expect_elements(run, run.own->data, sizeof(T), CHECK_ELEMENTS, 1, 1, previous_pe(), round);                    \
        nvshmemx_barrier_all_block();                                                                                  \
        round++;                                                                                                       \
    } while (0)

#define CHECK_TRANSFERS_OF(PUT, GET, T)                                                                                \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, is_thread(), nvshmem_##PUT(data, local, n, next));                              \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, is_thread(), nvshmem_##PUT##_nbi(data, local, n, next); nvshmem_quiet());       \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, is_warp(), nvshmemx_##PUT##_warp(data, local, n, next));                        \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, is_warp(), nvshmemx_##PUT##_nbi_warp(data, local, n, next); one_warp().sync();  \
              nvshmem_quiet());                                                                                        \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, true, nvshmemx_##PUT##_block(data, local, n, next));                            \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 1, true, nvshmemx_##PUT##_nbi_block(data, local, n, next));                        \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, is_thread(), nvshmem_##GET(local_dest, source, n, next));                       \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, is_thread(), nvshmem_##GET##_nbi(local_dest, source, n, next);                  \
              nvshmem_quiet());                                                                                        \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, is_warp(), nvshmemx_##GET##_warp(local_dest, source, n, next));                 \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, is_warp(), nvshmemx_##GET##_nbi_warp(local_dest, source, n, next);              \
              one_warp().sync(); nvshmem_quiet());                                                                     \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, true, nvshmemx_##GET##_block(local_dest, source, n, next));                     \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 1, true, nvshmemx_##GET##_nbi_block(local_dest, source, n, next);                  \
              whole_block().sync(); nvshmem_quiet());                                                                  \
    CHECK_PUT_SIGNAL(T, is_thread(), nvshmem_##PUT##_signal, NVSHMEM_SIGNAL_SET);                                      \
    CHECK_PUT_SIGNAL(T, is_thread(), nvshmem_##PUT##_signal_nbi, NVSHMEM_SIGNAL_ADD);                                  \
    CHECK_PUT_SIGNAL(T, is_warp(), nvshmemx_##PUT##_signal_warp, NVSHMEM_SIGNAL_ADD);                                  \
    CHECK_PUT_SIGNAL(T, is_warp(), nvshmemx_##PUT##_signal_nbi_warp, NVSHMEM_SIGNAL_SET);                              \
    CHECK_PUT_SIGNAL(T, true, nvshmemx_##PUT##_signal_block, NVSHMEM_SIGNAL_SET);                                      \
    CHECK_PUT_SIGNAL(T, true, nvshmemx_##PUT##_signal_nbi_block, NVSHMEM_SIGNAL_ADD)

#define CHECK_STRIDED_OF(PUT, GET, T)                                                                                  \
    CHECK_PUT(T, CHECK_ELEMENTS, 2, 3, is_thread(), nvshmem_##PUT(data, local, 2, 3, n, next));                        \
    CHECK_PUT(T, CHECK_ELEMENTS, 3, 1, is_warp(), nvshmemx_##PUT##_warp(data, local, 3, 1, n, next));                  \
    CHECK_PUT(T, CHECK_ELEMENTS, 1, 2, true, nvshmemx_##PUT##_block(data, local, 1, 2, n, next));                      \
    CHECK_GET(T, CHECK_ELEMENTS, 2, 3, is_thread(), nvshmem_##GET(local_dest, source, 2, 3, n, next));                 \
    CHECK_GET(T, CHECK_ELEMENTS, 3, 1, is_warp(), nvshmemx_##GET##_warp(local_dest, source, 3, 1, n, next));           \
    CHECK_GET(T, CHECK_ELEMENTS, 1, 2, true, nvshmemx_##GET##_block(local_dest, source, 1, 2, n, next))

#define CHECK_PLACES_OF(T)                                                                                             \
    const int next = next_pe();                                                                                        \
    const size_t n = CHECK_ELEMENTS;                                                                                   \
    T *data = reinterpret_cast<T *>(run.own->data) + CHECK_FIRST, *source = reinterpret_cast<T *>(run.own->data);      \
    T *local = reinterpret_cast<T *>(run.local), *local_dest = local + CHECK_FIRST;                                    \
    uint64_t *signal = &run.own->signals[3];                                                                           \
    unsigned round = sizeof(T)

#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_transfers_##TYPENAME(const check_run &run)                                                       \
    {                                                                                                                  \
        CHECK_PLACES_OF(TYPE);                                                                                         \
        CHECK_TRANSFERS_OF(TYPENAME##_put, TYPENAME##_get, TYPE);                                                      \
        CHECK_STRIDED_OF(TYPENAME##_iput, TYPENAME##_iget, TYPE);                                                      \
        CHECK_PUT(TYPE, 1, 1, 1, is_thread(), nvshmem_##TYPENAME##_p(data, *local, next));                             \
        CHECK_GET(TYPE, 1, 1, 1, is_thread(), *local_dest = nvshmem_##TYPENAME##_g(source, next));                     \
    }
CHECK_FOR_RMA_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

struct alignas(16) check_wide {
    unsigned char bytes[16];
};
typedef unsigned char check_unit_8;
typedef uint16_t check_unit_16;
typedef uint32_t check_unit_32;
typedef uint64_t check_unit_64;
typedef check_wide check_unit_128;

#define CHECK_DEFINE(BITS, BYTES, ...)                                                                                 \
    CHECKS void check_transfers_##BITS(const check_run &run)                                                           \
    {                                                                                                                  \
        CHECK_PLACES_OF(check_unit_##BITS);                                                                            \
        CHECK_TRANSFERS_OF(put##BITS, get##BITS, check_unit_##BITS);                                                   \
        CHECK_STRIDED_OF(iput##BITS, iget##BITS, check_unit_##BITS);                                                   \
    }
CHECK_FOR_SIZES(CHECK_DEFINE, )
#undef CHECK_DEFINE

template <class RUN> CHECKS void check_transfers_mem(const RUN &run)
{
    CHECK_PLACES_OF(unsigned char);
    CHECK_TRANSFERS_OF(putmem, getmem, unsigned char);
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------------ */

CHECKS void clear_words(const check_run &run)
{
    set_bytes(reinterpret_cast<unsigned char *>(run.own->words), sizeof run.own->words, 0);
    nvshmemx_barrier_all_block();
}

/* Every thread of every PE updates words of the last PE. */
#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_atomics_##TYPENAME(const check_run &run)                                                         \
    {                                                                                                                  \
        const int to = nvshmem_n_pes() - 1;                                                                            \
        TYPE *words = reinterpret_cast<TYPE *>(run.own->words);                                                        \
        const TYPE all = static_cast<TYPE>(whole_block().size() * static_cast<unsigned>(nvshmem_n_pes()));             \
        clear_words(run);                                                                                              \
        nvshmem_##TYPENAME##_atomic_inc(&words[1], to);                                                                \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch_inc(&words[2], to) < all);                                  \
        nvshmem_##TYPENAME##_atomic_add(&words[3], 2, to);                                                             \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch_add(&words[4], 4, to) % 4 == 0);                            \
        TYPE seen = nvshmem_##TYPENAME##_atomic_fetch(&words[5], to), old;                                             \
        while ((old = nvshmem_##TYPENAME##_atomic_compare_swap(&words[5], seen, seen + 1, to)) != seen)                \
            seen = old;                                                                                                \
        nvshmemx_barrier_all_block();                                                                                  \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[1], to) == all);                                     \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[2], to) == all);                                     \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[3], to) == 2 * all);                                 \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[4], to) == 4 * all);                                 \
        EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[5], to) == all);                                     \
        EXPECT_IN_KERNEL(words[0] == 0 && words[6] == 0 && (nvshmem_my_pe() == to || words[1] == 0));                  \
        nvshmemx_barrier_all_block();                                                                                  \
    }
CHECK_FOR_AMO_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_values_##TYPENAME(const check_run &run)                                                          \
    {                                                                                                                  \
        const int next = next_pe();                                                                                    \
        TYPE *words = reinterpret_cast<TYPE *>(run.own->words);                                                        \
        clear_words(run);                                                                                              \
        if (is_thread()) {                                                                                             \
            nvshmem_##TYPENAME##_atomic_set(&words[1], 5, next);                                                       \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[1], next) == 5);                                 \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_swap(&words[1], 7, next) == 5);                               \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch(&words[1], next) == 7);                                 \
        }                                                                                                              \
        nvshmemx_barrier_all_block();                                                                                  \
        EXPECT_IN_KERNEL(words[0] == 0 && words[1] == 7 && words[2] == 0);                                             \
        nvshmemx_barrier_all_block();                                                                                  \
    }
CHECK_FOR_EXTENDED_AMO_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_bits_##TYPENAME(const check_run &run)                                                            \
    {                                                                                                                  \
        const int next = next_pe();                                                                                    \
        TYPE *words = reinterpret_cast<TYPE *>(run.own->words);                                                        \
        clear_words(run);                                                                                              \
        if (is_thread()) {                                                                                             \
            nvshmem_##TYPENAME##_atomic_or(&words[1], 6, next);                                                        \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch_or(&words[1], 9, next) == 6);                           \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch_and(&words[1], 13, next) == 15);                        \
            nvshmem_##TYPENAME##_atomic_and(&words[1], 12, next);                                                      \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_atomic_fetch_xor(&words[1], 5, next) == 12);                         \
            nvshmem_##TYPENAME##_atomic_xor(&words[1], 16, next);                                                      \
        }                                                                                                              \
        nvshmemx_barrier_all_block();                                                                                  \
        EXPECT_IN_KERNEL(words[0] == 0 && words[1] == 25 && words[2] == 0);                                            \
        nvshmemx_barrier_all_block();                                                                                  \
    }
CHECK_FOR_BITWISE_AMO_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

/* ---- Waits and tests -------------------------------------------------------------------------------------------------- */

/* The next PE's words 2 and then 0 become 12 and 10; the odd ones are left out. */
#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_waits_##TYPENAME(const check_run &run)                                                           \
    {                                                                                                                  \
        TYPE *words = reinterpret_cast<TYPE *>(run.own->words), values[4] = {10, 99, 12, 99};                          \
        const int status[4] = {0, 1, 0, 1}, none[4] = {1, 1, 1, 1}, next = next_pe();                                  \
        size_t indices[4] = {9, 9, 9, 9};                                                                              \
        clear_words(run);                                                                                              \
        if (is_thread()) {                                                                                             \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_any(words, 4, none, NVSHMEM_CMP_NE, 0) ==                       \
                             ~static_cast<size_t>(0));                                                                 \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_all(words, 4, none, NVSHMEM_CMP_GT, 0));                        \
            nvshmem_##TYPENAME##_p(&words[2], 12, next);                                                               \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_wait_until_any(words, 4, NULL, NVSHMEM_CMP_NE, 0) == 2);             \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_wait_until_some(words, 4, indices, NULL, NVSHMEM_CMP_GE, 12) == 1);  \
            EXPECT_IN_KERNEL(indices[0] == 2 && indices[1] == 9);                                                      \
            EXPECT_IN_KERNEL(                                                                                          \
                nvshmem_##TYPENAME##_wait_until_any_vector(words + 2, 2, status, NVSHMEM_CMP_EQ, values + 2) == 0);    \
        }                                                                                                              \
        nvshmemx_barrier_all_block();                                                                                  \
        if (is_thread()) {                                                                                             \
            nvshmem_##TYPENAME##_p(&words[0], 10, next);                                                               \
            nvshmem_##TYPENAME##_wait_until(&words[0], NVSHMEM_CMP_EQ, 10);                                            \
            nvshmem_##TYPENAME##_wait_until_all(words, 4, status, NVSHMEM_CMP_GE, 10);                                 \
            nvshmem_##TYPENAME##_wait_until_all_vector(words, 4, status, NVSHMEM_CMP_EQ, values);                      \
            EXPECT_IN_KERNEL(                                                                                          \
                nvshmem_##TYPENAME##_wait_until_some_vector(words, 4, indices, status, NVSHMEM_CMP_EQ, values) == 2);  \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test(&words[0], NVSHMEM_CMP_LE, 10));                                \
            EXPECT_IN_KERNEL(!nvshmem_##TYPENAME##_test(&words[0], NVSHMEM_CMP_LT, 10));                               \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_some(words, 4, indices, NULL, NVSHMEM_CMP_GT, 0) == 2);         \
            EXPECT_IN_KERNEL(indices[0] == 0 && indices[1] == 2 && indices[2] == 9);                                   \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_any_vector(words, 4, NULL, NVSHMEM_CMP_EQ, values) == 0);       \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_all_vector(words, 4, status, NVSHMEM_CMP_EQ, values));          \
            EXPECT_IN_KERNEL(nvshmem_##TYPENAME##_test_some_vector(words, 4, indices, NULL, NVSHMEM_CMP_EQ, values) == \
                             2);                                                                                       \
        }                                                                                                              \
        nvshmemx_barrier_all_block();                                                                                  \
    }
CHECK_FOR_WAIT_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

CHECKS void check_signals(const check_run &run)
{
    uint64_t *signal = &run.own->signals[6];
    const uint64_t before = nvshmem_signal_fetch(signal);
    nvshmemx_barrier_all_block();
    if (is_thread()) {
        nvshmemx_signal_op(signal, 3, NVSHMEM_SIGNAL_ADD, next_pe());
        EXPECT_IN_KERNEL(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_NE, before) == before + 3);
    }
    nvshmemx_barrier_all_block();
    if (is_thread()) {
        nvshmem_fence();
        nvshmemx_signal_op(signal, before + 9, NVSHMEM_SIGNAL_SET, next_pe());
        EXPECT_IN_KERNEL(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, before + 9) == before + 9);
    }
    nvshmemx_barrier_all_block();
}

CHECKS void check_queries(const check_run &run)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const int mine = nvshmem_team_my_pe(run.team), members = nvshmem_team_n_pes(run.team);
    int major = 0, minor = 0, patch = 0;
    char name[NVSHMEM_MAX_NAME_LEN];
    EXPECT_IN_KERNEL(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD) == me && nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == n);
    EXPECT_IN_KERNEL(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID) == -1 && nvshmem_team_n_pes(NVSHMEM_TEAM_INVALID) == -1);
    EXPECT_IN_KERNEL(nvshmem_team_translate_pe(run.team, mine, NVSHMEM_TEAM_WORLD) == me);
    EXPECT_IN_KERNEL(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, me, run.team) == mine);
    EXPECT_IN_KERNEL(nvshmem_team_translate_pe(run.team, members, NVSHMEM_TEAM_WORLD) == -1);
    EXPECT_IN_KERNEL(nvshmem_ptr(run.own, me) == run.own && !nvshmem_ptr(run.own, n) && !nvshmem_ptr(run.failed, me));
    nvshmem_info_get_version(&major, &minor);
    EXPECT_IN_KERNEL(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    EXPECT_IN_KERNEL(major == NVSHMEM_VENDOR_MAJOR_VERSION && patch == NVSHMEM_VENDOR_PATCH_VERSION);
    nvshmem_info_get_name(name);
    EXPECT_IN_KERNEL(name[0] == NVSHMEM_VENDOR_STRING[0] && name[sizeof NVSHMEM_VENDOR_STRING - 1] == 0);
}

#endif
