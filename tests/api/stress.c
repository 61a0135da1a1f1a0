/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random operations of every family against a model. All PEs draw the same numbers, so that each knows what every PE
 * does and can compute all memories; after each phase it compares its own memory with the model, and by a get a random
 * piece of another PE's. In a phase a byte is written by one PE at most and a word of atomics gets operations of one
 * kind, so the result does not depend on who is faster. Usage: stress [SEED [PHASES]]; the seed is also that of
 * STRESS_SEED.
 */
#include "check.h"

#include <stdbool.h>

enum {
    PES_MAX = 32,
    LANE = 32 * 1024, /* bytes that one PE may write on each PE and in each area */
    WORDS = 12,       /* of atomics, in each area */
    N_AREAS = 2,
    OPERATIONS = 24, /* of each PE in a phase */
    PHASES = 40,
    N_CONTEXTS = 4,
};

struct random {
    uint64_t state;
};

static uint64_t next(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state * 0x2545f4914f6cdd1d >> 16;
}

static size_t below(struct random *random, size_t bound)
{
    return (size_t)(next(random) % bound);
}

/* Memory of one PE in one area. */
struct memory {
    unsigned char lanes[PES_MAX][LANE];
    uint64_t words[WORDS];
    uint64_t signals[PES_MAX];
};

static struct memory static_memory;
static struct memory *areas[N_AREAS]; /* symmetric: heap, static data */
static const char *const area_names[] = {"the heap", "static data"};
static struct memory *model[N_AREAS];          /* [PE] */
static size_t used[PES_MAX][PES_MAX][N_AREAS]; /* [origin][target]: bytes of the lane that this phase has written */
static unsigned char source[OPERATIONS][2 * LANE];
static uint64_t fetched[OPERATIONS];

/* Contexts: the default one, one of the world, and one of the reversed team; for the plain routines, none. */
static shmem_ctx_t contexts[N_CONTEXTS];
static shmem_team_t reversed;
static unsigned long seed;
static int phase;

static int pe_on(int context, int pe)
{
    return context == N_CONTEXTS - 1 ? shmem_n_pes() - 1 - pe : pe;
}

/* ---- one operation, as all PEs know it --------------------------------------------------------------------------- */

enum kind { PUT, PUT_NBI, P, IPUT, IBPUT, PUT_SIGNAL, PUT_SIGNAL_NBI, GET, AMO, N_KINDS };

/* What a word of atomics does in this phase: operations of one kind may come in any order. */
enum amo { ADD, INC, FETCH_ADD_NBI, OR, FETCH_XOR, SET_SAME, N_AMOS };

struct operation {
    enum kind kind;
    int number, origin, target, context, area;
    size_t nbytes;        /* of the source: whole words of 8 bytes for the strided ones */
    size_t offset;        /* in the lane of the origin at the target */
    size_t stride, block; /* in words; of the destination */
    int word;
    uint64_t value;
};

/* Number of bytes from the first to the last that the operation writes. */
static size_t extent(const struct operation *operation)
{
    size_t blocks = operation->nbytes / 8 / operation->block;
    if (operation->kind == IPUT || operation->kind == IBPUT)
        return ((blocks - 1) * operation->stride + operation->block) * 8;
    return operation->nbytes;
}

/* Mostly short, sometimes long. */
static struct operation draw(struct random *random, int origin, int number)
{
    struct operation operation = {
        .kind = (enum kind)below(random, N_KINDS),
        .number = number,
        .origin = origin,
        .target = (int)below(random, (size_t)shmem_n_pes()),
        .context = (int)below(random, N_CONTEXTS),
        .area = (int)below(random, N_AREAS),
        .nbytes = 1 + below(random, (size_t)1 << below(random, 13)),
        .block = 1,
        .word = (int)below(random, WORDS),
        .value = next(random),
    };
    if (operation.kind == P)
        operation.nbytes = 8;
    if (operation.kind == IBPUT)
        operation.block = 1 + below(random, 9);
    operation.stride = operation.block + below(random, 7);
    if (operation.kind == IPUT || operation.kind == IBPUT)
        operation.nbytes = operation.block * 8 * (1 + below(random, 40));
    size_t *taken = &used[origin][operation.target][operation.area];
    operation.offset = (*taken + below(random, 100) + 15) & ~(size_t)7;
    if (operation.offset + extent(&operation) > LANE)
        operation.kind = AMO; /* the lane is full */
    else if (operation.kind != GET && operation.kind != AMO)
        *taken = operation.offset + extent(&operation);
    return operation;
}

static void fill(const struct operation *operation, unsigned char *bytes)
{
    for (size_t i = 0; i < operation->nbytes; i++)
        bytes[i] = (unsigned char)((operation->value >> (i % 8 * 8)) + i / 8 * 3 + (size_t)operation->number);
}

