/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the model-based tester share. From a seed every PE derives the same program: objects, teams,
 * contexts, and steps in a few epochs. Each PE foresees what all steps of an epoch do to the memory of all PEs, takes its
 * own part in them, and compares every byte of its own memory with what it has foreseen. In an epoch a byte is written by
 * one step at most, or updated by atomic operations of one kind, so the result does not depend on who is faster
 * (claims.c); inside a step, order is made by what the specification promises.
 */
#ifndef MODEL_H
#define MODEL_H

#include <shmem.h>
#include <shmemx.h>

#include <stdbool.h>
#include <stdio.h>

#include "numbers.h"

enum {
    PES_MAX = 20,
    LANES_MAX = 3, /* threads of a PE; the first is that of shmem_init */
    OBJECTS_MAX = 7,
    TEAMS_MAX = 6,
    CONTEXTS_MAX = 6,
    EPOCHS_MAX = 4,
    STEPS_MAX = 256,
    GUARD = 64, /* bytes around private memory */
};

/* ---- The job --------------------------------------------------------------------------------------------------------- */

struct tester_job {
    int me, n;
    int node[PES_MAX]; /* the lowest PE of each PE's node */
    bool has_threads;  /* SHMEM_THREAD_MULTIPLE */
    bool has_device;   /* every PE has one whose memory can be mapped */
    bool has_kernels;  /* kernels of all PEs may wait for each other */
};
extern struct tester_job job;

/* ---- Shapes: layers of rows of bytes ------------------------------------------------------------------------------------ */

struct byte_shape {
    size_t width, rows, layers, row_pitch, layer_pitch;
};

static inline struct byte_shape shape_of(size_t nbytes)
{
    return (struct byte_shape){.width = nbytes, .rows = 1, .layers = 1, .row_pitch = nbytes, .layer_pitch = nbytes};
}

/* Bytes from the first to the last one, and how many there are. */
size_t shape_extent(const struct byte_shape *shape);
size_t shape_bytes(const struct byte_shape *shape);
/* Both have as many layers and rows, and rows as wide. */
void shape_copy(unsigned char *dest, const struct byte_shape *to, const unsigned char *source,
                const struct byte_shape *from);

/* ---- Symmetric objects --------------------------------------------------------------------------------------------------- */

enum object_kind { IN_HEAP, IN_STATIC, IN_MAPPED, N_OBJECT_KINDS };

/* All of `whole` bytes is compared; steps use `size` of them, from `before` on. */
struct drawn_object {
    enum object_kind kind;
    int way; /* of allocating it */
    size_t before, size, whole;
    unsigned char *memory;         /* this PE's copy, if the CPU can reach it: all of it */
    char *base;                    /* symmetric address of the part that steps use */
    struct buffer *buffer, *part;  /* of mapped memory; the sub-buffer that is mapped, or NULL */
    unsigned char *model[PES_MAX]; /* all of it, of every PE */
};

/* Open what all programs use; collective, after shmem_init. Closed before shmem_finalize. */
void objects_open(void);
void objects_close(void);
/* Which objects the program has; no memory yet. */
void objects_draw(struct random_numbers *numbers);
void objects_make(void);
void objects_free(void);
/* The same object in other memory, with other contents; the same contents in a block that has changed its size. */
void object_foresee_renewal(int object, uint64_t key);
void object_renew(int object, uint64_t key);
void object_realloc(int object);
/* Own copy: local stores and loads of the owner. */
void object_store(int object, size_t offset, const void *source, size_t nbytes);
void object_load(int object, size_t offset, void *dest, size_t nbytes);
static inline bool object_is_host(const struct drawn_object *object)
{
    return object->kind != IN_MAPPED;
}
unsigned char *model_at(int object, int pe, size_t offset);
char *address_of(int object, size_t offset);
const char *object_text(int object);
/* Compare all of this PE's memory with the model; ends the job when it differs. */
void objects_compare(int epoch);

/* ---- Claims: who may use which bytes in the epoch ------------------------------------------------------------------------ */

enum {
    CLAIM_READ,
    CLAIM_WRITE,
    CLAIM_ADD_64 /* updates by as many as like */,
    CLAIM_UPDATE /* and up: so are these */
};

void claims_clear(void);
int claims_mark(void); /* what is claimed after it can be given back */
void claims_return(int mark);
bool claim(int object, int pe, size_t offset, const struct byte_shape *shape, int mode);
/* Any place, aligned to `align`, for the shape on all of n PEs; false if none is found. */
bool claim_anywhere(struct random_numbers *numbers, int object, const int *pes, int n, const struct byte_shape *shape,
                    size_t align, int mode, size_t *offset);

/* ---- Teams and contexts --------------------------------------------------------------------------------------------------- */

/* What one collective split makes: each PE is in one of the groups, or in none. */
struct drawn_team {
    int how, parent, start, stride; /* how it is made; stride is the range of x of 2d splits */
    int group[PES_MAX], rank[PES_MAX];
    int n_groups;

