/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets with random names, and what comes beside their messages: descriptors, and who sent them.
 */
#define _GNU_SOURCE
#include "transport/sockets/sockets.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/system/own_peer.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static_assert(sizeof(struct ucred) == 3 * sizeof(int), "enclosed has room for it");

socklen_t shmemi_socket_address(uint64_t number, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mapshmem-%016llx", (unsigned long long)number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int bind_randomly(int fd, uint64_t *number_p)
{
    struct sockaddr_un address;
    for (int attempt = 0; attempt < 8; attempt++) {
        if (getrandom(number_p, sizeof *number_p, 0) != (ssize_t)sizeof *number_p)
            return -EIO;
        *number_p |= 1;
        if (!bind(fd, (struct sockaddr *)&address, shmemi_socket_address(*number_p, &address)))
            return 0;
        if (errno != EADDRINUSE)
            break;
    }
    return -errno;
}

/* SO_PASSCRED comes before the name: messages that were sent earlier would not say who sent them. */
int shmemi_socket_open(int type, bool with_sender, uint64_t *number_p)
{
    const int on = 1;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int rc = with_sender && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ? -errno : 0;
    if (!rc)
        rc = bind_randomly(fd, number_p);
    if (!rc)
        return fd;
    close(fd);
    return rc;
}

int shmemi_socket_open_to_node(int type, uint64_t *number_p)
{
    enum { BACKLOG = 4096 };
    int fd = shmemi_socket_open(type, false, number_p), rc = fd < 0 ? fd : 0;
    if (!rc && type == SOCK_SEQPACKET && listen(fd, BACKLOG))
        rc = -errno;
    if (!rc)
        return fd;
    errno = -rc;
    shmemi_error("cannot make the socket that joins the PEs of this node: %m%s", shmemi_remedy(-rc));
    *number_p = 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static struct cmsghdr *enclose(struct msghdr *message, struct cmsghdr *part, int type, const void *data, size_t size)
{
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = type;
    part->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(part), data, size);
    return CMSG_NXTHDR(message, part);
}

/* Without the second part the kernel would tell the real user, who is another one in a set-uid program. */
void shmemi_socket_enclose(struct msghdr *message, union shmemi_enclosed *enclosed,
                           const struct shmemi_descriptors *descriptors, bool with_sender)
{
    const struct ucred self = {getpid(), geteuid(), getegid()};
    const size_t size = descriptors->count * sizeof(int);
    memset(enclosed, 0, sizeof *enclosed);
    message->msg_control = enclosed;
    message->msg_controllen = (size ? CMSG_SPACE(size) : 0) + (with_sender ? CMSG_SPACE(sizeof self) : 0);
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    if (part && size)
        part = enclose(message, part, SCM_RIGHTS, descriptors->fd, size);
    if (part && with_sender)
        enclose(message, part, SCM_CREDENTIALS, &self, sizeof self);
}

/* A sender may enclose more than there is room for in the list. */
static void take_descriptors(const struct cmsghdr *part, struct shmemi_descriptors *taken)
{
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
        if (taken->count < SHMEMI_DESCRIPTORS_MAX)
            taken->fd[taken->count++] = fd;
        else
            close(fd);
    }
}

bool shmemi_socket_unpack(struct msghdr *message, struct shmemi_descriptors *taken)
{
    struct ucred sender = {.uid = (uid_t)-1};
    taken->count = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
            take_descriptors(part, taken);
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS &&
            part->cmsg_len == CMSG_LEN(sizeof sender))
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
    }
    return shmemi_user_is_own(sender.uid);
}

int shmemi_socket_send(int fd, uint64_t number, const struct shmemi_message *message)
{
    struct sockaddr_un address;
    union shmemi_enclosed enclosed;
    struct iovec vector = {message->data, message->size};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (number) {
        header.msg_name = &address;
        header.msg_namelen = shmemi_socket_address(number, &address);
    }
    shmemi_socket_enclose(&header, &enclosed, &message->beside, number);
    ssize_t sent = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)message->size ? 0 : sent < 0 ? -errno : -EPROTO;
}

bool shmemi_socket_is_busy(int rc)
{
    return rc == -EAGAIN || rc == -ENOBUFS || rc == -ETOOMANYREFS || rc == -EINTR;
}

ssize_t shmemi_socket_receive(int fd, int flags, struct shmemi_message *message)
{
    union shmemi_enclosed enclosed;
    struct iovec vector = {message->data, message->size};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &enclosed, .msg_controllen = sizeof enclosed};
    message->beside.count = 0;
    ssize_t size = recvmsg(fd, &header, flags | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (size < 0)
        return -errno;
    message->is_own = shmemi_socket_unpack(&header, &message->beside);
    message->has_lost = header.msg_flags & MSG_CTRUNC;
    return size;
}
