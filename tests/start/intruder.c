/* SPDX-License-Identifier: BSD-3-Clause
 *
 * intruder ID_FILE SECONDS: a stranger who knows where the PEs of a job meet, and not the key, and does to the
 * server what might stop it: garbage, silence, parts of messages, whole ones with wrong proofs, frames that only members may
 * send, and connections that end at once, many at a time. It reads the port from the unique id, and nothing else. Ends when the
 * time is over or nobody listens any more; prints how many connections it has made.
 *
 * intruder listen PORT: listens there, and answers whoever comes with garbage, until it is killed.
 *
 * intruder relay PORT: listens there, and passes on what comes to the next port, and the answers back, until it is killed; says
 * when somebody has come, and when the server there has answered more than with its challenge, so somebody was let in.
 */
#define _GNU_SOURCE
#include "bootstrap/rendezvous/rendezvous_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HELD = 400, KINDS = 7, PORT_OFFSET = 4, GARBAGE = 3000 };

static int open_to(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval limit = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&address, sizeof address))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void say(int fd, const void *bytes, size_t size)
{
    ssize_t ignored = send(fd, bytes, size, MSG_NOSIGNAL);
    (void)ignored;
}

static void say_garbage(int fd)
{
    unsigned char bytes[GARBAGE];
    ssize_t n = getrandom(bytes, sizeof bytes, 0);
    say(fd, bytes, n > 0 ? (size_t)n : 0);
}

static void greet(int fd, size_t bytes)
{
    const struct shmemi_greeting greeting = {.magic = SHMEMI_GREETING_MAGIC, .nonce = {{1, 2}}};
    say(fd, &greeting, bytes);
}

/* The server's own proof comes back as that of an entry, or a wrong one, and more behind it. */
static void enter_wrongly(int fd, bool reflects)
{
    struct shmemi_challenge challenge = {.nonce = {{0, 0}}};
    struct shmemi_entry entry = {.pe = 1, .n_pes = 2, .is_host = 1};
    const struct shmemi_frame frames[2] = {{SHMEMI_FRAME_LEAVE, 0}, {SHMEMI_FRAME_END, 16}};
    greet(fd, sizeof(struct shmemi_greeting));
    ssize_t ignored = recv(fd, &challenge, sizeof challenge, MSG_WAITALL);
    (void)ignored;
    entry.proof = reflects ? challenge.proof : challenge.nonce;
    say(fd, &entry, sizeof entry);
    say(fd, frames, sizeof frames);
}

static void intrude(int fd, unsigned kind)
{
    switch (kind) {
    case 0:
        say_garbage(fd);
        break;
    case 1: /* silence */
        break;
    case 2:
        greet(fd, sizeof(struct shmemi_greeting) - 1);
        break;
    case 3:
        enter_wrongly(fd, true);
        break;
    case 4:
        enter_wrongly(fd, false);
        break;
    case 5:
        greet(fd, sizeof(struct shmemi_greeting));
        say_garbage(fd);
        break;
    default:
        greet(fd, 3);
    }
}

static int attack(const char *path, int seconds)
{
    static int held[HELD];
    unsigned char id[PORT_OFFSET + 2];
    uint16_t port;
    unsigned long n = 0;
    const time_t end = time(NULL) + seconds;
    FILE *file;
    while (!(file = fopen(path, "r")) && time(NULL) < end)
        usleep(1000);
    if (!file || fread(id, sizeof id, 1, file) != 1)
        return 1;
    memcpy(&port, id + PORT_OFFSET, sizeof port);
    for (; time(NULL) < end; n++) {
        int fd = open_to(port);
        if (fd < 0)
            break;
        intrude(fd, (unsigned)(n % KINDS));
        if (held[n % HELD])
            close(held[n % HELD]); /* the others stay */
        held[n % HELD] = fd;
    }
    printf("connections: %lu\n", n);
    return 0;
}

static int listen_at(int port)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) || listen(listener, HELD))
        exit(1);
    return listener;
}

static _Noreturn void answer(int port)
{
    int listener = listen_at(port);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        say_garbage(fd);
        close(fd);
    }
}

/* What has come at one end goes to the other. The number of bytes, or 0: it has ended. */
static size_t pass_on(int from, int to)
{
    char bytes[GARBAGE];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    if (n > 0)
        say(to, bytes, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

static void relay_one(int fd, int server)
{
    struct pollfd ends[] = {{.fd = fd, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    size_t n, answered = 0;
    while (poll(ends, 2, -1) > 0) {
        const bool is_answer = ends[1].revents;
        n = is_answer ? pass_on(server, fd) : pass_on(fd, server);
        if (!n)
            break;
        if (is_answer && (answered += n) > sizeof(struct shmemi_challenge))
            puts("let in");
    }
}

static _Noreturn void relay(int port)
{
    int listener = listen_at(port);
    setlinebuf(stdout);
    for (;;) {
        int fd = accept(listener, NULL, NULL), server = open_to(port + 1);
        puts("somebody has come");
        if (server >= 0 && !fork()) {
            relay_one(fd, server);
            _exit(0);
        }
        close(fd);
        close(server);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (!strcmp(argv[1], "listen"))
        answer(atoi(argv[2]));
    if (!strcmp(argv[1], "relay"))
        relay(atoi(argv[2]));
    return attack(argv[1], atoi(argv[2]));
}
