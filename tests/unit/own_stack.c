/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which private addresses are taken for the host's without asking the kinds of memory: those of the calling thread's
 * stack, and of no other memory, however large the stack may grow and wherever the kernel places mappings.
 */
#define _GNU_SOURCE
#include "shmmap/region.h"

#include "unit.h"

#include <alloca.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every question goes this way: the linker is told. */
static bool has_asked;
enum shmemi_claim __real_shmemi_memory_locate(const void *address, struct shmemi_place *place_p);
enum shmemi_claim __wrap_shmemi_memory_locate(const void *address, struct shmemi_place *place_p);
enum shmemi_claim __wrap_shmemi_memory_locate(const void *address, struct shmemi_place *place_p)
{
    has_asked = true;
    return __real_shmemi_memory_locate(address, place_p);
}

/* Whether a kind of memory was asked for the address. */
static bool asks(const void *address)
{
    struct shmemi_place place;
    has_asked = false;
    CHECK(shmemi_place_of(address, 1, &place) == 0 && place.address == (uintptr_t)address);
    return has_asked;
}

static void check_mapping(void *wanted)
{
    enum { BYTES = 1 << 16 };
    char *memory = mmap(wanted, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(asks(memory) && asks(memory + BYTES - 1));
    munmap(memory, BYTES);
}

/* Mappings all over the range that the C library takes for the main thread's stack. */
static void check_mappings(void)
{
    enum { STEPS = 64 };
    pthread_attr_t attributes;
    void *low;
    size_t size;
    CHECK(!pthread_getattr_np(pthread_self(), &attributes) && !pthread_attr_getstack(&attributes, &low, &size));
    pthread_attr_destroy(&attributes);
    check_mapping(NULL);
    for (size_t i = 1; i < STEPS; i++)
        check_mapping((char *)((uintptr_t)low + size / STEPS * i / 4096 * 4096));
}

static void check_deep(int depth)
{
    char *block = alloca(1 << 20);
    memset(block, depth, 1 << 20);
    if (depth)
        check_deep(depth - 1);
    else
        asks(block); /* either is right, if the place is */
    CHECK(block[12345] == depth);
}

static void *check_thread(void *variable_of_main)
{
    int mine = 0;
    CHECK(!asks(&mine) && asks(variable_of_main));
    return NULL;
}

static void check(char **argv)
{
    int mine = 0;
    pthread_t thread;
    CHECK(!asks(&mine) && !asks(argv));
    check_mappings();
    check_deep(4);
    CHECK(!asks(&mine));
    CHECK(pthread_create(&thread, NULL, check_thread, &mine) == 0 && pthread_join(thread, NULL) == 0);
}

/* As under ulimit -s unlimited and setarch -L. */
static void check_without_limit(const char *self)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        if (setrlimit(RLIMIT_STACK, &none))
            _exit(77);
        personality(personality(0xffffffff) | ADDR_COMPAT_LAYOUT);
        execl(self, self, "again", (char *)NULL);
        _exit(99);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

int main(int argc, char **argv)
{
    static int data;
    shmemi_window.static_base = (uintptr_t)&data; /* from here to the end of the heap is the host's */
    shmemi_window.static_size = sizeof data;
    check(argv);
    if (argc == 1)
        check_without_limit("/proc/self/exe");
    return 0;
}
