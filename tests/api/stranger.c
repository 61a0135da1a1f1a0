/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A neighbour that wants to get into jobs: a program without this library, which finds their sockets in
 * /proc/net/unix and sends them what has taken PEs over, killed or stopped them before.
 *
 *     stranger UID SECONDS FILE
 *
 * As user UID, until it gets SIGTERM or the time is over: memory of its own beside a message like that of a PE; memory that has been cut
 * off; a stray byte; as many messages and connections as fit; and it takes the names that can be guessed. Prints the
 * number of attempts that reached a socket, by kind; once they are enough, there is something in the file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCKETS_MAX = 64, HELD_MAX = 500, AT_ONCE = 50, MESSAGE_MAX = 256, MEMORY_BYTES = 64 << 20 };

enum kind { OWN_MEMORY, CUT_MEMORY, STRAY_BYTE, FLOOD, CONNECTION, NAMES, KINDS };
static const char *const names[KINDS] = {"own memory", "cut memory", "stray byte",
                                         "flood",      "connection", "names taken"};
static unsigned long reached[KINDS];

struct target {
    struct sockaddr_un address;
    socklen_t length;
    int type;
};

static int n_targets, n_held;
static struct target targets[SOCKETS_MAX];
static struct sockaddr_un held[HELD_MAX]; /* names that this program has taken itself */
static volatile sig_atomic_t is_ended;

static void end(int signal)
{
    (void)signal;
    is_ended = 1;
}

static bool is_held(const struct sockaddr_un *address)
{
    for (int i = 0; i < n_held; i++)
        if (!memcmp(&held[i], address, sizeof *address))
            return true;
    return false;
}

/* Its own names must not fill the list: there would be no room for a socket that the job opens after them. */
static void add_target(const char *name, int type)
{
    struct target *target = &targets[n_targets];
    size_t length = strcspn(name, "\n");
    memset(target, 0, sizeof *target);
    target->address.sun_family = AF_UNIX;
    memcpy(target->address.sun_path + 1, name + 1, length - 1);
    target->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    target->type = type;
    n_targets += !is_held(&target->address);
}

/* Lines of /proc/net/unix: number, references, protocol, flags, type, state, inode, name; @ stands for a zero byte. */
static void find_targets(void)
{
    char line[512];
    unsigned type;
    FILE *file = fopen("/proc/net/unix", "r");
    n_targets = 0;
    while (file && fgets(line, sizeof line, file) && n_targets < SOCKETS_MAX) {
        const char *name = strstr(line, "@mapshmem-");
        if (name && strcspn(name, "\n") < sizeof targets->address.sun_path &&
            sscanf(line, "%*s %*s %*s %*s %x", &type) == 1)
            add_target(name, (int)type);
    }
    if (file)
        fclose(file);
}

/* A message of so many bytes, zeros or not, with a descriptor or without (-1). */
static bool send_message(int fd, const struct target *target, const void *bytes, size_t size, int enclosed)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct sockaddr_un address = target->address;
    struct iovec vector = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (target->type == SOCK_DGRAM) {
        message.msg_name = &address;
        message.msg_namelen = target->length;
    }
    if (enclosed >= 0) {
        memcpy(CMSG_DATA(&control.header), &enclosed, sizeof enclosed);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* A socket from which messages go to the target; -1: it does not let this program connect. */
static int open_to(const struct target *target)
{
    int fd = socket(AF_UNIX, target->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && target->type != SOCK_DGRAM &&
        connect(fd, (const struct sockaddr *)&target->address, target->length)) {
        close(fd);
        return -1;
    }
    reached[CONNECTION] += fd >= 0 && target->type != SOCK_DGRAM;
    return fd;
}

/* Messages of the sizes that PEs send: 24 bytes were a handout once, 24 are a question, 32 an answer. */
static void attack_with(enum kind kind, const struct target *target, int enclosed)
{
    static const size_t sizes[] = {24, 32, MESSAGE_MAX};
    uint64_t words[MESSAGE_MAX / 8] = {0x1234, 0x5678, 0, MEMORY_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int fd = open_to(target);
        if (fd < 0)
            return;
        reached[kind] += send_message(fd, target, words, kind == STRAY_BYTE ? 1 : sizes[i], enclosed);
        close(fd);
    }
}

static void flood(const struct target *target)
{
    int fds[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        fds[i] = open_to(target);
        reached[FLOOD] += fds[i] >= 0 && send_message(fds[i], target, "stranger", 8, -1);
    }
    for (int i = 0; i < AT_ONCE; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Names that a PE may want next: those that are there already, with numbers and words behind them. */
static void take_names(const struct target *target)
{
    static const char *const ends[] = {"", "-0", "-1", "-2", "-descriptors", "0"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && n_held < HELD_MAX; i++) {
        struct sockaddr_un address = target->address;
        size_t length = target->length - offsetof(struct sockaddr_un, sun_path), more = strlen(ends[i]);
        if (length + more > sizeof address.sun_path)
            continue;
        memcpy(address.sun_path + length, ends[i], more);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, target->length + (socklen_t)more)) {
            reached[NAMES]++;
            held[n_held++] = address; /* and kept until this program ends */
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

static int make_memory(off_t size)
{
    int fd = memfd_create("mapshmem-node", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, size))
        exit(2);
    return fd;
}

static unsigned long attempts(void)
{
    unsigned long sum = 0;
    for (int kind = 0; kind < KINDS; kind++)
        sum += reached[kind];
    return sum;
}

/* Tell it once, by a byte in the file. */
static void look_whether_enough(int *file)
{
    enum { ATTEMPTS = 100, OWN = 10 };
    if (*file < 0 || attempts() < ATTEMPTS || reached[OWN_MEMORY] < OWN)
        return;
    if (write(*file, "\n", 1) != 1)
        exit(2);
    close(*file);
    *file = -1;
}

int main(int argc, char **argv)
{
    uid_t uid = argc == 4 ? (uid_t)atol(argv[1]) : 0;
    int enough = argc == 4 ? open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (enough < 0 || (uid != getuid() && setresuid(uid, uid, uid)))
        return 77;
    signal(SIGTERM, end);
    signal(SIGALRM, end);
    alarm((unsigned)atol(argv[2]));
    int own = make_memory(MEMORY_BYTES), cut = make_memory(0);
    while (!is_ended) {
        find_targets();
        for (int i = 0; i < n_targets; i++) {
            attack_with(OWN_MEMORY, &targets[i], own);
            attack_with(CUT_MEMORY, &targets[i], cut);
            attack_with(STRAY_BYTE, &targets[i], -1);
            flood(&targets[i]);
            take_names(&targets[i]);
        }
        look_whether_enough(&enough);
        usleep(n_targets ? 1000 : 100);
    }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s: %lu\n", names[kind], reached[kind]);
    printf("attempts: %lu\n", attempts());
    return 0;
}
