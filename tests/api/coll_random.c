/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of all kinds in a random order, the same on all PEs, over several teams, with nothing in between: each
 * result is compared with a model. Once with the algorithms that the library chooses, then with each one forced.
 */
#include "check.h"

#include <stdbool.h>

enum { ARENA = 6 << 20, SOURCE = 300 << 10, STATIC = 64 << 10, N_TEAMS = 5 };

static const char *const settings[] = {
    "",
    "sync=tree,broadcast=push,fcollect=push,collect=push,alltoall=push,reduce=tree,scan=segment,"
    "leaders_broadcast=scatter,leaders_fcollect=direct,leaders_reduce=segment,leaders_alltoall=pairwise",
    "sync=flat,broadcast=pull,reduce=segment,leaders_broadcast=tree,leaders_fcollect=dissemination",
    "broadcast=eager,fcollect=eager,collect=eager,alltoall=eager,reduce=flat,scan=flat,leaders_reduce=doubling",
    "broadcast=parts,fcollect=kernel,reduce=kernel,scan=kernel",
    "leaders_broadcast=halving,leaders_fcollect=dissemination,leaders_reduce=halving,leaders_alltoall=bruck,"
    "leaders_lengths=dissemination",
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

/* Around the sizes where the algorithm changes, in bytes; elements have 8. */
static const size_t sizes[] = {0,    8,    16,   48,   56,   64,    120,   1000,  1024,  1032,
                               2048, 2056, 4096, 4104, 9000, 16384, 16392, 65536, 70000, 131072};
enum { N_SIZES = sizeof sizes / sizeof sizes[0], LARGE_FROM = 14 };

static uint64_t static_source[STATIC / 8], static_dest[STATIC / 8];
static unsigned long random_state;

/* The same sequence on all PEs. */
static unsigned pick(unsigned n)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(random_state >> 33) % n;
}

struct arena {
    char *memory;
    size_t used;
    uint64_t *source;
    shmem_team_t team[N_TEAMS];
    int n_teams;
};

/* One operation: its members and its memory. */
struct operation {
    unsigned number;
    shmem_team_t team;
    int n, me;
    size_t nelems;
    uint64_t *dest, *source;
    bool is_static;
};

static uint64_t value(const struct operation *op, int pe, size_t i)
{
    return (uint64_t)op->number * 1000003u + (uint64_t)pe * 7919u + i * 31u;
}

static void fill(const struct operation *op, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++)
        op->source[i] = value(op, op->me, i);
}

/* A dest that is not used any more: all PEs, also those outside the team, use the same bytes. */
static uint64_t *take(struct arena *arena, size_t nbytes)
{
    if (arena->used + nbytes + CHECK_GUARD > ARENA) {
        shmem_barrier_all();
        arena->used = 0;
    }
    char *memory = arena->memory + arena->used;
    arena->used += (nbytes + CHECK_GUARD + 63) / 64 * 64;
    return (uint64_t *)memory;
}

#define EXPECT(_op, _name, _i, _found, _expected)                                                                      \
    CHECK_THAT((_found) == (_expected),                                                                                \
               "%s number %u, team of %d, %zu elements%s: element %zu is %llu, expected %llu", _name, (_op)->number,   \
               (_op)->n, (_op)->nelems, (_op)->is_static ? ", static" : "", (size_t)(_i),                              \
               (unsigned long long)(_found), (unsigned long long)(_expected))

static void do_broadcast(const struct operation *op)
{
    int root = (int)(op->number % (unsigned)op->n);
    fill(op, op->nelems);
    CHECK(shmem_uint64_broadcast(op->team, op->dest, op->source, op->nelems, root) == 0);
    for (size_t i = 0; i < op->nelems; i++)
        EXPECT(op, "broadcast", i, op->dest[i], value(op, root, i));
}

static void do_fcollect(const struct operation *op)
{
    fill(op, op->nelems);
    CHECK(shmem_uint64_fcollect(op->team, op->dest, op->source, op->nelems) == 0);
    for (size_t i = 0; i < op->nelems * (size_t)op->n; i++)
        EXPECT(op, "fcollect", i, op->dest[i], value(op, (int)(i / op->nelems), i % op->nelems));
}

/* Some contribute nothing. */
static size_t length_of(const struct operation *op, int pe)
{
    return ((unsigned)pe + op->number) % 3 == 0 ? 0 : op->nelems / ((unsigned)(pe + (int)op->number) % 3);
}

static void do_collect(const struct operation *op)
{
    size_t at = 0;
    fill(op, op->nelems);
    CHECK(shmem_uint64_collect(op->team, op->dest, op->source, length_of(op, op->me)) == 0);
    for (int pe = 0; pe < op->n; pe++)
        for (size_t i = 0; i < length_of(op, pe); i++, at++)
            EXPECT(op, "collect", at, op->dest[at], value(op, pe, i));
}

static void do_alltoall(const struct operation *op)
{
    fill(op, op->nelems * (size_t)op->n);
    CHECK(shmem_uint64_alltoall(op->team, op->dest, op->source, op->nelems) == 0);
    for (size_t i = 0; i < op->nelems * (size_t)op->n; i++)
        EXPECT(op, "alltoall", i, op->dest[i],
               value(op, (int)(i / op->nelems), (size_t)op->me * op->nelems + i % op->nelems));
}

