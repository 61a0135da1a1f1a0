/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three ways, by size. Up to 8 bytes: a kernel on either GPU, the bytes in one word with the ticket that the second
 * kernel waits for. Up to KERNELS_MAX: kernels that hand over pieces. Above, and when nobody waits for the copy: pieces
 * copied out and in by the copy engines, each as soon as it has come. Without kernels (no nvcc, or unaligned memory)
 * the copy engines do all.
 *
 * What is on the way lies in slots of page-locked memory, of which each shadow context has a few.
 */
#include "gpu/cuda_relay.h"

#include "base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 4,
    SLOT_BYTES = 4 << 20,
    WORD_MAX = 8,
    UNALIGNED_MAX = 4 << 10, /* kernels copy single bytes then */
    KERNELS_MAX = SLOT_BYTES,
    KERNEL_PIECE_MIN = 1 << 10,
    KERNEL_PIECE_MAX = 32 << 10,
    KERNEL_BLOCKS_MAX = 32,
    KERNEL_THREADS = 512,
    ENGINE_PIECE_MIN = 128 << 10,
    ENGINE_PIECE_MAX = 1 << 20,
    ENGINE_PIECES_WANTED = 8,
    MARKS = KERNELS_MAX / KERNEL_PIECE_MIN,
    POLLS_BETWEEN_QUERIES = 1 << 14,
    POLLS_BETWEEN_YIELDS = 1 << 10,
};

/* In page-locked memory. */
struct slot_memory {
    char data[SLOT_BYTES];
    uint32_t marks[MARKS];
    uint32_t ends[KERNEL_BLOCKS_MAX];
    _Alignas(16) struct shmemi_relay_word word;
};

struct slot {
    struct slot_memory *memory;
    bool is_claimed;      /* by a thread that enqueues its copies, or waits for its kernels */
    uint32_t last_ticket; /* no two copies through a slot have the same */
    CUevent emptied;      /* NULL: it is empty; else what was enqueued last will be complete then */
    struct shmemi_cuda_context *emptied_in;
};

struct shmemi_cuda_relay {
    pthread_mutex_t lock; /* of claims */
    struct slot slot[SLOTS];
    unsigned next;
};

/* The two ends of a copy. */
struct relay_ends {
    struct shmemi_cuda_context *source, *dest;
    struct shmemi_cuda_relay *relay;
};

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static struct shmemi_cuda_relay *create(void)
{
    struct slot_memory *memory;
    struct shmemi_cuda_relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return NULL;
    CUresult result = shmemi_cuda.cuMemHostAlloc((void **)&memory, SLOTS * sizeof *memory,
                                                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
        shmemi_warn("no page-locked memory for copies between GPUs without peer access: %s; they are slower",
                    shmemi_cuda_error_text(result));
        free(relay);
        return NULL;
    }
    memset(memory, 0, SLOTS * sizeof *memory);
    pthread_mutex_init(&relay->lock, NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        relay->slot[i].memory = &memory[i];
    return relay;
}

/* NULL when there is no memory for it; then it is not tried again. */
static struct shmemi_cuda_relay *relay_of(struct shmemi_cuda_context *shadow)
{
    bool pushed;
    pthread_mutex_lock(&shadow->lock);
    if (!shadow->relay.is_tried && !shmemi_cuda_enter(shadow, &pushed)) {
        shadow->relay.is_tried = true;
        shadow->relay.slots = create();
        shmemi_cuda_leave(pushed);
    }
    struct shmemi_cuda_relay *relay = shadow->relay.slots;
    pthread_mutex_unlock(&shadow->lock);
    return relay;
}

void shmemi_cuda_relay_close(struct shmemi_cuda_context *shadow)
{
    struct shmemi_cuda_relay *relay = shadow->relay.slots;
    if (!relay)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        if (relay->slot[i].emptied)
            shmemi_cuda.cuEventDestroy(relay->slot[i].emptied);
    shmemi_cuda.cuMemFreeHost(relay->slot[0].memory);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
    shadow->relay.slots = NULL;
}

static struct slot *try_claim(struct shmemi_cuda_relay *relay)
{
    struct slot *slot = NULL;
    pthread_mutex_lock(&relay->lock);
    for (unsigned i = 0; i < SLOTS && !slot; i++) {
        struct slot *candidate = &relay->slot[relay->next];
        relay->next = (relay->next + 1) % SLOTS;
        if (!candidate->is_claimed)
            slot = candidate;
    }
    if (slot)
        slot->is_claimed = true;
    pthread_mutex_unlock(&relay->lock);
    return slot;
}

static struct slot *claim(struct shmemi_cuda_relay *relay)
{
    struct slot *slot;
    while (!(slot = try_claim(relay)))
        sched_yield();
    return slot;
}

static void give_back(struct shmemi_cuda_relay *relay, struct slot *slot)
{
    pthread_mutex_lock(&relay->lock);
    slot->is_claimed = false;
    pthread_mutex_unlock(&relay->lock);
}

/* What this thread enqueues next in the source's stream comes after what fills the slot now. */
static int await_empty(struct slot *slot, CUstream stream)
{
    if (!slot->emptied)
        return 0;
    int rc = CUDA_CALL(cuStreamWaitEvent, stream, slot->emptied, 0);
    if (rc)
        return rc;
    shmemi_cuda_event_give(slot->emptied_in, slot->emptied); /* the wait has taken its state */
    slot->emptied = NULL;
    return 0;
}

static int record(struct shmemi_cuda_context *context, CUstream stream, CUevent *event_p)
{
    CUevent event;
    int rc = shmemi_cuda_event_take(context, &event);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuEventRecord, event, stream);
    if (rc)
        shmemi_cuda_event_give(context, event);
    else
        *event_p = event;
    return rc;
}

