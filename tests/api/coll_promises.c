/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What collectives promise about dest while they run, with each algorithm forced: nothing is stored beside dest, into the
 * gaps of alltoalls, or into a source; and of up to WHOLE bytes a thread that watches dest sees each word whole, and
 * only those of this call and of the ones before. An argument names the only kind that is to be tried.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum {
    WHOLE = 192,
    ROUNDS = 40,
    MOST = 6000, /* elements in an arena */
    GUARD = 64,  /* in elements, on either side */
    STEP = 1000, /* between the values of rounds */
    GAP = -7,
};

/* Elements of the arrays of a call, as it sees them. */
union array {
    int64_t *longs;
    int32_t *ints;
    char *bytes;
};

struct call {
    const struct kind *kind;
    size_t size;        /* of an element */
    size_t nelems;      /* that each PE contributes, or sends to each */
    ptrdiff_t dst, sst; /* of alltoalls; else 1 */
    int me, n;
    int64_t round;
    char *dest_arena, *source_arena;
    union array dest, source;
};

struct kind {
    const char *name;
    void (*run)(const struct call *call);
    int64_t (*tail)(const struct call *call, size_t i); /* what is behind the round in result i */
    size_t (*n_results)(const struct call *call);
    bool sends_all, is_summed, has_strides, has_ints;
};

/* ---- values: a multiple of STEP that grows with the round, and the tail that says where it belongs ---------------- */

static int64_t of_source(const struct call *call, int pe, size_t i)
{
    return call->round * STEP + (call->kind->is_summed ? 0 : 24 * pe) + (int64_t)i % 24 + 1;
}

static size_t n_sent(const struct call *call)
{
    return call->nelems * (size_t)(call->kind->sends_all ? call->n : 1);
}

static size_t one_block(const struct call *call)
{
    return call->nelems;
}

static size_t all_blocks(const struct call *call)
{
    return call->nelems * (size_t)call->n;
}

static int root_of(const struct call *call)
{
    return (int)call->round % call->n;
}

/* The root differs from round to round, so the tail does not say it. */
static int64_t tail_of_broadcast(const struct call *call, size_t i)
{
    (void)call;
    return (int64_t)i % 24 + 1;
}

static int64_t tail_of_collect(const struct call *call, size_t i)
{
    return 24 * (int64_t)(i / call->nelems) + (int64_t)(i % call->nelems) % 24 + 1;
}

static int64_t tail_of_alltoall(const struct call *call, size_t i)
{
    const size_t at = (size_t)call->me * call->nelems + i % call->nelems;
    return 24 * (int64_t)(i / call->nelems) + (int64_t)at % 24 + 1;
}

static int64_t tail_of_sum(const struct call *call, size_t i)
{
    return call->n * ((int64_t)i % 24 + 1);
}

static int64_t tail_of_inscan(const struct call *call, size_t i)
{
    return (call->me + 1) * ((int64_t)i % 24 + 1);
}

static int64_t tail_of_exscan(const struct call *call, size_t i)
{
    return call->me * ((int64_t)i % 24 + 1);
}

/* ---- the collectives --------------------------------------------------------------------------------------------- */

