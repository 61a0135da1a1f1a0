/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts [9.5]: creation with every combination of options, many at a time, on teams; the calls that do nothing for
 * SHMEM_CTX_INVALID; a context's own operations are completed by its quiet, pe_quiet or destruction; several threads
 * with a private context each.
 */
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

enum { MANY = 300, BLOCK = 4096, N_THREADS = 4, PES_MAX = 32, UNCHANGED = 12345 };

static unsigned char static_blocks[PES_MAX][BLOCK];
static uint64_t static_signal, static_counter;

static void expect_team(shmem_ctx_t context, shmem_team_t expected)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK(shmem_ctx_get_team(context, &team) == 0);
    CHECK(team == expected);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Puts one word and gets it back, and counts. */
static void check_use(shmem_ctx_t context, uint64_t *words, int pe, uint64_t value)
{
    uint64_t back = 0;
    shmem_ctx_uint64_p(context, &words[0], value, pe);
    shmem_ctx_quiet(context);
    shmem_ctx_uint64_get(context, &back, &words[0], 1, pe);
    CHECK_THAT(back == value, "a word on a context: found %llu, expected %llu", (unsigned long long)back,
               (unsigned long long)value);
    shmem_ctx_uint64_atomic_inc(context, &words[1], pe);
}

static void check_options(uint64_t *words)
{
    static const long options[] = {SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE};
    memset(words, 0, (size_t)shmem_n_pes() * 2 * sizeof *words);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++) {
        shmem_ctx_t context = SHMEM_CTX_INVALID;
        long set = (i & 1 ? options[0] : 0) | (i & 2 ? options[1] : 0) | (i & 4 ? options[2] : 0);
        CHECK_THAT(shmem_ctx_create(set, &context) == 0, "shmem_ctx_create(%#lx) failed", set);
        CHECK(context != SHMEM_CTX_INVALID && context != SHMEM_CTX_DEFAULT);
        expect_team(context, SHMEM_TEAM_WORLD);
        for (int round = 0; round < shmem_n_pes(); round++)
            check_use(context, words + shmem_my_pe() * 2, check_target(round), (uint64_t)(i * 100 + round));
        shmem_ctx_destroy(context);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK_THAT(words[pe * 2 + 1] == 8, "increments on 8 contexts by PE %d: %llu", pe,
                   (unsigned long long)words[pe * 2 + 1]);
    shmem_barrier_all();
}

/* Local, not collective: PEs make different numbers of contexts, and give them back in another order. */
static void check_many(void)
{
    static shmem_ctx_t contexts[MANY];
    const int n = MANY - 10 * (shmem_my_pe() % 5);
    static_counter = 0;
    shmem_barrier_all();
    for (int i = 0; i < n; i++)
        CHECK(!shmem_ctx_create(i % 2 ? SHMEM_CTX_PRIVATE : 0, &contexts[i]));
    for (int i = 0; i < n; i++)
        for (int j = i - 1; j >= 0 && j > i - 5; j--)
            CHECK_THAT(contexts[i] != contexts[j], "two contexts have one handle");
    for (int i = 0; i < n; i++)
        shmem_ctx_uint64_atomic_add(contexts[i], &static_counter, 1, check_target(i));
    for (int i = 0; i < n; i += 2)
        shmem_ctx_destroy(contexts[i]); /* completes its operation */
    for (int i = 1; i < n; i += 2)
        shmem_ctx_quiet(contexts[i]);
    shmem_sync_all();
    /* updates of all PEs to this one */
    uint64_t expected = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        for (int i = 0; i < MANY - 10 * (pe % 5); i++)
            expected += (pe + i) % shmem_n_pes() == shmem_my_pe();
    uint64_t found = shmem_uint64_atomic_fetch(&static_counter, shmem_my_pe());
    CHECK_THAT(found == expected, "increments on %d contexts: %llu, expected %llu", n, (unsigned long long)found,
               (unsigned long long)expected);
    for (int i = n - 1; i > 0; i -= 2) /* n is even */
        shmem_ctx_destroy(contexts[i]);
    shmem_barrier_all();
}

/* ---- SHMEM_CTX_INVALID and SHMEM_TEAM_INVALID -------------------------------------------------------------------- */

static void check_invalid(void)
{
    const int me = shmem_my_pe();
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t context = SHMEM_CTX_DEFAULT;
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context) != 0 && context == SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &me, 1);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    expect_team(SHMEM_CTX_DEFAULT, SHMEM_TEAM_WORLD);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* Starts and stops in every order, on the default context and another, change no result and complete nothing more or
 * less than quiet does [9.9]. */
