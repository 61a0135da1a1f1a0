/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture of the field as a PNG file.
 */
#ifndef STENCIL2D_PICTURE_H
#define STENCIL2D_PICTURE_H

#include <stdint.h>

struct run;

/* Collective: PE 0 writes the matrix as it is now, at most 1024 pixels long and wide, with a title above and a scale below.
 * Each pixel is the mean of its cells, coloured between the smallest and the largest mean; small matrices are magnified.
 * The file is the same for any number of PEs. */
void picture_draw(const struct run *run, const char *file);

/* ---- The file (picture_png.c, picture_none.c) -------------------------------------------------------------------- */

/* NULL, or why this build writes no pictures. */
extern const char *const picture_refusal;

/* 3 bytes per pixel, row by row. Returns NULL or what went wrong; then there is no file. */
const char *png_write(const char *file, const uint8_t *pixels, int width, int height);

#endif
