/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hands the node segment to the PEs of the node.
 */
#define _GNU_SOURCE
#include "transport/sockets/handout.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/system/own_peer.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/sockets/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
    CLIENTS_MAX = 64,   /* that have connected and not yet sent a request; further ones wait */
    SILENCE_MAX = 1000, /* milliseconds that a client may send nothing while others wait for its place */
    RETRIES_MAX = 4,    /* times that a PE connects once more because its place was needed */
    EARLIER_BY = 500,   /* milliseconds by which the lowest PE gives up before the others: so it tells who is missing */
    LAST_WORDS_SECONDS = 5, /* for a PE that cannot start to say why, and to end the job */
};

struct segment_request {
    struct shmemi_key key;
    uint32_t pe;
    uint32_t padding;
};

struct segment_reply {
    struct shmemi_key key;
    struct shmemi_handout handout;
};

static int listener = -1;

/* ---- The segment ------------------------------------------------------------------------------------------------- */

int shmemi_handout_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : 0;
}

/* Only memory of memfd_create has seals. */
bool shmemi_handout_is_sound(int fd, uint64_t size)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
           (uint64_t)status.st_size == size;
}

/* ---- The lowest PE ----------------------------------------------------------------------------------------------- */

int shmemi_handout_open(uint64_t *number_p)
{
    listener = shmemi_socket_open_to_node(SOCK_SEQPACKET, number_p);
    return listener < 0 ? listener : 0;
}

void shmemi_handout_close(void)
{
    if (listener >= 0)
        close(listener);
    listener = -1;
}

/* list[0] is the listener, the others have connected. */
struct serving {
    const struct shmemi_descriptors *segment;
    const struct shmemi_handout *handout;
    struct pollfd list[1 + CLIENTS_MAX];
    uint64_t since[1 + CLIENTS_MAX]; /* when each has connected, by shmemi_clock */
    nfds_t n;
    bool is_full;    /* no further client fits, into the list or into this process' table of descriptors */
    bool *is_served; /* by node rank */
    int n_left;
};

static int milliseconds_to_wait(void)
{
    int left = shmemi_init_milliseconds_left();
    return left < 0 ? -1 : left > EARLIER_BY ? left - EARLIER_BY : 0;
}

static bool send_segment(const struct serving *serving, int client)
{
    struct segment_reply reply = {shmemi_job.key, *serving->handout};
    const struct shmemi_message message = {.data = &reply, .size = sizeof reply, .beside = *serving->segment};
    int rc;
    while (shmemi_socket_is_busy(rc = shmemi_socket_send(client, 0, &message)) && milliseconds_to_wait())
        usleep(1000);
    errno = -rc;
    if (rc && rc != -EPIPE)
        shmemi_warn("cannot pass the shared memory to a PE of this node: %m%s", shmemi_remedy(-rc));
    return !rc;
}

/* The node rank of a client that sends what a PE of this job does, or -1. */
static int rank_of_client(const struct segment_request *request, ssize_t size)
{
    if (size != (ssize_t)sizeof *request || !shmemi_key_equals(&request->key, &shmemi_job.key) ||
        request->pe >= (uint32_t)shmemi_job.n_pes)
        return -1;
    return shmemi_job_node_rank_of((int)request->pe);
}

