/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in CUDA streams that the GPUs of the members carry out alone, by a kernel in each member's stream, in graphs
 * as well (gpu/meeting.h). All members must take the same way, so the choice depends only on what they have in common:
 * the team, the routine, the sizes, and what all PEs have agreed upon when the memory was mapped.
 *
 * A team's meetings on this PE take place one after the other, since they use the same area: one in another stream than
 * the one before waits for that. What is captured has no such number: the program sees to it that a graph
 * does not run beside the team's other collectives.
 */
#include "shmem/coll/stream/on_stream.h"

#include "base/tuning.h"
#include "shmmap/symmetric.h"
#include "transport/stream/agent.h"
#include "transport/stream/watched.h"

/* What is to be done, and its arguments as places. */
struct gpu_plan {
    const char *routine;
    const struct shmemi_team *team;
    const struct shmemi_collective_args *what;
    struct shmemi_symmetric dest, source;
    struct shmemi_meeting meeting;
    struct shmemi_place sources[SHMEMI_MEETING_MEMBERS], dests[SHMEMI_MEETING_MEMBERS];
};

static struct shmemi_place at_member(const struct gpu_plan *plan, const struct shmemi_symmetric *memory, int member,
                                     size_t at)
{
    const int world_pe = shmemi_team_world_pe(plan->team, member);
    struct shmemi_place place = shmemi_region_near_view(memory->region, world_pe)->place;
    place.address += memory->offset + at;
    return place;
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

static bool is_team_met(const struct shmemi_team *team)
{
    return team->leaders.n == 1 && team->n_pes > 1 && team->n_pes <= SHMEMI_MEETING_MEMBERS &&
           shmemi_map_meeting_areas();
}

/* Bits in which addresses of the members' arrays are not multiples of something: the same on all of them. */
static uintptr_t address_bits(const struct gpu_plan *plan)
{
    uintptr_t bits = 0;
    for (int i = 0; i < plan->team->n_pes; i++)
        bits |= at_member(plan, &plan->dest, i, 0).address | at_member(plan, &plan->source, i, 0).address;
    return bits;
}

/* Complex numbers need the alignment of their parts; those of more than 8 bytes without parts exist on CPUs only. */
static bool can_combine(const struct gpu_plan *plan)
{
    const struct shmemi_op *op = plan->what->op;
    const enum shmemi_kind kind = shmemi_kind_of(op);
    const bool is_complex = kind == SHMEMI_KIND_C32 || kind == SHMEMI_KIND_C64;
    return kind != SHMEMI_KIND_F80 && !(address_bits(plan) & (op->size / (is_complex ? 2 : 1) - 1));
}

static bool is_in_place(const struct gpu_plan *plan)
{
    return plan->dest.region == plan->source.region && plan->dest.offset == plan->source.offset;
}

static bool is_met_at(const struct shmemi_symmetric *memory)
{
    return memory->region && memory->region->is_met_at;
}

/* Find the arrays; -ENOTSUP if one of them is not GPU memory at which kernels meet. */
static int find_arrays(struct gpu_plan *plan, size_t dest_bytes, size_t source_bytes)
{
    if (!source_bytes)
        return -ENOTSUP;
    plan->dest = shmemi_symmetric_of(plan->routine, plan->what->dest, dest_bytes);
    if (!is_met_at(&plan->dest))
        return -ENOTSUP;
    plan->source = shmemi_symmetric_of(plan->routine, plan->what->source, source_bytes);
    return is_met_at(&plan->source) ? 0 : -ENOTSUP;
}

/* A block for each member. */
static size_t all_blocks(const struct gpu_plan *plan)
{
    return shmemi_bytes_of(plan->meeting.nbytes, (size_t)plan->team->n_pes);
}

/* ---- The plans --------------------------------------------------------------------------------------------------- */

static void add_copy(struct gpu_plan *plan, struct shmemi_place dest, struct shmemi_place source)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    if (dest.address == source.address)
        return;
    meeting->dest[meeting->n_copies] = dest;
    meeting->source[meeting->n_copies++] = source;
}

static bool is_small(const struct gpu_plan *plan)
{
    return plan->meeting.nbytes <= shmemi_meeting_units(plan->meeting.slot, plan->meeting.n) * SHMEMI_UNIT_BYTES;
}

/* Through the areas: the members from..from + count - 1 of what is sent, `stride` bytes apart. */
static void plan_small(struct gpu_plan *plan, size_t stride, int from, int count)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    meeting->what = SHMEMI_MEET_EXCHANGE;
    meeting->source[0] = at_member(plan, &plan->source, meeting->me, 0);
    meeting->dest[0] = at_member(plan, &plan->dest, meeting->me, 0);
    meeting->stride = stride;
    meeting->from = from;
    meeting->count = count;
}

