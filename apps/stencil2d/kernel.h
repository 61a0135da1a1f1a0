/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel: CUDA includes this file once for each precision; OpenCL's source ends with it. Defined before it:
 *   REAL, SWEEP, PACK            float or double, and names that go with it: of the kernel and of a type
 *   KERNEL, FUNCTION, GLOBAL     words in front of a kernel, a function, the target of a pointer
 *   PLAN                         the type of the plan as a parameter
 *   RESTRICT, UNROLLED           words for a pointer without aliases, and in front of a loop
 *   COLS, ROWS                   what a work-item computes of the rectangle
 *   GROUP_ID, LOCAL_COL, LOCAL_ROW   of this work-item
 *   WORD, wait_for_word(word, value), meet_group(), count_done(word)
 *   FOR_ANY_SINK, SINK, OWN_MESSAGES, send_cell(sink, messages, direction, place, value)
 *                                where the frame writes what neighbours need: words in front of a function that is given
 *                                one, its type, and the one that stands for this PE's own messages
 *
 * The rectangle: a work-item walks down some rows of a few columns and keeps the three rows around the cells in
 * registers; the columns beside its own come from the cache. The frame: a work-item computes one cell at a time, from
 * wherever its neighbours lie. Frames are narrow, so this need not be fast.
 */
#ifndef SIDE_OF
/* Below 0: 0; from 0 to n - 1: 1; beyond: 2. */
#define SIDE_OF(i, n) ((i) < 0 ? 0 : (i) < (n) ? 1 : 2)

/* Where in messages a cell goes for the neighbour in a direction; -1: that one does not need it. */
FUNCTION long place_in_piece(const struct launch_plan *p, int direction, int row, int col)
{
    int v = direction / 3;
    int h = direction % 3;
    int rows = v == 1 ? (int)p->rows : (int)p->halo_width;
    int cols = h == 1 ? (int)p->cols : (int)p->halo_width;
    int r = row - (v == 2 ? (int)p->rows - rows : 0);
    int c = col - (h == 2 ? (int)p->cols - cols : 0);

    if (p->leaving[direction] < 0 || r < 0 || r >= rows || c < 0 || c >= cols)
        return -1;
    return p->leaving[direction] + (long)r * cols + c;
}

/* The cell with a number in a rectangle; else the number is counted on from it. */
FUNCTION int find_in(long *number, long first_row, long end_row, long first_col, long end_col, int *row, int *col)
{
    int cols = (int)(end_col - first_col);
    long cells = (end_row - first_row) * cols;

    if (*number >= cells) {
        *number -= cells;
        return 0;
    }
    *row = (int)first_row + (int)*number / cols;
    *col = (int)first_col + (int)*number % cols;
    return 1;
}

/* The cell with a number: the rows to the north, those to the south, then what is left to the west and to the east.
 * false: there are fewer. */
FUNCTION int find_cell(const struct launch_plan *p, long number, int *row, int *col)
{
    const struct bounds o = p->outer;
    const struct bounds i = p->inner;

    return find_in(&number, o.first_row, i.first_row, o.first_col, o.end_col, row, col) ||
           find_in(&number, i.end_row, o.end_row, o.first_col, o.end_col, row, col) ||
           find_in(&number, i.first_row, i.end_row, o.first_col, i.first_col, row, col) ||
           find_in(&number, i.first_row, i.end_row, i.end_col, o.end_col, row, col);
}
#endif

/* One load without a branch: it is on its way while the others are. */
FUNCTION REAL cell_at(GLOBAL const REAL *in, GLOBAL REAL *messages, const struct launch_plan *p, int row, int col)
{
    int rows = (int)p->rows, cols = (int)p->cols, width = (int)p->halo_width;
    int v = SIDE_OF(row, rows);
    int h = SIDE_OF(col, cols);
    long arrived = p->arrived[3 * v + h];
    int r = row - (v == 0 ? -width : v == 1 ? 0 : rows);
    int c = col - (h == 0 ? -width : h == 1 ? 0 : cols);
    long there = arrived + (long)r * (h == 1 ? cols : width) + c;
    long here = p->origin + row * p->pitch + col;

    return *(arrived < 0 ? in + here : messages + there);
}

/* The order of the operations is that of the serial reference. */
FUNCTION REAL new_cell(GLOBAL const REAL *in, GLOBAL REAL *messages, const struct launch_plan *p, int r, int c,
                       REAL center, REAL cardinal, REAL diagonal)
{
    REAL cross = cell_at(in, messages, p, r - 1, c) + cell_at(in, messages, p, r + 1, c);
    REAL corners = cell_at(in, messages, p, r - 1, c - 1) + cell_at(in, messages, p, r + 1, c - 1);

    cross = (cross + cell_at(in, messages, p, r, c - 1)) + cell_at(in, messages, p, r, c + 1);
    corners = (corners + cell_at(in, messages, p, r - 1, c + 1)) + cell_at(in, messages, p, r + 1, c + 1);
    return (center * cell_at(in, messages, p, r, c) + cardinal * cross) + diagonal * corners;
}

