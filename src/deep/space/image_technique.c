/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IMAGE: the copies of a set lie on the device as in an image, so adjacent ones are transferred together: packed with
 * their pointers set on the way to the device, and unpacked on the way back.
 */
#include "deep/image.h"
#include "deep/pipeline.h"
#include "deep/space/technique.h"

/* Bytes of a set's image that are transferred together. */
struct image_range {
    struct shmemi_copy_set *set;
    size_t begin, end; /* offsets in the image */
};

struct image_bytes {
    struct shmemi_image image;
    size_t begin;
};

static void pack(const void *argument, size_t at, char *bytes, size_t nbytes)
{
    const struct image_bytes *data = argument;
    shmemi_image_fill(&data->image, data->begin + at, bytes, nbytes);
}

static void unpack(const void *argument, size_t at, const char *bytes, size_t nbytes)
{
    const struct image_bytes *data = argument;
    shmemi_image_scatter(data->image.graph, data->begin + at, bytes, nbytes);
}

static int move_run(struct shmemi_space *space, const struct image_range *run, bool is_send)
{
    struct image_bytes data = {.image = {.graph = &run->set->graph}, .begin = run->begin};
    struct shmemi_far_side far = shmemi_far_place(shmemi_space_place(&space->memory, run->set->base + run->begin));
    struct shmemi_direct_ranges direct;
    shmemi_direct_ranges_open(&direct, &run->set->graph, run->begin, run->end, &far);
    struct shmemi_pipeline_data all = {.size = run->end - run->begin,
                                       .pack = is_send ? pack : NULL,
                                       .unpack = is_send ? NULL : unpack,
                                       .argument = &data,
                                       .direct = direct.range,
                                       .n_direct = direct.n};
    int rc = shmemi_pipeline_copy(&far, &all);
    shmemi_direct_ranges_close(&direct);
    return rc;
}

static struct image_range run_of(const struct shmemi_part *part)
{
    size_t begin = shmemi_copy_extent(part->copy)->at + part->at;
    return (struct image_range){part->copy->set, begin, begin + part->size};
}

/* Whether only padding lies between two parts. */
static bool adjoins(const struct shmemi_part *left, const struct shmemi_part *right)
{
    if (left->copy == right->copy)
        return left->at + left->size == right->at;
    return right->copy == left->copy + 1 && right->copy->set == left->copy->set &&
           left->at + left->size == left->copy->size && !right->at;
}

static int move_runs(struct shmemi_space *space, const struct shmemi_part *parts, size_t n, bool is_send)
{
    int rc = 0;
    for (size_t i = 0, next; i < n && !rc; i = next) {
        struct image_range run = run_of(&parts[i]);
        for (next = i + 1; next < n && adjoins(&parts[next - 1], &parts[next]); next++)
            run.end = run_of(&parts[next]).end;
        rc = move_run(space, &run, is_send);
    }
    return rc;
}

static int send(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return move_runs(space, parts, n, true);
}

static int receive(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    return move_runs(space, parts, n, false);
}

/* All copies of the set are new, so the bytes between two pointers may be overwritten. */
static int send_pointers(struct shmemi_space *space, const struct shmemi_part *parts, size_t n)
{
    struct shmemi_copy_set *set = n ? parts[0].copy->set : NULL;
    size_t n_links = n ? shmemi_copy_end_link(parts[n - 1].copy) : 0;
    const struct shmemi_graph_link *links = n ? set->graph.links : NULL;
    int rc = 0;
    for (size_t i = 0, next; i < n_links && !rc; i = next) {
        for (next = i + 1; next < n_links && links[next].at - links[next - 1].at <= SHMEMI_DEEP_GAP; next++)
            ;
        rc = move_run(space, &(struct image_range){set, links[i].at, links[next - 1].at + sizeof(void *)}, true);
    }
    return rc;
}

const struct shmemi_technique shmemi_technique_image = {
    .name = "image",
    .is_packed = true,
    .send = send,
    .send_pointers = send_pointers,
    .receive = receive,
};
