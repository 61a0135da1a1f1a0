/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many small operations on mapped GPU memory: storms of nonblocking transfers between every two memories, order by
 * fence and by signals, atomic operations of all PEs and threads at once, sessions, and delivery without a further
 * call. The library may gather such operations, and may carry out those between two fences in any order.
 */
#include "check.h"
#include "map_check.h"

#include <pthread.h>
#include <shmemx.h>
#include <unistd.h>

enum { STORM = 700, SIZE_MAX_HERE = 5000, AREA = 1 << 20, UNTOUCHED = 0x5a };
enum { WORDS = 64, ADDS = 300, THREADS = 4, ROUNDS = 12 };

/* Memory with a symmetric address, and how to look at it. */
struct area {
    const char *name;
    char *address;
    void *object;
    struct device *device; /* device_host's object is its address */
};

static unsigned char *scratch, *expected;

static struct area make(struct device *device, const char *name)
{
    struct area area = {.name = name, .device = device};
    if (device == &device_host) {
        area.object = area.address = check_shmem_malloc(AREA);
        return area;
    }
    area.object = device_alloc(device, AREA);
    area.address = shmmap(area.object, AREA, device->ops->memtype);
    CHECK_THAT(area.address, "shmmap: %s", shmemx_strerror());
    return area;
}

static void discard(const struct area *area)
{
    shmem_barrier_all();
    if (area->device == &device_host) {
        shmem_free(area->address);
        return;
    }
    shmumap(area->address);
    device_free(area->device, area->object);
}

static void set_all(const struct area *area, const void *bytes)
{
    device_write(area->device, area->object, 0, bytes, AREA);
}

static void zero(const struct area *area)
{
    memset(scratch, 0, AREA);
    set_all(area, scratch);
    shmem_barrier_all();
}

static uint64_t word_of(const struct area *area, int index)
{
    uint64_t word;
    device_read(area->device, &word, area->object, (size_t)index * 8, sizeof word);
    return word;
}

/* ---- Storms ------------------------------------------------------------------------------------------------------ */

/* A reproducible sequence: the target checks what the origin has done. */
struct storm {
    unsigned state;
    size_t at; /* in the destination; sources lie anywhere */
    int left;
};

static unsigned next_random(struct storm *storm)
{
    storm->state = storm->state * 1664525u + 1013904223u;
    return storm->state >> 8;
}

static bool next_transfer(struct storm *storm, size_t *to, size_t *from, size_t *nbytes)
{
    static const size_t few[] = {8, 8, 8, 4, 1, 16, 100, 0};
    size_t size = few[next_random(storm) % 8];
    *nbytes = size ? size : 1 + next_random(storm) % SIZE_MAX_HERE;
    *to = storm->at + next_random(storm) % 9;
    if (*nbytes == 8 && next_random(storm) % 4)
        *to = (*to + 7) / 8 * 8;
    *from = next_random(storm) % (AREA - SIZE_MAX_HERE);
    storm->at = *to + *nbytes;
    return storm->left-- > 0 && storm->at <= AREA;
}

static struct storm storm_of(int pe, int round)
{
    return (struct storm){.state = (unsigned)(pe * 977 + round * 31 + 5), .left = STORM};
}

/* The result of a storm in memory that was UNTOUCHED; the source held the pattern of seed. */
static void expect_storm(struct storm storm, unsigned seed)
{
    size_t to, from, nbytes;
    memset(expected, UNTOUCHED, AREA);
    while (next_transfer(&storm, &to, &from, &nbytes))
        for (size_t i = 0; i < nbytes; i++)
            expected[to + i] = check_pattern(from + i, seed);
}

static void check_storm(const struct area *area, const char *what)
{
    device_read(area->device, scratch, area->object, 0, AREA);
    for (size_t i = 0; i < AREA; i++)
        CHECK_THAT(scratch[i] == expected[i], "%s, %s: byte %zu is %#x, expected %#x", what, area->name, i, scratch[i],
                   expected[i]);
}

static void put_in_some_way(shmem_ctx_t ctx, char *dest, const char *source, size_t nbytes, unsigned way, int pe)
{
    if (way % 3 == 0)
        shmem_ctx_putmem(ctx, dest, source, nbytes, pe);
    else
        shmem_ctx_putmem_nbi(ctx, dest, source, nbytes, pe);
}

static void check_puts(shmem_ctx_t ctx, const struct area *remote, const struct area *local, int round)
{
    struct storm storm = storm_of(shmem_my_pe(), round);
    size_t to, from, nbytes;
    check_fill(scratch, AREA, (unsigned)shmem_my_pe());
    set_all(local, scratch);
    memset(scratch, UNTOUCHED, AREA);
    set_all(remote, scratch);
    shmem_barrier_all();
    for (unsigned i = 0; next_transfer(&storm, &to, &from, &nbytes); i++)
        put_in_some_way(ctx, remote->address + to, local->address + from, nbytes, i, check_target(round));
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    expect_storm(storm_of(check_origin(round), round), (unsigned)check_origin(round));
    check_storm(remote, local->name);
    shmem_barrier_all();
}

