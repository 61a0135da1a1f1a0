/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK_TYPES: lets oshtypes compare the types that it wrote with the debug information of the executable or
 * shared library that they are linked into. This also finds changes that no mark covers, and works for Fortran.
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

/* Find the loaded file that holds an address; the program itself is listed without a name. */
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
    shmemi_error("%s: the types that oshtypes wrote are not those of %s: run it again, and compile and link its output",
                 routine, path);
    return -ESTALE;
}

int shmemi_deep_check_program(const char *routine, const void *address)
{
    struct search search = {(uintptr_t)address, ""};
    if (!dl_iterate_phdr(holds, &search)) {
        shmemi_error("%s: SHMEM_CHECK_TYPES: no executable or shared library holds the types", routine);
        return -ENOENT;
    }
    ssize_t length = search.path[0] ? 0 : readlink("/proc/self/exe", search.path, sizeof search.path - 1);
    return length < 0 ? -errno : run_oshtypes(routine, search.path);
}