/* ---- By the copy engines ----------------------------------------------------------------------------------------- */

static int copy_out(struct slot *slot, struct shmemi_cuda_context *context, uintptr_t source, size_t nbytes,
                    CUevent *filled_p)
{
    bool pushed;
    CUstream stream;
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(context, &stream);
    if (!rc)
        rc = await_empty(slot, stream);
    if (!rc)
        rc = CUDA_CALL(cuMemcpyDtoHAsync, slot->memory->data, source, nbytes, stream);
    if (!rc)
        rc = record(context, stream, filled_p);
    shmemi_cuda_leave(pushed);
    return rc;
}

static int copy_in(struct slot *slot, struct shmemi_cuda_context *context, uintptr_t dest, size_t nbytes,
                   CUevent filled)
{
    bool pushed;
    CUstream stream;
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(context, &stream);
    if (!rc)
        rc = CUDA_CALL(cuStreamWaitEvent, stream, filled, 0);
    if (!rc)
        rc = CUDA_CALL(cuMemcpyHtoDAsync, dest, slot->memory->data, nbytes, stream);
    if (!rc)
        rc = record(context, stream, &slot->emptied);
    slot->emptied_in = context;
    shmemi_cuda_leave(pushed);
    return rc;
}

static int copy_piece(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes)
{
    CUevent filled;
    struct slot *slot = claim(ends->relay);
    int rc = copy_out(slot, ends->source, source, nbytes, &filled);
    if (!rc) {
        rc = copy_in(slot, ends->dest, dest, nbytes, filled);
        shmemi_cuda_event_give(ends->source, filled);
    }
    give_back(ends->relay, slot);
    return rc;
}

/* The first and last pieces are not overlapped with others, so they are not long; many pieces cost calls. */
static size_t engine_piece(size_t nbytes)
{
    size_t piece = nbytes / ENGINE_PIECES_WANTED;
    if (piece < ENGINE_PIECE_MIN)
        return ENGINE_PIECE_MIN;
    return piece > ENGINE_PIECE_MAX ? ENGINE_PIECE_MAX : piece / ENGINE_PIECE_MIN * ENGINE_PIECE_MIN;
}

static void synchronize(struct shmemi_cuda_context *context)
{
    bool pushed;
    CUstream stream;
    if (shmemi_cuda_enter(context, &pushed))
        return;
    if (!shmemi_cuda_stream(context, &stream))
        shmemi_cuda.cuStreamSynchronize(stream);
    shmemi_cuda_leave(pushed);
}

