/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK_TYPES: types that oshtypes has written are compared with the debug information of the executable or
 * shared library that they are linked into, by oshtypes itself. Finds what no mark speaks of, in Fortran too.
 */
#define _GNU_SOURCE
#include "shmem/deep/stale.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct search {
    uintptr_t address;
    char path[PATH_MAX];
};

/* Whether the address lies in this object; that of the program itself has no name. */
static int holds(struct dl_phdr_info *object, size_t size, void *argument)
{
    (void)size;
    struct search *search = argument;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || search->address - start >= segment->p_memsz)
            continue;
        if (object->dlpi_name[0])
            snprintf(search->path, sizeof search->path, "%s", object->dlpi_name);
        return 1;
    }
    return 0;
}

static int run_oshtypes(const char *routine, char *path)
{
    char *arguments[] = {"oshtypes", "--check", path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0, result = posix_spawn_file_actions_init(&actions);
    if (result)
        return -result;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    result = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result) {
        shmemi_error("%s: SHMEM_CHECK_TYPES: oshtypes cannot be run: %s; is it in PATH?", routine, strerror(result));
        return -result;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    shmemi_error("%s: the types that oshtypes has written are not those of %s: run it again, and compile and link what "
                 "it writes",
                 routine, path);
    return -ESTALE;
}

int shmemi_deep_check_program(const char *routine, const void *address)
{
    struct search search = {(uintptr_t)address, ""};
    if (!dl_iterate_phdr(holds, &search)) {
        shmemi_error("%s: SHMEM_CHECK_TYPES: the types lie in no file", routine);
        return -ENOENT;
    }
    ssize_t length = search.path[0] ? 0 : readlink("/proc/self/exe", search.path, sizeof search.path - 1);
    return length < 0 ? -errno : run_oshtypes(routine, search.path);
}
