/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers between GPU memory of this PE and host memory of another node, in chunks through host buffers that are
 * page-locked for the GPU. A transfer has a lane of three buffers: while the network works on one chunk, the GPU copies
 * the next.
 *
 *      put   GPU --copy--> buffer --ucx--> peer         buffer:  0 1 2 0 1 2 ...
 *      get   peer --ucx--> buffer --copy--> GPU
 */
#include "base/log.h"
#include "transport/staged/pieces.h"
#include "transport/request.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { DEPTH = 3, LANES_MAX = 4, PAGE = 4096 };

struct bounce_buffer {
    char *memory;
    struct shmemi_piece chunk;   /* what is in it */
    struct shmemi_ucx_rows rows; /* the same, as the network moves it */
    struct shmemi_event event;
    bool copying; /* the event is valid */
    struct shmemi_ucx_batch batch;
};

struct lane {
    struct lane *next;
    bool busy;
    const struct shmemi_memory *pinned_for;
    size_t chunk;
    char *memory;
    struct bounce_buffer buffer[DEPTH];
};

/* A transfer that is cut into chunks. */
struct walk {
    const struct shmemi_transfer *transfer;
    const struct shmemi_ucx_target *target;
    struct shmemi_cutter cutter;
    size_t most; /* bytes of a chunk */
};

