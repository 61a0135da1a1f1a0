/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives letters: datagrams with file descriptors, over one socket per PE.
 */
#define _GNU_SOURCE
#include "transport/mailbox.h"

#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/node.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct letter {
    uint64_t job_key;
    uint64_t token;
    uint32_t sender; /* node rank */
    uint32_t count;  /* descriptors in this letter; 0: they could not be sent */
    uint64_t size[SHMEMI_DESCRIPTORS_MAX];
};

/* A letter and its descriptors in the form of sendmsg and recvmsg. */
struct envelope {
    struct letter letter;
    struct iovec vector;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * SHMEMI_DESCRIPTORS_MAX)];
    } control;
    struct msghdr message;
};

static int mailbox = -1;

static const char PURPOSE[] = "-descriptors";

void shmemi_mailbox_open(struct shmemi_mailbox_label *label_p)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_node_address(shmemi_job.pe, PURPOSE, &address);
    *label_p = (struct shmemi_mailbox_label){0};
    mailbox = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (mailbox >= 0 && !bind(mailbox, (struct sockaddr *)&address, length) &&
        getrandom(&label_p->token, sizeof label_p->token, 0) == sizeof label_p->token) {
        label_p->token |= 1;
        return;
    }
    shmemi_warn("cannot make a socket to pass descriptors of GPU memory: %m; some GPU memory is reached through host "
                "memory instead");
    label_p->token = 0;
    shmemi_mailbox_close();
}