#define RUN(NAME, ...)                                                                                                 \
    static void run_##NAME(const struct call *call)                                                                    \
    {                                                                                                                  \
        const union array dest = call->dest, source = call->source;                                                    \
        CHECK((call->size == 8 ? shmem_int64_##__VA_ARGS__) == 0);                                                     \
    }
#define BOTH(NAME, ROUTINE, ...)                                                                                       \
    RUN(NAME, ROUTINE(SHMEM_TEAM_WORLD, dest.longs, source.longs, __VA_ARGS__)                                         \
        : shmem_int32_##ROUTINE(SHMEM_TEAM_WORLD, dest.ints, source.ints, __VA_ARGS__))
BOTH(broadcast, broadcast, call->nelems, root_of(call))
BOTH(fcollect, fcollect, call->nelems)
BOTH(collect, collect, call->nelems)
BOTH(alltoall, alltoall, call->nelems)
BOTH(alltoalls, alltoalls, call->dst, call->sst, call->nelems)
BOTH(sum, sum_reduce, call->nelems)
BOTH(inscan, sum_inscan, call->nelems)
BOTH(exscan, sum_exscan, call->nelems)

static const struct kind kinds[] = {
    {"broadcast", run_broadcast, tail_of_broadcast, one_block, .is_summed = true, .has_ints = true},
    {"fcollect", run_fcollect, tail_of_collect, all_blocks, .sends_all = false},
    {"collect", run_collect, tail_of_collect, all_blocks, .sends_all = false},
    {"alltoall", run_alltoall, tail_of_alltoall, all_blocks, .sends_all = true},
    {"alltoalls", run_alltoalls, tail_of_alltoall, all_blocks, .sends_all = true, .has_strides = true},
    {"sum", run_sum, tail_of_sum, one_block, .is_summed = true, .has_ints = true},
    {"inscan", run_inscan, tail_of_inscan, one_block, .is_summed = true, .has_ints = true},
    {"exscan", run_exscan, tail_of_exscan, one_block, .is_summed = true, .has_ints = true},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- watching: naps in between, since other PEs may need the core ------------------------------------------------- */

static struct watch {
    const struct call *call;
    atomic_bool stops;
    int64_t strange;
    size_t at;
    bool is_strange;
} watch;

static bool is_of_a_round(const struct call *call, int64_t value, size_t i)
{
    return value == GAP || value % STEP == call->kind->tail(call, i);
}

/* Words of 8 bytes: an element, or two of 4 bytes that have come together. */
static bool is_right(const struct call *call, const int64_t *word, size_t i)
{
    const int64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (call->size == 8)
        return is_of_a_round(call, value, i);
    const int32_t first = (int32_t)value, second = (int32_t)(value >> 32);
    return is_of_a_round(call, first, i) && is_of_a_round(call, second, i + 1) &&
           (first == GAP ? second == GAP : first / STEP == second / STEP);
}

static void look(const struct call *call)
{
    const size_t per_word = 8 / call->size, first = (uintptr_t)call->dest.bytes % 8 / call->size;
    for (size_t i = first; i + per_word <= call->kind->n_results(call); i += per_word) {
        const char *word = call->dest.bytes + i * (size_t)call->dst * call->size;
        if (is_right(call, (const int64_t *)(const void *)word, i))
            continue;
        watch.is_strange = true;
        watch.strange = *(const int64_t *)(const void *)word;
        watch.at = i;
    }
}

__attribute__((no_sanitize("thread"))) static void *watch_dest(void *nothing)
{
    enum { LOOKS = 200 };
    const struct timespec nap = {0, 20000};
    while (!atomic_load(&watch.stops) && !watch.is_strange) {
        for (int i = 0; i < LOOKS; i++)
            look(watch.call);
        nanosleep(&nap, NULL);
    }
    return nothing;
}

/* ---- a call, again and again ------------------------------------------------------------------------------------- */

static void set(union array array, size_t size, size_t i, int64_t value)
{
    if (size == 8)
        array.longs[i] = value;
    else
        array.ints[i] = (int32_t)value;
}

static int64_t get(union array array, size_t size, size_t i)
{
    return size == 8 ? array.longs[i] : array.ints[i];
}

/* Elements of 4 bytes begin at an odd one, so that parts of dest do not begin where words do. */
static void place(struct call *call)
{
    call->dest.bytes = call->dest_arena + (size_t)(GUARD + 1) * call->size;
    call->source.bytes = call->source_arena + (size_t)(GUARD + 1) * call->size;
    for (size_t i = 0; i < MOST; i++) {
        set((union array){.bytes = call->dest_arena}, call->size, i, GAP);
        set((union array){.bytes = call->source_arena}, call->size, i, GAP);
    }
}

/* Every element of an arena: those of the array are `stride` apart, and all others are gaps. */
static void check_arena(const struct call *call, bool is_dest)
{
    const union array arena = {.bytes = is_dest ? call->dest_arena : call->source_arena};
    const size_t n = is_dest ? call->kind->n_results(call) : n_sent(call);
    const size_t stride = (size_t)(is_dest ? call->dst : call->sst);
    const int64_t rounds = call->round * STEP *
                           (call->kind->run == run_sum      ? call->n
                            : call->kind->run == run_inscan ? call->me + 1
                            : call->kind->run == run_exscan ? call->me
                                                            : 1);
    for (size_t i = 0; i < MOST; i++) {
        const size_t at = (i - GUARD - 1) / stride;
        int64_t expected = GAP;
        if (i > GUARD && at < n && (i - GUARD - 1) % stride == 0)
            expected = is_dest ? rounds + call->kind->tail(call, at) : of_source(call, call->me, at);
        const int64_t found = get(arena, call->size, i);
        CHECK_THAT(found == expected,
                   "%s, %s of %zu x %zu bytes, strides %td and %td: %s element %zd is %lld, not %lld",
                   getenv("SHMEM_COLLECTIVE"), call->kind->name, call->nelems, call->size, call->dst, call->sst,
                   is_dest ? "dest" : "source", (ptrdiff_t)i - GUARD - 1, (long long)found, (long long)expected);
    }
}

static void run_rounds(struct call *call, int rounds)
{
    for (call->round = 1; call->round <= rounds; call->round++) {
        for (size_t i = 0; i < n_sent(call); i++)
            set(call->source, call->size, i * (size_t)call->sst, of_source(call, call->me, i));
        call->kind->run(call);
        shmem_sync_all();
    }
    call->round--;
}

static void try_call(struct call *call)
{
    const bool is_watched = call->kind->n_results(call) * call->size <= WHOLE;
    pthread_t thread;
    place(call);
    shmem_barrier_all();
    watch = (struct watch){.call = call};
    if (is_watched)
        CHECK(!pthread_create(&thread, NULL, watch_dest, NULL));
    run_rounds(call, is_watched ? ROUNDS : 2);
    atomic_store(&watch.stops, true);
    if (is_watched)
        pthread_join(thread, NULL);
    CHECK_THAT(!watch.is_strange, "%s, %s of %zu x %zu bytes, stride %td: word %zu was %lld (%#llx) for a while",
               getenv("SHMEM_COLLECTIVE"), call->kind->name, call->nelems, call->size, call->dst, watch.at,
               (long long)watch.strange, (unsigned long long)watch.strange);
    check_arena(call, true);
    check_arena(call, false);
    shmem_barrier_all();
}

static void try_sizes(struct call call)
{
    static const size_t nelems[] = {1, 2, 7, 24, 150};
    for (size_t i = 0; i < sizeof nelems / sizeof nelems[0]; i++) {
        call.nelems = nelems[i];
        for (call.dst = 1; call.dst <= (call.kind->has_strides ? 3 : 1); call.dst++) {
            call.sst = 1 + (call.kind->has_strides && call.dst > 1);
            if (call.kind->n_results(&call) * 3 + 2 * GUARD < MOST)
                try_call(&call);
        }
    }
}

static void try_all(char *dest_arena, char *source_arena, const char *only)
{
    for (size_t kind = 0; kind < N_KINDS; kind++)
        for (size_t size = only && strcmp(only, kinds[kind].name) ? 0 : 8; size >= (kinds[kind].has_ints ? 4 : 8);
             size /= 2)
            try_sizes((struct call){.kind = &kinds[kind],
                                    .size = size,
                                    .me = shmem_my_pe(),
                                    .n = shmem_n_pes(),
                                    .dest_arena = dest_arena,
                                    .source_arena = source_arena});
}

/* ---- the algorithms ---------------------------------------------------------------------------------------------- */

static const struct row {
    const char *collective, *algorithm;
} rows[] = {
#define COLLECTIVE(collective)
#define ALGORITHM(collective, algorithm, ...) {#collective, #algorithm},
#define AGAIN(...)
#include "shmem/coll/choice.def"
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* Of each collective the algorithm with this number, or the last. Returns whether any has so many. */
static bool force(int number)
{
    char text[1024];
    size_t length = 0;
    bool any = false;
    for (int first = 0, end; first < N_ROWS; first = end) {
        for (end = first + 1; end < N_ROWS && !strcmp(rows[end].collective, rows[first].collective);)
            end++;
        any = any || number < end - first;
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s", first ? "," : "", rows[first].collective,
                             rows[number < end - first ? first + number : end - 1].algorithm);
        CHECK(length < sizeof text);
    }
    setenv("SHMEM_COLLECTIVE", text, 1);
    return any;
}

static int64_t static_dest[MOST], static_source[MOST];

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    int provided;
    for (int number = 0; force(number); number++) {
        CHECK(!shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided));
        char *dest = check_shmem_malloc(MOST * 8), *source = check_shmem_malloc(MOST * 8);
        try_all(dest, source, only);
        try_all((char *)static_dest, (char *)static_source, only);
        shmem_free(source);
        shmem_free(dest);
        shmem_finalize();
    }
    unsetenv("SHMEM_COLLECTIVE");
    shmem_init();
    return check_end();
}
