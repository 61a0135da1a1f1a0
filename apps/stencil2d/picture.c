/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture of the field. Every PE adds up its own cells for the pixels that they lie in, and PE 0 fetches the sums,
 * one band of pixels after the other.
 *
 * Why any decomposition gives the same bytes: cells are rounded to multiples of one unit, the same for all, and
 * integers have the same sum in any order.
 */
#include "picture.h"

#include <float.h>
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#include "canvas.h"
#include "stencil2d.h"

#define LONGEST_SIDE 1024
#define FETCH_BYTES ((size_t)4 << 20)
#define BAND_BYTES ((size_t)1 << 20)

/* The largest cell is this many units: 2^22 cells of a pixel add up to less than 2^63. */
#define LARGEST 0x1p40

struct picture {
    const struct run *run;
    long width, height;  /* pixels                                    */
    int band;            /* pixel rows collected together             */
    double unit;         /* of the sums                               */
    char *cells;         /* rows of a tile, fetched from the device   */
    int rows;            /* that cells has room for                   */
    int64_t *part, *sum; /* [band][width], symmetric                  */
    double *mean;        /* [height][width], on PE 0                  */
    double low, high;    /* the least and the greatest mean           */
};

/* Cell i of n lies in pixel i * pixels / n. */
static long pixel_of(long i, long n, long pixels)
{
    return i * pixels / n;
}

static long first_of(long pixel, long n, long pixels)
{
    return (pixel * n + pixels - 1) / pixels;
}

static double value(const struct picture *pic, int row, int col)
{
    size_t index = (size_t)row * pic->run->grid.pitch + (size_t)col;

    if (pic->run->real->size == sizeof(float))
        return ((const float *)pic->cells)[index];
    return ((const double *)pic->cells)[index];
}

/* Fetches n rows of a tile from row first on. */
static void fetch(const struct picture *pic, const struct local_tile *t, int first, int n)
{
    const struct run *run = pic->run;
    size_t index = run->grid.origin + (size_t)first * run->grid.pitch;
    size_t elements = (size_t)(n - 1) * run->grid.pitch + (size_t)t->shape.cols;

    run->ops->read(t->dev, pic->cells, t->buf[run->cur], index * run->real->size, elements * run->real->size);
}

/* The largest magnitude in a tile; infinite if a cell is not finite. */
static double largest_magnitude(const struct picture *pic, const struct local_tile *t)
{
    const struct tile *tile = &t->shape;
    double largest = 0;

    for (int first = 0; first < tile->rows; first += pic->rows) {
        int n = tile->rows - first < pic->rows ? tile->rows - first : pic->rows;

        fetch(pic, t, first, n);
        for (int r = 0; r < n; r++)
            for (int c = 0; c < tile->cols; c++) {
                double magnitude = fabs(value(pic, r, c));

                largest = magnitude <= largest ? largest : isnan(magnitude) ? INFINITY : magnitude;
            }
    }
    return largest;
}

static double largest_of_all(const struct picture *pic)
{
    double largest = 0;

    for (int i = 0; i < pic->run->n_tiles; i++)
        largest = fmax(largest, largest_magnitude(pic, &pic->run->tiles[i]));
    return job_max(largest);
}

/* Adds n rows of a tile from row first on, which are in cells, to the band. */
static void add_rows(const struct picture *pic, const struct tile *tile, long band_start, int first, int n)
{
    const struct grid *grid = &pic->run->grid;

    for (int r = 0; r < n; r++) {
        long y = pixel_of(tile->first_row + first + r, grid->rows, pic->height) - band_start;
        int64_t *line = pic->part + y * pic->width;

        for (int c = 0; c < tile->cols; c++)
            line[pixel_of(tile->first_col + c, grid->cols, pic->width)] += llrint(value(pic, r, c) / pic->unit);
    }
}

/* Adds the part of a tile that lies in the pixel rows from start to end. */
static void add_tile(const struct picture *pic, const struct local_tile *t, long start, long end)
{
    const struct tile *tile = &t->shape;
    long first = first_of(start, pic->run->grid.rows, pic->height) - tile->first_row;
    long last = first_of(end, pic->run->grid.rows, pic->height) - tile->first_row;

    first = first < 0 ? 0 : first;
    last = last > tile->rows ? tile->rows : last;
    for (long r = first; r < last; r += pic->rows) {
        int n = last - r < pic->rows ? (int)(last - r) : pic->rows;

        fetch(pic, t, (int)r, n);
        add_rows(pic, tile, start, (int)r, n);
    }
}