static int plan_sync(struct gpu_plan *plan)
{
    plan->meeting.what = SHMEMI_MEET_EXCHANGE;
    return 0;
}

/* One copy out of each member: each but the root copies its part of the root's source into the dests of all of them, and
 * the root its own. */
static void plan_parts(struct gpu_plan *plan)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    const int root = plan->what->root, n = meeting->n - 1, mine = (meeting->me - root + n) % meeting->n;
    const bool is_root = meeting->me == root;
    const struct shmemi_op *op = shmemi_op_for_copies(address_bits(plan) | meeting->nbytes);
    const struct shmemi_slice part =
        is_root ? (struct shmemi_slice){0, meeting->nbytes} : shmemi_slice_of(meeting->nbytes, n, mine);
    const int n_dests = is_root ? 1 : n;
    for (int i = 0; i < n_dests; i++)
        plan->dests[i] =
            at_member(plan, &plan->dest, is_root ? root : (root + 1 + (mine + i) % n) % meeting->n, part.start);
    plan->sources[0] = at_member(plan, &plan->source, root, part.start);
    const bool has_work = part.start < part.end && plan->dests[0].address != plan->sources[0].address;
    meeting->what = SHMEMI_MEET_COMBINE;
    meeting->combination = (struct shmemi_combination){.op = shmemi_operation_of(op),
                                                       .kind = shmemi_kind_of(op),
                                                       .form = SHMEMI_COMBINE_ALL,
                                                       .size = op->size,
                                                       .nelems = has_work ? (part.end - part.start) / op->size : 0,
                                                       .source = plan->sources,
                                                       .dest = plan->dests,
                                                       .n_sources = has_work ? 1 : 0,
                                                       .n_dests = has_work ? n_dests : 0};
}

static int plan_broadcast(struct gpu_plan *plan)
{
    const int root = plan->what->root, me = plan->meeting.me;
    const int rc = find_arrays(plan, plan->meeting.nbytes, plan->meeting.nbytes);
    if (rc)
        return rc;
    if (is_small(plan))
        plan_small(plan, 0, root, 1);
    else if (plan->meeting.n >= SHMEMI_BROADCAST_BY_PARTS)
        plan_parts(plan);
    else
        add_copy(plan, at_member(plan, &plan->dest, me, 0), at_member(plan, &plan->source, root, 0));
    return 0;
}

/* Each member sends its blocks: first those for others, from the next member on. */
static int plan_exchange(struct gpu_plan *plan, size_t stride)
{
    const int n = plan->meeting.n, me = plan->meeting.me;
    const size_t nbytes = plan->meeting.nbytes;
    if (is_small(plan)) {
        plan_small(plan, stride, 0, n);
        return 0;
    }
    for (int i = 1; i <= n; i++) {
        const int to = (me + i) % n;
        add_copy(plan, at_member(plan, &plan->dest, to, (size_t)me * nbytes),
                 at_member(plan, &plan->source, me, (size_t)to * stride));
    }
    plan->meeting.last_is_own = plan->meeting.n_copies == n;
    return 0;
}

static int plan_fcollect(struct gpu_plan *plan)
{
    const int rc = find_arrays(plan, all_blocks(plan), plan->meeting.nbytes);
    return rc ? rc : plan_exchange(plan, 0);
}

static int plan_alltoall(struct gpu_plan *plan)
{
    const int rc = find_arrays(plan, all_blocks(plan), all_blocks(plan));
    return rc ? rc : plan_exchange(plan, plan->meeting.nbytes);
}

/* Bytes from the first to the last one of elements that are so many elements apart. */
static size_t spread_bytes(const struct shmemi_collective_args *what, size_t nelems, ptrdiff_t stride)
{
    return shmemi_bytes_of((nelems - 1) * (size_t)stride + 1, what->size);
}

