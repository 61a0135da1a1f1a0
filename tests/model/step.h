/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of a program: what its family has drawn, the same on all PEs, and what this PE keeps until the epoch's end.
 * Included by tester.h.
 */
#ifndef MODEL_STEP_H
#define MODEL_STEP_H

#include "kernel_ops.h"

enum verb { PUT, GET, PUT_NBI, GET_NBI, PUT_SIGNAL, PUT_SIGNAL_NBI, IPUT, IGET, IBPUT, IBGET, P, G, N_VERBS };

/* A call of remote memory access, as typed.c makes it. */
struct typed_call {
    enum verb verb;
    int type;        /* of typed.c */
    shmem_ctx_t ctx; /* SHMEM_CTX_INVALID: the plain routine */
    void *dest;
    const void *source;
    size_t nelems, bsize;
    ptrdiff_t dst, sst;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op, pe;
};

struct drawn_transfer {
    enum verb verb;
    bool is_box, is_nbi; /* a box is put or get */
    int type, target, context, object;
    size_t offset;
    struct byte_shape there; /* on the target */
    struct local_side local;
    bool has_signal;
    int signal_object, signal_op;
    size_t signal_offset;
};

struct drawn_coll {
    int coll, op, type;              /* of coll_calls.h */
    int team, root, queue;           /* queue: -1: blocking */
    int start, log_stride, set_size; /* of an active set */
    bool is_in_place;
    int dest_object, source_object;
    size_t dest_at, source_at, nelems;
    ptrdiff_t dst, sst;
};

enum { KERNEL_OPS_MAX = 6 };

struct drawn_kernel {
    int object, team, n_ops, threads; /* team: index of the kernels' teams */
    struct kernel_op ops[KERNEL_OPS_MAX];
    unsigned long scratch; /* bytes of private memory */
};

struct drawn_occasion {
    int what, object;
};

struct drawn_step {
    const struct step_family *family;
    int number, epoch, lane, actor; /* actor: the PE that does it, if it is one */
    union {
        struct drawn_transfer transfer;
        struct drawn_coll coll;
        struct drawn_occasion occasion;
        struct drawn_kernel kernel;
    };
    unsigned char *memory; /* of this PE's part, until the epoch's end */
};

#endif
