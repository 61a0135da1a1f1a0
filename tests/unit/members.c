/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the server of a rendezvous answers to members who know the key and do what no PE should: each of them is told at once
 * why the job ends, and which of them says so. The server is a thread, as in a PE; the members are connections of the test.
 */
#include "bootstrap/rendezvous/rendezvous_client.h"

#include "base/log.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PES = 3, PATIENCE_SECONDS = 20 };

static struct shmemi_ticket ticket;
static int members[PES]; /* -1: has not come */

/* A server of a new job. */
static void serve(void)
{
    static unsigned number;
    ticket = (struct shmemi_ticket){.n_pes = PES, .n_venues = 1};
    ticket.venues[0] = shmemi_venue_named((uint64_t)getpid(), number++);
    CHECK(!shmemi_key_make(&ticket.key));
    CHECK(!shmemi_rendezvous_serve(shmemi_venue_listen(&ticket.venues[0]), &ticket.key));
    for (int pe = 0; pe < PES; pe++)
        members[pe] = -1;
}

static int enter_as(int pe, int n_pes)
{
    const struct timeval limit = {PATIENCE_SECONDS, 0};
    ticket.pe = pe;
    ticket.n_pes = n_pes;
    int fd = shmemi_rendezvous_enter(&ticket);
    if (fd >= 0)
        CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    return fd;
}

static void enter(int first, int last)
{
    for (int pe = first; pe <= last; pe++) {
        members[pe] = enter_as(pe, PES);
        CHECK(members[pe] >= 0);
    }
}

static void say(int pe, uint32_t kind)
{
    const struct shmemi_frame frame = {kind, 0};
    CHECK(send(members[pe], &frame, sizeof frame, MSG_NOSIGNAL) == sizeof frame);
}

static void hear(int pe, void *bytes, size_t size)
{
    CHECK(recv(members[pe], bytes, size, MSG_WAITALL) == (ssize_t)size);
}

/* The server has heard what was said before: a question behind it is answered. */
static void settle(int pe)
{
    struct shmemi_frame frame;
    unsigned char present[PES];
    say(pe, SHMEMI_FRAME_ASK);
    hear(pe, &frame, sizeof frame);
    CHECK(frame.kind == SHMEMI_FRAME_PRESENT && frame.size == PES);
    hear(pe, present, sizeof present);
}

static void hear_gathered(int pe)
{
    struct shmemi_frame frame;
    unsigned char nothing[sizeof(struct shmemi_gathered_head) + PES * sizeof(uint32_t)];
    hear(pe, &frame, sizeof frame);
    CHECK(frame.kind == SHMEMI_FRAME_GATHERED && frame.size == sizeof nothing);
    hear(pe, nothing, sizeof nothing);
}

/* Every member that is there hears this end, and then nothing more. */
static void expect_end(uint32_t reason, int of, int teller)
{
    struct shmemi_frame frame;
    struct shmemi_end_of_job end;
    char more;
    for (int pe = 0; pe < PES; pe++) {
        if (members[pe] < 0)
            continue;
        hear(pe, &frame, sizeof frame);
        CHECK(frame.kind == SHMEMI_FRAME_END && frame.size == sizeof end);
        hear(pe, &end, sizeof end);
        CHECK(end.reason == reason && end.pe == of && end.teller == teller);
        CHECK(recv(members[pe], &more, 1, 0) == 0);
        close(members[pe]);
    }
}

static void check_right_job(void)
{
    struct shmemi_frame frame;
    serve();
    enter(0, 2);
    for (int round = 0; round < 2; round++) {
        for (int pe = 0; pe < PES; pe++)
            say(pe, SHMEMI_FRAME_GATHER);
        for (int pe = 0; pe < PES; pe++)
            hear_gathered(pe);
    }
    for (int pe = 0; pe < PES; pe++)
        say(pe, SHMEMI_FRAME_LEAVE);
    for (int pe = 0; pe < PES; pe++) {
        hear(pe, &frame, sizeof frame);
        CHECK(frame.kind == SHMEMI_FRAME_BYE && !frame.size);
        close(members[pe]);
    }
}

/* ---- Who says why ------------------------------------------------------------------------------------------------ */

static void check_lost(void)
{
    serve();
    enter(1, 2); /* PE 0, which would say it, has not come */
    close(members[2]);
    members[2] = -1;
    expect_end(SHMEMI_END_LOST, 2, 1);
}

