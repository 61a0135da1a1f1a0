/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of words that several PEs write and one waits for or tests, in every form: all, any, some, a value for each word,
 * with words that are left out. And locks, under which PEs change a word one after the other.
 */
#include "word_calls.h"

#include "tests/patience.h"

static long locks[STEPS_MAX];

/* ---- Sets ------------------------------------------------------------------------------------------------------------ */

static bool draw_set(struct drawn_step *step, struct random_numbers *numbers)
{
    static const int cmps[] = {SHMEM_CMP_EQ, SHMEM_CMP_GE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_NE};
    struct drawn_wait *w = &step->wait;
    w->type = 2 + (int)below(numbers, (size_t)n_word_types - 2);
    w->n = 1 + (int)below(numbers, WORDS_MAX);
    w->form = (int)below(numbers, N_WAIT_FORMS);
    w->cmp = cmps[below(numbers, w->form >= W_ALL_VECTOR ? 6 : 5)];
    w->is_test = one_in(numbers, 3);
    w->has_status = one_in(numbers, 2);
    for (int i = 0; i < w->n; i++) {
        w->status[i] = w->has_status && one_in(numbers, 3);
        w->senders[i] = (int)below(numbers, (size_t)job.n);
        w->hows[i] = (int)below(numbers, 3);
    }
    const size_t size = word_types[w->type].size;
    const struct byte_shape words = shape_of((size_t)w->n * size);
    w->object = (int)below(numbers, (size_t)program.n_objects);
    return claim_anywhere(numbers, w->object, &step->actor, 1, &words, size, CLAIM_WRITE, &w->at);
}

/* The value that meets the comparison: the greatest or the least where the others are to be on one side. */
static uint64_t end_value(const struct drawn_step *step)
{
    const struct word_type *type = &word_types[step->wait.type];
    const int bits = (int)type->size * 8;
    const uint64_t ones = bits == 64 ? ~(uint64_t)0 : 0xffffffff, top = (uint64_t)1 << (bits - 1);
    switch (step->wait.cmp) {
    case SHMEM_CMP_GE:
    case SHMEM_CMP_GT:
        return type->is_signed ? ones ^ top : ones;
    case SHMEM_CMP_LE:
    case SHMEM_CMP_LT:
        return type->is_signed ? top : 0;
    default:
        return step_key(step, 1) & ones;
    }
}

static uint64_t compared_with(const struct drawn_step *step, int i)
{
    const uint64_t value = end_value(step);
    const int cmp = step->wait.cmp;
    return cmp == SHMEM_CMP_GT   ? value - 1
           : cmp == SHMEM_CMP_LT ? value + 1
           : cmp == SHMEM_CMP_NE ? step->wait.before[i]
                                 : value;
}

/* Words that are left out are written as well. */
static void foresee_set(const struct drawn_step *step)
{
    struct drawn_wait *w = &program.steps[step->number].wait;
    const size_t size = word_types[w->type].size;
    const uint64_t value = end_value(step);
    for (int i = 0; i < w->n; i++) {
        unsigned char *word = model_at(w->object, step->actor, w->at + (size_t)i * size);
        w->before[i] = 0;
        memcpy(&w->before[i], word, size);
        memcpy(word, &value, size);
    }
}

static void send_word(const struct drawn_step *step, int i)
{
    const struct drawn_wait *w = &step->wait;
    const size_t size = word_types[w->type].size;
    void *word = address_of(w->object, w->at + (size_t)i * size);
    const uint64_t value = end_value(step);
    const struct amo_call set = {
        .amo = w->hows[i] ? A_SET : A_SWAP, .dest = word, .value = value, .pe = step->actor, .fetch = &(uint64_t){0}};
    if (w->hows[i] == 2)
        size == 4 ? shmem_uint32_p(word, (uint32_t)value, step->actor) : shmem_uint64_p(word, value, step->actor);
    else
        word_types[w->type].amo(&set);
}

/* Marks what the call has found; returns how many that are. */
static int found(const struct drawn_step *step, const struct wait_call *call, size_t result, int *status)
{
    const struct drawn_wait *w = &step->wait;
    const enum wait_form form = call->form;
    if (form == W_ANY || form == W_ANY_VECTOR) {
        if (result == SIZE_MAX)
            return 0;
        EXPECT(step, result < (size_t)w->n && !status[result], "the index %zu is none that was asked for", result);
        status[result] = 1;
        return 1;
    }
    EXPECT(step, result <= (size_t)w->n, "%zu of %d words are said to meet the condition", result, w->n);
    for (size_t i = 0; i < result; i++) {
        const size_t index = call->indices[i];
        EXPECT(step, index < (size_t)w->n && !status[index], "the index %zu is none that was asked for", index);
        status[index] = 1;
    }
    return (int)result;
}

