/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over OpenSHMEM: the structures that its files share.
 *
 * The problem is that of SHOC's Stencil2D: every iteration replaces each cell of a matrix by
 *     center * cell + cardinal * (N + S + W + E) + diagonal * (NW + SW + NE + SE)
 * inside a fixed border. The matrix is cut into a grid of tiles, one or several per PE, each in the memory of a GPU.
 *
 * A tile has a halo of W cells around it. One exchange, which fills the halo, serves W iterations: they also compute
 * cells of the halo, of which one fewer on each side is correct after each iteration. Exchange and iterations make a
 * round.
 *
 * What is sent lies in a second buffer, without gaps: the kernel that computes the edge of a tile also writes it there,
 * and in a round's first iteration it reads the halo from there. It has four areas alike: what goes out and what comes
 * in, for exchanges with even and with odd numbers. An area has a piece for each direction.
 */
#ifndef STENCIL2D_H
#define STENCIL2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "real.h"
#include "support/device.h"
#include "support/util.h"

/* ---- Command line (options.c) ------------------------------------------------------------------------------------ */

/* AUTO is the fastest of those before it, but for GRAPH. */
enum variant { MAPPED, OVERLAPPED, KERNEL, STRIDED, GRAPH, NAIVE, AUTO, VARIANTS };

/* What orders the exchange of the mapped and overlapped variants; by default what is fastest on the device. */
enum sync { AS_DEVICE_LIKES, BY_SIGNALS, BY_BARRIERS, IN_QUEUE };

struct options {
    const char *device;           /* "auto", "cuda" or "opencl"                            */
    int device_index;             /* -1: the one that the library proposes                 */
    int gpus_per_pe;              /* tiles per PE, each on a device of its own if possible */
    long rows, cols;              /* of the matrix, or of a PE's part when per_pe is set   */
    bool per_pe;                  /* rows and cols are those of a PE's part                */
    int grid_rows, grid_cols;     /* 0: chosen near square                                 */
    int halo_width;               /* iterations per exchange                               */
    long iterations;              /* that are timed                                        */
    long warmup;                  /* iterations before the clock starts                    */
    bool plate, field_given;      /* the initial matrix is the plate, else noise           */
    uint64_t seed;                /* of the noise                                          */
    bool single, both_precisions; /* single alone, or double alone, or one after the other */
    double weights[3];            /* center, cardinal, diagonal                            */
    double halo_value;            /* of the fixed border                                   */
    bool variant[VARIANTS];       /* to run one after the other; mapped if there is none   */
    bool all;                     /* of several, those that are not possible are left out  */
    enum sync sync;
    bool verify;         /* against the serial reference                          */
    double tolerance;    /* relative error that passes; 0: bit for bit            */
    bool inject_error;   /* spoil one cell, so that the check must fail           */
    const char *picture; /* PNG file of the field after the run, or NULL          */
    bool csv;            /* output as comma-separated values                      */
    bool help;           /* print the help text only                              */
    bool version;        /* print the version only                                */
    char error[160];     /* what is wrong with the command line; empty if nothing */
};

void options_parse(int argc, char **argv, struct options *opt);
void options_help(void);

/* ---- Decomposition (grid.c) -------------------------------------------------------------------------------------- */

/* The matrix and how it is cut. Extents that do not divide evenly are spread: they differ by one at most. Numbers
 * without a unit count elements and are the same on every PE. */
struct grid {
    long rows, cols;          /* of the whole matrix                                            */
    int grid_rows, grid_cols; /* of PEs                                                         */
    int part_rows, part_cols; /* of tiles in the part of each PE                                */
    int halo_width;           /* W                                                              */
    int max_rows, max_cols;   /* of the largest tile                                            */
    size_t lead;              /* from the start of a row to its first cell                      */
    size_t pitch;             /* from row to row                                                */
    size_t origin;            /* index of cell (0, 0) of a tile                                 */
    size_t elements;          /* of a tile with its halo                                        */
    size_t piece[DIRECTIONS]; /* where a piece begins in an area: room for the largest tile's   */
    size_t area;              /* of the buffer with what is sent; the next area begins there    */
};

/* Areas of the buffer with what is sent. */
enum { OUT_EVEN, OUT_ODD, IN_EVEN, IN_ODD, AREAS };

/* Words after the areas: what has arrived from each direction (the number of the last exchange, in the kernel variant how
 * many groups have sent theirs); how many groups of this tile that are counted are done. */
enum { GROUPS_DONE = DIRECTIONS, TILE_WORDS };

/* A neighbouring tile, of this PE or another. */
struct neighbor {
    int pe; /* -1: beyond the border of the matrix, or the tile itself */
    int number;
};

/* Cell (r, c) of a tile has the index origin + r * pitch + c; -W to -1, and rows or cols and up, are the halo. */
struct tile {
    int pe, number;            /* which of that PE's tiles         */
    int grid_row, grid_col;    /* of the tile in the grid of tiles */
    long first_row, first_col; /* of the matrix                    */
    int rows, cols;
    struct neighbor neighbor[DIRECTIONS];
};

