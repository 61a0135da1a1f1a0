/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits of the system: what they leave, and how to raise them.
 */
#define _GNU_SOURCE
#include "base/limits.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
    int error;
    const char *text;
} remedies[] = {
    {EAGAIN,
     "; there may be no more processes and threads, or no more addresses for them: raise ulimit -u, pids.max of "
     "the control group, or ulimit -v"},
    {ENOMEM, "; memory or addresses are used up: raise ulimit -v, or the memory of the control group"},
    {ETOOMANYREFS, "; too many descriptors of this user are under way: raise the limit of open files (ulimit -n)"},
    {EMFILE, "; raise the limit of open files (ulimit -n)"},
    {ENFILE, "; the machine's table of open files is full (fs.file-max)"},
    {EFBIG, "; raise the limit of file sizes, which counts for shared memory, too (ulimit -f unlimited)"},
    {ENOSPC, "; the disk is full, or a quota used up (of disks, or fs.epoll.max_user_watches)"},
    {EPERM, "; something like the seccomp profile of a container forbids it"},
    {ENOSYS, "; the kernel, or the seccomp profile of a container, does not offer it"},
    {EROFS, "; choose a place that can be written to"},
};

const char *shmemi_remedy(int error)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].error == error)
            return remedies[i].text;
    return "";
}

bool shmemi_file_may_have(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

int shmemi_memory_file_resize(int fd, size_t size)
{
    struct rlimit before, lifted;
    const bool has_limit = !shmemi_file_may_have(size) && !getrlimit(RLIMIT_FSIZE, &before);
    if (has_limit) {
        lifted = before;
        lifted.rlim_cur = before.rlim_max;
        if (size > before.rlim_max || setrlimit(RLIMIT_FSIZE, &lifted))
            return -EFBIG;
    }
    int rc = ftruncate(fd, (off_t)size) ? -errno : 0;
    if (has_limit)
        setrlimit(RLIMIT_FSIZE, &before);
    return rc;
}

void shmemi_standard_files_fill(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* The lowest free number: about as many files as are open. */
static size_t n_open_files(size_t limit)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    if (fd < 0)
        return limit;
    close(fd);
    return (size_t)fd;
}

size_t shmemi_descriptors_reserve(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return wanted;
    const size_t used = n_open_files(limit.rlim_cur), soft = limit.rlim_cur;
    if (soft < used + wanted && soft < limit.rlim_max) {
        limit.rlim_cur = used + wanted < limit.rlim_max ? used + wanted : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            limit.rlim_cur = soft;
        else
            shmemi_info("the limit of open files is raised from %zu to %zu", soft, (size_t)limit.rlim_cur);
    }
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}
