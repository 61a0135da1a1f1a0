/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handover of the node's memory, over real sockets. On the lowest PE: visitors who ask rightly, wrongly, in part,
 * more than once, go away or say nothing; only those who know the key get the descriptor, and the end comes when all
 * PEs of the node have it or time is up. On another PE: a reply with anything in it and any descriptors beside it;
 * what is accepted is the memory that was expected, sealed, and all other descriptors are closed. The real file, with
 * the calls replaced that would wait: visitors act there, and no time passes.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int poll_visitors(struct pollfd *list, nfds_t n, int timeout);
static ssize_t answer_and_receive(int fd, struct msghdr *message, int flags);
static int milliseconds_left(void);

#define shmemi_init_milliseconds_left milliseconds_left
#define poll poll_visitors
#define recvmsg answer_and_receive
#define sleep(_seconds) ((void)(_seconds))
#include "transport/sockets/sockets.c"
#include "transport/sockets/handout.c"
#undef shmemi_init_milliseconds_left
#undef poll
#undef recvmsg
#undef sleep

enum { PES = 4, MOST_VISITORS = 8, MOST_FILES = 128, SIZE = 8192 };

struct visitor {
    int fd;
    bool knows; /* has asked as a PE of this node does */
};

static struct {
    struct fuzz_input *input;
    uint64_t number; /* of the socket */
    struct visitor visitors[MOST_VISITORS];
    int n;
    bool is_right; /* the reply was what it must be */
    bool is_over;  /* nobody does anything any more */
} node;

static const struct shmemi_handout handout = {SIZE, 4096};