/* Rows and columns from the first one on, of a tile. */
struct rectangle {
    int row, col, rows, cols;
};

/* Returns NULL, or what is wrong with the sizes. */
const char *grid_make(const struct options *opt, int pes, size_t element_size, struct grid *grid);
void grid_tile(const struct grid *grid, int pe, int number, struct tile *tile);

bool has_neighbor(const struct tile *tile, int direction);
int opposite(int direction);

/* The cells of a tile that the neighbour in a direction needs. */
struct rectangle edge_cells(const struct grid *grid, const struct tile *tile, int direction);

/* ---- One run (run.c, tiles.c) ------------------------------------------------------------------------------------ */

struct run;

enum { MOST_BESIDE = 3 };

/* A tile of this PE on its device. */
struct local_tile {
    struct tile shape;
    struct device *dev;
    int device_index;
    struct kernel *kernel;
    struct queue *queue;
    struct queue *urgent;              /* of the overlapped variant, for what neighbours wait for            */
    struct queue *beside[MOST_BESIDE]; /* beside the one with the puts, for messages to further neighbours   */
    int n_beside;
    struct buffer *buf[2];   /* the matrix before and after an iteration, in turns                 */
    struct buffer *messages; /* areas, then words                                                  */
    uint64_t groups_done;    /* what that word will be when all launches so far are done           */
    char *mapped_messages;   /* the symmetric address of messages; NULL in the naive and strided variants */
    char *mapped_buf[2];     /* those of buf, in the strided variant                               */
};

/* How halos are exchanged. All functions are collective. step sends what the last iteration has written for the
 * neighbours, and returns when the halos of exchange number `exchanges` have arrived or, if it works in the queues, at
 * once. compute does the iterations of a round after step; NULL: in order, in the tiles' first queues. compute_many, which
 * may be NULL, is called after step, too: if it can do several rounds at once it begins some of those whose iterations
 * are left, and returns how many; else 0. open sets run->refusal if this exchange is not possible here. */
struct exchange {
    const char *variant, *sync;
    bool in_queues;
    bool overlaps; /* tiles need an urgent queue */
    void (*open)(struct run *run);
    void (*step)(struct run *run);
    void (*compute)(struct run *run, int iterations);
    long (*compute_many)(struct run *run, long iterations_left);
    long (*replay)(struct run *run, long iterations_left); /* in place of step; rounds done, or 0; optional */
    void (*close)(struct run *run);
};

struct run {
    const struct options *opt;
    const struct real *real;
    const struct device_ops *ops;
    const struct exchange *exchange;
    struct grid grid;
    struct local_tile *tiles;
    int n_tiles;
    int cur;                    /* which of the buffers holds the matrix now                             */
    double progress;            /* when the last progress line was printed                               */
    uint64_t *signals;          /* symmetric; per tile and direction: the last exchange that has arrived */
    uint64_t exchanges;         /* begun so far; the number of the present one                           */
    uint64_t exchanges_before;  /* the matrix was set                                               */
    bool waits_in_kernel;       /* the overlapped and kernel variants: not in the queue */
    const char *sync;           /* what orders the exchange, if open has decided that; else NULL */
    bool takes_turns;           /* with other PEs, at the GPU */
    bool host_waits;            /* the overlapped variant: not the queue */
    bool host_sends;            /* and the host puts, as soon as the frame is there */
    char *staging;              /* of the naive variant, in the symmetric heap                           */
    struct direct *direct;      /* of the kernel variant (halo_kernel.c)                                */
    struct graph *graphs[2][2]; /* of the graph variant, by parity of exchanges, and cur             */
    bool is_trial;              /* of the variant auto */
    const char *refusal;        /* why the variant cannot be run here, the same on all PEs; or NULL     */
};

enum verdict { NOT_VERIFIED, EXACT, WITHIN_TOLERANCE, FAILED };

/* Times are the slowest PE's, for all iterations. That of the kernel alone, whole tiles without any exchange and one
 * launch after the other, was measured apart: the rest, the communication, may seem to be less than nothing. */
struct result {
    double seconds, kernel_seconds, comm_seconds;
    enum verdict verdict;
    struct comparison comparison; /* meaningful on PE 0 */
};

void run_iterations(struct run *run, struct result *result); /* result->kernel is set */
double run_kernel(struct run *run);                          /* destroys the matrix, which run_iterations sets anew */
double run_trial(struct run *run);                           /* seconds of an iteration, of a few; the same */

/* run->tiles, with their geometry and devices, are the caller's. */
void tiles_open(struct run *run);
struct field initial_field(const struct run *run);
void tiles_set_initial(struct run *run);
void tiles_finish(const struct run *run); /* waits for all work in their queues */
void tiles_close(struct run *run);

/* ---- Halo exchange (halo_mapped.c, halo_overlapped.c, halo_kernel.c, halo_strided.c, halo_naive.c) --------------- */

