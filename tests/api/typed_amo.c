/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every atomic operation for every type [9.7, tables 6 to 8], blocking, nonblocking and by its deprecated name, plain
 * and on contexts, to every PE, against a model of 32 or 64 bits that wraps around. Floating-point values are compared
 * bit by bit. Words beside the target must not change.
 */
#include "check.h"

#include "../spec/types.h"
#include "../spec/ways.h"

enum { PES_MAX = 16 };

/* Values travel as bits. nbi: the old value arrives by quiet. */
typedef void (*fetch_func_t)(shmem_ctx_t ctx, bool nbi, uint64_t *old, void *word, uint64_t value, int pe);
typedef void (*post_func_t)(shmem_ctx_t ctx, void *word, uint64_t value, int pe);
typedef void (*cswap_func_t)(shmem_ctx_t ctx, bool nbi, uint64_t *old, void *word, uint64_t cond, uint64_t value,
                             int pe);

struct form {
    const char *name;
    size_t size;
    fetch_func_t fetch, swap, fetch_inc, fetch_add, fetch_and, fetch_or, fetch_xor;
    cswap_func_t compare_swap;
    post_func_t set, inc, add, bit_and, bit_or, bit_xor;
};

/* ---- every routine behind one of these signatures ---------------------------------------------------------------- */

/* clang-format off */
#define VALUE(TYPE, name, bits) TYPE name; memcpy(&name, &bits, sizeof name)
/* ...: what stands between the context (nbi: and the result) and the PE */
#define FETCHING_BODY(TYPE, routine, ...)                                                                              \
    TYPE *result = (TYPE *)old;                                                                                        \
    if (nbi && c == SHMEM_CTX_INVALID) shmem_##routine##_nbi(result, __VA_ARGS__, pe);                                 \
    else if (nbi) shmem_ctx_##routine##_nbi(c, result, __VA_ARGS__, pe);                                               \
    else if (c == SHMEM_CTX_INVALID) *result = shmem_##routine(__VA_ARGS__, pe);                                       \
    else *result = shmem_ctx_##routine(c, __VA_ARGS__, pe);
#define FETCHING(id, TYPE, routine)                                                                                    \
    static void id(shmem_ctx_t c, bool nbi, uint64_t *old, void *w, uint64_t bits, int pe)                             \
    { VALUE(TYPE, value, bits); FETCHING_BODY(TYPE, routine, w, value) }
#define FETCHING_WITHOUT_VALUE(id, TYPE, routine)                                                                      \
    static void id(shmem_ctx_t c, bool nbi, uint64_t *old, void *w, uint64_t bits, int pe)                             \
    { (void)bits; FETCHING_BODY(TYPE, routine, w) }
#define COMPARING(id, TYPE, routine)                                                                                   \
    static void id(shmem_ctx_t c, bool nbi, uint64_t *old, void *w, uint64_t if_bits, uint64_t bits, int pe)           \
    { VALUE(TYPE, cond, if_bits); VALUE(TYPE, value, bits); FETCHING_BODY(TYPE, routine, w, cond, value) }