static unsigned count_files(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < MOST_FILES; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- Visitors of the lowest PE ----------------------------------------------------------------------------------- */

static void arrive(void)
{
    struct sockaddr_un address;
    socklen_t length = shmemi_socket_address(node.number, &address);
    struct visitor *visitor = &node.visitors[node.n];
    if (node.n == MOST_VISITORS)
        return;
    *visitor = (struct visitor){.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ALWAYS(visitor->fd >= 0 && !connect(visitor->fd, (struct sockaddr *)&address, length));
    node.n++;
}

static void ask_as(struct visitor *visitor)
{
    struct fuzz_input *input = node.input;
    struct segment_request request;
    memset(&request, 0, sizeof request);
    request.key = shmemi_job.key;
    request.pe = (uint32_t)fuzz_below(input, PES + 1);
    bool is_of_node = request.pe < PES;
    uint8_t odd = fuzz_byte(input);
    size_t size = odd >= 224 ? fuzz_below(input, sizeof request + 1) : sizeof request;
    if (odd < 32) {
        struct segment_request before = request;
        ((uint8_t *)&request)[fuzz_below(input, sizeof request)] = fuzz_byte(input);
        is_of_node = shmemi_key_equals(&request.key, &before.key) && request.pe < PES;
    }
    if (visitor->fd >= 0 && send(visitor->fd, &request, size, MSG_NOSIGNAL) == (ssize_t)size)
        visitor->knows |= is_of_node && size == sizeof request;
}

static void leave(struct visitor *visitor)
{
    if (visitor->fd >= 0)
        close(visitor->fd);
    visitor->fd = -1;
}

/* The time of the lowest PE is up when nobody does anything any more. */
static int milliseconds_left(void)
{
    return node.is_over ? 0 : -1;
}

static int poll_visitors(struct pollfd *list, nfds_t n, int timeout)
{
    (void)timeout;
    struct fuzz_input *input = node.input;
    for (size_t acts = input->size ? fuzz_below(input, 4) : 0; acts; acts--) {
        struct visitor *visitor = &node.visitors[node.n ? fuzz_below(input, (size_t)node.n) : 0];
        uint8_t what = fuzz_byte(input);
        if (what < 96 || !node.n)
            arrive();
        else if (what < 224)
            ask_as(visitor);
        else
            leave(visitor);
    }
    int n_ready = poll(list, n, 0);
    node.is_over = !n_ready && !input->size;
    if (!n_ready && input->size) {
        errno = EINTR;
        return -1;
    }
    return n_ready;
}

/* Who has got what? Only those who knew the key have a descriptor, and it is that of the segment. */
static void check_visitor(struct visitor *visitor, ino_t segment)
{
    struct segment_reply reply;
    struct iovec vector = {&reply, sizeof reply};
    union shmemi_enclosed enclosed;
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &enclosed, .msg_controllen = sizeof enclosed};
    struct shmemi_descriptors taken = {0};
    struct stat status;
    if (visitor->fd < 0)
        return;
    if (recvmsg(visitor->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == (ssize_t)sizeof reply) {
        shmemi_socket_unpack(&message, &taken);
        ALWAYS(visitor->knows && taken.count == 1 && !fstat(taken.fd[0], &status) && status.st_ino == segment);
        shmemi_descriptors_close(&taken);
    }
    leave(visitor);
}

static void fuzz_serve(void)
{
    struct stat status;
    int segment = memfd_create("segment", MFD_CLOEXEC);
    ALWAYS(segment >= 0 && !fstat(segment, &status));
    shmemi_job.pe = shmemi_job.node_rank = 0;
    ALWAYS(!shmemi_handout_open(&node.number));
    node.n = 0;
    int rc = shmemi_handout_serve(segment, &handout);
    ALWAYS(!rc || rc == -ETIMEDOUT);
    for (int i = 0; i < node.n; i++)
        check_visitor(&node.visitors[i], status.st_ino);
    shmemi_handout_close();
    close(segment);
}

/* ---- The reply to another PE ------------------------------------------------------------------------------------- */

/* The right segment, or something like it: no seals, another size, a file, a pipe, a device. */
static int make_segment(struct fuzz_input *input, bool *is_right)
{
    uint8_t what = fuzz_byte(input) % 16;
    int ends[2], fd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ALWAYS(fd >= 0 && !ftruncate(fd, what == 1 ? SIZE - 1 : what == 2 ? 0 : what == 3 ? SIZE * 2 : SIZE));
    *is_right = what == 0 || what > 6;
    if (what != 4)
        ALWAYS(!shmemi_handout_seal(fd));
    if (what != 5 && what != 6)
        return fd;
    close(fd);
    if (what == 5)
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    ALWAYS(!pipe(ends));
    close(ends[1]);
    return ends[0];
}

static void send_answer(int to)
{
    struct fuzz_input *input = node.input;
    struct segment_reply reply;
    struct shmemi_descriptors segments = {.count = 1};
    bool is_sound = true;
    memset(&reply, 0, sizeof reply);
    reply.key = shmemi_job.key;
    reply.handout = handout;
    uint8_t odd = fuzz_byte(input);
    size_t size = odd >= 224 ? fuzz_below(input, sizeof reply + 1) : sizeof reply;
    const struct segment_reply right = reply;
    if (odd < 64)
        ((uint8_t *)&reply)[fuzz_below(input, sizeof reply)] = fuzz_byte(input);
    if (fuzz_byte(input) >= 192)
        segments.count = (unsigned)fuzz_below(input, 5);
    for (unsigned i = 0; i < segments.count; i++)
        segments.fd[i] = make_segment(input, &is_sound);
    struct iovec vector = {&reply, size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    union shmemi_enclosed enclosed;
    shmemi_socket_enclose(&message, &enclosed, &segments, false);
    bool is_sent = sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
    node.is_right =
        is_sent && is_sound && segments.count == 1 && size == sizeof right && !memcmp(&reply, &right, sizeof right);
    shmemi_descriptors_close(&segments);
}

/* The PE waits for its reply: let the socket's owner take the request and send something, or hang up. */
static ssize_t answer_and_receive(int fd, struct msghdr *message, int flags)
{
    int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct segment_request request;
    if (visitor >= 0 && fuzz_byte(node.input) < 240) {
        ALWAYS(recv(visitor, &request, sizeof request, MSG_DONTWAIT) == (ssize_t)sizeof request);
        send_answer(visitor);
    }
    if (visitor >= 0)
        close(visitor);
    return recvmsg(fd, message, flags | MSG_DONTWAIT);
}

static void fuzz_fetch(void)
{
    ALWAYS(!shmemi_handout_open(&node.number));
    shmemi_job.pe = shmemi_job.node_rank = 1;
    node.is_right = false;
    int fd = shmemi_handout_fetch(node.number, &handout);
    ALWAYS(node.is_right ? fd >= 0 : fd < 0);
    if (fd >= 0) {
        struct stat status;
        ALWAYS(fcntl(fd, F_GETFD) == FD_CLOEXEC && !fstat(fd, &status) && status.st_size == SIZE);
        ALWAYS(ftruncate(fd, 0)); /* it is sealed */
        close(fd);
    }
    shmemi_handout_close();
}

/* ---- One input --------------------------------------------------------------------------------------------------- */

static void open_node(void)
{
    static const int pes[PES] = {0, 1, 2, 3}, nodes[PES] = {0};
    shmemi_job.key = (struct shmemi_key){{1, 2}};
    shmemi_job.n_pes = shmemi_job.node_n_pes = PES;
    shmemi_job.n_nodes = 1;
    shmemi_job.node_pes = pes;
    shmemi_job.node_of = nodes;
    shmemi_job_index_node();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    shmemi_log_hold(true); /* one line is enough of what is refused */
    if (!shmemi_job.node_pes)
        open_node();
    unsigned n_files = count_files();
    node.input = &input;
    node.is_over = false;
    if (fuzz_byte(&input) & 1)
        fuzz_serve();
    else
        fuzz_fetch();
    ALWAYS(count_files() == n_files);
    return 0;
}