static struct {
    pthread_mutex_t lock;
    struct lane *lanes;
    unsigned count;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

static struct lane *make_lane(const struct shmemi_memory *memory)
{
    struct lane *lane = calloc(1, sizeof *lane);
    size_t chunk = shmemi_staging.chunk;
    void *buffers;
    if (!lane)
        return NULL;
    if (posix_memalign(&buffers, PAGE, DEPTH * chunk)) {
        free(lane);
        return NULL;
    }
    lane->chunk = chunk;
    lane->memory = buffers;
    for (int i = 0; i < DEPTH; i++)
        lane->buffer[i].memory = lane->memory + i * chunk;
    if (memory->pinning && !memory->pinning->pin(lane->memory, DEPTH * chunk))
        lane->pinned_for = memory;
    lane->next = pool.lanes;
    pool.lanes = lane;
    pool.count++;
    return lane;
}

/* A free lane, preferably one whose buffers are page-locked for this kind of memory. With the pool's lock held. */
static struct lane *find_lane(const struct shmemi_memory *memory)
{
    struct lane *other = NULL;
    for (struct lane *lane = pool.lanes; lane; lane = lane->next) {
        if (!lane->busy && lane->pinned_for == memory)
            return lane;
        if (!lane->busy)
            other = lane;
    }
    return pool.count < LANES_MAX ? make_lane(memory) : other;
}

void shmemi_ucx_prepare_gpu(const struct shmemi_memory *memory)
{
    shmemi_ucx_prepare_staging();
    pthread_mutex_lock(&pool.lock);
    while (pool.count < LANES_MAX && make_lane(memory))
        continue;
    pthread_mutex_unlock(&pool.lock);
}

static struct lane *try_lane(const struct shmemi_memory *memory)
{
    pthread_mutex_lock(&pool.lock);
    struct lane *lane = find_lane(memory);
    if (lane)
        lane->busy = true;
    else if (!pool.count)
        shmemi_fatal("out of memory for the buffers of GPU transfers");
    pthread_mutex_unlock(&pool.lock);
    return lane;
}

static struct lane *take_lane(const struct shmemi_memory *memory)
{
    struct lane *lane;
    unsigned spins = 0;
    while (!(lane = try_lane(memory)))
        shmemi_ucx_turn(&spins);
    return lane;
}

static void release_lane(struct lane *lane)
{
    pthread_mutex_lock(&pool.lock);
    lane->busy = false;
    pthread_mutex_unlock(&pool.lock);
}

void shmemi_ucx_bounce_close(void)
{
    while (pool.lanes) {
        struct lane *lane = pool.lanes;
        pool.lanes = lane->next;
        if (lane->pinned_for)
            lane->pinned_for->pinning->unpin(lane->memory, DEPTH * lane->chunk);
        free(lane->memory);
        free(lane);
    }
    pool.count = 0;
}

/* ---- Chunks ------------------------------------------------------------------------------------------------------ */

/* Describe the next chunk in a buffer; false at the end. */
static bool next_chunk(struct walk *walk, struct bounce_buffer *buffer)
{
    struct shmemi_piece *chunk = &buffer->chunk;
    if (!shmemi_cut(&walk->cutter, walk->most, chunk))
        return false;
    const size_t peer_pitch = shmemi_transfer_peer_pitch(walk->transfer);
    buffer->rows = (struct shmemi_ucx_rows){
        .width = chunk->width,
        .rows = chunk->rows,
        .offset = walk->transfer->offset + shmemi_piece_offset(chunk, peer_pitch),
        .peer_pitch = peer_pitch,
        .memory = {buffer->memory, UCS_MEMORY_TYPE_HOST},
        .memory_pitch = chunk->width,
    };
    return true;
}

static int wait_copy(struct bounce_buffer *buffer)
{
    int rc = 0;
    unsigned spins = 0;
    while (buffer->copying && (rc = buffer->event.memory->event_test(&buffer->event)) == -EAGAIN)
        shmemi_ucx_turn(&spins);
    buffer->copying = false;
    return rc;
}

/* Between a buffer and its chunk of the GPU's memory. */
static int start_copy(const struct walk *walk, struct bounce_buffer *buffer)
{
    const size_t pitch = shmemi_transfer_my_pitch(walk->transfer);
    struct shmemi_place host = shmemi_place_host(buffer->memory), gpu = walk->transfer->mine;
    gpu.address += shmemi_piece_offset(&buffer->chunk, pitch);
    struct shmemi_shape pack = shmemi_shape_pack(&buffer->chunk, pitch);
    struct shmemi_shape unpack = shmemi_shape_unpack(&buffer->chunk, pitch);
    int rc = walk->transfer->is_put ? gpu.memory->copy_start(&host, &gpu, &pack, &buffer->event)
                                    : gpu.memory->copy_start(&gpu, &host, &unpack, &buffer->event);
    buffer->copying = !rc;
    return rc;
}

/* Between a buffer and its chunk of the peer's memory. */
static int start_rows(const struct walk *walk, struct bounce_buffer *buffer)
{
    return shmemi_ucx_start_rows(walk->transfer, walk->target, &buffer->rows, &buffer->batch);
}

/* Wait for everything that is under way, also after an error. */
static int drain(struct lane *lane, int rc)
{
    for (int i = 0; i < DEPTH; i++) {
        struct bounce_buffer *buffer = &lane->buffer[i];
        int copied = wait_copy(buffer);
        int sent = shmemi_ucx_batch_wait_all(&buffer->batch);
        atomic_store(&buffer->batch.status, 0);
        if (!rc)
            rc = copied ? copied : sent;
    }
    return rc;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

static int send_chunk(const struct walk *walk, struct bounce_buffer *buffer)
{
    int rc = wait_copy(buffer);
    return rc ? rc : start_rows(walk, buffer);
}

static int put_chunks(struct walk *walk, struct lane *lane)
{
    struct bounce_buffer *previous = NULL, *buffer = lane->buffer;
    int rc = 0;
    for (unsigned i = 0; !rc && next_chunk(walk, buffer); previous = buffer, buffer = &lane->buffer[++i % DEPTH]) {
        rc = shmemi_ucx_batch_wait_all(&buffer->batch);
        if (!rc)
            rc = start_copy(walk, buffer);
        if (!rc && previous)
            rc = send_chunk(walk, previous);
    }
    return rc ? rc : send_chunk(walk, previous);
}

static int land_chunk(const struct walk *walk, struct bounce_buffer *buffer)
{
    int rc = shmemi_ucx_batch_wait_all(&buffer->batch);
    return rc ? rc : start_copy(walk, buffer);
}

/* Two chunks are on the network while a third is copied. */
static int get_chunks(struct walk *walk, struct lane *lane)
{
    unsigned asked = 0, landed = 0;
    int rc = 0;
    while (!rc) {
        struct bounce_buffer *buffer = &lane->buffer[asked % DEPTH];
        rc = wait_copy(buffer);
        if (rc || !next_chunk(walk, buffer))
            break;
        rc = start_rows(walk, buffer);
        asked++;
        if (!rc && asked - landed == DEPTH)
            rc = land_chunk(walk, &lane->buffer[landed++ % DEPTH]);
    }
    while (!rc && landed < asked)
        rc = land_chunk(walk, &lane->buffer[landed++ % DEPTH]);
    return rc;
}

int shmemi_ucx_bounce(const struct shmemi_transfer *transfer, const struct shmemi_ucx_target *target)
{
    const struct shmemi_memory *memory = transfer->mine.memory;
    struct lane *lane = take_lane(memory);
    struct walk walk = {
        .transfer = transfer,
        .target = target,
        .cutter = {.width = transfer->shape.width, .rows = transfer->shape.rows},
        .most = shmemi_piece_choose_bounce(shmemi_transfer_bytes(transfer)),
    };
    int rc = drain(lane, transfer->is_put ? put_chunks(&walk, lane) : get_chunks(&walk, lane));
    release_lane(lane);
    if (transfer->is_put)
        shmemi_ucx_note_pending(transfer->context);
    return rc;
}
