/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collect in a stream whose source no kernel reaches: static data, heap that could not be page-locked, memory of another
 * kind. The other members cannot know that, so they meet by their GPUs all the same; this one's GPU leaves its block to
 * the agent, which sends it between the two exchanges of the meeting, as the blocking collect does.
 */
#include "shmem/coll/stream/on_stream.h"

#include "transport/stream/agent.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* What the members contribute, as the first exchange has left it in this PE's area. */
static int read_sizes(const struct shmemi_place *area, uint64_t nbytes[SHMEMI_MEETING_MEMBERS])
{
    const struct shmemi_shape shape = shmemi_shape_linear(SHMEMI_MEETING_MEMBERS * sizeof nbytes[0]);
    struct shmemi_place there = *area, here = shmemi_place_host(nbytes);
    there.address += offsetof(struct shmemi_meeting_head, nbytes);
    return there.memory->copy(&here, &there, &shape);
}

static int send_block(struct shmemi_stream_work *work)
{
    const struct shmemi_collect_block *block = work->kept;
    struct shmemi_context context = SHMEMI_TO_ALL;
    uint64_t nbytes[SHMEMI_MEETING_MEMBERS], start = 0, all = 0;
    const int n = block->team->n_pes, me = block->team->my_pe;
    int rc = read_sizes(&block->area, nbytes);
    for (int i = 0; i < n && !rc; i++) {
        start += i < me ? nbytes[i] : 0;
        all += nbytes[i];
    }
    if (all > block->room)
        shmemi_fatal("%s: the members have %llu bytes, but from dest to the end of its object there are %zu",
                     block->routine, (unsigned long long)all, block->room);
    for (int i = 0; i < n && !rc; i++)
        rc = shmemi_send(&context, &block->dest, start, &block->source, 0, nbytes[me],
                         shmemi_team_world_pe(block->team, (me + i) % n));
    return rc ? rc : shmemi_complete(&context);
}

int shmemi_collect_send(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting)
{
    struct shmemi_collect_block *block = malloc(sizeof *block);
    if (!block) {
        shmemi_error("out of memory for a collect in a stream");
        return -ENOMEM;
    }
    *block = *meeting->block;
    block->area = meeting->area[meeting->me];
    block->room = meeting->room;
    return shmemi_stream_agent_post(stream, &(struct shmemi_stream_work){.advance = send_block, .kept = block});
}