static void check_gets(shmem_ctx_t ctx, const struct area *remote, const struct area *local, int round)
{
    struct storm storm = storm_of(shmem_my_pe(), round);
    size_t to, from, nbytes;
    check_fill(scratch, AREA, (unsigned)shmem_my_pe());
    set_all(remote, scratch);
    memset(scratch, UNTOUCHED, AREA);
    set_all(local, scratch);
    shmem_barrier_all();
    while (next_transfer(&storm, &to, &from, &nbytes))
        shmem_ctx_getmem_nbi(ctx, local->address + to, remote->address + from, nbytes, check_target(round));
    shmem_ctx_quiet(ctx);
    expect_storm(storm_of(shmem_my_pe(), round), (unsigned)check_target(round));
    check_storm(local, remote->name);
    shmem_barrier_all();
}

/* The sources are variables that change at once. */
static void check_elements(const struct area *area, int round)
{
    long *words = (long *)area->address;
    zero(area);
    for (long i = 0; i < 5000; i++) {
        long value = i * 3 + shmem_my_pe();
        if (i % 2)
            shmem_long_p(&words[i], value, check_target(round));
        else
            shmem_long_put(&words[i], &value, 1, check_target(round));
    }
    shmem_barrier_all();
    device_read(area->device, scratch, area->object, 0, AREA);
    for (long i = 0; i < 5000; i++)
        CHECK_THAT(((long *)scratch)[i] == i * 3 + check_origin(round), "%s: element %ld", area->name, i);
    shmem_barrier_all();
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void check_fence(const struct area *data, const struct area *flag, int round)
{
    long *numbers = (long *)data->address, *flags = (long *)flag->address + 4096;
    zero(data);
    zero(flag);
    for (long i = 1; i <= ROUNDS; i++) {
        static long mine[256];
        for (int k = 0; k < 256; k++)
            mine[k] = i * 1000 + k;
        shmem_long_put_nbi(numbers, mine, 128, check_target(round));
        for (int k = 128; k < 256; k++)
            shmem_long_p(&numbers[k], mine[k], check_target(round));
        shmem_fence();
        shmem_long_p(flags, i, check_target(round));
        shmem_long_wait_until(flags, SHMEM_CMP_GE, i);
        device_read(data->device, scratch, data->object, 0, sizeof mine);
        CHECK_THAT(!memcmp(scratch, mine, sizeof mine), "after fence: data in %s, flag in %s", data->name, flag->name);
        shmem_barrier_all();
    }
}

static void put_signal(const struct area *data, const char *source, size_t nbytes, uint64_t *signal, int round)
{
    if (round % 2)
        shmem_putmem_signal(data->address, source, nbytes, signal, 1, SHMEM_SIGNAL_ADD, check_target(1));
    else
        shmem_putmem_signal_nbi(data->address, source, nbytes, signal, (uint64_t)round + 1, SHMEM_SIGNAL_SET,
                                check_target(1));
}

/* Payload and signal in two memories, or in one; the payload comes from a third. */
static void check_signals(const struct area *data, const struct area *signals, const struct area *source)
{
    static const size_t sizes[] = {8, 100, 4096, 40000};
    uint64_t *signal = (uint64_t *)signals->address + (AREA / 8 - 8);
    zero(signals);
    for (int round = 0; round < ROUNDS; round++) {
        size_t nbytes = sizes[round % 4];
        check_fill(scratch, nbytes, (unsigned)(shmem_my_pe() + round));
        device_write(source->device, source->object, AREA / 2, scratch, nbytes);
        put_signal(data, source->address + AREA / 2, nbytes, signal, round);
        shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)round + 1);
        device_read(data->device, scratch, data->object, 0, nbytes);
        check_bytes("payload of a signal", scratch, nbytes, (unsigned)(check_origin(1) + round));
        shmem_barrier_all();
    }
}

