/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads of a phase. A lane is written by one thread only, so this thread knows what is in it: the model, which is
 * also the source of its puts. A byte is not written twice without a quiet in between, and not read without one.
 */
#include "tests/patience.h"
#include "soak.h"

enum { OPERATIONS = 64, EXCHANGE_EVERY = 16 };

struct worker {
    pthread_t thread;
    int number, operation;
    struct random random;
    shmem_ctx_t own, ctx;               /* a context of this thread's; the one of this operation */
    struct lane *model[AREAS_MAX];      /* [PE], kept from phase to phase */
    size_t used[AREAS_MAX][PES_MAX];    /* bytes of the lane that were written since the last quiet */
    uint64_t added[AREAS_MAX][PES_MAX]; /* to the counter, since the area is new */
    uint64_t exchanges;                 /* in the whole run */
    uint64_t fetched[OPERATIONS];       /* by operations that may be under way */
    unsigned char letter[LETTER], got[LANE];
};

/* What one operation aims at. */
struct aim {
    int area, pe;
    struct lane *there, *model;
    size_t offset, nbytes; /* multiples of 8 unless said otherwise */
};

static struct worker workers[THREADS_MAX];
static unsigned long n_operations;

#define EXPECT(_condition, _worker, _what, _pe)                                                                        \
    CHECK_THAT(_condition, "seed %llu, phase %d, thread %d, operation %d: %s of PE %d", (unsigned long long)soak.seed, \
               soak.phase, (_worker)->number, (_worker)->operation, _what, _pe)

static size_t draw(struct worker *worker, size_t bound)
{
    return random_below(&worker->random, bound);
}

static void quiet(struct worker *worker)
{
    shmem_quiet();
    shmem_ctx_quiet(worker->own);
    memset(worker->used, 0, sizeof worker->used);
}

static struct aim aim_at(struct worker *worker, int area, int pe)
{
    const int lane = soak.me * soak.n_threads + worker->number;
    return (struct aim){area, pe, &soak.areas[area].memory->lanes[lane], &worker->model[area][pe], 0, 0};
}

/* At a random PE and area, with room for up to 2 KiB that nothing has been put to since the last quiet. */
static struct aim aim_anywhere(struct worker *worker)
{
    struct aim aim = aim_at(worker, (int)draw(worker, (size_t)soak.n_areas), (int)draw(worker, (size_t)soak.n));
    aim.nbytes = 8 + 8 * draw(worker, (size_t)1 << draw(worker, 9));
    if (worker->used[aim.area][aim.pe] + aim.nbytes > LANE)
        quiet(worker);
    aim.offset = worker->used[aim.area][aim.pe];
    worker->used[aim.area][aim.pe] += aim.nbytes;
    return aim;
}

/* New data for the range: in the model, from where they are put. */
static unsigned char *fill(struct worker *worker, const struct aim *aim)
{
    unsigned char *bytes = aim->model->bytes + aim->offset;
    uint64_t value = random_next(&worker->random) << 20;
    for (size_t i = 0; i < aim->nbytes; i += 8, value += 0x1000193)
        memcpy(bytes + i, &value, 8);
    return bytes;
}

/* ---- What writes ------------------------------------------------------------------------------------------------- */

static void put(struct worker *worker)
{
    struct aim aim = aim_anywhere(worker);
    unsigned char *source = fill(worker, &aim), *dest = aim.there->bytes + aim.offset;
    size_t odd = draw(worker, 8); /* an address and a size that are not aligned; the first byte is put anyway */
    shmem_ctx_putmem(worker->ctx, dest, source, odd, aim.pe);
    if (draw(worker, 2))
        shmem_ctx_putmem(worker->ctx, dest + odd, source + odd, aim.nbytes - odd, aim.pe);
    else
        shmem_ctx_putmem_nbi(worker->ctx, dest + odd, source + odd, aim.nbytes - odd, aim.pe);
}

