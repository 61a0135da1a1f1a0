/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_THREAD_MULTIPLE: threads that put, get and update words at the same time, half of them all on the default
 * context, half on private ones, while others wait for signals of other PEs. Each thread has a lane of its own in every
 * PE's memory, so it knows what must have arrived after its quiet, whatever the other threads complete meanwhile.
 * Usage: threads [ROUNDS].
 */
#include "check.h"

#include <pthread.h>
#include <sched.h>

enum { PES_MAX = 8, WORKERS = 4, WORDS = 2048 };

typedef uint64_t lane_t[WORDS];

/* What all threads of all PEs add to. */
struct counters {
    uint64_t added, fetched, tickets;
    uint32_t small;
};

static lane_t static_lanes[PES_MAX][WORKERS], (*heap_lanes)[WORKERS];
static struct counters static_counters, *heap_counters;
static uint64_t bell, reply; /* of the previous PE, of the next one */
static int rounds = 12;

struct worker {
    pthread_t thread;
    int number;
    shmem_ctx_t ctx;
    uint64_t source[WORDS], back[WORDS];
    uint64_t sum_fetched, sum_tickets, operations; /* on one set of counters of every PE */
};

static uint64_t value_of(const struct worker *worker, int round, size_t i)
{
    return ((uint64_t)shmem_my_pe() << 48 | (uint64_t)worker->number << 40 | (uint64_t)round << 24 | i) + 1;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

static void fill(struct worker *worker, int round, size_t n)
{
    for (size_t i = 0; i < n; i++)
        worker->source[i] = value_of(worker, round, i);
    memset(worker->back, 0xff, n * sizeof *worker->back);
}

static void check_back(const struct worker *worker, const char *what, int round, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_THAT(worker->back[i] == value_of(worker, round, i),
                   "%s, thread %d, round %d: word %zu of %zu is %#llx, expected %#llx", what, worker->number, round, i,
                   n, (unsigned long long)worker->back[i], (unsigned long long)value_of(worker, round, i));
}

static void transfer_blocking(struct worker *worker, uint64_t *lane, int round, size_t n, int pe)
{
    shmem_ctx_uint64_put(worker->ctx, lane, worker->source, n, pe);
    shmem_ctx_quiet(worker->ctx);
    shmem_ctx_uint64_get(worker->ctx, worker->back, lane, n, pe);
    check_back(worker, "put and get", round, n);
}

static void transfer_nonblocking(struct worker *worker, uint64_t *lane, int round, size_t n, int pe)
{
    shmem_ctx_uint64_put_nbi(worker->ctx, lane, worker->source, n / 2, pe);
    shmem_ctx_uint64_put_nbi(worker->ctx, lane + n / 2, worker->source + n / 2, n - n / 2, pe);
    shmem_ctx_quiet(worker->ctx);
    shmem_ctx_uint64_get_nbi(worker->ctx, worker->back, lane, n / 2, pe);
    shmem_ctx_uint64_get_nbi(worker->ctx, worker->back + n / 2, lane + n / 2, n - n / 2, pe);
    shmem_ctx_quiet(worker->ctx);
    check_back(worker, "nonblocking put and get", round, n);
}

/* Every second word there. */
static void transfer_strided(struct worker *worker, uint64_t *lane, int round, size_t n, int pe)
{
    size_t half = (n + 1) / 2;
    shmem_ctx_uint64_iput(worker->ctx, lane, worker->source, 2, 1, half, pe);
    shmem_ctx_quiet(worker->ctx);
    shmem_ctx_uint64_iget(worker->ctx, worker->back, lane, 1, 2, half, pe);
    check_back(worker, "strided put and get", round, half);
}

static void transfer_words(struct worker *worker, uint64_t *lane, int round, size_t n, int pe)
{
    for (size_t i = 0; i < n && i < 20; i++)
        shmem_ctx_uint64_p(worker->ctx, &lane[i], worker->source[i], pe);
    shmem_ctx_quiet(worker->ctx);
    for (size_t i = 0; i < n && i < 20; i++)
        worker->back[i] = shmem_ctx_uint64_g(worker->ctx, &lane[i], pe);
    check_back(worker, "p and g", round, n < 20 ? n : 20);
}

static void transfer(struct worker *worker, lane_t *lanes, int round, int pe)
{
    static const size_t sizes[] = {1, 5, 40, 700, WORDS};
    typedef void (*transfer_func_t)(struct worker *, uint64_t *, int, size_t, int);
    static const transfer_func_t forms[] = {transfer_blocking, transfer_nonblocking, transfer_strided, transfer_words};
    enum { N_SIZES = sizeof sizes / sizeof sizes[0], N_FORMS = sizeof forms / sizeof forms[0] };
    size_t n = sizes[(round + worker->number) % N_SIZES];
    for (int form = 0; form < N_FORMS; form++) {
        fill(worker, round * N_FORMS + form, n);
        forms[form](worker, lanes[worker->number], round * N_FORMS + form, n, pe);
    }
}

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

static void update(struct worker *worker, struct counters *counters, int pe)
{
    enum { TICKETS = 3 };
    uint64_t tickets[TICKETS];
    shmem_ctx_uint64_atomic_add(worker->ctx, &counters->added, 1, pe);
    worker->sum_fetched += shmem_ctx_uint64_atomic_fetch_add(worker->ctx, &counters->fetched, 1, pe);
    shmem_ctx_uint32_atomic_inc(worker->ctx, &counters->small, pe);
    for (int i = 0; i < TICKETS; i++) {
        tickets[i] = UINT64_MAX;
        shmem_ctx_uint64_atomic_fetch_add_nbi(worker->ctx, &tickets[i], &counters->tickets, 1, pe);
    }
    shmem_ctx_quiet(worker->ctx);
    for (int i = 0; i < TICKETS; i++) {
        CHECK_THAT(tickets[i] != UINT64_MAX, "thread %d: a fetching atomic has not delivered before quiet returned",
                   worker->number);
        worker->sum_tickets += tickets[i];
    }
    worker->operations++;
}

/* n operations that add 1 leave n, and have fetched 0 to n-1, each once. */
static void check_sum(const char *what, uint64_t sum, uint64_t n, uint64_t found)
{
    CHECK_THAT(found == n, "%s: %llu updates left %llu", what, (unsigned long long)n, (unsigned long long)found);
    CHECK_THAT(sum == n * (n - 1) / 2, "%s: the values fetched sum up to %llu, expected %llu", what,
               (unsigned long long)sum, (unsigned long long)(n * (n - 1) / 2));
}

/* PE 0's counters received all updates, the same in the heap and in static data. */
static void check_counters(const struct worker *workers)
{
    static uint64_t mine[3], all[3];
    memset(mine, 0, sizeof mine);
    for (int i = 0; i < WORKERS; i++) {
        mine[0] += workers[i].operations;
        mine[1] += workers[i].sum_fetched;
        mine[2] += workers[i].sum_tickets;
    }
    shmem_barrier_all();
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 3);
    if (shmem_my_pe() == 0) {
        uint64_t n = all[0] / 2;
        check_sum("atomic_fetch_add", all[1] / 2, n, heap_counters->fetched);
        check_sum("atomic_fetch_add_nbi", all[2] / 2, 3 * n, heap_counters->tickets);
        CHECK(all[1] % 2 == 0 && all[2] % 2 == 0 && static_counters.fetched == n && static_counters.tickets == 3 * n);
        CHECK(heap_counters->added == n && static_counters.added == n);
        CHECK(heap_counters->small == n && static_counters.small == n);
    }
    shmem_barrier_all();
}

