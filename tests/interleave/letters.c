/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors passed between the processes of a node that come and go at different moments, with mailboxes that are full
 * at times: each gets those of all others, and nothing stays open.
 */
#define _GNU_SOURCE
#include "transport/sockets/mailbox.h"

#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "tests/interleave/seeded.h"
#include "tests/patience.h"
#include "tests/unit/unit.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3 };

static struct common {
    struct shmemi_mailbox_label label[PROCESSES];
    atomic_uint arrived;
} * common;
static unsigned n_meetings; /* of this process */
static const int node_pes[PROCESSES] = {0, 1, 2};

static void meet(void)
{
    n_meetings++;
    atomic_fetch_add(&common->arrived, 1);
    for (unsigned turns = 0; atomic_load(&common->arrived) < n_meetings * PROCESSES;)
        wait_a_turn(&turns);
}

static unsigned count_of(unsigned seed, int sender)
{
    return (seed * 7 + (unsigned)sender * 5) % 9; /* 0: it sends nothing */
}

static int make_file(unsigned seed, int sender, unsigned number)
{
    const unsigned text[3] = {seed, (unsigned)sender, number};
    int fd = memfd_create("descriptor", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text, sizeof text) == sizeof text);
    return fd;
}

static void check_received(struct shmemi_descriptors *received, unsigned seed, int sender)
{
    const unsigned expected = sender == shmemi_job.node_rank ? 0 : count_of(seed, sender);
    CHECK(received->count == expected);
    for (unsigned i = 0; i < expected; i++) {
        unsigned text[3];
        CHECK(pread(received->fd[i], text, sizeof text, 0) == sizeof text);
        CHECK(text[0] == seed && text[1] == (unsigned)sender && text[2] == i && received->size[i] == i + 1);
    }
    shmemi_descriptors_close(received);
}

static int first_free; /* descriptor, before the rounds */

static int lowest_free(void)
{
    int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
}

static void round_of_letters(unsigned seed)
{
    struct shmemi_descriptors mine = {.count = count_of(seed, shmemi_job.node_rank)}, received[PROCESSES];
    struct shmemi_mailbox_label labels[PROCESSES];
    for (unsigned i = 0; i < mine.count; i++) {
        mine.fd[i] = make_file(seed, shmemi_job.node_rank, i);
        mine.size[i] = i + 1;
    }
    shmemi_mailbox_open(&common->label[shmemi_job.node_rank]);
    common->label[shmemi_job.node_rank].n_enclosed = mine.count;
    shmemi_interleave();
    meet();
    for (int i = 0; i < PROCESSES; i++)
        labels[i] = common->label[i];
    shmemi_mailbox_exchange(&mine, labels, received);
    for (int i = 0; i < PROCESSES; i++)
        check_received(&received[i], seed, i);
    shmemi_interleave();
    meet();
    shmemi_mailbox_close();
    shmemi_descriptors_close(&mine);
    CHECK(lowest_free() == first_free);
}

int main(int argc, char **argv)
{
    common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(common != MAP_FAILED);
    shmemi_job.n_pes = shmemi_job.node_n_pes = PROCESSES;
    shmemi_job.node_pes = node_pes;
    while (shmemi_job.node_rank < PROCESSES - 1 && fork() == 0)
        shmemi_job.node_rank++;
    shmemi_job.pe = shmemi_job.node_rank;
    first_free = lowest_free();
    seeded_process((unsigned)shmemi_job.node_rank);
    int rc = seeded_main(argc, argv, round_of_letters), status = 0;
    if (shmemi_job.node_rank < PROCESSES - 1)
        CHECK(wait(&status) > 0);
    return rc || status;
}
