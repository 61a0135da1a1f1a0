/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over other libraries, to compare with ours: the same program but for what moves the halos. Such a program
 * defines the job's functions of util.h and its own variants of struct exchange.
 */
#ifndef STENCIL2D_PEER_H
#define STENCIL2D_PEER_H

#include "stencil2d.h"

struct peer {
    struct options opt;
    const struct device_ops *ops;
    struct local_tile tile;
    struct reference ref;
    bool failed;
};

/* One tile per process. Ends the job if that, or the command line, is wrong, and after --help. */
void peer_options(struct peer *peer, int argc, char **argv);

/* Processes of a machine take its devices in turn. */
void peer_open_device(struct peer *peer, int rank_on_machine);
void peer_close_device(struct peer *peer);

/* One run for each variant of the command line; NULL is one that the program lacks, which ends the job. */
void peer_run(struct peer *peer, const struct exchange *const exchanges[VARIANTS]);

#endif
