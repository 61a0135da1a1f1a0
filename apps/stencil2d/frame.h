/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one launch of the kernel computes, as the program and the kernel (CUDA and OpenCL) know it: a rectangle of
 * cells, and a frame, which lies between two rectangles, one inside the other. long has 64 bits in all three.
 */
#ifndef STENCIL2D_FRAME_H
#define STENCIL2D_FRAME_H

/* A neighbour lies in direction 3 * v + h: v is 0 to the north, 1 on the same rows, 2 to the south; h the same from
 * west to east. */
enum { NORTH_WEST, NORTH, NORTH_EAST, WEST, HERE, EAST, SOUTH_WEST, SOUTH, SOUTH_EAST, DIRECTIONS };

/* Work-items of a group, side by side and one above the other; a test with a thread for each has smaller groups. */
#ifndef STENCIL_GROUP_WIDTH
#define STENCIL_GROUP_WIDTH 64
#define STENCIL_GROUP_HEIGHT 4
#endif
enum { GROUP_WIDTH = STENCIL_GROUP_WIDTH, GROUP_HEIGHT = STENCIL_GROUP_HEIGHT, GROUP = GROUP_WIDTH * GROUP_HEIGHT };

/* What a work-item computes of the rectangle. Compilers for CPUs do best with single columns. */
enum { CUDA_PACK_BYTES = 16, CUDA_PACK_ROWS = 4, OPENCL_PACK_COLS = 1, OPENCL_PACK_ROWS = 8 };

/* Packs begin at multiples of this many cells, which suits any precision. */
enum { ALIGNED_CELLS = 16 };

/* Rows first to end - 1 and columns likewise, of a tile. */
struct bounds {
    long first_row, end_row, first_col, end_col;
};

/* Numbers count elements. */
struct launch_plan {
    long origin, pitch;       /* of the matrix buffers: cell (r, c) has the index origin + r * pitch + c           */
    struct bounds inside;     /* the rectangle                                                                     */
    long backwards;           /* from the last row to the first: what was written last may still be in the cache   */
    long groups;              /* of work-items, for the frame and the rectangle                                    */
    long frame_groups;        /* the first groups compute the frame; 0: there is none                              */
    struct bounds outer;      /* the frame lies inside of these ...                                                */
    struct bounds inner;      /* ... and outside of these                                                          */
    long rows, cols;          /* of the tile                                                                       */
    long halo_width;          /* of the pieces in messages                                                         */
    long arrived[DIRECTIONS]; /* where the halo that came from there lies in messages; -1: in the matrix           */
    long leaving[DIRECTIONS]; /* where in messages the cells go that the neighbour there needs; -1: it needs none  */
    long words;               /* where the words begin in messages, in bytes; -1: the two members below are not used */
    long wait_for;            /* the frame waits until the signals of the directions of `arrived` have this value  */
    long count;               /* not 0: each group of the frame adds 1 to the word DIRECTIONS when it is done      */
};

/* Who takes what kernels store into their neighbours' messages by themselves (CUDA). */
struct neighbor_plan {
    int pe[DIRECTIONS];      /* -1: there is none                                                                    */
    long groups[DIRECTIONS]; /* of that one's frame: each adds 1 to the word of its direction here for each exchange */
};

/* Rounds that one launch computes. Exchanges are counted from the first one of the run. */
struct rounds_plan {
    long count;    /* of rounds                                                       */
    long width;    /* iterations of a round                                           */
    long exchange; /* of the first round                                              */
    long before;   /* exchanges before the matrix was set, which the words do not count */
    long cur;      /* which of the two buffers holds the matrix                       */
    long done;     /* what the word DIRECTIONS holds before the first iteration       */
};

#endif
