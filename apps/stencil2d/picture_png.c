/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes pictures as PNG files by libpng.
 */
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "picture.h"

const char *const picture_refusal = NULL;

const char *png_write(const char *file, const uint8_t *pixels, int width, int height)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = (png_uint_32)width,
        .height = (png_uint_32)height,
        .format = PNG_FORMAT_RGB,
    };
    static char problem[sizeof(image.message)];
    FILE *out = fopen(file, "wb");

    if (!out)
        return strerror(errno);
    if (!png_image_write_to_stdio(&image, out, 0, pixels, 0, NULL))
        snprintf(problem, sizeof(problem), "%s", image.message);
    if (fclose(out) != 0 && !problem[0])
        snprintf(problem, sizeof(problem), "%s", strerror(errno));
    if (!problem[0])
        return NULL;
    remove(file);
    return problem;
}
