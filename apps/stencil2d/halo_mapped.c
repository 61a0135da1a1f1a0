/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange between mapped GPU buffers: a put takes a piece from this PE's messages straight into those of the
 * neighbour. All eight neighbours get theirs at once, diagonal ones as well, so that no message waits for another.
 *
 * Why nothing is overwritten too early: exchange k writes the area of its parity, which the first kernel of round k
 * reads. A neighbour begins exchange k + 2, which writes the same area again, only after it got the signal (or passed
 * the barrier) of exchange k + 1, which this PE sends after that kernel has finished. What went out in exchange k is
 * written anew for exchange k + 2 by the last kernel of round k + 1, which begins after the puts have taken it.
 */
#include <shmemx.h>

#include "stencil2d.h"

int area_out(uint64_t exchange)
{
    return exchange % 2 == 0 ? OUT_EVEN : OUT_ODD;
}

int area_in(uint64_t exchange)
{
    return exchange % 2 == 0 ? IN_EVEN : IN_ODD;
}

size_t piece_bytes(const struct run *run, const struct local_tile *t, int direction)
{
    struct rectangle edge = edge_cells(&run->grid, &t->shape, direction);

    return (size_t)edge.rows * (size_t)edge.cols * run->real->size;
}

size_t piece_offset(const struct run *run, int area, int direction)
{
    return ((size_t)area * run->grid.area + run->grid.piece[direction]) * run->real->size;
}

size_t words_offset(const struct run *run)
{
    return AREAS * run->grid.area * run->real->size;
}

size_t messages_bytes(const struct run *run)
{
    return words_offset(run) + TILE_WORDS * sizeof(uint64_t);
}

/* A message to a neighbour: source, destination and signal. */
struct message {
    const char *source;
    char *dest;
    size_t bytes;
    uint64_t *signal;
    int pe;
};

static struct message message_to(const struct run *run, const struct local_tile *t, int direction)
{
    const struct neighbor *neighbor = &t->shape.neighbor[direction];
    const struct local_tile *there = &run->tiles[neighbor->number]; /* addresses are symmetric */
    int back = opposite(direction);

    return (struct message){
        .source = t->mapped_messages + piece_offset(run, area_out(run->exchanges), direction),
        .dest = there->mapped_messages + piece_offset(run, area_in(run->exchanges), back),
        .bytes = piece_bytes(run, t, direction),
        .signal = run->waits_in_kernel ? (uint64_t *)(there->mapped_messages + words_offset(run)) + back
                                       : &run->signals[neighbor->number * DIRECTIONS + back],
        .pe = neighbor->pe,
    };
}

