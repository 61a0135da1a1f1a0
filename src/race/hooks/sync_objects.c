/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects through which threads of this process order themselves: mutexes, atomic words, barriers, teams of OpenMP.
 */
#include "race/hooks/sync_objects.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TABLE_SIZE = 16384, TRIES = 64 };

static struct sync_object {
    uintptr_t address; /* 0: free */
    uint32_t *time;
} table[TABLE_SIZE];
static race_lock lock;

/* The clock of an entry. All of them are a range of addresses that the kernel gives: who locks may be inside of malloc, and
 * of what UCX puts in front of mmap. */
static uint32_t *clock_of(size_t i)
{
    static uint32_t *clocks;
    const size_t size = RACE_COMPONENTS_MAX * sizeof *clocks;
    if (!clocks) {
        const long made = syscall(SYS_mmap, NULL, TABLE_SIZE * size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
        if (made == -1)
            return NULL;
        clocks = (uint32_t *)made;
    }
    return clocks + i * RACE_COMPONENTS_MAX;
}

/* The object at an address; makes it. Where there is no room, another one stands for it, too: more order than there is. */
static struct sync_object *object_at(uintptr_t address, bool makes)
{
    size_t i = (address * 0x9e3779b97f4a7c15u >> 40) % TABLE_SIZE;
    for (int tries = 0; tries < TRIES; tries++, i = (i + 1) % TABLE_SIZE) {
        if (table[i].address == address || (!makes && !table[i].address))
            break;
        if (!table[i].address && (table[i].time = clock_of(i))) {
            table[i].address = address;
            break;
        }
    }
    return &table[i];
}

void race_sync_release(uintptr_t address)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    race_lock_enter(thread, &lock);
    struct sync_object *object = object_at(address, true);
    if (object->time)
        race_publish_to(thread, object->time);
    race_lock_leave(thread, &lock);
}

void race_sync_acquire(uintptr_t address)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    race_lock_enter(thread, &lock);
    const struct sync_object *object = object_at(address, false);
    if (object->time)
        race_learn_times(thread, object->time);
    race_lock_leave(thread, &lock);
}

/* Libraries whose functions may not be among those that follow this one: the linker leaves libgomp out where this library has
 * all that the program calls of it, and libstdc++ may have been loaded for a library of its own that uses it. */
static void *in_other_library(const char *name)
{
    static const struct {
        const char *prefix, *library;
    } others[] = {
        {"GOMP_", "libgomp.so.1"}, {"omp_", "libgomp.so.1"}, {"__cxa_", "libstdc++.so.6"}, {"cl", "libOpenCL.so.1"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const bool is_there = !strncmp(name, others[i].prefix, strlen(others[i].prefix));
        void *library = is_there ? dlopen(others[i].library, RTLD_NOW | RTLD_GLOBAL) : NULL;
        if (library)
            return dlsym(library, name);
    }
    return NULL;
}

void *race_next(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    if (!next)
        next = in_other_library(name);
    if (!next)
        race_fatal("%s is in none of the program's libraries", name);
    return next;
}