/* Each member puts its elements for another one there, row by row. */
static int plan_alltoalls(struct gpu_plan *plan)
{
    const struct shmemi_collective_args *what = plan->what;
    struct shmemi_meeting *meeting = &plan->meeting;
    const size_t n = (size_t)meeting->n, all = n * what->nelems;
    if (!what->nelems || what->dst < 1 || what->sst < 1)
        return -ENOTSUP;
    const int rc = find_arrays(plan, spread_bytes(what, all, what->dst), spread_bytes(what, all, what->sst));
    if (rc)
        return rc;
    const size_t dest_pitch = (size_t)what->dst * what->size, source_pitch = (size_t)what->sst * what->size;
    meeting->shape = (struct shmemi_shape){
        .width = what->size, .rows = what->nelems, .dest_pitch = dest_pitch, .source_pitch = source_pitch};
    for (int i = 1; i <= meeting->n; i++) {
        const int to = (meeting->me + i) % meeting->n;
        add_copy(plan, at_member(plan, &plan->dest, to, (size_t)meeting->me * what->nelems * dest_pitch),
                 at_member(plan, &plan->source, meeting->me, (size_t)to * what->nelems * source_pitch));
    }
    return 0;
}

/* An array of which a member does not know how much is used; if it has nothing itself, it may lie at the end of an object. */
static struct shmemi_symmetric dest_of_collect(const struct gpu_plan *plan)
{
    const char *dest = plan->what->dest;
    struct shmemi_symmetric memory = {.region = shmemi_region_of(dest)};
    if (plan->meeting.nbytes)
        return shmemi_symmetric_of(plan->routine, dest, plan->meeting.nbytes);
    memory.offset = memory.region ? (size_t)(dest - memory.region->base) : 0;
    return memory;
}

/* Members may have nothing to send, so that only dest decides. What it can hold is seen when all have said how much they
 * have. */
static int plan_collect(struct gpu_plan *plan)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    const size_t nbytes = meeting->nbytes;
    plan->dest = dest_of_collect(plan);
    if (!is_met_at(&plan->dest) || plan->dest.offset > plan->dest.region->size)
        return -ENOTSUP;
    meeting->what = SHMEMI_MEET_COLLECT;
    meeting->room = plan->dest.region->size - plan->dest.offset;
    for (int i = 0; i < meeting->n; i++)
        meeting->dest[i] = at_member(plan, &plan->dest, i, 0);
    meeting->n_copies = meeting->n;
    if (!nbytes)
        return 0;
    plan->source = shmemi_symmetric_of(plan->routine, plan->what->source, nbytes);
    meeting->source[0] = at_member(plan, &plan->source, meeting->me, 0);
    return 0;
}

/* The arrays of bytes start..end - 1: all sources, from one member on cyclically, and as many dests from this one on. */
static void set_arrays(struct gpu_plan *plan, struct shmemi_slice slice, int first, int n_dests)
{
    struct shmemi_combination *combination = &plan->meeting.combination;
    const int n = plan->meeting.n, first_dest = n_dests == 1 ? plan->meeting.me : first;
    combination->nelems = (slice.end - slice.start) / combination->size;
    combination->n_sources = combination->nelems ? n : 0;
    combination->n_dests = combination->nelems ? n_dests : 0;
    for (int i = 0; i < combination->n_sources; i++)
        plan->sources[i] = at_member(plan, &plan->source, (first + i) % n, slice.start);
    for (int i = 0; i < combination->n_dests; i++)
        plan->dests[i] = at_member(plan, &plan->dest, (first_dest + i) % n, slice.start);
}

/* One shot: each member combines all for itself, which must not be in place. Two shots: each combines a part for all. */
static int plan_combination(struct gpu_plan *plan, enum shmemi_combine_form form)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    const bool is_all = form == SHMEMI_COMBINE_ALL;
    const int rc = find_arrays(plan, meeting->nbytes, meeting->nbytes);
    if (rc || !can_combine(plan))
        return rc ? rc : -ENOTSUP;
    meeting->combination = (struct shmemi_combination){.op = shmemi_operation_of(plan->what->op),
                                                       .kind = shmemi_kind_of(plan->what->op),
                                                       .form = form,
                                                       .size = plan->what->op->size,
                                                       .source = plan->sources,
                                                       .dest = plan->dests};
    meeting->combines = true;
    meeting->what = SHMEMI_MEET_COMBINE;
    if (is_small(plan))
        plan_small(plan, 0, 0, meeting->n);
    else if (is_all && !is_in_place(plan) && meeting->n == 2)
        set_arrays(plan, (struct shmemi_slice){0, meeting->nbytes}, 0, 1);
    else
        set_arrays(plan, shmemi_slice_of(meeting->nbytes, meeting->n, meeting->me), is_all ? meeting->me : 0,
                   meeting->n);
    return 0;
}

static int plan_reduce(struct gpu_plan *plan)
{
    return plan_combination(plan, SHMEMI_COMBINE_ALL);
}

