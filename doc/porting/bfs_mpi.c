/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breadth-first search with MPI: counts, then outboxes, by way of host memory. See doc/porting.md.
 */
#include <mpi.h>

#include "bfs.h"
#include "local_rank.h"

/* In host memory: the boxes, and how many vertices go to and come from each process, and where they lie. */
struct staging {
    unsigned *out, *in;
    int *n_out, *n_in, *at;
};

static struct staging staging_make(const struct part *p)
{
    const size_t n = (size_t)p->n_processes;
    struct staging s;

    s.out = (unsigned *)malloc(boxes_bytes(p));
    s.in = (unsigned *)malloc(boxes_bytes(p));
    s.n_out = (int *)calloc(n, sizeof(int));
    s.n_in = (int *)calloc(n, sizeof(int));
    s.at = (int *)calloc(n, sizeof(int));
    for (int i = 0; i < p->n_processes; i++)
        s.at[i] = i * p->block;
    return s;
}

static void staging_free(struct staging *s)
{
    free(s->out);
    free(s->in);
    free(s->n_out);
    free(s->n_in);
    free(s->at);
}

static struct block box(const struct staging *s, int process, int n)
{
    return gpu_row((size_t)s->at[process] * sizeof(unsigned), (size_t)n * sizeof(unsigned));
}

static void exchange(struct part *p, struct staging *s, int depth)
{
    MPI_Alltoall(s->n_out, 1, MPI_INT, s->n_in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < p->n_processes; i++)
        if (s->n_out[i] > 0)
            gpu_out(s->out + s->at[i], p->outbox, box(s, i, s->n_out[i]));
    MPI_Alltoallv(s->out, s->n_out, s->at, MPI_UNSIGNED, s->in, s->n_in, s->at, MPI_UNSIGNED, MPI_COMM_WORLD);
    for (int i = 0; i < p->n_processes; i++)
        if (s->n_in[i] > 0) {
            gpu_in(p->inbox, box(s, i, s->n_in[i]), s->in + s->at[i]);
            take(p, s->at[i], s->n_in[i], depth + 1);
        }
}

int main(int argc, char **argv)
{
    struct part p;
    struct staging s;
    uint64_t mine[2], total[2];
    int n, me, mine_found, all_found = 1, depth = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    gpu_open(local_rank());
    cut(&p, n, me);
    set_up(&p);
    s = staging_make(&p);

    for (; all_found > 0; depth++) {
        follow_edges(&p, depth, s.n_out);
        exchange(&p, &s, depth);
        mine_found = found(&p);
        MPI_Allreduce(&mine_found, &all_found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }

    sum_up(&p, mine);
    MPI_Reduce(mine, total, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        print_result(total, depth);
    staging_free(&s);
    tear_down(&p);
    MPI_Finalize();
    return 0;
}
