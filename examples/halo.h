/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What halo.c, halo.cc, halo_opencl.c and halo_cuda.cu share: the rule by which cells change, and the same computed by one
 * process alone, to compare with. The cells of all PEs form a circle. A part has n cells, from 1 to n, and a halo of one
 * cell at either end, 0 and n + 1, which has a copy of the neighbour's outermost cell.
 */
#include <stdlib.h>
#include <string.h>

enum { CELLS = 1000, STEPS = 100 };

/* The cells at the start; that of the part's cell 1 has this number in the circle. */
static inline void start(unsigned *part, int number, int n)
{
    for (int i = 1; i <= n; i++) part[i] = (unsigned)(number + i) % 7;
}

/* The rule: a cell becomes the sum of its neighbours and itself. */
static inline void step(unsigned *to, const unsigned *from, int n)
{
    for (int i = 1; i <= n; i++) to[i] = (from[i - 1] + from[i] + from[i + 1]) % 1000;
}

/* Whether the cells of this PE are those that the rule makes of the whole circle of n_pes parts. */
static inline int is_right(const unsigned *part, int me, int n_pes)
{
    const int all = n_pes * CELLS;
    unsigned *whole[2] = {(unsigned *)calloc(all + 2, sizeof(unsigned)), (unsigned *)calloc(all + 2, sizeof(unsigned))};
    start(whole[0], 0, all);
    for (int s = 0; s < STEPS; s++) {
        unsigned *now = whole[s % 2];
        now[0] = now[all], now[all + 1] = now[1];
        step(whole[(s + 1) % 2], now, all);
    }
    return memcmp(part + 1, whole[STEPS % 2] + 1 + me * CELLS, CELLS * sizeof(unsigned)) == 0;
}
