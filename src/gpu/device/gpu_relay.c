/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between two GPUs without peer access, through page-locked host memory. A copy is cut into pieces. The copy
 * engine of one GPU copies a piece out; that of the other copies it in as soon as an event says that it is there, while
 * the next piece is on its way out. The pieces lie in slots, of which each shadow context has a few.
 */

#include "gpu/device/gpu_copies.h"
#include "base/log.h"
#include "base/thread/cores.h"

#include <stdlib.h>

enum {
    SLOTS = 4,
    SLOT_BYTES = 4 << 20,
};

struct relay_slot {
    char *memory;    /* page-locked */
    bool is_claimed; /* by a thread that enqueues copies, or waits for them */
    void *emptied;   /* the slot is empty after this event; NULL: as soon as it is not claimed */
    struct shmemi_gpu_context *emptied_in;
};

struct shmemi_gpu_relay {
    pthread_mutex_t lock; /* protects is_claimed */
    struct relay_slot slot[SLOTS];
    unsigned next;
};

/* The two ends of a copy. */
struct relay_ends {
    struct shmemi_gpu_context *source, *dest;
    struct shmemi_gpu_relay *relay;
};

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static struct shmemi_gpu_relay *create(void)
{
    char *memory;
    struct shmemi_gpu_relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return NULL;
    int result = shmemi_gpu.host_allocate((void **)&memory, (size_t)SLOTS * SLOT_BYTES, SHMEMI_GPU_HOST_PORTABLE);
    if (result) {
        shmemi_warn("no page-locked memory for copies between GPUs without peer access: %s; they are slower",
                    shmemi_gpu.error_text(result));
        free(relay);
        return NULL;
    }
    pthread_mutex_init(&relay->lock, NULL);
    for (unsigned i = 0; i < SLOTS; i++)
        relay->slot[i].memory = memory + (size_t)i * SLOT_BYTES;
    return relay;
}

/* The slots of a shadow, made once; NULL when there was no memory for them. */
static struct shmemi_gpu_relay *relay_of(struct shmemi_gpu_context *shadow)
{
    bool pushed;
    pthread_mutex_lock(&shadow->lock);
    if (!shadow->relay.is_tried && !shmemi_gpu_enter(shadow, &pushed)) {
        shadow->relay.is_tried = true;
        shadow->relay.slots = create();
        shmemi_gpu_leave(pushed);
    }
    struct shmemi_gpu_relay *relay = shadow->relay.slots;
    pthread_mutex_unlock(&shadow->lock);
    return relay;
}

void shmemi_gpu_relay_prepare(struct shmemi_gpu_context *shadow)
{
    relay_of(shadow);
}

void shmemi_gpu_relay_close(struct shmemi_gpu_context *shadow)
{
    struct shmemi_gpu_relay *relay = shadow->relay.slots;
    if (!relay)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        if (relay->slot[i].emptied)
            shmemi_gpu.event_destroy(relay->slot[i].emptied);
    shmemi_gpu.host_free(relay->slot[0].memory);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
    shadow->relay.slots = NULL;
}

static struct relay_slot *try_claim(struct shmemi_gpu_relay *relay)
{
    struct relay_slot *slot = NULL;
    pthread_mutex_lock(&relay->lock);
    for (unsigned i = 0; i < SLOTS && !slot; i++) {
        struct relay_slot *candidate = &relay->slot[relay->next];
        relay->next = (relay->next + 1) % SLOTS;
        if (!candidate->is_claimed)
            slot = candidate;
    }
    if (slot)
        slot->is_claimed = true;
    pthread_mutex_unlock(&relay->lock);
    return slot;
}

static struct relay_slot *claim(struct shmemi_gpu_relay *relay)
{
    struct relay_slot *slot;
    while (!(slot = try_claim(relay)))
        shmemi_yield();
    return slot;
}

static void give_back(struct shmemi_gpu_relay *relay, struct relay_slot *slot)
{
    pthread_mutex_lock(&relay->lock);
    slot->is_claimed = false;
    pthread_mutex_unlock(&relay->lock);
}