static int plan_inscan(struct gpu_plan *plan)
{
    return plan_combination(plan, SHMEMI_COMBINE_INCLUSIVE);
}

static int plan_exscan(struct gpu_plan *plan)
{
    return plan_combination(plan, SHMEMI_COMBINE_EXCLUSIVE);
}

static int (*const planners[])(struct gpu_plan *plan) = {
    [SHMEMI_SYNC] = plan_sync,         [SHMEMI_BROADCAST] = plan_broadcast, [SHMEMI_COLLECT] = plan_collect,
    [SHMEMI_FCOLLECT] = plan_fcollect, [SHMEMI_ALLTOALL] = plan_alltoall,   [SHMEMI_ALLTOALLS] = plan_alltoalls,
    [SHMEMI_REDUCE] = plan_reduce,     [SHMEMI_INSCAN] = plan_inscan,       [SHMEMI_EXSCAN] = plan_exscan,
};

/* ---- Enqueueing -------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void give_number(struct shmemi_team_meetings *meetings, const struct shmemi_stream *stream,
                        struct shmemi_meeting *meeting)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    if (commands->is_recording(stream))
        return;
    const uint64_t number_of_stream = commands->number(stream);
    if (meetings->n > meetings->first && (!number_of_stream || number_of_stream != meetings->last_stream))
        meeting->after = meetings->n;
    meeting->number = meetings->n + 1;
    meetings->last_stream = number_of_stream;
}

/* A collect may have any source, and only this PE knows which: the agent sends what kernels do not reach. */
static int meet(struct shmemi_team_meetings *meetings, const struct shmemi_stream *stream, struct gpu_plan *plan)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const struct shmemi_collect_block block = {
        .routine = plan->routine, .team = plan->team, .dest = plan->dest, .source = plan->source};
    int rc = commands->meet(stream, &plan->meeting, &meetings->extras);
    if (rc != -ENOTSUP || plan->meeting.what != SHMEMI_MEET_COLLECT || !plan->source.region)
        return rc;
    rc = shmemi_stream_refuse_recording(stream);
    plan->meeting.send = shmemi_collect_send;
    plan->meeting.block = &block;
    return rc ? rc : commands->meet(stream, &plan->meeting, &meetings->extras);
}

static int enqueue(struct shmemi_team_meetings *meetings, const struct shmemi_stream *stream, struct gpu_plan *plan)
{
    struct shmemi_meeting *meeting = &plan->meeting;
    struct shmemi_stream watched = *stream;
    for (int i = 0; i < meeting->n; i++)
        meeting->area[i] = shmemi_team_area(plan->team, shmemi_team_world_pe(plan->team, i));
    pthread_mutex_lock(&meetings->lock);
    meetings->has_met = true;
    give_number(meetings, stream, meeting);
    shmemi_meeting_watch(&watched, plan->routine, plan->team, meeting);
    int rc = meet(meetings, stream, plan);
    shmemi_watched_end(&watched, rc);
    if (!rc && meeting->number)
        meetings->n = meeting->number;
    pthread_mutex_unlock(&meetings->lock);
    if (rc == -ENOTSUP)
        shmemi_fatal("%s: the GPU of stream %p cannot carry it out: are the library's device kernels in this build?",
                     plan->routine, stream->handle);
    return rc;
}

int shmemi_collective_by_gpu(const struct shmemi_stream_call *call, const struct shmemi_team *team,
                             struct shmemi_team_meetings *meetings, const struct shmemi_collective_args *what)
{
    struct gpu_plan plan = {.routine = call->routine, .team = team, .what = what};
    if (!call->stream.memory->streams->commands || !is_team_met(team))
        return -ENOTSUP;
    if (what->verb == SHMEMI_BROADCAST)
        shmemi_check_root(call->routine, team, what->root);
    plan.meeting = (struct shmemi_meeting){.what = SHMEMI_MEET_COPY,
                                           .n = team->n_pes,
                                           .me = team->my_pe,
                                           .slot = team->slot,
                                           .first_number = team->first_number,
                                           .nbytes = shmemi_bytes_of(what->nelems, what->size)};
    int rc = planners[what->verb](&plan);
    if (rc)
        return rc;
    struct shmemi_call frame = {.routine = call->routine, .activity = SHMEMI_AT_COLLECTIVE};
    shmemi_span_begin(&frame);
    rc = what->completes ? shmemi_stream_quiet(&call->stream) : 0;
    if (!rc)
        rc = enqueue(meetings, &call->stream, &plan);
    shmemi_span_end(&frame);
    return rc;
}