static void put_words(struct worker *worker)
{
    struct aim aim = aim_anywhere(worker);
    uint64_t *source = (uint64_t *)(void *)fill(worker, &aim),
             *dest = (uint64_t *)(void *)(aim.there->bytes + aim.offset);
    size_t n = aim.nbytes / 8;
    if (n > 16)
        shmem_ctx_uint64_put_nbi(worker->ctx, dest, source, n, aim.pe);
    else
        for (size_t i = 0; i < n; i++)
            shmem_ctx_uint64_p(worker->ctx, &dest[i], source[i], aim.pe);
}

/* Every second word, then the others in one block each. */
static void put_strided(struct worker *worker)
{
    struct aim aim = aim_anywhere(worker);
    uint64_t *source = (uint64_t *)(void *)fill(worker, &aim),
             *dest = (uint64_t *)(void *)(aim.there->bytes + aim.offset);
    size_t n = aim.nbytes / 8;
    shmem_ctx_uint64_iput(worker->ctx, dest, source, 2, 2, (n + 1) / 2, aim.pe);
    shmem_ctx_uint64_ibput(worker->ctx, dest + 1, source + 1, 2, 2, 1, n / 2, aim.pe);
}

static void put_signal(struct worker *worker)
{
    struct aim aim = aim_anywhere(worker);
    int other = (aim.area + 1) % soak.n_areas;
    struct aim signal = aim_at(worker, other, aim.pe);
    uint64_t value = draw(worker, 1000);
    unsigned char *source = fill(worker, &aim), *dest = aim.there->bytes + aim.offset;
    signal.model->signal += value;
    if (draw(worker, 2))
        shmem_ctx_putmem_signal(worker->ctx, dest, source, aim.nbytes, &signal.there->signal, value, SHMEM_SIGNAL_ADD,
                                aim.pe);
    else
        shmem_ctx_putmem_signal_nbi(worker->ctx, dest, source, aim.nbytes, &signal.there->signal, value,
                                    SHMEM_SIGNAL_ADD, aim.pe);
}

static void add(struct worker *worker)
{
    int area = (int)draw(worker, (size_t)soak.n_areas), pe = (int)draw(worker, (size_t)soak.n);
    uint64_t *counter = &soak.areas[area].memory->counter, value = 1 + draw(worker, 9);
    worker->added[area][pe] += value;
    switch (draw(worker, 3)) {
    case 0:
        shmem_ctx_uint64_atomic_add(worker->ctx, counter, value, pe);
        break;
    case 1:
        shmem_ctx_uint64_atomic_fetch_add(worker->ctx, counter, value, pe);
        break;
    default:
        shmem_ctx_uint64_atomic_fetch_add_nbi(worker->ctx, &worker->fetched[worker->operation], counter, value, pe);
    }
}

/* ---- What reads -------------------------------------------------------------------------------------------------- */

static void get(struct worker *worker)
{
    quiet(worker);
    struct aim aim = aim_anywhere(worker);
    const uint64_t *there = (uint64_t *)(void *)(aim.there->bytes + aim.offset);
    uint64_t *got = (uint64_t *)(void *)worker->got;
    size_t n = aim.nbytes / 8;
    switch (draw(worker, 4)) {
    case 0:
        shmem_ctx_getmem(worker->ctx, got, there, aim.nbytes, aim.pe);
        break;
    case 1:
        shmem_ctx_uint64_get_nbi(worker->ctx, got, there, n / 2, aim.pe);
        shmem_ctx_uint64_get_nbi(worker->ctx, got + n / 2, there + n / 2, n - n / 2, aim.pe);
        shmem_ctx_quiet(worker->ctx);
        break;
    case 2:
        shmem_ctx_uint64_iget(worker->ctx, got, there, 2, 2, (n + 1) / 2, aim.pe);
        shmem_ctx_uint64_ibget(worker->ctx, got + 1, there + 1, 2, 2, 1, n / 2, aim.pe);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            got[i] = i < 32 ? shmem_ctx_uint64_g(worker->ctx, &there[i], aim.pe) : 0;
        n = n < 32 ? n : 32;
    }
    EXPECT(!memcmp(got, aim.model->bytes + aim.offset, n * 8), worker, "got other data than were put, in a lane",
           aim.pe);
}

