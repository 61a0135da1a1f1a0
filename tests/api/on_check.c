/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on streams and queues: chains of dependent work without the CPU, signals with all comparisons, barriers in
 * two lanes, in all kinds of memory, mixed with ordinary calls. An alarm ends a step that hangs.
 */
#include "on_check.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { HOPS = 24, TRAIL = 4096, ADDS = 15, BARRIERS = 24, SECONDS = 50 };

struct device *on_device;
struct buffer *on_buffer;
struct queue *on_queues[ON_LANES];
void *on_lanes[ON_LANES];

static const struct on_ops *on;
static char *map;
static uint64_t *words;          /* mapped */
static uint64_t *heap_words;     /* symmetric heap */
static uint64_t static_words[2]; /* static data */
static char *heap, *heap_target; /* of ON_BYTES */
static int me, n_pes, next, previous;

bool on_open(const struct device_ops *kind)
{
    on_device = map_open_device(kind);
    if (!on_device)
        return false;
    on_queues[0] = kind->gpu.queue_open(on_device);
    on_queues[1] = kind->gpu.urgent_queue_open(on_device);
    for (int i = 0; i < ON_LANES; i++)
        on_lanes[i] = kind->gpu.queue_object(on_queues[i]);
    on_buffer = device_alloc(on_device, ON_BYTES);
    return true;
}

void on_fill(int lane, size_t offset, uint32_t value, size_t n_words)
{
    on_device->ops->gpu.fill(on_queues[lane], on_buffer, offset, value, n_words);
}

void on_copy(int lane, size_t to, size_t from, size_t nbytes)
{
    on_device->ops->gpu.copy(on_queues[lane], on_buffer, to, on_buffer, from, nbytes);
}

void on_finish(int lane)
{
    on_device->ops->gpu.finish(on_queues[lane]);
}

uint32_t on_word(size_t offset)
{
    uint32_t word;
    device_read(on_device, &word, on_buffer, offset, sizeof word);
    return word;
}

/* ---- A step that hangs ------------------------------------------------------------------------------------------- */

static const char *volatile step = "shmmap";

