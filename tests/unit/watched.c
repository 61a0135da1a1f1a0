/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watchdog says of streams, with a stream that is played here: operations that it has not come to, that wait,
 * that are over; more than are watched; captured ones; those of the agent; and what a meeting waits for, with an area in
 * host memory.
 */
#include "transport/stream/watched.h"

#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "shmem/coll/stream/on_stream.h"
#include "transport/drivers/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* stderr is where the watchdog speaks */
#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { HELD_MOST = 2048, MEMBERS = 3, ME = 1, SLOT = 7 };

/* ---- The stream: words that it sets are held back until it goes on ------------------------------------------------- */

static struct shmemi_word held[HELD_MOST];
static unsigned n_held;
static bool is_recording, cannot_set;

static bool recording(const struct shmemi_stream *stream)
{
    (void)stream;
    return is_recording;
}

static int take_steps(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n)
{
    (void)stream;
    CHECK(n == 1 && words->step == SHMEMI_STEP_SET && n_held < HELD_MOST);
    if (cannot_set)
        return -ENOTSUP;
    held[n_held++] = *words;
    return 0;
}

/* Let the stream set so many words of those that it has not yet set. */
static void go_on(unsigned n)
{
    static unsigned first;
    for (; n; n--, first++)
        __atomic_store_n((uint64_t *)held[first].place.address, held[first].value, __ATOMIC_RELEASE);
    if (first == n_held)
        first = n_held = 0;
}

static const struct shmemi_stream_commands commands = {.is_recording = recording, .take_steps = take_steps};
static const struct shmemi_streams streams = {.commands = &commands};
static const struct shmemi_memory device = {.name = "device", .streams = &streams};

static _Alignas(64) char heap[SHMEMI_EXCHANGE_BYTES];
static const struct shmemi_driver driver = {.is_direct = true};
static struct shmemi_view view;

static const struct shmemi_view *view_of(int pe)
{
    CHECK(pe == 0);
    return &view;
}

/* ---- Operations ---------------------------------------------------------------------------------------------------- */

static atomic_int n_described;

static bool describe(const struct shmemi_watched *watched, bool has_come, char *text, size_t size)
{
    (void)watched;
    atomic_fetch_add(&n_described, 1);
    shmemi_append(text, size, "for the test");
    return has_come;
}

static void enqueue(const char *routine, bool by_agent, int rc)
{
    struct shmemi_stream stream = {.memory = &device};
    const struct shmemi_watched what = {routine, describe};
    shmemi_watched_begin(&stream, &what, sizeof what);
    void *watched = stream.watched;
    CHECK(!watched == is_recording);
    if (by_agent)
        shmemi_watched_by_agent(watched);
    shmemi_watched_end(&stream, rc);
    if (!by_agent)
        return;
    shmemi_watched_has_come(watched);
    shmemi_watched_is_over(watched);
}

/* ---- What is said -------------------------------------------------------------------------------------------------- */

static FILE *said;

static bool is_said(const char *text)
{
    char line[1024];
    bool found = false;
    rewind(said);
    while (fgets(line, sizeof line, said))
        found = found || strstr(line, text);
    return found;
}

/* Wait for it, for half a minute. */
static void expect(const char *text)
{
    for (int i = 0; i < 300 && !is_said(text); i++)
        usleep(100000);
    if (!is_said(text))
        printf("not said: %s\n", text);
    CHECK(is_said(text));
}

/* Not in a time in which it would be, if the machine is not very slow. */
static void expect_nothing(const char *text)
{
    usleep(1600000);
    CHECK(!is_said(text));
}

/* ---- Tests --------------------------------------------------------------------------------------------------------- */

static void check_one(void)
{
    enqueue("behind", false, 0);
    expect_nothing("in behind");
    CHECK(atomic_load(&n_described) > 0);
    go_on(1);
    expect("has waited for 1 s in behind: for the test");
    go_on(1);
}

