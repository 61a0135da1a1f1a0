/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations of all PEs on the same words at the same time [9.7]: nothing is lost or duplicated. Sums and bits
 * are exact, swapped values remain the same set, a stack that is linked by compare_swap keeps its elements,
 * neighbouring words of 32 bits do not disturb each other. Blocking and nonblocking operations, on the default context
 * and others, on heap and static data.
 */
#include "check.h"

#include <stdbool.h>

enum { TIMES = 200, TIMES_HERE = 100000, PES_MAX = 32, NODES_PER_PE = 4, EMPTY = 0 };

/* Everything lies on one PE, the owner. Where an operation is a single instruction, many are needed to make conflicts
 * likely. */
struct shared {
    uint64_t sum, sum_nbi, bits_or, bits_and, bits_xor;
    uint32_t pair[2]; /* neighbours */
    uint64_t token;
    double token_double;
    float token_float;
    uint64_t top;                                /* of the stack: a node and how often the top has changed */
    uint64_t next[PES_MAX * NODES_PER_PE + 1];   /* by node; 0 is none */
    uint64_t pushed[PES_MAX * NODES_PER_PE + 1]; /* how often each node was pushed, less how often popped */
};

static struct shared static_shared;
static uint64_t all_tokens, all_old_values; /* on PE 0: added up over the PEs */

struct run {
    struct shared *shared;
    int owner;
    shmem_ctx_t context;
    const char *name;
    int times;
};

static void expect(const struct run *run, const char *what, uint64_t found, uint64_t expected)
{
    CHECK_THAT(found == expected, "%s, %s of PE %d: found %#llx, expected %#llx", what, run->name, run->owner,
               (unsigned long long)found, (unsigned long long)expected);
}

/* Start from zeros everywhere, and end when all PEs have finished. */
static void open_run(const struct run *run)
{
    shmem_barrier_all();
    memset(run->shared, 0, sizeof *run->shared);
    all_tokens = all_old_values = 0;
    run->shared->bits_and = UINT64_MAX;
    shmem_barrier_all();
}

static void meet(const struct run *run)
{
    shmem_ctx_quiet(run->context);
    shmem_barrier_all();
}

/* ---- sums: every old value of fetch_add is a different one ------------------------------------------------------- */

static void check_sums(const struct run *run)
{
    const uint64_t n = (uint64_t)shmem_n_pes() * (uint64_t)run->times;
    static uint64_t old[TIMES_HERE];
    uint64_t old_values = 0;
    open_run(run);
    for (int i = 0; i < run->times; i++) {
        shmem_ctx_uint64_atomic_add(run->context, &run->shared->sum, 2, run->owner);
        shmem_uint64_atomic_fetch_add(&run->shared->sum, UINT64_MAX, run->owner); /* the default context */
        shmem_ctx_uint64_atomic_fetch_inc_nbi(run->context, &old[i], &run->shared->sum_nbi, run->owner);
    }
    shmem_ctx_quiet(run->context);
    for (int i = 0; i < run->times; i++)
        old_values += old[i];
    shmem_uint64_atomic_add(&all_old_values, old_values, 0);
    meet(run);
    if (shmem_my_pe() == run->owner) {
        expect(run, "sum of add and fetch_add", run->shared->sum, n);
        expect(run, "sum of fetch_inc_nbi", run->shared->sum_nbi, n);
    }
    if (shmem_my_pe() == 0)
        expect(run, "old values of fetch_inc_nbi, added up", all_old_values, n * (n - 1) / 2);
}

