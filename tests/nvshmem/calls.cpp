/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call of the host that exists once per type, made from the lists of the headers, on memory without a GPU: transfers of
 * several lengths, which change what they should and nothing beside it, atomic operations, collectives.
 */
#include "expect.h"

#include <vector>

enum { ROOM = 300 }; /* elements of an object, those around it included */

static int me, n, next_pe, previous;

/* Elements that differ by PE and place, in every type: the bits of small numbers. */
template <class T> static T element(int pe, int place)
{
    unsigned char bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = static_cast<unsigned char>((pe * 31 + place * 7 + static_cast<int>(i) * 3) % 120);
    T value;
    memcpy(static_cast<void *>(&value), bytes, sizeof value);
    return value;
}

template <class T> static bool same(const T &a, const T &b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* A symmetric object whose elements are those of place 1000 and on, and one with what it should become. */
template <class T> struct object {
    T *own;
    std::vector<T> model;

    object() : own(static_cast<T *>(nvshmem_malloc(ROOM * sizeof(T)))), model(ROOM)
    {
        for (int i = 0; i < ROOM; i++)
            own[i] = model[static_cast<size_t>(i)] = element<T>(me, 1000 + i);
        nvshmem_barrier_all();
    }
    ~object()
    {
        nvshmem_free(own);
    }
    /* count elements from `first` on, each `stride` after the one before, are those of a PE from `place` on. */
    void becomes(int first, int count, int stride, int pe, int place, int step)
    {
        for (int i = 0; i < count; i++)
            model[static_cast<size_t>(first + i * stride)] = element<T>(pe, place + i * step);
    }
    bool holds() const
    {
        return memcmp(own, model.data(), ROOM * sizeof(T)) == 0;
    }
};

template <class T> static std::vector<T> privately(int place)
{
    std::vector<T> source(ROOM);
    for (int i = 0; i < ROOM; i++)
        source[static_cast<size_t>(i)] = element<T>(me, place + i);
    return source;
}

static const int lengths[] = {0, 1, 2, 7, 64, 257};

template <class T> struct contiguous {
    void (*put)(T *, const T *, size_t, int), (*put_nbi)(T *, const T *, size_t, int);
    void (*get)(T *, const T *, size_t, int), (*get_nbi)(T *, const T *, size_t, int);
    void (*iput)(T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int);
    void (*iget)(T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int);
};

template <class T> static void check_puts(void (*put)(T *, const T *, size_t, int))
{
    for (int length : lengths) {
        object<T> to;
        const std::vector<T> source = privately<T>(0);
        put(to.own + 3, source.data() + 5, static_cast<size_t>(length), next_pe);
        nvshmem_barrier_all();
        to.becomes(3, length, 1, previous, 5, 1);
        EXPECT(to.holds());
    }
}

template <class T> static void check_gets(void (*get)(T *, const T *, size_t, int))
{
    for (int length : lengths) {
        object<T> from;
        std::vector<T> into = privately<T>(0), model = into;
        get(into.data() + 2, from.own + 9, static_cast<size_t>(length), next_pe);
        nvshmem_quiet();
        for (int i = 0; i < length; i++)
            model[static_cast<size_t>(2 + i)] = element<T>(next_pe, 1000 + 9 + i);
        EXPECT(memcmp(into.data(), model.data(), ROOM * sizeof(T)) == 0);
        EXPECT(from.holds());
    }
}

template <class T> static void check_strided(const contiguous<T> &calls)
{
    object<T> to;
    const std::vector<T> source = privately<T>(0);
    calls.iput(to.own + 4, source.data() + 1, 3, 2, 40, next_pe);
    nvshmem_barrier_all();
    to.becomes(4, 40, 3, previous, 1, 2);
    EXPECT(to.holds());
    std::vector<T> into = privately<T>(0), model = into;
    object<T> from;
    calls.iget(into.data() + 6, from.own + 2, 2, 5, 40, next_pe);
    for (int i = 0; i < 40; i++)
        model[static_cast<size_t>(6 + i * 2)] = element<T>(next_pe, 1000 + 2 + i * 5);
    EXPECT(memcmp(into.data(), model.data(), ROOM * sizeof(T)) == 0);
}

template <class T> static void check_contiguous(const contiguous<T> &calls)
{
    check_puts(calls.put);
    check_puts(calls.put_nbi);
    check_gets(calls.get);
    check_gets(calls.get_nbi);
    check_strided(calls);
}

template <class T> static void check_single(void (*p)(T *, const T, int), T (*g)(const T *, int))
{
    object<T> to;
    p(to.own + 1, element<T>(me, 77), next_pe);
    nvshmem_barrier_all();
    to.becomes(1, 1, 1, previous, 77, 1);
    EXPECT(to.holds());
    EXPECT(same(g(to.own + 2, next_pe), element<T>(next_pe, 1002)));
    nvshmem_barrier_all();
}

template <class T> struct collective {
    int (*broadcast)(nvshmem_team_t, T *, const T *, size_t, int);
    int (*fcollect)(nvshmem_team_t, T *, const T *, size_t);
    int (*alltoall)(nvshmem_team_t, T *, const T *, size_t);
};

template <class T> static void check_collectives(const collective<T> &calls)
{
    enum { EACH = 21 };
    const int root = n - 1;
    object<T> from, broadcast, all, exchanged;
    EXPECT(calls.broadcast(NVSHMEM_TEAM_WORLD, broadcast.own + 1, from.own + 2, EACH, root) == 0);
    broadcast.becomes(1, EACH, 1, root, 1002, 1);
    EXPECT(broadcast.holds());
    EXPECT(calls.fcollect(NVSHMEM_TEAM_WORLD, all.own + 1, from.own + 2, EACH) == 0);
    EXPECT(calls.alltoall(NVSHMEM_TEAM_WORLD, exchanged.own + 1, from.own + 2, EACH) == 0);
    for (int pe = 0; pe < n; pe++) {
        all.becomes(1 + pe * EACH, EACH, 1, pe, 1002, 1);
        exchanged.becomes(1 + pe * EACH, EACH, 1, pe, 1002 + me * EACH, 1);
    }
    EXPECT(all.holds());
    EXPECT(exchanged.holds());
    nvshmem_barrier_all();
}

/* Sums, products and so on of small numbers, which every type holds. */
enum operation { OP_sum, OP_prod, OP_min, OP_max, OP_and, OP_or, OP_xor };

static int combine(operation op, int a, int b)
{
    switch (op) {
    case OP_sum:
        return a + b;
    case OP_prod:
        return a * b;
    case OP_min:
        return a < b ? a : b;
    case OP_max:
        return a > b ? a : b;
    case OP_and:
        return a & b;
    case OP_or:
        return a | b;
    default:
        return a ^ b;
    }
}

static int number(int pe, int place)
{
    return 1 + (pe * 5 + place * 3) % 4;
}

static int combined(operation op, int place)
{
    int result = number(0, place);
    for (int pe = 1; pe < n; pe++)
        result = combine(op, result, number(pe, place));
    return result;
}

template <class T> static T from_int(int value)
{
    return static_cast<T>(static_cast<float>(value));
}

/* A reduction that this library refuses returns a status, and changes nothing. */
template <class T>
static void check_reduction(operation op, bool is_there, int (*reduce)(nvshmem_team_t, T *, const T *, size_t),
                            int (*scatter)(nvshmem_team_t, T *, const T *, size_t))
{
    enum { EACH = 19 };
    object<T> from, whole, part;
    for (int i = 0; i < EACH * n; i++)
        from.own[i] = from.model[static_cast<size_t>(i)] = from_int<T>(number(me, i));
    nvshmem_barrier_all();
    const int status = reduce(NVSHMEM_TEAM_WORLD, whole.own + 1, from.own, EACH);
    const int scattered = scatter(NVSHMEM_TEAM_WORLD, part.own + 1, from.own, EACH);
    EXPECT((status == 0) == is_there && (scattered == 0) == is_there);
    for (int i = 0; i < EACH && is_there; i++) {
        whole.model[static_cast<size_t>(1 + i)] = from_int<T>(combined(op, i));
        part.model[static_cast<size_t>(1 + i)] = from_int<T>(combined(op, me * EACH + i));
    }
    EXPECT(whole.holds());
    EXPECT(part.holds());
    EXPECT(from.holds());
    nvshmem_barrier_all();
}

static void check_refusals()
{
    object<int> some;
    EXPECT(nvshmem_int_broadcast(NVSHMEM_TEAM_INVALID, some.own, some.own + 9, 9, 0) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(nvshmem_int_sum_reduce(23, some.own, some.own + 9, 9) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(nvshmem_int_sum_reducescatter(23, some.own, some.own + 9, 9) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(nvshmem_int_sum_reducescatter(NVSHMEM_TEAM_WORLD, some.own + 8, some.own, 9) ==
           NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(some.holds());
    nvshmem_barrier_all();
}

template <class T>
static void check_same(const object<T> &at, T (*fetch)(const T *, int), void (*set)(T *, T, int),
                       T (*swap)(T *, T, int))
{
    EXPECT(fetch(at.own, next_pe) == from_int<T>(10 + next_pe));
    nvshmem_barrier_all();
    EXPECT(swap(at.own, from_int<T>(20 + me), next_pe) == from_int<T>(10 + next_pe));
    nvshmem_barrier_all();
    EXPECT(at.own[0] == from_int<T>(20 + previous));
    nvshmem_barrier_all();
    set(at.own, from_int<T>(30 + me), next_pe);
    nvshmem_barrier_all();
    EXPECT(at.own[0] == from_int<T>(30 + previous));
    nvshmem_barrier_all();
}

template <class T>
static void check_update(T (*fetch)(T *, T, int), void (*update)(T *, T, int), int operand, int after)
{
    object<T> at;
    at.own[0] = at.own[1] = from_int<T>(12);
    nvshmem_barrier_all();
    EXPECT(fetch(at.own, from_int<T>(operand), next_pe) == from_int<T>(12));
    update(at.own + 1, from_int<T>(operand), next_pe);
    nvshmem_barrier_all();
    EXPECT(at.own[0] == from_int<T>(after) && at.own[1] == from_int<T>(after));
    nvshmem_barrier_all();
}

#define CALLS_OF_TYPE(NAME, TYPE, ...)                                                                                 \
    check_contiguous<TYPE>({nvshmem_##NAME##_put, nvshmem_##NAME##_put_nbi, nvshmem_##NAME##_get,                      \
                            nvshmem_##NAME##_get_nbi, nvshmem_##NAME##_iput, nvshmem_##NAME##_iget});                  \
    check_single<TYPE>(nvshmem_##NAME##_p, nvshmem_##NAME##_g);                                                        \
    check_collectives<TYPE>({nvshmem_##NAME##_broadcast, nvshmem_##NAME##_fcollect, nvshmem_##NAME##_alltoall});

struct bits128 {
    uint64_t low, high;
};
typedef uint8_t bits8;
typedef uint16_t bits16;
typedef uint32_t bits32;
typedef uint64_t bits64;

#define AS_TYPED(NAME, TYPE)                                                                                           \
    [](TYPE *dest, const TYPE *source, size_t nelems, int pe) { nvshmem_##NAME(dest, source, nelems, pe); }
#define AS_STRIDED(NAME, TYPE)                                                                                         \
    [](TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {                          \
        nvshmem_##NAME(dest, source, dst, sst, nelems, pe);                                                            \
    }
#define CALLS_OF_SIZE(BITS, ...)                                                                                       \
    check_contiguous<bits##BITS>({AS_TYPED(put##BITS, bits##BITS), AS_TYPED(put##BITS##_nbi, bits##BITS),              \
                                  AS_TYPED(get##BITS, bits##BITS), AS_TYPED(get##BITS##_nbi, bits##BITS),              \
                                  AS_STRIDED(iput##BITS, bits##BITS), AS_STRIDED(iget##BITS, bits##BITS)});
#define CALLS_OF_XAMO(NAME, TYPE, ...)                                                                                 \
    {                                                                                                                  \
        object<TYPE> at;                                                                                               \
        at.own[0] = from_int<TYPE>(10 + me);                                                                           \
        nvshmem_barrier_all();                                                                                         \
        check_same<TYPE>(at, nvshmem_##NAME##_atomic_fetch, nvshmem_##NAME##_atomic_set,                               \
                         nvshmem_##NAME##_atomic_swap);                                                                \
    }
#define CALLS_OF_AMO(NAME, TYPE, ...)                                                                                  \
    {                                                                                                                  \
        check_update<TYPE>(nvshmem_##NAME##_atomic_fetch_add, nvshmem_##NAME##_atomic_add, 5, 17);                     \
        check_update<TYPE>([](TYPE *dest, TYPE, int pe) { return nvshmem_##NAME##_atomic_fetch_inc(dest, pe); },       \
                           [](TYPE *dest, TYPE, int pe) { nvshmem_##NAME##_atomic_inc(dest, pe); }, 0, 13);            \
        check_update<TYPE>(                                                                                            \
            [](TYPE *dest, TYPE value, int pe) { return nvshmem_##NAME##_atomic_compare_swap(dest, 12, value, pe); },  \
            [](TYPE *dest, TYPE value, int pe) {                                                                       \
                EXPECT(nvshmem_##NAME##_atomic_compare_swap(dest, 3, 99, pe) == 12);                                   \
                nvshmem_##NAME##_atomic_compare_swap(dest, 12, value, pe);                                             \
            },                                                                                                         \
            40, 40);                                                                                                   \
    }
#define CALLS_OF_BAMO(NAME, TYPE, OP, RESULT)                                                                          \
    check_update<TYPE>(nvshmem_##NAME##_atomic_fetch_##OP, nvshmem_##NAME##_atomic_##OP, 6, RESULT);
#define CALLS_OF_REDUCTION(NAME, TYPE, OP, ...)                                                                        \
    check_reduction<TYPE>(OP_##OP, strcmp(#OP, "prod") || (strcmp(#NAME, "half") && strcmp(#NAME, "bfloat16")),        \
                          nvshmem_##NAME##_##OP##_reduce, nvshmem_##NAME##_##OP##_reducescatter);

static void check_bytes()
{
    check_puts<char>(AS_TYPED(putmem, char));
    check_puts<char>(AS_TYPED(putmem_nbi, char));
    check_gets<char>(AS_TYPED(getmem, char));
    check_gets<char>(AS_TYPED(getmem_nbi, char));
    check_collectives<char>({[](nvshmem_team_t team, char *dest, const char *source, size_t nelems, int root) {
                                 return nvshmem_broadcastmem(team, dest, source, nelems, root);
                             },
                             [](nvshmem_team_t team, char *dest, const char *source, size_t nelems) {
                                 return nvshmem_fcollectmem(team, dest, source, nelems);
                             },
                             [](nvshmem_team_t team, char *dest, const char *source, size_t nelems) {
                                 return nvshmem_alltoallmem(team, dest, source, nelems);
                             }});
}

static void check_signals()
{
    uint64_t *signals = static_cast<uint64_t *>(nvshmem_calloc(2, sizeof(uint64_t)));
    nvshmemx_signal_op(signals, 7, NVSHMEM_SIGNAL_SET, next_pe);
    nvshmem_fence();
    nvshmemx_signal_op(signals, 5, NVSHMEM_SIGNAL_ADD, next_pe);
    nvshmem_barrier_all();
    EXPECT(nvshmem_signal_fetch(signals) == 12 && nvshmem_signal_fetch(signals + 1) == 0);
    nvshmem_free(signals);
}

int main()
{
    nvshmem_init();
    me = nvshmem_my_pe(), n = nvshmem_n_pes(), next_pe = (me + 1) % n, previous = (me + n - 1) % n;
    NVSHMEMI_FOR_RMA_TYPES(CALLS_OF_TYPE, )
    NVSHMEMI_FOR_SIZES(CALLS_OF_SIZE, )
    NVSHMEMI_FOR_EXTENDED_AMO_TYPES(CALLS_OF_XAMO, )
    NVSHMEMI_FOR_AMO_TYPES(CALLS_OF_AMO, )
    NVSHMEMI_FOR_BITWISE_AMO_TYPES(CALLS_OF_BAMO, and, 4)
    NVSHMEMI_FOR_BITWISE_AMO_TYPES(CALLS_OF_BAMO, or, 14)
    NVSHMEMI_FOR_BITWISE_AMO_TYPES(CALLS_OF_BAMO, xor, 10)
    NVSHMEMI_FOR_REDUCTIONS(CALLS_OF_REDUCTION, )
    check_bytes();
    check_signals();
    check_refusals();
    return finish();
}
