/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes, and who may use which bytes in an epoch: readers share bytes, a writer has them alone, and atomic operations of
 * one kind share a word. Rows of one shape may lie in the gaps of another.
 */
#include "tester.h"

enum { CLAIMS_MAX = 16384, TRIES = 12 };

struct claimed_bytes {
    int object, pe, mode;
    size_t offset, extent;
    struct byte_shape shape;
};

static struct claimed_bytes claims[CLAIMS_MAX];
static int n_claims;

size_t shape_bytes(const struct byte_shape *shape)
{
    return shape->width * shape->rows * shape->layers;
}

size_t shape_extent(const struct byte_shape *shape)
{
    if (!shape_bytes(shape))
        return 0;
    return (shape->layers - 1) * shape->layer_pitch + (shape->rows - 1) * shape->row_pitch + shape->width;
}

void shape_copy(unsigned char *dest, const struct byte_shape *to, const unsigned char *source,
                const struct byte_shape *from)
{
    for (size_t layer = 0; layer < to->layers; layer++)
        for (size_t row = 0; row < to->rows; row++)
            memcpy(dest + layer * to->layer_pitch + row * to->row_pitch,
                   source + layer * from->layer_pitch + row * from->row_pitch, to->width);
}

void claims_clear(void)
{
    n_claims = 0;
}

int claims_mark(void)
{
    return n_claims;
}

void claims_return(int mark)
{
    n_claims = mark;
}

/* Rows of the one lie between rows of the other: both repeat at the same distance, and a row fits beside the other's. */
static bool interleave(const struct claimed_bytes *a, const struct claimed_bytes *b)
{
    const size_t pitch = a->shape.rows > 1 ? a->shape.row_pitch : b->shape.row_pitch;
    if (a->shape.layers > 1 || b->shape.layers > 1 || (a->shape.rows == 1 && b->shape.rows == 1) ||
        (b->shape.rows > 1 && b->shape.row_pitch != pitch))
        return false;
    const size_t distance = (b->offset + pitch * (a->offset / pitch + 1) - a->offset) % pitch;
    return distance >= a->shape.width && distance + b->shape.width <= pitch;
}

static bool conflict(const struct claimed_bytes *a, const struct claimed_bytes *b)
{
    if (a->object != b->object || a->pe != b->pe || a->offset + a->extent <= b->offset ||
        b->offset + b->extent <= a->offset)
        return false;
    if (a->mode == CLAIM_READ && b->mode == CLAIM_READ)
        return false;
    if (a->mode >= CLAIM_ADD_64 && a->mode == b->mode && a->offset == b->offset)
        return false;
    return !interleave(a, b);
}

bool claim(int object, int pe, size_t offset, const struct byte_shape *shape, int mode)
{
    struct claimed_bytes new = {object, pe, mode, offset, shape_extent(shape), *shape};
    if (!new.extent)
        return true;
    for (int i = 0; i < n_claims; i++)
        if (conflict(&claims[i], &new))
            return false;
    if (n_claims == CLAIMS_MAX)
        return false;
    claims[n_claims++] = new;
    return true;
}

bool claim_anywhere(struct random_numbers *numbers, int object, const int *pes, int n, const struct byte_shape *shape,
                    size_t align, int mode, size_t *offset)
{
    const size_t extent = shape_extent(shape), size = program.objects[object].size;
    for (int try = 0; extent <= size && try < TRIES; try++) {
        const int mark = n_claims;
        int i = 0;
        const size_t room = size - extent;
        *offset = (one_in(numbers, 4) ? room : one_in(numbers, 8) ? 0 : below(numbers, room + 1)) / align * align;
        while (i < n && claim(object, pes[i], *offset, shape, mode))
            i++;
        if (i == n)
            return true;
        n_claims = mark;
    }
    return false;
}

size_t size_draw(struct random_numbers *numbers, size_t most)
{
    static const size_t limits[] = {0,    1,    8,    16,    64,    192,   256,    512,    1024,
                                    2048, 4096, 8192, 16384, 32768, 65536, 131072, 1 << 20};
    static const int beside[] = {0, 0, 0, -1, 1, -8, 8, -4, 4, 7};
    size_t nbytes;
    if (one_in(numbers, 3)) {
        nbytes = below(numbers, ((size_t)1 << between(numbers, 2, 18)) + 1);
    } else {
        nbytes = limits[below(numbers, sizeof limits / sizeof limits[0])];
        const int distance = beside[below(numbers, sizeof beside / sizeof beside[0])];
        nbytes = distance < 0 && nbytes < (size_t)-distance ? 0 : nbytes + (size_t)distance;
    }
    return nbytes > most ? below(numbers, most + 1) : nbytes;
}
