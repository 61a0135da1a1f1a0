/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is measured is what runs: the library does the same work for a program with SHMEM_STATS, SHMEM_TRACE and
 * SHMEM_CHECK as without. Every kind of transfer between every two memories, in bursts and alone, gives the same route and
 * as many copies, lists, network operations and requests. What is held back may leave early, when the service thread comes
 * round; so each is repeated, and the least of each counter counts. Where even the quickest repeat of a burst came slower
 * than puts that are held back (a trace under an emulator), a difference is none: the rest is compared, and the test skipped.
 */
#include "check.h"
#include "memories.h"

#include "base/clock.h"
#include "base/tuning.h"
#include "shmem/internal.h"

#include <unistd.h>

enum { TIMES = 25, MORE = 20, MANY = 100, APART = 64 };

enum counter { COPIES, NETWORK, REQUESTS, LISTS, MESSAGES, ROUTE, COUNTERS };
static const char *const names[] = {"copies", "network operations", "requests", "lists", "messages", "route"};

struct work {
    uint64_t of[COUNTERS];
    uint64_t gap; /* of a burst: ns from one transfer to the next */
};

static struct work now(const void *remote, int pe)
{
    const struct shmemi_context *context = &shmemi_default_ctx.transport;
    const struct shmemi_view *view = shmemi_region_view(shmemi_region_of(remote), pe);
    return (struct work){.of = {[COPIES] = shmemi_count_issued(&context->pending.of[SHMEMI_PENDING_DIRECT]),
                                [NETWORK] = shmemi_count_issued(&context->pending.of[SHMEMI_PENDING_UCX]),
                                [REQUESTS] = shmemi_count_issued(&context->pending.of[SHMEMI_PENDING_STAGED]),
                                [LISTS] = context->lists.started,
                                [MESSAGES] = atomic_load(&context->network.issued),
                                [ROUTE] = (uint64_t)(uintptr_t)view->driver->name}};
}

/* ---- the transfers: one, or several, with number i ---------------------------------------------------------------- */

static uint64_t signal_word;

static void put(char *remote, char *local, int i, int pe)
{
    shmem_putmem(remote + i * APART, local + i * APART, 8, pe);
}

static void put_nbi(char *remote, char *local, int i, int pe)
{
    shmem_putmem_nbi(remote + i * APART, local + i * 8, 8, pe);
}

static void get_nbi(char *remote, char *local, int i, int pe)
{
    shmem_getmem_nbi(local + i * 8, remote + i * APART, 8, pe);
}

static void get(char *remote, char *local, int i, int pe)
{
    shmem_getmem(local, remote + i * APART, APART, pe);
}

static void p(char *remote, char *local, int i, int pe)
{
    (void)local;
    shmem_long_p((long *)(void *)(remote + (size_t)i * sizeof(long)), i, pe);
}

static void iput(char *remote, char *local, int i, int pe)
{
    shmem_iput64(remote + i * APART, local, 3, 1, 2, pe);
}

static void put_signal(char *remote, char *local, int i, int pe)
{
    shmem_putmem_signal(remote + i * APART, local, APART, &signal_word, (uint64_t)i, SHMEM_SIGNAL_ADD, pe);
}

static void put_signal_nbi(char *remote, char *local, int i, int pe)
{
    shmem_putmem_signal_nbi(remote + i * APART, local, 2000, &signal_word, (uint64_t)i, SHMEM_SIGNAL_ADD, pe);
}

static void add(char *remote, char *local, int i, int pe)
{
    (void)local;
    shmem_long_atomic_add((long *)(void *)(remote + i * APART), 1, pe);
}

