/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Letters with descriptors that come to the mailbox of this PE: those of its two neighbours, changed or not, with more
 * or fewer descriptors of any kind, and any other datagram, over real sockets. What is received is what a neighbour has
 * announced, or nothing; every descriptor that came is handed over or closed. The real file, with three calls
 * replaced: waiting lets the next letter arrive, time passes when there is none, and what is sent goes to a neighbour
 * that is here.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/node.h"
#include "transport/progress.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

static void next_letter(unsigned *spins);
static uint64_t time_here(void);
static ssize_t send_to_neighbour(int fd, const struct msghdr *message, int flags);

#define shmemi_progress next_letter
#define shmemi_clock time_here
#define sendmsg send_to_neighbour
#include "transport/sockets/sockets.c"
#include "transport/sockets/mailbox.c"
#undef shmemi_progress
#undef shmemi_clock
#undef sendmsg

enum { PES = 3, MOST_FILES = 256, MOST_LETTERS = 24 };

static struct {
    struct fuzz_input *input;
    struct shmemi_mailbox_label labels[PES];
    int sockets[PES]; /* of the neighbours; -1: none */
    int stranger;     /* sends what no neighbour sends */
    uint64_t time;
    int n_letters, n_sent;
} node;

static uint64_t time_here(void)
{
    return node.time;
}

static unsigned count_files(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < MOST_FILES; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */

/* A socket whose name the kernel chooses. */
static int make_socket(void)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ALWAYS(fd >= 0 && !bind(fd, (const struct sockaddr *)&any, sizeof any.sun_family));
    return fd;
}

static socklen_t address_of(int fd, struct sockaddr_un *address)
{
    socklen_t length = sizeof *address;
    ALWAYS(!getsockname(fd, (struct sockaddr *)address, &length));
    return length;
}

/* To the neighbours in turn; some have no socket. */
static ssize_t send_to_neighbour(int fd, const struct msghdr *message, int flags)
{
    struct sockaddr_un address;
    struct msghdr copy = *message;
    int to = node.sockets[1 + node.n_sent++ % (PES - 1)];
    if (to < 0) {
        errno = ECONNREFUSED;
        return -1;
    }
    copy.msg_name = &address;
    copy.msg_namelen = address_of(to, &address);
    return sendmsg(fd, &copy, flags);
}

/* Memory, a pipe, a device, a folder or a socket. */
static int make_descriptor(struct fuzz_input *input)
{
    int ends[2] = {-1, -1};
    switch (fuzz_byte(input) % 6) {
    case 0:
        ALWAYS(!pipe(ends));
        close(ends[1]);
        return ends[0];
    case 1:
        return open("/dev/null", O_RDWR);
    case 2:
        return open("/", O_PATH);
    case 3:
        return socket(AF_UNIX, SOCK_STREAM, 0);
    default:
        return memfd_create("letter", 0);
    }
}

/* With as many descriptors as it has announced, or another number. */
static struct shmemi_descriptors descriptors_of(struct fuzz_input *input, int rank)
{
    struct shmemi_descriptors enclosed = {.count = node.labels[rank].n_enclosed};
    if (fuzz_byte(input) >= 192)
        enclosed.count = (unsigned)fuzz_below(input, SHMEMI_DESCRIPTORS_MAX + 1);
    for (unsigned i = 0; i < enclosed.count; i++) {
        enclosed.fd[i] = make_descriptor(input);
        enclosed.size[i] = fuzz_number(input);
    }
    return enclosed;
}

