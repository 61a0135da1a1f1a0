/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forbid ERRNO CALL,CALL... COMMAND...: runs a command whose system calls of these names fail, as under the seccomp
 * profile of a container. ERRNO is EPERM, ENOSYS, EACCES or EAGAIN. Status 77 when filters are not permitted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

#define CALL(_name)                                                                                                    \
    {                                                                                                                  \
#_name, SYS_##_name                                                                                            \
    }

static const struct {
    const char *name;
    long number;
} calls[] = {
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(pidfd_open),
    CALL(pidfd_getfd),
    CALL(mbind),
    CALL(set_mempolicy),
    CALL(get_mempolicy),
    CALL(move_pages),
    CALL(userfaultfd),
    CALL(keyctl),
    CALL(perf_event_open),
    CALL(bpf),
    CALL(ptrace),
    CALL(kcmp),
    CALL(io_uring_setup),
    CALL(memfd_create),
    CALL(sched_setaffinity),
    CALL(sched_getaffinity),
    CALL(mlock),
    CALL(getrandom),
};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"EAGAIN", EAGAIN}};

static long number_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (!strcmp(calls[i].name, name))
            return calls[i].number;
    fprintf(stderr, "forbid: unknown system call %s\n", name);
    exit(2);
}

static int error_of(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (!strcmp(errors[i].name, name))
            return errors[i].number;
    fprintf(stderr, "forbid: unknown error %s\n", name);
    exit(2);
}

/* The filter loads the call's number; each pair of statements answers one call with the error, the last one permits. */
static unsigned make_filter(struct sock_filter *filter, int error, char *names)
{
    unsigned n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(names, ","); name && n < 2 * MOST; name = strtok(NULL, ",")) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(name), 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return n;
}

int main(int argc, char **argv)
{
    struct sock_filter filter[2 * MOST + 4];
    struct sock_fprog program = {.filter = filter};
    if (argc < 4)
        return 2;
    program.len = (unsigned short)make_filter(filter, error_of(argv[1]), argv[2]);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("system calls cannot be forbidden here");
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 2;
}