static void check_over(void)
{
    enqueue("over", false, 0);
    go_on(2);
    enqueue("by_agent", true, 0);
    go_on(1);
    enqueue("failed", false, -EINVAL);
    go_on(1);
    cannot_set = true;
    enqueue("unseen", false, 0);
    enqueue("unseen", true, 0);
    cannot_set = false;
    is_recording = true;
    enqueue("captured", false, 0);
    is_recording = false;
    const int n = atomic_load(&n_described);
    usleep(1600000);
    CHECK(atomic_load(&n_described) == n && n_held == 0);
}

/* Those beyond the limit are not watched, and all places are free again. */
static void check_many(void)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SHMEMI_WATCHED_MOST; i++)
            enqueue("many", false, 0);
        struct shmemi_stream stream = {.memory = &device};
        const struct shmemi_watched what = {"too many", describe};
        shmemi_watched_begin(&stream, &what, sizeof what);
        CHECK(!stream.watched);
        shmemi_watched_end(&stream, 0);
        go_on(2 * SHMEMI_WATCHED_MOST);
    }
}

/* ---- Meetings ------------------------------------------------------------------------------------------------------ */

static union {
    struct shmemi_meeting_head head;
    _Alignas(64) char bytes[SHMEMI_MEETING_SMALL_BYTES];
} area;

/* As a member's kernel does it. */
static void send(int member, uint64_t exchange)
{
    const uint32_t capacity = (uint32_t)shmemi_meeting_units(SLOT, MEMBERS), flag = (uint32_t)exchange;
    const uint32_t pairs[] = {77, flag, 78, flag};
    const size_t set = shmemi_set_offset(capacity, MEMBERS, exchange);
    memcpy(area.bytes + set + shmemi_unit_offset(capacity, ME, (uint32_t)member, 0), pairs, sizeof pairs);
}

static void meet(const char *routine, uint64_t number)
{
    const struct shmemi_team team = {.my_pe = ME, .n_pes = MEMBERS, .start = 10, .stride = 2};
    struct shmemi_stream stream = {.memory = &device};
    struct shmemi_meeting meeting = {.n = MEMBERS, .me = ME, .slot = SLOT, .first_number = 40, .number = number};
    meeting.area[ME] = shmemi_place_host(&area);
    shmemi_meeting_watch(&stream, routine, &team, &meeting);
    CHECK(stream.watched);
    shmemi_watched_end(&stream, 0);
}

static void check_meetings(void)
{
    meet("nobody", 1);
    go_on(1);
    expect("in nobody: for PE 10, 14, from which nothing has come");
    send(0, 41);
    send(2, 41);
    area.head.exchanges = 41;
    area.head.done = 1;
    go_on(1);
    meet("some", 2);
    go_on(1);
    send(2, 42);
    expect("in some: for PE 10, from which nothing has come");
    meet("next", 3);
    go_on(0);
    expect_nothing("in next");
    send(0, 42);
    area.head.exchanges = 42;
    area.head.done = 2;
    go_on(1);
    send(0, 43);
    send(2, 43);
    expect("in next: all others have come, this PE's stream has not");
    area.head.done = 3;
    go_on(2);
}

int main(void)
{
    said = tmpfile();
    CHECK(said && dup2(fileno(said), STDERR_FILENO) >= 0);
    shmemi_settings.watchdog = 1;
    shmemi_watches_streams = true;
    shmemi_log_level = SHMEMI_LOG_WARN;
    shmemi_watch_open();
    shmemi_job.pe = 0;
    shmemi_job.n_pes = 1;
    view = (struct shmemi_view){.driver = &driver, .place = shmemi_place_host(heap), .size = sizeof heap};
    shmemi_exchange_open(view_of, heap);
    check_one();
    check_over();
    check_many();
    check_meetings();
    shmemi_watched_close();
    shmemi_watch_close();
    return 0;
}
