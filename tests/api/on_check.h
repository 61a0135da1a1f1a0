/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test of operations on streams and queues, whichever: on_stream.c and on_queue.c say how a program enqueues work of
 * its own, and which routines the library has for the kind. What the program enqueues are fills and copies, so that no
 * kernel is needed.
 */
#ifndef ON_CHECK_H
#define ON_CHECK_H

#include "check.h"

#include <shmemx.h>

enum { ON_LANES = 2, ON_BYTES = 4 << 20, ON_DATA = 64 << 10 }; /* the object; where its data begin, after the words */

struct on_ops {
    int type; /* for shmmap */

    /* The program's own work in a lane (a stream or an in-order queue). Words are of 4 bytes. */
    void (*fill)(int lane, size_t offset, uint32_t value, size_t n_words);
    void (*copy)(int lane, size_t to, size_t from, size_t nbytes);
    void (*mark)(int lane);      /* one mark at a time */
    int (*has_passed)(int lane); /* the mark */
    void (*finish)(int lane);
    void (*read)(void *dest, size_t offset, size_t nbytes); /* at once */
    void (*write)(size_t offset, const void *source, size_t nbytes);

    /* The library's. */
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

/* object: ON_BYTES of the kind, as shmmap wants it. All of the test but shmumap, which the caller does. The mapped
 * address. */
char *on_check(const struct on_ops *ops, void *object);

#endif