static void send_letter(struct fuzz_input *input)
{
    struct sockaddr_un address;
    int rank = 1 + (int)fuzz_below(input, PES - 1);
    struct shmemi_descriptors enclosed = descriptors_of(input, rank);
    struct letter letter = letter_of(rank, node.labels[rank].token, &enclosed);
    char larger[sizeof letter + 64] = {0};
    if (fuzz_byte(input) >= 192) /* what it says is not what it brings */
        letter.count = node.labels[rank].n_enclosed;
    uint8_t odd = fuzz_byte(input);
    memcpy(larger, &letter, sizeof letter);
    if (odd >= 192)
        for (int n = odd % 4; n >= 0; n--)
            larger[fuzz_below(input, sizeof letter)] = (char)fuzz_byte(input);
    union shmemi_enclosed room;
    struct iovec vector = {larger, odd % 8 ? sizeof letter : fuzz_below(input, sizeof larger)};
    struct msghdr message = {&address, address_of(mailbox, &address), &vector, 1, NULL, 0, 0};
    shmemi_socket_enclose(&message, &room, &enclosed, true);
    int from = fuzz_byte(input) & 1 && node.sockets[rank] >= 0 ? node.sockets[rank] : node.stranger;
    (void)!sendmsg(from, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    shmemi_descriptors_close(&enclosed);
}

/* Neighbours may read their letters, or leave them until their sockets are full. */
static void read_letters(int rank)
{
    char bytes[2048];
    while (node.sockets[rank] >= 0 && recv(node.sockets[rank], bytes, sizeof bytes, MSG_DONTWAIT) >= 0)
        continue;
}

static void next_letter(unsigned *spins)
{
    ++*spins;
    uint8_t what = fuzz_byte(node.input);
    if (!node.input->size || ++node.n_letters > MOST_LETTERS)
        node.time += 500000000;
    else if (what < 32)
        read_letters(1 + what % (PES - 1));
    else
        send_letter(node.input);
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static void open_node(void)
{
    static const int node_pes[PES] = {0, 1, 2};
    shmemi_job.n_pes = shmemi_job.node_n_pes = PES;
    shmemi_job.node_pes = node_pes;
    shmemi_job_index_node();
    shmemi_job.node_rank = 0;
    const uint64_t key = (uint64_t)getpid() << 32 | 0x66757a7a; /* its sockets are nobody else's */
    memcpy(&shmemi_job.key, &key, sizeof key);
    shmemi_settings.timeout = 1;
    node.stranger = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static void make_labels(struct fuzz_input *input)
{
    shmemi_mailbox_open(&node.labels[0]);
    ALWAYS(node.labels[0].token);
    for (int rank = 1; rank < PES; rank++) {
        uint8_t what = fuzz_byte(input);
        node.labels[rank] = (struct shmemi_mailbox_label){.token = what >= 240 ? 0 : 77 + (uint64_t)rank};
        node.labels[rank].n_enclosed = what % 32 < 31 ? what % 4 : SHMEMI_DESCRIPTORS_MAX;
        node.sockets[rank] = what & 32 ? make_socket() : -1;
    }
}

static void check_received(struct shmemi_descriptors *received)
{
    ALWAYS(received[0].count == 0);
    for (int rank = 1; rank < PES; rank++) {
        ALWAYS(received[rank].count == 0 || received[rank].count == node.labels[rank].n_enclosed);
        for (unsigned i = 0; i < received[rank].count; i++)
            ALWAYS(fcntl(received[rank].fd[i], F_GETFD) == FD_CLOEXEC);
        shmemi_descriptors_close(&received[rank]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct shmemi_descriptors received[PES], mine;
    shmemi_log_hold(true); /* one line is enough of what is refused */
    if (!shmemi_job.node_pes)
        open_node();
    unsigned n_files = count_files();
    node.input = &input;
    node.time = 0;
    node.n_letters = node.n_sent = 0;
    make_labels(&input);
    mine = (struct shmemi_descriptors){.count = (unsigned)fuzz_below(&input, 3)};
    for (unsigned i = 0; i < mine.count; i++)
        mine.fd[i] = make_descriptor(&input);
    node.labels[0].n_enclosed = mine.count;
    shmemi_mailbox_exchange(&mine, node.labels, received);
    check_received(received);
    shmemi_descriptors_close(&mine);
    shmemi_mailbox_close();
    for (int rank = 1; rank < PES; rank++)
        if (node.sockets[rank] >= 0)
            close(node.sockets[rank]);
    ALWAYS(count_files() == n_files);
    return 0;
}
