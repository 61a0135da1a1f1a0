/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a team's meetings in streams are done: from its slot's very first one on, whose predecessor's number is 0, the team
 * waits until the GPU has counted it; not if the memory of the count is gone. The real file, with an area in host memory
 * that a kind of memory reads or refuses to read.
 */
#include "shmmap/symmetric.h"

static const struct shmemi_region *area_here(void);
static struct shmemi_view *view_here(const struct shmemi_region *region, int pe);
#define shmemi_map_meeting_areas area_here
#define shmemi_region_near_view view_here
#include "shmem/coll/stream/team_meetings.c"
#undef shmemi_map_meeting_areas
#undef shmemi_region_near_view

#include "unit.h"

#include <string.h>

static struct shmemi_meeting_head head;
static bool is_gone;

static int copy_here(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    memcpy((void *)dest->address, (const void *)source->address, shape->width);
    return is_gone ? -EIO : 0;
}

static const struct shmemi_memory memory = {.name = "here", .copy = copy_here};
static struct shmemi_region region;
static struct shmemi_view view;

static const struct shmemi_region *area_here(void)
{
    return &region;
}

static struct shmemi_view *view_here(const struct shmemi_region *of, int pe)
{
    CHECK(of == &region && pe == shmemi_job.pe);
    return &view;
}

static bool is_done(const struct shmemi_team *team, struct shmemi_team_meetings *meetings, uint64_t n, uint64_t done)
{
    meetings->n = n;
    head.done = done;
    return shmemi_team_meetings_are_done(team, meetings);
}

int main(void)
{
    const struct shmemi_team team = {.slot = 0};
    struct shmemi_team_meetings meetings = {.n = 0};
    view.place =
        (struct shmemi_place){.memory = &memory, .address = (uintptr_t)&head - shmemi_meeting_offset(team.slot)};
    shmemi_team_meetings_open(&team, &meetings);
    CHECK(is_done(&team, &meetings, 0, 0));
    CHECK(!is_done(&team, &meetings, 1, 0)); /* the first one of the slot */
    CHECK(is_done(&team, &meetings, 1, 1));
    CHECK(!is_done(&team, &meetings, 3, 2) && is_done(&team, &meetings, 3, 3));
    is_gone = true;
    CHECK(is_done(&team, &meetings, 4, 3));
    return 0;
}