static void add_band(const struct picture *pic, long start, long end)
{
    for (long i = 0; i < (end - start) * pic->width; i++)
        pic->part[i] = 0;
    for (int i = 0; i < pic->run->n_tiles; i++)
        add_tile(pic, &pic->run->tiles[i], start, end);
}

static void keep_means(const struct picture *pic, long start, long end)
{
    const struct grid *grid = &pic->run->grid;

    for (long y = start; y < end; y++) {
        long rows = first_of(y + 1, grid->rows, pic->height) - first_of(y, grid->rows, pic->height);

        for (long x = 0; x < pic->width; x++) {
            long cols = first_of(x + 1, grid->cols, pic->width) - first_of(x, grid->cols, pic->width);

            pic->mean[y * pic->width + x] =
                (double)pic->sum[(y - start) * pic->width + x] / ((double)rows * (double)cols) * pic->unit;
        }
    }
}

static void collect(const struct picture *pic)
{
    for (long start = 0; start < pic->height; start += pic->band) {
        long end = start + pic->band < pic->height ? start + pic->band : pic->height;

        add_band(pic, start, end);
        shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, pic->sum, pic->part, (size_t)((end - start) * pic->width));
        if (shmem_my_pe() == 0)
            keep_means(pic, start, end);
    }
}

/* ---- The image: a title, the field in a frame, the scale --------------------------------------------------------- */

enum { MARGIN = 16, TITLE_HEIGHT = 34, LEAST_WIDTH = 600, SCALE_HEIGHT = 18, TICK = 6, TEXT_SIZE = 2, FOOT = 88 };

static const uint8_t black[3] = {0, 0, 0};

/* Small fields are magnified: a cell becomes a square of so many pixels. */
static long magnification(const struct picture *pic)
{
    long longest = pic->width > pic->height ? pic->width : pic->height;

    return longest < LEAST_WIDTH ? LEAST_WIDTH / longest : 1;
}

static double share_of(const struct picture *pic, double mean)
{
    return pic->high > pic->low ? (mean - pic->low) / (pic->high - pic->low) : 0;
}

static void draw_title(const struct picture *pic, struct canvas *canvas)
{
    const struct run *run = pic->run;
    char words[128];

    snprintf(words, sizeof(words), "Stencil2D, %ld x %ld cells after %ld iterations", run->grid.rows, run->grid.cols,
             run->opt->iterations);
    canvas_text(canvas, MARGIN, 10, canvas_text_width(TEXT_SIZE, words) <= canvas->width - 2 * MARGIN ? TEXT_SIZE : 1,
                words);
}

static void draw_field(const struct picture *pic, struct canvas *canvas, long zoom)
{
    uint8_t rgb[3];

    canvas_fill(canvas, MARGIN - 1, TITLE_HEIGHT - 1, pic->width * zoom + 2, pic->height * zoom + 2, black);
    for (long i = 0; i < pic->width * pic->height; i++) {
        canvas_colour(share_of(pic, pic->mean[i]), rgb);
        canvas_fill(canvas, MARGIN + i % pic->width * zoom, TITLE_HEIGHT + i / pic->width * zoom, zoom, zoom, rgb);
    }
}

/* 1, 2 or 5 times a power of ten, at most 6 of which lie between the least and the greatest value. */
static double tick_step(double range)
{
    double decade = pow(10, floor(log10(range)));

    return range / decade <= 1.2 ? decade / 5
           : range / decade <= 3 ? decade / 2
           : range / decade <= 6 ? decade
                                 : 2 * decade;
}

static void draw_ticks(const struct picture *pic, struct canvas *canvas, long y, long width)
{
    double step = tick_step(pic->high - pic->low);
    char words[32];

    for (double i = ceil(pic->low / step); i * step <= pic->high; i++) {
        long x = MARGIN + lrint(share_of(pic, i * step) * (double)(width - 1)), half, left;

        snprintf(words, sizeof(words), "%.4g", i * step == 0 ? 0 : i * step);
        half = canvas_text_width(TEXT_SIZE, words) / 2;
        left = x - half < MARGIN ? MARGIN : x + half > MARGIN + width ? MARGIN + width - 2 * half : x - half;
        canvas_fill(canvas, x, y, 1, TICK, black);
        canvas_text(canvas, left, y + TICK + 4, TEXT_SIZE, words);
    }
}