/* Collected operations must be delivered although their PE makes no further call. */
static void check_delivery(const struct area *area)
{
    static volatile long seen;
    uint64_t *words = (uint64_t *)area->address;
    int next = check_target(1);
    seen = 0;
    zero(area);
    for (int i = 0; i < 40; i++)
        shmem_uint64_p(&words[i], 1, next);
    for (int i = 0; i < 40; i++)
        while (word_of(area, i) != 1)
            usleep(1000);
    shmem_long_p((long *)&seen, 1, check_origin(1));
    while (!seen)
        usleep(1000);
    shmem_barrier_all();
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

/* All PEs add to one word, add to as many words as a list has entries, and fetch from another. */
static uint64_t add_many(shmem_ctx_t ctx, uint64_t *words, int pe)
{
    uint64_t fetched[ADDS], sum = 0;
    for (int i = 0; i < ADDS; i++) {
        shmem_ctx_uint64_atomic_add(ctx, &words[0], 1, pe);
        shmem_ctx_uint64_atomic_add(ctx, &words[2 + i % (WORDS - 2)], 2, pe);
        shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &fetched[i], &words[1], 1, pe);
    }
    shmem_ctx_quiet(ctx);
    for (int i = 0; i < ADDS; i++)
        sum += fetched[i];
    return sum;
}

struct adder {
    shmem_ctx_t ctx;
    uint64_t *words, sum;
    int round;
};

static void *run_adder(void *argument)
{
    struct adder *adder = argument;
    adder->sum = add_many(adder->ctx, adder->words, check_target(adder->round));
    return NULL;
}

/* Threads on one context, or on one each. */
static uint64_t add_by_threads(uint64_t *words, int round, bool own_contexts)
{
    pthread_t thread[THREADS];
    struct adder adder[THREADS];
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) {
        adder[i] = (struct adder){SHMEM_CTX_DEFAULT, words, 0, round};
        if (own_contexts)
            CHECK(!shmem_ctx_create(0, &adder[i].ctx));
        CHECK(!pthread_create(&thread[i], NULL, run_adder, &adder[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        sum += adder[i].sum;
        if (own_contexts)
            shmem_ctx_destroy(adder[i].ctx);
    }
    return sum;
}

static void check_sums(const struct area *area)
{
    static uint64_t mine, all;
    const uint64_t n = (uint64_t)shmem_n_pes(), adds = n * THREADS * ADDS;
    uint64_t rest = 0;
    zero(area);
    mine = 0;
    for (int round = 0; round < shmem_n_pes(); round++)
        mine += add_by_threads((uint64_t *)area->address, round, round % 2);
    shmem_barrier_all();
    for (int i = 2; i < WORDS; i++)
        rest += word_of(area, i);
    CHECK_THAT(word_of(area, 0) == adds, "%s: sum %llu of %llu", area->name, (unsigned long long)word_of(area, 0),
               (unsigned long long)adds);
    CHECK_THAT(rest == 2 * adds, "%s: sum over many words", area->name);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    CHECK_THAT(all == n * (adds * (adds - 1) / 2), "%s: each value is fetched once", area->name);
    shmem_barrier_all();
}

/* ---- Everything -------------------------------------------------------------------------------------------------- */

static void check_pair(const struct area *remote, const struct area *local)
{
    shmem_ctx_t ctx;
    CHECK(!shmem_ctx_create(0, &ctx));
    for (int round = 0; round < shmem_n_pes() && round < 3; round++) {
        check_puts(SHMEM_CTX_DEFAULT, remote, local, round);
        check_gets(ctx, remote, local, round);
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        check_puts(ctx, remote, local, round);
        check_gets(ctx, remote, local, round);
        shmem_ctx_session_stop(ctx);
    }
    shmem_ctx_destroy(ctx);
}

static bool check_kind(const struct device_ops *kind, const struct area *heap, const struct area *private_memory)
{
    struct device *device = map_open_device(kind);
    if (!device)
        return false;
    struct area a = make(device, device->ops->name), b = make(device, device->ops->name);
    check_pair(&a, &b);
    check_pair(&a, heap);
    check_pair(&a, private_memory);
    check_pair(heap, &a);
    for (int round = 0; round < shmem_n_pes() && round < 3; round++) {
        check_elements(&a, round);
        check_fence(&a, &b, round);
        check_fence(&a, heap, round);
        check_fence(heap, &a, round);
    }
    check_signals(&a, &b, &a);
    check_signals(&a, &a, private_memory);
    check_signals(&a, heap, &b);
    check_signals(heap, &a, &b);
    check_sums(&a);
    if (shmem_n_pes() > 1)
        check_delivery(&a);
    discard(&b);
    discard(&a);
    return true;
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    scratch = check_malloc(AREA);
    expected = check_malloc(AREA);
    struct area heap = make(&device_host, "heap");
    struct area private_memory = {.name = "private", .address = check_malloc(AREA), .device = &device_host};
    private_memory.object = private_memory.address;
    check_sums(&heap);
    bool opencl = check_kind(&device_opencl_ops, &heap, &private_memory);
    bool cuda = check_kind(&device_cuda_ops, &heap, &private_memory);
    discard(&heap);
    free(private_memory.address);
    free(scratch);
    free(expected);
    if (opencl || cuda)
        return check_end();
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
