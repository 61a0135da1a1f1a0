/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of every type behind one signature, blocking, in queues and over active sets, and what they do with two
 * elements.
 */
#ifndef MODEL_COLL_CALLS_H
#define MODEL_COLL_CALLS_H

#include "tester.h"

enum coll { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, REDUCE, INSCAN, EXSCAN, SYNC, N_COLLS };
enum coll_op { OP_AND, OP_OR, OP_XOR, OP_MAX, OP_MIN, OP_SUM, OP_PROD, N_OPS };

struct coll_call {
    enum coll coll;
    enum coll_op op;
    shmem_team_t team;
    void *dest;
    const void *source;
    size_t nelems;
    ptrdiff_t dst, sst;
    int root;
    void *queue; /* NULL: blocking */
    bool is_stream;
    bool is_set; /* over an active set: */
    int start, log_stride, size;
    long *sync;
};

struct coll_type {
    const char *name;
    size_t size, value_bytes;
    bool moves, has_bits, has_order, has_arithmetic;
    bool is_set;  /* for active sets */
    bool is_half; /* sums of 16 bits, which are rounded once: no products and scans */
    int (*call)(const struct coll_call *call);
    void (*value)(void *value, uint64_t number);                /* of this type, from a number */
    void (*combine)(enum coll_op op, void *acc, const void *x); /* acc = acc op x; half: on floats */
    float (*widen)(uint16_t number);                            /* half only */
    uint16_t (*narrow)(float number);
};

extern const struct coll_type coll_types[];
extern const int n_coll_types;
extern const char *const coll_names[N_COLLS], *const op_names[N_OPS];

#endif
