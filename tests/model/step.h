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
    bool is_box, is_nbi, is_direct; /* a box is put or get; by loads and stores, where shmem_ptr allows it */
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

enum { AMOS_MAX = 6 };

struct drawn_amo {
    int type, class, context, target, object, n_actors, n_each; /* class: -1: one PE's own */
    int amos[AMOS_MAX];
    bool is_nbi[AMOS_MAX], hits[AMOS_MAX]; /* hits: compare_swap does; of a class: the form that does not fetch */
    uint64_t values[AMOS_MAX], fetched[AMOS_MAX], before;
    size_t at;
};

enum { HOPS_MAX = 3, WORDS_MAX = 12 };

struct drawn_hop { /* of a message, to a PE */
    int pe, context, way, wait, object, word_object;
    size_t at, word_at;
    uint64_t before, after; /* the word */
};

struct drawn_message {
    size_t nbytes;
    int n_hops;
    struct drawn_hop hops[HOPS_MAX];
};

struct drawn_wait { /* of the actor */
    int type, n, form, cmp, object;
    bool is_test, has_status;
    int status[WORDS_MAX], senders[WORDS_MAX], hows[WORDS_MAX];
    uint64_t before[WORDS_MAX];
    size_t at;
};

struct drawn_lock {
    int n_actors, n_each, target, object;
    bool is_test;
    size_t at;
};

struct drawn_queued {
    int what, queue, target, object, here_object, signal_object, third, third_object;
    bool adds;
    struct byte_shape there, here;
    size_t at, here_at, signal_at, third_at;
};

struct drawn_deep { /* of a random graph to the target */
    int form, target, object, signal_object, signal_op;
    size_t graph, n_objects, size, capacity, at, signal_at;
    bool makes_new;
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
        struct drawn_amo amo;
        struct drawn_message message;
        struct drawn_wait wait;
        struct drawn_lock lock;
        struct drawn_queued queued;
        struct drawn_occasion occasion;
        struct drawn_kernel kernel;
        struct drawn_deep deep;
    };
    unsigned char *memory; /* of this PE's part, until the epoch's end */
};

#endif
