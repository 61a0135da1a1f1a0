/* SPDX-License-Identifier: BSD-3-Clause
 *
 * put_deep and get_deep in all their forms, to the heap, static data and mapped objects: the owner checks what arrives,
 * pointer by pointer, with its own addresses.
 *
 *     deep [NODES DATA]      one ring of so many nodes with so many numbers each, instead of several small ones
 */
#include "check.h"
#include "deep_check.h"
#include "deep_ring.h"
#include "deep_types.h"

#include <errno.h>
#include <pthread.h>

enum { AREA = 3 << 20, UNTOUCHED = 0xc3, THREADS = 4, WITH_REFUSALS = 3 };

static uint64_t *signals; /* symmetric, one for each area */

/* ---- Put --------------------------------------------------------------------------------------------------------- */

enum way { PUT, PUT_NBI, PUT_SIGNAL, PUT_SIGNAL_NBI, WAYS };
static const char *const way_names[] = {"put_deep", "put_deep_nbi", "put_deep_signal", "put_deep_signal_nbi"};

static ptrdiff_t put(enum way way, char *dest, size_t capacity, const struct node *root, int pe)
{
    switch (way) {
    case PUT:
        return shmemx_put_deep(dest, capacity, root, ring_node_type, 1, pe);
    case PUT_NBI:
        return shmemx_put_deep_nbi(dest, capacity, root, ring_node_type, 1, pe);
    case PUT_SIGNAL:
        return shmemx_put_deep_signal(dest, capacity, root, ring_node_type, 1, signals, 1, SHMEM_SIGNAL_ADD, pe);
    default:
        return shmemx_put_deep_signal_nbi(dest, capacity, root, ring_node_type, 1, signals, 1, SHMEM_SIGNAL_SET, pe);
    }
}

/* With a signal, only the signal says that the image has arrived. */
static void await(enum way way)
{
    if (way >= PUT_SIGNAL)
        shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 1);
    else
        shmem_barrier_all();
}

static void paint(const struct deep_area *area, size_t nbytes)
{
    char *paint = check_malloc(nbytes);
    memset(paint, UNTOUCHED, nbytes);
    deep_write(area, 0, paint, nbytes);
    free(paint);
    *signals = 0;
    shmem_barrier_all();
}

static struct copy read_image(const struct deep_area *area, size_t offset, size_t nbytes)
{
    struct copy copy = {check_malloc(nbytes), nbytes, area->base + offset};
    deep_read(area, offset, copy.bytes, nbytes);
    return copy;
}

static void check_image(const struct deep_area *area, size_t offset, size_t size, const struct ring *like, int seed)
{
    struct copy copy = read_image(area, offset, size + CHECK_GUARD);
    check_untouched("put_deep", (unsigned char *)copy.bytes + size, CHECK_GUARD, UNTOUCHED);
    copy.size = size;
    ring_check_copy(like, &copy, (const struct node *)(uintptr_t)(copy.base + SHMEMX_DEEP_HEADER), seed);
    free(copy.bytes);
}

static size_t size_of(const struct ring *ring)
{
    ptrdiff_t size = shmemx_put_deep(NULL, 0, ring_root(ring), ring_node_type, 1, 0);
    CHECK_THAT(size > SHMEMX_DEEP_HEADER, "put_deep with capacity 0: %td", size);
    return (size_t)size;
}

static void check_put(const struct deep_area *area, const struct ring *ring, enum way way, int distance)
{
    const size_t size = size_of(ring), offset = 48;
    const int seed = shmem_my_pe() + 1, from = check_origin(distance) + 1;
    if (offset + size + CHECK_GUARD > area->size)
        return;
    ring_set_data(ring, seed);
    paint(area, offset + size + CHECK_GUARD);
    ptrdiff_t result = put(way, area->address + offset, size, ring_root(ring), check_target(distance));
    CHECK_THAT(result == (ptrdiff_t)size, "%s to %s: %td, not %zu", way_names[way], area->name, result, size);
    if (way == PUT || way == PUT_SIGNAL)
        ring_set_data(ring, 77);
    await(way);
    check_image(area, offset, size, ring, from);
    shmem_barrier_all();
}

