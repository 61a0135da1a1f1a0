/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers: put and get in all forms, types and shapes, from and to private memory of every kind.
 */
#include "typed.h"

#include <alloca.h>

enum { WORDS_AT_MOST = 40 };

static bool is_put(enum verb verb)
{
    return verb == PUT || verb == PUT_NBI || verb == PUT_SIGNAL || verb == PUT_SIGNAL_NBI || verb == IPUT ||
           verb == IBPUT || verb == P;
}

static bool is_nonblocking(const struct drawn_transfer *t)
{
    return t->is_nbi || t->verb == PUT_NBI || t->verb == GET_NBI || t->verb == PUT_SIGNAL_NBI;
}

static bool is_strided(enum verb verb)
{
    return verb == IPUT || verb == IGET || verb == IBPUT || verb == IBGET;
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static size_t pitch_of(struct random_numbers *numbers, size_t row, size_t unit)
{
    return row + unit * (one_in(numbers, 3) ? 0 : below(numbers, one_in(numbers, 4) ? 200 : 6));
}

/* The same rows and layers on both sides, at distances of their own. */
static void draw_box(struct random_numbers *numbers, struct drawn_transfer *t)
{
    struct byte_shape *a = &t->there, *b = &t->local.shape;
    *a = (struct byte_shape){.width = size_draw(numbers, 600), .rows = below(numbers, 9), .layers = below(numbers, 5)};
    *b = *a;
    a->row_pitch = pitch_of(numbers, a->width, 1);
    b->row_pitch = pitch_of(numbers, b->width, 1);
    a->layer_pitch = pitch_of(numbers, a->rows * a->row_pitch, 1);
    b->layer_pitch = pitch_of(numbers, b->rows * b->row_pitch, 1);
}

static void draw_strided(struct random_numbers *numbers, struct drawn_transfer *t)
{
    const size_t size = rma_types[t->type].size;
    const size_t block = t->verb == IPUT || t->verb == IGET ? 1 : below(numbers, 12);
    struct byte_shape *a = &t->there, *b = &t->local.shape;
    const size_t rows = one_in(numbers, 3) ? size_draw(numbers, 2000) : below(numbers, WORDS_AT_MOST);
    *a = (struct byte_shape){.width = block * size, .rows = rows, .layers = 1};
    *b = *a;
    a->row_pitch = pitch_of(numbers, block ? a->width : size, size);
    b->row_pitch = pitch_of(numbers, block ? b->width : size, size);
}

static void draw_shapes(struct random_numbers *numbers, struct drawn_transfer *t)
{
    const size_t size = rma_types[t->type].size, most = program.objects[t->object].size;
    if (t->is_box)
        draw_box(numbers, t);
    else if (is_strided(t->verb))
        draw_strided(numbers, t);
    else
        t->there = t->local.shape =
            shape_of(t->verb == P || t->verb == G ? size : size_draw(numbers, most) / size * size);
}

static void draw_verb(struct random_numbers *numbers, struct drawn_transfer *t)
{
    t->type = (int)below(numbers, (size_t)n_rma_types);
    t->verb = (enum verb)below(numbers, N_VERBS);
    t->is_box = one_in(numbers, 7);
    if (t->is_box) {
        t->type = 0;
        t->is_nbi = one_in(numbers, 2);
        t->verb = one_in(numbers, 2) ? PUT : GET;
        return;
    }
    const struct rma_type *type = &rma_types[t->type];
    if ((is_strided(t->verb) && !type->has_strides) || ((t->verb == P || t->verb == G) && !type->has_value) ||
        (t->verb == P && type->value_bytes != type->size))
        t->verb = (enum verb)below(numbers, type->is_bare ? PUT_SIGNAL : IPUT);
    if (type->is_bare && t->verb > GET_NBI)
        t->verb -= PUT_SIGNAL;
    if (type->is_bare)
        t->context = PLAIN;
}

static bool draw_signal(struct random_numbers *numbers, struct drawn_transfer *t)
{
    const struct byte_shape word = shape_of(8);
    t->has_signal = t->verb == PUT_SIGNAL || t->verb == PUT_SIGNAL_NBI;
    if (!t->has_signal)
        return true;
    t->signal_object = (int)below(numbers, (size_t)program.n_objects);
    t->signal_op = one_in(numbers, 2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    return claim_anywhere(numbers, t->signal_object, &t->target, 1, &word, 8,
                          t->signal_op == SHMEM_SIGNAL_SET ? CLAIM_WRITE : CLAIM_ADD_64, &t->signal_offset);
}

/* A PE's own object must not overlap with itself, gaps included. */
static bool overlaps_itself(const struct drawn_step *step)
{
    const struct drawn_transfer *t = &step->transfer;
    return t->local.kind == IN_OBJECT && t->target == step->actor && t->local.object == t->object &&
           t->offset < t->local.offset + shape_extent(&t->local.shape) &&
           t->local.offset < t->offset + shape_extent(&t->there);
}

/* p and g have a value on this side: not mapped memory, nor symmetric memory, of which the padding would be compared. */
static bool has_no_value(const struct drawn_transfer *t)
{
    return (t->verb == P || t->verb == G) && t->local.kind == IN_OBJECT &&
           (!object_is_host(&program.objects[t->local.object]) ||
            rma_types[t->type].value_bytes < rma_types[t->type].size);
}

static bool is_host_local(const struct drawn_transfer *t)
{
    return t->local.kind != IN_OBJECT || object_is_host(&program.objects[t->local.object]);
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_transfer *t = &step->transfer;
    int pes[PES_MAX], n;
    t->context = context_draw(numbers, step->lane, step->actor, pes, &n);
    t->target = pes[below(numbers, (size_t)n)];
    t->object = (int)below(numbers, (size_t)program.n_objects);
    draw_verb(numbers, t);
    draw_shapes(numbers, t);
    t->local.slot = step->number;
    t->is_direct = !t->is_box && (t->verb == PUT || t->verb == GET) && object_is_host(&program.objects[t->object]) &&
                   one_in(numbers, 6);
    const size_t align = rma_types[t->type].size;
    const bool put = is_put(t->verb);
    return claim_anywhere(numbers, t->object, &t->target, 1, &t->there, align, put ? CLAIM_WRITE : CLAIM_READ,
                          &t->offset) &&
           local_draw(numbers, &t->local, step->actor, align, !is_nonblocking(t), put ? CLAIM_READ : CLAIM_WRITE) &&
           draw_signal(numbers, t) && (!t->is_direct || is_host_local(t)) && !overlaps_itself(step) && !has_no_value(t);
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

static void foresee_signal(const struct drawn_step *step)
{
    const struct drawn_transfer *t = &step->transfer;
    unsigned char *word = model_at(t->signal_object, t->target, t->signal_offset);
    uint64_t value = step_key(step, 1), old;
    memcpy(&old, word, 8);
    if (t->signal_op == SHMEM_SIGNAL_ADD)
        value += old;
    memcpy(word, &value, 8);
}

static void foresee(const struct drawn_step *step)
{
    const struct drawn_transfer *t = &step->transfer;
    unsigned char *there = model_at(t->object, t->target, t->offset);
    if (is_put(t->verb))
        shape_copy(there, &t->there, local_model(&t->local, step->actor, step_key(step, 0)), &t->local.shape);
    else if (t->local.kind == IN_OBJECT)
        shape_copy(model_at(t->local.object, step->actor, t->local.offset), &t->local.shape, there, &t->there);
    if (t->has_signal)
        foresee_signal(step);
}

/* ---- The library ----------------------------------------------------------------------------------------------------- */

static void call_box(const struct drawn_transfer *t, void *local, void *there)
{
    const bool put = is_put(t->verb);
    const struct byte_shape *dest = put ? &t->there : &t->local.shape, *source = put ? &t->local.shape : &t->there;
    const shmemx_box_t box = {dest->width,       dest->rows,        dest->layers,       dest->row_pitch,
                              dest->layer_pitch, source->row_pitch, source->layer_pitch};
    static void (*const plain[])(void *, const void *, const shmemx_box_t *,
                                 int) = {shmemx_get_box, shmemx_put_box, shmemx_get_box_nbi, shmemx_put_box_nbi};
    static void (*const on_context[])(shmem_ctx_t, void *, const void *, const shmemx_box_t *, int) = {
        shmemx_ctx_get_box, shmemx_ctx_put_box, shmemx_ctx_get_box_nbi, shmemx_ctx_put_box_nbi};
    const int which = 2 * t->is_nbi + put, pe = context_pe(t->context, t->target);
    const shmem_ctx_t ctx = context_handle(t->context);
    if (ctx == SHMEM_CTX_INVALID)
        plain[which](put ? there : local, put ? local : there, &box, pe);
    else
        on_context[which](ctx, put ? there : local, put ? local : there, &box, pe);
}

/* By loads and stores, where there is an address for that. */
static bool copy_directly(const struct drawn_transfer *t, void *local, void *there)
{
    void *memory = t->is_direct ? shmem_ptr(there, t->target) : NULL;
    if (memory)
        memcpy(is_put(t->verb) ? memory : local, is_put(t->verb) ? local : memory, t->there.width);
    return memory != NULL;
}

static void call_typed(const struct drawn_step *step, void *local, void *there)
{
    const struct drawn_transfer *t = &step->transfer;
    const struct rma_type *type = &rma_types[t->type];
    const bool put = is_put(t->verb);
    const struct byte_shape *dest = put ? &t->there : &t->local.shape, *source = put ? &t->local.shape : &t->there;
    struct typed_call call = {.verb = t->verb,
                              .ctx = context_handle(t->context),
                              .dest = put ? there : local,
                              .source = put ? local : there,
                              .nelems = is_strided(t->verb) ? dest->rows : dest->width / type->size,
                              .bsize = dest->width / type->size,
                              .dst = (ptrdiff_t)(dest->row_pitch / type->size),
                              .sst = (ptrdiff_t)(source->row_pitch / type->size),
                              .pe = context_pe(t->context, t->target)};
    if (t->has_signal) {
        call.sig_addr = (uint64_t *)address_of(t->signal_object, t->signal_offset);
        call.signal = step_key(step, 1);
        call.sig_op = t->signal_op;
    }
    type->call(&call);
}

/* The padding of what comes by value is not looked at. */
static void check(const struct drawn_step *step, unsigned char *memory)
{
    const struct drawn_transfer *t = &step->transfer;
    const unsigned char *came = is_put(t->verb) ? NULL : model_at(t->object, t->target, t->offset);
    const size_t known = rma_types[t->type].value_bytes;
    if (t->verb == G && t->local.kind != IN_OBJECT)
        memcpy((char *)local_address(&t->local, memory) + known, came + known, t->there.width - known);
    local_check(&t->local, memory, step_key(step, 0), came, &t->there, step->number);
}

static void play(struct drawn_step *step)
{
    struct drawn_transfer *t = &step->transfer;
    if (step->actor != job.me)
        return;
    unsigned char *stack = t->local.kind == ON_STACK ? alloca(local_bytes(&t->local)) : NULL;
    step->memory = local_open(&t->local, step_key(step, 0), stack);
    void *local = local_address(&t->local, step->memory), *there = address_of(t->object, t->offset);
    if (t->is_box)
        call_box(t, local, there);
    else if (!copy_directly(t, local, there))
        call_typed(step, local, there);
    if (is_nonblocking(t))
        return;
    check(step, step->memory);
    local_close(&t->local, step->memory);
}

static void end(struct drawn_step *step)
{
    struct drawn_transfer *t = &step->transfer;
    if (step->actor != job.me || !is_nonblocking(t))
        return;
    check(step, step->memory);
    local_close(&t->local, step->memory);
}

static void print_shape(const struct byte_shape *shape, FILE *out)
{
    if (shape->rows == 1 && shape->layers == 1)
        fprintf(out, "%zu bytes", shape->width);
    else
        fprintf(out, "%zu x %zu x %zu bytes at %zu, %zu", shape->layers, shape->rows, shape->width, shape->row_pitch,
                shape->layer_pitch);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_transfer *t = &step->transfer;
    fprintf(out, "PE %d: %s %s%s %s PE %d, %s + %zu, ", step->actor, t->is_box ? "box" : rma_types[t->type].name,
            verb_names[t->verb], t->is_nbi ? " nbi" : "", is_put(t->verb) ? "to" : "from", t->target,
            object_text(t->object), t->offset);
    print_shape(&t->there, out);
    fprintf(out, "; here %s, ", local_text(&t->local));
    print_shape(&t->local.shape, out);
    fprintf(out, "; %s%s", context_text(t->context), t->is_direct ? "; by shmem_ptr" : "");
    if (t->has_signal)
        fprintf(out, "; signal %s at %s + %zu", t->signal_op == SHMEM_SIGNAL_ADD ? "add" : "set",
                object_text(t->signal_object), t->signal_offset);
}

const struct step_family transfers = {"transfer", 20, draw, foresee, play, end, print};
