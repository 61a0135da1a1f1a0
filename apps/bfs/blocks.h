/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file as blocks of whole lines, one for each PE in each round.
 */
#ifndef BFS_BLOCKS_H
#define BFS_BLOCKS_H

#include "text.h"

/* The functions end all PEs with a message if the file cannot be read. All but sample are collective. */
struct block_source {
    /* Whether this source reads files that begin with these bytes. Called on PE 0. */
    bool (*recognise)(const unsigned char *bytes, size_t n);
    /* Reads the beginning of the text, at most room bytes, on PE 0. Returns their number, or -1 and the problem. */
    long (*sample)(const char *path, char *bytes, size_t room, char *problem);
    /* Opens a file whose blocks begin after `skipped` bytes of the text. */
    void *(*open)(const char *path, uint64_t skipped);
    /* Gets this PE's next block, which may be empty and is valid until the next call. False, on all PEs, at the end. */
    bool (*next)(void *state, struct text *text);
    void (*close)(void *state);
};

extern const struct block_source blocks_plain, blocks_gzip;

#endif