static enum amo amo_of(int word)
{
    return (enum amo)((word + phase) % N_AMOS);
}

/* ---- what it does ------------------------------------------------------------------------------------------------ */

static void put_signal(const struct operation *operation, shmem_ctx_t ctx, int pe, unsigned char *dest)
{
    uint64_t *signal = &areas[!operation->area]->signals[operation->origin]; /* in the other area */
    const unsigned char *from = source[operation->number];
    if (operation->kind == PUT_SIGNAL)
        shmem_ctx_putmem_signal(ctx, dest, from, operation->nbytes, signal, operation->value, SHMEM_SIGNAL_ADD, pe);
    else
        shmem_ctx_uchar_put_signal_nbi(ctx, dest, from, operation->nbytes, signal, operation->value, SHMEM_SIGNAL_ADD,
                                       pe);
}

static void do_amo(const struct operation *operation, shmem_ctx_t ctx, int pe)
{
    uint64_t *word = &areas[operation->area]->words[operation->word], value = operation->value;
    switch (amo_of(operation->word)) {
    case ADD:
        shmem_ctx_uint64_atomic_add(ctx, word, value, pe);
        break;
    case INC:
        shmem_ctx_uint64_atomic_fetch_inc(ctx, word, pe);
        break;
    case FETCH_ADD_NBI:
        shmem_ctx_uint64_atomic_fetch_add_nbi(ctx, &fetched[operation->number], word, value, pe);
        break;
    case OR:
        shmem_ctx_uint64_atomic_or(ctx, word, value, pe);
        break;
    case FETCH_XOR:
        shmem_ctx_uint64_atomic_fetch_xor(ctx, word, value, pe);
        break;
    default:
        shmem_ctx_uint64_atomic_swap(ctx, word, (uint64_t)phase, pe);
    }
}

/* The target's words of the phase before, and the lane of this PE there: nobody else writes it. */
static void get_something(const struct operation *operation, shmem_ctx_t ctx, int pe)
{
    static unsigned char got[LANE];
    const size_t nbytes = operation->nbytes, at = used[operation->origin][operation->target][operation->area];
    if (at + nbytes > LANE)
        return;
    const unsigned char *expected = model[operation->area][operation->target].lanes[operation->origin] + at;
    shmem_ctx_getmem(ctx, got, areas[operation->area]->lanes[operation->origin] + at, nbytes, pe);
    CHECK_THAT(!memcmp(got, expected, nbytes),
               "seed %lu, phase %d: %zu bytes at %zu of %s of PE %d differ from the model", seed, phase, nbytes, at,
               area_names[operation->area], operation->target);
}

