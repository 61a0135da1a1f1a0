/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A team of which the GPU plays one member, and the test the others, for the test of meetings (gpu/meeting.h). What the
 * others send is written into that member's area before its kernel is launched, so that the kernel has to wait for
 * nobody. Models of all areas, and of a box of memory for sources and dests, say what the GPU's memory must be in the
 * end, byte by byte.
 */
#ifndef MEETING_MEMBERS_H
#define MEETING_MEMBERS_H

#include "cuda_user.h"
#include "gpu/meeting_call.h"
#include "gpu/device/streams/program_streams.h"
#include "tests/patience.h"

enum {
    MEMBERS = SHMEMI_MEETING_MEMBERS,
    AREA_BYTES = SHMEMI_MEETING_LARGE_BYTES,
    LARGE_SLOT = 0,
    SMALL_SLOT = SHMEMI_MEETING_LARGE_AREAS,
    ROOM_BYTES = 68 << 20, /* of the box */
    GUARD = 64,            /* bytes in front of an array and behind it, which stay as they are */
    UNTOUCHED = 0x5a,
    PATIENCE = 100, /* seconds after which a kernel is taken to wait for ever */
};

static const struct shmemi_stream_commands *commands;
static struct shmemi_stream stream, second_stream;
static void *extras;

static struct shmemi_place first_area, box_place; /* the areas of the other members follow */
static void *areas_object;
static _Alignas(16) char areas[MEMBERS][AREA_BYTES], box[ROOM_BYTES];
static char found[ROOM_BYTES];
static size_t box_end;  /* bytes of the box that are in use */
static char title[160]; /* of what is being checked */

/* The areas are those of one team after the other, so that exchanges have numbers above those of all teams before. */
static struct {
    int n, me;
    unsigned slot;
    uint64_t first_number;
    uint64_t exchanges; /* the number of the last one that has been played */
} team;

static inline struct shmemi_meeting_head *my_head(void)
{
    return (struct shmemi_meeting_head *)areas[team.me];
}

static inline void open_team(int n, int me)
{
    team.n = n;
    team.me = me;
    team.first_number = team.exchanges;
}

/* ---- The box ----------------------------------------------------------------------------------------------------- */

static inline struct shmemi_place at(size_t offset)
{
    struct shmemi_place place = box_place;
    place.address += offset;
    return place;
}

/* Room for an array, `shift` bytes behind a multiple of 16. */
static inline size_t take_room(size_t nbytes, size_t shift)
{
    const size_t begin = (box_end + GUARD + 15) / 16 * 16 + shift, end = begin + nbytes + GUARD;
    if (end > ROOM_BYTES) {
        fprintf(stderr, "%s: the box is too small\n", title);
        exit(1);
    }
    memset(box + box_end, UNTOUCHED, end - box_end);
    box_end = end;
    return begin;
}

/* ---- What members send ------------------------------------------------------------------------------------------- */

/* The pairs of a unit in the area of its receiver. */
static inline uint32_t *pairs_at(uint64_t number, int sender, int receiver, size_t unit)
{
    const size_t capacity = shmemi_meeting_units(team.slot, team.n), of_set = capacity * (size_t)(team.n - 1);
    const size_t before = capacity * (size_t)(sender > receiver ? sender - 1 : sender);
    const size_t index = (number % 2 ? of_set : 0) + before + unit;
    return (uint32_t *)(areas[receiver] + sizeof(struct shmemi_meeting_head) + index * SHMEMI_SENT_UNIT_BYTES);
}

/* The second half only if the unit has more than 8 bytes. */
static inline void send_unit(uint64_t number, int sender, int receiver, size_t unit, const char *bytes, size_t nbytes)
{
    uint32_t word[SHMEMI_UNIT_BYTES / 4] = {0}, *pairs = pairs_at(number, sender, receiver, unit);
    if (nbytes)
        memcpy(word, bytes, nbytes);
    for (int i = 0; i < (nbytes > 8 ? 4 : 2); i++) {
        pairs[2 * i] = word[i];
        pairs[2 * i + 1] = (uint32_t)number;
    }
}

