/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a PE finds the server among several venues, of which others may be strangers', and is let in. A server that has to
 * hear many strangers may close a connection before it has looked at it: then the PE comes again.
 */
#define _GNU_SOURCE
#include "bootstrap/rendezvous/rendezvous_client.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "bootstrap/deadline.h"
#include "bootstrap/rendezvous/kept_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CONNECT_MS = 2000, /* that a place has to take a connection */
    ANSWER_MS = 2000,  /* that it has to answer at the first try; each further one gets more, up to the most */
    ANSWER_MOST_MS = 20000,
    PAUSE_MS = 20, /* after the first try of all places; each further pause is longer, up to the most */
    PAUSE_MOST_MS = 500,
    IMPATIENT_MS = 2000, /* after which a place that must have a server, and has none, is given up */
};

/* A try to enter. */
struct entering {
    const struct shmemi_ticket *ticket;
    int fd;
    uint16_t port;                   /* of the server, if it is who listens there */
    uint64_t end;                    /* of the wait for an answer */
    bool is_refused;                 /* the server has said why, which is logged */
    int error;                       /* that says most */
    const struct shmemi_venue *told; /* where it was */
};

static int receive_in_time(const struct entering *try, void *bytes, size_t size)
{
    for (size_t have = 0; have < size;) {
        struct pollfd input = {.fd = try->fd, .events = POLLIN};
        const uint64_t now = shmemi_clock();
        int n = now < try->end ? poll(&input, 1, (int)((try->end - now) / 1000000) + 1) : 0;
        if (!n)
            return -ETIMEDOUT;
        ssize_t got = n > 0 ? recv(try->fd, (char *)bytes + have, size - have, MSG_DONTWAIT) : -1;
        if (!got)
            return -ECONNRESET;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        have += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

static int send_little(const struct entering *try, const void *bytes, size_t size)
{
    return send(try->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -EPIPE;
}

/* Both ends prove that they know the key. -EACCES: the other end does not. */
static int prove(const struct entering *try)
{
    const struct shmemi_ticket *ticket = try->ticket;
    struct shmemi_greeting greeting = {.magic = SHMEMI_GREETING_MAGIC};
    struct shmemi_challenge challenge;
    struct shmemi_entry entry = {
        .pe = (uint32_t)ticket->pe, .n_pes = (uint32_t)ticket->n_pes, .is_host = ticket->is_host};
    int rc = shmemi_key_make(&greeting.nonce);
    if (!rc)
        rc = send_little(try, &greeting, sizeof greeting);
    if (!rc)
        rc = receive_in_time(try, &challenge, sizeof challenge);
    if (rc)
        return rc;
    const struct shmemi_key nonce[] = {greeting.nonce, challenge.nonce};
    const struct shmemi_key expected = shmemi_rendezvous_proof(&ticket->key, nonce, try->port, NULL);
    if (!shmemi_key_equals(&challenge.proof, &expected))
        return -EACCES;
    entry.proof = shmemi_rendezvous_proof(&ticket->key, nonce, try->port, &entry);
    return send_little(try, &entry, sizeof entry);
}

/* Whoever answers now knows the key. */
static int await_welcome(struct entering *try)
{
    struct shmemi_frame frame;
    struct shmemi_end_of_job end;
    int rc = receive_in_time(try, &frame, sizeof frame);
    if (rc || (frame.kind == SHMEMI_FRAME_WELCOME && !frame.size))
        return rc;
    if (frame.kind != SHMEMI_FRAME_END || frame.size != sizeof end)
        return -EPROTO;
    rc = receive_in_time(try, &end, sizeof end);
    if (rc)
        return rc;
    shmemi_rendezvous_tell_end(&end);
    try->is_refused = true;
    return -EINVAL;
}

/* `first` times the number of a turn, and at most `most`. */
static int growing(int first, int turn, int most)
{
    return turn < most / first ? turn * first : most;
}

/* Limit a wait by what is left of the time of shmem_init. */
static int within_init(int milliseconds)
{
    int left = shmemi_init_milliseconds_left();
    return left >= 0 && left < milliseconds ? left : milliseconds;
}

/* One try at one venue. The descriptor or -errno. */
static int try_venue(struct entering *try, const struct shmemi_venue *venue, int answer_ms)
{
    int fd = shmemi_venue_connect(venue, within_init(CONNECT_MS));
    if (fd < 0)
        return fd;
    try->fd = fd;
    try->port = shmemi_venue_port_of(venue);
    try->end = shmemi_clock() + (uint64_t)within_init(answer_ms) * 1000000;
    int rc = prove(try);
    if (!rc)
        rc = await_welcome(try);
    if (!rc && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
        rc = -errno;
    if (!rc) {
        shmemi_venue_watch(fd);
        return fd;
    }
    shmemi_kept_close(fd);
    return rc;
}

/* How much an error says about the start: there is no way to a place, nobody listens, a stranger does; any other may be
 * the right server's. */
static unsigned weight_of(int rc)
{
    static const int rising[] = {0,     ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT, ECONNREFUSED,
                                 EPERM, EACCES};
    unsigned weight = 0;
    while (weight < sizeof rising / sizeof rising[0] && rising[weight] != -rc)
        weight++;
    return weight;
}

/* All places once. The descriptor, or the error that says most; of a round that the end of shmem_init has cut short, that of the
 * round before. */
static int try_all(struct entering *try, int answer_ms)
{
    char text[128];
    const struct shmemi_venue *told = NULL;
    int most = 0;
    for (int i = 0; i < try->ticket->n_venues; i++) {
        const struct shmemi_venue *venue = &try->ticket->venues[i];
        int rc = try_venue(try, venue, answer_ms);
        if (rc >= 0 || try->is_refused)
            return rc;
        errno = -rc;
        if (rc != -ECONNREFUSED)
            shmemi_debug("not let in at %s: %m", shmemi_venue_text(venue, text, sizeof text));
        if (weight_of(rc) > weight_of(most)) {
            most = rc;
            told = venue;
        }
    }
    if (!try->told || !shmemi_init_is_overdue()) {
        try->error = most;
        try->told = told;
    }
    return try->error;
}

static const char *fault_by_variables(int rc)
{
    return rc == -ECONNREFUSED ? "PE 0 has not come"
           : rc == -EPERM      ? "another user's process listens there"
           : rc == -EACCES
               ? "who listens there has another key: SHMEM_KEY_FILE and torchrun's variables must be the same "
                 "for all PEs"
               : strerror(-rc);
}

static int report_failure(const struct entering *try, int rc)
{
    const struct shmemi_ticket *ticket = try->ticket;
    const char *fault = rc == -EACCES ? "who listens there does not know the key" : strerror(-rc);
    char venue[128], text[384];
    shmemi_venue_text(try->told, venue, sizeof venue);
    if (ticket->is_patient)
        fault = ticket->is_host ? "this PE is PE 0, and listens, but MASTER_ADDR does not lead to its host"
                                : fault_by_variables(rc);
    if (ticket->is_patient || shmemi_init_is_overdue()) {
        snprintf(text, sizeof text, "; this PE was not let in at %s%s: %s", venue,
                 ticket->n_venues > 1 ? " and other places" : "", fault);
        return shmemi_init_is_over(text);
    }
    shmemi_error("no start with this unique id is possible at %s (%s): has the process that called "
                 "shmemx_get_uniqueid ended, or has the id served a start already?%s",
                 venue, fault, shmemi_remedy(-rc));
    return rc;
}

int shmemi_rendezvous_enter(const struct shmemi_ticket *ticket)
{
    const uint64_t begin = shmemi_clock();
    struct entering try = {.ticket = ticket};
    for (int turn = 1;; turn++) {
        int rc = try_all(&try, growing(ANSWER_MS, turn, ANSWER_MOST_MS));
        if (rc >= 0 || try.is_refused)
            return rc;
        const bool is_hopeless = !ticket->is_patient && (rc == -ECONNREFUSED || rc == -EACCES) &&
                                 shmemi_clock() - begin > IMPATIENT_MS * UINT64_C(1000000);
        if (is_hopeless || shmemi_init_is_overdue())
            return report_failure(&try, rc);
        usleep((useconds_t)within_init(growing(PAUSE_MS, turn, PAUSE_MOST_MS)) * 1000);
    }
}
