/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image in memory: rectangles, words, and the colours of a scale.
 */
#ifndef STENCIL2D_CANVAS_H
#define STENCIL2D_CANVAS_H

#include <stdint.h>

struct canvas {
    long width, height;
    uint8_t *pixels; /* 3 bytes each, row by row */
};

/* A white one. Release with canvas_free. */
struct canvas canvas_make(long width, long height);
void canvas_free(struct canvas *canvas);

void canvas_fill(struct canvas *canvas, long x, long y, long width, long height, const uint8_t rgb[3]);

/* Words from (x, y) on, their upper left corner, in black. A letter is TEXT_STEP * size pixels from the next, and with what
 * hangs below the line TEXT_HEIGHT * size high. The font has what the pictures need: digits, small letters, few others. */
enum { TEXT_STEP = 6, TEXT_HEIGHT = 9 };
void canvas_text(struct canvas *canvas, long x, long y, int size, const char *words);
long canvas_text_width(int size, const char *words);

/* The colour of a share from 0 to 1: from black by violet, red and orange to pale yellow. Equal steps look equal, also in
 * grey and to people who cannot tell red from green. */
void canvas_colour(double share, uint8_t rgb[3]);

#endif
