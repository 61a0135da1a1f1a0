/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Edges go to the PEs that own their vertices, in rounds, so that the buffers stay small.
 *
 * A PE sorts a batch of its edges by owner into an outbox in private memory. In each round it puts to every PE what
 * fits into the slot that this PE has for it in its symmetric inbox. The next batch follows when all of the last one
 * is sent.
 */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "distribute.h"
#include "threads.h"

/* How much of an inbox slot an average outbox fills, in tenths. */
#define FILLED_TENTHS 8

struct distribution {
    const struct edge_list *list;
    const struct partition *part;
    int n_pes, me;

    size_t batch; /* edges                                               */
    size_t next;  /* first edge that is in no batch yet                  */
    size_t batch_end;
    struct edge *outbox; /* two ends for each edge of a batch, by destination */
    size_t *from, *to;   /* per PE: the unsent part of the outbox               */
    size_t *places;      /* per thread and PE: number of ends, then place       */

    size_t capacity;    /* ends in a slot of the inbox */
    struct edge *inbox; /* symmetric, a slot per PE    */
    uint64_t *arrived;  /* symmetric: ends in each slot */

    struct edge *received;
    size_t n_received, room;
};

/* ---- Filling the outbox ------------------------------------------------------------------------------------------ */

static size_t *places_of(struct distribution *dist, int thread)
{
    return dist->places + (size_t)thread * (size_t)dist->n_pes;
}

static void count_share(int thread, void *arg)
{
    struct distribution *dist = arg;
    size_t *counts = places_of(dist, thread);
    size_t first, end;

    threads_share(dist->batch_end - dist->next, thread, &first, &end);
    memset(counts, 0, (size_t)dist->n_pes * sizeof(*counts));
    for (size_t i = dist->next + first; i < dist->next + end; i++) {
        counts[partition_owner(dist->part, dist->list->edges[i].a)]++;
        counts[partition_owner(dist->part, dist->list->edges[i].b)]++;
    }
}

static void place_share(int thread, void *arg)
{
    struct distribution *dist = arg;
    size_t *places = places_of(dist, thread);
    size_t first, end;

    threads_share(dist->batch_end - dist->next, thread, &first, &end);
    for (size_t i = dist->next + first; i < dist->next + end; i++) {
        const struct edge edge = dist->list->edges[i];

        dist->outbox[places[partition_owner(dist->part, edge.a)]++] = edge;
        dist->outbox[places[partition_owner(dist->part, edge.b)]++] = (struct edge){edge.b, edge.a};
    }
}

/* Turns the number of ends that each thread has for each PE into the place where it puts them. */
static void assign_places(struct distribution *dist)
{
    size_t place = 0;

    for (int pe = 0; pe < dist->n_pes; pe++) {
        dist->from[pe] = place;
        for (int thread = 0; thread < threads_count(); thread++) {
            size_t n = places_of(dist, thread)[pe];

            places_of(dist, thread)[pe] = place;
            place += n;
        }
        dist->to[pe] = place;
    }
}

static void fill_outbox(struct distribution *dist)
{
    size_t left = dist->list->n - dist->next;

    dist->batch_end = dist->next + (left < dist->batch ? left : dist->batch);
    threads_run(count_share, dist);
    assign_places(dist);
    threads_run(place_share, dist);
    dist->next = dist->batch_end;
}

/* ---- Rounds ------------------------------------------------------------------------------------------------------ */

static void put_pieces(struct distribution *dist)
{
    for (int i = 0; i < dist->n_pes; i++) {
        int pe = (dist->me + i) % dist->n_pes;
        size_t left = dist->to[pe] - dist->from[pe];
        size_t n = left < dist->capacity ? left : dist->capacity;

        shmem_putmem_nbi(dist->inbox + (size_t)dist->me * dist->capacity, dist->outbox + dist->from[pe],
                         n * sizeof(struct edge), pe);
        shmem_uint64_p(&dist->arrived[dist->me], n, pe);
        dist->from[pe] += n;
    }
}