/* On failure nothing of it is under way any more. */
static int enqueue_pieces(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes)
{
    const size_t piece = engine_piece(nbytes);
    int rc = 0;
    for (size_t done = 0; done < nbytes && !rc; done += piece) {
        size_t left = nbytes - done;
        rc = copy_piece(ends, dest + done, source + done, left < piece ? left : piece);
    }
    if (rc) {
        synchronize(ends->source);
        synchronize(ends->dest);
    }
    return rc;
}

/* ---- By kernels -------------------------------------------------------------------------------------------------- */

/* Launch a kernel on this thread's stream of a context; first, if there is a slot, wait until that is empty. */
static int launch(struct shmemi_cuda_context *context, enum shmemi_kernel kernel, unsigned blocks, unsigned threads,
                  struct slot *slot, void **arguments)
{
    bool pushed;
    CUstream stream;
    CUfunction function;
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_kernel(context, kernel, &function);
    if (!rc)
        rc = shmemi_cuda_stream(context, &stream);
    if (!rc && slot)
        rc = await_empty(slot, stream);
    if (!rc)
        rc = shmemi_cuda_launch(function, blocks, threads, stream, arguments);
    shmemi_cuda_leave(pushed);
    return rc;
}

/* Is the stream at its end, although the kernel has not said so? Then it has failed, or is just done. */
static int query(struct shmemi_cuda_context *context)
{
    bool pushed;
    CUstream stream;
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(context, &stream);
    if (!rc) {
        CUresult result = shmemi_cuda.cuStreamQuery(stream);
        rc = result == CUDA_ERROR_NOT_READY ? -EAGAIN : shmemi_cuda_check(result, "cuStreamQuery(stream)");
    }
    shmemi_cuda_leave(pushed);
    return rc;
}

static int await_end(const uint32_t *end, uint32_t ticket, struct shmemi_cuda_context *context)
{
    for (unsigned polls = 1; __atomic_load_n(end, __ATOMIC_ACQUIRE) != ticket; polls++) {
        if (polls % POLLS_BETWEEN_QUERIES == 0) {
            int rc = query(context);
            if (rc != -EAGAIN)
                return rc;
        }
        if (polls % POLLS_BETWEEN_YIELDS == 0)
            sched_yield();
    }
    return 0;
}

/* When the second kernel cannot be launched: the first one has run to its end alone. */
static int launch_both(const struct relay_ends *ends, enum shmemi_kernel out, enum shmemi_kernel in, unsigned blocks,
                       unsigned threads, struct slot *slot, void **out_arguments, void **in_arguments)
{
    int rc = launch(ends->source, out, blocks, threads, slot, out_arguments);
    if (rc)
        return rc;
    rc = launch(ends->dest, in, blocks, threads, NULL, in_arguments);
    if (rc)
        synchronize(ends->source);
    return rc;
}

static int relay_word(const struct relay_ends *ends, struct slot *slot, uintptr_t dest, uintptr_t source,
                      uint32_t nbytes)
{
    uint32_t ticket = ++slot->last_ticket;
    uint64_t to = dest, from = source, host = (uintptr_t)&slot->memory->word, end = (uintptr_t)&slot->memory->ends[0];
    void *out[] = {&from, &nbytes, &host, &ticket};
    void *in[] = {&to, &nbytes, &host, &ticket, &end};
    int rc = launch_both(ends, SHMEMI_KERNEL_relay_word_out, SHMEMI_KERNEL_relay_word_in, 1, 1, slot, out, in);
    return rc ? rc : await_end(&slot->memory->ends[0], ticket, ends->dest);
}

static size_t kernel_piece(size_t nbytes)
{
    size_t piece = (nbytes / KERNEL_BLOCKS_MAX + KERNEL_PIECE_MIN - 1) / KERNEL_PIECE_MIN * KERNEL_PIECE_MIN;
    if (piece < KERNEL_PIECE_MIN)
        return KERNEL_PIECE_MIN;
    return piece > KERNEL_PIECE_MAX ? KERNEL_PIECE_MAX : piece;
}

