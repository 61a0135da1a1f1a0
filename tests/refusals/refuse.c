/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions in front of those that the library calls, made from calls.def and cl_calls.def.
 */
#define _GNU_SOURCE
#include "refuse.h"

#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

/* ---- Which call is refused --------------------------------------------------------------------------------------- */

static struct {
    atomic_int k; /* 0: none */
    atomic_int count;
    _Atomic(const char *) refused; /* the function's name */
    atomic_bool forever;
} armed;

void refuse_arm(int k, bool forever)
{
    atomic_store(&armed.refused, NULL);
    atomic_store(&armed.count, 0);
    atomic_store(&armed.forever, forever);
    atomic_store(&armed.k, k);
}

const char *refuse_disarm(void)
{
    atomic_store(&armed.k, 0);
    return atomic_load(&armed.refused);
}

int refuse_count(void)
{
    return atomic_load(&armed.count);
}

static bool refuses(const char *name)
{
    const int k = atomic_load(&armed.k);
    if (!k)
        return false;
    if (atomic_fetch_add(&armed.count, 1) + 1 == k) {
        atomic_store(&armed.refused, name);
        return true;
    }
    const char *refused = atomic_load(&armed.refused);
    return refused && atomic_load(&armed.forever) && !strcmp(refused, name);
}

/* ---- What is held ------------------------------------------------------------------------------------------------- */

enum { BLOCKS_MAX = 1 << 20, GONE = 1 };

/* A hash table of the blocks, with the place after a taken one as the next to try. A block that is freed keeps its place, and
 * has the bit GONE. */
static struct {
    uintptr_t block;
    const void *site; /* where it was taken */
    long number;      /* in the order of time */
} blocks[BLOCKS_MAX];
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static long n_blocks, n_taken;
static atomic_long mapped, objects;

static size_t find_block(uintptr_t block)
{
    size_t at = (size_t)(block * 0x9e3779b97f4a7c15u >> 44) % BLOCKS_MAX;
    while (blocks[at].block && (blocks[at].block & ~(uintptr_t)GONE) != block)
        at = (at + 1) % BLOCKS_MAX;
    return at;
}

static void *take(void *block, const void *site)
{
    if (!block)
        return NULL;
    pthread_mutex_lock(&blocks_lock);
    const size_t at = find_block((uintptr_t)block);
    n_blocks += blocks[at].block != (uintptr_t)block; /* others may have freed it when it was here before */
    blocks[at].block = (uintptr_t)block;
    blocks[at].site = site;
    blocks[at].number = ++n_taken;
    pthread_mutex_unlock(&blocks_lock);
    return block;
}

/* Blocks that others have made, such as the C library, are not known. */
static void give(const void *block)
{
    if (!block)
        return;
    pthread_mutex_lock(&blocks_lock);
    const size_t at = find_block((uintptr_t)block);
    if (blocks[at].block == (uintptr_t)block) {
        blocks[at].block |= GONE;
        n_blocks--;
    }
    pthread_mutex_unlock(&blocks_lock);
}