/* Without any bytes, the beginning of a unit is sent as a sign. */
static inline void send_array(uint64_t number, int sender, int receiver, const char *bytes, size_t nbytes)
{
    size_t unit = 0;
    do {
        const size_t done = unit * SHMEMI_UNIT_BYTES, left = nbytes - done;
        send_unit(number, sender, receiver, unit++, bytes + done, left < SHMEMI_UNIT_BYTES ? left : SHMEMI_UNIT_BYTES);
    } while (unit * SHMEMI_UNIT_BYTES < nbytes);
}

static inline size_t bytes_from(const struct shmemi_meeting *meeting, int sender)
{
    return sender >= meeting->from && sender < meeting->from + meeting->count ? meeting->nbytes : 0;
}

/* The next exchange: what the others send to this member, whose contributions are known, and what it is to send. */
static inline void play(const struct shmemi_meeting *meeting, const char *const contribution[])
{
    uint64_t number = team.exchanges + 1;
    if (!(uint32_t)number) /* this is the number in words that have never been written */
        number += 2;
    for (int i = 0; i < team.n; i++) {
        if (i == team.me)
            continue;
        send_array(number, i, team.me, contribution[i] + (size_t)team.me * meeting->stride, bytes_from(meeting, i));
        send_array(number, team.me, i, contribution[team.me] + (size_t)i * meeting->stride,
                   bytes_from(meeting, team.me));
    }
    team.exchanges = number;
}

