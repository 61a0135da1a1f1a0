/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Says what is wrong with an argument, in one line that names the routine, and ends the job.
 */
#define _GNU_SOURCE
#include "shmem/internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A part of the name of a routine that only its C form has: the type, or the size behind put and get. */
static bool is_type(const char *word, size_t length)
{
    static const char *const types[] = {"ctx",    "int8",   "int16", "int32",  "int64",    "uint8",   "uint16",
                                        "uint32", "uint64", "float", "double", "complexf", "complexd"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i]) == length && !strncmp(word, types[i], length))
            return true;
    return false;
}

/* The routine as the program has called it: Fortran has generic names. Their module is in a library of its own. */
static const char *as_called(const char *routine)
{
    static char name[128];
    size_t at = 0;
    if (!dlsym(RTLD_DEFAULT, "shmemi_fortran_ctx_default"))
        return routine;
    for (const char *word = routine; *word;) {
        size_t length = strcspn(word, "_"), kept = length;
        while (kept && word[kept - 1] >= '0' && word[kept - 1] <= '9')
            kept--;
        if (!is_type(word, length) && at + kept + 2 < sizeof name)
            at += (size_t)sprintf(name + at, at ? "_%.*s" : "%.*s", (int)kept, word);
        word += length + (word[length] == '_');
    }
    return name;
}

static const char *place_name(const struct shmemi_region *region)
{
    return region->id == SHMEMI_REGION_HEAP     ? "the symmetric heap"
           : region->id == SHMEMI_REGION_STATIC ? "static data"
                                                : "a mapped object";
}

/* In the heap, but not in the program's part of it. */
static bool is_library_memory(const void *address)
{
    return (uintptr_t)address - shmemi_window.base < shmemi_window.heap_size && !shmemi_region_of(address);
}

static bool is_on_stack(const void *address)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getstack(&attributes, &lowest, &size);
        pthread_attr_destroy(&attributes);
    }
    return (uintptr_t)address - (uintptr_t)lowest < size;
}

/* What the address is instead of a symmetric one, and what to do. */
static const char *what_it_is(const void *address)
{
    if (is_on_stack(address))
        return "it is a local variable; make it static (in Fortran: save), or use shmem_malloc";
    if (shmemi_memory_is_unmapped(address))
        return "it is GPU memory that is not mapped; shmmap it, and pass the address that shmmap returns";
    if (shmemi_is_outside(address))
        return "it lies neither in the symmetric heap nor in static data nor in a mapped object; shmem_malloc "
               "allocates "
               "symmetric memory, shmmap maps GPU memory";
    return address ? "nothing is mapped there" : "it is NULL";
}

static _Noreturn void refuse_end(const char *routine, const char *what, const void *address, size_t nbytes)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    shmemi_fatal("%s: %s%p + %zu bytes ends past %s at %p (%zu bytes)", routine, what, address, nbytes,
                 place_name(region), (void *)region->base, region->size);
}

void shmemi_refuse_target(const char *routine, const void *address, size_t nbytes, int pe)
{
    shmemi_require_init(routine);
    routine = as_called(routine);
    if ((unsigned)pe >= (unsigned)shmemi_job.n_pes)
        shmemi_fatal("%s: PE %d is out of range, the job has PEs 0 to %d", routine, pe, shmemi_job.n_pes - 1);
    if (is_library_memory(address))
        shmemi_fatal("%s: %p lies in the part of the symmetric heap that belongs to the library", routine, address);
    if (!shmemi_region_of(address))
        shmemi_fatal("%s: %p is not a symmetric address: %s", routine, address, what_it_is(address));
    refuse_end(routine, "", address, nbytes);
}

void shmemi_refuse_local(const char *routine, const void *address, size_t nbytes)
{
    shmemi_require_init(routine);
    routine = as_called(routine);
    if (is_library_memory(address))
        shmemi_fatal("%s: the local buffer %p lies in the part of the symmetric heap that belongs to the library",
                     routine, address);
    if (shmemi_region_of(address))
        refuse_end(routine, "the local buffer ", address, nbytes);
    if (shmemi_is_outside(address))
        shmemi_give_up(); /* has been logged */
    if ((uintptr_t)address - shmemi_window.base < shmemi_window.span)
        shmemi_fatal("%s: the local buffer %p lies in the range of mapped objects, but in no object", routine, address);
    shmemi_fatal("%s: the local buffer is %s", routine, address ? "in the first page, where no memory is" : "NULL");
}

void shmemi_refuse_null(const char *routine, const char *argument)
{
    shmemi_fatal("%s: %s is NULL", routine, argument);
}