extern const struct exchange exchange_mapped_signal;  /* puts between mapped buffers, ordered by signals  */
extern const struct exchange exchange_mapped_barrier; /* the same, ordered by barriers                    */
extern const struct exchange exchange_mapped_queue;   /* the same in the device's queue, but for the wait */
extern const struct exchange exchange_overlapped;     /* in another queue, while the device computes      */
extern const struct exchange exchange_kernel;         /* by the kernels that compute, while they compute  */
extern const struct exchange exchange_strided;        /* between mapped matrices, without messages        */
extern const struct exchange exchange_graph;          /* mapped, in the queue, captured into graphs       */
extern const struct exchange exchange_naive;          /* through host memory, by hand                     */

/* What the mapped variants share. */
void open_mapped(struct run *run);
void close_mapped(struct run *run);
bool reaches_neighbors(const struct local_tile *t);      /* kernels of this PE do, by loads and stores */
void put_by_host(const struct run *run, uint64_t added); /* by the host's puts, which add to the signals */
void put_behind(const struct run *run, const struct local_tile *t, struct queue *queue);
void put_in_queues(const struct run *run, const struct local_tile *t, struct queue *queue); /* after nothing else */
void wait_in_queue(const struct run *run, const struct local_tile *t, struct queue *queue);
void wait_for_neighbors(const struct run *run); /* on the host, for the present exchange */
void put_from_host(struct run *run);            /* to all neighbours; and waits for what they put */

/* Bytes of the piece for a neighbour, and bytes from the start of the messages to a piece. */
size_t piece_bytes(const struct run *run, const struct local_tile *t, int direction);
size_t piece_offset(const struct run *run, int area, int direction);
int area_out(uint64_t exchange);
int area_in(uint64_t exchange);
size_t words_offset(const struct run *run);
size_t messages_bytes(const struct run *run);

/* ---- Iterations of a round (rounds.c) ---------------------------------------------------------------------------- */

/* Iteration i of n, from buf[cur] to the other; the caller changes cur. They return at once. In the first iteration
 * compute_and_wait's frame waits for the exchange on the device, and in the last one it counts itself. */
bool has_frame(int i, int n);
struct launch_plan frame_plan(const struct run *run, const struct tile *tile, int i, int n); /* without a rectangle */
long frame_groups(const struct run *run, const struct tile *tile); /* in the last iteration of each round */
void compute(const struct run *run, const struct local_tile *t, int i, int n);
void compute_and_wait(const struct run *run, struct local_tile *t, int i, int n);
void compute_frame(const struct run *run, const struct local_tile *t, struct queue *queue, int i, int n);
void compute_inside(const struct run *run, const struct local_tile *t, struct queue *queue, int i, int n);
void compute_unframed(const struct run *run, const struct local_tile *t, int i, int n); /* the halo is in the matrix */
void compute_whole(const struct run *run, const struct local_tile *t);                  /* without a frame */

/* For the kernels of halo_kernel.c (direct_plan.c): who the neighbours of this PE's only tile are; iteration i of n after an
 * exchange, as for the other variants, but what leaves goes where the neighbours read it. */
void direct_neighbors(const struct run *run, struct neighbor_plan *plan);
struct launch_plan direct_plan(const struct run *run, uint64_t exchange, int i, int n);

/* ---- Kernels (kernels.c) ----------------------------------------------------------------------------------------- */

/* One iteration over rows x cols cells. Numbers count elements. Packs of 16 bytes are read whole: the pitch is a
 * multiple of that, and buffers extend that far, and one cell more, past the cells that are needed. */
struct sweep {
    struct buffer *in, *out;
    size_t origin; /* index of the first cell */
    size_t pitch;
    int rows, cols;
    double weights[3];
};

extern const struct kernel_code stencil_kernels;

struct kernel *sweep_kernel(const struct device_ops *ops, struct device *dev, const struct real *real);
void sweep_launch(const struct device_ops *ops, struct queue *queue, struct kernel *kernel, const struct real *real,
                  const struct sweep *sweep); /* returns at once */

struct plan_buffers {
    struct buffer *in, *out, *messages;
};

void plan_launch(const struct device_ops *ops, struct queue *queue, struct kernel *kernel, const struct real *real,
                 const struct plan_buffers *buffers, struct launch_plan *plan, const double weights[3]);

/* What plan_launch is made of: sets how many groups the plan has; a launch of groups; weights as they are passed, in the
 * first real->size bytes of each. */
void plan_groups(const struct device_ops *ops, const struct real *real, struct launch_plan *plan);
struct launch launch_of(long groups);
void round_weights(const struct real *real, const double weights[3], double rounded[3]);

/* ---- Check (verify.c) and output (report.c) ---------------------------------------------------------------------- */

/* The matrix after all iterations, computed by one CPU core of PE 0. Kept for further runs of the same precision. */
struct reference {
    const struct real *real;
    void *matrix;
};

void verify(struct run *run, struct reference *ref, struct result *result);
void inject_error(struct run *run);
/* Each process checks its own tiles, with a serial run of its own. */
enum verdict verify_own_tiles(struct run *run, struct reference *ref, struct comparison *sum);

void report_tiles(const struct run *run);
void report_csv_header(void);
void report_result(const struct run *run, const struct result *result);

#endif
