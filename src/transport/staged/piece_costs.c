/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures copies and requests, each kind once, and remembers what they cost.
 */
#define _GNU_SOURCE
#include "transport/staged/pieces.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "transport/request.h"
#include "transport/staged/slots.h"
#include "transport/staged/staged.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLES = 3,
    BYTES_MOST = 1 << 20, /* limits on the size of a measured copy */
    BYTES_LEAST = 64 << 10,
    PARTS = 8,              /* into which a copy is cut to measure the cost per piece */
    WORDS = 4,              /* words fetched to measure a link; the first may have to wake the owner */
    BURST = 8,              /* words fetched at a time */
    BLOCK_LEAST = 64 << 10, /* blocks fetched */
    BLOCK_MOST = 256 << 10,
    LONG = 32 << 10, /* transfers from here on are worth measuring a link, and more than one piece */
};

/* The longest piece between nodes. Larger ones cost less, but little less. */
enum { NETWORK_MOST = 512 << 10 };

/* Puts from here on may go in pieces that are too long to be sent at once: what is announced is copied once less at the
 * owner, which counts where it sends as well. Two H200 over tcp, both PEs sending: 2 and 4 MiB take 15 % less time in
 * pieces of 512 KiB than of 256, 8 MiB 20 %; where one sends there is no difference, but for 10 % more with 1 MiB. */
enum { ANNOUNCED_LEAST = 1 << 20 };

/* Guesses until they are measured: PCIe, a queue in shared memory, TCP. */
static struct shmemi_stage copy_costs[SHMEMI_MEMTYPES] = {
    [SHMEMI_MEMTYPE_HOST] = {200, 0.1},
#define MEMORY_KIND(type, table, start, per_byte) [SHMEMI_MEMTYPE_##type] = {start, per_byte},
#include "gpu/memory_kinds.def"
};
static bool copy_is_measured[SHMEMI_MEMTYPES];

enum link_state { UNTRIED, TRYING, MEASURED };

struct link_costs {
    _Atomic(enum link_state) state;
    struct shmemi_stage guess, measured;
};
static struct link_costs ring_costs = {.guess = {1000, 0}}, network_costs = {.guess = {20000, 0.3}};

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Nanoseconds of a copy into a slot, in `parts` parts that are started one after the other; negative when it failed. */
static double time_copy(const struct shmemi_place *source, char *slot, size_t size, unsigned parts)
{
    struct shmemi_event event[PARTS];
    struct shmemi_shape shape = shmemi_shape_linear(size / parts);
    unsigned started = 0;
    int rc = 0;
    double begin = (double)shmemi_clock();
    for (; started < parts && !rc; started += !rc) {
        struct shmemi_place from = *source, to = shmemi_place_host(slot + started * shape.width);
        from.address += started * shape.width;
        rc = source->memory->copy_start(&to, &from, &shape, &event[started]);
    }
    for (unsigned i = 0; i < started; i++)
        rc |= source->memory->event_wait(&event[i]);
    return rc ? -1 : (double)shmemi_clock() - begin;
}

static double least_time(const struct shmemi_place *source, char *slot, size_t size, unsigned parts)
{
    double least = time_copy(source, slot, size, parts);
    for (int i = 1; i < SAMPLES && least >= 0; i++) {
        double time = time_copy(source, slot, size, parts);
        least = time < least ? time : least;
    }
    return least;
}

/* The fixed cost of a piece follows from how much longer a copy takes in parts than as a whole. */
static bool measure_copies(const struct shmemi_place *source, char *slot, size_t size, struct shmemi_stage *stage_p)
{
    double word = least_time(source, slot, sizeof(uint64_t), 1);
    double whole = least_time(source, slot, size, 1), parts = least_time(source, slot, size, PARTS);
    if (word < 0 || whole < 0 || parts < 0)
        return false;
    stage_p->per_piece = parts > whole ? (parts - whole) / (PARTS - 1) : word / PARTS;
    stage_p->per_byte = (whole > word ? whole - word : whole) / (double)size;
    return true;
}

/* Inside a node no bytes move between the two copies, and the thread that copies also sends or receives the request. */
static size_t choose_in_node(const struct shmemi_stage *request, struct shmemi_stage out, struct shmemi_stage in,
                             size_t nbytes)
{
    out.per_piece += request->per_piece;
    in.per_piece += request->per_piece;
    const struct shmemi_stage way[] = {out, in};
    return shmemi_piece_size(way, sizeof way / sizeof way[0], nbytes, shmemi_staging.chunk);
}

