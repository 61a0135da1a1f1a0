/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets up the blocks, exchanges their faces and computes.
 *
 * Faces are put straight into the halo of the neighbour's array. Each iteration reads one array and writes the other,
 * so one barrier an iteration is enough: a neighbour that is ahead writes the halo of the array which this PE is just
 * writing, and its kernel does not touch the halo.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "stencil3d.h"
#include "support/device.h"
#include "support/util.h"

static const _Alignas(64) unsigned char fatbin[] = {
#include "stencil3d.fatbin.inc"
};
static const char opencl[] = {
#include "stencil3d.cl.inc"
    0};
static const struct kernel_code code = {sizeof fatbin > 1 ? fatbin : NULL, opencl};

enum { GROUP = 128 };
static const float RATE = 0.125f;

struct run {
    const struct options *opt;
    struct device *dev;
    struct kernel *kernel;
    struct block block;
    struct buffer *buf[2];
    char *mapped[2]; /* their symmetric addresses */
    float *out, *in; /* by hand: faces in the symmetric heap */
    int cur;
    shmemx_box_t face[AXES]; /* across an axis */
};

/* The cell at which a face begins. */
struct corner {
    int at[AXES];
};

static int pe_at(const struct options *opt, const int place[AXES])
{
    return (place[Z] * opt->grid[Y] + place[Y]) * opt->grid[X] + place[X];
}

/* The PE beside this one; -1: there is none. side: 0 towards smaller coordinates, 1 towards larger ones. */
static int neighbor(const struct run *run, int axis, int side)
{
    int place[AXES] = {run->block.place[X], run->block.place[Y], run->block.place[Z]};
    place[axis] += side ? 1 : -1;
    return place[axis] < 0 || place[axis] >= run->opt->grid[axis] ? -1 : pe_at(run->opt, place);
}

/* ---- Geometry ---------------------------------------------------------------------------------------------------- */

static int longest_axis(const struct options *opt)
{
    int longest = Z;
    for (int axis = Y; axis >= X; axis--)
        if (opt->size[axis] / opt->grid[axis] > opt->size[longest] / opt->grid[longest])
            longest = axis;
    return longest;
}

/* Each prime factor of the number of PEs divides the axis along which blocks are the longest: faces become small. */
static void choose_grid(struct options *opt, int pes)
{
    opt->grid[X] = opt->grid[Y] = opt->grid[Z] = 1;
    for (int factor = 2; pes > 1;)
        if (pes % factor == 0) {
            opt->grid[longest_axis(opt)] *= factor;
            pes /= factor;
        } else {
            factor++;
        }
}

static void set_block(struct run *run)
{
    const struct options *opt = run->opt;
    int me = shmem_my_pe();
    for (int axis = X; axis < AXES; axis++) {
        run->block.n[axis] = opt->size[axis] / opt->grid[axis];
        run->block.place[axis] = me % opt->grid[axis];
        run->block.first[axis] = run->block.place[axis] * run->block.n[axis];
        me /= opt->grid[axis];
    }
}

static void check_grid(struct options *opt)
{
    if (!opt->grid[X])
        choose_grid(opt, shmem_n_pes());
    if ((long)opt->grid[X] * opt->grid[Y] * opt->grid[Z] != shmem_n_pes())
        quit_all("a grid of %d x %d x %d is not that of %d PEs", opt->grid[X], opt->grid[Y], opt->grid[Z],
                 shmem_n_pes());
    for (int axis = X; axis < AXES; axis++)
        if (opt->size[axis] % opt->grid[axis])
            quit_all("%d PEs cannot share %d cells: --grid and --size must fit", opt->grid[axis], opt->size[axis]);
}

/* A face is a box of one cell across its axis. */
static void set_faces(struct run *run)
{
    const size_t row = (size_t)(run->block.n[X] + 2) * sizeof(float), layer = row * (size_t)(run->block.n[Y] + 2);
    for (int axis = X; axis < AXES; axis++)
        run->face[axis] = (shmemx_box_t){
            .width = (axis == X ? 1 : (size_t)run->block.n[X]) * sizeof(float),
            .rows = axis == Y ? 1 : (size_t)run->block.n[Y],
            .layers = axis == Z ? 1 : (size_t)run->block.n[Z],
            .dest_row_pitch = row,
            .dest_layer_pitch = layer,
            .source_row_pitch = row,
            .source_layer_pitch = layer,
        };
}