static void check_sessions(uint64_t *words)
{
    const shmem_ctx_session_config_t config = {.total_ops = 7};
    shmem_ctx_t contexts[2] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
    CHECK(!shmem_ctx_create(0, &contexts[1]));
    memset(words, 0, (size_t)shmem_n_pes() * 2 * sizeof *words);
    shmem_barrier_all();
    for (unsigned order = 0; order < 64; order++) {
        shmem_ctx_t context = contexts[order % 2];
        for (unsigned bit = 1; bit < 6; bit++) {
            if (order >> bit & 1)
                shmem_ctx_session_start(context, bit % 2 ? SHMEM_CTX_SESSION_BATCH : 0, bit % 3 ? &config : NULL,
                                        bit % 3 ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
            else
                shmem_ctx_session_stop(context);
            check_use(context, words + shmem_my_pe() * 2, check_target((int)bit), order * 8 + bit);
        }
    }
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(contexts[1]); /* with its session open */
    shmem_barrier_all();
    uint64_t expected = 0, found = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        found += words[pe * 2 + 1];
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        for (int bit = 1; bit < 6; bit++)
            expected += (pe + bit) % shmem_n_pes() == shmem_my_pe() ? 64 : 0;
    CHECK_THAT(found == expected, "increments in sessions: %llu, expected %llu", (unsigned long long)found,
               (unsigned long long)expected);
    shmem_barrier_all();
}

/* ---- contexts on teams ------------------------------------------------------------------------------------------- */

/* PE numbers are those of the team: each member writes its number to the next. */
static void check_ring(shmem_team_t team, long options)
{
    shmem_ctx_t context = SHMEM_CTX_INVALID;
    const int me = shmem_team_my_pe(team), n = shmem_team_n_pes(team), next = (me + 1) % n;
    CHECK(!shmem_team_create_ctx(team, options, &context));
    expect_team(context, team);
    static_signal = 0;
    memset(static_blocks[0], 0, BLOCK);
    CHECK(!shmem_team_sync(team));
    unsigned char block[BLOCK];
    check_fill(block, BLOCK, (unsigned)me);
    shmem_ctx_putmem_signal_nbi(context, static_blocks[0], block, BLOCK, &static_signal, (uint64_t)me + 7,
                                SHMEM_SIGNAL_SET, next);
    int previous = (me - 1 + n) % n;
    uint64_t found = shmem_signal_wait_until(&static_signal, SHMEM_CMP_NE, 0);
    CHECK_THAT(found == (uint64_t)previous + 7, "the signal of the team's PE %d is %llu", previous,
               (unsigned long long)found);
    check_bytes("put with signal on a team's context", static_blocks[0], BLOCK, (unsigned)previous);
    shmem_ctx_pe_quiet(context, &next, 1);
    shmem_ctx_destroy(context);
    CHECK(!shmem_team_sync(team));
}

static void check_teams(void)
{
    shmem_team_t odd_even = SHMEM_TEAM_INVALID, backwards;
    const int n = shmem_n_pes(), first = shmem_my_pe() % 2;
    const shmem_team_config_t config = {.num_contexts = 3};
    check_ring(SHMEM_TEAM_WORLD, 0);
    check_ring(SHMEM_TEAM_SHARED, SHMEM_CTX_SERIALIZED);
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &backwards));
    check_ring(backwards, SHMEM_CTX_PRIVATE);
    for (int parity = 0; parity < 2 && parity < n; parity++) {
        shmem_team_t team;
        CHECK(!shmem_team_split_strided(backwards, (n - 1 - parity) % 2, 2, 1 + (n - 1 - parity) / 2, NULL, 0, &team));
        if (parity == first)
            odd_even = team;
        else
            CHECK(team == SHMEM_TEAM_INVALID);
    }
    check_ring(odd_even, SHMEM_CTX_NOSTORE);
    /* a context that still exists is destroyed with its team */
    shmem_ctx_t left;
    CHECK(!shmem_team_create_ctx(odd_even, 0, &left));
    shmem_ctx_uint64_p(left, &static_signal, 99, shmem_team_my_pe(odd_even));
    shmem_team_destroy(odd_even);
    CHECK(static_signal == 99);
    shmem_team_destroy(backwards);
    shmem_barrier_all();
}

/* ---- completion -------------------------------------------------------------------------------------------------- */

enum completion { BY_QUIET, BY_PE_QUIET, BY_DESTROY, N_COMPLETIONS };
static const char *const completions[] = {"shmem_ctx_quiet", "shmem_ctx_pe_quiet", "shmem_ctx_destroy"};