static int relay_pieces(const struct relay_ends *ends, struct slot *slot, uintptr_t dest, uintptr_t source,
                        size_t nbytes)
{
    struct shmemi_relay_copy from = {
        .device = source,
        .host = (uintptr_t)slot->memory->data,
        .marks = (uintptr_t)slot->memory->marks,
        .ends = (uintptr_t)slot->memory->ends,
        .nbytes = nbytes,
        .piece = kernel_piece(nbytes),
        .ticket = ++slot->last_ticket,
    };
    struct shmemi_relay_copy to = from;
    to.device = dest;
    void *out[] = {&from}, *in[] = {&to};
    size_t n_pieces = (nbytes + from.piece - 1) / from.piece;
    unsigned blocks = n_pieces < KERNEL_BLOCKS_MAX ? (unsigned)n_pieces : KERNEL_BLOCKS_MAX;
    unsigned threads = from.piece / 16 < KERNEL_THREADS ? (unsigned)(from.piece / 16) : KERNEL_THREADS;
    int rc = launch_both(ends, SHMEMI_KERNEL_relay_out, SHMEMI_KERNEL_relay_in, blocks, threads, slot, out, in);
    for (unsigned i = 0; i < blocks && !rc; i++)
        rc = await_end(&slot->memory->ends[i], from.ticket, ends->dest);
    return rc;
}

/* Loaded already, as mostly, or to be had. */
static bool has_kernels(struct shmemi_cuda_context *context, enum shmemi_kernel kernel)
{
    return atomic_load_explicit(&context->kernels.function[kernel], memory_order_acquire) ||
           shmemi_cuda_has_kernels(context);
}

static bool suits_kernels(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes)
{
    bool is_aligned = (dest | source) % 16 == 0;
    bool is_word = nbytes <= WORD_MAX;
    return nbytes <= (is_aligned ? KERNELS_MAX : UNALIGNED_MAX) &&
           has_kernels(ends->source, is_word ? SHMEMI_KERNEL_relay_word_out : SHMEMI_KERNEL_relay_out) &&
           has_kernels(ends->dest, is_word ? SHMEMI_KERNEL_relay_word_in : SHMEMI_KERNEL_relay_in);
}

static int copy_by_kernels(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes)
{
    struct slot *slot = claim(ends->relay);
    int rc = nbytes <= WORD_MAX ? relay_word(ends, slot, dest, source, (uint32_t)nbytes)
                                : relay_pieces(ends, slot, dest, source, nbytes);
    give_back(ends->relay, slot);
    return rc;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int find_ends(const struct shmemi_place *dest, const struct shmemi_place *source, struct relay_ends *ends)
{
    *ends = (struct relay_ends){.source = source->object, .dest = dest->object};
    ends->relay = relay_of(ends->dest->is_shadow ? ends->dest : ends->source);
    return ends->relay ? 0 : -ENOTSUP;
}

int shmemi_cuda_relay_copy(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes)
{
    struct relay_ends ends;
    int rc = find_ends(dest, source, &ends);
    if (rc)
        return rc;
    if (suits_kernels(&ends, dest->address, source->address, nbytes))
        return copy_by_kernels(&ends, dest->address, source->address, nbytes);
    rc = enqueue_pieces(&ends, dest->address, source->address, nbytes);
    if (rc)
        return rc;
    bool pushed;
    CUstream stream;
    rc = shmemi_cuda_enter(ends.dest, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(ends.dest, &stream);
    if (!rc)
        rc = CUDA_CALL(cuStreamSynchronize, stream);
    shmemi_cuda_leave(pushed);
    return rc;
}

int shmemi_cuda_relay_start(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                            struct shmemi_event *event_p)
{
    struct relay_ends ends;
    CUevent event;
    CUstream stream;
    bool pushed;
    int rc = find_ends(dest, source, &ends);
    if (!rc)
        rc = enqueue_pieces(&ends, dest->address, source->address, nbytes);
    if (rc)
        return rc;
    rc = shmemi_cuda_enter(ends.dest, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream(ends.dest, &stream);
    if (!rc)
        rc = record(ends.dest, stream, &event);
    if (rc)
        shmemi_cuda.cuStreamSynchronize(stream);
    else
        *event_p = (struct shmemi_event){.memory = &shmemi_memory_cuda, .object = ends.dest, .handle = event};
    shmemi_cuda_leave(pushed);
    return rc;
}
