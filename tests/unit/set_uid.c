/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In a set-uid program settings that name files do not count, and others do. A copy of this program, which belongs to
 * another user and is set-uid, looks at its settings; without root there is no such copy.
 */
#define _GNU_SOURCE
#include "base/settings.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OTHER_USER = 65534, SKIPPED = 77 };

/* A set-uid program gets no options from the environment, and cannot be searched for leaks. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* As the copy, or, to see that the settings count elsewhere, as this program. */
static int look(bool is_secure)
{
    if (is_secure && !getauxval(AT_SECURE)) {
        puts("the file system of the copy, or an emulator of processes, does not let it be set-uid");
        fflush(stdout);
        return SKIPPED;
    }
    shmemi_settings_preview();
    CHECK(!shmemi_settings.trace[0] == is_secure);
    CHECK(!shmemi_settings_mpi_module()[0] == is_secure);
    CHECK(shmemi_settings.timeout == 7);
    return 0;
}

static void copy_to(const char *path)
{
    struct stat status;
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_TRUNC);
    CHECK(from >= 0 && to >= 0 && !fstat(from, &status));
    for (off_t left = status.st_size; left;) {
        ssize_t done = sendfile(to, from, NULL, (size_t)left);
        CHECK(done > 0);
        left -= done;
    }
    CHECK(!fchown(to, OTHER_USER, (gid_t)-1) && !fchmod(to, 04755));
    close(from);
    close(to);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/set-uid-XXXXXX";
    int status, fd;
    if (argc == 2)
        return look(!strcmp(argv[1], "secure"));
    setenv("SHMEM_TRACE", "/tmp/trace.json", 1);
    setenv("SHMEM_BOOTSTRAP", "mpi:/tmp/module.so", 1);
    setenv("SHMEM_TIMEOUT", "7", 1);
    CHECK(look(false) == 0);
    if (geteuid()) {
        puts("a copy that belongs to another user needs root");
        return SKIPPED;
    }
    CHECK((fd = mkstemp(path)) >= 0);
    close(fd);
    copy_to(path);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        execl(path, path, "secure", NULL);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    unlink(path);
    return WEXITSTATUS(status);
}
