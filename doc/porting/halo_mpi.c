/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange with MPI: edges are copied to host memory, sent, and copied into the halos. See doc/porting.md.
 */
#include <mpi.h>

#include "halo.h"
#include "local_rank.h"

static void take_place(struct tile *t, MPI_Comm *grid)
{
    int n, me, dims[2] = { 0, 0 }, at[2];
    const int periods[2] = { 0, 0 };

    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Dims_create(n, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, grid);
    MPI_Comm_rank(*grid, &me);
    MPI_Cart_coords(*grid, me, 2, at);
    MPI_Cart_shift(*grid, 0, 1, &t->neighbour[NORTH], &t->neighbour[SOUTH]);
    MPI_Cart_shift(*grid, 1, 1, &t->neighbour[WEST], &t->neighbour[EAST]);
    if (cut(t, dims[0], dims[1], at[0], at[1]))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static struct block edge_block(const struct tile *t, int side, int halo)
{
    const size_t pitch = (size_t)(t->cols + 2) * sizeof(float), offset = edge(t, side, halo) * sizeof(float);
    const int column = side == WEST || side == EAST;
    const struct block block = { offset, pitch, column ? sizeof(float) : (size_t)t->cols * sizeof(float),
                                 column ? (size_t)t->rows : 1 };

    return block;
}

static void exchange(const struct tile *t, int now, MPI_Comm grid)
{
    static float out[SIDES][ROWS + COLS], in[SIDES][ROWS + COLS];
    MPI_Request requests[2 * SIDES];

    for (int side = 0; side < SIDES; side++) {
        const int far = t->neighbour[side];

        MPI_Irecv(in[side], length(t, side), MPI_FLOAT, far, opposite[side], grid, &requests[side]);
        if (far != MPI_PROC_NULL)
            gpu_out(out[side], t->field[now], edge_block(t, side, 0));
        MPI_Isend(out[side], length(t, side), MPI_FLOAT, far, side, grid, &requests[SIDES + side]);
    }
    MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < SIDES; side++)
        if (t->neighbour[side] != MPI_PROC_NULL)
            gpu_in(t->field[now], edge_block(t, side, 1), in[side]);
}

int main(int argc, char **argv)
{
    struct tile t;
    MPI_Comm grid;
    uint64_t mine, sum;
    int me;

    MPI_Init(&argc, &argv);
    take_place(&t, &grid);
    MPI_Comm_rank(grid, &me);
    gpu_open(local_rank());
    set_up(&t);

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&t, i % 2, grid);
        LAUNCH(sweep, t.rows * t.cols, ARGUMENT(t.field[i % 2]), ARGUMENT(t.field[(i + 1) % 2]), ARGUMENT(t.rows),
               ARGUMENT(t.cols));
        gpu_wait();
    }

    mine = checksum(&t, ITERATIONS % 2);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, grid);
    if (me == 0)
        print_result(sum);
    for (int i = 0; i < 2; i++)
        gpu_free(t.field[i]);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
