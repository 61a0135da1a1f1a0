/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breadth-first search over OpenSHMEM: the structures that its files share.
 *
 * The graph is undirected and its vertices are spread over the PEs in blocks (1-D partition). Each PE has the
 * adjacency of its own vertices in the memory of a GPU. A search goes level by level: every PE expands its part of the
 * frontier, sends what it has found of other PEs' vertices to their owners, and these take what is new.
 */
#ifndef BFS_H
#define BFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/device.h"
#include "support/util.h"

/* Numbers of vertices have 32 bits where that is enough; BFS_WIDE makes the program that is for larger graphs. */
#ifdef BFS_WIDE
typedef uint64_t vertex_t;
#define PRIvertex PRIu64
#define NO_VERTEX UINT64_MAX
#define MAX_VERTICES (UINT64_C(1) << 44)
#else
typedef uint32_t vertex_t;
#define PRIvertex PRIu32
#define NO_VERTEX UINT32_MAX
#define MAX_VERTICES ((uint64_t)UINT32_MAX) /* so that NO_VERTEX is none of them */
#endif
enum { IS_WIDE = sizeof(vertex_t) == 8 };

/* How PEs exchange what they find, in the order in which --variant all runs them. search.h has their functions. */
enum exchange_kind { MAPPED, ATOMIC, KERNEL, GRID, NAIVE, N_EXCHANGES };
const char *exchange_name(enum exchange_kind kind);

/* ---- Command line (options.c) ------------------------------------------------------------------------------------ */

struct options {
    const char *device;     /* "auto", "cuda" or "opencl"                                */
    int device_index;       /* -1: the one that the library proposes                     */
    int n_sources;          /* how many the command line names                           */
    int scale, edge_factor; /* Kronecker: 2^scale vertices, edge_factor edges for each   */
    const char *file;       /* NULL: the graph is generated                              */
    uint64_t seed;          /* of the graph and of the choice of roots                   */
    int n_roots;            /* searches                                                  */
    bool one_root;          /* search from root only; else roots are drawn               */
    uint64_t root;
    bool exchanges[N_EXCHANGES]; /* variants to run, one after the other                    */
    bool all;                    /* of several, those that are not possible are left out      */
    bool direction_optimising;
    double alpha, beta; /* when to go bottom-up and back                             */
    bool verify;        /* each search, by the five rules of Graph500                */
    int inject_error;   /* break this rule, 1 to 5, so that the check must fail; 0: do not */
    int threads;        /* that build and check on each PE; 0: one for each of its cores   */
    bool memory;        /* print what is needed, and stop                            */
    bool searches;      /* a line for each, beside the summary */
    bool csv;
    bool help, version;
    char error[160]; /* what is wrong with the command line; empty if nothing     */
};

void options_parse(int argc, char **argv, struct options *opt);
void options_help(void);

/* ---- Partition (partition.c) ------------------------------------------------------------------------------------- */

/* PE p owns the vertices from p * block on. block is a multiple of 64: the bits of a PE's vertices are whole words. */
struct partition {
    uint64_t n_vertices;
    uint64_t block;
    int n_pes;
};

struct partition partition_make(uint64_t n_vertices, int n_pes);
int partition_owner(const struct partition *part, vertex_t v);
vertex_t partition_first(const struct partition *part, int pe);
vertex_t partition_size(const struct partition *part, int pe); /* the last PEs may own fewer, or none */

/* ---- Edges and graph (edges*.c, read.c, graph.c) -------------------------------------------------------------- */

/* An undirected edge of the input; there may be loops and duplicates. */
struct edge {
    vertex_t a, b;
};

/* This PE's share of the input, in host memory: about the same number of edges on each PE. */
struct edge_list {
    uint64_t n_vertices; /* of the whole graph */
    uint64_t n_all;      /* edges on all PEs   */
    size_t n;            /* edges of this PE   */
    struct edge *edges;
};

/* The part of this PE: the neighbours of its vertices in host memory, sorted, without loops and duplicates. */
struct graph {
    char name[128];
    struct partition part;
    vertex_t first, size;  /* own vertices                                                        */
    uint64_t n_input;      /* edges of the input, all PEs                                         */
    uint64_t n_adjacent;   /* entries of column                                                   */
    uint64_t max_adjacent; /* the same on the PE that has most                                    */
    uint64_t *row;         /* [size + 1]: neighbours of vertex first + i are column[row[i]] to column[row[i + 1] - 1] */
    vertex_t *column;      /* global vertex numbers                                               */
    uint32_t *input_ends;  /* [size]: how many ends of input edges lie at a vertex, loops and duplicates included */
};

/* ---- Search (search.c and its variants) -------------------------------------------------------------------------- */

struct search;

struct search_times {
    double seconds;      /* of the search, slowest PE                              */
    double comm_seconds; /* in which it exchanged and waited                       */
    int levels;          /* of the tree, that of the root included                 */
    uint64_t reached;    /* vertices, all PEs                                      */
    uint64_t bytes_sent; /* by all PEs                                             */
};

/* Device and symmetric host memory that a search of this variant needs on a PE, without allocating anything. */
struct search_memory {
    size_t device_bytes, heap_bytes;
};
struct search_memory search_memory(const struct options *opt, const struct partition *part, uint64_t n_adjacent,
                                   enum exchange_kind kind);

/* What search_open gives to the device when it opens it (device.h). */
extern const struct kernel_code search_kernels;

/* Collective. The graph is uploaded; its host copy is not needed by search_run. If the variant cannot be run here,
 * search_refusal says why, and the search can only be closed. */
struct search *search_open(const struct options *opt, const struct graph *graph, const struct device_ops *ops,
                           struct device *dev, enum exchange_kind kind);
const char *search_refusal(const struct search *search); /* the same on all PEs; NULL: there is none */
/* Collective: one search; *times is the same on every PE. The clock runs from a barrier to the end of the slowest. */
void search_run(struct search *search, vertex_t root, struct search_times *times);
/* The parents of this PE's vertices: the root's is the root itself, that of an unreached vertex NO_VERTEX. */
void search_parents(struct search *search, vertex_t *parents);
void search_close(struct search *search);

#endif
