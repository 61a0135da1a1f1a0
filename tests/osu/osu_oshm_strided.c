/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a strided put, as an exchange of halos makes them: a block of some columns of a matrix in row-major order,
 * from PE 0's matrix to the same place of PE 1's, and shmem_quiet. One column is shmem_iput, several are shmem_ibput.
 *
 * --raw: the 2-D copy to the peer's memory. --naive: packed by a 2-D copy to host memory, a put of consecutive bytes, a
 * barrier, unpacked by a 2-D copy.
 */
#include "latency.h"
#include "osu_report.h"
#include "shmem_flavour.h"

#include <stdio.h>

enum { ELEMENT, COLUMNS, WIDTH };

static const struct osu_number_option numbers[] = {
    [ELEMENT] = {"element", "bytes of an element: 1, 2, 4, 8 or 16", 1, 16, 8},
    [COLUMNS] = {"columns", "elements of a row of the matrix", 1, 1 << 24, 512},
    [WIDTH] = {"width", "columns that travel: 1 by iput, more by ibput", 1, 1 << 24, 1},
    {NULL, NULL, 0, 0, 0},
};

typedef void (*iput_func_t)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t count, int pe);
typedef void (*ibput_func_t)(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t count,
                             int pe);

static const struct routine {
    size_t element; /* bytes */
    iput_func_t iput;
    ibput_func_t ibput; /* NULL: this library has none */
} routines[] = {
    {1, shmem_iput8, OSU_IBPUT(8)},   {2, shmem_iput16, OSU_IBPUT(16)},    {4, shmem_iput32, OSU_IBPUT(32)},
    {8, shmem_iput64, OSU_IBPUT(64)}, {16, shmem_iput128, OSU_IBPUT(128)},
};

enum { N_ROUTINES = sizeof routines / sizeof routines[0] };

static const struct routine *routine;
static size_t columns, width;         /* elements */
static size_t row_bytes, block_bytes; /* of a row of the matrix, and of its part that is put */

static void repeat(void *dest, const void *source, size_t rows, long count)
{
    ptrdiff_t stride = (ptrdiff_t)columns;
    for (long i = 0; i < count; i++) {
        if (width == 1)
            routine->iput(dest, source, stride, stride, rows, 1);
        else
            routine->ibput(dest, source, stride, stride, width, rows, 1);
        shmem_quiet();
    }
}

/* ---- Layout ------------------------------------------------------------------------------------------------------ */

static size_t bytes(size_t rows)
{
    return rows * block_bytes;
}

static size_t span(size_t rows)
{
    return rows ? (rows - 1) * row_bytes + block_bytes : 0;
}

static void fill(struct osu_memory *memory, size_t rows, unsigned seed)
{
    osu_memory_fill(memory, span(rows), seed);
}

static void clear(struct osu_memory *memory, size_t rows, unsigned seed)
{
    osu_memory_clear(memory, span(rows), seed);
}

static bool is_in_block(size_t position)
{
    return position % row_bytes < block_bytes;
}

static bool check(struct osu_memory *memory, size_t rows, unsigned seed)
{
    size_t end = span(rows);
    return osu_memory_holds(memory, 0, end, seed, is_in_block) &&
           osu_memory_holds(memory, end, end + OSU_GUARD, seed, NULL);
}

static bool copy(struct device *device, const struct device_copy *ends, size_t rows, long count)
{
    struct device_block block = {*ends, block_bytes, rows, row_bytes, row_bytes};
    void (*copy_2d)(struct device *, const struct device_block *) = device->ops->plain.copy_2d;
    for (long i = 0; i < count; i++)
        copy_2d(device, &block);
    return true;
}

static void copy_out(struct osu_memory *memory, void *host, size_t rows)
{
    bool on_device = memory->device->ops->memtype != 0;
    plain_copy_2d(
        memory->device,
        &(struct device_block){{host, memory->object, false, on_device}, block_bytes, rows, block_bytes, row_bytes});
}

static void copy_in(struct osu_memory *memory, const void *host, size_t rows)
{
    bool on_device = memory->device->ops->memtype != 0;
    plain_copy_2d(
        memory->device,
        &(struct device_block){{memory->object, host, on_device, false}, block_bytes, rows, row_bytes, block_bytes});
}

static const struct latency_layout layout = {
    .bytes = bytes,
    .span = span,
    .fill = fill,
    .clear = clear,
    .check = check,
    .copy = copy,
    .copy_out = copy_out,
    .copy_in = copy_in,
};

/* ---- Program ----------------------------------------------------------------------------------------------------- */

static bool set_up(const struct osu_session *session)
{
    const size_t *number = session->options.number;
    const char *wrong = NULL;
    for (int i = 0; i < N_ROUTINES; i++)
        routine = routines[i].element == number[ELEMENT] ? &routines[i] : routine;
    columns = number[COLUMNS];
    width = number[WIDTH];
    row_bytes = columns * number[ELEMENT];
    block_bytes = width * number[ELEMENT];
    if (!routine)
        wrong = "--element: give 1, 2, 4, 8 or 16";
    else if (width > columns)
        wrong = "--width: a block cannot be wider than the matrix; see --columns";
    else if (width > 1 && !routine->ibput)
        wrong = "this OpenSHMEM library has no shmem_ibput: leave --width out";
    if (wrong && session->me == 0)
        fprintf(stderr, "%s: %s\n", session->program->name, wrong);
    return !wrong;
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_strided",
            .title = "OSU OpenSHMEM Strided Put Test",
            .summary = "Latency of columns of a matrix from PE 0 to PE 1: shmem_iput or shmem_ibput, and shmem_quiet.",
            .columns = OSU_SHOW_LATENCY | OSU_SHOW_BANDWIDTH,
            .full_columns = OSU_SHOW_TAILS | OSU_SHOW_ITERATIONS,
            .raw_columns = OSU_SHOW_RAW,
            .naive_columns = OSU_SHOW_NAIVE,
            .two_pes = true,
            .max_size = 1024,
            .large_from = 513,
            .iterations = 1000,
            .iterations_large = 100,
            .warmup = 100,
            .warmup_large = 10,
            .counted = "# Rows",
            .numbers = numbers,
        },
    .source_pe = OSU_PUT_SOURCE,
    .repeat = repeat,
    .layout = &layout,
    .set_up = set_up,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
