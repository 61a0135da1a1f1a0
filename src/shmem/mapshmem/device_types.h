/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the host fills in for kernels (shmemx_device.h): plain structures, passed by value as arguments of a kernel.
 * Programs copy them and leave their members alone.
 */
#ifndef MAPSHMEM_DEVICE_TYPES_H
#define MAPSHMEM_DEVICE_TYPES_H

/* How this PE's kernels reach another PE's copy of an object. */
typedef struct {
    long long distance;     /* from an address in the own copy to the same one in that PE's, in bytes */
    unsigned long long can; /* sum of SHMEMI_DEVICE_*: what kernels can do there themselves */
} shmemx_device_peer_t;

enum { SHMEMI_DEVICE_STORES = 1, SHMEMI_DEVICE_ATOMICS = 2 };
enum { SHMEMI_DEVICE_NEAR = 8 }; /* peers that the view itself tells of: arguments of a kernel are read soonest */

/* ---- The ring: operations on PEs that kernels cannot reach, carried out by a thread of the library ----------------
 *
 * Kernels take tickets from the tail, one for each entry. An entry is theirs while the tickets of all rounds before are
 * below `freed`; it is the agent's once its sequence is the ticket plus one. Each entry has a slot, for the bytes of a
 * put, and for what comes back. All operations whose tickets are below `done` are complete. */

enum {                        /* what an entry asks for; a signal may be added to a put */
       SHMEMI_DEVICE_PUT = 1, /* of bytes in `value`, in the slot, or at the address `local`, in this order of sizes */
       SHMEMI_DEVICE_GET = 2, /* into the slot, if `local` is 0 */
       SHMEMI_DEVICE_AMO = 3, /* on a word of nbytes; the old value comes into the slot */
       SHMEMI_DEVICE_KINDS = 0xff,
       SHMEMI_DEVICE_INLINE = 0x100, /* put: the bytes are in `value` */
       SHMEMI_DEVICE_REPLY = 0x200,  /* the kernel reads the slot, and then sets the sequence to 0 */
       SHMEMI_DEVICE_SIGNAL = 0x400, /* then set a signal */
       SHMEMI_DEVICE_ADD = 0x800,    /* or add to it */
       SHMEMI_DEVICE_LIST =
           0x1000, /* put: words of nbytes, `extra` of them, whose offsets and values are in the slot */
       SHMEMI_DEVICE_AMO_SHIFT = 16 /* from here on: the atomic operation, SHMEMI_DEVICE_AMO_* */
};

enum { /* in the order of the library's own numbers */
       SHMEMI_DEVICE_AMO_FETCH,
       SHMEMI_DEVICE_AMO_SET,
       SHMEMI_DEVICE_AMO_ADD,
       SHMEMI_DEVICE_AMO_AND,
       SHMEMI_DEVICE_AMO_OR,
       SHMEMI_DEVICE_AMO_XOR,
       SHMEMI_DEVICE_AMO_SWAP,
       SHMEMI_DEVICE_AMO_COMPARE_SWAP
};

struct shmemi_device_entry { /* 64 bytes */
    unsigned long long sequence;
    unsigned what;
    int pe;
    unsigned region, signal_region;
    unsigned long long offset, local, nbytes;
    unsigned long long value; /* bytes, signal or operand */
    unsigned long long extra; /* offset of the signal, or what a compare-and-swap expects */
};

struct shmemi_device_listed { /* a word of a list */
    unsigned long long offset, value;
};
enum { SHMEMI_DEVICE_LIST_MOST = 32 }; /* words of a list */

/* A word in memory of the host, which the agent raises and many threads wait for. */
struct shmemi_device_far_word {
    const unsigned long long *at; /* page-locked */
    unsigned long long seen;      /* there, by some thread */
    unsigned long long
        last_look; /* when that was, in nanoseconds of the kernels' clock; during a look: in the future */
};

/* One for all kernels of a GPU, and all objects: what a thread has sent can be waited for by any view. Until an object
 * needs the agent it has no entries, and its tail stays 0. */
struct shmemi_device_ring {  /* in memory of the GPU */
    unsigned long long tail; /* the next ticket */
    struct shmemi_device_far_word freed, done;
    struct shmemi_device_entry *entries; /* page-locked, as slots are */
    char *slots;
    unsigned n_entries; /* a power of 2 */
    unsigned slot_bytes;
};

/* A wait that has lasted for a second or more, as it is told to the host's watchdog: page-locked. Blocks share the places,
 * so one that waits writes its own again and again. */
struct shmemi_device_wait {        /* 64 bytes */
    unsigned long long since, now; /* nanoseconds of the kernels' clock; since is 0 in a place that is free */
    unsigned long long offset;     /* of the first word, in this PE's copy of the object */
    unsigned long long value, seen;
    unsigned region, size; /* bytes of a word */
    unsigned n_words;      /* that are looked at, one after the other in memory */
    unsigned block;
    int cmp;  /* SHMEM_CMP_*: how the word is to compare with the value */
    int from; /* the PE that will write it; -1: not known */
};
enum { SHMEMI_DEVICE_WAITS = 64 };

/* A symmetric object as kernels of this PE reach it; shmemx_device_view fills it in. */
typedef struct {
    const shmemx_device_peer_t *peers; /* of PEs first_pe to first_pe + n_peers - 1 */
    struct shmemi_device_ring *ring;   /* to the agent, for what kernels cannot do themselves; every view has it */
    struct shmemi_device_wait *waits;  /* SHMEMI_DEVICE_WAITS of them; 0: there is no watchdog */
    char *own;                         /* this PE's copy, as kernels address it */
    unsigned long long size;           /* in bytes */
    unsigned region;                   /* number of the object, the same on all PEs */
    int first_pe, n_peers;
    int pe, n_pes; /* this PE's number in SHMEM_TEAM_WORLD, and how many there are */
    int n_near; /* for the first so many of peers, kernels do everything themselves, and near holds their distance; 0: some
                    * PE is served by the agent */
    long long near[SHMEMI_DEVICE_NEAR];
} shmemx_device_view_t;

/* A team as kernels of this PE use it; shmemx_device_team_view fills it in. */
typedef struct {
    shmemx_device_view_t work; /* of the object that the work area lies in */
    char *area;                /* the work area: this PE's copy */
    const int *world;          /* numbers of the members in SHMEM_TEAM_WORLD; 0: start + i * stride */
    int start, stride;
    int pe, n_pes; /* this PE's number in the team, and how many members there are */
    unsigned slot; /* bytes of each place for a member's data */
    unsigned reserved;
} shmemx_device_team_t;

/* Bytes of a work area with which n_pes members combine up to nbytes bytes of data at once (more is cut into pieces; 0:
 * for barriers and syncs only). */
#define SHMEMX_DEVICE_WORK_BYTES(n_pes, nbytes)                                                                        \
    ((unsigned long)(n_pes) * (2ul * (((unsigned long)(nbytes) + 15ul) / 16ul * 16ul) + 64ul) + 128ul)

#endif
