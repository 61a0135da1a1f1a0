/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges that store what the members contribute, in all sizes, for the test of meetings.
 */
#ifndef MEETING_STORES_H
#define MEETING_STORES_H

#include "meeting_contributions.h"
#include "meeting_members.h"

static void check_sync(bool has_number)
{
    struct shmemi_meeting meeting = plan_meeting(SHMEMI_MEET_EXCHANGE, 0, 0);
    snprintf(title, sizeof title, "sync");
    if (!has_number)
        meeting.number = 0;
    play_signs();
    meet(&meeting);
    check();
}

/* Members from `from` on have nbytes for each other one, `stride` apart. */
struct storing {
    struct shmemi_meeting meeting;
    size_t dest;
};

static struct storing plan_storing(size_t nbytes, size_t stride, int from, int count, size_t shift)
{
    struct storing storing = {.meeting = plan_meeting(SHMEMI_MEET_EXCHANGE, nbytes, nbytes)};
    const size_t source_bytes = nbytes + stride * (size_t)(team.n - 1), source = take_room(source_bytes, shift);
    snprintf(title, sizeof title, "%zu bytes, stride %zu, from %d members, the first is %d, arrays at 16 * k + %zu",
             nbytes, stride, count, from, shift);
    give(source_bytes);
    memcpy(box + source, given[team.me], source_bytes);
    storing.dest = take_room(nbytes * (size_t)count, shift * 3 % 16);
    storing.meeting.source[0] = at(source);
    storing.meeting.dest[0] = at(storing.dest);
    storing.meeting.stride = stride;
    storing.meeting.from = from;
    storing.meeting.count = count;
    play(&storing.meeting, given);
    return storing;
}

/* Before the members contribute something else. */
static void expect_stored(const struct storing *storing, char *expected)
{
    const struct shmemi_meeting *meeting = &storing->meeting;
    for (int i = 0; i < meeting->count; i++)
        memcpy(expected + (size_t)i * meeting->nbytes, given[meeting->from + i] + (size_t)team.me * meeting->stride,
               meeting->nbytes);
}

static void check_storing(size_t nbytes, size_t stride, int from, int count, size_t shift)
{
    const struct storing storing = plan_storing(nbytes, stride, from, count, shift);
    meet(&storing.meeting);
    expect_stored(&storing, box + storing.dest);
    check();
}

/* Dest is the source. */
static void check_broadcast_in_place(size_t nbytes)
{
    struct storing storing = plan_storing(nbytes, 0, team.me, 1, 0);
    storing.meeting.dest[0] = storing.meeting.source[0];
    meet(&storing.meeting);
    check();
}

static void check_team(int n, int me)
{
    static const size_t sizes[] = {1, 3, 8, 15, 16, 17, 4096};
    static size_t shift;
    open_team(n, me);
    check_sync(true);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_storing(sizes[i], 0, 0, n, shift++ % 16);
        check_storing(sizes[i], i % 2 ? sizes[i] + 5 : sizes[i], 0, n, shift++ % 16);
    }
    check_storing(4097, 0, me, 1, 4);
    check_storing(12, 0, me, 1, 0);
    check_storing(12, 0, (me + 1) % n, 1, 1);
    check_storing(777, 0, (me + n - 1) % n, 1, 8);
    check_broadcast_in_place(100);
    check_sync(false);
}

/* By several blocks; some threads handle more than one unit. */
static void check_several_blocks(void)
{
    enum { MANY = (300 << 10) + 5, MOST = 512 << 10 };
    open_team(2, 1);
    check_storing(MANY, 0, 0, 2, 0);
    check_storing(MANY, MANY, 0, 2, 4);
    check_storing(MOST, MOST + 16, 0, 2, 0);
    check_storing(SHMEMI_MEETING_THREADS * SHMEMI_UNIT_BYTES + 1, 0, 0, 2, 7);
    check_storing(MANY, 0, 1, 1, 0);
    check_storing(MANY, 0, 0, 1, 0);
    static const size_t limits[] = {24, 255, 256, 511, 512, 513, 16383, 32768, 65528, 65535, 65536, 65537, 65544};
    static const int members[] = {3, 4, 5, 8};
    for (size_t i = 0; i < 4 * sizeof limits / sizeof *limits; i++) {
        const size_t nbytes = limits[i / 4];
        open_team(members[i % 4], (int)i % members[i % 4]);
        check_storing(nbytes, i % 3 ? 0 : nbytes, 0, team.n, i % 2 ? 8 : i % 16);
    }
    open_team(5, 3);
    check_storing(100000, 0, 3, 1, 2);
    check_storing(100000, 100000, 0, 5, 0);
}

#endif
