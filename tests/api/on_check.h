/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test of operations on streams and queues. on_stream.c and on_queue.c say which routines the library has for the
 * kind, and how a program marks a place in its work. What a program enqueues itself are fills and copies, so that no
 * kernel is needed.
 */
#ifndef ON_CHECK_H
#define ON_CHECK_H

#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { ON_LANES = 2, ON_BYTES = 4 << 20, ON_DATA = 64 << 10 }; /* the object; where its data begin, after the words */

/* The object, its device, and the lanes: queues, of which the second is served first where the device can do that. */
extern struct device *on_device;
extern struct buffer *on_buffer;
extern struct queue *on_queues[ON_LANES];
extern void *on_lanes[ON_LANES]; /* the CUstream or cl_command_queue of each */

/* Collective: opens all of these; false on every PE where one of them has no device of the kind. */
bool on_open(const struct device_ops *kind);

/* The program's own work. Words are of 4 bytes. */
void on_fill(int lane, size_t offset, uint32_t value, size_t n_words);
void on_copy(int lane, size_t to, size_t from, size_t nbytes);
void on_finish(int lane);
uint32_t on_word(size_t offset); /* at once */

struct on_ops {
    void (*mark)(int lane);      /* one mark at a time */
    int (*has_passed)(int lane); /* the mark */

    /* The library's operations. */
    void (*put)(int lane, void *dest, const void *source, size_t nbytes, int pe);
    void (*get)(int lane, void *dest, const void *source, size_t nbytes, int pe);
    void (*put_signal)(int lane, void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value, int op,
                       int pe);
    void (*signal_op)(int lane, uint64_t *word, uint64_t value, int op, int pe);
    void (*wait)(int lane, uint64_t *word, int cmp, uint64_t value);
    void (*quiet)(int lane);
    void (*sync)(int lane);
    void (*barrier)(int lane);
};

/* Runs the test. Returns the mapped address, for shmumap by the caller. */
char *on_check(const struct on_ops *ops);

#endif