static uint64_t shared_word;

static int completions(void)
{
    return 25 * rounds;
}

/* All threads complete operations of the default context; the quiet of one must not mistake another's operations for
 * its own. */
static void complete_together(const struct worker *worker)
{
    for (int i = 0; i < completions(); i++) {
        uint64_t old = UINT64_MAX;
        shmem_uint64_atomic_fetch_inc_nbi(&old, &shared_word, check_target(1));
        sched_yield(); /* let the others begin a quiet */
        shmem_quiet();
        CHECK_THAT(old != UINT64_MAX, "thread %d: another thread's quiet has taken over an operation", worker->number);
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 0; round < rounds; round++) {
        int pe = check_target(round + worker->number);
        transfer(worker, heap_lanes[shmem_my_pe()], round, pe);
        transfer(worker, static_lanes[shmem_my_pe()], round, pe);
        update(worker, heap_counters, 0);
        update(worker, &static_counters, 0);
    }
    complete_together(worker);
    return NULL;
}

/* Rings the next PE's bell and waits for its reply. */
static void *ring(void *argument)
{
    (void)argument;
    for (int i = 1; i <= 10 * rounds; i++) {
        shmem_uint64_atomic_set(&bell, (uint64_t)i, check_target(1));
        shmem_uint64_wait_until(&reply, SHMEM_CMP_GE, (uint64_t)i);
        CHECK_THAT(shmem_signal_fetch(&reply) == (uint64_t)i, "a reply came that was not asked for");
    }
    return NULL;
}

static void *answer(void *argument)
{
    (void)argument;
    for (int i = 1; i <= 10 * rounds; i++) {
        shmem_uint64_wait_until(&bell, SHMEM_CMP_EQ, (uint64_t)i);
        shmem_uint64_atomic_set(&reply, (uint64_t)i, check_origin(1));
    }
    return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
    CHECK_THAT(!pthread_create(thread, NULL, function, argument), "pthread_create failed");
}

static void open_workers(struct worker *workers)
{
    for (int i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].ctx = SHMEM_CTX_DEFAULT;
        if (i % 2)
            CHECK_THAT(!shmem_ctx_create(SHMEM_CTX_SERIALIZED, &workers[i].ctx), "shmem_ctx_create failed");
    }
}

static void close_workers(struct worker *workers)
{
    for (int i = 1; i < WORKERS; i += 2)
        shmem_ctx_destroy(workers[i].ctx);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t ringing, answering;
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
    CHECK_THAT(provided == SHMEM_THREAD_MULTIPLE, "thread level %d", provided);
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    struct worker *workers = check_malloc(WORKERS * sizeof *workers);
    memset(workers, 0, WORKERS * sizeof *workers);
    heap_lanes = check_shmem_malloc((size_t)shmem_n_pes() * sizeof *heap_lanes);
    heap_counters = check_shmem_malloc(sizeof *heap_counters);
    memset(heap_counters, 0, sizeof *heap_counters);
    open_workers(workers);
    shmem_barrier_all();
    start(&ringing, ring, NULL);
    start(&answering, answer, NULL);
    for (int i = 0; i < WORKERS; i++)
        start(&workers[i].thread, work, &workers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_join(ringing, NULL);
    pthread_join(answering, NULL);
    close_workers(workers);
    check_counters(workers);
    CHECK(shmem_signal_fetch(&shared_word) == (uint64_t)(WORKERS * completions()));
    free(workers);
    return check_end();
}
