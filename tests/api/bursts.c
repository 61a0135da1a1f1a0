/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bursts of equal transfers at equal distances, which the library may join: between every two memories, with every kind
 * of gap, interrupted by others, on contexts that threads share, and with nothing said after the last of them.
 */
#include "check.h"
#include "memories.h"

#include <pthread.h>
#include <unistd.h>

enum { AREA = MEMORIES_AREA, UNTOUCHED = 0xa5, THREADS = 3, MOST_MESSAGES = 400 };

/* Messages of a burst, and the distances from one to the next. */
struct burst {
    size_t nbytes, to_step, from_step;
    int n;
};

static const struct burst bursts[] = {
    {8, 8, 8, 300},           {8, 64, 64, 400},       {8, 8, 40, 300},        {24, 56, 24, 200},
    {1, 1, 3, 300},           {7, 21, 7, 90},         {512, 512, 512, 400},   {512, 520, 600, 200},
    {600, 608, 600, 5},       {5000, 5000, 5008, 40}, {5000, 6000, 5000, 40}, {32768, 32768, 32768, 8},
    {33000, 33008, 33000, 7},
};
enum { BURSTS = sizeof bursts / sizeof bursts[0] };

enum way { PUT, PUT_NBI, GET_NBI, WAYS };

static char scratch[AREA], expected[AREA];

static int target(void)
{
    return (shmem_my_pe() + 1) % shmem_n_pes();
}

