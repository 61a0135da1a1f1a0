/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchanges of a team by the GPUs alone: where they take place, their begin, and their end.
 */
#include "shmem/coll/stream/on_stream.h"

#include "shmmap/symmetric.h"

struct shmemi_place shmemi_team_area(const struct shmemi_team *team, int world_pe)
{
    struct shmemi_place place = shmemi_region_near_view(shmemi_map_meeting_areas(), world_pe)->place;
    place.address += shmemi_meeting_offset(team->slot);
    return place;
}

static uint64_t last_of_slot[SHMEMI_TEAMS_MAX]; /* number of the last meeting of earlier teams */

/* Read a word of the head of this PE's area, which is 0 before the first meeting there. An error means that the program
 * has destroyed the context of that memory. */
static int read_word(const struct shmemi_team *team, size_t offset, uint64_t *word_p)
{
    struct shmemi_place area = shmemi_team_area(team, shmemi_job.pe), here = shmemi_place_host(word_p);
    const struct shmemi_shape shape = shmemi_shape_linear(sizeof *word_p);
    area.address += offset;
    return area.memory->copy(&here, &area, &shape);
}

void shmemi_team_meetings_open(const struct shmemi_team *team, struct shmemi_team_meetings *meetings)
{
    pthread_mutex_init(&meetings->lock, NULL);
    meetings->first = meetings->n = last_of_slot[team->slot];
}

bool shmemi_team_meetings_are_done(const struct shmemi_team *team, struct shmemi_team_meetings *meetings)
{
    pthread_mutex_lock(&meetings->lock);
    const uint64_t n = meetings->n;
    uint64_t done;
    pthread_mutex_unlock(&meetings->lock);
    return n == meetings->first || read_word(team, offsetof(struct shmemi_meeting_head, done), &done) || done >= n;
}

uint64_t shmemi_team_meetings_close(const struct shmemi_team *team, struct shmemi_team_meetings *meetings)
{
    pthread_mutex_destroy(&meetings->lock);
    last_of_slot[team->slot] = meetings->n;
    if (!meetings->has_met)
        return 0;
    uint64_t exchanges;
    shmemi_team_area(team, shmemi_job.pe).memory->streams->commands->end_meetings(&meetings->extras);
    return read_word(team, offsetof(struct shmemi_meeting_head, exchanges), &exchanges) ? 0 : exchanges;
}