static void do_reduce(const struct operation *op)
{
    bool in_place = op->number % 2;
    uint64_t *result = in_place ? op->source : op->dest;
    fill(op, op->nelems);
    CHECK(shmem_uint64_sum_reduce(op->team, result, op->source, op->nelems) == 0);
    for (size_t i = 0; i < op->nelems; i++) {
        uint64_t sum = 0;
        for (int pe = 0; pe < op->n; pe++)
            sum += value(op, pe, i);
        EXPECT(op, in_place ? "sum_reduce in place" : "sum_reduce", i, result[i], sum);
    }
}

static void do_scan(const struct operation *op)
{
    bool in_place = op->number % 2, exclusive = op->number / 2 % 2;
    uint64_t *result = in_place ? op->source : op->dest;
    fill(op, op->nelems);
    CHECK((exclusive ? shmem_uint64_sum_exscan : shmem_uint64_sum_inscan)(op->team, result, op->source, op->nelems) ==
          0);
    for (size_t i = 0; i < op->nelems; i++) {
        uint64_t sum = 0;
        for (int pe = 0; pe < op->me + !exclusive; pe++)
            sum += value(op, pe, i);
        EXPECT(op, exclusive ? "sum_exscan" : "sum_inscan", i, result[i], sum);
    }
}

static void do_sync(const struct operation *op)
{
    CHECK(shmem_team_sync(op->team) == 0);
}

static const struct {
    void (*run)(const struct operation *op);
    bool per_member;   /* dest and source hold a block for each member */
    bool may_in_place; /* others write to the source, which must not be filled again at once */
} kinds[] = {
    {do_broadcast, false, false}, {do_fcollect, true, false}, {do_collect, true, false}, {do_alltoall, true, false},
    {do_reduce, false, true},     {do_reduce, false, true},   {do_scan, false, true},    {do_sync, false, false},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void one_operation(struct arena *arena, unsigned number)
{
    unsigned kind = pick(N_KINDS), team = pick((unsigned)arena->n_teams),
             size = pick(4) ? pick(LARGE_FROM) : pick(N_SIZES);
    bool is_static = pick(4) == 0;
    size_t members = kinds[kind].per_member ? (size_t)shmem_n_pes() : 1, nbytes = sizes[size] * members;
    if (nbytes > SOURCE)
        nbytes = sizes[size % 8] * members, size %= 8;
    is_static = is_static && nbytes <= STATIC;
    struct operation op = {.number = number, .team = arena->team[team], .nelems = sizes[size] / 8};
    op.dest = take(arena, nbytes);
    op.source = kinds[kind].may_in_place ? take(arena, nbytes) : is_static ? static_source : arena->source;
    op.is_static = is_static && op.source == static_source;
    if (op.team == SHMEM_TEAM_INVALID)
        return;
    op.n = shmem_team_n_pes(op.team);
    op.me = shmem_team_my_pe(op.team);
    kinds[kind].run(&op);
}

/* From and to static data, which no PE accesses before all have passed the sync. */
static void check_static(unsigned number)
{
    struct operation op = {.number = number,
                           .team = SHMEM_TEAM_WORLD,
                           .n = shmem_n_pes(),
                           .me = shmem_my_pe(),
                           .dest = static_dest,
                           .source = static_source,
                           .is_static = true};
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        for (int size = 0; size < N_SIZES && sizes[size] <= STATIC; size++) {
            size_t members = kinds[kind].per_member ? (size_t)op.n : 1;
            op.nelems = sizes[size] / 8;
            if (op.nelems * members > STATIC / 8)
                continue;
            kinds[kind].run(&op);
            shmem_sync_all();
            op.number++;
        }
    }
}

static void make_teams(struct arena *arena)
{
    int n = shmem_n_pes(), me = shmem_my_pe();
    shmem_team_t even, odd;
    arena->team[0] = SHMEM_TEAM_WORLD;
    arena->team[1] = SHMEM_TEAM_SHARED;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &arena->team[2]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even);
    arena->team[3] = even;
    if (n > 1) {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd);
        arena->team[3] = me % 2 ? odd : even;
    }
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n > 2 ? n - 1 : n, NULL, 0, &arena->team[4]);
    arena->n_teams = N_TEAMS;
}

static void run_all(const char *setting, unsigned n_operations)
{
    struct arena arena = {0};
    setenv("SHMEM_COLLECTIVE", setting, 1);
    shmem_init();
    arena.memory = check_shmem_malloc(ARENA);
    arena.source = check_shmem_malloc(SOURCE);
    make_teams(&arena);
    for (unsigned number = 1; number <= n_operations; number++)
        one_operation(&arena, number);
    shmem_barrier_all();
    check_static(n_operations + 1);
    shmem_free(arena.source);
    shmem_free(arena.memory);
}

int main(void)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        random_state = (unsigned long)i;
        run_all(settings[i], i ? 150 : 300);
        if (i + 1 < N_SETTINGS)
            shmem_finalize();
    }
    return check_end();
}
