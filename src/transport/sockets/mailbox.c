/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives letters: datagrams with file descriptors, over one socket per PE.
 */
#define _GNU_SOURCE
#include "transport/sockets/mailbox.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/progress.h"
#include "transport/sockets/sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { LETTERS_AT_ONCE = 64 }; /* then the clock is looked at, however many foreign ones come */

struct letter {
    struct shmemi_key job_key;
    uint64_t token;
    uint32_t sender; /* node rank */
    uint32_t count;  /* descriptors in this letter; 0: they could not be sent */
    uint64_t size[SHMEMI_DESCRIPTORS_MAX];
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

/* The PE to send to next. If it cannot be sent descriptors, it gets a letter without any, so that it does not wait. */
struct sending {
    const struct shmemi_descriptors *mine;
    bool is_refused; /* the present PE gets an empty letter */
    int next;
};

static bool is_addressee(const struct sending *sending, const struct shmemi_mailbox_label *labels)
{
    return sending->mine->count && sending->next != shmemi_job.node_rank && labels[sending->next].token;
}

static struct letter letter_of(int sender, uint64_t token, const struct shmemi_descriptors *enclosed)
{
    struct letter letter = {shmemi_job.key, token, (uint32_t)sender, enclosed->count, {0}};
    memcpy(letter.size, enclosed->size, enclosed->count * sizeof letter.size[0]);
    return letter;
}

static int post(const struct sending *sending, const struct shmemi_mailbox_label *labels)
{
    static const struct shmemi_descriptors none;
    const struct shmemi_descriptors *enclosed = sending->is_refused ? &none : sending->mine;
    struct letter letter = letter_of(shmemi_job.node_rank, labels[shmemi_job.node_rank].token, enclosed);
    const struct shmemi_message message = {.data = &letter, .size = sizeof letter, .beside = *enclosed};
    return shmemi_socket_send(mailbox, labels[sending->next].socket, &message);
}

/* True when there is nothing more to send. */
static bool send_more(struct sending *sending, const struct shmemi_mailbox_label *labels)
{
    while (sending->next < shmemi_job.node_n_pes) {
        int rc = is_addressee(sending, labels) ? post(sending, labels) : 0;
        if (shmemi_socket_is_busy(rc))
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
    struct letter letter = {.token = 0};
    struct shmemi_message message = {.data = &letter, .size = sizeof letter};
    ssize_t size = shmemi_socket_receive(mailbox, MSG_DONTWAIT, &message);
    if (size < 0)
        return size == -EINTR;
    if (message.is_own && size == (ssize_t)sizeof letter && is_genuine(&letter, receiving)) {
        take_letter(&letter, &message.beside, receiving);
    } else {
        shmemi_descriptors_close(&message.beside);
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
    struct sending sending = {.mine = mine};
    struct receiving receiving = {.labels = labels, .received = received};
    for (int i = 0; i < n; i++) {
        received[i].count = is_awaited(labels, i) ? AWAITED : 0;
        receiving.n_missing += received[i].count == AWAITED;
    }
    work(&sending, &receiving);
    for (int i = 0; i < n; i++)
        received[i].count = received[i].count == AWAITED ? 0 : received[i].count;
}
