/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file as blocks of whole lines, one for each PE in each round.
 */
#ifndef BFS_BLOCKS_H
#define BFS_BLOCKS_H

#include "text.h"

/* Calls end all PEs with a line when the file cannot be read. All but sample are collective. */
struct block_source {
    /* Whether files that begin with these bytes are for it. PE 0. */
    bool (*recognise)(const unsigned char *bytes, size_t n);
    /* The beginning of the text, at most room bytes. PE 0; returns the number of bytes, or -1 with the problem. */
    long (*sample)(const char *path, char *bytes, size_t room, char *problem);
    /* Blocks begin behind `skipped` bytes of the text. */
    void *(*open)(const char *path, uint64_t skipped);
    /* The block is valid until the next call; text that is empty for some PEs. Returns false, on all, at the end. */
    bool (*next)(void *state, struct text *text);
    void (*close)(void *state);
};

extern const struct block_source blocks_plain, blocks_gzip;

#endif