static void take_share(int thread, void *arg)
{
    struct distribution *dist = arg;
    struct edge *dest = dist->received + dist->n_received;

    for (int pe = 0; pe < dist->n_pes; pe++) {
        size_t first, end;

        threads_share(dist->arrived[pe], thread, &first, &end);
        memcpy(dest + first, dist->inbox + (size_t)pe * dist->capacity + first, (end - first) * sizeof(*dest));
        dest += dist->arrived[pe];
    }
}

static void take_arrived(struct distribution *dist)
{
    size_t n = 0;

    for (int pe = 0; pe < dist->n_pes; pe++)
        n += dist->arrived[pe];
    if (n > dist->room - dist->n_received)
        die("PE %d: %zu ends of edges are more than were announced", dist->me, dist->n_received + n);
    threads_run(take_share, dist);
    dist->n_received += n;
}

static bool outbox_is_empty(const struct distribution *dist)
{
    for (int pe = 0; pe < dist->n_pes; pe++)
        if (dist->from[pe] < dist->to[pe])
            return false;
    return true;
}

/* The maximum over the PEs is also what keeps a fast PE from writing into an inbox that is not emptied yet. */
static void exchange(struct distribution *dist)
{
    bool more;

    do {
        if (outbox_is_empty(dist))
            fill_outbox(dist);
        put_pieces(dist);
        shmem_barrier_all();
        take_arrived(dist);
        more = dist->next < dist->list->n || !outbox_is_empty(dist);
    } while (max_of_pes(more));
}

/* ---- Beginning and end ------------------------------------------------------------------------------------------- */

/* How many ends this PE is going to get. */
static size_t announce(struct distribution *dist)
{
    uint64_t *ends = host_alloc((size_t)dist->n_pes * sizeof(*ends));
    size_t mine;

    dist->batch_end = dist->list->n;
    threads_run(count_share, dist);
    for (int pe = 0; pe < dist->n_pes; pe++) {
        ends[pe] = 0;
        for (int thread = 0; thread < threads_count(); thread++)
            ends[pe] += places_of(dist, thread)[pe];
    }
    sum_over_pes(ends, (size_t)dist->n_pes);
    mine = ends[dist->me];
    free(ends);
    return mine;
}

static void open_buffers(struct distribution *dist)
{
    size_t pes = (size_t)dist->n_pes;

    dist->from = host_alloc(pes * sizeof(*dist->from));
    dist->to = host_alloc(pes * sizeof(*dist->to));
    memset(dist->from, 0, pes * sizeof(*dist->from));
    memset(dist->to, 0, pes * sizeof(*dist->to));
    dist->places = host_alloc(pes * (size_t)threads_count() * sizeof(*dist->places));
    dist->capacity = heap_share(DISTRIBUTE_BYTES) / pes / sizeof(struct edge);
    if (dist->capacity < 1)
        quit_all("the symmetric heap is too small for %d PEs: set SHMEM_SYMMETRIC_SIZE higher", dist->n_pes);
    dist->inbox = symmetric_alloc(pes * dist->capacity * sizeof(*dist->inbox));
    dist->arrived = symmetric_alloc(pes * sizeof(*dist->arrived));
    dist->batch = 1 + pes * dist->capacity / 20 * FILLED_TENTHS;
    dist->outbox = host_alloc(2 * dist->batch * sizeof(*dist->outbox));
}

static void close_buffers(struct distribution *dist)
{
    free(dist->outbox);
    shmem_free(dist->arrived);
    shmem_free(dist->inbox);
    free(dist->places);
    free(dist->to);
    free(dist->from);
}

struct edge *distribute(const struct edge_list *list, const struct partition *part, size_t *n_received)
{
    struct distribution dist = {
        .list = list,
        .part = part,
        .n_pes = shmem_n_pes(),
        .me = shmem_my_pe(),
    };

    open_buffers(&dist);
    dist.room = announce(&dist);
    dist.received = host_alloc(dist.room * sizeof(*dist.received));
    exchange(&dist);
    close_buffers(&dist);
    *n_received = dist.n_received;
    return dist.received;
}
