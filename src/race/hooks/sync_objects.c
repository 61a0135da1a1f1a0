/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects through which threads of this process order themselves: mutexes, atomic words, barriers, teams of OpenMP.
 */
#include "race/hooks/threads.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_SIZE = 16384, TRIES = 64 };

static struct sync_object {
    uintptr_t address; /* 0: free */
    uint32_t *time;
} table[TABLE_SIZE];
static race_lock lock;

/* The object at an address; makes it. Where there is no room, another one stands for it, too: more order than there is. */
static struct sync_object *object_at(uintptr_t address, bool makes)
{
    size_t i = (address * 0x9e3779b97f4a7c15u >> 40) % TABLE_SIZE;
    for (int tries = 0; tries < TRIES; tries++, i = (i + 1) % TABLE_SIZE) {
        if (table[i].address == address || (!makes && !table[i].address))
            break;
        if (!table[i].address && (table[i].time = calloc(RACE_COMPONENTS_MAX, sizeof *table[i].time))) {
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
    race_lock_take(&lock);
    struct sync_object *object = object_at(address, true);
    if (object->time)
        race_publish_to(thread, object->time);
    race_lock_give(&lock);
}

void race_sync_acquire(uintptr_t address)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    race_lock_take(&lock);
    const struct sync_object *object = object_at(address, false);
    if (object->time)
        race_learn_times(thread, object->time);
    race_lock_give(&lock);
}

/* The linker leaves libgomp out where this library has all that the program calls of it. */
static void *in_libgomp(const char *name)
{
    void *library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    return library ? dlsym(library, name) : NULL;
}

void *race_next(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    if (!next && (!strncmp(name, "GOMP_", 5) || !strncmp(name, "omp_", 4)))
        next = in_libgomp(name);
    if (!next)
        race_fatal("%s is in none of the program's libraries", name);
    return next;
}
