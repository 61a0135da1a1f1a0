/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The server of a rendezvous: its thread, which waits for what comes on all connections.
 *
 * Strangers may connect, say anything or nothing, and stay. They get a place among the few that are not yet members; when
 * these are taken, the oldest of them has to go, but not before it has had time to answer. A PE that lost its place so
 * connects again.
 */
#include "bootstrap/rendezvous/rendezvous_server.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/thread/thread_start.h"
#include "bootstrap/rendezvous/kept_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    STRANGERS_MAX = 128,    /* connections that are no members */
    ANSWER_MS = 250,        /* that a connection has to answer while others wait for its place */
    FAREWELL_LOOK_MS = 100, /* between looks at the clock when the job ends */
};

/* All servers of this process and, in a child that was forked, those of its parent. */
static struct {
    pthread_mutex_t lock;
    struct shmemi_rendezvous_server *first;
} servers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_member(const struct shmemi_visitor *visitor)
{
    return visitor->stage == SHMEMI_VISITOR_MEMBER;
}

/* ---- Who is there ------------------------------------------------------------------------------------------------ */

static void stop_listening(struct shmemi_rendezvous_server *server)
{
    if (server->listener >= 0)
        shmemi_kept_close(server->listener);
    server->listener = -1;
}

/* Drop a visitor; the last one takes its venue. */
static void drop(struct shmemi_rendezvous_server *server, int i)
{
    struct shmemi_visitor *visitor = server->visitors[i];
    server->visitors[i] = server->visitors[--server->n];
    server->polls[i] = server->polls[server->n];
    server->is_full = false;
    shmemi_server_lose(server, visitor);
    shmemi_visitor_free(visitor);
}

static void drop_strangers(struct shmemi_rendezvous_server *server)
{
    for (int i = server->n - 1; i >= 0; i--)
        if (!is_member(server->visitors[i]))
            drop(server, i);
}

static int make_room(struct shmemi_rendezvous_server *server)
{
    if (server->n < server->room)
        return 0;
    const size_t room = server->room ? 2 * (size_t)server->room : 16;
    struct shmemi_visitor **visitors = realloc(server->visitors, room * sizeof(struct shmemi_visitor *));
    if (visitors)
        server->visitors = visitors;
    struct pollfd *polls = realloc(server->polls, (room + 1) * sizeof *polls);
    if (polls)
        server->polls = polls;
    if (!visitors || !polls)
        return -ENOMEM;
    server->room = (int)room;
    return 0;
}

/* The oldest visitor that is no member, or -1; *n_p is their number. */
static int oldest_stranger(const struct shmemi_rendezvous_server *server, int *n_p)
{
    int oldest = -1;
    *n_p = 0;
    for (int i = 0; i < server->n; i++) {
        if (is_member(server->visitors[i]))
            continue;
        ++*n_p;
        if (oldest < 0 || server->visitors[i]->since < server->visitors[oldest]->since)
            oldest = i;
    }
    return oldest;
}

/* How many milliseconds the oldest stranger may still take; -1: there is none. */
static int patience_with(const struct shmemi_rendezvous_server *server, int stranger)
{
    if (stranger < 0)
        return -1;
    const uint64_t waited = (shmemi_clock() - server->visitors[stranger]->since) / 1000000;
    return waited < ANSWER_MS ? (int)(ANSWER_MS - waited) : 0;
}

/* Any number of files that are open elsewhere may be closed later. */
static void accept_one(struct shmemi_rendezvous_server *server)
{
    int fd = make_room(server) ? -ENOMEM : shmemi_kept_accept(server->listener);
    struct shmemi_visitor *visitor = fd >= 0 ? shmemi_visitor_new(fd) : NULL;
    if (visitor && shmemi_venue_may_trust(fd)) {
        shmemi_venue_watch(fd);
        server->polls[server->n] = (struct pollfd){.fd = fd};
        server->visitors[server->n++] = visitor;
        return;
    }
    server->is_full = fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS || (fd >= 0 && !visitor);
    if (server->is_full)
        shmemi_debug("no further PE can be let in for the moment%s", shmemi_remedy(fd < 0 ? -fd : ENOMEM));
    if (visitor) {
        shmemi_ignore_foreign("to the place where the PEs meet");
        shmemi_visitor_free(visitor);
    } else if (fd >= 0) {
        shmemi_kept_close(fd);
    }
}

/* ---- What they say ----------------------------------------------------------------------------------------------- */

/* As many frames as have come. */
static int read_all(struct shmemi_rendezvous_server *server, struct shmemi_visitor *visitor)
{
    int rc;
    while ((rc = shmemi_visitor_receive(visitor)) > 0) {
        rc = shmemi_server_hear(server, visitor);
        if (rc)
            return rc;
        shmemi_visitor_next(visitor);
    }
    return rc;
}

