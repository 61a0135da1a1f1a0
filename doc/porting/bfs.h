/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What bfs_mpi.c and bfs_shmem.c share: the kernels, the part of a process, its graph, the checksum. None of it knows
 * how vertices travel.
 *
 * A breadth-first search goes level by level. Vertices are spread over the processes in blocks. Each process follows
 * the edges of its vertices of the current level, collects what it finds in an outbox for each owner, and sends the
 * outboxes; the owners take what is new into the next level.
 */
#ifndef PORTING_BFS_H
#define PORTING_BFS_H

#include <limits.h>

#include "gpu.h"

enum { VERTICES = 100000, DEGREE = 4, ROOT = 1, UNREACHED = INT_MAX };

/* A vertex goes to its owner once from each process: `sent` remembers, and an outbox holds a block at most. The boxes
 * of all processes lie side by side. */
KERNELS(KERNEL expand(GLOBAL const unsigned *column, GLOBAL const int *level, GLOBAL int *sent, GLOBAL unsigned *outbox,
                      GLOBAL int *count, int depth, int degree, int block, int size) {
    if (INDEX >= size || level[INDEX] != depth)
        return;
    for (int i = INDEX * degree; i < (INDEX + 1) * degree; i++) {
        const unsigned v = column[i];
        const int owner = (int)v / block;

        if (ATOMIC_SET(&sent[v], 1) == 0)
            outbox[owner * block + ATOMIC_ADD(&count[owner], 1)] = v;
    }
}

KERNEL accept(GLOBAL const unsigned *inbox, GLOBAL int *level, GLOBAL int *found, int start, int n, int first,
              int depth) {
    if (INDEX < n && ATOMIC_MIN(&level[inbox[start + INDEX] - first], depth) > depth)
        ATOMIC_ADD(found, 1);
})

struct part {
    int n_processes, block;       /* process p owns the vertices from p * block on */
    int first, size;              /* of this process                               */
    DEVICE(unsigned) column;      /* DEGREE neighbours of each of its vertices     */
    DEVICE(int) level;            /* of each of its vertices                       */
    DEVICE(int) sent;             /* of all vertices                               */
    DEVICE(unsigned) outbox;      /* a block for each owner                        */
    DEVICE(unsigned) inbox;       /* a block from each process                     */
    DEVICE(int) count;            /* of vertices in each outbox                    */
    DEVICE(int) found;            /* vertices of the next level                    */
};

static inline size_t boxes_bytes(const struct part *p)
{
    return (size_t)p->n_processes * (size_t)p->block * sizeof(unsigned);
}

/* A neighbour is drawn from a vertex by a hash: the graph does not depend on the number of processes. */
static inline unsigned neighbour(unsigned vertex, unsigned i)
{
    uint64_t x = (uint64_t)(vertex * DEGREE + i + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
    return (unsigned)((x ^ (x >> 29)) % VERTICES);
}

static inline void cut(struct part *p, int n_processes, int me)
{
    p->n_processes = n_processes;
    p->block = (VERTICES + n_processes - 1) / n_processes;
    p->first = me * p->block < VERTICES ? me * p->block : VERTICES;
    p->size = VERTICES - p->first < p->block ? VERTICES - p->first : p->block;
}

static inline void set_up(struct part *p)
{
    const size_t size = (size_t)p->block;
    unsigned *column = (unsigned *)calloc(size * DEGREE, sizeof(unsigned));
    int *zeros = (int *)calloc((size_t)VERTICES, sizeof(int));
    int *level = (int *)calloc(size, sizeof(int));

    for (int v = 0; v < p->size; v++)
        for (unsigned i = 0; i < DEGREE; i++)
            column[(unsigned)v * DEGREE + i] = neighbour((unsigned)(p->first + v), i);
    for (int v = 0; v < p->size; v++)
        level[v] = p->first + v == ROOT ? 0 : UNREACHED;
    p->column = (DEVICE(unsigned))gpu_alloc(size * DEGREE * sizeof(unsigned));
    p->level = (DEVICE(int))gpu_alloc(size * sizeof(int));
    p->sent = (DEVICE(int))gpu_alloc((size_t)VERTICES * sizeof(int));
    p->outbox = (DEVICE(unsigned))gpu_alloc(boxes_bytes(p));
    p->inbox = (DEVICE(unsigned))gpu_alloc(boxes_bytes(p));
    p->count = (DEVICE(int))gpu_alloc((size_t)p->n_processes * sizeof(int));
    p->found = (DEVICE(int))gpu_alloc(sizeof(int));
    gpu_in(p->column, gpu_row(0, size * DEGREE * sizeof(unsigned)), column);
    gpu_in(p->level, gpu_row(0, size * sizeof(int)), level);
    gpu_in(p->sent, gpu_row(0, (size_t)VERTICES * sizeof(int)), zeros);
    free(column);
    free(zeros);
    free(level);
}

static inline void tear_down(struct part *p)
{
    gpu_free(p->column);
    gpu_free(p->level);
    gpu_free(p->sent);
    gpu_free(p->outbox);
    gpu_free(p->inbox);
    gpu_free(p->count);
    gpu_free(p->found);
}

/* Fills the outboxes, and count[] with how many vertices each has. */
static inline void follow_edges(struct part *p, int depth, int *count)
{
    const struct block counts = gpu_row(0, (size_t)p->n_processes * sizeof(int));
    const int degree = DEGREE, none = 0;

    for (int i = 0; i < p->n_processes; i++)
        count[i] = 0;
    gpu_in(p->count, counts, count);
    gpu_in(p->found, gpu_row(0, sizeof(int)), &none);
    LAUNCH(expand, p->block, ARGUMENT(p->column), ARGUMENT(p->level), ARGUMENT(p->sent), ARGUMENT(p->outbox),
           ARGUMENT(p->count), ARGUMENT(depth), ARGUMENT(degree), ARGUMENT(p->block), ARGUMENT(p->size));
    gpu_out(count, p->count, counts);
}

/* n vertices of the inbox from `start` on. */
static inline void take(struct part *p, int start, int n, int depth)
{
    if (n > 0)
        LAUNCH(accept, n, ARGUMENT(p->inbox), ARGUMENT(p->level), ARGUMENT(p->found), ARGUMENT(start), ARGUMENT(n),
               ARGUMENT(p->first), ARGUMENT(depth));
}

/* Vertices that this process has taken; waits for the kernels. */
static inline int found(const struct part *p)
{
    int n;

    gpu_out(&n, p->found, gpu_row(0, sizeof(n)));
    return n;
}

/* result[0]: a checksum of this part's levels, result[1]: how many vertices it has reached. */
static inline void sum_up(const struct part *p, uint64_t result[2])
{
    int *level = (int *)calloc((size_t)p->block, sizeof(int));

    gpu_out(level, p->level, gpu_row(0, (size_t)p->block * sizeof(int)));
    result[0] = result[1] = 0;
    for (int v = 0; v < p->size; v++)
        if (level[v] != UNREACHED) {
            result[0] += (uint64_t)(level[v] + 1) * (uint64_t)(p->first + v + 1);
            result[1]++;
        }
    free(level);
}

static inline void print_result(const uint64_t result[2], int levels)
{
    printf("bfs: %d vertices, %llu reached in %d levels, checksum %llx\n", VERTICES, (unsigned long long)result[1],
           levels, (unsigned long long)result[0]);
}

#endif