/* Several in progress at once, on one context. */
static void check_many(const struct deep_area *area, const struct ring *ring)
{
    enum { N = 40 };
    const size_t size = size_of(ring), slot = (size + CHECK_GUARD + 15) / 16 * 16;
    const size_t n = area->size / slot < N ? area->size / slot : N;
    paint(area, n * slot);
    ring_set_data(ring, shmem_my_pe() + 1);
    for (size_t i = 0; i < n; i++)
        CHECK(put(i % 3 ? PUT_NBI : PUT, area->address + i * slot, slot, ring_root(ring), check_target(1)) ==
              (ptrdiff_t)size);
    shmem_quiet();
    shmem_barrier_all();
    for (size_t i = 0; i < n; i++)
        check_image(area, i * slot, size, ring, check_origin(1) + 1);
    shmem_barrier_all();
}

static void check_capacity(const struct deep_area *area, const struct ring *ring)
{
    const size_t size = size_of(ring);
    const int pe = check_target(1);
    paint(area, size + CHECK_GUARD);
    for (int way = PUT; way < WAYS; way++) {
        CHECK(put(way, area->address, size - 1, ring_root(ring), pe) == (ptrdiff_t)size);
        CHECK(put(way, area->address, SHMEMX_DEEP_HEADER, ring_root(ring), pe) == (ptrdiff_t)size);
    }
    CHECK(put(PUT, area->address + 8, area->size - 8, ring_root(ring), pe) == -EINVAL);
    shmem_barrier_all();
    CHECK_THAT(*signals == 0, "the signal was sent without an image");
    struct copy copy = read_image(area, 0, size + CHECK_GUARD);
    check_untouched("put_deep without room", (unsigned char *)copy.bytes, copy.size, UNTOUCHED);
    free(copy.bytes);
    shmem_barrier_all();
}

/* ---- Get --------------------------------------------------------------------------------------------------------- */

/* The owner changes the data of its image, not the pointers. */
static void change_image(const struct deep_area *area, size_t size, const struct ring *like, int seed)
{
    struct copy copy = read_image(area, 0, size);
    struct node *node = copy_at(&copy, (void *)(uintptr_t)(copy.base + SHMEMX_DEEP_HEADER), sizeof *node);
    struct leaf *leaf = copy_at(&copy, node->shared, sizeof *leaf);
    for (int k = 0; k < like->n_nodes; k++) {
        node->key = seed * 100 + k;
        double *data = like->n_data ? copy_at(&copy, node->data, (size_t)like->n_data * sizeof *data) : NULL;
        for (int i = 0; i < like->n_data; i++)
            data[i] = ring_datum(like, k, i, seed);
        node = copy_at(&copy, node->next, sizeof *node);
    }
    for (int i = 0; i < 3; i++)
        leaf->value[i] = seed + i;
    deep_write(area, 0, copy.bytes, size);
    free(copy.bytes);
}

static void check_get_new(const struct deep_area *area, const struct ring *ring, int pe, int seed)
{
    size_t nelems = 99;
    struct node *root = shmemx_get_deep_new(area->address, ring_node_type, &nelems, pe);
    CHECK_THAT(root && nelems == 1, "get_deep_new from %s", area->name);
    ring_check_copy(ring, &ring_everything, root, seed);
    struct node *second = shmemx_get_deep_new(area->address, ring_node_type, NULL, pe);
    CHECK(second && second != root);
    shmemx_deep_free(root);
    ring_check_copy(ring, &ring_everything, second, seed);
    shmemx_deep_free(second);
    shmemx_deep_free(NULL);
}

/* More gets in progress at once than there are buffers. */
static void check_many_gets(const struct deep_area *area)
{
    enum { N = 5 };
    const int pe = check_target(1);
    struct ring rings[N];
    for (int i = 0; i < N; i++)
        rings[i] = ring_make(30, 3000, shmem_my_pe());
    const size_t size = size_of(&rings[0]);
    shmem_barrier_all();
    if (size <= area->size)
        CHECK(put(PUT, area->address, area->size, ring_root(&rings[0]), pe) == (ptrdiff_t)size);
    shmem_quiet();
    for (int i = 0; i < N && size <= area->size; i++) {
        ring_set_data(&rings[i], 99);
        CHECK(shmemx_get_deep_nbi(ring_root(&rings[i]), area->address, ring_node_type, 1, pe) == (ptrdiff_t)size);
    }
    shmem_quiet();
    for (int i = 0; i < N; i++) {
        ring_check(&rings[i], shmem_my_pe());
        ring_free(&rings[i]);
    }
    shmem_barrier_all();
}

