/* SPDX-License-Identifier: BSD-3-Clause
 *
 * put_box and get_box, blocking and not, between all kinds of memory, with random boxes in random arrays, against a
 * model: one row, one layer, layers or rows without gaps, long rows and single bytes, more layers than a staging slot
 * holds, layer pitches that are no multiple of the row pitch. All of the destination is compared.
 */
#include "check.h"
#include "memories.h"

#include <shmemx.h>

enum { AREA = MEMORIES_AREA, BOXES = 8, FORMS = 3 };

static char *found, *expected, *source_model;
static unsigned long random_state;

struct box {
    shmemx_box_t box;
    size_t dest_at, source_at;
};

/* The same sequence on all PEs. */
static size_t pick(size_t n)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (size_t)(random_state >> 33) % n;
}

static size_t extent(const shmemx_box_t *box, size_t row_pitch, size_t layer_pitch)
{
    return (box->layers - 1) * layer_pitch + (box->rows - 1) * row_pitch + box->width;
}

/* Pitches of a side: none wider than the box, or the box in a larger array. */
static void choose_pitches(const shmemx_box_t *box, size_t unit, size_t *row_p, size_t *layer_p)
{
    const size_t spare = pick(3) ? pick(4) + 1 : 0;
    *row_p = box->width + (pick(3) ? pick(5) * unit : 0);
    *layer_p = box->rows * *row_p + spare * *row_p;
    if (pick(4) == 0)
        *layer_p += pick(9) * unit; /* not whole rows */
}

static void choose_extents(shmemx_box_t *box, size_t unit)
{
    switch (pick(5)) {
    case 0: /* a face across the rows */
        *box = (shmemx_box_t){.width = unit, .rows = 1 + pick(40), .layers = 1 + pick(40)};
        break;
    case 1: /* much */
        *box = (shmemx_box_t){.width = (1 + pick(60)) * unit, .rows = 1 + pick(12), .layers = 1 + pick(12)};
        break;
    case 2: /* rows that the network takes one by one */
        *box = (shmemx_box_t){.width = 4096 + pick(64) * unit, .rows = 1 + pick(3), .layers = 1 + pick(4)};
        break;
    case 3: /* little enough for a request */
        *box = (shmemx_box_t){.width = pick(2) ? 1 : unit, .rows = 2, .layers = 2};
        break;
    default:
        *box = (shmemx_box_t){.width = (1 + pick(20)) * unit, .rows = 1 + pick(5), .layers = 1 + pick(30)};
    }
}

static bool place_box(struct box *it, size_t unit)
{
    shmemx_box_t *box = &it->box;
    choose_pitches(box, unit, &box->dest_row_pitch, &box->dest_layer_pitch);
    choose_pitches(box, unit, &box->source_row_pitch, &box->source_layer_pitch);
    const size_t dest = extent(box, box->dest_row_pitch, box->dest_layer_pitch);
    const size_t source = extent(box, box->source_row_pitch, box->source_layer_pitch);
    if (dest > AREA || source > AREA)
        return false;
    it->dest_at = pick((AREA - dest) / unit + 1) * unit;
    it->source_at = pick((AREA - source) / unit + 1) * unit;
    return true;
}

static struct box random_box(void)
{
    struct box it;
    size_t unit;
    do {
        unit = (size_t)1 << pick(5);
        choose_extents(&it.box, unit);
    } while (!place_box(&it, unit));
    return it;
}

static void make_expected(const struct box *it, int dest_pe, int source_pe)
{
    const shmemx_box_t *box = &it->box;
    check_fill(expected, AREA, 100 + (unsigned)dest_pe);
    check_fill(source_model, AREA, (unsigned)source_pe);
    for (size_t layer = 0; layer < box->layers; layer++)
        for (size_t row = 0; row < box->rows; row++)
            memcpy(expected + it->dest_at + layer * box->dest_layer_pitch + row * box->dest_row_pitch,
                   source_model + it->source_at + layer * box->source_layer_pitch + row * box->source_row_pitch,
                   box->width);
}

