/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The route to a GPU that several PEs use in turns: when a view takes it, and which transfers it leaves to the owner. The
 * memory is made up.
 */
#include "bootstrap/job.h"
#include "base/settings.h"
#include "transport/direct/direct.h"
#include "transport/drivers/table.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int n_open, n_copies;

static int import_handle(const struct shmemi_memory_handle *handle, const struct shmemi_descriptors *descriptors,
                         const struct shmemi_place *user, struct shmemi_place *place_p, char *reason,
                         size_t reason_size)
{
    (void)handle, (void)descriptors, (void)user, (void)place_p, (void)reason, (void)reason_size;
    n_open++;
    return 0;
}

static void release_handle(const struct shmemi_memory_handle *handle, const struct shmemi_place *place)
{
    (void)handle, (void)place;
    n_open--;
}

static int copy(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    (void)dest, (void)source, (void)shape;
    n_copies++;
    return 0;
}

static const struct shmemi_sharing sharing = {.import_handle = import_handle, .release_handle = release_handle};
static const struct shmemi_memory made_up = {
    .type = SHMEMI_MEMTYPE_CUDA, .name = "made-up", .copy = copy, .sharing = &sharing};

static struct shmemi_view view;

static const char *route(bool in_turns, bool is_same_device)
{
    const struct shmemi_share share = {
        .exported = true, .own = &(struct shmemi_place){.memory = &made_up}, .is_same_device = is_same_device};
    view = (struct shmemi_view){
        .place = {.memory = &made_up}, .pe = 1, .region = 2, .size = 8 << 20, .in_turns = in_turns};
    return shmemi_view_attach(&view, &share) ? NULL : view.driver->name;
}

static bool takes(const char *name, bool in_turns, bool is_same_device)
{
    const char *taken = route(in_turns, is_same_device);
    const bool is_it = taken && !strcmp(taken, name);
    shmemi_view_detach(&view);
    return is_it && !n_open;
}

static void check_routes(void)
{
    CHECK(takes("shared", true, true));
    CHECK(takes("cuda-ipc", false, true)); /* MPS */
    CHECK(takes("cuda-ipc", true, false)); /* a PE on another GPU */
    CHECK(takes("cuda-ipc", false, false));
    shmemi_settings.gpu_route = SHMEMI_ROUTE_IPC;
    CHECK(takes("cuda-ipc", true, true));
    shmemi_settings.gpu_route = SHMEMI_ROUTE_STAGED;
    CHECK(takes("staged", true, true));
    shmemi_settings.gpu_route = SHMEMI_ROUTE_AUTO;
}

static struct shmemi_transfer transfer_of(const struct shmemi_memory *mine, size_t width, size_t rows)
{
    static struct shmemi_context context;
    return (struct shmemi_transfer){
        .context = &context,
        .view = &view,
        .mine = {.memory = mine},
        .shape = {.width = width, .rows = rows, .dest_pitch = 2 * width, .source_pitch = 2 * width},
        .is_put = true,
        .is_blocking = true,
    };
}

static bool is_left_to_owner(const struct shmemi_memory *mine, size_t width, size_t rows)
{
    const struct shmemi_transfer transfer = transfer_of(mine, width, rows);
    return view.driver->is_left_to_owner(&transfer);
}

static void check_transfers(void)
{
    const struct shmemi_transfer rows = transfer_of(&made_up, 64, 8), bytes = transfer_of(&made_up, 4 << 20, 1);
    CHECK(!strcmp(route(true, true), "shared"));
    CHECK(is_left_to_owner(&made_up, 8, 1) && is_left_to_owner(&made_up, 2 << 20, 1));
    CHECK(!is_left_to_owner(&made_up, (2 << 20) + 1, 1) && !is_left_to_owner(&made_up, 8, 2));
    CHECK(!is_left_to_owner(&shmemi_memory_host, 8, 1));
    CHECK(!view.driver->transfer(&rows) && n_copies == 1);
    CHECK(!view.driver->transfer(&bytes) && n_copies == 2);
    shmemi_view_detach(&view);
    CHECK(!n_open);
}

int main(void)
{
    static int node_pes[] = {0, 1}, node_of[] = {0, 0};
    shmemi_job.n_pes = shmemi_job.node_n_pes = 2;
    shmemi_job.n_nodes = 1;
    shmemi_job.node_pes = node_pes;
    shmemi_job.node_of = node_of;
    CHECK(!shmemi_job_index_node());
    check_routes();
    check_transfers();
    return 0;
}
