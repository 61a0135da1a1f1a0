/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that share a context: after its quiet, each finds its own nonblocking puts, gets and fetching atomics complete,
 * whatever the others have under way. They are to all PEs, so those of other threads may be complete before older ones.
 * A get would wait for the put that it is to judge, so the memory of the other PE is read past the library, by
 * process_vm_readv. Without other PEs on this machine, or where the system forbids that, the puts are not judged.
 * Usage: shared_context [ROUNDS].
 */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PES_MAX = 16, THREADS = 4, WORDS = 64 };

/* What the other PEs must know to look at this one's memory. */
struct mirror {
    pid_t process;
    char *memory; /* the address of `memory` there */
};

struct memory {
    uint64_t put[PES_MAX][THREADS][WORDS]; /* each written by one thread of one PE */
    uint64_t constant[WORDS];
};

static struct memory *memory;
static struct mirror mirrors[PES_MAX], own_mirror; /* symmetric */
static shmem_ctx_t ctx;
static int rounds = 400;

struct worker {
    pthread_t thread;
    int number;
    uint64_t random;
    uint64_t source[WORDS], got[WORDS], fetched;
};

static uint64_t constant_of(int pe, size_t i)
{
    return (uint64_t)(pe + 1) << 32 | (i + 1);
}

static size_t draw(struct worker *worker, size_t bound)
{
    worker->random = worker->random * 6364136223846793005 + 1442695040888963407;
    return (size_t)(worker->random >> 33) % bound;
}

/* The words are in the memory of a PE, as that PE itself sees it. */
static void check_there(const struct worker *worker, const uint64_t *words, size_t n, int pe)
{
    uint64_t found[WORDS];
    const struct mirror *mirror = &mirrors[pe];
    struct iovec here = {found, n * sizeof *found};
    struct iovec there = {mirror->memory + ((const char *)words - (const char *)memory), here.iov_len};
    if (!mirror->memory)
        return;
    CHECK(process_vm_readv(mirror->process, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len);
    for (size_t i = 0; i < n; i++)
        CHECK_THAT(found[i] == worker->source[i],
                   "thread %d: after quiet, word %zu of a put of %zu words to PE %d is %#llx there, expected %#llx",
                   worker->number, i, n, pe, (unsigned long long)found[i], (unsigned long long)worker->source[i]);
}

static void check_got(const struct worker *worker, size_t n, int pe)
{
    for (size_t i = 0; i < n; i++)
        CHECK_THAT(worker->got[i] == constant_of(pe, i),
                   "thread %d: after quiet, word %zu of a get of %zu words from PE %d is %#llx, expected %#llx",
                   worker->number, i, n, pe, (unsigned long long)worker->got[i],
                   (unsigned long long)constant_of(pe, i));
}

/* Some of the three kinds at once, each with a PE of its own. */
static void operate(struct worker *worker, int round)
{
    static const size_t sizes[] = {1, 3, 16, WORDS};
    const size_t kinds = 1 + draw(worker, 7), n = sizes[draw(worker, 4)], n_pes = (size_t)shmem_n_pes();
    const int put_to = (int)draw(worker, n_pes), get_from = (int)draw(worker, n_pes),
              fetch_from = (int)draw(worker, n_pes);
    uint64_t *words = memory->put[shmem_my_pe()][worker->number];
    for (size_t i = 0; i < n; i++)
        worker->source[i] = (uint64_t)round << 8 | i;
    memset(worker->got, 0, sizeof worker->got);
    worker->fetched = 0;
    if (kinds & 1)
        shmem_ctx_uint64_put_nbi(ctx, words, worker->source, n, put_to);
    if (kinds & 2)
        shmem_ctx_uint64_get_nbi(ctx, worker->got, memory->constant, n, get_from);
    if (kinds & 4)
        shmem_ctx_uint64_atomic_fetch_nbi(ctx, &worker->fetched, memory->constant, fetch_from);
    shmem_ctx_quiet(ctx);
    if (kinds & 1)
        check_there(worker, words, n, put_to);
    if (kinds & 2)
        check_got(worker, n, get_from);
    CHECK_THAT(!(kinds & 4) || worker->fetched == constant_of(fetch_from, 0),
               "thread %d: after quiet, a word fetched from PE %d is %#llx, expected %#llx", worker->number, fetch_from,
               (unsigned long long)worker->fetched, (unsigned long long)constant_of(fetch_from, 0));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int round = 1; round <= rounds; round++)
        operate(worker, round);
    return NULL;
}

static void work_together(void)
{
    struct worker *workers = check_malloc(THREADS * sizeof *workers);
    memset(workers, 0, THREADS * sizeof *workers);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].random = (uint64_t)(shmem_my_pe() * THREADS + i + 1) * 0x9e3779b97f4a7c15;
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(workers[i].thread, NULL));
    free(workers);
    shmem_barrier_all();
}

/* A PE that this one cannot look at has no mirror; it is known by its first constant. */
static void find_mirrors(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* fails where it is not needed */
    own_mirror = (struct mirror){getpid(), (char *)memory};
    shmem_fcollectmem(SHMEM_TEAM_WORLD, mirrors, &own_mirror, sizeof own_mirror);
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        uint64_t found = 0;
        struct iovec here = {&found, sizeof found};
        struct iovec there = {mirrors[pe].memory + offsetof(struct memory, constant), sizeof found};
        if (process_vm_readv(mirrors[pe].process, &here, 1, &there, 1, 0) < 0 || found != constant_of(pe, 0))
            mirrors[pe].memory = NULL;
    }
}

static void prepare(void)
{
    memory = check_shmem_malloc(sizeof *memory);
    memset(memory, 0, sizeof *memory);
    for (size_t i = 0; i < WORDS; i++)
        memory->constant[i] = constant_of(shmem_my_pe(), i);
    shmem_barrier_all();
    find_mirrors();
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    int provided;
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) && provided == SHMEM_THREAD_MULTIPLE);
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    prepare();
    ctx = SHMEM_CTX_DEFAULT;
    work_together();
    CHECK(!shmem_ctx_create(0, &ctx));
    work_together();
    shmem_ctx_destroy(ctx);
    shmem_free(memory);
    return check_end();
}
