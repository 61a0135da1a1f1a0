/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hands the node segment to the PEs of the node.
 */
#define _GNU_SOURCE
#include "transport/handout.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/sockets.h"

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
    BACKLOG = 4096,
    VISITORS_MAX = 64, /* that have connected and not yet said what they want; further ones wait */
    EARLIER_BY = 500,  /* milliseconds by which the lowest PE gives up before the others: so it tells who is missing */
    LAST_WORDS_SECONDS = 5, /* for a PE that cannot start to say why, and to end the job */
};

struct question {
    struct shmemi_key key;
    uint32_t pe;
    uint32_t padding;
};

struct answer {
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
    listener = shmemi_socket_open(SOCK_SEQPACKET, false, number_p);
    int rc = listener < 0 ? listener : listen(listener, BACKLOG) ? -errno : 0;
    if (!rc)
        return 0;
    errno = -rc;
    shmemi_error("cannot make the socket that joins the PEs of this node: %m%s", shmemi_remedy(-rc));
    *number_p = 0;
    shmemi_handout_close();
    return rc;
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
    struct pollfd list[1 + VISITORS_MAX];
    nfds_t n;
    bool *is_served; /* by node rank */
    int n_left;
};

static void hand_out(struct serving *serving, int visitor)
{
    struct answer answer = {shmemi_job.key, *serving->handout};
    struct iovec vector = {&answer, sizeof answer};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    union shmemi_enclosed enclosed;
    shmemi_socket_enclose(&message, &enclosed, serving->segment, false);
    if (sendmsg(visitor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof answer)
        shmemi_warn("cannot pass the shared memory to a PE of this node: %m");
}

/* The node rank of a visitor who has asked as a PE of this job does, or -1. What it may have enclosed is not received. */
static int rank_of_visitor(int visitor)
{
    struct question question;
    if (recv(visitor, &question, sizeof question, MSG_DONTWAIT | MSG_TRUNC) != (ssize_t)sizeof question ||
        !shmemi_key_equals(&question.key, &shmemi_job.key) || question.pe >= (uint32_t)shmemi_job.n_pes)
        return -1;
    return shmemi_job_node_rank_of((int)question.pe);
}

static void hear(struct serving *serving, int visitor)
{
    int rank = rank_of_visitor(visitor);
    if (rank < 0) {
        shmemi_refuse_stranger("to the socket of this node's shared memory");
        return;
    }
    hand_out(serving, visitor);
    serving->n_left -= !serving->is_served[rank];
    serving->is_served[rank] = true;
}

static int admit(struct serving *serving)
{
    int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (visitor < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        int rc = -errno;
        shmemi_error("cannot hear the PEs of this node: %m%s", shmemi_remedy(-rc));
        return rc;
    }
    if (visitor < 0) /* it has gone again */
        return 0;
    if (shmemi_socket_peer_is_own(visitor)) {
        serving->list[serving->n++] = (struct pollfd){.fd = visitor, .events = POLLIN};
    } else {
        shmemi_refuse_stranger("to the socket of this node's shared memory");
        close(visitor);
    }
    return 0;
}

/* Hear those who have something to say, and keep the others. */
static void hear_all(struct serving *serving)
{
    nfds_t kept = 1;
    for (nfds_t i = 1; i < serving->n; i++) {
        if (serving->list[i].revents) {
            hear(serving, serving->list[i].fd);
            close(serving->list[i].fd);
        } else {
            serving->list[kept++] = serving->list[i];
        }
    }
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

static int milliseconds_to_wait(void)
{
    int left = shmemi_init_milliseconds_left();
    return left < 0 ? -1 : left > EARLIER_BY ? left - EARLIER_BY : 0;
}

static int serve(struct serving *serving)
{
    int rc = 0;
    while (!rc && serving->n_left) {
        serving->list[0].fd = serving->n <= VISITORS_MAX ? listener : -1;
        int n_ready = poll(serving->list, serving->n, milliseconds_to_wait());
        if (!n_ready)
            return report_missing(serving->is_served);
        if (n_ready < 0)
            continue; /* a signal */
        bool has_visitor = serving->list[0].revents;
        hear_all(serving);
        rc = has_visitor ? admit(serving) : 0;
    }
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
    int rc;
    do
        rc = connect(fd, (struct sockaddr *)&address, length) ? -errno : 0;
    while (rc == -EINTR);
    if (!rc && !shmemi_socket_peer_is_own(fd))
        rc = -EPERM;
    if (!rc)
        return fd;
    close(fd);
    return rc;
}

static int ask(int fd)
{
    const struct question question = {.key = shmemi_job.key, .pe = (uint32_t)shmemi_job.pe};
    ssize_t sent;
    do
        sent = send(fd, &question, sizeof question, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof question ? 0 : -errno;
}

/* Only the lowest PE of the node can answer, so what is wrong is its fault or an accident. */
static int hear_answer(int fd, struct answer *answer, struct shmemi_descriptors *taken)
{
    struct iovec vector = {answer, sizeof *answer};
    union shmemi_enclosed enclosed;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &enclosed, .msg_controllen = sizeof enclosed};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    shmemi_socket_unpack(&message, taken); /* an empty message may bring descriptors, too */
    if (got == 0)
        return -ECONNRESET;
    bool is_whole = got == (ssize_t)sizeof *answer && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    return is_whole && taken->count == 1 && shmemi_key_equals(&answer->key, &shmemi_job.key) ? 0 : -EPROTO;
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
    struct answer answer;
    struct shmemi_descriptors taken = {.count = 0};
    if (!number) { /* the lowest PE has failed */
        sleep(LAST_WORDS_SECONDS);
        shmemi_error("PE %d, the lowest of this node, could not start", shmemi_job.node_pes[0]);
        return -ECONNREFUSED;
    }
    int fd = connect_to(number), rc = fd < 0 ? fd : ask(fd);
    if (!rc)
        rc = hear_answer(fd, &answer, &taken);
    rc = rc ? report(rc) : check(&answer.handout, expected, taken.fd[0]);
    if (fd >= 0)
        close(fd);
    if (!rc)
        return taken.fd[0];
    shmemi_descriptors_close(&taken);
    return rc;
}
