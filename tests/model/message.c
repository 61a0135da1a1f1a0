/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: data and a word that tells of them, sent on from PE to PE. Whoever has seen the word must see the data, and
 * sends them to the next.
 */
#include "word_calls.h"

#include "tests/patience.h"

#include <stdlib.h>

enum message_way {
    PUT_WITH_SIGNAL,
    PUT_WITH_SIGNAL_ADDED,
    PUT_NBI_WITH_SIGNAL,
    PUT_FENCE_SIGNAL_SET,
    PUT_NBI_FENCE_SIGNAL_ADD,
    PUT_FENCE_P,
    PUT_QUIET_SET,
    PUT_NBI_FENCE_ADD,
    N_WAYS
};
static const char *const ways[N_WAYS] = {"put_signal",
                                         "put_signal add",
                                         "put_signal_nbi",
                                         "put, fence, signal_set",
                                         "put_nbi, fence, signal_add",
                                         "put, fence, p",
                                         "put, quiet, atomic_set",
                                         "put_nbi, fence, atomic_add"};

enum { WAIT_SIGNAL, WAIT_NE, WAIT_FETCH, WAIT_TEST, WAIT_FORMS, N_WAITS = WAIT_FORMS + N_WAIT_FORMS };

static bool adds(int way)
{
    return way == PUT_WITH_SIGNAL_ADDED || way == PUT_NBI_FENCE_SIGNAL_ADD || way == PUT_NBI_FENCE_ADD;
}

static int sender_of(const struct drawn_step *step, int hop)
{
    return hop == 0 ? step->actor : step->message.hops[hop - 1].pe;
}

static bool draw_hop(struct drawn_step *step, struct random_numbers *numbers, int number)
{
    struct drawn_hop *hop = &step->message.hops[number];
    const struct byte_shape data = shape_of(step->message.nbytes), word = shape_of(8);
    int pes[PES_MAX], n;
    hop->context = context_draw(numbers, step->lane, sender_of(step, number), pes, &n);
    hop->pe = pes[below(numbers, (size_t)n)];
    hop->way = (int)below(numbers, N_WAYS);
    hop->wait = (int)below(numbers, N_WAITS);
    hop->object = (int)below(numbers, (size_t)program.n_objects);
    hop->word_object = (int)below(numbers, (size_t)program.n_objects);
    if (step->lane > 0 && !object_is_host(&program.objects[hop->object]))
        return false; /* one thread of a PE uses the device */
    return claim_anywhere(numbers, hop->object, &hop->pe, 1, &data, 1, CLAIM_WRITE, &hop->at) &&
           claim_anywhere(numbers, hop->word_object, &hop->pe, 1, &word, 8, CLAIM_WRITE, &hop->word_at);
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_message *m = &step->message;
    m->nbytes = size_draw(numbers, program.objects[0].size);
    m->n_hops = 1 + (int)below(numbers, HOPS_MAX);
    for (int i = 0; i < m->n_hops; i++)
        if (!draw_hop(step, numbers, i))
            return false;
    return true;
}

/* The word before and after are remembered for those who wait. */
static void foresee(const struct drawn_step *step)
{
    struct drawn_message *m = &program.steps[step->number].message;
    for (int i = 0; i < m->n_hops; i++) {
        struct drawn_hop *hop = &m->hops[i];
        unsigned char *word = model_at(hop->word_object, hop->pe, hop->word_at);
        const uint64_t value = step_key(step, 8 + i);
        pattern_fill(model_at(hop->object, hop->pe, hop->at), m->nbytes, step_key(step, 0));
        memcpy(&hop->before, word, 8);
        hop->after = adds(hop->way) ? hop->before + value : value;
        memcpy(word, &hop->after, 8);
    }
}

/* ---- Sending --------------------------------------------------------------------------------------------------------- */

static void put(const struct drawn_hop *hop, const void *source, size_t nbytes, bool is_nbi)
{
    const shmem_ctx_t ctx = context_handle(hop->context);
    void *dest = address_of(hop->object, hop->at);
    const int pe = context_pe(hop->context, hop->pe);
    if (ctx == SHMEM_CTX_INVALID)
        (is_nbi ? shmem_putmem_nbi : shmem_putmem)(dest, source, nbytes, pe);
    else
        (is_nbi ? shmem_ctx_putmem_nbi : shmem_ctx_putmem)(ctx, dest, source, nbytes, pe);
}

static void put_signal(const struct drawn_hop *hop, const void *source, size_t nbytes, uint64_t value)
{
    const shmem_ctx_t ctx = context_handle(hop->context);
    void *dest = address_of(hop->object, hop->at);
    uint64_t *word = (uint64_t *)address_of(hop->word_object, hop->word_at);
    const int pe = context_pe(hop->context, hop->pe), op = adds(hop->way) ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    const bool is_nbi = hop->way == PUT_NBI_WITH_SIGNAL;
    if (ctx == SHMEM_CTX_INVALID)
        (is_nbi ? shmem_putmem_signal_nbi : shmem_putmem_signal)(dest, source, nbytes, word, value, op, pe);
    else
        (is_nbi ? shmem_ctx_putmem_signal_nbi : shmem_ctx_putmem_signal)(ctx, dest, source, nbytes, word, value, op,
                                                                         pe);
}