static void wait_for_all(const struct drawn_step *step, struct wait_call *call)
{
    const struct drawn_wait *w = &step->wait;
    const size_t size = word_types[w->type].size;
    char *const words = call->words;
    unsigned turns = 0;
    for (int i = 0; i < (call->form == W_ONE ? w->n : 1); i++) {
        call->words = words + (size_t)i * size;
        if (call->form == W_ONE && w->status[i])
            continue;
        while (word_types[w->type].wait(call) == 0)
            wait_a_turn(&turns);
    }
}

static void wait_for_words(const struct drawn_step *step)
{
    const struct drawn_wait *w = &step->wait;
    const size_t size = word_types[w->type].size;
    unsigned char values[WORDS_MAX * 8];
    size_t indices[WORDS_MAX];
    int status[WORDS_MAX], n_left = 0;
    unsigned turns = 0;
    for (int i = 0; i < w->n; i++) {
        const uint64_t value = compared_with(step, i);
        memcpy(values + (size_t)i * size, &value, size);
        status[i] = w->status[i];
        n_left += !status[i];
    }
    struct wait_call call = {
        (enum wait_form)w->form, w->is_test, address_of(w->object, w->at), (size_t)w->n, indices, status, w->cmp,
        compared_with(step, 0),  values};
    if (w->form == W_ONE || w->form == W_ALL || w->form == W_ALL_VECTOR) {
        call.status = w->has_status ? w->status : NULL;
        wait_for_all(step, &call);
        return;
    }
    while (n_left) {
        const int n = found(step, &call, word_types[w->type].wait(&call), status);
        n_left -= n;
        EXPECT(step, n || w->is_test, "a wait for one of %d words has found none", n_left);
        if (!n)
            wait_a_turn(&turns);
    }
    const size_t none = word_types[w->type].wait(&call); /* none is left: returns at once */
    EXPECT(step, none == (w->form == W_ANY || w->form == W_ANY_VECTOR ? SIZE_MAX : 0), "of no words %zu are found",
           none);
}

static void play_set(struct drawn_step *step)
{
    const struct drawn_wait *w = &step->wait;
    for (int i = 0; i < w->n; i++)
        if (w->senders[i] == job.me)
            send_word(step, i);
    if (step->actor != job.me)
        return;
    shmem_quiet(); /* what this PE has sent itself */
    wait_for_words(step);
}

static void print_set(const struct drawn_step *step, FILE *out)
{
    const struct drawn_wait *w = &step->wait;
    fprintf(out, "PE %d: %s %s%s, cmp %d, %d words at %s + %zu, from PEs", step->actor, word_types[w->type].name,
            w->is_test ? "test" : "wait_until", wait_names[w->form], w->cmp, w->n, object_text(w->object), w->at);
    for (int i = 0; i < w->n; i++)
        fprintf(out, " %d%s", w->senders[i], w->status[i] ? " (left out)" : "");
}

const struct step_family wait_sets = {"wait", 3, draw_set, foresee_set, play_set, NULL, print_set};

/* ---- Locks ----------------------------------------------------------------------------------------------------------- */

static bool draw_lock(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_lock *l = &step->lock;
    const struct byte_shape word = shape_of(8);
    l->n_actors = 1 + (int)below(numbers, (size_t)job.n);
    l->n_each = 1 + (int)below(numbers, 4);
    l->is_test = one_in(numbers, 2);
    l->target = (int)below(numbers, (size_t)job.n);
    l->object = (int)below(numbers, (size_t)program.n_objects);
    return claim_anywhere(numbers, l->object, &l->target, 1, &word, 8, CLAIM_WRITE, &l->at);
}

static void foresee_lock(const struct drawn_step *step)
{
    const struct drawn_lock *l = &step->lock;
    unsigned char *word = model_at(l->object, l->target, l->at);
    uint64_t value;
    memcpy(&value, word, 8);
    value += (uint64_t)(l->n_actors * l->n_each);
    memcpy(word, &value, 8);
}

static void play_lock(struct drawn_step *step)
{
    const struct drawn_lock *l = &step->lock;
    uint64_t *word = (uint64_t *)address_of(l->object, l->at);
    long *lock = &locks[step->number];
    unsigned turns = 0;
    if ((job.me - step->actor + job.n) % job.n >= l->n_actors)
        return;
    for (int i = 0; i < l->n_each; i++) {
        if (!l->is_test)
            shmem_set_lock(lock);
        while (l->is_test && shmem_test_lock(lock))
            wait_a_turn(&turns);
        shmem_uint64_p(word, shmem_uint64_g(word, l->target) + 1, l->target);
        shmem_clear_lock(lock);
    }
}

static void print_lock(const struct drawn_step *step, FILE *out)
{
    const struct drawn_lock *l = &step->lock;
    fprintf(out, "%s by %d PEs from %d on, %d times each, around a word of PE %d, %s + %zu",
            l->is_test ? "test_lock" : "set_lock", l->n_actors, step->actor, l->n_each, l->target,
            object_text(l->object), l->at);
}

const struct step_family lock_steps = {"lock", 1, draw_lock, foresee_lock, play_lock, NULL, print_lock};