FOR_ANY_SINK
FUNCTION void compute_frame(GLOBAL const REAL *in, GLOBAL REAL *out, GLOBAL REAL *messages, const struct launch_plan *p,
                            long group, SINK sink, REAL center, REAL cardinal, REAL diagonal)
{
    int row, col;
    long first = (group * GROUP_HEIGHT + LOCAL_ROW) * GROUP_WIDTH + LOCAL_COL;

    for (long n = first; find_cell(p, n, &row, &col); n += p->frame_groups * GROUP) {
        REAL value = new_cell(in, messages, p, row, col, center, cardinal, diagonal);

        out[p->origin + row * p->pitch + col] = value;
        UNROLLED
        for (int d = 0; d < DIRECTIONS; d++) {
            long place = place_in_piece(p, d, row, col);

            if (place >= 0)
                send_cell(sink, messages, d, place, value);
        }
    }
}

typedef struct {
    REAL v[COLS];
} __attribute__((aligned(COLS * sizeof(REAL)))) PACK;

/* A pack and the cells beside it. */
FUNCTION void load_row(GLOBAL const REAL *from, REAL *row)
{
    PACK pack = *(GLOBAL const PACK *)from;

    row[0] = from[-1];
    for (int i = 0; i < COLS; i++)
        row[i + 1] = pack.v[i];
    row[COLS + 1] = from[COLS];
}

/* Cells first to end - 1 of the pack. */
FUNCTION void store_row(GLOBAL REAL *to, PACK pack, int first, int end)
{
    if (first == 0 && end == COLS)
        *(GLOBAL PACK *)to = pack;
    else
        for (int i = 0; i < COLS; i++)
            if (i >= first && i < end)
                to[i] = pack.v[i];
}

FUNCTION void compute_pack(GLOBAL const REAL *RESTRICT in, GLOBAL REAL *RESTRICT out, long pitch, int rows, int first,
                           int end, REAL center, REAL cardinal, REAL diagonal)
{
    REAL north[COLS + 2], here[COLS + 2], south[COLS + 2];

    load_row(in - pitch, north);
    load_row(in, here);
    UNROLLED
    for (int r = 0; r < rows; r++) {
        PACK pack;

        in += pitch;
        load_row(in, south);
        for (int i = 1; i <= COLS; i++) {
            REAL cross = ((north[i] + south[i]) + here[i - 1]) + here[i + 1];
            REAL corners = ((north[i - 1] + south[i - 1]) + north[i + 1]) + south[i + 1];

            pack.v[i - 1] = (center * here[i] + cardinal * cross) + diagonal * corners;
        }
        store_row(out, pack, first, end);
        out += pitch;
        for (int i = 0; i < COLS + 2; i++) {
            north[i] = here[i];
            here[i] = south[i];
        }
    }
}

/* Packs are aligned, so the first one of a row may begin before the rectangle. */
FUNCTION void compute_inside(GLOBAL const REAL *RESTRICT in, GLOBAL REAL *RESTRICT out, const struct launch_plan *p,
                             int group, REAL center, REAL cardinal, REAL diagonal)
{
    long first = p->origin + p->inside.first_row * p->pitch + p->inside.first_col;
    int rows = (int)(p->inside.end_row - p->inside.first_row);
    int cols = (int)(p->inside.end_col - p->inside.first_col);
    int skipped = (int)(first % ALIGNED_CELLS);
    int groups_side_by_side = (skipped + cols + GROUP_WIDTH * COLS - 1) / (GROUP_WIDTH * COLS);
    int col = (group % groups_side_by_side * GROUP_WIDTH + LOCAL_COL) * COLS - skipped;
    int row = (group / groups_side_by_side * GROUP_HEIGHT + LOCAL_ROW) * ROWS;

    if (col + COLS <= 0 || col >= cols || row >= rows)
        return;
    if (p->backwards)
        row = (rows - 1) / ROWS * ROWS - row;
    in += first + row * p->pitch + col;
    out += first + row * p->pitch + col;
    if (col >= 0 && col + COLS <= cols && row + ROWS <= rows)
        compute_pack(in, out, p->pitch, ROWS, 0, COLS, center, cardinal, diagonal);
    else
        for (int r = 0; r < ROWS && row + r < rows; r++)
            compute_pack(in + r * p->pitch, out + r * p->pitch, p->pitch, 1, col < 0 ? -col : 0,
                         col + COLS <= cols ? COLS : cols - col, center, cardinal, diagonal);
}

KERNEL void SWEEP(GLOBAL const REAL *RESTRICT in, GLOBAL REAL *RESTRICT out, GLOBAL REAL *messages, PLAN plan,
                  REAL center, REAL cardinal, REAL diagonal)
{
    GLOBAL WORD *words = plan.words < 0 ? NULL : (GLOBAL WORD *)((GLOBAL char *)messages + plan.words);

    if (GROUP_ID >= plan.frame_groups) {
        compute_inside(in, out, &plan, (int)(GROUP_ID - plan.frame_groups), center, cardinal, diagonal);
        return;
    }
    if (words && LOCAL_ROW == 0 && LOCAL_COL < DIRECTIONS && plan.arrived[LOCAL_COL] >= 0)
        wait_for_word(words + LOCAL_COL, plan.wait_for);
    meet_group();
    compute_frame(in, out, messages, &plan, GROUP_ID, OWN_MESSAGES, center, cardinal, diagonal);
    meet_group();
    if (words && plan.count && LOCAL_ROW == 0 && LOCAL_COL == 0)
        count_done(words + DIRECTIONS);
}
