/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the host and the kernels agree upon.
 */
#ifndef BFS_LAYOUT_H
#define BFS_LAYOUT_H

/* A word of a queue: in the upper bits a vertex of this PE (counted from its first), in the lower bits how many edges
 * the vertices before it in the queue have. A counter of a queue: its vertices in the upper bits, all their edges in
 * the lower. As both grow by one atomic operation, a queue is also the running sum of its degrees. */
#define EDGE_BITS 34
#define VERTEX_BITS (64 - EDGE_BITS)
#define PACK(vertices, edges) ((u64)(vertices) << EDGE_BITS | (edges))
#define VERTICES(word) ((u32)((word) >> EDGE_BITS))
#define EDGES(word) ((word) & (((u64)1 << EDGE_BITS) - 1))

/* The buffer of counters: those of three queues, which take turns (the one that is read, the one that is filled, the
 * one that is cleared), a word in which groups that meet count themselves, then for each PE how many pairs it has been sent (u32). */
#define QUEUE_COUNTERS 3
#define MEETINGS QUEUE_COUNTERS
#define COUNTER_WORDS 4

/* What goes to another PE: its vertex, counted from its first, and the vertex that it was found from. */
#define PAIR(vertex, parent) ((u64)(vertex) << 32 | (parent))
#define PAIR_VERTEX(pair) ((u32)((pair) >> 32))
#define PAIR_PARENT(pair) ((u32)(pair))

/* The pairs that one kernel takes from several PEs, counted in one sequence: those from the i-th PE end at pair end[i],
 * and pair k, if it is one of them, is at place at[i] + k of the inbox (at may be negative, the sum is not). */
#define ARRIVALS 8
struct arrivals {
    u64 at[ARRIVALS], end[ARRIVALS];
};

/* The vertices of a PE, and where it stands among the others. */
struct own_part {
    u32 first, size, block, my_pe, n_pes;
};

/* What kernels tell each other PE of a level when they exchange by themselves (kernels_direct.h). */
struct level_report {
    u64 frontier;    /* vertices that this PE had in its queue           */
    u64 found;       /* own vertices found for the next level            */
    u64 sent;        /* pairs to all others                              */
    u64 sent_to_you; /* pairs to the PE that reads this ...              */
    u64 place;       /* ... and where they begin in the inbox there      */
    u64 unused[2];
    u64 epoch; /* of the level; the rest is set before */
};

/* What a whole search has done; the same on all PEs but for the last one. */
struct search_result {
    u64 levels;  /* of the tree                        */
    u64 run;     /* levels that were run               */
    u64 reached; /* vertices                           */
    u64 sent;    /* pairs                              */
    u64 comm_ns; /* nanoseconds in which groups waited */
};

#define MOST_PES 512 /* a group counts in local memory what it sends to each */

/* Over a grid of PEs (grid.h): at most MOST_PES rows and columns. A pair has 27 bits for its vertex, 27 for that from
 * which it was found, and 10 for the hop: first the row of the owner, then the column of the PE that sent it, plus the
 * number of columns if that PE is in a last row that is not full. */
#define GRID_VERTEX_BITS 27
#define GRID_MASK (((u64)1 << GRID_VERTEX_BITS) - 1)
#define GRID_PAIR(hop, from, vertex)                                                                                   \
    ((u64)(hop) << 2 * GRID_VERTEX_BITS | (u64)(from) << GRID_VERTEX_BITS | (u64)(vertex))
#define GRID_HOP(pair) ((u32)((pair) >> 2 * GRID_VERTEX_BITS))
#define GRID_FROM(pair) ((u32)((pair) >> GRID_VERTEX_BITS & GRID_MASK))
#define GRID_VERTEX(pair) ((u32)((pair)&GRID_MASK))
/* The PE that has sent a pair, from the row of the one that has forwarded it. */
#define GRID_ORIGIN(row, hop, n_columns, n_rows)                                                                       \
    ((hop) < (n_columns) ? (row) * (n_columns) + (hop) : ((n_rows)-2) * (n_columns) + (hop))
#define GRID_PARENT(pe, vertex) ((u64)(pe) << 32 | (vertex))

/* A vertex of another PE: the row and column of that PE, and its number there. */
#define GHOST(row, column, vertex) ((u64)(column) << 48 | (u64)(row) << 32 | (u64)(vertex))
#define GHOST_COLUMN(ghost) ((u32)((ghost) >> 48))
#define GHOST_ROW(ghost) ((u32)((ghost) >> 32 & 0xffff))
#define GHOST_VERTEX(ghost) ((u32)(ghost))

/* For each of several arrivals, where its pairs come from. */
struct origins {
    u32 of[ARRIVALS];
};

#endif
