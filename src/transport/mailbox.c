/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives letters: datagrams with file descriptors, over one socket per PE.
 */
#define _GNU_SOURCE
#include "transport/mailbox.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/progress.h"
#include "transport/sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { LETTERS_AT_ONCE = 64 }; /* then the clock is looked at, however many strangers send */

struct letter {
    struct shmemi_key job_key;
    uint64_t token;
    uint32_t sender; /* node rank */
    uint32_t count;  /* descriptors in this letter; 0: they could not be sent */
    uint64_t size[SHMEMI_DESCRIPTORS_MAX];
};

/* A letter and its descriptors in the form of sendmsg and recvmsg. */
struct envelope {
    struct letter letter;
    struct iovec vector;
    union shmemi_enclosed enclosed;
    struct msghdr message;
};

static int mailbox = -1;

void shmemi_mailbox_open(struct shmemi_mailbox_label *label_p)
{
    *label_p = (struct shmemi_mailbox_label){0};
    mailbox = shmemi_socket_open(SOCK_DGRAM, true, &label_p->socket);
    if (mailbox >= 0 && getrandom(&label_p->token, sizeof label_p->token, 0) == sizeof label_p->token) {
        label_p->token |= 1;
        return;
    }
    errno = mailbox < 0 ? -mailbox : errno;
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
    shmemi_socket_enclose(&envelope->message, &envelope->enclosed, mine, true);
}

/* Send a letter. -EAGAIN: the receiver's socket is full. */
static int post(struct envelope *envelope, const struct shmemi_mailbox_label *label)
{
    struct sockaddr_un address;
    envelope->message.msg_name = &address;
    envelope->message.msg_namelen = shmemi_socket_address(label->socket, &address);
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
                     ? post(sending->is_refused ? &sending->empty : &sending->envelope, &labels[sending->next])
                     : 0;
        if (rc == -EAGAIN || rc == -ENOBUFS || rc == -ETOOMANYREFS) /* others will take theirs */
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

/* The letters still awaited, by node rank: their senders' numbers of descriptors are AWAITED. */
enum { AWAITED = SHMEMI_DESCRIPTORS_MAX + 1 };
struct receiving {
    const struct shmemi_mailbox_label *labels;
    struct shmemi_descriptors *received;
    int n_missing;
};

static bool is_genuine(const struct letter *letter, const struct receiving *receiving)
{
    return shmemi_key_equals(&letter->job_key, &shmemi_job.key) && letter->sender < (uint32_t)shmemi_job.node_n_pes &&
           receiving->labels[letter->sender].token && letter->token == receiving->labels[letter->sender].token &&
           receiving->received[letter->sender].count == AWAITED;
}

static void take_letter(const struct letter *letter, struct shmemi_descriptors *taken, struct receiving *receiving)
{
    const uint32_t sender = letter->sender, expected = receiving->labels[sender].n_enclosed;
    receiving->received[sender].count = 0;
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
    struct envelope envelope = {.letter = {.token = 0}};
    envelope.vector = (struct iovec){&envelope.letter, sizeof envelope.letter};
    envelope.message = (struct msghdr){
        .msg_iov = &envelope.vector,
        .msg_iovlen = 1,
        .msg_control = &envelope.enclosed,
        .msg_controllen = sizeof envelope.enclosed,
    };
    ssize_t got = recvmsg(mailbox, &envelope.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EINTR;
    bool is_own = shmemi_socket_unpack(&envelope.message, &taken);
    bool is_whole = got == (ssize_t)sizeof envelope.letter && !(envelope.message.msg_flags & MSG_TRUNC);
    if (is_own && is_whole && is_genuine(&envelope.letter, receiving)) {
        take_letter(&envelope.letter, &taken, receiving);
    } else {
        shmemi_descriptors_close(&taken);
        shmemi_ignore_foreign("to its socket for descriptors");
    }
    return true;
}

static bool is_awaited(const struct shmemi_mailbox_label *labels, int node_rank)
{
    return mailbox >= 0 && node_rank != shmemi_job.node_rank && labels[node_rank].token && labels[node_rank].n_enclosed;
}

static void receive_some(struct receiving *receiving, unsigned *spins)
{
    for (int i = 0; i < LETTERS_AT_ONCE && receiving->n_missing && receive_one(receiving); i++)
        *spins = 0;
}

/* Alternate between sending and receiving: otherwise two PEs with full sockets would wait for each other. */
static void work(struct sending *sending, struct receiving *receiving)
{
    const uint64_t end = shmemi_settings.timeout ? shmemi_clock() + shmemi_settings.timeout * 1000000000u : UINT64_MAX;
    unsigned spins = 0;
    for (;;) {
        bool is_sent = mailbox < 0 || send_more(sending, receiving->labels);
        shmemi_interleave();
        receive_some(receiving, &spins);
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
        received[i].count = is_awaited(labels, i) ? AWAITED : 0;
        receiving.n_missing += received[i].count == AWAITED;
    }
    work(&sending, &receiving);
    for (int i = 0; i < n; i++)
        received[i].count = received[i].count == AWAITED ? 0 : received[i].count;
}
