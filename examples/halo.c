/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo: a circle of cells is cut into parts, one for each PE. In each step a PE puts its outermost cells into the halos of
 * its neighbours, with signals, waits for theirs, and computes. There are two fields in turns: while a neighbour puts into
 * one for the next step, this PE may still read the other.
 *
 *     oshcc -o halo halo.c
 *     oshrun -n 4 ./halo
 */
#include "halo.h"
#include <shmem.h>
#include <stdio.h>

enum { FROM_LEFT, FROM_RIGHT };

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;
    unsigned *field[2];
    for (int i = 0; i < 2; i++) field[i] = shmem_malloc((CELLS + 2) * sizeof(unsigned));
    uint64_t *arrived = shmem_calloc(2, sizeof *arrived); /* the step whose cell has come from either side */
    start(field[0], me * CELLS, CELLS);

    for (int s = 0; s < STEPS; s++) {
        unsigned *now = field[s % 2];
        uint64_t turn = (uint64_t)s + 1;
        shmem_uint_put_signal(&now[CELLS + 1], &now[1], 1, &arrived[FROM_RIGHT], turn, SHMEM_SIGNAL_SET, left);
        shmem_uint_put_signal(&now[0], &now[CELLS], 1, &arrived[FROM_LEFT], turn, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn);
        shmem_signal_wait_until(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn);
        step(field[(s + 1) % 2], now, CELLS);
    }

    int wrong = !is_right(field[STEPS % 2], me, n);
    printf("PE %d: %d cells after %d steps: %s\n", me, CELLS, STEPS, wrong ? "WRONG" : "verified");
    shmem_finalize();
    return wrong;
}
