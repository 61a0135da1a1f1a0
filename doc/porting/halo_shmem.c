/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange with OpenSHMEM: each edge is put from GPU memory into the neighbour's halo. See doc/porting.md.
 *
 * Usage: halo_shmem [--in-order]
 *
 *   --in-order   cut into rows of tiles only; puts and waits take their place in the stream or queue of the kernels
 */
#include <shmemx.h>
#include <string.h>

#include "halo.h"

static uint64_t *arrived;  /* in the symmetric heap: the last exchange that came from a side */
static uint64_t mine, sum; /* symmetric as static data are, for the reduction                */

static void take_place(struct tile *t, int in_order)
{
    const int n = shmem_n_pes(), me = shmem_my_pe();
    int down = n;

    while (!in_order && ((down - 1) * (down - 1) >= n || n % down != 0))
        down--; /* near square, as MPI_Dims_create */
    const int across = n / down, row = me / across, col = me % across;

    t->neighbour[NORTH] = row > 0 ? me - across : -1;
    t->neighbour[SOUTH] = row < down - 1 ? me + across : -1;
    t->neighbour[WEST] = col > 0 ? me - 1 : -1;
    t->neighbour[EAST] = col < across - 1 ? me + 1 : -1;
    if (cut(t, down, across, row, col))
        shmem_global_exit(1);
}

static void exchange(const struct tile *t, float *map, uint64_t turn)
{
    const ptrdiff_t pitch = t->cols + 2;

    for (int side = 0; side < SIDES; side++) {
        const int far = t->neighbour[side], there = opposite[side];
        float *halo = map + edge(t, there, 1), *own = map + edge(t, side, 0);

        if (far >= 0 && (side == NORTH || side == SOUTH))
            shmem_float_put(halo, own, (size_t)t->cols, far);
        else if (far >= 0)
            shmem_float_iput(halo, own, pitch, pitch, (size_t)t->rows, far);
    }
    shmem_fence();
    for (int side = 0; side < SIDES; side++)
        if (t->neighbour[side] >= 0)
            shmem_signal_set(&arrived[opposite[side]], turn, t->neighbour[side]);
    for (int side = 0; side < SIDES; side++)
        if (t->neighbour[side] >= 0)
            shmem_signal_wait_until(&arrived[side], SHMEM_CMP_GE, turn);
}

static void exchange_in_order(const struct tile *t, float *map, uint64_t turn)
{
    const size_t bytes = (size_t)t->cols * sizeof(float);

    for (int side = NORTH; side <= SOUTH; side++)
        if (t->neighbour[side] >= 0)
            PUT_SIGNAL_IN_ORDER(map + edge(t, opposite[side], 1), map + edge(t, side, 0), bytes,
                                &arrived[opposite[side]], turn, SHMEM_SIGNAL_SET, t->neighbour[side]);
    for (int side = NORTH; side <= SOUTH; side++)
        if (t->neighbour[side] >= 0)
            WAIT_IN_ORDER(&arrived[side], SHMEM_CMP_GE, turn);
}

int main(int argc, char **argv)
{
    const int in_order = argc > 1 && strcmp(argv[1], "--in-order") == 0;
    struct tile t;
    float *map[2];

    shmem_init();
    take_place(&t, in_order);
    gpu_open(shmemx_my_device(MAP_TYPE));
    set_up(&t);
    for (int i = 0; i < 2; i++)
        if (!(map[i] = (float *)MAP(t.field[i], tile_bytes(&t))))
            shmem_global_exit(1); /* shmmap has printed the reason */
    if (!(arrived = (uint64_t *)shmem_calloc(SIDES, sizeof(uint64_t))))
        shmem_global_exit(1);

    for (int i = 0; i < ITERATIONS; i++) {
        if (in_order)
            exchange_in_order(&t, map[i % 2], (uint64_t)i + 1);
        else
            exchange(&t, map[i % 2], (uint64_t)i + 1);
        LAUNCH(sweep, t.rows * t.cols, ARGUMENT(t.field[i % 2]), ARGUMENT(t.field[(i + 1) % 2]), ARGUMENT(t.rows),
               ARGUMENT(t.cols));
        if (!in_order)
            gpu_wait();
    }
    gpu_wait();

    mine = checksum(&t, ITERATIONS % 2);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (shmem_my_pe() == 0)
        print_result(sum);
    for (int i = 0; i < 2; i++) {
        shmumap(map[i]);
        gpu_free(t.field[i]);
    }
    shmem_free(arrived);
    shmem_finalize();
    return 0;
}