#define POSTING(id, TYPE, routine)                                                                                     \
    static void id(shmem_ctx_t c, void *w, uint64_t bits, int pe)                                                      \
    { VALUE(TYPE, value, bits);                                                                                        \
      if (c == SHMEM_CTX_INVALID) shmem_##routine(w, value, pe); else shmem_ctx_##routine(c, w, value, pe); }
#define POSTING_WITHOUT_VALUE(id, TYPE, routine)                                                                       \
    static void id(shmem_ctx_t c, void *w, uint64_t bits, int pe)                                                      \
    { (void)bits; if (c == SHMEM_CTX_INVALID) shmem_##routine(w, pe); else shmem_ctx_##routine(c, w, pe); }

#define DEFINE_EXTENDED(NAME, TYPE)                                                                                    \
    FETCHING_WITHOUT_VALUE(fetch_##NAME, TYPE, NAME##_atomic_fetch)                                                    \
    FETCHING(swap_##NAME, TYPE, NAME##_atomic_swap)                                                                    \
    POSTING(set_##NAME, TYPE, NAME##_atomic_set)
#define DEFINE_STANDARD(NAME, TYPE)                                                                                    \
    DEFINE_EXTENDED(NAME, TYPE)                                                                                        \
    COMPARING(compare_swap_##NAME, TYPE, NAME##_atomic_compare_swap)                                                   \
    FETCHING_WITHOUT_VALUE(fetch_inc_##NAME, TYPE, NAME##_atomic_fetch_inc)                                            \
    FETCHING(fetch_add_##NAME, TYPE, NAME##_atomic_fetch_add)                                                          \
    POSTING_WITHOUT_VALUE(inc_##NAME, TYPE, NAME##_atomic_inc)                                                         \
    POSTING(add_##NAME, TYPE, NAME##_atomic_add)
#define DEFINE_BITWISE(NAME, TYPE)                                                                                     \
    FETCHING(fetch_and_##NAME, TYPE, NAME##_atomic_fetch_and) POSTING(and_##NAME, TYPE, NAME##_atomic_and)             \
    FETCHING(fetch_or_##NAME, TYPE, NAME##_atomic_fetch_or) POSTING(or_##NAME, TYPE, NAME##_atomic_or)                 \
    FETCHING(fetch_xor_##NAME, TYPE, NAME##_atomic_fetch_xor) POSTING(xor_##NAME, TYPE, NAME##_atomic_xor)

SPEC_FLOAT_AMO_TYPES(DEFINE_EXTENDED)
SPEC_AMO_TYPES(DEFINE_STANDARD)
SPEC_BITWISE_TYPES(DEFINE_BITWISE)

#define EXTENDED(NAME, TYPE) .name = #NAME, .size = sizeof(TYPE), .fetch = fetch_##NAME, .swap = swap_##NAME,          \
    .set = set_##NAME
#define STANDARD(NAME, TYPE) EXTENDED(NAME, TYPE), .compare_swap = compare_swap_##NAME,                                \
    .fetch_inc = fetch_inc_##NAME, .fetch_add = fetch_add_##NAME, .inc = inc_##NAME, .add = add_##NAME
#define BITWISE(NAME, TYPE) STANDARD(NAME, TYPE), .fetch_and = fetch_and_##NAME, .fetch_or = fetch_or_##NAME,          \
    .fetch_xor = fetch_xor_##NAME, .bit_and = and_##NAME, .bit_or = or_##NAME, .bit_xor = xor_##NAME
#define EXTENDED_FORM(NAME, TYPE) {EXTENDED(NAME, TYPE)},
#define STANDARD_FORM(NAME, TYPE) {STANDARD(NAME, TYPE)},
#define BITWISE_FORM(NAME, TYPE) {BITWISE(NAME, TYPE)},

static const struct form forms[] = {
    SPEC_FLOAT_AMO_TYPES(EXTENDED_FORM)
    SPEC_ARITHMETIC_ONLY_TYPES(STANDARD_FORM)
    SPEC_BITWISE_TYPES(BITWISE_FORM)
};

/* Names from before 1.4: plain only, and no nonblocking form. */
#define OLD_FETCHING(id, TYPE, routine, ...)                                                                           \
    static void id(shmem_ctx_t c, bool nbi, uint64_t *old, void *w, uint64_t bits, int pe)                             \
    { (void)c; (void)nbi; (void)bits; VALUE(TYPE, value, bits); (void)value;                                           \
      *(TYPE *)old = shmem_##routine(__VA_ARGS__, pe); }
#define OLD_POSTING(id, TYPE, routine, ...)                                                                            \
    static void id(shmem_ctx_t c, void *w, uint64_t bits, int pe)                                                      \
    { (void)c; VALUE(TYPE, value, bits); (void)value; shmem_##routine(__VA_ARGS__, pe); }
#define DEFINE_OLD_EXTENDED(NAME, TYPE)                                                                                \
    OLD_FETCHING(old_fetch_##NAME, TYPE, NAME##_fetch, w)                                                              \
    OLD_FETCHING(old_swap_##NAME, TYPE, NAME##_swap, w, value)                                                         \
    OLD_POSTING(old_set_##NAME, TYPE, NAME##_set, w, value)
#define DEFINE_OLD_STANDARD(NAME, TYPE)                                                                                \
    DEFINE_OLD_EXTENDED(NAME, TYPE)                                                                                    \
    OLD_FETCHING(finc_##NAME, TYPE, NAME##_finc, w) OLD_FETCHING(fadd_##NAME, TYPE, NAME##_fadd, w, value)             \
    OLD_POSTING(old_inc_##NAME, TYPE, NAME##_inc, w) OLD_POSTING(old_add_##NAME, TYPE, NAME##_add, w, value)           \
    static void cswap_##NAME(shmem_ctx_t c, bool nbi, uint64_t *old, void *w, uint64_t cond, uint64_t value, int pe)   \
    { (void)c; (void)nbi; *(TYPE *)old = shmem_##NAME##_cswap(w, (TYPE)cond, (TYPE)value, pe); }
#define OLD_EXTENDED(NAME, TYPE) .name = #NAME " (deprecated name)", .size = sizeof(TYPE),                             \
    .fetch = old_fetch_##NAME, .swap = old_swap_##NAME, .set = old_set_##NAME
#define OLD_EXTENDED_FORM(NAME, TYPE) {OLD_EXTENDED(NAME, TYPE)},
#define OLD_STANDARD_FORM(NAME, TYPE) {OLD_EXTENDED(NAME, TYPE), .compare_swap = cswap_##NAME,                         \
    .fetch_inc = finc_##NAME, .fetch_add = fadd_##NAME, .inc = old_inc_##NAME, .add = old_add_##NAME},
#define OLD_STANDARD_TYPES(X) X(int, int) X(long, long) X(longlong, long long)

SPEC_FLOAT_AMO_TYPES(DEFINE_OLD_EXTENDED)
OLD_STANDARD_TYPES(DEFINE_OLD_STANDARD)
static const struct form old_forms[] = {SPEC_FLOAT_AMO_TYPES(OLD_EXTENDED_FORM) OLD_STANDARD_TYPES(OLD_STANDARD_FORM)};
/* clang-format on */
enum { N_FORMS = sizeof forms / sizeof forms[0], N_OLD_FORMS = sizeof old_forms / sizeof old_forms[0] };

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* The target is in the middle. One for each origin. */
struct words {
    uint64_t before, target, after;
};

static struct words static_words[PES_MAX];
static const uint64_t BESIDE = 0x5a5a5a5a5a5a5a5au;

/* One word, its routines and what it should hold. */
struct run {
    const struct form *form;
    const struct way *way;
    struct words *words; /* symmetric: of this PE as the origin */
    int target;
    bool nbi;
    uint64_t model;
};

static uint64_t truncated(const struct form *form, uint64_t bits)
{
    return form->size == 4 ? (uint32_t)bits : bits;
}

static void expect(const struct run *run, const char *operation, uint64_t found, uint64_t expected)
{
    found = truncated(run->form, found);
    expected = truncated(run->form, expected);
    CHECK_THAT(found == expected, "shmem_%s_atomic_%s%s, %s, PE %d: found %#llx, expected %#llx", run->form->name,
               operation, run->nbi ? "_nbi" : "", run->way->name, run->target, (unsigned long long)found,
               (unsigned long long)expected);
}

static void fetch_and_expect(struct run *run)
{
    uint64_t old = BESIDE;
    run->form->fetch(run->way->context, run->nbi, &old, &run->words->target, 0, way_pe(run->way, run->target));
    if (run->nbi)
        way_quiet(run->way);
    expect(run, "fetch", old, run->model);
    CHECK_THAT(run->form->size == 8 || old >> 32 == BESIDE >> 32, "shmem_%s_atomic_fetch%s wrote beside its result",
               run->form->name, run->nbi ? "_nbi" : "");
}

static void check_fetching(struct run *run, const char *operation, fetch_func_t function, uint64_t operand,
                           uint64_t result)
{
    uint64_t old = BESIDE;
    if (!function)
        return;
    function(run->way->context, run->nbi, &old, &run->words->target, operand, way_pe(run->way, run->target));
    if (run->nbi)
        way_quiet(run->way);
    expect(run, operation, old, run->model);
    run->model = result;
    fetch_and_expect(run);
}

static void check_posting(struct run *run, const char *operation, post_func_t function, uint64_t operand,
                          uint64_t result)
{
    if (!function)
        return;
    function(run->way->context, &run->words->target, operand, way_pe(run->way, run->target));
    way_quiet(run->way);
    run->model = result;
    uint64_t old = 0;
    run->form->fetch(run->way->context, false, &old, &run->words->target, 0, way_pe(run->way, run->target));
    expect(run, operation, old, run->model);
}

static void check_compare_swap(struct run *run, uint64_t cond, uint64_t value)
{
    uint64_t old = BESIDE;
    if (!run->form->compare_swap)
        return;
    run->form->compare_swap(run->way->context, run->nbi, &old, &run->words->target, cond, value,
                            way_pe(run->way, run->target));
    if (run->nbi)
        way_quiet(run->way);
    expect(run, "compare_swap", old, run->model);
    if (truncated(run->form, cond) == truncated(run->form, run->model))
        run->model = value;
    fetch_and_expect(run);
}

/* Bits that are special values in some type: numbers at the ends of 32 and 64 bits, negative zero, quiet and signalling
 * NaNs with payload. */
static const uint64_t operands[] = {
    0,
    1,
    UINT64_MAX,
    0x7fffffff7fffffff,
    0x8000000080000000, /* least int and long, -0.0f in the lower half */
    0x8000000000000000, /* -0.0 */
    0x7ff8000012345678,
    0x7ff0dead7fa00bad, /* signalling, both halves */
    0x0123456789abcdef,
};
enum { N_OPERANDS = sizeof operands / sizeof operands[0] };

static void check_operations(struct run *run, int first, int step)
{
    const struct form *form = run->form;
    for (int i = first; i < N_OPERANDS; i += step) {
        const uint64_t v = operands[i], w = operands[(i + 4) % N_OPERANDS];
        check_posting(run, "set", form->set, v, v);
        check_fetching(run, "swap", form->swap, w, w);
        check_fetching(run, "swap", form->swap, v, v);
        check_compare_swap(run, ~v, w);
        check_compare_swap(run, v, w);
        check_fetching(run, "fetch_add", form->fetch_add, v, run->model + v);
        check_posting(run, "add", form->add, w, run->model + w);
        check_fetching(run, "fetch_and", form->fetch_and, v, run->model & v);
        check_fetching(run, "fetch_or", form->fetch_or, w, run->model | w);
        check_fetching(run, "fetch_xor", form->fetch_xor, v, run->model ^ v);
        check_posting(run, "or", form->bit_or, v, run->model | v);
        check_posting(run, "xor", form->bit_xor, w, run->model ^ w);
        check_posting(run, "and", form->bit_and, ~v, run->model & ~v);
        check_posting(run, "set", form->set, v, v);
        check_fetching(run, "fetch_inc", form->fetch_inc, 0, run->model + 1);
        check_posting(run, "inc", form->inc, 0, run->model + 1);
    }
}

static void check_beside(const struct form *form, const struct words *words)
{
    for (int origin = 0; origin < shmem_n_pes(); origin++) {
        const struct words *found = &words[origin];
        CHECK_THAT(found->before == BESIDE && found->after == BESIDE &&
                       (form->size == 8 || found->target >> 32 == BESIDE >> 32),
                   "shmem_%s_atomic_*: PE %d wrote beside its word", form->name, origin);
    }
}

/* All operands on the first way, every third one on the others. */
static void check_form(const struct form *form, const struct way *way, struct words *words, bool has_nbi)
{
    const bool is_plain = way->context == SHMEM_CTX_INVALID;
    for (int round = 0; round < shmem_n_pes(); round++) {
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            words[pe] = (struct words){BESIDE, BESIDE, BESIDE};
        shmem_barrier_all();
        struct run run = {.form = form, .way = way, .words = &words[shmem_my_pe()], .target = check_target(round)};
        for (int nbi = 0; nbi <= has_nbi; nbi++) {
            run.nbi = nbi;
            check_operations(&run, is_plain ? 0 : round % 3, is_plain ? 1 : 3);
        }
        shmem_barrier_all();
        check_beside(form, words);
    }
}

int main(void)
{
    struct way ways[N_WAYS];
    shmem_init();
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    ways_open(ways);
    struct words *heap_words = check_shmem_malloc((size_t)shmem_n_pes() * sizeof *heap_words);
    for (unsigned i = 0; i < N_FORMS; i++)
        for (unsigned w = 0; w < N_WAYS; w++)
            check_form(&forms[i], &ways[w], (i + w) % 2 ? heap_words : static_words, true);
    for (unsigned i = 0; i < N_OLD_FORMS; i++) {
        check_form(&old_forms[i], &ways[0], heap_words, false);
        check_form(&old_forms[i], &ways[0], static_words, false);
    }
    ways_close(ways);
    return check_end();
}