/* Each PE has two bits of its own in every word and knows their values, whatever the others do. Up to 32 PEs. */
static void check_bits(const struct run *run)
{
    const shmem_ctx_t ctx = run->context;
    const int owner = run->owner, shift = shmem_my_pe() % 32 * 2;
    const uint64_t both = (uint64_t)3 << shift, low = (uint64_t)1 << shift;
    struct shared *shared = run->shared;
    open_run(run);
    for (int i = 0; i < run->times / 4; i++) {
        shmem_ctx_uint64_atomic_or(ctx, &shared->bits_or, low, owner);
        shmem_ctx_fence(ctx);
        expect(run, "bits after or", shmem_ctx_uint64_atomic_fetch_or(ctx, &shared->bits_or, both, owner) & both, low);
        expect(run, "bits after fetch_or",
               shmem_ctx_uint64_atomic_fetch_and(ctx, &shared->bits_or, ~both, owner) & both, both);
        shmem_ctx_uint64_atomic_and(ctx, &shared->bits_and, ~low, owner);
        shmem_ctx_fence(ctx);
        expect(run, "bits after and", shmem_ctx_uint64_atomic_fetch_or(ctx, &shared->bits_and, low, owner) & both,
               both - low);
        shmem_ctx_uint64_atomic_xor(ctx, &shared->bits_xor, both, owner);
        shmem_ctx_fence(ctx);
        expect(run, "bits after xor", shmem_ctx_uint64_atomic_fetch_xor(ctx, &shared->bits_xor, low, owner) & both,
               both);
        expect(run, "bits after fetch_xor",
               shmem_ctx_uint64_atomic_fetch_and(ctx, &shared->bits_xor, ~both, owner) & both, both - low);
    }
    meet(run);
    if (shmem_my_pe() == owner) {
        expect(run, "bits of or", shared->bits_or, 0);
        expect(run, "bits of and", shared->bits_and, UINT64_MAX);
        expect(run, "bits of xor", shared->bits_xor, 0);
    }
}

/* ---- two words of 32 bits in one of 64 --------------------------------------------------------------------------- */

static void check_neighbours(const struct run *run)
{
    const uint32_t n = (uint32_t)shmem_n_pes() * (uint32_t)run->times;
    open_run(run);
    for (int i = 0; i < run->times; i++) {
        shmem_ctx_uint32_atomic_add(run->context, &run->shared->pair[0], UINT32_MAX, run->owner); /* carries */
        shmem_ctx_uint32_atomic_inc(run->context, &run->shared->pair[1], run->owner);
    }
    meet(run);
    if (shmem_my_pe() == run->owner) {
        expect(run, "first of two words of 32 bits", run->shared->pair[0], (uint32_t)-n);
        expect(run, "second of two words of 32 bits", run->shared->pair[1], n);
    }
}

/* ---- values that are swapped around: whoever holds which, the set stays the same --------------------------------- */

static uint64_t token_of(int pe)
{
    return (uint64_t)1 << (pe % 60);
}

static void check_swaps(const struct run *run)
{
    const int me = shmem_my_pe();
    uint64_t token = token_of(me), expected = 0;
    double number = (double)(me + 1);
    float small = (float)(me + 1);
    open_run(run);
    for (int i = 0; i < run->times; i++) {
        if (i % 2)
            token = shmem_ctx_uint64_atomic_swap(run->context, &run->shared->token, token, run->owner);
        else {
            uint64_t old = 0;
            shmem_ctx_uint64_atomic_swap_nbi(run->context, &old, &run->shared->token, token, run->owner);
            shmem_ctx_quiet(run->context);
            token = old;
        }
        number = shmem_ctx_double_atomic_swap(run->context, &run->shared->token_double, number, run->owner);
        small = shmem_ctx_float_atomic_swap(run->context, &run->shared->token_float, small, run->owner);
    }
    shmem_uint64_atomic_add(&all_tokens, token, 0);
    shmem_uint64_atomic_add(&all_old_values, (uint64_t)number * 1000 + (uint64_t)small, 0);
    meet(run);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        expected += token_of(pe);
    uint64_t left = shmem_uint64_g(&run->shared->token, run->owner);
    uint64_t numbers = (uint64_t)shmem_double_g(&run->shared->token_double, run->owner) * 1000 +
                       (uint64_t)shmem_float_g(&run->shared->token_float, run->owner);
    const uint64_t n = (uint64_t)shmem_n_pes();
    if (me == 0) {
        expect(run, "tokens that were swapped", all_tokens + left, expected);
        expect(run, "numbers that were swapped", all_old_values + numbers, n * (n + 1) / 2 * 1001);
    }
}