/* Bytes from the start of the array to a face: the outermost cells (edge) or the halo beyond them. */
static size_t face_at(const struct run *run, int axis, int side, bool is_halo)
{
    struct corner corner = {{0, 0, 0}};
    corner.at[axis] = side ? run->block.n[axis] - !is_halo : -is_halo;
    return cell_at(run->block.n, corner.at[X], corner.at[Y], corner.at[Z]) * sizeof(float);
}

static size_t face_bytes(const struct run *run, int axis)
{
    return run->face[axis].width * run->face[axis].rows * run->face[axis].layers;
}

/* ---- Exchange ---------------------------------------------------------------------------------------------------- */

static void put_box(const struct run *run, int axis, int side, int pe)
{
    char *array = run->mapped[run->cur];
    shmemx_put_box_nbi(array + face_at(run, axis, !side, true), array + face_at(run, axis, side, false),
                       &run->face[axis], pe);
}

static void put_layers(const struct run *run, int axis, int side, int pe)
{
    const shmemx_box_t *face = &run->face[axis];
    const ptrdiff_t pitch = (ptrdiff_t)(face->dest_row_pitch / sizeof(float));
    char *dest = run->mapped[run->cur] + face_at(run, axis, !side, true);
    const char *source = run->mapped[run->cur] + face_at(run, axis, side, false);
    for (size_t layer = 0; layer < face->layers; layer++)
        shmem_ibput32(dest + layer * face->dest_layer_pitch, source + layer * face->source_layer_pitch, pitch, pitch,
                      face->width / sizeof(float), face->rows, pe);
}

/* Where the face in a direction lies among those in host memory. */
static float *packed(const struct run *run, float *faces, int axis, int side)
{
    size_t cells = 0;
    for (int a = X; a < axis; a++)
        cells += 2 * face_bytes(run, a) / sizeof(float);
    return faces + cells + (size_t)side * face_bytes(run, axis) / sizeof(float);
}

/* A row at a time between the device and host memory: what a program without strided copies does. */
static void copy_face(const struct run *run, float *face, int axis, int side, bool is_halo)
{
    const shmemx_box_t *box = &run->face[axis];
    const struct device_ops *ops = run->dev->ops;
    const size_t at = face_at(run, axis, side, is_halo);
    for (size_t layer = 0; layer < box->layers; layer++)
        for (size_t row = 0; row < box->rows; row++, face += box->width / sizeof(float)) {
            const size_t offset = at + layer * box->source_layer_pitch + row * box->source_row_pitch;
            if (is_halo)
                ops->write(run->dev, run->buf[run->cur], offset, face, box->width);
            else
                ops->read(run->dev, face, run->buf[run->cur], offset, box->width);
        }
}

static void put_by_hand(const struct run *run, int axis, int side, int pe)
{
    float *face = packed(run, run->out, axis, side);
    copy_face(run, face, axis, side, false);
    shmem_putmem(packed(run, run->in, axis, !side), face, face_bytes(run, axis), pe);
}

static void take_by_hand(const struct run *run, int axis, int side, int pe)
{
    (void)pe;
    copy_face(run, packed(run, run->in, axis, side), axis, side, true);
}

static void for_neighbors(const struct run *run, void (*function)(const struct run *run, int axis, int side, int pe))
{
    for (int axis = X; axis < AXES; axis++)
        for (int side = 0; side < 2; side++)
            if (neighbor(run, axis, side) >= 0)
                function(run, axis, side, neighbor(run, axis, side));
}

static void exchange(const struct run *run)
{
    static void (*const puts[])(const struct run *, int, int,
                                int) = {[AS_BOXES] = put_box, [BY_LAYERS] = put_layers, [BY_HAND] = put_by_hand};
    for_neighbors(run, puts[run->opt->manner]);
    shmem_barrier_all();
    if (run->opt->manner != BY_HAND)
        return;
    for_neighbors(run, take_by_hand);
    shmem_barrier_all(); /* what came in may be overwritten now */
}

/* ---- Run --------------------------------------------------------------------------------------------------------- */