/* Make the stream wait until the slot is empty. */
static int await_empty(struct relay_slot *slot, void *stream)
{
    if (!slot->emptied)
        return 0;
    if (shmemi_gpu.event_query(slot->emptied)) { /* the query is faster than a wait by the GPU */
        int rc = GPU_CALL(stream_wait_event, stream, slot->emptied, 0);
        if (rc)
            return rc;
    }
    shmemi_gpu_event_give(slot->emptied_in, slot->emptied); /* the wait keeps the state that the event had */
    slot->emptied = NULL;
    return 0;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static int copy_out(struct relay_slot *slot, struct shmemi_gpu_context *context, uintptr_t source, size_t nbytes,
                    void **filled_p)
{
    bool pushed;
    void *stream;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    rc = await_empty(slot, stream);
    if (!rc)
        rc = GPU_CALL(copy_out, slot->memory, source, nbytes, stream);
    if (!rc)
        rc = shmemi_gpu_record(context, stream, filled_p);
    shmemi_gpu_leave(pushed);
    return rc;
}

static int copy_in(struct relay_slot *slot, struct shmemi_gpu_context *context, uintptr_t dest, size_t nbytes,
                   void *filled, bool is_awaited)
{
    bool pushed;
    void *stream;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    rc = GPU_CALL(stream_wait_event, stream, filled, 0);
    if (!rc)
        rc = GPU_CALL(copy_in, dest, slot->memory, nbytes, stream);
    if (!rc && !is_awaited)
        rc = shmemi_gpu_record(context, stream, &slot->emptied);
    slot->emptied_in = context;
    shmemi_gpu_leave(pushed);
    return rc;
}

/* Copy a piece. If awaited_p is not NULL, the caller waits for its end, and its slot stays claimed until then. */
static int copy_piece(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes,
                      struct relay_slot **awaited_p)
{
    void *filled;
    struct relay_slot *slot = claim(ends->relay);
    int rc = copy_out(slot, ends->source, source, nbytes, &filled);
    if (!rc) {
        rc = copy_in(slot, ends->dest, dest, nbytes, filled, awaited_p);
        shmemi_gpu_event_give(ends->source, filled);
    }
    if (!rc && awaited_p)
        *awaited_p = slot;
    else
        give_back(ends->relay, slot);
    return rc;
}

/* Small pieces need more calls, with gaps between; with large ones, more of the copy (the first and last) overlaps with
 * nothing. If a gap is as long as a copy of 256 KiB, the geometric mean of 256 KiB and the whole is best. */
static size_t piece_of(size_t nbytes)
{
    size_t piece = SHMEMI_GPU_RELAY_PIECE;
    while (piece < SLOT_BYTES && piece / SHMEMI_GPU_RELAY_PIECE * piece < nbytes)
        piece *= 2;
    return piece;
}

static int synchronize(struct shmemi_gpu_context *context)
{
    bool pushed;
    void *stream;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    rc = GPU_CALL(stream_synchronize, stream);
    shmemi_gpu_leave(pushed);
    return rc;
}

/* On failure nothing is under way any more. */
static int enqueue_pieces(const struct relay_ends *ends, uintptr_t dest, uintptr_t source, size_t nbytes,
                          struct relay_slot **awaited_p)
{
    const size_t piece = piece_of(nbytes);
    int rc = 0;
    for (size_t done = 0; done < nbytes && !rc; done += piece) {
        size_t left = nbytes - done;
        bool is_last = left <= piece;
        rc = copy_piece(ends, dest + done, source + done, is_last ? left : piece, is_last ? awaited_p : NULL);
    }
    if (rc) {
        (void)synchronize(ends->source);
        (void)synchronize(ends->dest);
    }
    return rc;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int find_ends(const struct shmemi_place *dest, const struct shmemi_place *source, struct relay_ends *ends)
{
    *ends = (struct relay_ends){.source = source->object, .dest = dest->object};
    ends->relay = relay_of(ends->dest->is_shadow ? ends->dest : ends->source);
    return ends->relay ? 0 : -ENOTSUP;
}

int shmemi_gpu_relay_copy(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes)
{
    struct relay_ends ends;
    struct relay_slot *slot;
    int rc = find_ends(dest, source, &ends);
    if (!rc)
        rc = enqueue_pieces(&ends, dest->address, source->address, nbytes, &slot);
    if (rc)
        return rc;
    rc = synchronize(ends.dest);
    give_back(ends.relay, slot);
    return rc;
}

int shmemi_gpu_relay_start(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                           struct shmemi_event *event_p)
{
    struct relay_ends ends;
    void *event;
    void *stream = NULL;
    bool pushed;
    int rc = find_ends(dest, source, &ends);
    if (!rc)
        rc = enqueue_pieces(&ends, dest->address, source->address, nbytes, NULL);
    if (rc)
        return rc;
    rc = shmemi_gpu_enter(ends.dest, &pushed);
    if (rc)
        return rc;
    rc = shmemi_gpu_stream(ends.dest, &stream);
    if (!rc)
        rc = shmemi_gpu_record(ends.dest, stream, &event);
    if (rc)
        shmemi_gpu.stream_synchronize(stream);
    else
        *event_p = (struct shmemi_event){.memory = shmemi_gpu.memory, .object = ends.dest, .handle = event};
    shmemi_gpu_leave(pushed);
    return rc;
}
