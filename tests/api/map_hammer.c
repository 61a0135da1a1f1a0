/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomics, signals and transfers on mapped GPU memory by all PEs at once, over every route: each atomic operation in
 * each type of 1.6, payload and signal of put_signal in all pairs of memories, and a mixture of everything with sums
 * that must be exact. Contents are read through the vendor's API.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { LANE = 40, PAYLOAD = 3000, AREA = 16384, TIMES = 150, MEMORIES_MOST = 4 };

/* How calls name a memory, and the buffer behind it. */
struct memory {
    const char *name;
    char *address;
    void *object;
    struct device *device;
};

static _Alignas(16) char static_area[AREA];
static char *scratch;

static void clear(const struct memory *memory)
{
    shmem_barrier_all();
    memset(scratch, 0, AREA);
    device_write(memory->device, memory->object, 0, scratch, AREA);
    shmem_barrier_all();
}

static uint64_t word_of(const struct memory *memory, size_t i)
{
    uint64_t word;
    device_read(memory->device, &word, memory->object, i * sizeof word, sizeof word);
    return word;
}

/* ---- every type: each PE on a word of its own, all at the same time ---------------------------------------------- */

/* Operations on a word that do not commute are ordered by a fence. */
/* clang-format off */
#define EXPECT(NAME, what, found, expected)                                                                            \
    CHECK_THAT((found) == (expected), "shmem_" #NAME "_atomic_" what " on %s of PE %d", where, pe)

#define DEFINE_SWAPS(NAME, TYPE, ...)                                                                                  \
    static void swap_##NAME(const char *where, void *at, int pe)                                                       \
    {                                                                                                                  \
        TYPE *word = at, old = (TYPE)0;                                                                                \
        shmem_##NAME##_atomic_set(word, (TYPE)7, pe);                                                                  \
        shmem_fence();                                                                                                 \
        EXPECT(NAME, "fetch", shmem_##NAME##_atomic_fetch(word, pe), (TYPE)7);                                         \
        EXPECT(NAME, "swap", shmem_##NAME##_atomic_swap(word, (TYPE)9, pe), (TYPE)7);                                  \
        shmem_##NAME##_atomic_swap_nbi(&old, word, (TYPE)11, pe);                                                      \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "swap_nbi", old, (TYPE)9);                                                                        \
        shmem_##NAME##_atomic_fetch_nbi(&old, word, pe);                                                               \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_nbi", old, (TYPE)11);                                                                      \
    }
#define DEFINE_SUMS(NAME, TYPE, ...)                                                                                   \
    static void sum_##NAME(const char *where, void *at, int pe)                                                        \
    {                                                                                                                  \
        TYPE *word = at, old = 0;                                                                                      \
        shmem_##NAME##_atomic_set(word, (TYPE)-2, pe);                                                                 \
        shmem_fence();                                                                                                 \
        shmem_##NAME##_atomic_inc(word, pe);                                                                           \
        shmem_fence();                                                                                                 \
        shmem_##NAME##_atomic_add(word, 5, pe);                                                                        \
        shmem_fence();                                                                                                 \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_add", shmem_##NAME##_atomic_fetch_add(word, 6, pe), 4);                                    \
        EXPECT(NAME, "fetch_inc", shmem_##NAME##_atomic_fetch_inc(word, pe), 10);                                      \
        EXPECT(NAME, "compare_swap", shmem_##NAME##_atomic_compare_swap(word, 3, 20, pe), 11);                         \
        EXPECT(NAME, "compare_swap", shmem_##NAME##_atomic_compare_swap(word, 11, 21, pe), 11);                        \
        shmem_##NAME##_atomic_fetch_add_nbi(&old, word, 1, pe);                                                        \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_add_nbi", old, 21);                                                                        \
        shmem_##NAME##_atomic_compare_swap_nbi(&old, word, 22, 30, pe);                                                \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "compare_swap_nbi", old, 22);                                                                     \
        shmem_##NAME##_atomic_fetch_inc_nbi(&old, word, pe);                                                           \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_inc_nbi", old, 30);                                                                        \
        EXPECT(NAME, "fetch", shmem_##NAME##_atomic_fetch(word, pe), 31);                                              \
    }
#define DEFINE_BITS(NAME, TYPE, ...)                                                                                   \
    static void bits_##NAME(const char *where, void *at, int pe)                                                       \
    {                                                                                                                  \
        TYPE *word = at, old = 0;                                                                                      \
        shmem_##NAME##_atomic_set(word, 12, pe);                                                                       \
        shmem_fence();                                                                                                 \
        shmem_##NAME##_atomic_or(word, 3, pe);                                                                         \
        shmem_fence();                                                                                                 \
        shmem_##NAME##_atomic_and(word, 13, pe);                                                                       \
        shmem_fence();                                                                                                 \
        shmem_##NAME##_atomic_xor(word, 5, pe);                                                                        \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_or", shmem_##NAME##_atomic_fetch_or(word, 16, pe), 8);                                     \
        EXPECT(NAME, "fetch_and", shmem_##NAME##_atomic_fetch_and(word, 17, pe), 24);                                  \
        EXPECT(NAME, "fetch_xor", shmem_##NAME##_atomic_fetch_xor(word, 48, pe), 16);                                  \
        shmem_##NAME##_atomic_fetch_or_nbi(&old, word, 1, pe);                                                         \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_or_nbi", old, 32);                                                                         \
        shmem_##NAME##_atomic_fetch_and_nbi(&old, word, 1, pe);                                                        \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_and_nbi", old, 33);                                                                        \
        shmem_##NAME##_atomic_fetch_xor_nbi(&old, word, 1, pe);                                                        \
        shmem_quiet();                                                                                                 \
        EXPECT(NAME, "fetch_xor_nbi", old, 1);                                                                         \
        EXPECT(NAME, "fetch", shmem_##NAME##_atomic_fetch(word, pe), 0);                                               \
    }
#define FORM(NAME, TYPE, VERB, ...) VERB##_##NAME,
/* clang-format on */

SHMEMI_FOR_XAMO_TYPES(DEFINE_SWAPS, )
SHMEMI_FOR_AMO_TYPES(DEFINE_SUMS, )
SHMEMI_FOR_BAMO_TYPES(DEFINE_BITS, )

static void (*const typed[])(const char *where, void *at, int pe) = {
    SHMEMI_FOR_XAMO_TYPES(FORM, swap) SHMEMI_FOR_AMO_TYPES(FORM, sum) SHMEMI_FOR_BAMO_TYPES(FORM, bits) /**/
};
enum { N_TYPED = sizeof typed / sizeof typed[0] };

/* Words of 8 bytes, so that a shorter one has a neighbour that might be damaged. */
static void check_types(const struct memory *memory)
{
    const int me = shmem_my_pe();
    clear(memory);
    for (int round = 0; round < shmem_n_pes(); round++) {
        int pe = check_target(round);
        for (int i = 0; i < N_TYPED; i++)
            typed[i](memory->name, (uint64_t *)memory->address + 2 * me, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK_THAT(word_of(memory, 2 * (size_t)pe + 1) == 0, "the word beside that of PE %d in %s has changed", pe,
                   memory->name);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

struct signalled {
    const struct memory *payload, *signal, *source;
    size_t nbytes;
    int op;
    bool nonblocking;
};

static void send(const struct signalled *s, uint64_t value)
{
    void *dest = s->payload->address + 8;
    uint64_t *signal = (uint64_t *)(s->signal->address + AREA - 16);
    check_fill(scratch, s->nbytes, (unsigned)shmem_my_pe() + (unsigned)value);
    device_write(s->source->device, s->source->object, 0, scratch, s->nbytes);
    if (s->nonblocking)
        shmem_putmem_signal_nbi(dest, s->source->address, s->nbytes, signal, value, s->op, check_target(1));
    else
        shmem_putmem_signal(dest, s->source->address, s->nbytes, signal, value, s->op, check_target(1));
}

/* When the signal has arrived, the payload has. Signals are set to the number of the round, or increased by it. */
static void check_signal(const struct signalled *s)
{
    char what[160];
    uint64_t expected = 0;
    snprintf(what, sizeof what, "put_signal%s, payload in %s from %s, signal in %s", s->nonblocking ? "_nbi" : "",
             s->payload->name, s->source->name, s->signal->name);
    clear(s->payload);
    clear(s->signal);
    for (uint64_t value = 1; value <= 3; value++) {
        expected = s->op == SHMEM_SIGNAL_SET ? value : expected + value;
        send(s, value);
        uint64_t *signal = (uint64_t *)(s->signal->address + AREA - 16);
        CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_GE, expected) == expected);
        CHECK(shmem_signal_fetch(signal) == expected && shmem_uint64_test(signal, SHMEM_CMP_EQ, expected));
        device_read(s->payload->device, scratch, s->payload->object, 8, s->nbytes);
        check_bytes(what, scratch, s->nbytes, (unsigned)check_origin(1) + (unsigned)value);
        shmem_barrier_all();
    }
}

static void check_signals(const struct memory *memories, int n, const struct memory *sources)
{
    static const size_t sizes[] = {1, 8, PAYLOAD};
    for (int p = 0; p < n; p++)
        for (int s = 0; s < n; s++)
            for (int i = 0; i < 4; i++) {
                struct signalled signalled = {&memories[p],
                                              &memories[s],
                                              &sources[(p + i) % (n + 1)],
                                              sizes[(p + s + i) % 3],
                                              i % 2 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET,
                                              i / 2};
                check_signal(&signalled);
            }
}

/* ---- everything at once ------------------------------------------------------------------------------------------ */

enum { ADDED, FETCHED, SMALL, SIGNALLED, COUNTERS };

static uint64_t *sent, *all_sent; /* symmetric: by target and counter */

/* Each lane after the counters belongs to one origin. */
static size_t lane_of(int pe)
{
    return 16 + (size_t)pe * LANE;
}

static void hammer_once(const struct memory *one, const struct memory *other, int pe, unsigned i)
{
    uint64_t *words = (uint64_t *)one->address, lane[LANE], old;
    uint64_t *mine = sent + (size_t)pe * COUNTERS;
    const int me = shmem_my_pe();
    for (int k = 0; k < LANE; k++)
        lane[k] = (uint64_t)me << 32 | i;
    shmem_uint64_atomic_add(&words[ADDED], i, pe);
    shmem_uint32_atomic_inc((uint32_t *)&words[SMALL], pe);
    shmem_putmem_signal_nbi(words + lane_of(me), lane, sizeof lane, (uint64_t *)other->address + SIGNALLED, 1,
                            SHMEM_SIGNAL_ADD, pe);
    shmem_uint64_atomic_fetch_add_nbi(&old, &words[FETCHED], i % 7, pe);
    shmem_quiet();
    mine[ADDED] += i, mine[SMALL]++, mine[SIGNALLED]++, mine[FETCHED] += i % 7;
    shmem_getmem(lane, words + lane_of(me), sizeof lane, pe);
    for (int k = 0; k < LANE; k++)
        CHECK_THAT(lane[k] == ((uint64_t)me << 32 | i), "word %d of the lane in %s of PE %d, put in step %u, is %#llx",
                   k, one->name, pe, i, (unsigned long long)lane[k]);
}

static void check_mixture(const struct memory *one, const struct memory *other)
{
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const size_t n_sent = (size_t)n * COUNTERS;
    clear(one);
    clear(other);
    memset(sent, 0, n_sent * sizeof *sent);
    for (unsigned i = 1; i <= TIMES; i++)
        hammer_once(one, other, (int)((unsigned)me * 7 + i * 13) % n, i);
    shmem_barrier_all();
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all_sent, sent, n_sent);
    for (int counter = 0; counter < COUNTERS; counter++) {
        const struct memory *memory = counter == SIGNALLED ? other : one;
        uint64_t found = word_of(memory, (size_t)counter), expected = all_sent[(size_t)me * COUNTERS + (size_t)counter];
        CHECK_THAT(found == expected, "counter %d in %s is %llu, expected %llu", counter, memory->name,
                   (unsigned long long)found, (unsigned long long)expected);
    }
}

/* ---- memories and routes ----------------------------------------------------------------------------------------- */

static struct memory map_new(struct device *device)
{
    struct memory memory = {.name = device->ops->name, .object = device_alloc(device, AREA), .device = device};
    memory.address = shmmap(memory.object, AREA, device->ops->memtype);
    CHECK_THAT(memory.address, "shmmap: %s", shmemx_strerror());
    return memory;
}

static void check_memories(const struct memory *memories, int n)
{
    static char private_area[AREA];
    struct memory sources[MEMORIES_MOST + 1];
    for (int i = 2; i < n; i++)
        sources[i] = map_new(memories[i].device);
    sources[0] = (struct memory){"heap", check_shmem_malloc(AREA), NULL, &device_host};
    sources[0].object = sources[0].address;
    sources[1] = sources[n] = (struct memory){"private memory", private_area, private_area, &device_host};
    check_signals(memories, n, sources);
    for (int i = 2; i < n; i++) {
        check_types(&memories[i]);
        check_mixture(&memories[i], &memories[n + 1 - i]); /* the other kind, if it is here */
        check_mixture(&memories[i], &memories[0]);
    }
    shmem_barrier_all();
    for (int i = 2; i < n; i++) {
        shmumap(sources[i].address);
        device_free(memories[i].device, sources[i].object);
    }
    shmem_free(sources[0].address);
}

/* Returns the number of kinds of device. route: NULL leaves it to the environment. */
static int check_route(const char *route)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    struct memory memories[MEMORIES_MOST] = {{"heap", NULL, NULL, &device_host},
                                             {"static data", static_area, static_area, &device_host}};
    int n = 2;
    if (route)
        setenv("SHMEM_GPU_ROUTE", route, 1);
    shmem_init();
    CHECK_THAT(16 + shmem_n_pes() * LANE <= AREA / 8 - 2, "this test runs with fewer PEs");
    memories[0].address = memories[0].object = check_shmem_malloc(AREA);
    sent = check_shmem_malloc((size_t)shmem_n_pes() * COUNTERS * sizeof *sent);
    all_sent = check_shmem_malloc((size_t)shmem_n_pes() * COUNTERS * sizeof *sent);
    for (int i = 0; i < 2; i++) {
        struct device *device = map_open_device(kinds[i]);
        if (device)
            memories[n++] = map_new(device);
    }
    if (n > 2)
        check_memories(memories, n);
    shmem_barrier_all();
    for (int i = 2; i < n; i++) {
        shmumap(memories[i].address);
        device_free(memories[i].device, memories[i].object);
    }
    return n - 2;
}

/* Over the route that the environment names; without one over these. */
static int check_routes(void)
{
    if (getenv("SHMEM_GPU_ROUTE"))
        return check_route(NULL);
    if (!check_route("naive"))
        return 0;
    shmem_finalize();
    check_route("staged");
    shmem_finalize();
    return check_route("auto");
}

int main(void)
{
    scratch = check_malloc(AREA);
    if (check_routes()) {
        free(scratch);
        return check_end();
    }
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
