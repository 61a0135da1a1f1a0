/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads limits of memory from /proc and from the files of control groups.
 *
 * /proc/self/cgroup says which groups this process is in, /proc/self/mountinfo where the tree of groups is mounted, and
 * which of its folders is visible there: in a container that may be the process's own group. Limits are looked up from
 * the own group upwards as far as the folders are visible.
 */
#include "base/system/memory_limit.h"

#include "base/holdings.h"
#include "base/least.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

atomic_ptrdiff_t shmemi_held[SHMEMI_PARTS];

enum { LINE_BYTES = 4096 };

/* A tree of control groups that limits memory, and this process's place in it. */
struct tree {
    bool is_v2, is_found;
    char mount[LINE_BYTES];   /* where it is mounted, */
    char visible[LINE_BYTES]; /* and which group is seen there */
    char group[LINE_BYTES];   /* of this process */
};

struct search {
    const char *root;
    size_t swap; /* of the machine */
    struct shmemi_memory_limit *limit;
};

static FILE *open_file(const char *root, const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    return length < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* The number in a file; SIZE_MAX for "max", for a number that means none, and when there is no such file. */
static size_t read_number(const char *root, const char *folder, const char *name)
{
    unsigned long long number = 0;
    FILE *file = open_file(root, folder, name);
    bool got = file && fscanf(file, "%llu", &number) == 1;
    if (file)
        fclose(file);
    return got && number <= SIZE_MAX / 2 ? (size_t)number : SIZE_MAX;
}

static size_t sum(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static bool has_word(const char *list, const char *word)
{
    for (;;) {
        size_t length = strcspn(list, ",\n");
        if (length == strlen(word) && !strncmp(list, word, length))
            return true;
        if (!list[length])
            return false;
        list += length + 1;
    }
}

/* Spaces, tabs, newlines and backslashes of a path are three octal digits in mountinfo, as in "\\040". */
static void decode(char *path)
{
    char *to = path;
    for (const char *from = path; *from; to++) {
        unsigned character;
        int length = 0;
        if (*from == '\\' && sscanf(from + 1, "%3o%n", &character, &length) == 1 && length == 3) {
            *to = (char)character;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* A line of mountinfo: "36 35 98:0 /visible /mount options ... - type source superoptions". */
static void read_mount(struct tree *tree, char *line)
{
    char type[32], options[LINE_BYTES];
    char *end = strstr(line, " - ");
    if (!end || sscanf(end, " - %31s %*s %4095s", type, options) != 2)
        return;
    if (strcmp(type, tree->is_v2 ? "cgroup2" : "cgroup") || (!tree->is_v2 && !has_word(options, "memory")))
        return;
    if (tree->is_found || sscanf(line, "%*s %*s %*s %4095s %4095s", tree->visible, tree->mount) != 2)
        return;
    decode(tree->visible);
    decode(tree->mount);
    tree->is_found = true;
}

/* A line of /proc/self/cgroup: "4:memory:/group", or "0::/group" in version 2. */
static bool read_group(struct tree *tree, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return false;
    *group++ = '\0';
    controllers++;
    if (tree->is_v2 ? *controllers || strncmp(line, "0:", 2) : !has_word(controllers, "memory"))
        return false;
    group[strcspn(group, "\n")] = '\0';
    strcpy(tree->group, group);
    return true;
}

static bool find_tree(const char *root, struct tree *tree)
{
    char line[LINE_BYTES];
    bool has_group = false;
    FILE *file = open_file(root, "/proc/self", "cgroup");
    while (file && !has_group && fgets(line, sizeof line, file))
        has_group = read_group(tree, line);
    if (file)
        fclose(file);
    file = has_group ? open_file(root, "/proc/self", "mountinfo") : NULL;
    while (file && fgets(line, sizeof line, file))
        read_mount(tree, line);
    if (file)
        fclose(file);
    return tree->is_found;
}

/* The part of the group's path that is seen below the mount: all of it when the mount shows the whole tree, nothing when
 * the group lies elsewhere. */
static const char *visible_part(const struct tree *tree)
{
    size_t length = strcmp(tree->visible, "/") ? strlen(tree->visible) : 0;
    bool is_below =
        !strncmp(tree->group, tree->visible, length) && (!tree->group[length] || tree->group[length] == '/');
    return is_below && !strstr(tree->group, "/..") ? tree->group + length : "";
}

/* What a group allows. memory.high slows processes down so much that they hardly go on, so it counts as a limit. */
static size_t allowed(const struct search *search, bool is_v2, const char *folder)
{
    const char *root = search->root;
    if (!is_v2)
        return shmemi_least(sum(read_number(root, folder, "memory.limit_in_bytes"), search->swap),
                            read_number(root, folder, "memory.memsw.limit_in_bytes"));
    size_t memory = shmemi_least(read_number(root, folder, "memory.max"), read_number(root, folder, "memory.high"));
    return sum(memory, shmemi_least(read_number(root, folder, "memory.swap.max"), search->swap));
}

static void consider(const struct search *search, size_t bytes, const char *what, const char *name)
{
    if (bytes >= search->limit->bytes)
        return;
    search->limit->bytes = bytes;
    snprintf(search->limit->what, sizeof search->limit->what, "%s%s", what, name);
}

/* The own group and those above it. */
static void consider_groups(const struct search *search, bool is_v2)
{
    struct tree tree = {.is_v2 = is_v2};
    char folder[2 * LINE_BYTES];
    if (!find_tree(search->root, &tree))
        return;
    snprintf(folder, sizeof folder, "%s%s", tree.mount, visible_part(&tree));
    for (size_t length = strlen(folder); length >= strlen(tree.mount); folder[length] = '\0') {
        consider(search, allowed(search, is_v2, folder), "the control group ", folder);
        while (length && folder[--length] != '/')
            ;
        if (!length)
            break;
    }
}

/* The number of a line of /proc/meminfo, in bytes; SIZE_MAX when it is missing. */
static size_t machine_has(const char *root, const char *name)
{
    char line[LINE_BYTES];
    size_t kib = SIZE_MAX >> 10, length = strlen(name);
    FILE *file = open_file(root, "/proc", "meminfo");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, length) && line[length] == ':')
            kib = (size_t)strtoull(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return kib == SIZE_MAX >> 10 ? SIZE_MAX : kib << 10;
}

/* Where /proc is missing, the kernel is asked directly. */
static size_t memory_of_machine(const char *root, size_t swap)
{
    struct sysinfo info;
    size_t bytes = machine_has(root, "MemTotal");
    if (bytes != SIZE_MAX || *root || sysinfo(&info))
        return sum(bytes, swap);
    return ((size_t)info.totalram + info.totalswap) * info.mem_unit;
}

void shmemi_memory_limit_find(const char *root, struct shmemi_memory_limit *limit)
{
    struct search search = {.root = root, .limit = limit};
    size_t swap = machine_has(root, "SwapTotal");
    search.swap = swap == SIZE_MAX ? 0 : swap;
    *limit = (struct shmemi_memory_limit){.bytes = SIZE_MAX};
    consider(&search, memory_of_machine(root, search.swap), "the machine", "");
    if (read_number(root, "/proc/sys/vm", "overcommit_memory") == 2)
        consider(&search, machine_has(root, "CommitLimit"), "the machine (vm.overcommit_memory=2)", "");
    consider_groups(&search, true);
    consider_groups(&search, false);
}