static void check_dest(const char *verb, const struct box *it, const struct memory *dest, const struct memory *source)
{
    const shmemx_box_t *box = &it->box;
    size_t i = 0;
    memories_read(dest, found);
    while (i < AREA && found[i] == expected[i])
        i++;
    CHECK_THAT(i == AREA,
               "%s from %s to %s, %zu x %zu x %zu, pitches %zu %zu and %zu %zu, at %zu %zu: byte %zu is wrong", verb,
               source->name, dest->name, box->layers, box->rows, box->width, box->dest_row_pitch, box->dest_layer_pitch,
               box->source_row_pitch, box->source_layer_pitch, it->dest_at, it->source_at, i);
}

typedef void (*move_t)(void *dest, const void *source, const shmemx_box_t *box, int pe);

static void put_on_context(void *dest, const void *source, const shmemx_box_t *box, int pe)
{
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmemx_ctx_put_box(ctx, dest, source, box, pe);
    shmem_ctx_fence(ctx);
    shmemx_ctx_put_box_nbi(ctx, dest, source, box, pe);
    shmem_ctx_destroy(ctx);
}

static void get_on_context(void *dest, const void *source, const shmemx_box_t *box, int pe)
{
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmemx_ctx_get_box(ctx, dest, source, box, pe);
    shmemx_ctx_get_box_nbi(ctx, dest, source, box, pe);
    shmem_ctx_destroy(ctx);
}

static const struct form {
    const char *name;
    move_t put, get;
    bool is_nonblocking;
} forms[FORMS] = {
    {"box", shmemx_put_box, shmemx_get_box, false},
    {"box_nbi", shmemx_put_box_nbi, shmemx_get_box_nbi, true},
    {"box on a context", put_on_context, get_on_context, false},
};

static void check_put(const struct form *form, const struct box *it, const struct memory *remote,
                      const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    memories_fill(remote, 100 + (unsigned)me);
    memories_fill(local, (unsigned)me);
    shmem_barrier_all();
    form->put(remote->address + it->dest_at, local->address + it->source_at, &it->box, check_target(round));
    shmem_barrier_all();
    make_expected(it, me, check_origin(round));
    check_dest(form->name, it, remote, local);
}

static void check_get(const struct form *form, const struct box *it, const struct memory *remote,
                      const struct memory *local, int round)
{
    const int me = shmem_my_pe();
    memories_fill(local, 100 + (unsigned)me);
    memories_fill(remote, (unsigned)me);
    shmem_barrier_all();
    form->get(local->address + it->dest_at, remote->address + it->source_at, &it->box, check_target(round));
    if (form->is_nonblocking)
        shmem_quiet();
    make_expected(it, me, check_target(round));
    check_dest(form->name, it, local, remote);
    shmem_barrier_all();
}

static void check_all(const struct memories *remotes, const struct memories *locals)
{
    for (int r = 0; r < remotes->n; r++)
        for (int l = 0; l < locals->n; l++)
            for (int i = 0; i < BOXES; i++) {
                const struct box it = random_box();
                check_put(&forms[i % FORMS], &it, &remotes->memory[r], &locals->memory[l], i % shmem_n_pes());
                check_get(&forms[i % FORMS], &it, &remotes->memory[r], &locals->memory[l], (i + 1) % shmem_n_pes());
            }
}

/* An extent of 0 moves nothing, and pitches of single rows and layers do not matter. */
static void check_degenerate(void)
{
    char *there = check_shmem_malloc(64), here[64] = "only a row";
    memset(there, 0, 64);
    shmem_barrier_all();
    const shmemx_box_t none[] = {{0, 2, 2, 8, 16, 8, 16}, {8, 0, 2, 8, 16, 8, 16}, {8, 2, 0, 8, 16, 8, 16}};
    for (size_t i = 0; i < 3; i++)
        shmemx_put_box(there, here, &none[i], check_target(1));
    const shmemx_box_t row = {.width = sizeof "only a row", .rows = 1, .layers = 1};
    shmemx_put_box(there + 16, here, &row, check_target(1));
    shmem_barrier_all();
    check_untouched("a box without extent", there, 16, 0);
    CHECK(!strcmp(there + 16, "only a row"));
    shmem_free(there);
}

int main(void)
{
    struct memories remotes, locals;
    found = check_malloc(AREA), expected = check_malloc(AREA), source_model = check_malloc(AREA);
    shmem_init();
    check_degenerate();
    memories_open(&remotes, &locals);
    check_all(&remotes, &locals);
    memories_close(&remotes, &locals);
    free(found), free(expected), free(source_model);
    return check_end();
}
