/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI and OpenSHMEM in one program, each for what it is good at (doc/mpi.md): a plate of rows is cut into parts. MPI gives
 * the arguments to all, finds the largest change of an iteration, and writes the result into one file by MPI-IO;
 * OpenSHMEM puts the outermost rows into the neighbours' halos, with signals.
 *
 * Usage: heat ROWS COLS ITERATIONS FILE. The bytes of the file do not depend on the number of processes.
 *
 *     MAPSHMEM_CC=mpicc oshcc -O2 -o heat heat.c -lm
 *     oshrun -n 2 ./heat 64 64 500 plate.bin
 */
#include <math.h>
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { FROM_ABOVE, FROM_BELOW, SIDES };

struct plate {
    int rows, cols;    /* of this part */
    int above, below;  /* ranks, -1 at the edge of the plate */
    double *field[2];  /* symmetric, before and after an iteration, in turns; rows 0 and rows + 1 are the halo */
    uint64_t *arrived; /* symmetric: the iteration whose row has come from either side */
    int *pe_of_rank;   /* PE numbers and ranks need not be equal */
};

/* Rank 0 reads the command line for all. */
static void take_arguments(int argc, char **argv, int rank, int size, int given[3])
{
    if (rank == 0)
        for (int i = 0; i < 3; i++) given[i] = argc == 5 ? atoi(argv[1 + i]) : 0;
    MPI_Bcast(given, 3, MPI_INT, 0, MPI_COMM_WORLD);
    if (given[0] > 0 && given[1] > 2 && given[2] >= 0 && given[0] % size == 0) return;
    if (rank == 0) fprintf(stderr, "usage: heat ROWS COLS ITERATIONS FILE; the processes divide the rows\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void set_up(struct plate *p, const int given[3], int rank, int size)
{
    int me = shmem_my_pe();

    p->rows = given[0] / size;
    p->cols = given[1];
    p->above = rank - 1;
    p->below = rank + 1 < size ? rank + 1 : -1;
    p->pe_of_rank = malloc((size_t)size * sizeof(int));
    MPI_Allgather(&me, 1, MPI_INT, p->pe_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) p->field[i] = shmem_calloc((size_t)(p->rows + 2) * (size_t)p->cols, sizeof(double));
    p->arrived = shmem_calloc(SIDES, sizeof(uint64_t));
    if (!p->field[0] || !p->field[1] || !p->arrived) shmem_global_exit(1);
    if (rank == 0) /* the upper edge is hot */
        for (int i = 0; i < 2 * p->cols; i++) p->field[i / p->cols][i % p->cols] = 100;
}

/* Rows go to both neighbours; returns when theirs have come. Nobody overwrites a halo that is still read: a neighbour puts
 * into this field again two iterations on, after it has seen this part's signal of the iteration between. */
static void exchange(const struct plate *p, double *field, uint64_t iteration)
{
    double *first = field + p->cols, *last = field + p->rows * p->cols;
    size_t n = (size_t)p->cols;

    if (p->above >= 0)
        shmem_double_put_signal(last + p->cols, first, n, &p->arrived[FROM_BELOW], iteration, SHMEM_SIGNAL_SET,
                                p->pe_of_rank[p->above]);
    if (p->below >= 0)
        shmem_double_put_signal(field, last, n, &p->arrived[FROM_ABOVE], iteration, SHMEM_SIGNAL_SET,
                                p->pe_of_rank[p->below]);
    if (p->above >= 0) shmem_signal_wait_until(&p->arrived[FROM_ABOVE], SHMEM_CMP_GE, iteration);
    if (p->below >= 0) shmem_signal_wait_until(&p->arrived[FROM_BELOW], SHMEM_CMP_GE, iteration);
}

/* Returns the largest change of a cell. The columns at the left and at the right stay as they are. */
static double sweep(const struct plate *p, const double *in, double *out)
{
    double most = 0;

    for (int r = 1; r <= p->rows; r++)
        for (int c = 1; c < p->cols - 1; c++) {
            const double *here = in + r * p->cols + c;
            double now = 0.25 * ((here[-p->cols] + here[p->cols]) + (here[-1] + here[1]));

            most = fmax(most, fabs(now - *here));
            out[r * p->cols + c] = now;
        }
    return most;
}

static void write_file(const struct plate *p, const double *field, const char *name, int rank)
{
    MPI_Offset bytes = (MPI_Offset)p->rows * p->cols * (MPI_Offset)sizeof(double);
    MPI_File file;

    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_File_write_at_all(file, rank * bytes, field + p->cols, p->rows * p->cols, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    struct plate p;
    int rank, size, given[3];
    double change = 0;

    MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    take_arguments(argc, argv, rank, size, given);
    set_up(&p, given, rank, size);
    shmem_barrier_all();
    for (int i = 0; i < given[2]; i++) {
        exchange(&p, p.field[i % 2], (uint64_t)i + 1);
        change = sweep(&p, p.field[i % 2], p.field[(i + 1) % 2]);
    }
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    write_file(&p, p.field[given[2] % 2], argv[4], rank);
    if (rank == 0) printf("%d x %d cells, last change %.4f, written to %s\n", given[0], given[1], change, argv[4]);
    shmem_free(p.arrived);
    for (int i = 0; i < 2; i++) shmem_free(p.field[i]);
    free(p.pe_of_rank);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
