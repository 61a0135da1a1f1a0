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
    VISITORS_MAX = 64,  /* that have connected and not yet said what they want; further ones wait */
    SILENCE_MAX = 1000, /* milliseconds that a visitor may say nothing while others wait for its place */
    ASK_AGAIN_MAX = 4,  /* times that a PE connects once more because its place was needed */
    EARLIER_BY = 500,   /* milliseconds by which the lowest PE gives up before the others: so it tells who is missing */
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
    uint64_t since[1 + VISITORS_MAX]; /* when each has connected, by shmemi_clock */
    nfds_t n;
    bool is_full;    /* no further visitor fits, into the list or into this process' table of descriptors */
    bool *is_served; /* by node rank */
    int n_left;
};

static int milliseconds_to_wait(void)
{
    int left = shmemi_init_milliseconds_left();
    return left < 0 ? -1 : left > EARLIER_BY ? left - EARLIER_BY : 0;
}

/* A user may have so many descriptors under way between processes, in all jobs together, as a process may open: others
 * will take theirs. */
static bool is_passing(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS || error == EINTR;
}

static bool hand_out(struct serving *serving, int visitor)
{
    struct answer answer = {shmemi_job.key, *serving->handout};
    struct iovec vector = {&answer, sizeof answer};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    union shmemi_enclosed enclosed;
    shmemi_socket_enclose(&message, &enclosed, serving->segment, false);
    ssize_t sent;
    while ((sent = sendmsg(visitor, &message, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && is_passing(errno) &&
           milliseconds_to_wait())
        usleep(1000);
    if (sent < 0 && errno != EPIPE)
        shmemi_warn("cannot pass the shared memory to a PE of this node: %m%s", shmemi_remedy(errno));
    return sent == (ssize_t)sizeof answer;
}

/* The node rank of one who has asked as a PE of this job does, or -1. */
static int rank_of_asker(const struct question *question, ssize_t size)
{
    if (size != (ssize_t)sizeof *question || !shmemi_key_equals(&question->key, &shmemi_job.key) ||
        question->pe >= (uint32_t)shmemi_job.n_pes)
        return -1;
    return shmemi_job_node_rank_of((int)question->pe);
}

/* What a visitor may have enclosed is not received. */
static void hear(struct serving *serving, int visitor)
{
    struct question question;
    ssize_t size = recv(visitor, &question, sizeof question, MSG_DONTWAIT | MSG_TRUNC);
    if (size <= 0) /* it has gone again */
        return;
    int rank = rank_of_asker(&question, size);
    if (rank < 0) {
        shmemi_ignore_foreign("to the socket of this node's shared memory");
    } else if (hand_out(serving, visitor)) {
        serving->n_left -= !serving->is_served[rank];
        serving->is_served[rank] = true;
    }
}

/* With some visitors, the place of one of them will be free. With none, only errors of one who has gone again pass. */
static int fail_to_admit(struct serving *serving)
{
    int rc = -errno;
    serving->is_full = rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS;
    if (!serving->is_full || serving->n > 1)
        return 0;
    shmemi_error("cannot hear the PEs of this node: %m%s", shmemi_remedy(-rc));
    return rc;
}

static int admit(struct serving *serving)
{
    int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (visitor < 0)
        return fail_to_admit(serving);
    if (shmemi_socket_peer_is_own(visitor)) {
        serving->since[serving->n] = shmemi_clock();
        serving->list[serving->n++] = (struct pollfd){.fd = visitor, .events = POLLIN};
        serving->is_full = serving->n > VISITORS_MAX;
    } else {
        shmemi_ignore_foreign("to the socket of this node's shared memory");
        close(visitor);
    }
    return 0;
}

static bool is_silent(const struct serving *serving, nfds_t i)
{
    return serving->is_full && shmemi_clock() - serving->since[i] > SILENCE_MAX * UINT64_C(1000000);
}

/* Hear those who have something to say, and keep the others as long as there is room. */
static void hear_all(struct serving *serving)
{
    nfds_t kept = 1;
    for (nfds_t i = 1; i < serving->n; i++) {
        if (!serving->list[i].revents && !is_silent(serving, i)) {
            serving->since[kept] = serving->since[i];
            serving->list[kept++] = serving->list[i];
            continue;
        }
        if (serving->list[i].revents)
            hear(serving, serving->list[i].fd);
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

/* A turn of the loop. The time counts also while strangers come one after the other. */
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
    bool has_visitor = serving->list[0].revents;
    hear_all(serving);
    return has_visitor ? admit(serving) : 0;
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

static int visit(uint64_t number, struct answer *answer, struct shmemi_descriptors *taken)
{
    int fd = connect_to(number), rc = fd < 0 ? fd : ask(fd);
    if (!rc)
        rc = hear_answer(fd, answer, taken);
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
    struct answer answer;
    struct shmemi_descriptors taken = {.count = 0};
    if (!number) { /* the lowest PE has failed */
        sleep(LAST_WORDS_SECONDS);
        shmemi_error("PE %d, the lowest of this node, could not start", shmemi_job.node_pes[0]);
        return -ECONNREFUSED;
    }
    int rc = visit(number, &answer, &taken);
    for (int i = 0; i < ASK_AGAIN_MAX && (rc == -ECONNRESET || rc == -EPIPE); i++) {
        shmemi_descriptors_close(&taken);
        rc = visit(number, &answer, &taken);
    }
    rc = rc ? report(rc) : check(&answer.handout, expected, taken.fd[0]);
    if (!rc)
        return taken.fd[0];
    shmemi_descriptors_close(&taken);
    return rc;
}