static void tell(const struct drawn_hop *hop, uint64_t value)
{
    shmem_ctx_t ctx = context_handle(hop->context);
    uint64_t *word = (uint64_t *)address_of(hop->word_object, hop->word_at);
    const int pe = context_pe(hop->context, hop->pe);
    ctx = ctx == SHMEM_CTX_INVALID ? SHMEM_CTX_DEFAULT : ctx;
    if (hop->way == PUT_FENCE_SIGNAL_SET)
        shmem_ctx_signal_set(ctx, word, value, pe);
    else if (hop->way == PUT_NBI_FENCE_SIGNAL_ADD)
        shmem_ctx_signal_add(ctx, word, value, pe);
    else if (hop->way == PUT_FENCE_P)
        shmem_ctx_uint64_p(ctx, word, value, pe);
    else if (hop->way == PUT_QUIET_SET)
        shmem_ctx_uint64_atomic_set(ctx, word, value, pe);
    else
        shmem_ctx_uint64_atomic_add(ctx, word, value, pe);
}

static void send(const struct drawn_step *step, int number, const void *source)
{
    const struct drawn_hop *hop = &step->message.hops[number];
    const uint64_t value = step_key(step, 8 + number);
    if (hop->way <= PUT_NBI_WITH_SIGNAL) {
        put_signal(hop, source, step->message.nbytes, value);
        return;
    }
    put(hop, source, step->message.nbytes, hop->way == PUT_NBI_FENCE_SIGNAL_ADD || hop->way == PUT_NBI_FENCE_ADD);
    if (hop->way == PUT_QUIET_SET)
        context_quiet(hop->context);
    else
        context_fence(hop->context);
    tell(hop, value);
}

/* ---- Receiving ------------------------------------------------------------------------------------------------------- */

static void wait_for(const struct drawn_hop *hop)
{
    uint64_t *word = (uint64_t *)address_of(hop->word_object, hop->word_at);
    unsigned turns = 0;
    size_t index;
    const struct wait_call call = {.form = (enum wait_form)(hop->wait - WAIT_FORMS),
                                   .words = word,
                                   .n = 1,
                                   .indices = &index,
                                   .cmp = SHMEM_CMP_EQ,
                                   .value = hop->after,
                                   .values = &hop->after};
    switch (hop->wait) {
    case WAIT_SIGNAL:
        shmem_signal_wait_until(word, SHMEM_CMP_EQ, hop->after);
        break;
    case WAIT_NE:
        shmem_uint64_wait_until(word, SHMEM_CMP_NE, hop->before);
        break;
    case WAIT_FETCH:
        while (shmem_signal_fetch(word) != hop->after)
            wait_a_turn(&turns);
        break;
    case WAIT_TEST:
        while (!shmem_uint64_test(word, SHMEM_CMP_EQ, hop->after))
            wait_a_turn(&turns);
        break;
    default:
        word_types[n_word_types - 1].wait(&call);
    }
}

static void look(const struct drawn_step *step, const struct drawn_hop *hop)
{
    const size_t nbytes = step->message.nbytes;
    const unsigned char *expected = model_at(hop->object, job.me, hop->at);
    unsigned char *found = model_malloc(nbytes);
    object_load(hop->object, hop->at, found, nbytes);
    for (size_t i = 0; memcmp(found, expected, nbytes) != 0 && i < nbytes; i++)
        EXPECT(step, found[i] == expected[i], "the word has come (%s), but byte %zu of the data is %#x instead of %#x",
               ways[hop->way], i, found[i], expected[i]);
    free(found);
}

/* The source of the first hop is private, and must stay until the end. */
static void play(struct drawn_step *step)
{
    struct drawn_message *m = &step->message;
    if (step->actor == job.me) {
        step->memory = model_malloc(m->nbytes + 8);
        pattern_fill(step->memory, m->nbytes, step_key(step, 0));
    }
    for (int i = 0; i < m->n_hops; i++) {
        const struct drawn_hop *hop = &m->hops[i];
        if (sender_of(step, i) == job.me)
            send(step, i, i == 0 ? (void *)step->memory : address_of(m->hops[i - 1].object, m->hops[i - 1].at));
        if (hop->pe != job.me)
            continue;
        if (sender_of(step, i) == job.me && hop->way == PUT_NBI_WITH_SIGNAL)
            context_quiet(hop->context);
        wait_for(hop);
        look(step, hop);
    }
}

static void end(struct drawn_step *step)
{
    if (step->actor == job.me)
        free(step->memory);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_message *m = &step->message;
    fprintf(out, "%zu bytes from PE %d", m->nbytes, step->actor);
    for (int i = 0; i < m->n_hops; i++)
        fprintf(out, ", by %s to PE %d, %s + %zu, word %s + %zu, %s, wait %d", ways[m->hops[i].way], m->hops[i].pe,
                object_text(m->hops[i].object), m->hops[i].at, object_text(m->hops[i].word_object), m->hops[i].word_at,
                context_text(m->hops[i].context), m->hops[i].wait);
}

const struct step_family messages = {"message", 5, draw, foresee, play, end, print};
