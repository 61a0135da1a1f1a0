/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives: over teams and active sets, in place and not, blocking and in queues. All groups of a split take part at
 * the same time. Each member writes its source before the call, and another pattern over it as soon as the call returns.
 */
#include "coll_calls.h"

#include "mapped.h"

#include <stdlib.h>

static long sync_words[STEPS_MAX][SHMEM_ALLTOALLS_SYNC_SIZE];

/* ---- Members --------------------------------------------------------------------------------------------------------- */

static int groups_of(const struct drawn_coll *c)
{
    return coll_types[c->type].is_set ? 1 : program.teams[c->team].n_groups;
}

static int members_of(const struct drawn_coll *c, int group, int *members)
{
    if (!coll_types[c->type].is_set)
        return team_members(c->team, group, members);
    for (int i = 0; i < c->set_size; i++)
        members[i] = c->start + (i << c->log_stride);
    return c->set_size;
}

/* This PE's group, rank and number of members; false: it is in none. */
static bool place_of(const struct drawn_coll *c, int pe, int *group, int *rank, int *n)
{
    int members[PES_MAX];
    for (*group = 0; *group < groups_of(c); ++*group) {
        *n = members_of(c, *group, members);
        for (*rank = 0; *rank < *n; ++*rank)
            if (members[*rank] == pe)
                return true;
    }
    return false;
}

/* ---- Shapes ---------------------------------------------------------------------------------------------------------- */

static size_t length_of(const struct drawn_coll *c, int rank)
{
    return c->coll == COLLECT ? c->nelems * (size_t)((rank * 7 + c->root) % 4) / 3 : c->nelems;
}

static struct byte_shape elements(size_t nelems, size_t size, ptrdiff_t stride)
{
    const size_t pitch = size * (size_t)stride;
    return stride == 1 ? shape_of(nelems * size) : (struct byte_shape){size, nelems, 1, pitch, pitch};
}

static struct byte_shape dest_shape(const struct drawn_coll *c, int n)
{
    size_t sum = 0;
    for (int rank = 0; rank < n; rank++)
        sum += length_of(c, rank);
    const bool is_one = c->coll == BROADCAST || c->coll >= REDUCE;
    return elements(is_one ? c->nelems : sum, coll_types[c->type].size, c->dst);
}

