/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over OpenSHMEM: the structures that its files share.
 *
 * The problem is that of SHOC's Stencil2D: every iteration replaces each cell of a matrix by
 *     center * cell + cardinal * (N + S + W + E) + diagonal * (NW + SW + NE + SE)
 * inside a fixed border. The matrix is cut into a grid of tiles, one per PE, each in the memory of a GPU.
 */
#ifndef STENCIL2D_H
#define STENCIL2D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "real.h"

enum { NORTH, SOUTH, WEST, EAST, SIDES };

/* ---- Command line (options.c) ------------------------------------------------------------------------------------ */

struct options {
    const char *device;           /* "auto", "cuda" or "opencl"                            */
    int device_index;             /* -1: the one that the library proposes                 */
    long rows, cols;              /* of the matrix, or of a tile when per_pe is set        */
    bool per_pe;                  /* rows and cols are those of a tile                     */
    int grid_rows, grid_cols;     /* 0: chosen near square                                 */
    long iterations;              /* that are timed                                        */
    long warmup;                  /* iterations before the clock starts                    */
    uint64_t seed;                /* of the initial matrix                                 */
    bool single, both_precisions; /* single alone, or double alone, or one after the other */
    double weights[3];            /* center, cardinal, diagonal                            */
    double halo_value;            /* of the fixed border                                   */
    bool naive, both_variants;    /* naive alone, or shmmap alone, or one after the other  */
    bool barrier;                 /* order the halo exchange by barriers, not by signals   */
    bool verify;                  /* against the serial reference                          */
    double tolerance;             /* relative error that passes; 0: bit for bit            */
    bool inject_error;            /* spoil one cell, so that the check must fail           */
    bool csv;                     /* output as comma-separated values                      */
    bool help;                    /* print the help text only                              */
    char error[160];              /* what is wrong with the command line; empty if nothing */
};

void options_parse(int argc, char **argv, struct options *opt);
void options_help(void);

/* ---- Decomposition (grid.c) -------------------------------------------------------------------------------------- */

/* The matrix and how it is cut. Extents that do not divide evenly are spread: they differ by one at most. */
struct grid {
    long rows, cols;          /* of the whole matrix                                     */
    int grid_rows, grid_cols; /* of PEs                                                  */
    int max_rows, max_cols;   /* of the largest tile                                     */
    size_t lead;              /* elements from the start of a row to its first cell      */
    size_t pitch;             /* elements from row to row; the same on every PE          */
    size_t origin;            /* index of cell (0, 0) of a tile                          */
    size_t elements;          /* of a tile with its halo; the same on every PE           */
};

/* The part of one PE. Its cell (r, c) has the index origin + r * pitch + c; -1 and rows or cols are the halo. */
struct tile {
    int grid_row, grid_col;
    long first_row, first_col; /* of the matrix */
    int rows, cols;
    int neighbor[SIDES]; /* PE, or -1 at the border */
};

/* Returns NULL, or what is wrong with the sizes. */
const char *grid_make(const struct options *opt, int pes, size_t element_size, struct grid *grid);
void grid_tile(const struct grid *grid, int pe, struct tile *tile);

/* ---- One run (run.c) --------------------------------------------------------------------------------------------- */

struct exchange;

struct run {
    const struct options *opt;
    const struct real *real;
    const struct device_ops *ops;
    struct device *dev;
    int device_index;
    const struct exchange *exchange;
    struct grid grid;
    struct tile tile;
    struct buffer *buf[2]; /* the matrix before and after an iteration, in turns   */
    int cur;               /* which of them holds the matrix now                   */
    double progress;       /* when the last progress line was printed              */
    void *map[2];          /* symmetric addresses of buf                           */
    uint64_t *signals;     /* one per side: the last exchange that arrived there   */
    uint64_t exchanges;    /* done so far                                          */
    char *staging;         /* of the naive variant, in the symmetric heap          */
};

enum verdict { NOT_VERIFIED, EXACT, WITHIN_TOLERANCE, FAILED };

struct result {
    double seconds, kernel_seconds, comm_seconds; /* the slowest PE's */
    enum verdict verdict;
    struct comparison comparison; /* meaningful on PE 0 */
};

void run_open(struct run *run);
void run_iterations(struct run *run, struct result *result);
void run_close(struct run *run);

/* ---- Halo exchange (halo_shmmap.c, halo_naive.c) ----------------------------------------------------------------- */

/* step fills the halo of buf[cur] on every PE. All are collective. */
struct exchange {
    const char *name;
    void (*open)(struct run *run);
    void (*step)(struct run *run);
    void (*close)(struct run *run);
};

extern const struct exchange exchange_shmmap;         /* puts between mapped buffers, ordered by signals  */
extern const struct exchange exchange_shmmap_barrier; /* the same, ordered by barriers                    */
extern const struct exchange exchange_naive;          /* through host memory, by hand                     */

/* ---- Check (verify.c) and output (report.c) ---------------------------------------------------------------------- */

/* The matrix after all iterations, computed by one CPU core of PE 0. Kept for further runs of the same precision. */
struct reference {
    const struct real *real;
    void *matrix;
};

void verify(struct run *run, struct reference *ref, struct result *result);
void inject_error(struct run *run);

void report_pes(const struct run *run);
void report_csv_header(void);
void report_result(const struct run *run, const struct result *result);

/* ---- Small helpers (util.c) -------------------------------------------------------------------------------------- */

double now(void); /* seconds */

/* Print one line and end the whole job with status 1. Any PE may call it. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The same, called by all PEs with the same cause: PE 0 prints, all leave in good order. */
void quit_all(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Collective; never NULL. */
void *symmetric_alloc(size_t bytes);

/* At most one line in two seconds, on PE 0. */
void progress_line(double *last, const char *what, long done, long total);

#endif
