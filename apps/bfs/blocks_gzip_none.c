/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds without zlib: files packed by gzip are recognised, and refused.
 */
#include <stdio.h>

#include "blocks.h"

static bool recognise(const unsigned char *bytes, size_t n)
{
    return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static long sample(const char *path, char *bytes, size_t room, char *problem)
{
    (void)path;
    (void)bytes;
    (void)room;
    snprintf(problem, PROBLEM_BYTES, "the file is packed by gzip, and this program was built without zlib: unpack it");
    return -1;
}

const struct block_source blocks_gzip = {.recognise = recognise, .sample = sample};
