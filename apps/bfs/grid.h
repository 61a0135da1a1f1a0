/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A search over a grid of PEs, for many PEs and large graphs: what a PE has found of other PEs' vertices travels in two
 * hops, first along its row to the column of the owner, then along that column. So a PE sends and receives about
 * 2 sqrt(PEs) messages in a level in place of PEs - 1, and a sum over all PEs, which takes O(log PEs), tells how far the
 * search is. Nothing on the device has an entry for each vertex of the graph: vertices of other PEs have numbers of this
 * PE's own (ghosts.h).
 *
 * PE row * columns + column is at that place of the grid; the last row may have fewer. If the place where a pair has to
 * turn into its column is missing there, it turns in the row before.
 */
#ifndef BFS_GRID_H
#define BFS_GRID_H

#include "search.h"

/* ---- The grid (grid_shape.c) ------------------------------------------------------------------------------------- */

struct pe_grid {
    int n_pes, rows, columns; /* columns >= rows, nearly square */
};

struct pe_grid pe_grid_make(int n_pes);
bool pe_grid_is_full(const struct pe_grid *grid); /* the last row has all columns */
/* Where pairs of this PE turn into a column; which PE is at the row of that column, -1: none. */
int pe_grid_turn(const struct pe_grid *grid, int pe, int column);
int pe_grid_at(const struct pe_grid *grid, int row, int column);
/* The PEs whose pairs turn at this PE, by `hop` as pairs have it: 0 to 2 * columns - 1; -1: none. */
int pe_grid_source(const struct pe_grid *grid, int pe, int hop);
int pe_grid_hop(const struct pe_grid *grid, int pe, int turn); /* the hop of a PE's pairs that turn there */

/* ---- Boxes (grid_boxes.c) ---------------------------------------------------------------------------------------- */

/* One of the two hops. Outboxes by where they go, column or row; inboxes by where they come from, hop or row. */
struct hop {
    int n_out, n_in;
    int *to, *from;      /* PEs; -1: none                                          */
    uint64_t *out_start; /* where a box begins in the outbox, in pairs             */
    uint64_t *there;     /* symmetric: where this PE's box begins in that inbox    */
    uint64_t *in_start;  /* where a box begins in the inbox                        */
    uint32_t *sent;      /* pairs of this search in each outbox                    */
    uint64_t *received;  /* and in each inbox                                      */
    uint64_t *signals;   /* symmetric, by inbox: epoch and number of pairs         */
    int *slot;           /* which inbox this PE has there                          */
    struct buffer *outbox, *inbox, *starts;
    u64 *outbox_map, *inbox_map;
};

struct grid_search {
    struct pe_grid grid;
    int row, column;
    uint32_t n_ghosts;
    struct buffer *ghosts;
    struct hop hop[2];
    uint64_t *sums; /* symmetric: of this PE, then of all */
    struct kernel *start, *expand, *forward, *absorb;
};

/* counts: how many ghosts of this PE each PE owns. Collective. */
void grid_boxes_open(struct search *search, const uint32_t *counts);
void grid_boxes_close(struct search *search);

/* ---- The search (grid.c) ----------------------------------------------------------------------------------------- */

extern const struct exchange exchange_grid;

size_t grid_device_bytes(const struct partition *part, uint64_t n_adjacent);
void grid_open(struct search *search, const struct graph *graph);
void grid_close(struct search *search);
void grid_run(struct search *search, vertex_t root, struct search_times *times);
void grid_parents(struct search *search, vertex_t *parents);

#endif