static long count_entries(const char *path)
{
    long n = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

struct refuse_held refuse_held(void)
{
    pthread_mutex_lock(&blocks_lock);
    const long held = n_blocks, taken = n_taken;
    pthread_mutex_unlock(&blocks_lock);
    return (struct refuse_held){.blocks = held,
                                .n_taken = taken,
                                .mapped = atomic_load(&mapped),
                                .objects = atomic_load(&objects),
                                .files = count_entries("/proc/self/fd"),
                                .threads = count_entries("/proc/self/task")};
}

void refuse_print_since(long taken)
{
    Dl_info program;
    dladdr((const void *)refuse_print_since, &program);
    for (size_t at = 0; at < BLOCKS_MAX; at++)
        if (blocks[at].block && !(blocks[at].block & GONE) && blocks[at].number > taken)
            fprintf(stderr, "taken since: block %#tx, at %#tx of the program (addr2line -f -e)\n",
                    (ptrdiff_t)blocks[at].block, (const char *)blocks[at].site - (const char *)program.dli_fbase);
}

/* ---- The C library and UCX ----------------------------------------------------------------------------------------- */

#define PLAIN(_type, _name, _parameters, _arguments, _refusal, _errno)                                                 \
    _type __real_##_name _parameters;                                                                                  \
    _type __wrap_##_name _parameters;                                                                                  \
    _type __wrap_##_name _parameters                                                                                   \
    {                                                                                                                  \
        if (!refuses(#_name))                                                                                          \
            return __real_##_name _arguments;                                                                          \
        errno = _errno;                                                                                                \
        return _refusal;                                                                                               \
    }
#define BLOCK(_type, _name, _parameters, _arguments, _refusal, _errno)                                                 \
    _type __real_##_name _parameters;                                                                                  \
    _type __wrap_##_name _parameters;                                                                                  \
    _type __wrap_##_name _parameters                                                                                   \
    {                                                                                                                  \
        if (!refuses(#_name))                                                                                          \
            return take(__real_##_name _arguments, __builtin_return_address(0));                                       \
        errno = _errno;                                                                                                \
        return _refusal;                                                                                               \
    }
#define SPECIAL(_name)
#include "calls.def"

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
    if (refuses("realloc")) {
        errno = ENOMEM;
        return NULL;
    }
    give(block);
    void *moved = take(__real_realloc(block, size), __builtin_return_address(0));
    if (!moved && size)
        take(block, __builtin_return_address(0));
    return moved;
}

int __real_posix_memalign(void **block_p, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block_p, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block_p, size_t alignment, size_t size)
{
    if (refuses("posix_memalign"))
        return ENOMEM;
    int rc = __real_posix_memalign(block_p, alignment, size);
    if (!rc)
        take(*block_p, __builtin_return_address(0));
    return rc;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    give(block);
    __real_free(block);
}

void *__real_mmap(void *start, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *start, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *start, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (refuses("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *address = __real_mmap(start, size, protection, flags, fd, offset);
    if (address != MAP_FAILED && !(flags & MAP_FIXED))
        atomic_fetch_add(&mapped, (long)size);
    return address;
}

int __real_munmap(void *start, size_t size);
int __wrap_munmap(void *start, size_t size);
int __wrap_munmap(void *start, size_t size)
{
    atomic_fetch_sub(&mapped, (long)size);
    return __real_munmap(start, size);
}

/* ---- OpenCL, whose functions are looked up ------------------------------------------------------------------------- */

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

#if HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define MAKES(_type, _name, _parameters, _arguments)                                                                   \
    static __typeof__(&_name) real_##_name;                                                                            \
    static _type CL_API_CALL fake_##_name _parameters                                                                  \
    {                                                                                                                  \
        if (refuses(#_name)) {                                                                                         \
            *status = CL_OUT_OF_HOST_MEMORY;                                                                           \
            return NULL;                                                                                               \
        }                                                                                                              \
        _type made = real_##_name _arguments;                                                                          \
        atomic_fetch_add(&objects, made != NULL);                                                                      \
        return made;                                                                                                   \
    }
#define STARTS(_name, _parameters, _arguments)                                                                         \
    static __typeof__(&_name) real_##_name;                                                                            \
    static cl_int CL_API_CALL fake_##_name _parameters                                                                 \
    {                                                                                                                  \
        cl_int status = refuses(#_name) ? CL_OUT_OF_HOST_MEMORY : real_##_name _arguments;                             \
        atomic_fetch_add(&objects, event &&status == CL_SUCCESS);                                                      \
        return status;                                                                                                 \
    }
#define DOES(_name, _parameters, _arguments)                                                                           \
    static __typeof__(&_name) real_##_name;                                                                            \
    static cl_int CL_API_CALL fake_##_name _parameters                                                                 \
    {                                                                                                                  \
        return refuses(#_name) ? CL_OUT_OF_HOST_MEMORY : real_##_name _arguments;                                      \
    }
#define KEEPS(_name, _type)                                                                                            \
    static __typeof__(&_name) real_##_name;                                                                            \
    static cl_int CL_API_CALL fake_##_name(_type object)                                                               \
    {                                                                                                                  \
        cl_int status = refuses(#_name) ? CL_OUT_OF_HOST_MEMORY : real_##_name(object);                                \
        atomic_fetch_add(&objects, status == CL_SUCCESS);                                                              \
        return status;                                                                                                 \
    }
#define DROPS(_name, _type)                                                                                            \
    static __typeof__(&_name) real_##_name;                                                                            \
    static cl_int CL_API_CALL fake_##_name(_type object)                                                               \
    {                                                                                                                  \
        atomic_fetch_sub(&objects, 1);                                                                                 \
        return real_##_name(object);                                                                                   \
    }
#include "cl_calls.def"
#undef MAKES
#undef STARTS
#undef DOES
#undef KEEPS
#undef DROPS

#define MAKES(_type, _name, ...) {#_name, (void **)&real_##_name, (void *)fake_##_name},
#define STARTS(_name, ...) {#_name, (void **)&real_##_name, (void *)fake_##_name},
#define DOES STARTS
#define KEEPS STARTS
#define DROPS STARTS
static const struct {
    const char *name;
    void **real;
    void *fake;
} looked_up[] = {
#include "cl_calls.def"
    {NULL, NULL, NULL},
};
#else
static const struct {
    const char *name;
    void **real;
    void *fake;
} looked_up[] = {{NULL, NULL, NULL}};
#endif

void *__wrap_dlsym(void *library, const char *name)
{
    void *found = __real_dlsym(library, name);
    int i = 0;
    while (looked_up[i].name && strcmp(looked_up[i].name, name) != 0)
        i++;
    if (!found || !looked_up[i].name)
        return found;
    *looked_up[i].real = found;
    return looked_up[i].fake;
}
