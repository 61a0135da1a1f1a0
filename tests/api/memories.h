/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All kinds of memory that a transfer may name, for tests that try each with each.
 */
#ifndef MEMORIES_H
#define MEMORIES_H

#include "support/device.h"

enum { MEMORIES_AREA = 256 << 10, MEMORIES_MOST = 8 };

/* How calls name a memory of MEMORIES_AREA bytes, and the buffer behind it. */
struct memory {
    const char *name;
    char *address;
    void *object;
    struct device *device;
};

struct memories {
    struct memory memory[MEMORIES_MOST];
    int n;
};

/* Symmetric memory, and memory that a local argument may name; after shmem_init. Collective. */
void memories_open(struct memories *remotes, struct memories *locals);
/* Collective; no transfer is under way. */
void memories_close(struct memories *remotes, struct memories *locals);

/* Fill the memory with the pattern of a seed (check.h), and read it into bytes. */
void memories_fill(const struct memory *memory, unsigned seed);
void memories_read(const struct memory *memory, char *bytes);

#endif
