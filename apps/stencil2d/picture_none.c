/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for picture_png.c in a build without libpng: pictures are refused.
 */
#include "picture.h"

const char *const picture_refusal = "built without libpng: install its headers and configure again";

const char *png_write(const char *file, const uint8_t *pixels, int width, int height)
{
    (void)file;
    (void)pixels;
    (void)width;
    (void)height;
    return picture_refusal;
}