/* Descriptors that a client may have enclosed are not received. */
static void answer(struct serving *serving, int client)
{
    struct segment_request request;
    ssize_t size = recv(client, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (size <= 0) /* it has gone again */
        return;
    int rank = rank_of_client(&request, size);
    if (rank < 0) {
        shmemi_ignore_foreign("to the socket of this node's shared memory");
    } else if (send_segment(serving, client)) {
        serving->n_left -= !serving->is_served[rank];
        serving->is_served[rank] = true;
    }
}

/* While clients are connected, the place of one of them will be free. Without any, errors of a client that has gone again
 * pass, and all others are final. */
static int fail_to_accept(struct serving *serving)
{
    int rc = -errno;
    serving->is_full = rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS;
    if (!serving->is_full || serving->n > 1)
        return 0;
    shmemi_error("cannot hear the PEs of this node: %m%s", shmemi_remedy(-rc));
    return rc;
}

static int accept_client(struct serving *serving)
{
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return fail_to_accept(serving);
    if (shmemi_peer_is_own(client)) {
        serving->since[serving->n] = shmemi_clock();
        serving->list[serving->n++] = (struct pollfd){.fd = client, .events = POLLIN};
        serving->is_full = serving->n > CLIENTS_MAX;
    } else {
        shmemi_ignore_foreign("to the socket of this node's shared memory");
        close(client);
    }
    return 0;
}

static bool is_silent(const struct serving *serving, nfds_t i)
{
    return serving->is_full && shmemi_clock() - serving->since[i] > SILENCE_MAX * UINT64_C(1000000);
}

/* Answer those that have sent a request, and keep the others as long as there is room. */
static void answer_all(struct serving *serving)
{
    nfds_t kept = 1;
    for (nfds_t i = 1; i < serving->n; i++) {
        if (!serving->list[i].revents && !is_silent(serving, i)) {
            serving->since[kept] = serving->since[i];
            serving->list[kept++] = serving->list[i];
            continue;
        }
        if (serving->list[i].revents)
            answer(serving, serving->list[i].fd);
        close(serving->list[i].fd);
    }
    serving->is_full = serving->is_full && kept == serving->n;
    serving->n = kept;
}

static int report_missing(const bool *is_served)
{
    char text[512] = "";
    unsigned n = 0;
    for (int rank = 1; rank < shmemi_job.node_n_pes; rank++)
        if (!is_served[rank])
            shmemi_append_pe(text, sizeof text, &n, shmemi_job.node_pes[rank]);
    shmemi_error("shmem_init has not ended within %zu s (SHMEM_TIMEOUT): %s of this node %s not come",
                 shmemi_settings.timeout, text, n == 1 ? "has" : "have");
    return -ETIMEDOUT;
}

/* A turn of the loop. The time counts also while clients of others come one after the other. */
static int serve_some(struct serving *serving)
{
    int left = milliseconds_to_wait();
    if (left == 0)
        return report_missing(serving->is_served);
    if (serving->is_full && (left < 0 || left > SILENCE_MAX))
        left = SILENCE_MAX;
    serving->list[0].fd = serving->is_full ? -1 : listener;
    serving->list[0].revents = 0;
    if (poll(serving->list, serving->n, left) < 0)
        return errno == EINTR ? 0 : -errno;
    bool has_client = serving->list[0].revents;
    answer_all(serving);
    return has_client ? accept_client(serving) : 0;
}

static int serve(struct serving *serving)
{
    int rc = 0;
    while (!rc && serving->n_left)
        rc = serve_some(serving);
    return rc;
}

int shmemi_handout_serve(int segment, const struct shmemi_handout *handout)
{
    const struct shmemi_descriptors descriptors = {.count = 1, .fd = {segment}};
    struct serving serving = {
        .segment = &descriptors,
        .handout = handout,
        .list = {{.fd = listener, .events = POLLIN}},
        .n = 1,
        .is_served = calloc((size_t)shmemi_job.node_n_pes, sizeof *serving.is_served),
        .n_left = shmemi_job.node_n_pes - 1,
    };
    if (!serving.is_served)
        return -ENOMEM;
    int rc = serve(&serving);
    for (nfds_t i = 1; i < serving.n; i++)
        close(serving.list[i].fd);
    free(serving.is_served);
    return rc;
}

/* ---- The others -------------------------------------------------------------------------------------------------- */

/* What this PE does on the connection ends with -EAGAIN when the time of shmem_init is over. */
static void limit_waits(int fd)
{
    int left = shmemi_init_milliseconds_left();
    const struct timeval limit = {left < 0 ? 0 : left / 1000, left < 0 ? 0 : left % 1000 * 1000 + 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static int connect_to(uint64_t number)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(number, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    limit_waits(fd);
    int rc = TEMP_FAILURE_RETRY(connect(fd, (struct sockaddr *)&address, length)) ? -errno : 0;
    if (!rc && !shmemi_peer_is_own(fd))
        rc = -EPERM;
    if (!rc)
        return fd;
    close(fd);
    return rc;
}

static int send_request(int fd)
{
    const struct segment_request request = {.key = shmemi_job.key, .pe = (uint32_t)shmemi_job.pe};
    ssize_t sent = TEMP_FAILURE_RETRY(send(fd, &request, sizeof request, MSG_NOSIGNAL));
    return sent == (ssize_t)sizeof request ? 0 : -errno;
}

/* Only the lowest PE of the node can answer, so what is wrong is its fault or an accident. An empty message may bring
 * descriptors, too. */
static int receive_reply(int fd, struct segment_reply *reply, struct shmemi_descriptors *taken)
{
    struct shmemi_message message = {.data = reply, .size = sizeof *reply};
    ssize_t size;
    do
        size = shmemi_socket_receive(fd, 0, &message);
    while (size == -EINTR);
    *taken = message.beside;
    if (size <= 0)
        return size ? (int)size : -ECONNRESET;
    const bool is_whole = size == (ssize_t)sizeof *reply && !message.has_lost;
    return is_whole && taken->count == 1 && shmemi_key_equals(&reply->key, &shmemi_job.key) ? 0 : -EPROTO;
}

static int fetch_once(uint64_t number, struct segment_reply *reply, struct shmemi_descriptors *taken)
{
    int fd = connect_to(number), rc = fd < 0 ? fd : send_request(fd);
    if (!rc)
        rc = receive_reply(fd, reply, taken);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int report(int rc)
{
    const int leader = shmemi_job.node_pes[0];
    if (rc == -EAGAIN || rc == -ETIMEDOUT) {
        shmemi_error("PE %d has not passed on the shared memory within %zu s (SHMEM_TIMEOUT)", leader,
                     shmemi_settings.timeout);
        return -ETIMEDOUT;
    }
    if (rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EPIPE)
        sleep(LAST_WORDS_SECONDS);
    errno = -rc;
    if (rc == -ECONNREFUSED)
        shmemi_error("cannot get the shared memory of PE %d of this node: %m; the PEs of a node must share a network "
                     "namespace, or set SHMEM_NODE_SIZE=1",
                     leader);
    else if (rc == -EPERM)
        shmemi_error("the socket of PE %d of this node belongs to another user", leader);
    else
        shmemi_error("cannot get the shared memory of PE %d of this node: %m%s", leader, shmemi_remedy(-rc));
    return rc;
}

static int check(const struct shmemi_handout *handout, const struct shmemi_handout *expected, int fd)
{
    if (handout->heap_size != expected->heap_size) {
        shmemi_error("the symmetric heap of this PE has %zu bytes, that of PE %d %zu; SHMEM_SYMMETRIC_SIZE must be the "
                     "same on all PEs",
                     (size_t)expected->heap_size, shmemi_job.node_pes[0], (size_t)handout->heap_size);
        return -EINVAL;
    }
    if (handout->size != expected->size) {
        shmemi_error("the shared memory of this node has %zu bytes by the settings of this PE, %zu by those of PE %d; "
                     "SHMEM_STAGING_CHUNK and SHMEM_STAGING_SLOTS must be the same on all PEs",
                     (size_t)expected->size, (size_t)handout->size, shmemi_job.node_pes[0]);
        return -EINVAL;
    }
    if (shmemi_handout_is_sound(fd, expected->size))
        return 0;
    shmemi_error("PE %d passed on something else than the shared memory", shmemi_job.node_pes[0]);
    return -EPROTO;
}

int shmemi_handout_fetch(uint64_t number, const struct shmemi_handout *expected)
{
    struct segment_reply reply;
    struct shmemi_descriptors taken = {.count = 0};
    if (!number) { /* the lowest PE has failed */
        sleep(LAST_WORDS_SECONDS);
        shmemi_error("PE %d, the lowest of this node, could not start", shmemi_job.node_pes[0]);
        return -ECONNREFUSED;
    }
    int rc = fetch_once(number, &reply, &taken);
    for (int i = 0; i < RETRIES_MAX && (rc == -ECONNRESET || rc == -EPIPE); i++) {
        shmemi_descriptors_close(&taken);
        rc = fetch_once(number, &reply, &taken);
    }
    rc = rc ? report(rc) : check(&reply.handout, expected, taken.fd[0]);
    if (!rc)
        return taken.fd[0];
    shmemi_descriptors_close(&taken);
    return rc;
}