static void check_info(const struct deep_area *area, const struct ring *ring, size_t size, int pe)
{
    shmemx_deep_info_t info;
    CHECK(shmemx_deep_info(area->address, NULL, &info, pe) == 0);
    CHECK(shmemx_deep_info(area->address, ring_node_type, &info, pe) == 0);
    CHECK(info.size == size && info.nelems == 1 &&
          info.has_offsets == (area->device->ops->memtype == OSHM_MEMTYPE_OPENCL));
    CHECK_THAT(info.nobjects == (size_t)ring->n_nodes * (ring->n_data ? 3 : 2) + 1, "deep_info: %zu objects",
               info.nobjects);
    if (pe == shmem_my_pe())
        CHECK(info.root == area->base + SHMEMX_DEEP_HEADER);
}

/* Each refusal logs a line, so this is done for one ring only. */
static void check_other_shapes(const struct deep_area *area, const struct ring *ring, int pe)
{
    shmemx_deep_info_t info;
    if (ring->n_nodes != WITH_REFUSALS)
        return;
    struct ring larger = ring_make(ring->n_nodes + 1, ring->n_data, 5);
    struct ring smaller = ring_make(ring->n_nodes, 1, 5);
    CHECK(shmemx_get_deep(ring_root(&larger), area->address, ring_node_type, 1, pe) == -ESTALE);
    CHECK(shmemx_get_deep(ring_root(&smaller), area->address, ring_node_type, 1, pe) == -ESTALE);
    ring_check(&larger, 5);
    ring_check(&smaller, 5);
    ring_free(&larger);
    larger = ring_make(ring->n_nodes, ring->n_data, 5);
    larger.nodes[1]->self = larger.nodes[0]; /* as large, but linked differently */
    CHECK(shmemx_get_deep(ring_root(&larger), area->address, ring_node_type, 1, pe) == -ESTALE);
    CHECK(shmemx_get_deep(ring_root(&larger), area->address, ring_leaf_type, 1, pe) == -EBADMSG);
    CHECK(shmemx_deep_info(area->address, ring_leaf_type, &info, pe) == -EBADMSG);
    CHECK(larger.nodes[0]->key == 500 && larger.leaf->value[0] == 5);
    ring_free(&larger);
    ring_free(&smaller);
}

static void check_get(const struct deep_area *area, const struct ring *ring, int distance)
{
    const size_t size = size_of(ring);
    const int seed = 20 + shmem_my_pe(), pe = check_target(distance);
    if (size > area->size)
        return;
    ring_set_data(ring, shmem_my_pe());
    shmem_barrier_all();
    CHECK(put(PUT, area->address, area->size, ring_root(ring), pe) == (ptrdiff_t)size);
    shmem_barrier_all();
    change_image(area, size, ring, seed);
    shmem_barrier_all();
    CHECK(shmemx_get_deep(ring_root(ring), area->address, ring_node_type, 1, pe) == (ptrdiff_t)size);
    ring_check(ring, 20 + pe);
    ring_set_data(ring, 3);
    CHECK(shmemx_get_deep_nbi(ring_root(ring), area->address, ring_node_type, 1, pe) == (ptrdiff_t)size);
    shmem_quiet();
    ring_check(ring, 20 + pe);
    check_get_new(area, ring, pe, 20 + pe);
    check_info(area, ring, size, pe);
    check_other_shapes(area, ring, pe);
    shmem_barrier_all();
}

/* ---- Odd ones ---------------------------------------------------------------------------------------------------- */

static void check_nothing(const struct deep_area *area)
{
    shmemx_deep_info_t info;
    size_t nelems = 5;
    const int pe = check_target(1);
    shmem_barrier_all();
    CHECK(shmemx_put_deep(area->address, area->size, NULL, ring_node_type, 1, pe) == SHMEMX_DEEP_HEADER);
    CHECK(shmemx_put_deep(area->address, area->size, &info, ring_node_type, 0, pe) == SHMEMX_DEEP_HEADER);
    CHECK(shmemx_put_deep(area->address, area->size, &info, NULL, 1, pe) == -EINVAL);
    shmem_barrier_all();
    CHECK(shmemx_deep_info(area->address, ring_node_type, &info, pe) == 0 && info.nobjects == 0 && info.nelems == 0);
    void *none = shmemx_get_deep_new(area->address, ring_node_type, &nelems, pe);
    CHECK(none && nelems == 0);
    shmemx_deep_free(none);
    shmem_barrier_all();
}