/* Calls a function with each message that this PE sends. */
static void for_messages(const struct run *run, void (*function)(const struct run *run, const struct message *message))
{
    for (int t = 0; t < run->n_tiles; t++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (has_neighbor(&run->tiles[t].shape, d)) {
                const struct message message = message_to(run, &run->tiles[t], d);

                function(run, &message);
            }
}

/* Does this PE's GPU write there itself? Otherwise a put is a message, which brings the signal along. */
static bool is_near(const struct message *message)
{
    return shmem_ptr(message->dest, message->pe) != NULL;
}

static void begin_put(const struct run *run, const struct message *message)
{
    (void)run;
    shmem_putmem_nbi(message->dest, message->source, message->bytes, message->pe);
}

static void begin_near_put(const struct run *run, const struct message *message)
{
    if (is_near(message))
        begin_put(run, message);
}

static void notify_near(const struct run *run, const struct message *message)
{
    if (is_near(message))
        shmem_signal_set(message->signal, run->exchanges, message->pe);
}

static void send_far(const struct run *run, const struct message *message)
{
    if (!is_near(message))
        shmem_putmem_signal_nbi(message->dest, message->source, message->bytes, message->signal, run->exchanges,
                                SHMEM_SIGNAL_SET, message->pe);
}

void wait_for_neighbors(const struct run *run)
{
    for (int t = 0; t < run->n_tiles; t++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (has_neighbor(&run->tiles[t].shape, d))
                shmem_signal_wait_until(&run->signals[t * DIRECTIONS + d], SHMEM_CMP_GE, run->exchanges);
}

/* The quiet also ends the far puts of the exchange before. */
void put_from_host(struct run *run)
{
    for_messages(run, begin_near_put);
    shmem_quiet();
    for_messages(run, notify_near);
    for_messages(run, send_far);
    wait_for_neighbors(run);
}

static void step_barrier(struct run *run)
{
    for_messages(run, begin_put);
    shmem_barrier_all();
}

void put_by_host(const struct run *run, uint64_t added)
{
    shmem_fence(); /* behind the exchange before, which the neighbours have answered by now */
    for (int t = 0; t < run->n_tiles; t++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (has_neighbor(&run->tiles[t].shape, d)) {
                const struct message m = message_to(run, &run->tiles[t], d);

                shmem_putmem_signal(m.dest, m.source, m.bytes, m.signal, added, SHMEM_SIGNAL_ADD, m.pe);
            }
}

/* A direction has the same queue in all exchanges. */
void put_in_queues(const struct run *run, const struct local_tile *t, struct queue *queue)
{
    int n = 0;

    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d)) {
            const struct message m = message_to(run, t, d);
            int i = n++ % (1 + t->n_beside);

            run->ops->gpu.put_signal(i == 0 ? queue : t->beside[i - 1], m.dest, m.source, m.bytes, m.signal,
                                     run->exchanges, m.pe);
        }
}

void put_behind(const struct run *run, const struct local_tile *t, struct queue *queue)
{
    for (int i = 0; i < t->n_beside; i++)
        run->ops->gpu.follow(t->beside[i], queue);
    put_in_queues(run, t, queue);
}

void wait_in_queue(const struct run *run, const struct local_tile *t, struct queue *queue)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            run->ops->gpu.signal_wait(queue, &run->signals[t->shape.number * DIRECTIONS + d], run->exchanges);
}

/* The puts follow the kernel; the host waits for those of the neighbours only. */
static void step_queue(struct run *run)
{
    for (int t = 0; t < run->n_tiles; t++)
        put_behind(run, &run->tiles[t], run->tiles[t].queue);
    wait_for_neighbors(run);
}

void open_mapped(struct run *run)
{
    size_t bytes = messages_bytes(run);

    for (int t = 0; t < run->n_tiles; t++) {
        struct local_tile *tile = &run->tiles[t];

        tile->mapped_messages = shmmap(tile->messages, bytes, run->ops->memtype);
        if (!tile->mapped_messages)
            quit_all("shmmap of %zu bytes: %s; --naive runs without it", bytes, shmemx_strerror());
    }
    run->signals = shmem_calloc((size_t)run->n_tiles * DIRECTIONS, sizeof(*run->signals));
    if (!run->signals)
        die("no memory left in the symmetric heap for signals: set SHMEM_SYMMETRIC_SIZE higher");
}

void close_mapped(struct run *run)
{
    shmem_free(run->signals);
    for (int t = run->n_tiles - 1; t >= 0; t--) {
        shmumap(run->tiles[t].mapped_messages);
        run->tiles[t].mapped_messages = NULL;
    }
}

const struct exchange exchange_mapped_signal = {
    .variant = "mapped",
    .sync = "signal",
    .open = open_mapped,
    .step = put_from_host,
    .close = close_mapped,
};

const struct exchange exchange_mapped_barrier = {
    .variant = "mapped",
    .sync = "barrier",
    .open = open_mapped,
    .step = step_barrier,
    .close = close_mapped,
};

const struct exchange exchange_mapped_queue = {
    .variant = "mapped",
    .sync = "queue",
    .in_queues = true,
    .open = open_mapped,
    .step = step_queue,
    .close = close_mapped,
};
