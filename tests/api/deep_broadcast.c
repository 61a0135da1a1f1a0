/* SPDX-License-Identifier: BSD-3-Clause
 *
 * broadcast_deep from each PE of the world, and of a team of every other PE, to the heap, static data and mapped objects:
 * rings of all sizes at which images are sent in other ways, and random graphs (tests/deep/random_graph.h). Every member
 * checks what arrives, pointer by pointer, with its own addresses, and what must not change.
 *
 *     deep_broadcast [TURNS]      measures instead: so many turns of 4 MiB to one PE and to all others, which it compares
 */
#define _GNU_SOURCE
#include "check.h"
#include "../deep/random_graph.h"
#include "deep_check.h"
#include "deep_ring.h"

#include <errno.h>
#include <time.h>

enum { AREA = 8 << 20, UNTOUCHED = 0xc3, OFFSET = 48, GRAPHS = 60, OBJECTS_MAX = 40 };

/* A team, and this PE's place in it. */
struct members {
    const char *name;
    shmem_team_t team;
    int me, n; /* me: -1 for a PE that is no member */
};

static void paint(const struct deep_area *area, size_t nbytes)
{
    char *bytes = check_malloc(nbytes);
    memset(bytes, UNTOUCHED, nbytes);
    deep_write(area, 0, bytes, nbytes);
    free(bytes);
    shmem_barrier_all();
}

static char *read_all(const struct deep_area *area, size_t nbytes)
{
    char *bytes = check_malloc(nbytes);
    deep_read(area, 0, bytes, nbytes);
    return bytes;
}

static void check_nothing_came(const struct deep_area *area, size_t nbytes)
{
    char *bytes = read_all(area, nbytes);
    check_untouched("broadcast_deep", (unsigned char *)bytes, nbytes, UNTOUCHED);
    free(bytes);
}

/* ---- Rings ------------------------------------------------------------------------------------------------------- */

static size_t size_of(const struct ring *ring)
{
    ptrdiff_t size = shmemx_put_deep(NULL, 0, ring_root(ring), ring_node_type, 1, 0);
    CHECK_THAT(size > SHMEMX_DEEP_HEADER, "put_deep with capacity 0: %td", size);
    return (size_t)size;
}

static void check_image(const struct deep_area *area, size_t size, const struct ring *like, int seed)
{
    char *bytes = read_all(area, OFFSET + size + CHECK_GUARD);
    const struct copy copy = {bytes + OFFSET, size, area->base + OFFSET};
    check_untouched("before the image", (unsigned char *)bytes, OFFSET, UNTOUCHED);
    check_untouched("after the image", (unsigned char *)bytes + OFFSET + size, CHECK_GUARD, UNTOUCHED);
    ring_check_copy(like, &copy, (const struct node *)(uintptr_t)(copy.base + SHMEMX_DEEP_HEADER), seed);
    free(bytes);
}

/* Only the root has the objects, and it changes them at once. */
static void check_ring(const struct deep_area *area, const struct members *members, const struct ring *ring, int root)
{
    const size_t size = size_of(ring), room = OFFSET + size + CHECK_GUARD;
    const bool is_root = members->me == root;
    if (room > area->size)
        return;
    paint(area, room);
    if (members->me >= 0) {
        ring_set_data(ring, is_root ? root + 1 : 99);
        ptrdiff_t result =
            shmemx_broadcast_deep(members->team, area->address + OFFSET, is_root ? size : 0,
                                  is_root ? ring_root(ring) : NULL, is_root ? ring_node_type : NULL, is_root, root);
        CHECK_THAT(result == (ptrdiff_t)size, "broadcast_deep of PE %d of %s to %s: %td, not %zu", root, members->name,
                   area->name, result, size);
        ring_set_data(ring, 77);
        check_image(area, size, ring, root + 1);
    } else {
        check_nothing_came(area, room);
    }
    shmem_barrier_all();
}

static void check_rings(const struct deep_area *area, const struct members *members)
{
    /* Images about the sizes at which they travel otherwise: 4 KiB, 256 KiB, 1 MiB, 4 MiB; arrays of more than 1 MiB. */
    static const struct {
        int n_nodes, n_data;
    } shapes[] = {{2, 0},    {3, 5},     {3, 150},   {31, 0},     {130, 240}, {8, 4050},
                  {8, 4080}, {16, 8160}, {7, 30000}, {2, 140000}, {4, 200000}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct ring ring = ring_make(shapes[s].n_nodes, shapes[s].n_data, 1);
        for (int root = 0; root < members->n; root++)
            if (s < 2 || root == (int)s % members->n)
                check_ring(area, members, &ring, root);
        ring_free(&ring);
    }
}

/* ---- What is refused --------------------------------------------------------------------------------------------- */

/* No member has an image, and all of them learn why. */
static void check_refusals(const struct deep_area *area, const struct members *members)
{
    struct ring ring = ring_make(3, 40, 1);
    const size_t size = size_of(&ring);
    shmemx_deep_info_t info;
    paint(area, size + CHECK_GUARD);
    if (members->me >= 0) {
        const int root = members->n - 1;
        const struct node *source = members->me == root ? ring_root(&ring) : NULL;
        CHECK(shmemx_broadcast_deep(members->team, area->address, size - 1, source, ring_node_type, 1, root) ==
              (ptrdiff_t)size);
        CHECK(shmemx_broadcast_deep(members->team, NULL, 0, source, ring_node_type, 1, root) == (ptrdiff_t)size);
        CHECK(shmemx_broadcast_deep(members->team, area->address + 8, size, source, ring_node_type, 1, root) ==
              -EINVAL);
        CHECK(shmemx_broadcast_deep(members->team, area->address, size, source, NULL, 1, root) == -EINVAL);
    }
    check_nothing_came(area, size + CHECK_GUARD);
    shmem_barrier_all();
    if (members->me >= 0) {
        CHECK(shmemx_broadcast_deep(members->team, area->address, area->size, NULL, ring_node_type, 1, 0) ==
              SHMEMX_DEEP_HEADER);
        CHECK(!shmemx_deep_info(area->address, ring_node_type, &info, shmem_my_pe()) && info.nobjects == 0);
    }
    shmem_barrier_all();
    ring_free(&ring);
}

