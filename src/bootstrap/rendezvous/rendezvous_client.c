/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A PE's connection to the server of a rendezvous. A thread reads it from the entry until the PE has left: so the PE ends
 * when another one has ended in the middle of the job, or the server has, whatever its own threads are doing.
 */
#include "bootstrap/rendezvous/rendezvous_client.h"

#include "base/log.h"
#include "base/thread/thread_start.h"
#include "base/wake/sleep.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/deadline.h"
#include "bootstrap/rendezvous/kept_sockets.h"
#include "bootstrap/rendezvous/rendezvous.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ASK_MS = 2000,     /* that the server has to say who is missing */
    LEAVE_MS = 60000,  /* that other PEs may take to finalise, after this one */
    ABORT_SECONDS = 5, /* that the server has to end this process */
};

static struct {
    int fd, pe, n_pes;
    atomic_int host; /* the PE whose process has the server, -1: none; relaxed: it is for a message only */
    pthread_t reader;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool is_leaving, is_over;
    uint32_t kind; /* of the answer that has come; 0: none */
    unsigned char *answer;
    size_t answer_size;
} client = {.fd = -1, .host = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The end of the job ------------------------------------------------------------------------------------------ */

void shmemi_rendezvous_tell_end(const struct shmemi_end_of_job *end)
{
    switch (end->reason) {
    case SHMEMI_END_LOST:
        shmemi_error("the process of PE %d has ended in the middle of the job, so all PEs end", end->pe);
        break;
    case SHMEMI_END_STATUS:
        shmemi_error("PE %d has ended the job with status %d", end->pe, end->value);
        break;
    case SHMEMI_END_TWICE:
        shmemi_error("two processes were started as PE %d: each needs a number of its own, so all PEs end", end->pe);
        break;
    case SHMEMI_END_N_PES:
        shmemi_error("PE %d was started as one of %d PEs, others as one of %d: all must give the same number, so all "
                     "PEs end",
                     end->pe, end->value, end->other);
        break;
    case SHMEMI_END_LEFT:
        shmemi_error("PE %d has left the job before all PEs had started, so all PEs end", end->pe);
        break;
    default:
        shmemi_error("the place where the PEs meet has no memory left, so all PEs end");
    }
}

static _Noreturn void end_process(const struct shmemi_end_of_job *end)
{
    const bool is_status = end->reason == SHMEMI_END_STATUS;
    if (client.pe == end->teller && !(is_status && !end->value))
        shmemi_rendezvous_tell_end(end);
    _exit(is_status ? end->value : EXIT_FAILURE);
}

static _Noreturn void end_without_server(void)
{
    if (client.host >= 0)
        shmemi_error("the process of PE %d, in which the PEs have met, has ended in the middle of the job, so this PE "
                     "ends",
                     client.host);
    else
        shmemi_error("the connection to the place where the PEs have met is lost: its process has ended, or the "
                     "network; so this PE ends");
    _exit(EXIT_FAILURE);
}

/* ---- The reader -------------------------------------------------------------------------------------------------- */

static bool read_whole(void *bytes, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t n = recv(client.fd, (char *)bytes + have, size - have, 0);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        have += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool is_sound(const struct shmemi_frame *frame)
{
    switch (frame->kind) {
    case SHMEMI_FRAME_GATHERED:
        return frame->size <= INT_MAX;
    case SHMEMI_FRAME_PRESENT:
        return frame->size == (uint32_t)client.n_pes;
    case SHMEMI_FRAME_END:
        return frame->size == sizeof(struct shmemi_end_of_job);
    default:
        return frame->kind == SHMEMI_FRAME_BYE && !frame->size;
    }
}

static void hand_over(uint32_t kind, unsigned char *answer, size_t size)
{
    pthread_mutex_lock(&client.lock);
    free(client.answer);
    client.kind = kind;
    client.answer = answer;
    client.answer_size = size;
    client.is_over = client.is_over || kind == SHMEMI_FRAME_BYE;
    pthread_cond_broadcast(&client.changed);
    pthread_mutex_unlock(&client.lock);
}

/* One frame. False: the connection has ended. */
static bool read_frame(void)
{
    struct shmemi_frame frame;
    struct shmemi_end_of_job end;
    if (!read_whole(&frame, sizeof frame) || !is_sound(&frame))
        return false;
    unsigned char *body = malloc(frame.size + (size_t)1);
    if (!body || !read_whole(body, frame.size)) {
        free(body);
        return false;
    }
    if (frame.kind == SHMEMI_FRAME_END) {
        memcpy(&end, body, sizeof end);
        free(body);
        end_process(&end);
    }
    hand_over(frame.kind, body, frame.size);
    return true;
}

static void *read_frames(void *argument)
{
    (void)argument;
    while (read_frame())
        continue;
    pthread_mutex_lock(&client.lock);
    const bool is_expected = client.is_leaving;
    client.is_over = true;
    pthread_cond_broadcast(&client.changed);
    pthread_mutex_unlock(&client.lock);
    if (!is_expected)
        end_without_server();
    return NULL;
}

/* ---- The program's threads --------------------------------------------------------------------------------------- */

/* The descriptor blocks: the server always reads. */
static int say(uint32_t kind, const void *body, size_t size)
{
    const struct shmemi_frame frame = {kind, (uint32_t)size};
    struct iovec parts[] = {{.iov_base = (void *)&frame, .iov_len = sizeof frame},
                            {.iov_base = (void *)body, .iov_len = size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t left = sizeof frame + size;
    while (left) {
        ssize_t n = sendmsg(client.fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        left -= (size_t)n;
        for (int i = 0; i < 2; i++) {
            size_t sent = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= sent;
            n -= (ssize_t)sent;
        }
    }
    return 0;
}

static bool has_answer(const void *kind)
{
    return client.kind == *(const uint32_t *)kind;
}

static bool has_ended(const void *none)
{
    (void)none;
    return client.is_over;
}

/* Wait, with the lock, for what the reader brings; milliseconds -1: for as long as it takes. */
static bool await(bool (*has_come)(const void *of), const void *of, int milliseconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    if (milliseconds >= 0)
        return shmemi_sleep_until_or(&client.changed, &client.lock, has_come, of, &end);
    shmemi_sleep_until(&client.changed, &client.lock, has_come, of);
    return true;
}

/* Wait for an answer of this kind; *answer_p is the caller's to free. -ETIMEDOUT. */
static int await_answer(uint32_t kind, int milliseconds, unsigned char **answer_p, size_t *size_p)
{
    pthread_mutex_lock(&client.lock);
    const bool has_come = await(has_answer, &kind, milliseconds);
    if (has_come) {
        *answer_p = client.answer;
        *size_p = client.answer_size;
        client.answer = NULL;
        client.kind = 0;
    }
    pthread_mutex_unlock(&client.lock);
    return has_come ? 0 : -ETIMEDOUT;
}

static const unsigned char *present; /* by PE */

static bool has_come(int pe)
{
    return present[pe];
}

/* Who is missing, as far as the server tells. */
static int report_late(void)
{
    char text[256] = "";
    unsigned char *answer = NULL;
    size_t size;
    if (!say(SHMEMI_FRAME_ASK, NULL, 0) && !await_answer(SHMEMI_FRAME_PRESENT, ASK_MS, &answer, &size)) {
        present = answer;
        shmemi_list_missing(text, sizeof text, client.n_pes, has_come);
        free(answer);
    }
    return shmemi_init_is_over(text);
}

static int report_broken(void)
{
    shmemi_error("what comes from the place where the PEs meet makes no sense: do all PEs run the same version of "
                 "MapSHMEM?");
    return -EPROTO;
}

/* The answer becomes the bytes of all PEs. */
static int unpack(unsigned char *answer, size_t size, struct shmemi_gathered *all)
{
    struct shmemi_gathered_head head;
    size_t from = sizeof head + (size_t)client.n_pes * sizeof(uint32_t), total = 0;
    if (size < from)
        return report_broken();
    memcpy(&head, answer, sizeof head);
    for (int pe = 0; pe < client.n_pes; pe++) {
        uint32_t n;
        memcpy(&n, answer + sizeof head + (size_t)pe * sizeof n, sizeof n);
        all->offsets[pe] = total;
        total += n;
    }
    all->offsets[client.n_pes] = total;
    if (head.n_pes != (uint32_t)client.n_pes || total != size - from)
        return report_broken();
    client.host = head.host >= 0 && head.host < client.n_pes ? head.host : -1;
    memmove(answer, answer + from, total);
    all->bytes = answer;
    return 0;
}

static int gather(const void *mine, size_t size, struct shmemi_gathered *all)
{
    unsigned char *answer = NULL;
    size_t answer_size;
    if (size > SHMEMI_PUBLISHED_MAX) {
        shmemi_error("this PE publishes %zu bytes, and %d are the most", size, SHMEMI_PUBLISHED_MAX);
        return -E2BIG;
    }
    say(SHMEMI_FRAME_GATHER, mine, size); /* the reader notices a broken connection, and ends this process */
    if (await_answer(SHMEMI_FRAME_GATHERED, shmemi_init_milliseconds_left(), &answer, &answer_size))
        return report_late();
    int rc = unpack(answer, answer_size, all);
    if (rc)
        free(answer);
    return rc;
}

/* Its waits are counted by the clock that nobody sets. */
static void open_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

int shmemi_rendezvous_join(const struct shmemi_ticket *ticket)
{
    int fd = shmemi_rendezvous_enter(ticket);
    if (fd < 0)
        return fd;
    client.fd = fd;
    client.pe = ticket->pe;
    client.n_pes = ticket->n_pes;
    client.host = ticket->is_host ? ticket->pe : -1;
    client.is_leaving = client.is_over = false;
    open_condition(&client.changed);
    int rc = shmemi_thread_start(&client.reader, "the thread that hears of other PEs' ends", read_frames, NULL);
    if (!rc) {
        shmemi_log_abort = shmemi_rendezvous_abort; /* a PE that cannot go on tells the others */
        return shmemi_gather_open(ticket->pe, ticket->n_pes, gather);
    }
    pthread_cond_destroy(&client.changed);
    shmemi_kept_close(fd);
    client.fd = -1;
    return rc;
}

/* No PE's process may end before all have left, if it has the server: the others would take it for a failure. */
void shmemi_rendezvous_close(void)
{
    shmemi_gather_close();
    pthread_mutex_lock(&client.lock);
    client.is_leaving = true;
    pthread_mutex_unlock(&client.lock);
    say(SHMEMI_FRAME_LEAVE, NULL, 0);
    pthread_mutex_lock(&client.lock);
    await(has_ended, NULL, LEAVE_MS);
    pthread_mutex_unlock(&client.lock);
    shutdown(client.fd, SHUT_RDWR);
    pthread_join(client.reader, NULL);
    pthread_cond_destroy(&client.changed);
    shmemi_kept_close(client.fd);
    free(client.answer);
    client.answer = NULL;
    client.kind = 0;
    client.fd = -1;
}

/* The server tells all others, and this process at last: its reader then ends it. */
void shmemi_rendezvous_abort(int status)
{
    const struct shmemi_end_of_job end = {.reason = SHMEMI_END_STATUS, .pe = client.pe, .value = status};
    fflush(NULL);
    if (!say(SHMEMI_FRAME_END, &end, sizeof end))
        sleep(ABORT_SECONDS);
    _exit(status);
}
