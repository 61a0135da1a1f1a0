/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations: a sequence of one PE's on a word of its own, of which every result is known; and operations of one
 * kind by several PEs on the same word, of which the end is known, and what may be fetched on the way.
 */
#include "word_calls.h"

enum { CLASSES = 6 };
static const enum amo classes[CLASSES][2] = {{A_FADD, A_ADD}, {A_FINC, A_INC}, {A_FOR, A_OR},
                                             {A_FXOR, A_XOR}, {A_FAND, A_AND}, {A_CSWAP, A_CSWAP}};

static uint64_t cut(const struct drawn_amo *a, uint64_t value)
{
    return word_types[a->type].size == 4 ? (uint32_t)value : value;
}

static bool is_possible(const struct word_type *type, enum amo amo)
{
    return amo <= A_SWAP || (type->has_arithmetic && amo <= A_ADD) || type->has_bits;
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_amo *a = &step->amo;
    int pes[PES_MAX], n;
    a->type = (int)below(numbers, (size_t)n_word_types);
    const struct word_type *type = &word_types[a->type];
    const struct byte_shape word = shape_of(type->size);
    a->class = type->has_arithmetic && one_in(numbers, 2) ? (int)below(numbers, type->has_bits ? CLASSES : 2) : -1;
    a->context = a->class < 0 ? context_draw(numbers, step->lane, step->actor, pes, &n) : PLAIN;
    a->target = a->class < 0 ? pes[below(numbers, (size_t)n)] : (int)below(numbers, (size_t)job.n);
    a->n_actors = 1 + (int)below(numbers, (size_t)job.n);
    a->n_each = a->class < 0
                    ? 1 + (int)below(numbers, AMOS_MAX)
                    : 1 + (int)below(numbers, (size_t)(31 / a->n_actors > AMOS_MAX ? AMOS_MAX : 31 / a->n_actors));
    for (int i = 0; i < a->n_each; i++) {
        a->is_nbi[i] = one_in(numbers, 3);
        a->values[i] = one_in(numbers, 4) ? below(numbers, 3) : next(numbers);
        a->hits[i] = one_in(numbers, 2);
        do
            a->amos[i] = (int)below(numbers, N_AMOS);
        while (!is_possible(type, (enum amo)a->amos[i]));
    }
    a->object = (int)below(numbers, (size_t)program.n_objects);
    return claim_anywhere(numbers, a->object, &a->target, 1, &word, type->size, CLAIM_WRITE, &a->at);
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

static uint64_t after(enum amo amo, uint64_t old, uint64_t value, uint64_t cond)
{
    switch (amo) {
    case A_FETCH:
        return old;
    case A_CSWAP:
        return old == cond ? value : old;
    case A_FINC:
    case A_INC:
        return old + 1;
    case A_FADD:
    case A_ADD:
        return old + value;
    case A_FAND:
    case A_AND:
        return old & value;
    case A_FOR:
    case A_OR:
        return old | value;
    case A_FXOR:
    case A_XOR:
        return old ^ value;
    default:
        return value;
    }
}

/* What number i of an actor's operations adds, sets, flips or clears: a bit of its own. */
static uint64_t shared_value(const struct drawn_amo *a, int rank, int i)
{
    const uint64_t bit = (uint64_t)1 << (rank * a->n_each + i);
    return classes[a->class][0] == A_FAND ? ~bit : bit;
}

static int shared_actor(const struct drawn_step *step, int rank)
{
    return (step->actor + rank) % job.n;
}

static uint64_t load_word(const struct drawn_amo *a)
{
    uint64_t word = 0;
    memcpy(&word, model_at(a->object, a->target, a->at), word_types[a->type].size);
    return word;
}

/* What an own sequence fetches goes into step->amo.fetched, which is written by foresee. */
static void foresee(const struct drawn_step *step)
{
    const struct drawn_amo *a = &step->amo;
    struct drawn_amo *mine = &program.steps[step->number].amo;
    uint64_t word = mine->before = load_word(a);
    for (int i = 0; a->class < 0 && i < a->n_each; i++) {
        mine->fetched[i] = word;
        word = cut(a, after((enum amo)a->amos[i], word, cut(a, a->values[i]), a->hits[i] ? word : ~word));
    }
    for (int rank = 0; a->class >= 0 && rank < a->n_actors; rank++)
        for (int i = 0; i < a->n_each; i++) {
            const enum amo amo = classes[a->class][0];
            word = amo == A_CSWAP ? cut(a, word + 1) : cut(a, after(amo, word, shared_value(a, rank, i), 0));
        }
    memcpy(model_at(a->object, a->target, a->at), &word, word_types[a->type].size);
}

/* ---- The library ----------------------------------------------------------------------------------------------------- */

static uint64_t call(const struct drawn_step *step, enum amo amo, bool is_nbi, uint64_t value, uint64_t cond)
{
    const struct drawn_amo *a = &step->amo;
    uint64_t fetched = 0;
    const struct amo_call call = {.amo = amo,
                                  .is_nbi = is_nbi && amo_fetches(amo),
                                  .ctx = context_handle(a->context),
                                  .dest = address_of(a->object, a->at),
                                  .fetch = &fetched,
                                  .value = value,
                                  .cond = cond,
                                  .pe = context_pe(a->context, a->target)};
    word_types[a->type].amo(&call);
    if (call.is_nbi)
        context_quiet(a->context);
    else if (!amo_fetches(amo))
        context_fence(a->context);
    return fetched;
}

static void play_own(const struct drawn_step *step)
{
    const struct drawn_amo *a = &step->amo;
    for (int i = 0; i < a->n_each; i++) {
        const enum amo amo = (enum amo)a->amos[i];
        const uint64_t cond = a->hits[i] ? a->fetched[i] : ~a->fetched[i];
        const uint64_t fetched = call(step, amo, a->is_nbi[i], a->values[i], cond);
        EXPECT(step, !amo_fetches(amo) || fetched == a->fetched[i], "operation %d, %s: fetched %#llx instead of %#llx",
               i, amo_names[amo], (unsigned long long)fetched, (unsigned long long)a->fetched[i]);
    }
}

/* What others may have done before: any of their bits, none of those that this operation brings. */
static bool may_fetch(const struct drawn_amo *a, enum amo amo, uint64_t fetched, uint64_t value)
{
    const int n_ops = a->n_actors * a->n_each;
    const uint64_t all = ((uint64_t)1 << n_ops) - 1, before = a->before;
    switch (amo) {
    case A_FADD:
        return (cut(a, fetched - before) & ~(all & ~value)) == 0;
    case A_FINC:
        return cut(a, fetched - before) < (uint64_t)n_ops;
    case A_FOR:
        return (fetched & before) == before && ((fetched & ~before) & ~(all & ~value)) == 0;
    case A_FXOR:
        return ((fetched ^ before) & ~(all & ~value)) == 0;
    default:
        return (fetched | before) == before && ((before & ~fetched) & ~(all & value)) == 0;
    }
}

/* A counter that compare_swap alone moves. */
static void count(const struct drawn_step *step)
{
    uint64_t seen = call(step, A_FETCH, false, 0, 0), old;
    while ((old = call(step, A_CSWAP, false, seen + 1, seen)) != seen)
        seen = old;
}

static void play_shared(const struct drawn_step *step, int rank)
{
    const struct drawn_amo *a = &step->amo;
    for (int i = 0; i < a->n_each; i++) {
        const enum amo amo = classes[a->class][a->hits[i]];
        const uint64_t value = shared_value(a, rank, i);
        if (amo == A_CSWAP) {
            count(step);
            continue;
        }
        const uint64_t fetched = call(step, amo, a->is_nbi[i], value, 0);
        EXPECT(step, !amo_fetches(amo) || may_fetch(a, amo, fetched, value),
               "%s of %#llx cannot fetch %#llx: the word was %#llx", amo_names[amo], (unsigned long long)value,
               (unsigned long long)fetched, (unsigned long long)a->before);
    }
}

static void play(struct drawn_step *step)
{
    const struct drawn_amo *a = &step->amo;
    if (a->class < 0 && step->actor == job.me)
        play_own(step);
    for (int rank = 0; a->class >= 0 && rank < a->n_actors; rank++)
        if (shared_actor(step, rank) == job.me)
            play_shared(step, rank);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_amo *a = &step->amo;
    fprintf(out, "%s at PE %d, %s + %zu, by PE %d", word_types[a->type].name, a->target, object_text(a->object), a->at,
            step->actor);
    if (a->class >= 0)
        fprintf(out, " and %d others, %d times each: %s or %s", a->n_actors - 1, a->n_each,
                amo_names[classes[a->class][0]], amo_names[classes[a->class][1]]);
    for (int i = 0; a->class < 0 && i < a->n_each; i++)
        fprintf(out, ", %s%s", amo_names[a->amos[i]], a->is_nbi[i] ? " (nbi)" : "");
    fprintf(out, "; %s", context_text(a->context));
}

const struct step_family atomics = {"atomic", 6, draw, foresee, play, NULL, print};