static void tell_step(int signal)
{
    static const char text[] = " hangs\n";
    (void)signal;
    if (write(STDERR_FILENO, step, strlen(step)) < 0 || write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

static void watch(void)
{
    const char *limit = getenv("ON_CHECK_SECONDS");
    signal(SIGALRM, tell_step);
    alarm(limit ? (unsigned)atoi(limit) : SECONDS);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void tell_time(double since)
{
    if (me == 0 && getenv("ON_CHECK_VERBOSE"))
        fprintf(stderr, "%s: %.3f s\n", step, seconds() - since);
}

#define STEP(_call)                                                                                                    \
    do {                                                                                                               \
        double _since = seconds();                                                                                     \
        step = #_call;                                                                                                 \
        _call;                                                                                                         \
        tell_time(_since);                                                                                             \
    } while (0)

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void clear(void)
{
    static char zeros[ON_DATA];
    shmem_barrier_all();
    device_write(on_device, on_buffer, 0, zeros, ON_DATA);
    memset(heap_words, 0, 2 * sizeof *heap_words);
    static_words[0] = static_words[1] = 0;
    shmem_barrier_all();
}

/* ---- A chain of dependent work over all PEs ---------------------------------------------------------------------- */

/* A block of words is passed around, and each PE adds its number at the position of the step, so the final block shows
 * which PEs it has visited. There are two halves, so that a block is not overwritten while it is passed on: the
 * neighbour's next block may arrive at once, but the one after that only after this PE's has gone around, or after the
 * other signal. */
static void check_ring(int lane, uint64_t *arrived, uint64_t *taken, size_t nbytes)
{
    size_t out = ON_DATA, in[2] = {ON_DATA + nbytes, ON_DATA + 2 * nbytes};
    clear();
    on_fill(lane, out, 0xffffffffu, nbytes / 4);
    for (int i = 1; i <= HOPS; i++) {
        on_fill(lane, out + 4 * (size_t)i, (uint32_t)me, 1);
        if (i > 2)
            on->wait(lane, taken, SHMEM_CMP_GE, (uint64_t)i - 2);
        on->put_signal(lane, map + in[i % 2], map + out, nbytes, arrived, (uint64_t)i, SHMEM_SIGNAL_SET, next);
        on->wait(lane, arrived, SHMEM_CMP_GE, (uint64_t)i);
        on_copy(lane, out, in[i % 2], nbytes);
        on->signal_op(lane, taken, (uint64_t)i, SHMEM_SIGNAL_SET, previous);
    }
    on->quiet(lane); /* nobody waits for the last signals */
    on_finish(lane);
    for (int i = 0; i <= HOPS + 1; i++) {
        uint32_t found = on_word(out + 4 * (size_t)i);
        uint32_t expected = (uint32_t)(((me - (HOPS - i) - 1) % n_pes + n_pes) % n_pes);
        if (i == 0 || i > HOPS)
            expected = 0xffffffffu;
        CHECK_THAT(found == expected, "chain of %zu bytes: step %d was taken by PE %u, expected %u", nbytes, i, found,
                   expected);
    }
    CHECK(on_word(out + nbytes - 4) == 0xffffffffu);
}

/* ---- Waits ------------------------------------------------------------------------------------------------------- */

static void check_wait(int lane, uint64_t *word, int cmp, uint64_t before, uint64_t value, uint64_t after)
{
    uint64_t *target = word;
    if (before != after)
        shmem_signal_set(target, before, next);
    shmem_quiet();
    shmem_barrier_all();
    on->wait(lane, word, cmp, value);
    on_fill(lane, ON_DATA, 77, 1);
    on->mark(lane);
    nap();
    CHECK_THAT(!on->has_passed(lane), "a wait (comparison %d with %llu) is over while the word is %llu", cmp,
               (unsigned long long)value, (unsigned long long)before);
    shmem_barrier_all();
    on->signal_op(1 - lane, target, after, SHMEM_SIGNAL_SET, next);
    on_finish(lane);
    on_finish(1 - lane);
    CHECK(on_word(ON_DATA) == 77);
    on_fill(lane, ON_DATA, 0, 1);
    on_finish(lane);
    shmem_barrier_all();
}

static void check_waits(uint64_t *word)
{
    uint64_t large = (uint64_t)1 << 40;
    clear();
    check_wait(0, word, SHMEM_CMP_EQ, 5, 7, 7);
    check_wait(1, word, SHMEM_CMP_NE, 5, 5, 6);
    check_wait(0, word, SHMEM_CMP_NE, 0, 0, large);
    check_wait(1, word, SHMEM_CMP_GT, 6, 6, 7);
    check_wait(0, word, SHMEM_CMP_GE, 6, 7, large);
    check_wait(1, word, SHMEM_CMP_LT, 7, 7, 6);
    check_wait(0, word, SHMEM_CMP_LE, large, large - 1, large - 1);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* All PEs add to PE 0's word from both lanes, with and without data. */
static void check_adds(uint64_t *word)
{
    uint64_t total = 2ull * ADDS * 3 * (uint64_t)n_pes;
    clear();
    for (int i = 0; i < ADDS; i++) {
        for (int lane = 0; lane < ON_LANES; lane++) {
            on->signal_op(lane, word, 1, SHMEM_SIGNAL_ADD, 0);
            on->put_signal(lane, map + ON_DATA + 8 * (size_t)(me + 1), map + ON_DATA + ON_BYTES / 2, 8, word, 2,
                           SHMEM_SIGNAL_ADD, 0);
        }
    }
    if (me == 0) {
        on->wait(0, word, SHMEM_CMP_EQ, total);
        on_finish(0);
    }
    on_finish(0);
    on_finish(1);
    shmem_barrier_all();
    if (me == 0) {
        uint64_t found = shmem_signal_fetch(word);
        CHECK_THAT(found == total, "the sum of additions is %llu, expected %llu", (unsigned long long)found,
                   (unsigned long long)total);
    }
    shmem_barrier_all();
}

/* ---- Transfers of all memories, quiet ---------------------------------------------------------------------------- */

static void check_transfer(char *target, const char *source, size_t nbytes, unsigned seed)
{
    char *back = check_malloc(nbytes);
    memset(back, 0, nbytes);
    shmem_barrier_all();
    on->put(0, target, source, nbytes, next);
    on->quiet(0);
    on_finish(0);
    shmem_barrier_all();
    on->get(1, back, target, nbytes, me);
    on_finish(1);
    check_bytes("put on a lane, then get", back, nbytes, seed + (unsigned)previous);
    memset(back, 0, nbytes);
    on->get(0, back, target, nbytes, next);
    on_finish(0);
    check_bytes("get on a lane", back, nbytes, seed + (unsigned)me);
    free(back);
    shmem_barrier_all();
}

static void check_transfers(size_t nbytes)
{
    static char in_static_data[ON_DATA];
    unsigned seed = (unsigned)nbytes % 251;
    char *private = check_malloc(nbytes);
    check_fill(private, nbytes, seed + (unsigned)me);
    check_fill(heap, nbytes, seed + (unsigned)me);
    shmem_barrier_all();
    device_write(on_device, on_buffer, ON_DATA, private, nbytes);
    check_transfer(map + ON_DATA + ON_BYTES / 2, map + ON_DATA, nbytes, seed);
    check_transfer(map + ON_DATA + ON_BYTES / 2, heap, nbytes, seed);
    check_transfer(map + ON_DATA + ON_BYTES / 2, private, nbytes, seed);
    check_transfer(heap_target, map + ON_DATA, nbytes, seed);
    check_transfer(heap_target, private, nbytes, seed);
    if (nbytes <= sizeof in_static_data) {
        check_transfer(in_static_data, map + ON_DATA, nbytes, seed);
        check_transfer(in_static_data, heap, nbytes, seed);
    }
    on->put(0, map, map, 0, next);
    on->get(0, map, map, 0, next);
    free(private);
}

/* The source of each put changes as soon as the lane goes on, in more puts than the library can hold back at a time. */
static void check_changing_source(int lane, size_t nbytes, int n)
{
    const size_t source = ON_DATA, target = ON_DATA + nbytes;
    clear();
    on->wait(lane, words, SHMEM_CMP_EQ, 1);
    for (int i = 1; i <= n; i++) {
        on_fill(lane, source, (uint32_t)(i * 1000 + me), nbytes / 4);
        on->put_signal(lane, map + target + (size_t)(i % 2) * nbytes, map + source, nbytes, heap_words, (uint64_t)i,
                       SHMEM_SIGNAL_SET, next);
    }
    on_fill(lane, source, 0, nbytes / 4);
    shmem_signal_set(words, 1, next);
    shmem_signal_wait_until(heap_words, SHMEM_CMP_EQ, (uint64_t)n);
    for (int i = n - 1; i <= n; i++)
        for (size_t at = 0; at < nbytes; at += nbytes - 4) {
            uint32_t found = on_word(target + (size_t)(i % 2) * nbytes + at);
            CHECK_THAT(found == (uint32_t)(i * 1000 + previous), "put %d of %d: word at %zu of %zu bytes is %u", i, n,
                       at, nbytes, found);
        }
    on_finish(lane);
    shmem_barrier_all();
}

/* A signal comes after the put before it, although the lane goes on as soon as the source has been read. The CPU looks at
 * the word itself, to see the data no later than it must. */
static void check_signal_after_put(int lane)
{
    enum { PUTS = 400, BLOCK = 4096 };
    clear();
    memset(heap_target, 0, PUTS * BLOCK);
    shmem_barrier_all();
    for (int i = 1; i <= PUTS; i++) {
        on_fill(lane, ON_DATA, (uint32_t)(i * 10 + me), BLOCK / 4);
        on->put(lane, heap_target + (size_t)(i - 1) * BLOCK, map + ON_DATA, BLOCK, next);
        on->signal_op(lane, heap_words, (uint64_t)i, SHMEM_SIGNAL_SET, next);
    }
    for (uint64_t seen = 0, now; seen < PUTS; seen = now) {
        while ((now = __atomic_load_n(heap_words, __ATOMIC_ACQUIRE)) == seen)
            continue;
        const uint32_t *block = (const uint32_t *)(heap_target + (now - 1) * BLOCK);
        CHECK_THAT(block[BLOCK / 4 - 1] == (uint32_t)now * 10 + (uint32_t)previous, "signal %llu came before its data",
                   (unsigned long long)now);
    }
    on_finish(lane);
    shmem_barrier_all();
}

/* ---- Barriers ---------------------------------------------------------------------------------------------------- */

/* After the barrier each PE's word is on all PEs; a second one lets all read it before the next round. */
static void check_barriers(int lane_of_second)
{
    size_t slots = ON_DATA, kept = ON_DATA + 4096;
    clear();
    for (int i = 1; i <= BARRIERS; i++) {
        on_fill(0, slots + 4 * (size_t)n_pes, (uint32_t)(i * 100 + me), 1);
        for (int pe = 0; pe < n_pes; pe++)
            on->put(0, map + slots + 4 * (size_t)me, map + slots + 4 * (size_t)n_pes, 4, pe);
        on->barrier(0);
        on_copy(0, kept + (size_t)i * 4 * (size_t)n_pes, slots, 4 * (size_t)n_pes);
        on->sync(lane_of_second);
        if (lane_of_second)
            on->sync(0); /* comes after it in the order of all barriers */
    }
    on_finish(0);
    on_finish(1);
    for (int i = 1; i <= BARRIERS; i++)
        for (int pe = 0; pe < n_pes; pe++) {
            uint32_t found = on_word(kept + ((size_t)i * (size_t)n_pes + (size_t)pe) * 4);
            CHECK_THAT(found == (uint32_t)(i * 100 + pe), "after barrier %d the word of PE %d is %u", i, pe, found);
        }
}

static void check_storm(void)
{
    shmem_barrier_all();
    for (int i = 0; i < 100; i++) {
        on->barrier(i % 3 == 0);
        if (i % 5 == 0)
            on->sync(1);
    }
    on_finish(0);
    on_finish(1);
    shmem_barrier_all();
}

/* The last PE is late: it holds up the others' lanes, not their CPUs. */
static void check_barrier_waits(void)
{
    const int last = n_pes - 1;
    clear();
    if (me != last) {
        on->barrier(0);
        on->mark(0);
        nap();
        CHECK_THAT(!on->has_passed(0), "a barrier is over before PE %d has come to it", last);
        shmem_signal_add(heap_words, 1, last);
    } else {
        shmem_signal_wait_until(heap_words, SHMEM_CMP_EQ, (uint64_t)last);
        on->barrier(0);
    }
    on_finish(0);
    shmem_barrier_all();
}

/* ---- Together with ordinary calls -------------------------------------------------------------------------------- */

static void check_mixed(void)
{
    enum { N = 64 };
    long source[N], back[N];
    clear();
    on->wait(0, heap_words, SHMEM_CMP_EQ, 3);
    on->put_signal(0, map + ON_DATA, map + ON_DATA + 8192, 4096, heap_words + 1, 1, SHMEM_SIGNAL_SET, next);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < N; i++)
            source[i] = round * 1000 + i + me;
        shmem_putmem_nbi(map + ON_DATA + 16384, source, sizeof source, next);
        shmem_barrier_all();
        shmem_getmem(back, map + ON_DATA + 16384, sizeof back, me);
        for (int i = 0; i < N; i++)
            CHECK(back[i] == round * 1000 + i + previous);
        shmem_barrier_all();
    }
    CHECK(shmem_signal_fetch(heap_words + 1) == 0);
    shmem_barrier_all();
    on->signal_op(1, heap_words, 3, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(heap_words + 1, SHMEM_CMP_EQ, 1);
    on_finish(0);
    on_finish(1);
    shmem_barrier_all();
}

char *on_check(const struct on_ops *ops)
{
    on = ops;
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    next = (me + 1) % n_pes;
    previous = (me + n_pes - 1) % n_pes;
    watch();
    map = shmmap(on_buffer, ON_BYTES, on_device->ops->memtype);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    words = (uint64_t *)map;
    heap_words = check_shmem_malloc(2 * sizeof *heap_words);
    heap = check_shmem_malloc(ON_BYTES);
    heap_target = check_shmem_malloc(ON_BYTES);
    STEP(check_ring(0, words, words + 1, TRAIL));
    STEP(check_ring(1, heap_words, heap_words + 1, TRAIL));
    STEP(check_ring(1, words, words + 1, TRAIL));
    STEP(check_ring(0, heap_words, words, 1 << 20));
    STEP(check_ring(1, static_words, static_words + 1, TRAIL));
    STEP(check_waits(words));
    STEP(check_waits(heap_words));
    STEP(check_waits(static_words));
    STEP(check_adds(words));
    STEP(check_adds(heap_words));
    STEP(check_transfers(8));
    STEP(check_transfers(4099));
    STEP(check_transfers(1 << 20));
    STEP(check_signal_after_put(0));
    STEP(check_changing_source(0, 4096, 30));
    STEP(check_changing_source(1, 256 << 10, 80));
    STEP(check_barriers(0));
    STEP(check_barriers(1));
    STEP(check_storm());
    STEP(check_barrier_waits());
    STEP(check_mixed());
    step = "what comes after on_check";
    return map;
}