/* ---- a stack without locks: the top has the node in its lower half, a count in the upper ------------------------- */

static void push(const struct run *run, uint64_t node)
{
    uint64_t top = shmem_uint64_atomic_fetch(&run->shared->top, run->owner);
    for (;;) {
        shmem_ctx_uint64_atomic_set(run->context, &run->shared->next[node], (uint32_t)top, run->owner);
        shmem_ctx_quiet(run->context);
        uint64_t next = ((top >> 32) + 1) << 32 | node;
        uint64_t seen = shmem_ctx_uint64_atomic_compare_swap(run->context, &run->shared->top, top, next, run->owner);
        if (seen == top)
            return;
        top = seen;
    }
}

/* Returns the node taken, or EMPTY. */
static uint64_t pop(const struct run *run)
{
    uint64_t top = shmem_uint64_atomic_fetch(&run->shared->top, run->owner);
    while ((uint32_t)top != EMPTY) {
        uint64_t seen, *link = &run->shared->next[(uint32_t)top];
        uint64_t next = shmem_ctx_uint64_atomic_fetch(run->context, link, run->owner);
        shmem_ctx_uint64_atomic_compare_swap_nbi(run->context, &seen, &run->shared->top, top,
                                                 ((top >> 32) + 1) << 32 | (uint32_t)next, run->owner);
        shmem_ctx_quiet(run->context);
        if (seen == top)
            return (uint32_t)top;
        top = seen;
    }
    return EMPTY;
}

static void check_stack(const struct run *run)
{
    const uint64_t n = (uint64_t)shmem_n_pes() * NODES_PER_PE;
    open_run(run);
    for (uint64_t i = 0; i < NODES_PER_PE; i++)
        push(run, (uint64_t)shmem_my_pe() * NODES_PER_PE + i + 1);
    for (int i = 0; i < run->times / 4; i++) {
        uint64_t node = pop(run);
        if (node == EMPTY)
            continue;
        CHECK_THAT(node <= n, "the stack of %s has an element %llu", run->name, (unsigned long long)node);
        expect(run, "owners of a popped element", shmem_uint64_atomic_fetch_inc(&run->shared->pushed[node], run->owner),
               0);
        shmem_uint64_atomic_add(&run->shared->pushed[node], UINT64_MAX, run->owner);
        shmem_quiet();
        push(run, node);
    }
    meet(run);
    if (shmem_my_pe() == run->owner) {
        uint64_t length = 0, seen[PES_MAX * NODES_PER_PE + 1] = {0};
        for (uint64_t node = (uint32_t)run->shared->top; node != EMPTY && length <= n; node = run->shared->next[node]) {
            length++;
            expect(run, "an element of the stack is there once", seen[node]++, 0);
        }
        expect(run, "elements of the stack", length, n);
    }
}

static void check_all(const struct run *run)
{
    check_sums(run);
    check_bits(run);
    check_neighbours(run);
    check_swaps(run);
    check_stack(run);
}

int main(void)
{
    shmem_ctx_t context;
    shmem_init();
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    CHECK(!shmem_ctx_create(0, &context));
    struct shared *heap_shared = check_shmem_malloc(sizeof *heap_shared);
    const int last = shmem_n_pes() - 1;
    const bool one_node = shmem_team_n_pes(SHMEM_TEAM_SHARED) == shmem_n_pes();
    const int in_heap = one_node ? TIMES_HERE : TIMES;
    check_all(&(struct run){heap_shared, 0, SHMEM_CTX_DEFAULT, "the heap", in_heap});
    check_all(&(struct run){heap_shared, last, context, "the heap, on a context", in_heap});
    check_all(&(struct run){&static_shared, last, SHMEM_CTX_DEFAULT, "static data", TIMES});
    check_all(&(struct run){&static_shared, 0, context, "static data, on a context", TIMES});
    shmem_barrier_all();
    shmem_ctx_destroy(context);
    return check_end();
}
