/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registers types that oshtypes wrote, if the marks in the program are those that oshtypes read. With SHMEM_CHECK_TYPES
 * it also lets oshtypes compare the types with the debug information of the executable or shared library that they are
 * linked into. This also finds changes that no mark covers, and works for Fortran.
 */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/settings.h"
#include "deep/types/marks.h"
#include "deep/types/type.h"
#include "shmem/internal.h"
#include "shmem/shmemx.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char routine[] = "shmemx_types_register";

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

/* The marks in the running program. */
struct section {
    const char *bytes;
    size_t size;
};

static bool names_the_same(const shmemx_mark_t *expected, const struct shmemi_mark *mark)
{
    return !strcmp(expected->type, mark->type) && !strcmp(expected->members, mark->members);
}

/* What differs, in words, or NULL. *member_p: the number of the member, or UINT32_MAX for all. */
static const char *difference(const shmemx_mark_t *expected, const struct shmemi_mark *mark, uint32_t *member_p)
{
    *member_p = UINT32_MAX;
    if (strcmp(expected->meaning, mark->meaning))
        return "is annotated differently";
    if (expected->n != mark->n)
        return "has other members";
    for (uint32_t i = 0; i < mark->n; i++) {
        struct shmemi_mark_place place = shmemi_mark_place_at(mark, i);
        *member_p = i;
        if (expected->places[2 * i] != place.offset)
            return "has another offset";
        if (expected->places[2 * i + 1] != place.size)
            return "has another size";
    }
    *member_p = UINT32_MAX;
    return expected->size == mark->size ? NULL : "belongs to a type of another size";
}

/* members: names separated by commas. */
static int refuse_annotation(const char *type, const char *members, uint32_t member, const char *what)
{
    for (uint32_t i = 0; i < member && member != UINT32_MAX; i++)
        members += strcspn(members, ",") + strspn(members + strcspn(members, ","), ", ");
    int length = (int)(member == UINT32_MAX ? strlen(members) : strcspn(members, ","));
    shmemi_error("%s: %.*s of type %s %s since oshtypes read the program: run oshtypes again, and compile and "
                 "link its output",
                 routine, length, members, type, what);
    return -ESTALE;
}

static bool is_in_section(const shmemx_mark_t *expected, const struct section *section)
{
    struct shmemi_mark mark;
    for (size_t at = 0; shmemi_marks_next(section->bytes, section->size, &at, &mark);)
        if (names_the_same(expected, &mark))
            return true;
    return false;
}

/* Checks that a mark in the program, if it is about one of these types, equals the mark that oshtypes read. */
static int check_mark(const struct shmemi_mark *mark, size_t n, const shmemx_mark_t *expected)
{
    bool knows_type = false;
    const char *what = NULL;
    uint32_t member = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        knows_type |= !strcmp(expected[i].type, mark->type);
        if (names_the_same(&expected[i], mark) && !(what = difference(&expected[i], mark, &member)))
            return 0;
    }
    if (!knows_type)
        return 0;
    return refuse_annotation(mark->type, mark->members, member, what ? what : "is annotated now");
}

static int check_annotations(size_t n, const shmemx_mark_t *expected, const struct section *section)
{
    struct shmemi_mark mark;
    int result;
    for (size_t at = 0; n && shmemi_marks_next(section->bytes, section->size, &at, &mark);)
        if ((result = check_mark(&mark, n, expected)))
            return result;
    for (size_t i = 0; i < n; i++)
        if (!is_in_section(&expected[i], section))
            return refuse_annotation(expected[i].type, expected[i].members, UINT32_MAX, "has lost its annotation");
    return 0;
}

/* ---- Debug information ------------------------------------------------------------------------------------------- */

struct file_search {
    uintptr_t address;
    char path[PATH_MAX];
};

/* Find the loaded file that holds an address; the program itself is listed without a name. */
static int holds(struct dl_phdr_info *object, size_t size, void *argument)
{
    (void)size;
    struct file_search *search = argument;
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

static int run_oshtypes(char *path)
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

/* Run oshtypes --check on the file that holds the address of the types' tables. Returns 0, or logs the cause and
 * returns -ESTALE if the types differ, -ENOENT if there is no oshtypes. */
static int check_program(const void *address)
{
    struct file_search search = {(uintptr_t)address, ""};
    if (!dl_iterate_phdr(holds, &search)) {
        shmemi_error("%s: SHMEM_CHECK_TYPES: no executable or shared library holds the types", routine);
        return -ENOENT;
    }
    ssize_t length = search.path[0] ? 0 : readlink("/proc/self/exe", search.path, sizeof search.path - 1);
    return length < 0 ? -errno : run_oshtypes(search.path);
}

/* ---- The public routine ------------------------------------------------------------------------------------------ */

SHMEMI_EXPORT int shmemx_types_register(size_t ntypes, const shmemx_type_desc_t *types, size_t nmarks,
                                        const shmemx_mark_t *marks, const void *section, size_t section_bytes)
{
    const struct section program = {section, section ? section_bytes : 0};
    int result = check_annotations(nmarks, marks, &program);
    if (!shmemi_is_initialized())
        shmemi_settings_preview();
    if (!result && shmemi_settings.check_types)
        result = check_program(types);
    return result ? result : shmemi_types_create(routine, ntypes, types, NULL);
}