static void check_lane(struct worker *worker, int area, int pe)
{
    static _Thread_local struct lane found;
    struct aim aim = aim_at(worker, area, pe);
    shmem_ctx_getmem(worker->ctx, &found, aim.there, sizeof found, pe);
    EXPECT(!memcmp(found.bytes, aim.model->bytes, LANE), worker, "wrong bytes in the lane", pe);
    EXPECT(!memcmp(found.words, aim.model->words, sizeof found.words), worker, "wrong words of atomics in the lane",
           pe);
    EXPECT(found.signal == aim.model->signal, worker, "wrong signal in the lane", pe);
}

/* ---- Atomic operations whose result is known --------------------------------------------------------------------- */

static void update(struct worker *worker)
{
    struct aim aim = aim_at(worker, (int)draw(worker, (size_t)soak.n_areas), (int)draw(worker, (size_t)soak.n));
    size_t i = draw(worker, LANE_WORDS);
    uint64_t *there = &aim.there->words[i], *model = &aim.model->words[i], old = *model;
    uint64_t value = random_next(&worker->random), found = old;
    shmem_ctx_t ctx = worker->ctx;
    switch (draw(worker, 8)) {
    case 0:
        found = shmem_ctx_uint64_atomic_swap(ctx, there, *model = value, aim.pe);
        break;
    case 1:
        *model = old % 2 ? old : value;
        found = shmem_ctx_uint64_atomic_compare_swap(ctx, there, old % 2 ? old + 1 : old, value, aim.pe);
        break;
    case 2:
        *model += value;
        found = shmem_ctx_uint64_atomic_fetch_add(ctx, there, value, aim.pe);
        break;
    case 3:
        *model ^= value;
        found = shmem_ctx_uint64_atomic_fetch_xor(ctx, there, value, aim.pe);
        break;
    case 4:
        *model += 1;
        shmem_ctx_uint64_atomic_inc(ctx, there, aim.pe);
        break;
    case 5:
        shmem_ctx_uint64_atomic_set(ctx, there, *model = value, aim.pe);
        break;
    case 6:
        *model &= value;
        shmem_ctx_uint64_atomic_and(ctx, there, value, aim.pe);
        break;
    default:
        shmem_ctx_uint64_atomic_fetch_nbi(ctx, &found, there, aim.pe);
    }
    shmem_ctx_quiet(ctx);
    EXPECT(found == old, worker, "wrong result of an atomic operation on a word", aim.pe);
}

/* ---- Exchange: all threads do the same number of them, in the same order ------------------------------------------ */

static void await(struct worker *worker, uint64_t *word, uint64_t value)
{
    size_t which = 0, one = 1;
    switch (draw(worker, 4)) {
    case 0:
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, value);
        break;
    case 1:
        shmem_signal_wait_until(word, SHMEM_CMP_GE, value);
        break;
    case 2:
        for (unsigned turns = 0; !shmem_uint64_test(word, SHMEM_CMP_GE, value);)
            wait_a_turn(&turns);
        break;
    default:
        which = shmem_uint64_wait_until_any(word, one, NULL, SHMEM_CMP_GE, value);
        EXPECT(which == 0, worker, "wrong result of wait_until_any", soak.me);
    }
}

/* A letter to the next PE's thread of this number, and one from the PE before. The next letter is not sent before the
 * answer to the last one. */
static void exchange(struct worker *worker)
{
    struct mailbox *box = &soak.mailboxes[worker->number];
    const uint64_t turn = ++worker->exchanges;
    const unsigned seed = (unsigned)turn * 7 + (unsigned)worker->number;
    const int next = (soak.me + 1) % soak.n, before = (soak.me + soak.n - 1) % soak.n;
    size_t nbytes = 1 + turn * 37 % LETTER;
    await(worker, &box->answered, turn - 1);
    check_fill(worker->letter, nbytes, seed + (unsigned)soak.me);
    shmem_ctx_putmem_signal(worker->ctx, box->letter, worker->letter, nbytes, &box->arrived, turn, SHMEM_SIGNAL_SET,
                            next);
    shmem_ctx_quiet(worker->ctx); /* a session may hold it back */
    await(worker, &box->arrived, turn);
    check_bytes("letter", box->letter, nbytes, seed + (unsigned)before);
    shmem_ctx_uint64_atomic_set(worker->ctx, &box->answered, turn, before);
    shmem_ctx_quiet(worker->ctx);
}

