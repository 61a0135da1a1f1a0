/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts objects of mesh.h to the last PE, which checks all of them. Linked with the output of oshtypes.
 */
#include "mesh.h"

#include <math.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mesh_register(void);

enum { CELLS = 5, IMAGE = 1 << 16 };

#define EXPECT(condition)                                                                                              \
    ((condition) ? (void)0 : (fprintf(stderr, "PE %d: %s does not hold\n", shmem_my_pe(), #condition), exit(1)))

static struct cell cells[CELLS];
static mesh meshes[2];

static void fill(mesh *object, int seed)
{
    static double values[6], user[4] = {4, 3, 2, 1}, rows[STEEL][3];
    static float weights[7];
    static int direct[2] = {11, 12};
    static char *labels[3] = {"in", NULL, "out"};
    for (int i = 0; i < CELLS; i++)
        cells[i] = (struct cell){i, 0.5 * i, {&cells[(i + 1) % CELLS], i ? &cells[i - 1] : NULL}};
    for (int i = 0; i < 6; i++)
        values[i] = weights[i] = (float)i;
    rows[1][2] = 12;
    *object = (mesh){.n_cells = CELLS,
                     .cells = cells,
                     .middle = &cells[2],
                     .temperature = {3, 2, values},
                     .extra = {3, weights},
                     .n_direct = 2,
                     .direct = direct,
                     .name = "a mesh",
                     .labels = labels,
                     .n_labels = 3,
                     .user = user,
                     .flags = 5,
                     .more = 77,
                     .self = object,
                     .n_rows = STEEL,
                     .rows = rows,
                     .precise = 1.25L,
                     .code = "seventeen",
                     .tag.i = seed,
                     .other.number = 123456789,
                     .last = {&meshes[0], NULL, &meshes[1]}};
}

static void look_at_cells(const mesh *object)
{
    for (int i = 0; i < CELLS; i++) {
        const struct cell *cell = &object->cells[i];
        EXPECT(cell->id == i && fabs(cell->volume - 0.5 * i) < 1e-9);
        EXPECT(cell->neighbour[0] == &object->cells[(i + 1) % CELLS]);
        EXPECT(cell->neighbour[1] == (i ? cell - 1 : NULL));
    }
    EXPECT(object->middle == &object->cells[2]);
}

static void look_at(const mesh *object, int seed)
{
    EXPECT(object->n_cells == CELLS && object->flags == 5 && object->more == 77 && object->tag.i == seed);
    look_at_cells(object);
    EXPECT(object->temperature.nx == 3 && object->temperature.ny == 2);
    for (int i = 0; i < 6; i++)
        EXPECT((int)object->temperature.values[i] == i && (int)object->extra.weights[i] == i);
    EXPECT(object->direct[0] == 11 && object->direct[1] == 12);
    EXPECT(!strcmp(object->name, "a mesh"));
    EXPECT(!strcmp(object->labels[0], "in") && !object->labels[1] && !strcmp(object->labels[2], "out"));
    EXPECT((int)((double *)object->user)[0] == 4 && (int)((double *)object->user)[3] == 1);
    EXPECT(object->self == object && !object->callback && !object->last[1]);
    EXPECT((int)object->rows[1][2] == 12 && object->precise == 1.25L && !strcmp(object->code, "seventeen"));
    EXPECT(object->other.number == 123456789);
}

int main(void)
{
    shmem_init();
    int result = mesh_register(), me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (result) {
        shmem_finalize();
        return result == -116 ? 3 : 1; /* ESTALE */
    }
    shmemx_type_t type = shmemx_type_find("mesh");
    char *image = shmem_align(16, IMAGE);
    EXPECT(type && image);
    fill(&meshes[0], 1);
    fill(&meshes[1], 2);
    meshes[0].next = &meshes[1];
    if (me == 0) {
        ptrdiff_t size = shmemx_put_deep(image, IMAGE, &meshes[0], type, 1, last);
        EXPECT(size > 0 && size < IMAGE);
    }
    shmem_barrier_all();
    if (me == last) {
        shmemx_deep_info_t info;
        EXPECT(!shmemx_deep_info(image, type, &info, me) && info.nelems == 1);
        const mesh *first = (const mesh *)(uintptr_t)info.root;
        look_at(first, 1);
        look_at(first->next, 2);
        EXPECT(!first->next->next && first->cells == first->next->cells);
        EXPECT(first->last[0] == first && first->last[2] == first->next);
    }
    shmem_free(image);
    shmem_finalize();
    return 0;
}