/* Objects in an array, which arrive together. */
static void check_array(const struct deep_area *area)
{
    enum { N = 5 };
    struct leaf leaves[N];
    for (int i = 0; i < N; i++)
        leaves[i] = (struct leaf){{i, i + 0.25, shmem_my_pe()}};
    shmem_barrier_all();
    CHECK(shmemx_put_deep(area->address, area->size, leaves, ring_leaf_type, N, check_target(1)) ==
          SHMEMX_DEEP_HEADER + sizeof leaves);
    shmem_barrier_all();
    struct copy copy = read_image(area, SHMEMX_DEEP_HEADER, sizeof leaves);
    for (int i = 0; i < N; i++)
        leaves[i].value[2] = check_origin(1);
    CHECK(!memcmp(copy.bytes, leaves, sizeof leaves));
    free(copy.bytes);
    shmem_barrier_all();
}

static void check_of_mapped(const struct deep_area *area)
{
    if (area->device != &device_host)
        CHECK(shmemx_put_deep(area->address, area->size, area->address, ring_node_type, 1, 0) == -EINVAL);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

struct thread_work {
    const struct deep_area *area;
    int number;
};

static void *put_and_get(void *argument)
{
    const struct thread_work *work = argument;
    const int pe = check_target(1), seed = 10 * shmem_my_pe() + work->number;
    struct ring ring = ring_make(3 + 17 * work->number, 40, seed);
    char *slot = work->area->address + work->area->size / THREADS / 16 * 16 * (size_t)work->number;
    for (int round = 0; round < 8; round++) {
        ring_set_data(&ring, seed + round);
        CHECK(put(round % 2 ? PUT : PUT_NBI, slot, work->area->size / THREADS, ring_root(&ring), pe) > 0);
        shmem_quiet();
        ring_set_data(&ring, 0);
        CHECK(shmemx_get_deep(ring_root(&ring), slot, ring_node_type, 1, pe) > 0);
        ring_check(&ring, seed + round);
        check_get_new(&(struct deep_area){.name = "a thread's", .address = slot}, &ring, pe, seed + round);
    }
    ring_free(&ring);
    return NULL;
}

static void check_threads(const struct deep_area *area)
{
    pthread_t threads[THREADS];
    struct thread_work work[THREADS];
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct thread_work){area, i};
        CHECK(!pthread_create(&threads[i], NULL, put_and_get, &work[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    shmem_barrier_all();
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static void check_shape(const struct deep_area *area, int n_nodes, int n_data)
{
    struct ring ring = ring_make(n_nodes, n_data, 1);
    for (int way = PUT; way < WAYS; way++)
        check_put(area, &ring, way, way % 2);
    check_get(area, &ring, 1);
    ring_free(&ring);
}

static void check_area(const struct deep_area *area)
{
    static const struct {
        int n_nodes, n_data;
    } shapes[] = {{2, 0}, {3, 5}, {120, 40}, {7, 30000}, {2, 140000}};
    for (int s = 0; s < 5; s++)
        check_shape(area, shapes[s].n_nodes, shapes[s].n_data);
    struct ring ring = ring_make(20, 12, 1);
    check_many(area, &ring);
    check_many_gets(area);
    check_capacity(area, &ring);
    check_get(area, &ring, 0);
    ring_free(&ring);
    check_nothing(area);
    check_array(area);
    check_of_mapped(area);
    check_threads(area);
}

int main(int argc, char **argv)
{
    struct deep_area areas[4];
    int provided, n_nodes = argc > 2 ? atoi(argv[1]) : 0, n_data = argc > 2 ? atoi(argv[2]) : 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    signals = check_shmem_malloc(sizeof *signals);
    ring_create_types();
    int n = deep_open_areas(areas, AREA + (size_t)n_nodes * ((size_t)n_data * sizeof(double) + 200));
    for (int i = 0; i < n && !n_nodes; i++)
        check_area(&areas[i]);
    for (int i = 0; i < n && n_nodes; i++)
        check_shape(&areas[i], n_nodes, n_data);
    deep_close_areas(areas, n);
    shmem_free(signals);
    return check_end();
}
