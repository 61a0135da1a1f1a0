/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a search share: search.c has the levels, exchange_*.c the ways to other PEs, direction.c the
 * steps bottom-up.
 *
 * A level is: each PE expands its part of the frontier, which fills its outboxes and the queue of the next level; what
 * is in the outboxes goes to the inboxes of the owners, and a report with it; with the reports of all, each PE takes
 * what it has received, and knows whether to go on. The host waits for its device once in a level.
 *
 * A PE sends each vertex at most once in a search. So an outbox for every other PE with room for its vertices, and an
 * inbox with as much room, are used from front to back once in a search, and nothing is filled anew while somebody
 * reads it. The inbox is cut into boxes, one for each sender, or is one area in which they reserve room.
 */
#ifndef BFS_SEARCH_H
#define BFS_SEARCH_H

#include "bfs.h"

typedef uint64_t u64;
typedef uint32_t u32;

#include "layout.h"

/* What a PE tells each other PE about a level. */
struct report {
    uint64_t frontier;       /* vertices that it had in its queue               */
    uint64_t frontier_edges; /* and their edges                                 */
    uint64_t found;          /* own vertices found for the next level           */
    uint64_t found_edges;
    uint64_t sent; /* pairs to all others                             */
    uint64_t sent_to_you;
    uint64_t place;     /* where they begin in your inbox, in pairs        */
    uint64_t is_marked; /* they bring a signal of their own: mapped_await  */
};

/* The counters of the device, as the host reads them. */
struct counters {
    u64 queues[COUNTER_WORDS];
    u32 sent[]; /* [n_pes] since the search began */
};

/* How pairs and words travel. Every function is called by all PEs in the same order. */
struct exchange {
    const char *name;
    size_t device_bytes; /* besides what every exchange takes */
    size_t (*heap_bytes)(const struct partition *part, bool direction_optimising);
    void (*open)(struct search *search);
    void (*close)(struct search *search);

    /* Called before the barrier that begins a search, after this PE has ended the previous one. May be NULL. */
    void (*prepare)(struct search *search);

    /* Reserves room in the inboxes for what to_send says is sent, and sets its places. */
    void (*reserve)(struct search *search);
    /* Sends pairs at to at + n - 1 of the outboxes, which are for that PE, to the place reserved for them. */
    void (*send_pairs)(struct search *search, int pe, size_t at, size_t n);
    /* Sends this PE's words of a frontier to all PEs. */
    void (*send_words)(struct search *search, int half);
    /* Delivers what has been sent, then the reports (search->to_send). */
    void (*deliver)(struct search *search);
    /* Waits for the report of that PE and for what it sent before. */
    void (*await)(struct search *search, int pe);
    /* Bring that to the device; pairs are in the inbox from at on. */
    void (*take_pairs)(struct search *search, size_t at, size_t n);
    void (*take_words)(struct search *search, int pe, int half);

    /* Runs all levels by itself, when the search has begun: then the functions above but open and close are not called.
     * May be NULL. */
    void (*run)(struct search *search, struct search_times *times);
};

extern const struct exchange exchange_mapped, exchange_atomic, exchange_kernel, exchange_naive;

struct search {
    const struct options *opt;
    const struct exchange *exchange;
    struct partition part;
    vertex_t first, size;
    int my_pe, n_pes;
    uint64_t total_adjacent; /* of all PEs */

    const struct device_ops *ops;
    struct device *dev;
    struct queue *device_queue;
    struct kernel *start, *expand, *absorb, *mark_frontier, *bottom_up;
    struct launch full; /* as many work-items as the device can use */

    struct buffer *row, *column, *parent, *known, *counters;
    struct buffer *queue[2]; /* that of level l is queue[l % 2]                            */
    struct buffer *outbox, *inbox;
    struct buffer *frontier[2]; /* bits of all vertices; NULL without direction optimisation  */

    uint32_t level;
    bool is_bottom_up;
    uint64_t unexplored; /* edges of vertices that were in no frontier yet, all PEs    */
    uint32_t *sent;      /* pairs of this search to each PE                            */
    uint64_t words_sent; /* pieces of frontiers to other PEs, in bytes                 */

    uint64_t epoch;              /* levels of all searches                                     */
    struct grid_search *by_grid; /* of a search over a grid of PEs (grid.h), which uses little of what follows */
    struct report *reports;      /* symmetric, [2][n_pes]: of epoch e in half e % 2            */
    struct report *to_send;      /* symmetric, [n_pes]                                         */
    struct counters *read;       /* symmetric, since that memory is page-locked                */

    /* exchange_mapped.c, and for exchange_atomic.c */
    void *outbox_map, *inbox_map, *frontier_map[2];
    uint64_t *signals; /* symmetric, [2][n_pes]: the last epoch that a PE has reported, of which its pairs came */
    uint64_t fenced;   /* the epoch whose puts come after those of the one before */
    /* exchange_atomic.c */
    struct buffer *fill; /* one word: pairs for which room in the inbox is reserved   */
    u64 *fill_map;
    /* exchange_kernel.c */
    struct direct_search *direct;
    const char *refusal; /* why it cannot search here, the same on all PEs; or NULL */
    /* exchange_naive.c */
    u64 *host_outbox, *host_inbox; /* symmetric */
    uint32_t *host_frontier;
};

/* Where the box that owner_of_box has for the other PE begins, in pairs. */
size_t search_box(const struct search *search, int owner_of_box, int other);
/* exchange->reserve if an inbox has a box for each sender: after what the box already holds. */
void search_reserve_in_boxes(struct search *search);
/* Words of the bits of a PE's vertices, and of all. */
size_t search_words(const struct partition *part);
size_t search_all_words(const struct partition *part);
size_t search_pairs(const struct partition *part);
struct report *search_report(struct search *search, int pe);

/* exchange_mapped.c: the functions that exchange_atomic.c uses, too. */
size_t mapped_heap_bytes(const struct partition *part, bool direction_optimising);
void mapped_open(struct search *search);
void mapped_close(struct search *search);
void *mapped_map(struct search *search, struct buffer *buf, size_t bytes);
void mapped_send_pairs(struct search *search, int pe, size_t at, size_t n);
void mapped_send_words(struct search *search, int half);
void mapped_deliver(struct search *search);
void mapped_await(struct search *search, int pe);
void mapped_take_pairs(struct search *search, size_t at, size_t n);
void mapped_take_words(struct search *search, int pe, int half);

/* direction.c: after a level that all have reported (total: the sum). Sets is_bottom_up for the next. */
void direction_choose(struct search *search, const struct report *total);
/* Runs a level bottom-up, up to its counters; then sends its words to all. */
void direction_bottom_up(struct search *search);
void direction_send(struct search *search);
void direction_take(struct search *search, int pe);

#endif