static void check_status(void)
{
    const struct {
        struct shmemi_frame frame;
        struct shmemi_end_of_job end;
    } message = {{SHMEMI_FRAME_END, sizeof message.end},
                 {.reason = SHMEMI_END_TWICE, .pe = 1, .value = 3, .teller = 0}};
    serve();
    enter(0, 2);
    CHECK(send(members[0], &message, sizeof message, MSG_NOSIGNAL) == sizeof message);
    expect_end(SHMEMI_END_STATUS, 0, 1);
}

static void check_wrong_numbers(void)
{
    serve();
    enter(1, 1);
    CHECK(enter_as(1, PES) == -EINVAL);
    expect_end(SHMEMI_END_TWICE, 1, 1);
    serve();
    enter(1, 2);
    CHECK(enter_as(0, PES + 1) == -EINVAL);
    expect_end(SHMEMI_END_N_PES, 0, 1);
}

/* ---- Leaving too early ------------------------------------------------------------------------------------------- */

static void check_leaving_in_a_round(int leaver)
{
    serve();
    enter(0, 2);
    say(1, SHMEMI_FRAME_GATHER);
    settle(1);
    say(leaver, SHMEMI_FRAME_LEAVE);
    expect_end(SHMEMI_END_LEFT, leaver, 0);
}

static void check_round_after_leaving(void)
{
    serve();
    enter(0, 2);
    say(2, SHMEMI_FRAME_LEAVE);
    settle(2);
    say(0, SHMEMI_FRAME_GATHER);
    expect_end(SHMEMI_END_LEFT, 2, 0);
}

static void check_leaving_before_all_have_come(void)
{
    serve();
    enter(0, 1);
    say(0, SHMEMI_FRAME_LEAVE);
    expect_end(SHMEMI_END_LEFT, 0, 0);
}

/* Who has left takes part in nothing: the others finish without him. */
static void check_returning(void)
{
    struct shmemi_frame frame;
    serve();
    enter(0, 2);
    say(1, SHMEMI_FRAME_LEAVE);
    say(1, SHMEMI_FRAME_GATHER);
    CHECK(recv(members[1], &frame, sizeof frame, 0) <= 0);
    close(members[1]);
    say(0, SHMEMI_FRAME_LEAVE);
    say(2, SHMEMI_FRAME_LEAVE);
    for (int pe = 0; pe < PES; pe += 2) {
        hear(pe, &frame, sizeof frame);
        CHECK(frame.kind == SHMEMI_FRAME_BYE);
        close(members[pe]);
    }
}

/* ---- Where nobody is let in -------------------------------------------------------------------------------------- */

static struct shmemi_venue unreachable(void)
{
    static const unsigned char broadcast[] = {255, 255, 255, 255};
    return shmemi_venue_at(AF_INET, broadcast, 1);
}

/* An entry that is given up says this of this place, of several. */
static void expect_refusal(int rc, int place, const char *fault)
{
    char venue[128];
    CHECK(shmemi_rendezvous_enter(&ticket) == rc);
    shmemi_venue_text(&ticket.venues[place], venue, sizeof venue);
    const char *line = shmemi_log_take_error();
    CHECK(strstr(line, venue) && strstr(line, fault));
}

/* No place is reached, or nobody listens, or somebody else does: in this order an error says more. */
static void check_several_places(void)
{
    ticket = (struct shmemi_ticket){.n_pes = PES, .n_venues = 3};
    for (unsigned i = 0; i < 3; i++)
        ticket.venues[i] = i == 1 ? shmemi_venue_named((uint64_t)getpid(), 100) : unreachable();
    expect_refusal(-ECONNREFUSED, 1, strerror(ECONNREFUSED));
    ticket.venues[0] = shmemi_venue_named((uint64_t)getpid(), 101);
    const struct shmemi_key other = {{1, 2}};
    CHECK(!shmemi_rendezvous_serve(shmemi_venue_listen(&ticket.venues[0]), &other));
    expect_refusal(-EACCES, 0, "does not know the key");
}

int main(void)
{
    alarm(3 * PATIENCE_SECONDS);
    shmemi_log_hold(true); /* what the entries say that are refused */
    check_right_job();
    check_lost();
    check_status();
    check_wrong_numbers();
    check_several_places();
    check_leaving_in_a_round(2);
    check_leaving_in_a_round(1); /* who has contributed himself */
    check_round_after_leaving();
    check_leaving_before_all_have_come();
    check_returning();
    return 0;
}
