/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over MPI, with stencil2d's command line, kernels, check and output. --variant is
 *   naive        halos are copied through host memory
 *   mapped       MPI gets pointers to GPU memory: it must be aware of CUDA
 *   overlapped   the same, and what does not depend on the halo is computed meanwhile
 */
#include <mpi.h>
#include <stdlib.h>

#include "peer.h"

/* ---- The job ----------------------------------------------------------------------------------------------------- */

int job_rank(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int job_size(void)
{
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

void job_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

double job_max(double number)
{
    double largest;

    MPI_Allreduce(&number, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

void job_abort(void)
{
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    _Exit(EXIT_FAILURE);
}

void job_leave(void)
{
    MPI_Finalize();
    exit(EXIT_FAILURE);
}

/* ---- Halo exchange ----------------------------------------------------------------------------------------------- */

struct requests {
    int n;
    MPI_Request request[2 * DIRECTIONS];
};

/* `messages`, in host or GPU memory, has the layout of the tile's messages. The tag of a message is the direction in which it goes. */
static void begin(const struct run *run, void *messages, struct requests *requests)
{
    const struct local_tile *t = &run->tiles[0];
    char *memory = messages;

    requests->n = 0;
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            MPI_Irecv(memory + piece_offset(run, area_in(run->exchanges), d), (int)piece_bytes(run, t, d), MPI_BYTE,
                      t->shape.neighbor[d].pe, opposite(d), MPI_COMM_WORLD, &requests->request[requests->n++]);
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            MPI_Isend(memory + piece_offset(run, area_out(run->exchanges), d), (int)piece_bytes(run, t, d), MPI_BYTE,
                      t->shape.neighbor[d].pe, d, MPI_COMM_WORLD, &requests->request[requests->n++]);
}

static void end(struct requests *requests)
{
    MPI_Waitall(requests->n, requests->request, MPI_STATUSES_IGNORE);
}

/* Through host memory. All pieces lie side by side, so that one copy takes them out, and one back. */

static void open_staging(struct run *run)
{
    run->staging = host_alloc(AREAS * run->grid.area * run->real->size);
}

static void close_staging(struct run *run)
{
    free(run->staging);
}

static void step_staged(struct run *run)
{
    const struct local_tile *t = &run->tiles[0];
    size_t bytes = run->grid.area * run->real->size;
    size_t in = (size_t)area_in(run->exchanges) * bytes;
    size_t out = (size_t)area_out(run->exchanges) * bytes;
    struct requests requests;

    run->ops->read(t->dev, run->staging + out, t->messages, out, bytes);
    begin(run, run->staging, &requests);
    end(&requests);
    run->ops->write(t->dev, t->messages, in, run->staging + in, bytes);
}

/* GPU memory by MPI. */

static void need_cuda(struct run *run)
{
    if (run->ops != &device_cuda_ops)
        quit_all("--variant: MPI can be aware of CUDA alone: use -d cuda or --variant naive");
}

static void nothing(struct run *run)
{
    (void)run;
}

static void step_aware(struct run *run)
{
    struct requests requests;

    begin(run, run->tiles[0].messages, &requests);
    end(&requests);
}

/* Each queue waits for the other's work of the iteration before, as in halo_overlapped.c. The frame, which needs the
 * halo, is computed when MPI has received it; the host waits for the frame before it sends. */
static void compute_beside(struct run *run, int n)
{
    const struct local_tile *t = &run->tiles[0];
    struct requests requests;

    run->ops->gpu.finish(t->urgent);
    begin(run, t->messages, &requests);
    for (int i = 0; i < n; i++) {
        run->ops->gpu.follow(t->urgent, t->queue);
        run->ops->gpu.follow(t->queue, t->urgent);
        compute_inside(run, t, t->queue, i, n);
        if (i == 0)
            end(&requests);
        compute_frame(run, t, t->urgent, i, n);
        run->cur = !run->cur;
    }
}

static const struct exchange exchange_staged = {
    .variant = "mpi-staged",
    .sync = "waitall",
    .open = open_staging,
    .step = step_staged,
    .close = close_staging,
};

static const struct exchange exchange_aware = {
    .variant = "mpi-cuda-aware",
    .sync = "waitall",
    .open = need_cuda,
    .step = step_aware,
    .close = nothing,
};

static const struct exchange exchange_aware_overlapped = {
    .variant = "mpi-cuda-aware-overlapped",
    .sync = "waitall",
    .overlaps = true,
    .in_queues = true,
    .open = need_cuda,
    .step = nothing,
    .compute = compute_beside,
    .close = nothing,
};

/* ------------------------------------------------------------------------------------------------------------------ */

static int rank_on_machine(void)
{
    MPI_Comm machine;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return rank;
}

int main(int argc, char **argv)
{
    static const struct exchange *const exchanges[VARIANTS] = {
        [NAIVE] = &exchange_staged,
        [MAPPED] = &exchange_aware,
        [OVERLAPPED] = &exchange_aware_overlapped,
    };
    struct peer peer = {.failed = false};

    program_name = "stencil2d_mpi";
    MPI_Init(&argc, &argv);
    peer_options(&peer, argc, argv);
    if (!peer.opt.help) {
        peer_open_device(&peer, rank_on_machine());
        peer_run(&peer, exchanges);
        peer_close_device(&peer);
    }
    MPI_Finalize();
    return peer.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