static void draw_scale(const struct picture *pic, struct canvas *canvas, long y)
{
    long width = canvas->width - 2 * MARGIN;
    uint8_t rgb[3];

    canvas_fill(canvas, MARGIN - 1, y - 1, width + 2, SCALE_HEIGHT + 2, black);
    for (long x = 0; x < width; x++) {
        canvas_colour((double)x / (double)(width - 1), rgb);
        canvas_fill(canvas, MARGIN + x, y, 1, SCALE_HEIGHT, rgb);
    }
    if (pic->high > pic->low)
        draw_ticks(pic, canvas, y + SCALE_HEIGHT, width);
    canvas_text(canvas, MARGIN, y + SCALE_HEIGHT + TICK + 4 + TEXT_HEIGHT * TEXT_SIZE + 4, TEXT_SIZE,
                pic->run->opt->plate ? "degrees" : "value of a cell, without a unit");
}

static struct canvas draw_all(const struct picture *pic)
{
    long zoom = magnification(pic);
    long wide = pic->width * zoom > LEAST_WIDTH ? pic->width * zoom : LEAST_WIDTH;
    struct canvas canvas = canvas_make(wide + 2 * MARGIN, TITLE_HEIGHT + pic->height * zoom + FOOT);

    draw_title(pic, &canvas);
    draw_field(pic, &canvas, zoom);
    draw_scale(pic, &canvas, TITLE_HEIGHT + pic->height * zoom + MARGIN);
    return canvas;
}

static void write_file(struct picture *pic, const char *file)
{
    struct canvas canvas;
    const char *problem;

    pic->low = pic->high = pic->mean[0];
    for (long i = 0; i < pic->width * pic->height; i++) {
        pic->low = fmin(pic->low, pic->mean[i]);
        pic->high = fmax(pic->high, pic->mean[i]);
    }
    canvas = draw_all(pic);
    problem = png_write(file, canvas.pixels, (int)canvas.width, (int)canvas.height);
    if (problem)
        die("--picture %s: %s", file, problem);
    if (!pic->run->opt->csv)
        printf("  picture %s: %ldx%ld pixels, values from %.6g to %.6g\n", file, canvas.width, canvas.height, pic->low,
               pic->high);
    canvas_free(&canvas);
}

static void choose_size(struct picture *pic)
{
    const struct grid *grid = &pic->run->grid;
    long longest = grid->rows > grid->cols ? grid->rows : grid->cols;
    long side = longest < LONGEST_SIDE ? longest : LONGEST_SIDE;

    pic->height = grid->rows * side / longest > 0 ? grid->rows * side / longest : 1;
    pic->width = grid->cols * side / longest > 0 ? grid->cols * side / longest : 1;
}

static void draw(struct picture *pic, const char *file)
{
    size_t band_bytes = (size_t)pic->band * (size_t)pic->width * sizeof(int64_t);

    pic->part = symmetric_alloc(band_bytes);
    pic->sum = symmetric_alloc(band_bytes);
    if (shmem_my_pe() == 0)
        pic->mean = host_alloc((size_t)(pic->width * pic->height) * sizeof(double));
    collect(pic);
    if (shmem_my_pe() == 0)
        write_file(pic, file);
    free(pic->mean);
    shmem_free(pic->sum);
    shmem_free(pic->part);
}

void picture_draw(const struct run *run, const char *file)
{
    struct picture pic = {.run = run};
    size_t row_bytes = run->grid.pitch * run->real->size;
    double largest;

    choose_size(&pic);
    pic.rows = FETCH_BYTES / row_bytes < 1 ? 1 : (int)(FETCH_BYTES / row_bytes);
    pic.band = (int)(BAND_BYTES / ((size_t)pic.width * sizeof(int64_t)));
    pic.cells = host_alloc((size_t)pic.rows * row_bytes);
    largest = largest_of_all(&pic);
    if (isinf(largest))
        quit_all("--picture: the matrix has cells that are not finite: use smaller weights or fewer iterations");
    pic.unit = fmax(largest / LARGEST, DBL_MIN);
    draw(&pic, file);
    free(pic.cells);
}