static void compute(struct run *run)
{
    const struct gpu_ops *gpu = &run->dev->ops->gpu;
    const int *n = run->block.n;
    const struct launch launch = {.global = {(size_t)n[X] * (size_t)n[Y] * (size_t)n[Z], 1}, .group = {GROUP, 0}};
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(run->buf[run->cur]),
        BUFFER_ARGUMENT(run->buf[!run->cur]),
        VALUE_ARGUMENT(n[X]),
        VALUE_ARGUMENT(n[Y]),
        VALUE_ARGUMENT(n[Z]),
        VALUE_ARGUMENT(RATE),
    };
    gpu->launch(gpu->first_queue(run->dev), run->kernel, &launch, arguments, sizeof arguments / sizeof arguments[0]);
    gpu->finish(gpu->first_queue(run->dev));
    run->cur = !run->cur;
}

static void set_initial(struct run *run)
{
    const struct block *block = &run->block;
    const size_t cells = block_cells(block->n);
    float *array = host_alloc(cells * sizeof(float));
    for (size_t i = 0; i < cells; i++)
        array[i] = 0;
    run->dev->ops->write(run->dev, run->buf[1], 0, array, cells * sizeof(float));
    for (int z = 0; z < block->n[Z]; z++)
        for (int y = 0; y < block->n[Y]; y++)
            for (int x = 0; x < block->n[X]; x++)
                array[cell_at(block->n, x, y, z)] =
                    initial_cell(run->opt, block->first[X] + x, block->first[Y] + y, block->first[Z] + z);
    run->dev->ops->write(run->dev, run->buf[0], 0, array, cells * sizeof(float));
    free(array);
}

static void set_up(struct run *run)
{
    const size_t bytes = block_cells(run->block.n) * sizeof(float);
    const struct device_ops *ops = device_select(run->opt->device, &code);
    const int index = shmemx_my_device(ops->memtype);
    size_t faces = 0;
    run->dev = device_open(ops, index < 0 ? 0 : index, &code);
    run->kernel = ops->gpu.kernel(run->dev, "diffuse", NULL);
    for (int b = 0; b < 2; b++) {
        run->buf[b] = ops->alloc(run->dev, bytes);
        run->mapped[b] = shmmap(run->buf[b], bytes, ops->memtype);
        if (!run->mapped[b])
            quit_all("shmmap of %zu bytes: %s", bytes, shmemx_strerror());
    }
    for (int axis = X; axis < AXES; axis++)
        faces += 2 * face_bytes(run, axis);
    run->out = symmetric_alloc(faces);
    run->in = symmetric_alloc(faces);
    set_initial(run);
    shmem_barrier_all();
}

static void close_down(struct run *run)
{
    shmem_free(run->in);
    shmem_free(run->out);
    for (int b = 1; b >= 0; b--) {
        shmumap(run->mapped[b]);
        run->dev->ops->free(run->dev, run->buf[b]);
    }
    run->dev->ops->close(run->dev);
}

static bool is_right(const struct run *run)
{
    const size_t bytes = block_cells(run->block.n) * sizeof(float);
    float *array = host_alloc(bytes);
    run->dev->ops->read(run->dev, array, run->buf[run->cur], 0, bytes);
    const long wrong = count_wrong(run->opt, &run->block, array, RATE);
    free(array);
    if (wrong)
        fprintf(stderr, "PE %d: %ld cells differ from those of a serial run\n", shmem_my_pe(), wrong);
    return job_max((double)wrong) == 0;
}

static bool run_all(struct options *opt)
{
    struct run run = {.opt = opt};
    check_grid(opt);
    set_block(&run);
    set_faces(&run);
    set_up(&run);
    const double start = now();
    for (long i = 0; i < opt->iterations; i++) {
        exchange(&run);
        compute(&run);
    }
    const double seconds = job_max(now() - start);
    const bool right = !opt->verify || is_right(&run);
    if (shmem_my_pe() == 0)
        printf("%d x %d x %d cells on %d x %d x %d PEs, %s: %.1f us an iteration%s\n", opt->size[X], opt->size[Y],
               opt->size[Z], opt->grid[X], opt->grid[Y], opt->grid[Z], run.dev->ops->name,
               1e6 * seconds / (double)opt->iterations,
               !opt->verify ? ""
               : right      ? ", verified bit for bit"
                            : ", WRONG");
    close_down(&run);
    return right;
}

int main(int argc, char **argv)
{
    struct options opt;
    bool right = true;
    options_parse(argc, argv, &opt);
    program_name = "stencil3d";
    shmem_init();
    if (opt.error[0])
        quit_all("%s; --help lists the options", opt.error);
    if (!opt.help && !opt.version)
        right = run_all(&opt);
    else if (shmem_my_pe() == 0)
        opt.help ? options_help() : print_version();
    shmem_finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