static void complete(shmem_ctx_t context, enum completion how)
{
    int all[PES_MAX];
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        all[pe] = pe;
    if (how == BY_QUIET)
        shmem_ctx_quiet(context);
    else if (how == BY_PE_QUIET)
        shmem_ctx_pe_quiet(context, all, (size_t)shmem_n_pes());
    else
        shmem_ctx_destroy(context);
}

/* Nonblocking operations of every kind on one context, while another has incomplete ones. shmem_sync_all completes
 * nothing, so only the context's own completion ensures that the data have arrived after it. */
static void check_completion(unsigned char (*blocks)[BLOCK], enum completion how)
{
    static unsigned char source[PES_MAX][BLOCK], other[PES_MAX][BLOCK], constant[BLOCK];
    static uint64_t old[PES_MAX];
    unsigned char got[BLOCK];
    shmem_ctx_t context, bystander;
    const int me = shmem_my_pe(), n = shmem_n_pes();
    memset(blocks[0], 0, (size_t)n * BLOCK);
    static_counter = 5;
    CHECK(!shmem_ctx_create(0, &context) && !shmem_ctx_create(0, &bystander));
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) {
        check_fill(source[pe], BLOCK, (unsigned)(me * n + pe));
        shmem_ctx_getmem_nbi(bystander, other[pe], constant, BLOCK, pe);
        shmem_ctx_putmem_nbi(context, blocks[me], source[pe], BLOCK, pe);
        shmem_ctx_uint64_atomic_fetch_add_nbi(context, &old[pe], &static_counter, 1, pe);
    }
    complete(context, how);
    memset(source, 0, sizeof source); /* may be used again */
    shmem_sync_all();
    for (int pe = 0; pe < n; pe++) {
        check_bytes(completions[how], blocks[pe], BLOCK, (unsigned)(pe * n + me));
        CHECK_THAT(old[pe] >= 5 && old[pe] < 5 + (uint64_t)n, "%s: an atomic operation fetched %llu", completions[how],
                   (unsigned long long)old[pe]);
    }
    CHECK(shmem_uint64_atomic_fetch(&static_counter, me) == 5 + (uint64_t)n);
    if (how != BY_DESTROY) {
        shmem_ctx_getmem_nbi(context, got, blocks[me], BLOCK, (me + 1) % n);
        complete(context, how);
        check_bytes(completions[how], got, BLOCK, (unsigned)(me * n + (me + 1) % n));
        shmem_ctx_destroy(context);
    }
    shmem_ctx_destroy(bystander);
    shmem_barrier_all();
}

/* Fence orders the puts of one context, to one PE: the flag says that the data are there. */
static void check_fence(unsigned char (*blocks)[BLOCK])
{
    unsigned char block[BLOCK];
    const int me = shmem_my_pe(), target = check_target(1), origin = check_origin(1);
    shmem_ctx_t context;
    CHECK(!shmem_ctx_create(0, &context));
    static_signal = 0;
    shmem_barrier_all();
    for (uint64_t i = 1; i <= 20; i++) {
        check_fill(block, BLOCK, (unsigned)i + (unsigned)me);
        shmem_ctx_putmem_nbi(context, blocks[me], block, BLOCK, target);
        shmem_ctx_fence(context);
        shmem_ctx_uint64_atomic_set(context, &static_signal, i, target);
        CHECK(shmem_signal_wait_until(&static_signal, SHMEM_CMP_GE, i) == i);
        check_bytes("put before shmem_ctx_fence", blocks[origin], BLOCK, (unsigned)i + (unsigned)origin);
        shmem_ctx_quiet(context);
        shmem_sync_all();
    }
    shmem_ctx_destroy(context);
    shmem_barrier_all();
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int number;
    uint64_t *words;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    shmem_ctx_t context;
    CHECK(!shmem_ctx_create(SHMEM_CTX_PRIVATE, &context));
    for (uint64_t i = 1; i <= 200; i++) {
        const int pe = (int)(i % (uint64_t)shmem_n_pes());
        uint64_t *word = &worker->words[shmem_my_pe() * N_THREADS + worker->number], back = 0;
        shmem_ctx_uint64_put_nbi(context, word, &i, 1, pe);
        shmem_ctx_quiet(context);
        shmem_ctx_uint64_get_nbi(context, &back, word, 1, pe);
        shmem_ctx_quiet(context);
        CHECK_THAT(back == i, "thread %d: found %llu, expected %llu", worker->number, (unsigned long long)back,
                   (unsigned long long)i);
        shmem_ctx_uint64_atomic_inc(context, &static_counter, pe);
    }
    shmem_ctx_destroy(context);
    return NULL;
}

