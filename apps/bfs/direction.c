/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direction optimisation: when the frontier has most of the edges that are left, it is cheaper for the vertices that
 * are not yet in the tree to look for a neighbour in the frontier ("bottom-up"). The frontier is then a set of bits,
 * which every PE has whole; each PE finds the bits of its vertices and puts them to all others.
 *
 * Source: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search", 2012 (alpha and beta are theirs).
 */
#include "search.h"

/* An estimate of the next frontier's edges: the degree of a vertex that was sent is not known yet, so these are taken
 * to be like those that their owners found, and to be sent only once. */
static double next_edges(const struct report *total)
{
    if (total->found == 0)
        return 0;
    return (double)total->found_edges * (double)(total->found + total->sent) / (double)total->found;
}

static void clear_own_words(struct search *search, int half)
{
    size_t words = search_words(&search->part);

    search->ops->gpu.fill(search->device_queue, search->frontier[half], (size_t)search->my_pe * words * sizeof(u32), 0,
                          words);
}

static void send_words(struct search *search, int half)
{
    search->exchange->send_words(search, half);
    search->words_sent +=
        (uint64_t)search->n_pes * (uint64_t)(search->n_pes - 1) * search_words(&search->part) * sizeof(u32);
}

/* Sends the queue to all PEs as bits. Reports go with them, which nobody reads. */
static void share_frontier(struct search *search)
{
    const u32 turn = search->level % QUEUE_COUNTERS;
    const int half = (int)(search->level % 2);
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->queue[half]),    BUFFER_ARGUMENT(search->counters),
        BUFFER_ARGUMENT(search->frontier[half]), VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(search->first),
    };

    clear_own_words(search, half);
    search->ops->gpu.launch(search->device_queue, search->mark_frontier, &search->full, arguments,
                            (int)(sizeof(arguments) / sizeof(arguments[0])));
    search->ops->gpu.finish(search->device_queue);
    search->epoch++;
    send_words(search, half);
    search->exchange->deliver(search);
    for (int k = 1; k < search->n_pes; k++) {
        int pe = (search->my_pe + k) % search->n_pes;

        search->exchange->await(search, pe);
        search->exchange->take_words(search, pe, half);
    }
}

/* Bottom-up only while the frontier grows: at the end few edges are left, and yet every vertex would look for one. */
static bool is_time_for_bottom_up(const struct search *search, const struct report *total)
{
    bool is_growing = total->found + total->sent > total->frontier;

    return is_growing && next_edges(total) * search->opt->alpha > (double)search->unexplored;
}

static bool is_time_for_top_down(const struct search *search, const struct report *total)
{
    bool is_shrinking = total->found < total->frontier;

    return is_shrinking && (double)total->found * search->opt->beta < (double)search->part.n_vertices;
}

void direction_choose(struct search *search, const struct report *total)
{
    search->unexplored -= total->frontier_edges;
    if (search->is_bottom_up) {
        search->is_bottom_up = !is_time_for_top_down(search, total);
    } else if (is_time_for_bottom_up(search, total)) {
        search->is_bottom_up = true;
        share_frontier(search);
    }
}

void direction_bottom_up(struct search *search)
{
    const int half = (int)(search->level % 2);
    const u32 turn = search->level % QUEUE_COUNTERS;
    const u32 n_words = (u32)search_all_words(&search->part);
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->column),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->frontier[half]),
        BUFFER_ARGUMENT(search->frontier[!half]),
        BUFFER_ARGUMENT(search->queue[!half]),
        BUFFER_ARGUMENT(search->counters),
        VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(search->first),
        VALUE_ARGUMENT(search->size),
        VALUE_ARGUMENT(n_words),
    };

    search->ops->gpu.launch(search->device_queue, search->bottom_up, &search->full, arguments,
                            (int)(sizeof(arguments) / sizeof(arguments[0])));
}

void direction_send(struct search *search)
{
    send_words(search, (int)((search->level + 1) % 2));
}

void direction_take(struct search *search, int pe)
{
    search->exchange->take_words(search, pe, (int)((search->level + 1) % 2));
}
