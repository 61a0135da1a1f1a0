/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes over a connection to the place where PEs meet. First both ends prove that they know the key, without sending
 * it: who connects sends a greeting, the server answers with a challenge, which has its own proof, and is answered by an
 * entry. Each proof is a keyed hash that the nonces of both go into, so none is worth anything on another connection; and
 * the port of the server, so who listens at another one cannot pass them on.
 * Then frames follow in both directions: a head, and so many bytes.
 */
#ifndef SHMEMI_RENDEZVOUS_WIRE_H
#define SHMEMI_RENDEZVOUS_WIRE_H

#include "bootstrap/rendezvous/keyed_hash.h"

#include <stdint.h>

/* Its last byte is the version of what is said here. */
#define SHMEMI_GREETING_MAGIC UINT64_C(0x4d61705348454d01)

struct shmemi_greeting {
    uint64_t magic;
    struct shmemi_key nonce;
};

struct shmemi_challenge {
    struct shmemi_key nonce, proof;
};

struct shmemi_entry {
    struct shmemi_key proof;
    uint32_t pe, n_pes;
    uint32_t is_host; /* the server is a thread of this process */
    uint32_t padding;
};

/* The kinds of frames. */
enum {
    /* to the server */
    SHMEMI_FRAME_GATHER = 1, /* what this PE publishes */
    SHMEMI_FRAME_ASK,        /* who has not come? */
    SHMEMI_FRAME_LEAVE,      /* this PE has finalised */
    /* from the server */
    SHMEMI_FRAME_WELCOME,  /* the PE is one of the job */
    SHMEMI_FRAME_GATHERED, /* struct shmemi_gathered_head, a size for each PE, what they have published */
    SHMEMI_FRAME_PRESENT,  /* a byte for each PE: 1 if it has come */
    SHMEMI_FRAME_BYE,      /* all have finalised */
    /* in both directions */
    SHMEMI_FRAME_END, /* struct shmemi_end_of_job */
};

struct shmemi_frame {
    uint32_t kind, size;
};

struct shmemi_gathered_head {
    int32_t host; /* the PE whose process has the server; -1: it is no PE */
    uint32_t n_pes;
};

/* Why a job ends, or, in answer to an entry, why the PE is not let in. */
enum {
    SHMEMI_END_LOST = 1,  /* the process of pe has ended in the middle of the job */
    SHMEMI_END_STATUS,    /* pe has ended the job with this status */
    SHMEMI_END_TWICE,     /* two processes say that they are pe */
    SHMEMI_END_N_PES,     /* pe says that there are so many PEs, others say something else */
    SHMEMI_END_NO_MEMORY, /* of the server */
    SHMEMI_END_LEFT       /* pe has left, and others start */
};

struct shmemi_end_of_job {
    uint32_t reason;
    int32_t pe, value;
    int32_t other;  /* SHMEMI_END_N_PES: what the others say */
    int32_t teller; /* the PE that logs it; -1: none of those that are there */
};

#endif
