/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PE 0 reads every PE's figure with plain gets, so that no collective is measured with the help of another.
 */
#include "gather.h"
#include "shmem_flavour.h"

static double my_figure; /* symmetric */

struct osu_figures osu_gather(double figure)
{
    struct osu_figures all = {0, 0, 0};
    my_figure = figure;
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes() && shmem_my_pe() == 0; pe++) {
        double theirs = shmem_double_g(&my_figure, pe);
        all.sum += theirs;
        all.least = pe == 0 || theirs < all.least ? theirs : all.least;
        all.most = pe == 0 || theirs > all.most ? theirs : all.most;
    }
    shmem_barrier_all();
    return all;
}
