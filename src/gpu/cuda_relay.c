/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A copy is cut into pieces. The copy engine of the one GPU copies a piece out to page-locked memory, that of the other
 * copies it in as soon as an event says that it has come, while the next one is on its way out. The pieces lie in slots,
 * of which each shadow context has a few.
 */
#include "gpu/cuda_relay.h"

#include "base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 4,
    SLOT_BYTES = 4 << 20,
    PIECE_MIN = 256 << 10,
    POLLS_BETWEEN_QUERIES = 1 << 14,
    POLLS_BETWEEN_YIELDS = 1 << 10,
};

/* In page-locked memory. */
struct slot_memory {
    char data[SLOT_BYTES];
    uint32_t ended; /* ticket of the last copy that has ended here */
    char unused[4092]; /* the next one's data begin at a page */
};

struct slot {
    struct slot_memory *memory;
    bool is_claimed;      /* by a thread that enqueues copies */
    uint32_t last_ticket; /* each copy that ends here has one of its own */
    CUevent emptied;      /* NULL: it is empty; else it will be when this has come */
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

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

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

/* A ticket is told when the piece is in its place; 0: none. */
static int copy_in(struct slot *slot, struct shmemi_cuda_context *context, uintptr_t dest, size_t nbytes,
                   CUevent filled, uint32_t ticket)
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
    if (!rc && ticket)
        rc = CUDA_CALL(cuStreamWriteValue32, stream, (CUdeviceptr)&slot->memory->ended, ticket, 0);
    if (!rc)
        rc = record(context, stream, &slot->emptied);
    slot->emptied_in = context;
    shmemi_cuda_leave(pushed);
    return rc;
}

/* What is known of a copy whose last piece has been enqueued. */
struct tail {
    struct slot *slot;
    uint32_t ticket;
};

static int copy_piece(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes,
                      struct tail *tail)
{
    CUevent filled;
    struct slot *slot = claim(ends->relay);
    int rc = copy_out(slot, ends->source, source, nbytes, &filled);
    if (tail)
        *tail = (struct tail){slot, slot->last_ticket = slot->last_ticket == UINT32_MAX ? 1 : slot->last_ticket + 1};
    if (!rc) {
        rc = copy_in(slot, ends->dest, dest, nbytes, filled, tail ? tail->ticket : 0);
        shmemi_cuda_event_give(ends->source, filled);
    }
    give_back(ends->relay, slot);
    return rc;
}

/* Small pieces cost calls and gaps, of large ones the first and the last are not overlapped. Where the gap is as long as
 * 256 KiB take, the best size is the geometric mean of these and the whole. */
static size_t piece_of(size_t nbytes)
{
    size_t piece = PIECE_MIN;
    while (piece < SLOT_BYTES && piece / PIECE_MIN * piece < nbytes)
        piece *= 2;
    return piece;
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
static int enqueue_pieces(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes,
                          struct tail *tail)
{
    const size_t piece = piece_of(nbytes);
    int rc = 0;
    for (size_t done = 0; done < nbytes && !rc; done += piece) {
        size_t left = nbytes - done;
        bool is_last = left <= piece;
        rc = copy_piece(ends, dest + done, source + done, is_last ? left : piece, is_last ? tail : NULL);
    }
    if (rc) {
        synchronize(ends->source);
        synchronize(ends->dest);
    }
    return rc;
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/* Is this thread's stream at its end, although the end has not been told? Then something has failed, or is just done. */
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

/* Later copies through the slot may have ended by now, too. */
static bool has_ended(const struct slot *slot, uint32_t ticket)
{
    return (int32_t)(__atomic_load_n(&slot->memory->ended, __ATOMIC_ACQUIRE) - ticket) >= 0;
}

/* Polling the word takes less time than a call that waits. */
static int await_end(const struct slot *slot, uint32_t ticket, struct shmemi_cuda_context *context)
{
    for (unsigned polls = 1; !has_ended(slot, ticket); polls++) {
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
    struct tail tail;
    int rc = find_ends(dest, source, &ends);
    if (!rc)
        rc = enqueue_pieces(&ends, dest->address, source->address, nbytes, &tail);
    return rc ? rc : await_end(tail.slot, tail.ticket, ends.dest);
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
        rc = enqueue_pieces(&ends, dest->address, source->address, nbytes, NULL);
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
