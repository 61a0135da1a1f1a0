/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of 4, 16 and 64 KiB, of which this machine's kernel has one size: the others are played. The library is told the
 * size, and what it asks of the kernel is refused where a kernel with such pages would refuse it. A program of one PE runs
 * with each size from its start to its end.
 */
#define _GNU_SOURCE
#include "base/system/pages.h"
#include "shmem/shmem.h"
#include "transport/node.h"
#include "unit.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { LARGEST = 64 << 10, OBJECT = 3 * LARGEST + 40 };

static size_t page = LARGEST; /* until main has been told: what comes before that holds for any size */
static unsigned n_refused, n_mapped;

long __real_sysconf(int name);
void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t length);
int __real_mprotect(void *address, size_t length, int protection);
int __real_madvise(void *address, size_t length, int advice);
long __wrap_sysconf(int name);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t length);
int __wrap_mprotect(void *address, size_t length, int protection);
int __wrap_madvise(void *address, size_t length, int advice);

static bool is_refused(const void *address, off_t offset)
{
    if ((uintptr_t)address % page == 0 && (size_t)offset % page == 0)
        return false;
    n_refused++;
    fprintf(stderr, "with pages of %zu bytes: address %p, offset %lld of a file\n", page, address, (long long)offset);
    errno = EINVAL;
    return true;
}

long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE ? (long)page : __real_sysconf(name);
}

/* Where the kernel chooses, it chooses a multiple of the page, and gives whole pages. */
static void *map_anywhere(size_t length, int protection, int flags, int fd, off_t offset)
{
    const size_t whole = (length + page - 1) / page * page;
    char *room = __real_mmap(NULL, whole + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return room;
    const size_t before = (page - (uintptr_t)room % page) % page;
    if (before)
        __real_munmap(room, before);
    __real_munmap(room + before + whole, page - before);
    return __real_mmap(room + before, length, protection, flags | MAP_FIXED, fd, offset);
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    const bool is_fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    if (is_refused(is_fixed ? address : NULL, offset))
        return MAP_FAILED;
    n_mapped++;
    if (is_fixed || !length)
        return __real_mmap(address, length, protection, flags, fd, offset);
    return map_anywhere(length, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t length)
{
    return is_refused(address, 0) ? -1 : __real_munmap(address, length);
}

int __wrap_mprotect(void *address, size_t length, int protection)
{
    return is_refused(address, 0) ? -1 : __real_mprotect(address, length, protection);
}

int __wrap_madvise(void *address, size_t length, int advice)
{
    return is_refused(address, 0) ? -1 : __real_madvise(address, length, advice);
}

static void check_node(void)
{
    CHECK(shmemi_page_size() == page && shmemi_whole_pages(1) == page && shmemi_whole_pages(page) == page);
    CHECK(shmemi_whole_pages(page + 1) == 2 * page && !shmemi_whole_pages(0));
    CHECK(shmemi_node.heap_offset % page == 0 && shmemi_node.heap_size % page == 0);
    CHECK(shmemi_node.staging_offset % page == 0 && shmemi_node.staging_size % page == 0);
    CHECK((uintptr_t)shmemi_node.header % page == 0);
}

static void use_heap(void)
{
    static char in[OBJECT], out[OBJECT];
    char *object = shmem_malloc(OBJECT), *aligned = shmem_align(LARGEST, OBJECT);
    CHECK(object && aligned && (uintptr_t)aligned % LARGEST == 0);
    for (size_t i = 0; i < OBJECT; i++)
        in[i] = (char)(i * 7 + i / 251);
    shmem_putmem(object, in, OBJECT, 0);
    shmem_putmem_nbi(aligned, object, OBJECT, 0);
    shmem_quiet();
    shmem_getmem(out, aligned, OBJECT, 0);
    CHECK(!memcmp(in, out, OBJECT) && !memcmp(in, object, OBJECT));
    shmem_free(object);
    shmem_free(aligned);
}

static int run(size_t size)
{
    page = size;
    shmem_init();
    CHECK(n_mapped); /* the calls of the library come by here */
    check_node();
    use_heap();
    shmem_finalize();
    CHECK(!n_refused);
    return 0;
}

/* Whether the test would see a mistake: an address between two pages. */
static void check_refusal(void)
{
    char *memory = __wrap_mmap(NULL, 2 * LARGEST, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && (uintptr_t)memory % LARGEST == 0);
    CHECK(__wrap_mprotect(memory + LARGEST / 2, LARGEST, PROT_NONE) && errno == EINVAL && n_refused == 1);
    CHECK(!__wrap_mprotect(memory + LARGEST, LARGEST, PROT_NONE) && !__wrap_munmap(memory, 2 * LARGEST));
}

static void run_as_process(char *program, char *size)
{
    char *arguments[] = {program, size, NULL};
    pid_t process;
    int status;
    CHECK(!posix_spawn(&process, "/proc/self/exe", NULL, NULL, arguments, environ));
    CHECK(waitpid(process, &status, 0) == process && WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    static char sizes[][8] = {"4096", "16384", "65536"};
    if (argc > 1)
        return run(strtoul(argv[1], NULL, 10));
    check_refusal();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strtol(sizes[i], NULL, 10) >= __real_sysconf(_SC_PAGESIZE))
            run_as_process(argv[0], sizes[i]);
    puts("page_sizes: passed");
    return 0;
}
