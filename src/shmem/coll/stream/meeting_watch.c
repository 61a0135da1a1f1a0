/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a meeting waits for: the members whose first unit has not come to this PE's area. The area is read as it is at the
 * moment; it outlives the team.
 */
#include "shmem/coll/stream/on_stream.h"
#include "transport/stream/watched.h"

struct watched_meeting {
    struct shmemi_watched watched;
    struct shmemi_place area;
    uint64_t number, first_number;
    uint32_t capacity;
    int n, me;
    int pes[SHMEMI_MEETING_MEMBERS];
};

static_assert(sizeof(struct watched_meeting) <= SHMEMI_WATCHED_BYTES, "it must fit into an entry");

/* False if that fails, as when the program has destroyed the context. */
static bool read_area(const struct watched_meeting *meeting, uint64_t offset, void *dest, size_t nbytes)
{
    struct shmemi_place area = meeting->area, here = shmemi_place_host(dest);
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    area.address += offset;
    return !area.memory->copy(&here, &area, &shape);
}

/* Find the members from which nothing has come for the present exchange, and return how many there are; -1: it cannot be
 * told, for one because that exchange has ended meanwhile. */
static int find_missing(const struct watched_meeting *meeting, uint64_t completed, bool missing[SHMEMI_MEETING_MEMBERS])
{
    const uint64_t exchange = shmemi_next_exchange(completed, meeting->first_number);
    const uint64_t set = shmemi_set_offset(meeting->capacity, (uint32_t)meeting->n, exchange);
    int n = 0;
    for (int i = 0; i < meeting->n; i++) {
        uint32_t pairs[4] = {0};
        missing[i] = false;
        if (i == meeting->me)
            continue;
        const uint64_t unit = shmemi_unit_offset(meeting->capacity, (uint32_t)meeting->me, (uint32_t)i, 0);
        if (!read_area(meeting, set + unit, pairs, sizeof pairs))
            return -1;
        missing[i] = pairs[1] != (uint32_t)exchange;
        n += missing[i];
    }
    uint64_t now;
    const bool is_same =
        read_area(meeting, offsetof(struct shmemi_meeting_head, exchanges), &now, sizeof now) && now == completed;
    return is_same ? n : -1;
}

static void append_missing(const struct watched_meeting *meeting, const bool *missing, char *text, size_t size)
{
    unsigned n = 0;
    shmemi_append(text, size, "for ");
    for (int i = 0; i < meeting->n; i++)
        if (missing[i])
            shmemi_append_pe(text, size, &n, meeting->pes[i]);
    shmemi_append(text, size, ", from which nothing has come");
}

/* Names the members from which nothing has come in this exchange: they have not begun it, or not the second exchange of a
 * collective that has two. As long as this PE's own stream has not come, it reports only if all other members have. */
static bool describe_exchange(const struct shmemi_watched *watched, bool has_arrived, char *text, size_t size)
{
    const struct watched_meeting *meeting = (const struct watched_meeting *)watched;
    struct shmemi_meeting_head head;
    bool missing[SHMEMI_MEETING_MEMBERS];
    if (!read_area(meeting, 0, &head, sizeof head) || head.done >= meeting->number)
        return false;
    if (head.done + 1 < meeting->number) {
        shmemi_append(text, size, "for an earlier collective of the team in another stream");
        return has_arrived;
    }
    const int n = find_missing(meeting, head.exchanges, missing);
    if (n < 0 || (n && !has_arrived))
        return false;
    if (n)
        append_missing(meeting, missing, text, size);
    else if (has_arrived)
        shmemi_append(text, size, "all others have come, this PE's GPU has not gone on");
    else
        shmemi_append(text, size, "all others have come, this PE's stream has not");
    return true;
}

void shmemi_meeting_watch(struct shmemi_stream *stream, const char *routine, const struct shmemi_team *team,
                          const struct shmemi_meeting *meeting)
{
    if (!shmemi_watches_streams)
        return;
    struct watched_meeting what = {.watched = {routine, describe_exchange},
                                   .area = meeting->area[meeting->me],
                                   .number = meeting->number,
                                   .first_number = meeting->first_number,
                                   .capacity = (uint32_t)shmemi_meeting_units(meeting->slot, meeting->n),
                                   .n = meeting->n,
                                   .me = meeting->me};
    for (int i = 0; i < meeting->n; i++)
        what.pes[i] = shmemi_team_world_pe(team, i);
    shmemi_watched_begin(stream, &what.watched, sizeof what);
}
