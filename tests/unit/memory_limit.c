/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much memory a process may use, read from a folder that stands for / with the files of a machine, of a container,
 * of a batch system, and with none at all.
 */
#include "base/system/memory_limit.h"

#include "unit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define V2 "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n"

static char root[64];

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void clear(void)
{
    char command[2 * sizeof root + 32];
    snprintf(command, sizeof command, "rm -rf '%s'; mkdir '%s'", root, root);
    CHECK(system(command) == 0);
}

/* A machine of 1000 MiB with 100 MiB of swap, and what /proc says of the groups. */
static void make_machine(const char *groups, const char *mounts)
{
    clear();
    put("/proc/meminfo", "MemTotal:        1024000 kB\nMemFree: 1 kB\nSwapTotal:        102400 kB\n"
                         "CommitLimit:     512000 kB\n");
    put("/proc/self/cgroup", groups);
    put("/proc/self/mountinfo", mounts);
}

static void expect(size_t bytes, const char *what)
{
    struct shmemi_memory_limit limit;
    shmemi_memory_limit_find(root, &limit);
    if (limit.bytes == bytes && !strcmp(limit.what, what))
        return;
    fprintf(stderr, "expected %zu of %s, found %zu of %s\n", bytes, what, limit.bytes, limit.what);
    exit(1);
}

static void check_machine(void)
{
    clear();
    expect(SIZE_MAX, ""); /* no /proc */
    make_machine("0::/\n", V2);
    expect(1100 * MIB, "the machine");
    put("/sys/fs/cgroup/memory.max", "max\n");
    expect(1100 * MIB, "the machine");
    put("/proc/sys/vm/overcommit_memory", "1\n");
    expect(1100 * MIB, "the machine");
    put("/proc/sys/vm/overcommit_memory", "2\n");
    expect(500 * MIB, "the machine (vm.overcommit_memory=2)");
}

static void check_version_2(void)
{
    make_machine("0::/job/step\n", V2);
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/memory.max", "209715200\n");
    expect(300 * MIB, "the control group /sys/fs/cgroup/job"); /* with the swap of the machine */
    put("/sys/fs/cgroup/job/memory.swap.max", "0\n");
    expect(200 * MIB, "the control group /sys/fs/cgroup/job");
    put("/sys/fs/cgroup/job/step/memory.max", "104857600\n");
    put("/sys/fs/cgroup/job/step/memory.swap.max", "1048576\n");
    expect(101 * MIB, "the control group /sys/fs/cgroup/job/step");
    put("/sys/fs/cgroup/memory.high", "52428800\n"); /* the top of what is visible counts, too */
    put("/sys/fs/cgroup/memory.swap.max", "0\n");
    expect(50 * MIB, "the control group /sys/fs/cgroup");
}

/* In a container the mount shows the own group alone, as / or by its name outside. */
static void check_containers(void)
{
    make_machine("0::/docker/c0ffee\n", "9 8 0:28 /docker/c0ffee /sys/fs/cgroup ro - cgroup2 cgroup ro\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    expect(200 * MIB, "the control group /sys/fs/cgroup");
    make_machine("0::/docker/c0ffee2\n", "9 8 0:28 /docker/c0ffee /sys/fs/cgroup ro - cgroup2 cgroup ro\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    expect(200 * MIB, "the control group /sys/fs/cgroup");
    make_machine("0::/../other\n", V2); /* moved out of the namespace */
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    put("/other/memory.max", "1048576\n");
    expect(200 * MIB, "the control group /sys/fs/cgroup");
    make_machine("0::/\n", "no mountinfo at all\n - \n");
    expect(1100 * MIB, "the machine");
}

/* Spaces and backslashes in the place of the mount and in the group that is seen there. */
static void check_escapes(void)
{
    make_machine("0::/my job\\1/step\n",
                 "9 8 0:28 /my\\040job\\1341 /sys/fs/c\\040\\011group\\134 ro - cgroup2 a ro\n");
    put("/sys/fs/c \tgroup\\/memory.max", "209715200\n");
    expect(300 * MIB, "the control group /sys/fs/c \tgroup\\");
    put("/sys/fs/c \tgroup\\/step/memory.max", "104857600\n");
    expect(200 * MIB, "the control group /sys/fs/c \tgroup\\/step");
    make_machine("0::/a\n", "9 8 0:28 / /sys/c\\04\\9999\\ ro - cgroup2 a ro\n"); /* no escapes */
    put("/sys/c\\04\\9999\\/memory.max", "104857600\n");
    expect(200 * MIB, "the control group /sys/c\\04\\9999\\");
}

static void check_version_1(void)
{
    static const char groups[] = "9:name=systemd:/\n5:cpu,cpuacct:/wrong\n4:hugetlb,memory:/slurm/uid_0\n0::/\n";
    make_machine(groups, "35 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                         "35 31 0:32 / /sys/fs/cgroup/memory rw,nosuid shared:7 master:2 - cgroup cgroup rw,memory\n");
    expect(1100 * MIB, "the machine");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/slurm/uid_0/memory.limit_in_bytes", "104857600\n");
    expect(200 * MIB, "the control group /sys/fs/cgroup/memory/slurm/uid_0");
    put("/sys/fs/cgroup/memory/slurm/memory.memsw.limit_in_bytes", "52428800\n");
    expect(50 * MIB, "the control group /sys/fs/cgroup/memory/slurm");
}

/* Lines that are cut, and paths as long as lines may be. */
static void check_junk(void)
{
    static char text[9000];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "0::/", 4);
    make_machine(text, V2);
    expect(1100 * MIB, "the machine");
    make_machine("0\n0:\n::\n0::", "1 2 3\n - cgroup2\n - cgroup2 a b\n/ / / / / - cgroup2 a b");
    expect(1100 * MIB, "the machine");
}

int main(void)
{
    struct shmemi_memory_limit limit;
    snprintf(root, sizeof root, "/tmp/mapshmem-memory-limit.XXXXXX");
    CHECK(mkdtemp(root));
    check_machine();
    check_version_2();
    check_containers();
    check_escapes();
    check_version_1();
    check_junk();
    clear();
    CHECK(rmdir(root) == 0);
    shmemi_memory_limit_find("", &limit); /* here */
    CHECK(limit.bytes > MIB && limit.bytes < SIZE_MAX && limit.what[0]);
    return 0;
}