    shmem_team_t handle;
};

enum { PLAIN = -2, DEFAULT = -1 }; /* contexts: the routine without one, and SHMEM_CTX_DEFAULT */

struct drawn_context {
    int team; /* -1: made by shmem_ctx_create */
    long options;
    int lane; /* -1: any */
    bool is_left, has_session, is_renewed;
    shmem_ctx_t handle;
};

void teams_draw(struct random_numbers *numbers);
int team_members(int team, int group, int *members);
void teams_make(void);
void teams_destroy(void);
const char *team_text(int team);
void contexts_draw(struct random_numbers *numbers);
/* One that the lane of the PE may use for a transfer to some PE; *pes: to which PEs. */
int context_draw(struct random_numbers *numbers, int lane, int pe, int *pes, int *n);
shmem_ctx_t context_handle(int context); /* SHMEM_CTX_INVALID: use the plain routine */
int context_pe(int context, int pe);     /* the number of a PE there */
const char *context_text(int context);
void context_fence(int context);
void context_quiet(int context);
void contexts_make(int lane);
void contexts_begin_epoch(int lane);
void contexts_complete(int lane);
void contexts_destroy(int lane);

/* ---- Private memory on this side of a transfer ------------------------------------------------------------------------------ */

enum local_kind { ON_STACK, IN_MALLOC, IN_PRIVATE_STATIC, IN_MMAP, IN_OBJECT, N_LOCAL_KINDS };

struct local_side {
    enum local_kind kind;
    struct byte_shape shape;
    size_t skew;   /* bytes by which private memory is not aligned */
    int slot;      /* IN_PRIVATE_STATIC: its place, a number of its own */
    int object;    /* IN_OBJECT: own copy */
    size_t offset; /* there */
};

/* Draw and claim; mode CLAIM_READ or CLAIM_WRITE. local->shape is set. */
bool local_draw(struct random_numbers *numbers, struct local_side *local, int pe, size_t align, bool may_be_stack,
                int mode);
/* Private memory holds the pattern of a key, guards included. memory: of local_bytes for ON_STACK. */
size_t local_bytes(const struct local_side *local);
unsigned char *local_open(const struct local_side *local, uint64_t key, unsigned char *memory);
void *local_address(const struct local_side *local, unsigned char *memory);
/* Writes over it and gives it back. */
void local_close(const struct local_side *local, unsigned char *memory);
/* What is read from it, as the model knows: the shape's first byte. Valid until the next call; for one thread. */
const unsigned char *local_model(const struct local_side *local, int pe, uint64_t key);
/* A wrong byte ends the job. came, of shape `from`: what a get has written; NULL: nothing was written. */
void local_check(const struct local_side *local, const unsigned char *memory, uint64_t key, const unsigned char *came,
                 const struct byte_shape *from, int step);
const char *local_text(const struct local_side *local);

/* ---- Steps ------------------------------------------------------------------------------------------------------------------- */

struct drawn_step;

struct step_family {
    const char *name;
    unsigned weight;
    bool (*draw)(struct drawn_step *step,
                 struct random_numbers *numbers);   /* false: there is no room, or no use for it here */
    void (*foresee)(const struct drawn_step *step); /* on the model of all PEs */
    void (*play)(struct drawn_step *step);          /* this PE's part, in the lane of the step */
    void (*end)(struct drawn_step *step);           /* after the epoch's barrier; NULL: nothing is left */
    void (*print)(const struct drawn_step *step, FILE *out);
};

extern const struct step_family *const families[];

#include "step.h"

struct drawn_program {
    uint64_t seed;
    int n_lanes, n_epochs, n_objects, n_teams, n_contexts, n_steps;
    int scale;     /* 0: small objects, 1: medium ones, 2: large ones */
    bool ends_job; /* shmem_finalize comes next */
    bool has_kernels;
    int kernel_team; /* their second team, beside the world */
    size_t kernel_piece;
    bool is_kept[STEPS_MAX + CONTEXTS_MAX];
    struct drawn_object objects[OBJECTS_MAX];
    struct drawn_team teams[TEAMS_MAX];
    struct drawn_context contexts[CONTEXTS_MAX];
    struct drawn_step steps[STEPS_MAX];
};
extern struct drawn_program program;

uint64_t step_key(const struct drawn_step *step, int part);

/* ---- What is wrong ------------------------------------------------------------------------------------------------------------ */

/* Print what is wrong, the seed and the step, and end the job. step: its number, or -1. */
__attribute__((format(printf, 2, 3), noreturn)) void wrong(int step, const char *format, ...);
#define EXPECT(_step, _condition, ...)                                                                                 \
    do {                                                                                                               \
        if (!(_condition))                                                                                             \
            wrong((_step)->number, __VA_ARGS__);                                                                       \
    } while (0)
/* Memory of the C library; ends the job if there is none. */
void *model_malloc(size_t nbytes);

#endif