static void attend(struct shmemi_rendezvous_server *server, int i)
{
    struct shmemi_visitor *visitor = server->visitors[i];
    const short events = server->polls[i].revents;
    int rc = events & POLLOUT ? shmemi_visitor_flush(visitor) : 0;
    if (!rc && events & ~POLLOUT)
        rc = read_all(server, visitor);
    if (!rc)
        return;
    if (!is_member(visitor) && (rc == -EPROTO || rc == -EACCES))
        shmemi_ignore_foreign("to the place where the PEs meet");
    drop(server, i);
}

static void attend_all(struct shmemi_rendezvous_server *server)
{
    for (int i = server->n - 1; i >= 0; i--)
        if (server->polls[i].revents)
            attend(server, i);
    if (server->end || (server->n_pes && server->n_members == server->n_pes)) {
        stop_listening(server);
        drop_strangers(server);
    }
}

/* How long to wait for something to happen, and whether to listen meanwhile. */
static int prepare_wait(struct shmemi_rendezvous_server *server, bool *listens_p)
{
    int n_strangers, stranger = oldest_stranger(server, &n_strangers);
    const int patience = patience_with(server, stranger);
    bool is_full = server->is_full || n_strangers >= STRANGERS_MAX;
    if (is_full && patience == 0) {
        drop(server, stranger);
        is_full = false;
    }
    *listens_p = server->listener >= 0 && !is_full;
    if (server->end)
        return FAREWELL_LOOK_MS;
    if (!is_full)
        return -1;
    server->is_full = false; /* after the wait it is tried again */
    return patience < 0 ? ANSWER_MS : patience;
}

static void serve_some(struct shmemi_rendezvous_server *server)
{
    bool listens;
    int wait = prepare_wait(server, &listens);
    for (int i = 0; i < server->n; i++) {
        server->polls[i].events = server->visitors[i]->n_queued ? POLLIN | POLLOUT : POLLIN;
        server->polls[i].revents = 0;
    }
    const int n = server->n;
    server->polls[n] = (struct pollfd){.fd = listens ? server->listener : -1, .events = POLLIN};
    if (poll(server->polls, (nfds_t)n + 1, wait) <= 0)
        return;
    const bool has_visitor = server->polls[n].revents;
    attend_all(server);
    if (has_visitor && server->listener >= 0)
        accept_one(server);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&servers.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&servers.lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static void enlist(struct shmemi_rendezvous_server *server)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    pthread_once(&watched, watch_forks);
    pthread_mutex_lock(&servers.lock);
    server->next = servers.first;
    servers.first = server;
    pthread_mutex_unlock(&servers.lock);
}

static void strike(const struct shmemi_rendezvous_server *server)
{
    pthread_mutex_lock(&servers.lock);
    struct shmemi_rendezvous_server **link = &servers.first;
    while (*link != server)
        link = &(*link)->next;
    *link = server->next;
    pthread_mutex_unlock(&servers.lock);
}

bool shmemi_rendezvous_is_here(const struct shmemi_key *key)
{
    bool is_here = false;
    pthread_mutex_lock(&servers.lock);
    for (const struct shmemi_rendezvous_server *server = servers.first; server; server = server->next)
        is_here = is_here || (server->process == getpid() && shmemi_key_equals(&server->key, key));
    pthread_mutex_unlock(&servers.lock);
    return is_here;
}

static void release(struct shmemi_rendezvous_server *server)
{
    strike(server);
    for (int i = 0; i < server->n; i++)
        shmemi_visitor_free(server->visitors[i]);
    shmemi_parcel_drop(server->farewell);
    free(server->members);
    free(server->visitors);
    free(server->polls);
    free(server);
}

static void *serve(void *argument)
{
    struct shmemi_rendezvous_server *server = argument;
    while (!server->end || !shmemi_server_is_over(server))
        serve_some(server);
    stop_listening(server);
    release(server);
    return NULL;
}

static int start_thread(struct shmemi_rendezvous_server *server)
{
    pthread_t thread;
    int rc = make_room(server);
    if (!rc)
        rc = shmemi_thread_start(&thread, "the thread of the place where the PEs meet", serve, server);
    if (!rc)
        pthread_detach(thread);
    return rc;
}

int shmemi_rendezvous_serve(int listener, const struct shmemi_key *key)
{
    struct shmemi_rendezvous_server *server = calloc(1, sizeof *server);
    int rc = -ENOMEM;
    if (server) {
        shmemi_descriptors_reserve(STRANGERS_MAX);
        server->process = getpid();
        server->listener = listener;
        server->key = *key;
        enlist(server);
        rc = start_thread(server);
    }
    if (rc == -ENOMEM)
        shmemi_error("out of memory for the place where the PEs meet");
    if (!rc)
        return 0;
    shmemi_kept_close(listener);
    if (server)
        release(server);
    return rc;
}