static int origin(void)
{
    return (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
}

static void clear(const struct memory *memory)
{
    memset(scratch, UNTOUCHED, AREA);
    device_write(memory->device, memory->object, 0, scratch, AREA);
}

static void move(shmem_ctx_t ctx, enum way way, char *remote, char *local, size_t nbytes)
{
    if (way == PUT)
        shmem_ctx_putmem(ctx, remote, local, nbytes, target());
    else if (way == PUT_NBI)
        shmem_ctx_putmem_nbi(ctx, remote, local, nbytes, target());
    else
        shmem_ctx_getmem_nbi(ctx, local, remote, nbytes, target());
}

/* Every 50th message is left out, so that a burst ends and another one begins. */
static bool is_left_out(int message)
{
    return message % 50 == 49;
}

static void expect(const struct burst *burst, unsigned seed)
{
    memset(expected, UNTOUCHED, AREA);
    for (int i = 0; i < burst->n; i++)
        for (size_t k = 0; !is_left_out(i) && k < burst->nbytes; k++)
            expected[(size_t)i * burst->to_step + k] = (char)check_pattern((size_t)i * burst->from_step + k, seed);
}

static void compare(const struct memory *memory, const struct burst *burst, const char *other)
{
    memories_read(memory, scratch);
    for (size_t i = 0; i < AREA; i++)
        CHECK_THAT(scratch[i] == expected[i], "%d times %zu bytes, %s with %s: byte %zu is %#x, expected %#x", burst->n,
                   burst->nbytes, memory->name, other, i, (unsigned char)scratch[i], (unsigned char)expected[i]);
}

static void send(shmem_ctx_t ctx, enum way way, const struct burst *burst, const struct memory *remote,
                 const struct memory *local)
{
    for (int i = 0; i < burst->n; i++) {
        const size_t to_at = (size_t)i * burst->to_step, from_at = (size_t)i * burst->from_step;
        if (!is_left_out(i))
            move(ctx, way, remote->address + (way == GET_NBI ? from_at : to_at),
                 local->address + (way == GET_NBI ? to_at : from_at), burst->nbytes);
    }
}

static void check_burst(shmem_ctx_t ctx, enum way way, const struct burst *burst, const struct memory *remote,
                        const struct memory *local)
{
    const struct memory *source = way == GET_NBI ? remote : local, *dest = way == GET_NBI ? local : remote;
    const int from = way == GET_NBI ? target() : origin();
    memories_fill(source, (unsigned)shmem_my_pe());
    clear(dest);
    shmem_barrier_all();
    send(ctx, way, burst, remote, local);
    shmem_ctx_quiet(ctx);
    send(ctx, way, burst, remote, local); /* what is repeated is expected */
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    expect(burst, (unsigned)from);
    compare(dest, burst, source->name);
    shmem_barrier_all();
}

/* Two bursts at once, to two memories, and from one: neither is ever two messages long. */
static void check_alternating(const struct memory *remote, const struct memory *other, const struct memory *local)
{
    const struct burst burst = {64, 96, 64, 200};
    memories_fill(local, (unsigned)shmem_my_pe());
    clear(remote);
    clear(other);
    shmem_barrier_all();
    for (int i = 0; i < burst.n; i++)
        for (int k = 0; !is_left_out(i) && k < 2; k++)
            shmem_putmem_nbi((k ? other : remote)->address + (size_t)i * burst.to_step,
                             local->address + (size_t)i * burst.from_step, burst.nbytes, target());
    shmem_barrier_all();
    expect(&burst, (unsigned)origin());
    compare(remote, &burst, local->name);
    compare(other, &burst, local->name);
    shmem_barrier_all();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    shmem_ctx_t ctx;
    char *remote, *local;
    int number;
};

/* A thread's quiet completes what it has put, whoever has sent it: its own flag follows. */
static void *put_part(void *argument)
{
    const struct worker *worker = argument;
    const size_t part = AREA / THREADS / 64 * 64, begin = (size_t)worker->number * part;
    for (size_t at = begin; at + 128 <= begin + part; at += 128) {
        shmem_ctx_putmem_nbi(worker->ctx, worker->remote + at, worker->local + at, 64, target());
        shmem_ctx_putmem(worker->ctx, worker->remote + at + 64, worker->local + at + 64, 64, target());
    }
    shmem_ctx_quiet(worker->ctx);
    return NULL;
}

static void check_threads(shmem_ctx_t ctx, const struct memory *remote, const struct memory *local)
{
    struct worker workers[THREADS];
    memories_fill(local, (unsigned)shmem_my_pe());
    clear(remote);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.ctx = ctx, .remote = remote->address, .local = local->address, .number = i};
        CHECK(!pthread_create(&workers[i].thread, NULL, put_part, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    shmem_sync_all(); /* completes nothing: each thread has done that */
    memories_read(remote, scratch);
    for (int i = 0; i < THREADS; i++) {
        const size_t part = AREA / THREADS / 64 * 64, begin = (size_t)i * part;
        for (size_t at = begin; at < begin + part / 128 * 128; at++)
            CHECK_THAT((unsigned char)scratch[at] == check_pattern(at, (unsigned)origin()), "%s, %d threads: byte %zu",
                       remote->name, THREADS, at);
    }
    shmem_barrier_all();
}

/* ---- Without a further call -------------------------------------------------------------------------------------- */

static void check_delivery(const struct memory *remote, const struct memory *local)
{
    const struct burst burst = {64, 128, 64, 45};
    static volatile long seen;
    memories_fill(local, (unsigned)shmem_my_pe());
    clear(remote);
    seen = 0;
    shmem_barrier_all();
    for (int i = 0; i < burst.n; i++)
        shmem_putmem_nbi(remote->address + (size_t)i * burst.to_step, local->address + (size_t)i * burst.from_step,
                         burst.nbytes, target());
    expect(&burst, (unsigned)origin());
    do {
        usleep(1000);
        memories_read(remote, scratch);
    } while (memcmp(scratch, expected, AREA));
    shmem_long_p((long *)&seen, 1, origin());
    while (!seen)
        usleep(1000);
    shmem_barrier_all();
}

/* ---- Everything -------------------------------------------------------------------------------------------------- */

static void check_pair(shmem_ctx_t ctx, const struct memory *remote, const struct memory *local)
{
    for (int i = 0; i < BURSTS; i++)
        for (enum way way = PUT; way < WAYS; way++)
            check_burst((i + (int)way) % 2 ? ctx : SHMEM_CTX_DEFAULT, way, &bursts[i], remote, local);
}

int main(void)
{
    struct memories remotes, locals;
    shmem_ctx_t ctx;
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    memories_open(&remotes, &locals);
    CHECK(!shmem_ctx_create(0, &ctx));
    for (int i = 0; i < remotes.n; i++) {
        for (int k = 0; k < locals.n; k++)
            check_pair(ctx, &remotes.memory[i], &locals.memory[k]);
        check_alternating(&remotes.memory[i], &remotes.memory[(i + 1) % remotes.n], &locals.memory[locals.n - 1]);
        check_threads(SHMEM_CTX_DEFAULT, &remotes.memory[i], &locals.memory[locals.n - 1]);
        check_threads(ctx, &remotes.memory[i], &locals.memory[0]);
        if (shmem_n_pes() > 1 && remotes.memory[i].device != &device_host)
            check_delivery(&remotes.memory[i], &locals.memory[locals.n - 1]);
    }
    shmem_ctx_destroy(ctx);
    memories_close(&remotes, &locals);
    return check_end();
}
