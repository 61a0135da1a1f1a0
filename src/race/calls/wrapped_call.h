/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the wrappers of the public routines have in common: each begins a call, tells of its accesses and of its order,
 * calls the library's routine by its profiling name, and ends the call.
 */
#ifndef RACE_CALL_H
#define RACE_CALL_H

#include "race/clocks.h"
#include "race/shadow.h"

/* The wrappers have the names that the generic forms take. */
#define SHMEMI_WITHOUT_GENERIC
#include <pshmem.h>
#include <shmemx.h>

/* A call of the program. */
struct race_call {
    struct race_thread *thread; /* NULL: nothing is checked */
    uint32_t context;
    uint8_t domain; /* RACE_SHARED or 0 */
    uint16_t routine;
    shmem_team_t team; /* that PE numbers belong to */
    uintptr_t pc;
};

/* Begin a call of a routine on a context; routine is where its number is kept. */
struct race_call race_call_begin(uint16_t *routine, const char *name, shmem_ctx_t ctx, uintptr_t pc);
void race_call_end(struct race_call *call);

#define RACE_BEGIN(NAME, CTX)                                                                                          \
    static uint16_t routine;                                                                                           \
    struct race_call call = race_call_begin(&routine, NAME, CTX, (uintptr_t)__builtin_return_address(0) & RACE_PC_MASK)

#define RACE_WRAPPER __attribute__((visibility("default")))

/* contexts.c: contexts and teams, as this PE has them. */
struct race_team {
    shmem_team_t handle;
    uint64_t uid;           /* the same for all members, and for no other team */
    uint64_t number;        /* of the next collective */
    uint64_t stream_number; /* and of the next one in streams */
    int me, n;
    uint8_t domain;
};

/* The team, which has at least this PE; NULL: it is none. */
struct race_team *race_team_of(shmem_team_t handle);
int race_world_pe(const struct race_call *call, int pe);
void race_forget_handles(void);

/* call_accesses.c: accesses of transfers. Addresses and PE as the program gave them, sizes in bytes. */
void race_put(struct race_call *call, void *dest, const void *source, size_t size, int pe, bool is_nbi);
void race_get(struct race_call *call, void *dest, const void *source, size_t size, int pe, bool is_nbi);
void race_put_signal(struct race_call *call, void *dest, const void *source, size_t size, uint64_t *signal, int pe,
                     bool is_nbi);

/* n blocks of size bytes, so many bytes from the start of one to that of the next. */
struct race_blocks {
    size_t size, n;
    ptrdiff_t dest_stride, source_stride;
};
void race_put_blocks(struct race_call *call, void *dest, const void *source, const struct race_blocks *blocks, int pe);
void race_get_blocks(struct race_call *call, void *dest, const void *source, const struct race_blocks *blocks, int pe);

/* Atomic operations without a result; with one, before and after the library's call; nbi ones. writes: whether the word
 * is changed at all. */
void race_amo(struct race_call *call, void *dest, size_t size, bool is_floating, int pe);
void race_amo_fetch(struct race_call *call, const void *dest, size_t size, uint8_t flags, int pe);
void race_amo_fetched(struct race_call *call, const void *dest, size_t size, int pe);
void race_amo_nbi(struct race_call *call, void *fetch, const void *dest, size_t size, uint8_t flags, int pe);
/* The thread has seen the value of a word of this PE. */
void race_waited(struct race_call *call, const void *word, size_t size);
/* The call itself accesses memory of this PE. */
void race_own(struct race_call *call, const void *address, size_t size, uint8_t flags);

/* A collective: which results depend on which members. */
enum race_shape { RACE_ALL, RACE_FROM_ROOT, RACE_PREFIX };

struct race_collective {
    struct race_call *call;
    struct race_team *team;
    enum race_shape shape;
    int root;
    uint64_t number;
};

struct race_collective race_collective_begin(struct race_call *call, struct race_team *team, enum race_shape shape,
                                             int root);
void race_collective_end(const struct race_collective *collective);

/* What a member reads and writes in a collective, in bytes. */
struct race_buffers {
    void *dest;
    const void *source;
    size_t dest_size, source_size;
};

/* collective_calls.c: a collective with these accesses; the end is that of the call, too. */
struct race_collective race_buffers_begin(struct race_call *call, struct race_team *team, enum race_shape shape,
                                          int root, const struct race_buffers *buffers);
void race_buffers_end(const struct race_collective *collective, const struct race_buffers *buffers);
/* The team of an active set, by its members. */
struct race_team *race_set_of(int start, int log_stride, int size);
/* Quiet of the default context, then all members. */
void race_barrier(struct race_call *call, struct race_team *team, void (*barrier)(void));

#endif
