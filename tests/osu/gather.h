/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One figure of each PE, brought together on PE 0.
 */
#ifndef OSU_GATHER_H
#define OSU_GATHER_H

struct osu_figures {
    double sum, least, most;
};

/* Collective. The result is on PE 0; the others get zeros. */
struct osu_figures osu_gather(double figure);

#endif