static void check_threads(uint64_t *words)
{
    struct worker workers[N_THREADS];
    uint64_t expected = 0;
    static_counter = 0;
    shmem_barrier_all();
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.number = i, .words = words};
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_join(workers[i].thread, NULL));
    shmem_barrier_all();
    for (uint64_t i = 1; i <= 200; i++)
        expected += i % (uint64_t)shmem_n_pes() == (uint64_t)shmem_my_pe();
    expected *= (uint64_t)shmem_n_pes() * N_THREADS;
    uint64_t found = shmem_uint64_atomic_fetch(&static_counter, shmem_my_pe());
    CHECK_THAT(found == expected, "increments by threads: %llu, expected %llu", (unsigned long long)found,
               (unsigned long long)expected);
    shmem_barrier_all();
}

struct left {
    shmem_team_t team;
    long options;
    uint64_t *words;
};

/* A context that its thread leaves behind, with puts on it that nobody has completed. */
static void *leave(void *argument)
{
    const struct left *left = argument;
    shmem_ctx_t ctx;
    CHECK(!shmem_team_create_ctx(left->team, left->options, &ctx));
    for (uint64_t i = 0; i < N_THREADS; i++)
        shmem_ctx_uint64_p(ctx, &left->words[i], i + 1, check_target(1));
    return NULL;
}

/* A barrier delivers what was put on any context, whoever made it, without a quiet of that. */
static void check_barrier(uint64_t *words)
{
    static uint64_t static_words[N_THREADS];
    static uint16_t short_words[N_THREADS];
    struct left left = {SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, words};
    for (uint16_t round = 1; round <= 30; round++) {
        shmem_ctx_t ctx;
        pthread_t thread;
        memset(words, 0, N_THREADS * sizeof *words);
        CHECK(!shmem_ctx_create(0, &ctx));
        shmem_barrier_all();
        CHECK(!pthread_create(&thread, NULL, leave, &left));
        for (int i = 0; i < N_THREADS; i++) {
            shmem_ctx_uint64_p(ctx, &static_words[i], round, check_target(1));
            shmem_ctx_uint16_p(ctx, &short_words[i], round, check_target(1));
        }
        CHECK(!pthread_join(thread, NULL));
        shmem_barrier_all();
        for (uint64_t i = 0; i < N_THREADS; i++)
            CHECK_THAT(words[i] == i + 1 && static_words[i] == round && short_words[i] == round,
                       "after a barrier: words %llu, %llu and %u of round %u", (unsigned long long)words[i],
                       (unsigned long long)static_words[i], short_words[i], round);
        shmem_barrier_all();
        shmem_ctx_destroy(ctx);
    }
}

/* Contexts end with their team, whoever made them: the first ones here, the others in shmem_finalize. */
static void check_left(uint64_t *words)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct left left = {SHMEM_TEAM_WORLD, options[i], words};
        pthread_t thread;
        memset(words, 0, N_THREADS * sizeof *words);
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &left.team));
        shmem_barrier_all();
        CHECK(!pthread_create(&thread, NULL, leave, &left));
        CHECK(!pthread_join(thread, NULL));
        shmem_team_destroy(left.team);
        shmem_barrier_all();
        for (uint64_t k = 0; k < N_THREADS; k++)
            CHECK_THAT(words[k] == k + 1, "a put on a context that ended with its team: %llu, not %llu",
                       (unsigned long long)words[k], (unsigned long long)k + 1);
        left.team = SHMEM_TEAM_WORLD;
        CHECK(!pthread_create(&thread, NULL, leave, &left));
        CHECK(!pthread_join(thread, NULL));
        shmem_barrier_all();
    }
}

int main(void)
{
    int provided = -1;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
    CHECK(provided == SHMEM_THREAD_MULTIPLE && shmem_n_pes() <= PES_MAX);
    uint64_t *words = check_shmem_malloc((size_t)shmem_n_pes() * N_THREADS * sizeof *words);
    unsigned char(*heap_blocks)[BLOCK] = check_shmem_malloc((size_t)shmem_n_pes() * BLOCK);
    check_options(words);
    check_many();
    check_invalid();
    check_sessions(words);
    check_teams();
    for (int how = 0; how < N_COMPLETIONS; how++) {
        check_completion(heap_blocks, (enum completion)how);
        check_completion(static_blocks, (enum completion)how);
    }
    check_fence(heap_blocks);
    check_fence(static_blocks);
    check_threads(words);
    check_barrier(words);
    check_left(words);
    return check_end();
}