/* The thread that receives a piece also starts its copy to the destination. */
static size_t choose_between_nodes(struct shmemi_stage link, struct shmemi_stage out, struct shmemi_stage in,
                                   size_t nbytes)
{
    const size_t most = shmemi_staging.chunk < NETWORK_MOST ? shmemi_staging.chunk : NETWORK_MOST;
    link.per_piece += in.per_piece;
    const struct shmemi_stage way[] = {out, link, in};
    return shmemi_piece_size(way, sizeof way / sizeof way[0], nbytes, most);
}

static void report(const struct shmemi_memory *memory, const struct shmemi_stage *cost)
{
    const struct shmemi_stage *ring = &ring_costs.guess;
    if (shmemi_job.pe == 0)
        shmemi_info("staging: copies of %s memory at %.1f GB/s, %.1f us more for each piece; within a node 1 MiB goes "
                    "in pieces of %zu KiB, 64 MiB of %zu KiB",
                    memory->name, 1 / cost->per_byte, cost->per_piece / 1000,
                    choose_in_node(ring, *cost, *cost, 1 << 20) >> 10,
                    choose_in_node(ring, *cost, *cost, 64 << 20) >> 10);
}

void shmemi_piece_costs_measure(const struct shmemi_place *place, size_t size)
{
    struct shmemi_context context = {0};
    struct shmemi_stage cost;
    const size_t room = shmemi_staging.chunk < BYTES_MOST ? shmemi_staging.chunk : BYTES_MOST;
    if (copy_is_measured[place->memory->type] || size < BYTES_LEAST || shmemi_job.n_pes == 1)
        return;
    int slot = shmemi_slot_claim(&context);
    if (slot < 0)
        return;
    char *staging = shmemi_staging_slot((unsigned)slot);
    size_t bytes = (size < room ? size : room) / PARTS * PARTS;
    if (measure_copies(place, staging, bytes, &cost)) {
        copy_costs[place->memory->type] = cost;
        copy_is_measured[place->memory->type] = true;
        report(place->memory, &cost);
    }
    shmemi_slot_free((unsigned)slot);
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

/* Nanoseconds of `n` fetches of a word of the peer's heap, all under way at once; negative when one failed. */
static double time_fetches(const struct shmemi_view *probe, unsigned n)
{
    struct shmemi_context context = {0};
    struct shmemi_amo fetch = {.op = SHMEMI_AMO_FETCH, .size = sizeof(uint64_t)};
    uint64_t word[BURST];
    unsigned spins = 0;
    int rc = 0;
    double begin = (double)shmemi_clock();
    for (unsigned i = 0; i < n && !rc; i++)
        rc = shmemi_staged_amo_nbi(&context, probe, 0, &fetch, &word[i]);
    while (shmemi_slots_poll(&context))
        shmemi_progress(&spins);
    return rc || atomic_load(&context.request_failed) ? -1 : (double)shmemi_clock() - begin;
}

static double time_words(const struct shmemi_view *probe, unsigned n)
{
    double least = -1;
    for (int i = 0; i < WORDS; i++) {
        double time = time_fetches(probe, n);
        if (time < 0)
            return -1;
        least = least < 0 || time < least ? time : least;
    }
    return least;
}

static double time_block(const struct shmemi_view *probe, void *block, size_t size)
{
    double least = -1;
    for (int i = 0; i < SAMPLES; i++) {
        struct shmemi_context context = {0};
        struct shmemi_place dest = shmemi_place_host(block);
        struct shmemi_shape shape = shmemi_shape_linear(size);
        double begin = (double)shmemi_clock();
        if (shmemi_staged_get_in_pieces(&context, probe, 0, &dest, &shape, shmemi_staging.chunk))
            return -1;
        double time = (double)shmemi_clock() - begin;
        least = least < 0 || time < least ? time : least;
    }
    return least;
}

/* Nanoseconds a byte of a copy of this size by the CPU. */
static double copy_per_byte(char *block, size_t size)
{
    double least = -1;
    for (int i = 0; i < SAMPLES; i++) {
        double begin = (double)shmemi_clock();
        memcpy(block + size, block, size);
        double time = (double)shmemi_clock() - begin;
        least = least < 0 || time < least ? time : least;
    }
    return least / (double)size;
}

/* Inside a node no bytes move, and one request costs half a round trip. */
static void measure_ring(struct shmemi_stage *stage_p, double word)
{
    stage_p->per_piece = word / 2;
}

/* What pieces cost that follow each other closely is far less than a round trip; but a long one that is announced, and
 * fetched when there is room for it, costs more than a word. Two blocks tell what it costs, and what a byte does; the CPU
 * has copied each of them twice besides, at its owner and here. */
static void measure_blocks(struct shmemi_stage *stage_p, const struct shmemi_view *probe, double word, char *block)
{
    enum { MOST = 4000 }; /* what is more than that is time in which other pieces go on, or a disturbance */
    const double shorter = time_block(probe, block, BLOCK_LEAST), longer = time_block(probe, block, BLOCK_MOST);
    if (shorter < 0 || longer <= shorter)
        return;
    const double per_byte = (longer - shorter) / (BLOCK_MOST - BLOCK_LEAST);
    const double copies = 2 * copy_per_byte(block, BLOCK_MOST), fixed = shorter - word - per_byte * BLOCK_LEAST;
    stage_p->per_byte = per_byte > 2 * copies ? per_byte - copies : per_byte / 2;
    if (fixed > stage_p->per_piece)
        stage_p->per_piece = fixed < MOST ? fixed : MOST;
}

static void measure_network(struct shmemi_stage *stage_p, const struct shmemi_view *probe, double word)
{
    enum { LEAST = 500 };
    char *block = calloc(2, BLOCK_MOST);
    double burst = time_words(probe, BURST), each = 2 * (burst - word) / (BURST - 1);
    if (burst >= 0)
        stage_p->per_piece = each < LEAST ? LEAST : each;
    if (burst >= 0 && block)
        measure_blocks(stage_p, probe, word, block);
    free(block);
}

static void measure_link(struct link_costs *costs, const struct shmemi_view *view)
{
    struct shmemi_view probe = {.region = SHMEMI_REGION_HEAP, .pe = view->pe, .link = view->link};
    double word = time_words(&probe, 1);
    costs->measured = costs->guess;
    if (word < 0)
        return;
    if (costs == &network_costs)
        measure_network(&costs->measured, &probe, word);
    else
        measure_ring(&costs->measured, word);
    shmemi_info("staging: requests to PE %d cost %.1f us and %.2f ns a byte", view->pe,
                costs->measured.per_piece / 1000, costs->measured.per_byte);
}

/* While one thread measures, others use the guess. */
static struct shmemi_stage link_cost(struct link_costs *costs, const struct shmemi_view *view)
{
    enum link_state state = UNTRIED;
    if (atomic_compare_exchange_strong(&costs->state, &state, TRYING)) {
        measure_link(costs, view);
        atomic_store_explicit(&costs->state, state = MEASURED, memory_order_release);
    }
    return state == MEASURED ? costs->measured : costs->guess;
}

/* ---- Choice ------------------------------------------------------------------------------------------------------ */

static size_t forced_or(size_t size)
{
    if (!shmemi_settings.staging_piece)
        return size;
    return shmemi_settings.staging_piece < shmemi_staging.chunk ? shmemi_settings.staging_piece : shmemi_staging.chunk;
}

size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes)
{
    if (nbytes < LONG || shmemi_settings.staging_piece)
        return forced_or(shmemi_staging.chunk);
    const bool in_node = view->link->in_node;
    const struct shmemi_memory *theirs = view->place.memory ? view->place.memory : &shmemi_memory_host;
    const struct shmemi_stage link = link_cost(in_node ? &ring_costs : &network_costs, view);
    if (in_node)
        return choose_in_node(&link, copy_costs[mine->type], copy_costs[theirs->type], nbytes);
    return choose_between_nodes(link, copy_costs[mine->type], copy_costs[theirs->type], nbytes);
}

size_t shmemi_piece_choose_put(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes)
{
    const size_t chosen = shmemi_piece_choose(view, mine, nbytes), longest = view->link->longest_put(view->pe);
    const bool is_good = chosen < longest || nbytes <= longest || nbytes >= ANNOUNCED_LEAST;
    return is_good || shmemi_settings.staging_piece ? chosen : longest;
}

size_t shmemi_piece_choose_bounce(const struct shmemi_memory *mine, size_t nbytes)
{
    const struct shmemi_stage way[] = {copy_costs[mine->type], network_costs.guess};
    return forced_or(shmemi_piece_size(way, sizeof way / sizeof way[0], nbytes, shmemi_staging.chunk));
}