/* ---- Random graphs ----------------------------------------------------------------------------------------------- */

/* The members that are not the root have no types of the graph; they make the graph only to compare. */
static void check_graph(const struct deep_area *area, const struct members *members, uint64_t seed, int root)
{
    struct random_graph *graph = random_graph_open(seed, seed * 1000, 1 + seed % OBJECTS_MAX);
    shmemx_deep_info_t info;
    shmemx_type_t type = NULL;
    if (members->me == root) {
        CHECK(!shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types));
        type = shmemx_type_find(graph->root_type);
    }
    ptrdiff_t size =
        shmemx_broadcast_deep(members->team, area->address, area->size, graph->root, type, graph->n_elems, root);
    CHECK_THAT(size >= SHMEMX_DEEP_HEADER, "broadcast_deep of graph %llu: %td", (unsigned long long)seed, size);
    if ((size_t)size <= area->size) {
        char *bytes = read_all(area, (size_t)size);
        CHECK(!shmemx_deep_info(area->address, NULL, &info, shmem_my_pe()));
        struct random_copy copy = random_copy_in(bytes, area->base, (size_t)size);
        const char *difference = random_graph_compare(graph, &copy, info.root);
        CHECK_THAT(!difference, "graph %llu from PE %d of %s in %s: %s", (unsigned long long)seed, root, members->name,
                   area->name, difference);
        free(bytes);
    }
    random_graph_close(graph);
}

/* One after the other without any wait between them but the program's own: the memory is ready to be written. */
static void check_graphs(const struct deep_area *area, const struct members *members, uint64_t from)
{
    for (uint64_t i = 0; i < GRAPHS && members->me >= 0; i++) {
        check_graph(area, members, from + i, (int)(i % (uint64_t)members->n));
        shmem_team_sync(members->team);
    }
    shmem_barrier_all();
}

/* ---- Speed ------------------------------------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, compare_times);
    return times[n / 2];
}

static double time_one(const struct deep_area *area, const struct ring *ring)
{
    const double begin = now_us();
    CHECK(shmemx_put_deep(area->address, area->size, ring_root(ring), ring_node_type, 1, 1) > 0);
    shmem_quiet();
    return now_us() - begin;
}

static double time_each(const struct deep_area *area, const struct ring *ring)
{
    const double begin = now_us();
    for (int pe = 1; pe < shmem_n_pes(); pe++)
        CHECK(shmemx_put_deep(area->address, area->size, ring_root(ring), ring_node_type, 1, pe) > 0);
    shmem_quiet();
    return now_us() - begin;
}

/* To the root itself, too. */
static double time_all(const struct deep_area *area, const struct ring *ring)
{
    shmem_barrier_all();
    const double begin = now_us();
    CHECK(shmemx_broadcast_deep(SHMEM_TEAM_WORLD, area->address, area->size, ring ? ring_root(ring) : NULL,
                                ring_node_type, 1, 0) > 0);
    return now_us() - begin;
}

/* Arrays of 256 bytes, as in osu_oshm_deep_put. */
static void measure(const struct deep_area *area, int turns)
{
    struct ring ring = ring_make((4 << 20) / 352, 32, 1);
    double *one = check_malloc(3 * (size_t)turns * sizeof *one), *each = one + turns, *all = each + turns;
    for (int turn = -2; turn < turns; turn++) {
        const int at = turn < 0 ? 0 : turn;
        one[at] = each[at] = 0;
        if (shmem_my_pe() == 0) {
            one[at] = time_one(area, &ring);
            each[at] = time_each(area, &ring);
        }
        all[at] = time_all(area, &ring);
    }
    const double to_one = median(one, turns), to_each = median(each, turns), to_all = median(all, turns);
    if (shmem_my_pe() == 0)
        printf(
            "%-12s image of %zu bytes: to PE 1 %.0f us, to %d PEs one by one %.0f, broadcast to %d %.0f (%.2f x one)\n",
            area->name, size_of(&ring), to_one, shmem_n_pes() - 1, to_each, shmem_n_pes(), to_all, to_all / to_one);
    free(one);
    ring_free(&ring);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    struct deep_area areas[4];
    shmem_init();
    ring_create_types();
    const int n = deep_open_areas(areas, AREA), turns = argc > 1 ? atoi(argv[1]) : 0, half = (shmem_n_pes() + 1) / 2;
    struct members world = {"the world", SHMEM_TEAM_WORLD, shmem_my_pe(), shmem_n_pes()}, others = {.name = "a team"};
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, half, NULL, 0, &others.team));
    others.me = others.team == SHMEM_TEAM_INVALID ? -1 : shmem_team_my_pe(others.team);
    others.n = half;
    for (int i = 0; i < n && turns; i++)
        if (areas[i].size == AREA)
            measure(&areas[i], turns);
    for (int i = 0; i < n && !turns; i++) {
        check_rings(&areas[i], &world);
        check_rings(&areas[i], &others);
        check_refusals(&areas[i], &world);
        check_refusals(&areas[i], &others);
        check_graphs(&areas[i], i % 2 ? &others : &world, 1 + GRAPHS * (uint64_t)i);
    }
    if (others.team != SHMEM_TEAM_INVALID)
        shmem_team_destroy(others.team);
    deep_close_areas(areas, n);
    return check_end();
}