void shmemi_mailbox_close(void)
{
    if (mailbox >= 0)
        close(mailbox); /* discards the letters in it */
    mailbox = -1;
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

static void fill(struct envelope *envelope, const struct shmemi_descriptors *mine, uint64_t token)
{
    *envelope = (struct envelope){
        .letter = {shmemi_job.key, token, (uint32_t)shmemi_job.node_rank, mine->count, {0}},
        .vector = {&envelope->letter, sizeof envelope->letter},
        .message = {.msg_iov = &envelope->vector, .msg_iovlen = 1},
    };
    memcpy(envelope->letter.size, mine->size, mine->count * sizeof mine->size[0]);
    if (!mine->count)
        return;
    envelope->message.msg_control = &envelope->control;
    envelope->message.msg_controllen = CMSG_SPACE(mine->count * sizeof(int));
    struct cmsghdr *rights = CMSG_FIRSTHDR(&envelope->message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(mine->count * sizeof(int));
    memcpy(CMSG_DATA(rights), mine->fd, mine->count * sizeof(int));
}

/* Send a letter. -EAGAIN: the receiver's socket is full. */
static int post(struct envelope *envelope, int node_rank)
{
    struct sockaddr_un address;
    envelope->message.msg_name = &address;
    envelope->message.msg_namelen = shmemi_node_address(shmemi_job.node_pes[node_rank], PURPOSE, &address);
    ssize_t sent = sendmsg(mailbox, &envelope->message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)sizeof envelope->letter ? 0 : errno == EINTR ? -EAGAIN : -errno;
}

/* The PE to send to next. If it cannot be sent descriptors, it gets a letter without any, so that it does not wait. */
struct sending {
    struct envelope envelope, empty;
    bool is_refused; /* the present PE gets an empty letter */
    int next;
};

static bool is_addressee(const struct sending *sending, const struct shmemi_mailbox_label *labels)
{
    return sending->envelope.letter.count && sending->next != shmemi_job.node_rank && labels[sending->next].token;
}

/* True when there is nothing more to send. */
static bool send_more(struct sending *sending, const struct shmemi_mailbox_label *labels)
{
    while (sending->next < shmemi_job.node_n_pes) {
        int rc = is_addressee(sending, labels)
                     ? post(sending->is_refused ? &sending->empty : &sending->envelope, sending->next)
                     : 0;
        if (rc == -EAGAIN || rc == -ENOBUFS)
            return false;
        if (rc)
            shmemi_warn("cannot pass descriptors of GPU memory to PE %d: %s", shmemi_job.node_pes[sending->next],
                        strerror(-rc));
        if (rc && !sending->is_refused) {
            sending->is_refused = true;
            continue;
        }
        sending->is_refused = false;
        sending->next++;
    }
    return true;
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

static void take_descriptors(struct msghdr *message, struct shmemi_descriptors *taken)
{
    taken->count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        if (count > SHMEMI_DESCRIPTORS_MAX - taken->count) /* cannot happen: the buffer holds no more */
            count = SHMEMI_DESCRIPTORS_MAX - taken->count;
        memcpy(taken->fd + taken->count, CMSG_DATA(part), count * sizeof(int));
        taken->count += (unsigned)count;
    }
}

/* The letters still awaited, by node rank. */
struct receiving {
    const struct shmemi_mailbox_label *labels;
    struct shmemi_descriptors *received;
    bool *has_come;
    int n_missing;
};

static bool is_genuine(const struct letter *letter, const struct receiving *receiving)
{
    return letter->job_key == shmemi_job.key && letter->sender < (uint32_t)shmemi_job.node_n_pes &&
           receiving->labels[letter->sender].token && letter->token == receiving->labels[letter->sender].token &&
           !receiving->has_come[letter->sender];
}

static void take_letter(const struct letter *letter, struct shmemi_descriptors *taken, struct receiving *receiving)
{
    const uint32_t sender = letter->sender, expected = receiving->labels[sender].n_enclosed;
    receiving->has_come[sender] = true;
    receiving->n_missing--;
    if (letter->count != expected || taken->count != expected) {
        shmemi_debug("%u of %u descriptors of GPU memory of PE %d came here", taken->count, expected,
                     shmemi_job.node_pes[sender]);
        shmemi_descriptors_close(taken);
        return;
    }
    memcpy(taken->size, letter->size, sizeof taken->size);
    receiving->received[sender] = *taken;
}

/* Returns false when no letter has arrived. */
static bool receive_one(struct receiving *receiving)
{
    struct shmemi_descriptors taken;
    struct envelope envelope = {.letter = {0}};
    envelope.vector = (struct iovec){&envelope.letter, sizeof envelope.letter};
    envelope.message = (struct msghdr){
        .msg_iov = &envelope.vector,
        .msg_iovlen = 1,
        .msg_control = &envelope.control,
        .msg_controllen = sizeof envelope.control,
    };
    ssize_t got = recvmsg(mailbox, &envelope.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EINTR;
    take_descriptors(&envelope.message, &taken);
    bool is_whole = got == (ssize_t)sizeof envelope.letter && !(envelope.message.msg_flags & MSG_TRUNC);
    if (is_whole && is_genuine(&envelope.letter, receiving)) {
        take_letter(&envelope.letter, &taken, receiving);
    } else {
        static atomic_flag told = ATOMIC_FLAG_INIT;
        shmemi_descriptors_close(&taken);
        shmemi_log(atomic_flag_test_and_set(&told) ? SHMEMI_LOG_DEBUG : SHMEMI_LOG_WARN,
                   "a message of another program came to this job's socket for descriptors; it is ignored");
    }
    return true;
}

static bool is_awaited(const struct shmemi_mailbox_label *labels, int node_rank)
{
    return mailbox >= 0 && node_rank != shmemi_job.node_rank && labels[node_rank].token && labels[node_rank].n_enclosed;
}

/* Alternate between sending and receiving: otherwise two PEs with full sockets would wait for each other. */
static void work(struct sending *sending, struct receiving *receiving)
{
    uint64_t end = shmemi_clock() + shmemi_settings.timeout * 1000000000u;
    unsigned spins = 0;
    for (;;) {
        bool is_sent = mailbox < 0 || send_more(sending, receiving->labels);
        while (receiving->n_missing && receive_one(receiving))
            spins = 0;
        if (is_sent && !receiving->n_missing)
            return;
        if (shmemi_clock() > end) {
            shmemi_warn("descriptors of GPU memory of %d PEs have not come within %zu s (SHMEM_TIMEOUT)",
                        receiving->n_missing, shmemi_settings.timeout);
            return;
        }
        shmemi_progress(&spins);
    }
}

void shmemi_mailbox_exchange(const struct shmemi_descriptors *mine, const struct shmemi_mailbox_label *labels,
                             struct shmemi_descriptors *received)
{
    const int n = shmemi_job.node_n_pes;
    struct sending sending = {.next = 0};
    struct receiving receiving = {.labels = labels, .received = received};
    fill(&sending.envelope, mine, labels[shmemi_job.node_rank].token);
    fill(&sending.empty, &(const struct shmemi_descriptors){0}, labels[shmemi_job.node_rank].token);
    for (int i = 0; i < n; i++) {
        received[i].count = 0;
        receiving.n_missing += is_awaited(labels, i);
    }
    receiving.has_come = calloc((size_t)n, sizeof *receiving.has_come);
    if (!receiving.has_come) {
        shmemi_error("out of memory for descriptors of GPU memory");
        receiving.n_missing = 0;
    }
    work(&sending, &receiving);
    free(receiving.has_come);
}