static void perform(const struct operation *operation)
{
    const shmem_ctx_t ctx = contexts[operation->context];
    const int pe = pe_on(operation->context, operation->target);
    unsigned char *dest = areas[operation->area]->lanes[operation->origin] + operation->offset;
    unsigned char *from = source[operation->number];
    const size_t words = operation->nbytes / 8;
    fill(operation, from);
    switch (operation->kind) {
    case PUT:
        shmem_ctx_putmem(ctx, dest, from, operation->nbytes, pe);
        break;
    case PUT_NBI:
        shmem_ctx_putmem_nbi(ctx, dest, from, operation->nbytes, pe);
        break;
    case P:
        shmem_ctx_uint64_p(ctx, (uint64_t *)dest, *(uint64_t *)(void *)from, pe);
        break;
    case IPUT:
        shmem_ctx_iput64(ctx, dest, from, (ptrdiff_t)operation->stride, 1, words, pe);
        break;
    case IBPUT:
        shmem_ctx_ibput64(ctx, dest, from, (ptrdiff_t)operation->stride, (ptrdiff_t)operation->block, operation->block,
                          words / operation->block, pe);
        break;
    case PUT_SIGNAL:
    case PUT_SIGNAL_NBI:
        put_signal(operation, ctx, pe, dest);
        break;
    case GET:
        get_something(operation, ctx, pe);
        break;
    default:
        do_amo(operation, ctx, pe);
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void model_amo(const struct operation *operation, uint64_t *word)
{
    switch (amo_of(operation->word)) {
    case ADD:
    case FETCH_ADD_NBI:
        *word += operation->value;
        break;
    case INC:
        *word += 1;
        break;
    case OR:
        *word |= operation->value;
        break;
    case FETCH_XOR:
        *word ^= operation->value;
        break;
    default:
        *word = (uint64_t)phase;
    }
}

static void apply(const struct operation *operation)
{
    static unsigned char bytes[2 * LANE];
    struct memory *memory = &model[operation->area][operation->target];
    unsigned char *dest = memory->lanes[operation->origin] + operation->offset;
    const size_t block = operation->block * 8;
    if (operation->kind == GET)
        return;
    if (operation->kind == AMO) {
        model_amo(operation, &memory->words[operation->word]);
        return;
    }
    fill(operation, bytes);
    if (operation->kind == IPUT || operation->kind == IBPUT)
        for (size_t i = 0; i < operation->nbytes / block; i++)
            memcpy(dest + i * operation->stride * 8, bytes + i * block, block);
    else
        memcpy(dest, bytes, operation->nbytes);
    if (operation->kind == PUT_SIGNAL || operation->kind == PUT_SIGNAL_NBI)
        model[!operation->area][operation->target].signals[operation->origin] += operation->value;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void expect_bytes(const char *what, const void *found, const void *expected, size_t nbytes, int area)
{
    const unsigned char *f = found, *e = expected;
    for (size_t i = 0; i < nbytes; i++)
        CHECK_THAT(f[i] == e[i], "seed %lu, phase %d: byte %zu of the %s in %s is %#x, expected %#x", seed, phase, i,
                   what, area_names[area], f[i], e[i]);
}

static void compare(void)
{
    const int me = shmem_my_pe();
    for (int area = 0; area < N_AREAS; area++) {
        const struct memory *found = areas[area], *expected = &model[area][me];
        for (int origin = 0; origin < shmem_n_pes(); origin++)
            expect_bytes("lanes", found->lanes[origin], expected->lanes[origin], LANE, area);
        expect_bytes("words of atomics", found->words, expected->words, sizeof found->words, area);
        expect_bytes("signals", found->signals, expected->signals, sizeof found->signals, area);
    }
}

/* Now and then a call that must not change any result. */
static void disturb(struct random *random, int context)
{
    const shmem_ctx_session_config_t config = {.total_ops = below(random, 50)};
    switch (below(random, 6)) {
    case 0:
        shmem_fence();
        break;
    case 1:
        shmem_ctx_quiet(contexts[context]);
        break;
    case 2:
        shmem_ctx_session_start(contexts[context], below(random, 2) ? SHMEM_CTX_SESSION_BATCH : 0, &config,
                                SHMEM_CTX_SESSION_TOTAL_OPS);
        break;
    case 3:
        shmem_ctx_session_stop(contexts[context]);
        break;
    default:
        break;
    }
}

/* In one order for all PEs; only this PE's own operations are carried out. The model follows a PE's gets and puts. */
static void run_phase(struct random *random)
{
    const int n = shmem_n_pes();
    struct random own = {seed * 31 + (uint64_t)phase * 1000 + (uint64_t)shmem_my_pe() + 1};
    memset(used, 0, sizeof used);
    for (int number = 0; number < OPERATIONS; number++)
        for (int origin = 0; origin < n; origin++) {
            const struct operation operation = draw(random, origin, number);
            if (origin == shmem_my_pe()) {
                perform(&operation);
                disturb(&own, operation.context);
            }
            apply(&operation);
        }
    for (int i = 0; i < N_CONTEXTS; i++)
        shmem_ctx_quiet(contexts[i]);
    shmem_barrier_all();
    compare();
    shmem_barrier_all();
}

/* Contexts and the team are made anew from time to time. */
static void open_contexts(void)
{
    const int n = shmem_n_pes();
    contexts[0] = contexts[1] = SHMEM_CTX_DEFAULT;
    CHECK(!shmem_ctx_create(0, &contexts[2]));
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed));
    CHECK(!shmem_team_create_ctx(reversed, SHMEM_CTX_NOSTORE, &contexts[3]));
}

static void close_contexts(void)
{
    shmem_ctx_destroy(contexts[2]);
    shmem_ctx_destroy(contexts[3]);
    shmem_team_destroy(reversed);
}

int main(int argc, char **argv)
{
    const char *text = getenv("STRESS_SEED");
    seed = argc > 1 ? strtoul(argv[1], NULL, 0) : text ? strtoul(text, NULL, 0) : 1;
    const int phases = argc > 2 ? atoi(argv[2]) : PHASES;
    shmem_init();
    const size_t n = (size_t)shmem_n_pes();
    CHECK_THAT(n <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    if (shmem_my_pe() == 0)
        printf("seed %lu, %d phases\n", seed, phases);
    areas[0] = shmem_calloc(1, sizeof **areas);
    areas[1] = &static_memory;
    CHECK(areas[0]);
    for (int area = 0; area < N_AREAS; area++) {
        model[area] = calloc(n, sizeof *model[area]);
        CHECK(model[area]);
    }
    struct random random = {(seed + 1) * 0x9e3779b97f4a7c15u};
    for (phase = 0; phase < phases; phase++) {
        if (phase % 4 == 0)
            open_contexts();
        run_phase(&random);
        if (phase % 4 == 3)
            close_contexts();
    }
    return check_end();
}