static struct byte_shape source_shape(const struct drawn_coll *c, int rank, int n)
{
    const bool is_each = c->coll == ALLTOALL || c->coll == ALLTOALLS;
    return elements(is_each ? c->nelems * (size_t)n : length_of(c, rank), coll_types[c->type].size, c->sst);
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static void draw_what(struct random_numbers *numbers, struct drawn_coll *c)
{
    static const enum coll_op firsts[] = {OP_AND, OP_MAX, OP_SUM};
    c->type = (int)below(numbers, (size_t)n_coll_types);
    const struct coll_type *type = &coll_types[c->type];
    if (c->type == 0 || (type->moves && one_in(numbers, 12))) {
        c->coll = SYNC;
        c->type = type->is_set ? c->type : 0;
    } else if (type->moves) {
        c->coll = (enum coll)below(numbers, REDUCE);
    } else {
        const int kind = type->has_bits ? 0 : type->has_order ? 1 : 2;
        c->coll = kind == 2 && !type->is_set && one_in(numbers, 2) ? (one_in(numbers, 2) ? INSCAN : EXSCAN) : REDUCE;
        c->op = firsts[kind] + (enum coll_op)below(numbers, kind == 0 ? 3 : 2);
        c->coll = type->is_half ? REDUCE : c->coll;
        c->op = c->coll == REDUCE && !(type->is_half && kind == 2) ? c->op : OP_SUM;
    }
}

static void draw_set(struct random_numbers *numbers, struct drawn_coll *c)
{
    c->start = (int)below(numbers, (size_t)job.n);
    c->log_stride = (int)below(numbers, 3);
    c->set_size = 1 + (int)below(numbers, (size_t)((job.n - 1 - c->start) >> c->log_stride) + 1);
}

/* Which lane: teams have one each, since one collective of a team at a time may be under way. */
static void draw_who(struct random_numbers *numbers, struct drawn_step *step)
{
    struct drawn_coll *c = &step->coll;
    c->team = one_in(numbers, 2) ? 0 : (int)below(numbers, (size_t)program.n_teams);
    c->root = (int)below(numbers, 60);
    if (coll_types[c->type].is_set)
        draw_set(numbers, c);
    step->lane = coll_types[c->type].is_set ? 0 : c->team % program.n_lanes;
    c->queue = -1;
    if (job.has_device && step->lane == 0 && !coll_types[c->type].is_set && one_in(numbers, 4))
        c->queue = (int)below(numbers, 2);
}

static int draw_object(struct random_numbers *numbers, const struct drawn_step *step)
{
    const int object = (int)below(numbers, (size_t)program.n_objects);
    return step->lane == 0 || object_is_host(&program.objects[object]) ? object : 0;
}

static bool claim_both(struct random_numbers *numbers, struct drawn_step *step)
{
    struct drawn_coll *c = &step->coll;
    const size_t size = coll_types[c->type].size;
    int pes[PES_MAX], members[PES_MAX], n_pes = 0, most = 0;
    for (int group = 0; group < groups_of(c); group++) {
        const int n = members_of(c, group, members);
        most = n > most ? n : most;
        for (int i = 0; i < n; i++)
            pes[n_pes++] = members[i];
    }
    const struct byte_shape dest = dest_shape(c, most);
    struct byte_shape source = source_shape(c, 0, most);
    if (c->coll == COLLECT)
        source = elements(c->nelems, size, 1);
    if (!claim_anywhere(numbers, c->dest_object, pes, n_pes, &dest, size, CLAIM_WRITE, &c->dest_at))
        return false;
    c->source_at = c->dest_at;
    if (c->is_in_place)
        return true;
    const size_t end = shape_extent(&dest);
    return claim_anywhere(numbers, c->source_object, pes, n_pes, &source, size, CLAIM_WRITE, &c->source_at) &&
           (c->source_object != c->dest_object || c->source_at >= c->dest_at + end ||
            c->dest_at >= c->source_at + shape_extent(&source));
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_coll *c = &step->coll;
    draw_what(numbers, c);
    draw_who(numbers, step);
    c->dest_object = draw_object(numbers, step);
    c->source_object = draw_object(numbers, step);
    c->dst = c->coll == ALLTOALLS ? 1 + (ptrdiff_t)below(numbers, 4) : 1;
    c->sst = c->coll == ALLTOALLS ? 1 + (ptrdiff_t)below(numbers, 4) : 1;
    c->is_in_place = c->coll >= REDUCE && c->coll < SYNC && one_in(numbers, 2);
    const struct coll_type *type = &coll_types[c->type];
    if (type->value_bytes < type->size && !object_is_host(&program.objects[c->dest_object]))
        return false; /* its padding could not be set */
    const size_t room =
        program.objects[c->dest_object].size / (c->coll == BROADCAST || c->coll >= REDUCE ? 1 : (size_t)job.n);
    const size_t most = c->coll == ALLTOALLS && (room >> 3) > 1200 ? 1200 : room;
    c->nelems = c->coll == SYNC ? 0 : size_draw(numbers, most) / type->size;
    if (c->coll == ALLTOALLS && one_in(numbers, 2))
        c->nelems = 1 + below(numbers, 3);
    return claim_both(numbers, step);
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

/* What is in a source before the call: any bytes where these are moved, else numbers of which all results are exact. */
static void source_value(const struct drawn_step *step, int pe, size_t i, unsigned char *value)
{
    const struct drawn_coll *c = &step->coll;
    const struct coll_type *type = &coll_types[c->type];
    const uint64_t random = mix(step_key(step, 2) + (uint64_t)pe * 0x100000001b3 + i);
    memset(value, 0, 16);
    if (type->has_arithmetic && !type->is_half)
        type->value(value, c->op == OP_PROD ? 1 + random % 2 : random % 100);
    else if (type->value)
        type->value(value, random);
    else
        memcpy(value, &random, type->size < 8 ? type->size : 8);
}

static void fill_source(const struct drawn_step *step, int pe, size_t nelems, unsigned char *values)
{
    unsigned char value[32];
    const size_t size = coll_types[step->coll.type].size;
    for (size_t i = 0; i < nelems; i++) {
        source_value(step, pe, i, value);
        memcpy(values + i * size, value, size);
    }
}

static void combine(const struct drawn_coll *c, unsigned char *acc, const unsigned char *values, size_t nelems)
{
    const struct coll_type *type = &coll_types[c->type];
    _Alignas(16) unsigned char a[32], b[32];
    for (size_t i = 0; i < nelems; i++) {
        memcpy(a, acc + i * type->size, type->size);
        memcpy(b, values + i * type->size, type->size);
        type->combine(c->op, a, b);
        memcpy(acc + i * type->size, a, type->size);
    }
}

/* All contributions are added as floats, and rounded at the end. */
static void combine_halves(const struct drawn_coll *c, unsigned char *const *sources, int n, unsigned char *result)
{
    const struct coll_type *type = &coll_types[c->type];
    for (size_t i = 0; i < c->nelems; i++) {
        uint16_t number;
        float sum = 0;
        for (int k = 0; k < n; k++) {
            memcpy(&number, sources[k] + 2 * i, 2);
            const float wide = type->widen(number);
            k == 0 ? (void)(sum = wide) : type->combine(c->op, &sum, &wide);
        }
        number = type->narrow(sum);
        memcpy(result + 2 * i, &number, 2);
    }
}

/* What a member's dest holds at the end, without gaps, from what all sources held. */
static void result_of(const struct drawn_coll *c, int rank, int n, unsigned char *const *sources, unsigned char *result)
{
    const size_t size = coll_types[c->type].size, each = c->nelems * size;
    const int last = c->coll == INSCAN ? rank : c->coll == EXSCAN ? rank - 1 : n - 1;
    size_t at = 0;
    if (c->coll == BROADCAST) {
        memcpy(result, sources[c->root % n], each);
    } else if (coll_types[c->type].is_half) {
        combine_halves(c, sources, n, result);
    } else if (c->coll >= REDUCE) {
        memset(result, 0, each);
        for (int i = 0; i <= last; i++)
            i == 0 ? (void)memcpy(result, sources[0], each) : combine(c, result, sources[i], c->nelems);
    } else if (c->coll == ALLTOALL || c->coll == ALLTOALLS) {
        for (int i = 0; i < n; i++)
            memcpy(result + (size_t)i * each, sources[i] + (size_t)rank * each, each);
    } else {
        for (int i = 0; i < n; at += length_of(c, i++) * size)
            memcpy(result + at, sources[i], length_of(c, i) * size);
    }
}

/* An active set's root does not write its own dest. */
static bool has_result(const struct drawn_coll *c, int rank, int n)
{
    return !(coll_types[c->type].is_set && c->coll == BROADCAST && rank == c->root % n);
}

static void foresee_group(const struct drawn_step *step, int group)
{
    const struct drawn_coll *c = &step->coll;
    int members[PES_MAX];
    unsigned char *sources[PES_MAX];
    const int n = members_of(c, group, members);
    const struct byte_shape dest = dest_shape(c, n), packed = shape_of(shape_bytes(&dest));
    unsigned char *result = model_malloc(packed.width + 16);
    for (int i = 0; i < n; i++) {
        const struct byte_shape shape = source_shape(c, i, n);
        sources[i] = model_malloc(shape_bytes(&shape) + 16);
        fill_source(step, members[i], shape_bytes(&shape) / coll_types[c->type].size, sources[i]);
    }
    for (int i = 0; i < n; i++) {
        const struct byte_shape source = source_shape(c, i, n), same = elements(shape_bytes(&source), 1, 1);
        struct byte_shape rows = source;
        rows.row_pitch = rows.width;
        if (c->coll != SYNC && !c->is_in_place) {
            unsigned char *scribble = model_malloc(same.width + 16);
            pattern_fill(scribble, same.width, step_key(step, 3) + (uint64_t)members[i]);
            shape_copy(model_at(c->source_object, members[i], c->source_at), &source, scribble, &rows);
            free(scribble);
        }
        struct byte_shape result_rows = dest;
        result_rows.row_pitch = dest.width;
        if (c->coll != SYNC && has_result(c, i, n)) {
            result_of(c, i, n, sources, result);
            shape_copy(model_at(c->dest_object, members[i], c->dest_at), &dest, result, &result_rows);
        }
    }
    for (int i = 0; i < n; i++)
        free(sources[i]);
    free(result);
}

static void foresee(const struct drawn_step *step)
{
    for (int group = 0; group < groups_of(&step->coll); group++)
        foresee_group(step, group);
}

/* ---- The library ----------------------------------------------------------------------------------------------------- */

static void store_rows(int object, size_t at, const struct byte_shape *shape, const unsigned char *bytes)
{
    for (size_t row = 0; row < shape->rows; row++)
        object_store(object, at + row * shape->row_pitch, bytes + row * shape->width, shape->width);
}

static void store_source(const struct drawn_step *step, int rank, int n, bool before)
{
    const struct drawn_coll *c = &step->coll;
    const struct byte_shape shape = source_shape(c, rank, n);
    unsigned char *bytes = model_malloc(shape_bytes(&shape) + 16);
    if (before)
        fill_source(step, job.me, shape_bytes(&shape) / coll_types[c->type].size, bytes);
    else
        pattern_fill(bytes, shape_bytes(&shape), step_key(step, 3) + (uint64_t)job.me);
    store_rows(c->is_in_place ? c->dest_object : c->source_object, c->source_at, &shape, bytes);
    free(bytes);
}

/* Padding of an x87 number may be anything. */
static void clear_padding(const struct drawn_coll *c)
{
    static const unsigned char zero[16];
    const struct coll_type *type = &coll_types[c->type];
    for (size_t i = 0; type->value_bytes < type->size && i < c->nelems; i++)
        object_store(c->dest_object, c->dest_at + i * type->size + type->value_bytes, zero,
                     type->size - type->value_bytes);
}

static void check_dest(const struct drawn_step *step, const struct byte_shape *dest)
{
    const struct drawn_coll *c = &step->coll;
    unsigned char *found = model_malloc(dest->width + 16);
    for (size_t row = 0; row < dest->rows; row++) {
        const size_t at = c->dest_at + row * dest->row_pitch;
        const unsigned char *expected = model_at(c->dest_object, job.me, at);
        object_load(c->dest_object, at, found, dest->width);
        for (size_t i = 0; memcmp(found, expected, dest->width) != 0 && i < dest->width; i++)
            EXPECT(step, found[i] == expected[i], "on return, byte %zu of dest is %#x instead of %#x",
                   row * dest->row_pitch + i, found[i], expected[i]);
    }
    free(found);
}

static void complete(const struct drawn_step *step)
{
    const struct drawn_coll *c = &step->coll;
    int group, rank, n;
    place_of(c, job.me, &group, &rank, &n);
    if (c->queue >= 0)
        mapped_finish(c->queue);
    if (c->coll == SYNC)
        return;
    const struct byte_shape dest = dest_shape(c, n);
    clear_padding(c);
    check_dest(step, &dest);
    if (!c->is_in_place)
        store_source(step, rank, n, false);
}

static void play(struct drawn_step *step)
{
    const struct drawn_coll *c = &step->coll;
    int group, rank, n;
    if (!place_of(c, job.me, &group, &rank, &n))
        return;
    if (c->coll != SYNC)
        store_source(step, rank, n, true);
    const struct coll_call call = {c->coll,
                                   c->op,
                                   program.teams[c->team].handle,
                                   address_of(c->dest_object, c->dest_at),
                                   address_of(c->is_in_place ? c->dest_object : c->source_object, c->source_at),
                                   length_of(c, rank),
                                   c->dst,
                                   c->sst,
                                   c->root % n,
                                   c->queue < 0 ? NULL : mapped_queue(c->queue),
                                   c->queue >= 0 && !mapped_has_queues_of_opencl(),
                                   coll_types[c->type].is_set,
                                   c->start,
                                   c->log_stride,
                                   c->set_size,
                                   sync_words[step->number]};
    const int rc = coll_types[c->type].call(&call);
    EXPECT(step, rc == 0, "the call returned %d", rc);
    for (int i = 0; i < SHMEM_ALLTOALLS_SYNC_SIZE; i++)
        EXPECT(step, sync_words[step->number][i] == SHMEM_SYNC_VALUE, "pSync[%d] is %ld", i,
               sync_words[step->number][i]);
    if (c->queue < 0)
        complete(step);
}

static void end(struct drawn_step *step)
{
    int group, rank, n;
    if (step->coll.queue >= 0 && place_of(&step->coll, job.me, &group, &rank, &n))
        complete(step);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_coll *c = &step->coll;
    const struct coll_type *type = &coll_types[c->type];
    fprintf(out, "%s %s%s%s, ", type->name, c->coll >= REDUCE && c->coll < SYNC ? op_names[c->op] : "",
            c->coll >= REDUCE && c->coll < SYNC ? "_" : "", coll_names[c->coll]);
    if (type->is_set)
        fprintf(out, "active set %d, %d, %d, ", c->start, c->log_stride, c->set_size);
    else
        fprintf(out, "%s, ", team_text(c->team));
    fprintf(out, "%zu elements of %zu bytes, dst %td, sst %td, root %d, dest %s + %zu, source %s + %zu%s%s", c->nelems,
            type->size, c->dst, c->sst, c->root, object_text(c->dest_object), c->dest_at,
            object_text(c->is_in_place ? c->dest_object : c->source_object), c->source_at,
            c->is_in_place ? " (in place)" : "",
            c->queue < 0 ? ""
            : c->queue   ? ", queue 1"
                         : ", queue 0");
}

const struct step_family collectives = {"collective", 8, draw, foresee, play, end, print};