/* ---- Contexts and sessions --------------------------------------------------------------------------------------- */

static void renew_context(struct worker *worker)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
    if (draw(worker, 2))
        quiet(worker); /* destroying it completes it as well */
    shmem_ctx_destroy(worker->own);
    CHECK(shmem_ctx_create(options[draw(worker, 3)], &worker->own) == 0);
}

static void session(struct worker *worker)
{
    const shmem_ctx_session_config_t config = {.total_ops = draw(worker, 50)};
    if (draw(worker, 3))
        shmem_ctx_session_start(worker->own, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    else
        shmem_ctx_session_stop(worker->own);
}

/* ---- A phase ----------------------------------------------------------------------------------------------------- */

static void operate(struct worker *worker)
{
    typedef void (*operation_func_t)(struct worker *);
    static const operation_func_t often[] = {put, put_words, put_strided, put_signal, add, get, update};
    worker->ctx = draw(worker, 2) ? worker->own : SHMEM_CTX_DEFAULT;
    if (worker->operation % EXCHANGE_EVERY == EXCHANGE_EVERY - 1)
        exchange(worker);
    else if (draw(worker, 10))
        often[draw(worker, sizeof often / sizeof often[0])](worker);
    else if (draw(worker, 3) == 0)
        renew_context(worker);
    else if (draw(worker, 2))
        session(worker);
    else
        deep_round_trip(&worker->random, worker->number, (int)draw(worker, (size_t)soak.n));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->random = random_start(soak.seed, soak.phase, 1 + soak.me * THREADS_MAX + worker->number);
    CHECK(shmem_ctx_create(0, &worker->own) == 0);
    for (worker->operation = 0; worker->operation < OPERATIONS; worker->operation++)
        operate(worker);
    quiet(worker);
    check_lane(worker, (int)draw(worker, (size_t)soak.n_areas), (int)draw(worker, (size_t)soak.n));
    shmem_ctx_destroy(worker->own);
    return NULL;
}

void lanes_prepare(void)
{
    for (int i = 0; i < soak.n_threads; i++) {
        workers[i].number = i;
        for (int area = 0; area < soak.n_areas; area++)
            workers[i].model[area] = check_malloc((size_t)soak.n * sizeof(struct lane));
    }
    for (int area = 0; area < soak.n_areas; area++)
        lanes_forget(area);
    deep_prepare();
}

void lanes_start(void)
{
    for (int i = 0; i < soak.n_threads; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
}

static void check_counters(int area)
{
    static uint64_t added[PES_MAX], total[PES_MAX]; /* symmetric */
    uint64_t found;
    memset(added, 0, sizeof added);
    for (int i = 0; i < soak.n_threads; i++)
        for (int pe = 0; pe < soak.n; pe++)
            added[pe] += workers[i].added[area][pe];
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, total, added, PES_MAX);
    found = shmem_uint64_atomic_fetch(&soak.areas[area].memory->counter, soak.me);
    CHECK_THAT(found == total[soak.me], "seed %llu, phase %d: the counter in %s is %llu, expected %llu",
               (unsigned long long)soak.seed, soak.phase, soak.areas[area].name, (unsigned long long)found,
               (unsigned long long)total[soak.me]);
    shmem_sync_all();
}

void lanes_finish(void)
{
    for (int i = 0; i < soak.n_threads; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    n_operations += (unsigned long)soak.n_threads * OPERATIONS;
    shmem_barrier_all();
    for (int area = 0; area < soak.n_areas; area++)
        check_counters(area);
}

void lanes_forget(int area)
{
    for (int i = 0; i < soak.n_threads; i++) {
        memset(workers[i].model[area], 0, (size_t)soak.n * sizeof(struct lane));
        memset(workers[i].added[area], 0, sizeof workers[i].added[area]);
    }
}

unsigned long lanes_operations(void)
{
    return n_operations;
}
