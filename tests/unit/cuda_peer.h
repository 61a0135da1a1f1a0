/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second process for tests of CUDA memory: it imports the memory that the test exports, reads, writes and releases it,
 * as messages over a socket ask it to.
 */
#ifndef CUDA_PEER_H
#define CUDA_PEER_H

#include "base/log.h"
#include "cuda_times.h"

#include <dirent.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 4 };

enum command { NOTHING, IMPORT, READ, WRITE, TIME, RELEASE };
/* Beside which memory the child opens the parent's: of a device; of a context of cuCtxCreate on the first one; of none, for
 * the owner's device. */
enum { LAST_DEVICE = -1, OWN_CONTEXT = -2, OWNERS_DEVICE = -3 };

struct message {
    enum command command;
    int slot, device;
    unsigned seed;
    size_t size;
    struct shmemi_memory_handle handle;
    struct shmemi_descriptors descriptors; /* their numbers are valid in one process only */
};

struct answer {
    int rc;
    int n_open; /* files of the process */
    uint64_t address;
};

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * SHMEMI_DESCRIPTORS_MAX)];
};

static void send_message(int socket, struct message *message)
{
    union control control = {0};
    struct iovec vector = {message, sizeof *message};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    size_t n_bytes = message->descriptors.count * sizeof(int);
    if (n_bytes) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(n_bytes);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(n_bytes);
        memcpy(CMSG_DATA(rights), message->descriptors.fd, n_bytes);
    }
    CHECK(sendmsg(socket, &header, 0) == sizeof *message);
}

static bool receive_message(int socket, struct message *message)
{
    union control control;
    struct iovec vector = {message, sizeof *message};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != sizeof *message)
        return false;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    CHECK(!!rights == !!message->descriptors.count);
    if (rights)
        memcpy(message->descriptors.fd, CMSG_DATA(rights), message->descriptors.count * sizeof(int));
    return true;
}

static int count_open(void)
{
    int n = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static struct import_slot {
    struct shmemi_memory_handle handle;
    struct shmemi_place place;
} slots[SLOTS];

static int transfer(int slot, char *bytes, size_t size, bool is_write)
{
    struct shmemi_place host = shmemi_place_host(bytes);
    struct shmemi_shape shape = shmemi_shape_linear(size);
    return is_write ? memory->copy(&slots[slot].place, &host, &shape) : memory->copy(&host, &slots[slot].place, &shape);
}

static int child_time(const struct message *message)
{
    struct shmemi_gpu_context *context = slots[message->slot].place.object;
    struct shmemi_place mine = {memory, context, 0};
    bool pushed;
    USE(shmemi_gpu_enter(context, &pushed));
    mine.address = user_alloc(message->size);
    time_copies("to the other process:  ", &slots[message->slot].place, &mine, message->size);
    time_copies("from the other process:", &mine, &slots[message->slot].place, message->size);
    fflush(stdout);
    USE(cuda.cuMemFree(mine.address));
    shmemi_gpu_leave(pushed);
    return n_failures ? -EIO : 0;
}

/* The context in which the child opens the memory. */
static struct shmemi_gpu_context *child_context(int device)
{
    static CUcontext own;
    struct shmemi_gpu_context *context = NULL;
    if (device == OWN_CONTEXT && !own)
        USE(user.create_context(&own, 0, 0));
    if (device == LAST_DEVICE)
        device = memory->device_count() - 1;
    CHECK(!shmemi_gpu_context_find(device < 0 ? own : NULL, device < 0 ? 0 : device, &context));
    return context;
}

static int child_import(const struct message *message)
{
    struct import_slot *slot = &slots[message->slot];
    char reason[192] = "";
    const bool is_beside = message->device != OWNERS_DEVICE;
    const struct shmemi_place mine = {memory, is_beside ? child_context(message->device) : NULL, 0};
    const struct shmemi_place *user_place = is_beside ? &mine : NULL;
    slot->handle = message->handle;
    int rc = memory->sharing->import_handle(&slot->handle, &message->descriptors, user_place, &slot->place, reason,
                                            sizeof reason);
    CHECK(rc || !user_place || slot->place.object == mine.object);
    if (rc)
        printf("# not imported: %s\n", reason[0] ? reason : strerror(-rc));
    fflush(stdout);
    return rc;
}

static int child_serve(const struct message *message)
{
    struct import_slot *slot = &slots[message->slot];
    int rc = 0;
    switch (message->command) {
    case NOTHING:
        return 0;
    case IMPORT:
        return child_import(message);
    case READ:
        rc = transfer(message->slot, host_a, message->size, false);
        fill(host_b, message->size, message->seed);
        return rc ? rc : memcmp(host_a, host_b, message->size) ? -EBADMSG : 0;
    case WRITE:
        fill(host_a, message->size, message->seed);
        return transfer(message->slot, host_a, message->size, true);
    case TIME:
        return child_time(message);
    case RELEASE:
        memory->sharing->release_handle(&slot->handle, &slot->place);
        return 0;
    }
    return -EINVAL;
}

static int child_main(int socket)
{
    static struct message message;
    CHECK(!memory->open());
    load_user_functions();
    while (receive_message(socket, &message)) {
        int rc = child_serve(&message);
        shmemi_descriptors_close(&message.descriptors);
        struct answer answer = {rc, count_open(), slots[message.slot].place.address};
        CHECK(write(socket, &answer, sizeof answer) == sizeof answer);
    }
    memory->close();
    return n_failures ? 1 : 0;
}

static struct {
    pid_t pid;
    int socket;
} child;

/* Started before CUDA, which does not survive a fork. */
static void start_child(const char *program)
{
    int ends[2];
    CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    child.pid = fork();
    if (child.pid == 0) {
        char number[16];
        close(ends[0]);
        snprintf(number, sizeof number, "%d", ends[1]);
        execl(program, program, "child", number, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    child.socket = ends[0];
}

static struct answer ask(struct message message)
{
    struct answer answer = {.rc = -EPIPE};
    send_message(child.socket, &message);
    shmemi_descriptors_close(&message.descriptors);
    CHECK(read(child.socket, &answer, sizeof answer) == sizeof answer);
    return answer;
}

static int ask_rc(enum command command, int slot, unsigned seed, size_t size)
{
    return ask((struct message){.command = command, .slot = slot, .seed = seed, .size = size}).rc;
}

static int stop_child(void)
{
    int status = 1;
    close(child.socket);
    waitpid(child.pid, &status, 0);
    return status;
}

#endif