static const struct {
    const char *name;
    void (*run)(char *remote, char *local, int i, int pe);
    bool has_local;
} kinds[] = {{"put", put, true},
             {"put_nbi", put_nbi, true},
             {"get_nbi", get_nbi, true},
             {"get", get, true},
             {"p", p, false},
             {"iput", iput, true},
             {"put_signal", put_signal, true},
             {"put_signal_nbi", put_signal_nbi, true},
             {"atomic_add", add, false}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- counting ----------------------------------------------------------------------------------------------------- */

static struct work count_once(int kind, char *remote, char *local, int n, int pe)
{
    const struct work before = now(remote, pe);
    const uint64_t begin = shmemi_clock();
    for (int i = 0; i < n; i++)
        kinds[kind].run(remote, local, i, pe);
    const uint64_t gap = (shmemi_clock() - begin) / (unsigned)n;
    shmem_quiet();
    struct work work = now(remote, pe);
    work.gap = n > 1 ? gap : 0;
    for (int k = 0; k < ROUTE; k++)
        work.of[k] -= before.of[k];
    return work;
}

/* Returns whether a counter has become less. */
static bool keep_least(struct work *least, const struct work *work)
{
    bool is_less = false;
    for (int k = 0; k < ROUTE; k++) {
        is_less |= work->of[k] < least->of[k];
        least->of[k] = work->of[k] < least->of[k] ? work->of[k] : least->of[k];
    }
    least->gap = work->gap < least->gap ? work->gap : least->gap;
    return is_less;
}

/* Until so many repeats in a row have brought no counter down. */
static struct work count(int kind, char *remote, char *local, int n, int pe)
{
    struct work least = count_once(kind, remote, local, n, pe);
    for (int unchanged = 0; unchanged < TIMES; unchanged++) {
        const struct work work = count_once(kind, remote, local, n, pe);
        if (keep_least(&least, &work))
            unchanged = 0;
    }
    return least;
}

static bool is_more(const struct work *work, const struct work *expected)
{
    for (int k = 0; k < ROUTE; k++)
        if (work->of[k] > expected->of[k])
            return true;
    return false;
}

static struct work plain[KINDS][MEMORIES_MOST][MEMORIES_MOST][2];

static long left_out; /* bursts, of PE 0 */

static void compare(const char *how, const char *what, const struct work *found, const struct work *expected)
{
    if (found->gap > SHMEMI_BATCH_GAP_NS / 2 && memcmp(found->of, expected->of, sizeof found->of) != 0) {
        left_out++;
        return;
    }
    for (int k = 0; k < COUNTERS; k++)
        CHECK_THAT(found->of[k] == expected->of[k], "%s, %s: %llu %s, without it %llu", how, what,
                   (unsigned long long)found->of[k], names[k], (unsigned long long)expected->of[k]);
}

/* Only one PE issues, so that the others do not keep it from its core. */
static void try_memories(const char *how, const struct memory *remote, const struct memory *local, int r, int l)
{
    const int pe = shmem_n_pes() - 1, burst[] = {1, MANY};
    for (int kind = 0; kind < KINDS && shmem_my_pe() == 0; kind++)
        for (int k = 0; k < 2 && (kinds[kind].has_local || !l); k++) {
            struct work work = count(kind, remote->address, local->address, burst[k], pe);
            /* More work that is the library's stays; what a busy machine makes does not come each time. */
            for (int more = 0; *how && more < MORE && is_more(&work, &plain[kind][r][l][k]); more++) {
                const struct work again = count(kind, remote->address, local->address, burst[k], pe);
                keep_least(&work, &again);
            }
            char what[128];
            snprintf(what, sizeof what, "%d %s, %s to %s", burst[k], kinds[kind].name, local->name, remote->name);
            if (!*how)
                plain[kind][r][l][k] = work;
            else
                compare(how, what, &work, &plain[kind][r][l][k]);
        }
    shmem_barrier_all();
}

static void run(const char *how, const char *value)
{
    struct memories remotes, locals;
    if (*how)
        setenv(how, value, 1);
    shmem_init();
    memories_open(&remotes, &locals);
    for (int r = 0; r < remotes.n; r++)
        for (int l = 0; l < locals.n; l++)
            try_memories(how, &remotes.memory[r], &locals.memory[l], r, l);
    memories_close(&remotes, &locals);
    if (*how)
        unsetenv(how);
}

int main(void)
{
    char trace[64];
    const char *folder = getenv("TMPDIR");
    snprintf(trace, sizeof trace, "%.30s/same_work-%d-%%p.json", folder ? folder : "/tmp", (int)getpid());
    run("", "");
    shmem_finalize();
    run("SHMEM_STATS", "1");
    shmem_finalize();
    run("SHMEM_TRACE", trace);
    snprintf(trace, sizeof trace, "%.30s/same_work-%d-%d.json", folder ? folder : "/tmp", (int)getpid(), shmem_my_pe());
    shmem_finalize();
    unlink(trace);
    run("SHMEM_CHECK", "1");
    const long n_left_out = shmem_long_g(&left_out, 0);
    check_end();
    if (n_left_out)
        printf("skipped: %ld bursts came too slowly to be held back: more than %d ns from one transfer to the next\n",
               n_left_out, SHMEMI_BATCH_GAP_NS / 2);
    return n_left_out ? CHECK_SKIP : 0;
}