/* An exchange without data. */
static inline void play_signs(void)
{
    static const char nothing[1];
    const struct shmemi_meeting meeting = {.nbytes = 0};
    const char *contribution[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        contribution[i] = nothing;
    play(&meeting, contribution);
}

/* An exchange without data in which the GPU plays all members. */
static inline void play_signs_of_all(void)
{
    team.exchanges++;
    for (int sender = 0; sender < team.n; sender++)
        for (int receiver = 0; receiver < team.n; receiver++)
            if (sender != receiver)
                send_array(team.exchanges, sender, receiver, "", 0);
}

/* ---- Meetings ---------------------------------------------------------------------------------------------------- */

static inline struct shmemi_place area_of(int member)
{
    struct shmemi_place place = first_area;
    place.address += (size_t)member * AREA_BYTES;
    return place;
}

/* The next meeting, in an area with room for so many bytes. A small one will do for most. */
static inline struct shmemi_meeting plan_meeting(enum shmemi_meeting_kind what, size_t nbytes, size_t room)
{
    const bool is_small = room <= shmemi_meeting_units(SMALL_SLOT, team.n) * SHMEMI_UNIT_BYTES;
    team.slot = is_small ? SMALL_SLOT : LARGE_SLOT;
    CHECK(room <= shmemi_meeting_units(team.slot, team.n) * SHMEMI_UNIT_BYTES);
    struct shmemi_meeting meeting = {.what = what,
                                     .n = team.n,
                                     .me = team.me,
                                     .slot = team.slot,
                                     .first_number = team.first_number,
                                     .nbytes = nbytes,
                                     .number = my_head()->done + 1};
    for (int i = 0; i < team.n; i++)
        meeting.area[i] = area_of(i);
    return meeting;
}

/* Give the GPU what has been played, and what is in the box. */
static inline void hand_over(void)
{
    USE(cuda.cuMemcpyHtoD(area_of(team.me).address, areas[team.me], AREA_BYTES));
    if (box_end)
        USE(cuda.cuMemcpyHtoD(box_place.address, box, box_end));
    USE(shmemi_cuda.cuCtxSynchronize()); /* the last bytes may still be on their way */
}

/* The exchanges that belong to it, and to meetings before, have been played and handed over. */
static inline void enqueue(const struct shmemi_meeting *meeting, const struct shmemi_stream *where)
{
    const int rc = commands->meet(where, meeting, &extras);
    if (rc)
        fprintf(stderr, "%s: rc %d\n", title, rc);
    CHECK(!rc);
    my_head()->exchanges = team.exchanges;
    if (meeting->number)
        my_head()->done = meeting->number;
}

/* A kernel that waits for ever, or that has failed, leaves nothing to go on with. */
static inline void finish(const struct shmemi_stream *where)
{
    const double end = now_us() + PATIENCE * 1e6;
    CUresult result;
    for (unsigned turns = 0;
         (result = shmemi_cuda.cuStreamQuery(where->handle)) == CUDA_ERROR_NOT_READY && now_us() < end;)
        wait_a_turn(&turns);
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s, member %d of %d: %s\n", title, team.me, team.n, shmemi_cuda_error_text(result));
    _Exit(1);
}

static inline void meet(const struct shmemi_meeting *meeting)
{
    hand_over();
    enqueue(meeting, &stream);
    finish(&stream);
}

/* ---- What has become of it --------------------------------------------------------------------------------------- */

/* The model follows after a failure, so that the next case begins with what is there. */
static inline void compare(const char *what, int number, uintptr_t address, char *expected, size_t nbytes)
{
    size_t where = 0;
    USE(cuda.cuMemcpyDtoH(found, address, nbytes));
    if (!memcmp(found, expected, nbytes))
        return;
    while (found[where] == expected[where])
        where++;
    fprintf(stderr, "%s, member %d of %d: %s %d is not right from byte %zu on: 0x%02x instead of 0x%02x\n", title,
            team.me, team.n, what, number, where, (unsigned char)found[where], (unsigned char)expected[where]);
    n_failures++;
    memcpy(expected, found, nbytes);
}

/* The areas of all members of the team, as far as it uses them, and the box, which is empty then. */
static inline void check(void)
{
    const size_t nbytes = team.slot < SHMEMI_MEETING_LARGE_AREAS ? AREA_BYTES : SHMEMI_MEETING_SMALL_BYTES + 4096;
    for (int i = 0; i < team.n; i++)
        compare("area", i, area_of(i).address, areas[i], nbytes);
    if (box_end)
        compare("box", 0, box_place.address, box, box_end);
    box_end = 0;
}

static inline void check_all_areas(void)
{
    for (int i = 0; i < MEMBERS; i++)
        compare("area", i, area_of(i).address, areas[i], AREA_BYTES);
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

/* The first device, with the box; false if its kernels cannot meet. */
static inline bool open_gpu(void)
{
    CUcontext primary;
    struct shmemi_allocation allocation;
    char reason[160];
    load_user_functions();
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    CHECK(!open_object(user_alloc(ROOM_BYTES), ROOM_BYTES, &allocation, reason));
    box_place = allocation.place;
    commands = shmemi_gpu_streams.commands;
    return commands->may_meet(&box_place);
}

static inline void open_stream(struct shmemi_stream *opened)
{
    char reason[160] = "";
    CUstream handle;
    USE(shmemi_cuda.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
    *opened = (struct shmemi_stream){.memory = memory, .handle = handle};
    CHECK(!shmemi_gpu_streams.open(opened, reason, sizeof reason));
}

static inline void open_areas(void)
{
    first_area = box_place;
    CHECK(!commands->allocate(&box_place, sizeof areas, &areas_object));
    first_area.address = (uintptr_t)areas_object;
    snprintf(title, sizeof title, "areas as they are allocated");
    check_all_areas();
}

/* All zeros again, as for a job that begins; the next exchange has the number behind this one. */
static inline void begin_anew(uint64_t exchanges)
{
    memset(areas, 0, sizeof areas);
    team.exchanges = exchanges;
    team.first_number = 0;
    my_head()->exchanges = exchanges;
    for (int i = 0; i < MEMBERS; i++)
        USE(cuda.cuMemcpyHtoD(area_of(i).address, areas[i], AREA_BYTES));
}

#endif
