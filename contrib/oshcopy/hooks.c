/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What oshcopy preloads into a program: functions in front of the CUDA driver's copies.
 *
 * Programs come by the driver's functions in three ways. Linked with it, they call them by name: then those of this
 * library are found first. The CUDA runtime, static or shared, opens libcuda.so.1 and looks the functions up, by dlsym
 * or by cuGetProcAddress, which it has from dlsym: so dlsym is defined here as well. It hands out the functions of this
 * file for those of libcuda, and leaves everything else to the real one.
 *
 * Nothing here includes cuda.h, whose macros rename the functions that are defined here. They have the driver's calling
 * convention with types of the same size.
 */
#define _GNU_SOURCE
#include "base/likely.h"
#include "base/settings.h"
#include "contrib/oshcopy/report.h"
#include "contrib/oshcopy/takeover.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOT_INITIALIZED = 3,           /* CUDA_ERROR_NOT_INITIALIZED */
    PER_THREAD_DEFAULT_STREAM = 2, /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
    FIRST_PER_THREAD = 7000,       /* versions of CUDA that changed what a name stands for */
    FIRST_64_BIT = 3020,
    FIRST_GET_PROC_ADDRESS_V2 = 12000,
    DEFAULT_MIN = 8 << 20, /* with less, the threads gain little to the GPU: they are awake when the driver is done */
};

typedef int copy_sync_t(uintptr_t dest, uintptr_t source, size_t nbytes);
typedef int copy_async_t(uintptr_t dest, uintptr_t source, size_t nbytes, void *stream);
typedef int copy_rows_sync_t(const void *rows);
typedef int copy_rows_async_t(const void *rows, void *stream);
typedef int get_proc_address_t(const char *symbol, void **function_p, int version, uint64_t flags);
typedef int get_proc_address_v2_t(const char *symbol, void **function_p, int version, uint64_t flags, void *status);
typedef void *dlsym_t(void *handle, const char *name);

/* The functions of this file that other objects find. */
get_proc_address_t cuGetProcAddress;
get_proc_address_v2_t cuGetProcAddress_v2;
#define HOOK(symbol, base, per_thread, direction, when) copy_##when##_t symbol;
#include "contrib/oshcopy/hooks.def"
#undef HOOK

enum { IS_sync = 0, IS_rows_sync = 0, IS_async = 1, IS_rows_async = 1 };

enum {
#define HOOK(symbol, ...) HOOK_##symbol,
#include "contrib/oshcopy/hooks.def"
#undef HOOK
    N_COPIES,
    HOOK_cuGetProcAddress = N_COPIES,
    HOOK_cuGetProcAddress_v2,
    N_HOOKS
};

static struct hook {
    const char *symbol, *base;
    void *ours;
    bool per_thread, is_async;
    enum shmemi_direction direction;
    _Atomic(void *) driver; /* NULL: not known yet */
} hooks[N_HOOKS] = {
#define HOOK(symbol, base, per_thread, direction, when)                                                                \
    {#symbol, #base, (void *)symbol, per_thread, IS_##when, SHMEMI_##direction, NULL},
#include "contrib/oshcopy/hooks.def"
#undef HOOK
    {"cuGetProcAddress", "", (void *)cuGetProcAddress, false, false, SHMEMI_EITHER, NULL},
    {"cuGetProcAddress_v2", "", (void *)cuGetProcAddress_v2, false, false, SHMEMI_EITHER, NULL},
};

static size_t least = SIZE_MAX; /* OSHCOPY_MIN; copies of fewer bytes are left to the driver */

/* ---- Where the driver's functions are ---------------------------------------------------------------------------- */

/* The real dlsym: in libc, or in libdl before glibc 2.34. */
static dlsym_t *find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static _Atomic(dlsym_t *) found;
    dlsym_t *function = atomic_load_explicit(&found, memory_order_relaxed);
    for (int i = 0; !function && i < 3; i++)
        function = (dlsym_t *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    atomic_store_explicit(&found, function, memory_order_relaxed);
    return function;
}

static bool is_in_driver(const void *function)
{
    Dl_info info;
    if (!dladdr(function, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return !strncmp(slash ? slash + 1 : info.dli_fname, "libcuda.so", strlen("libcuda.so"));
}

static void learn(struct hook *hook, void *function)
{
    void *unknown = NULL;
    if (function != hook->ours)
        atomic_compare_exchange_strong(&hook->driver, &unknown, function);
    shmemi_report_driver();
}

/* The driver's function, also if nobody has looked it up; NULL when there is no driver. */
static void *driver_function(struct hook *hook)
{
    void *function = atomic_load_explicit(&hook->driver, memory_order_relaxed);
    if (shmemi_likely(function != NULL))
        return function;
    dlsym_t *look_up = find_dlsym();
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    function = library ? look_up(library, hook->symbol) : NULL;
    if (!function)
        function = look_up(RTLD_NEXT, hook->symbol);
    if (function)
        learn(hook, function);
    return function;
}

static struct hook *hook_of(const char *name)
{
    for (int i = 0; i < N_HOOKS; i++)
        if (!strcmp(hooks[i].symbol, name))
            return &hooks[i];
    return NULL;
}

/* What dlsym returns instead of what it has found. */
static void *replace(struct hook *hook, void *found)
{
    if (!found)
        return NULL;
    if (found == hook->ours) /* the program asked all its libraries, of which this is the first */
        return driver_function(hook) ? hook->ours : NULL;
    if (!is_in_driver(found))
        return found;
    learn(hook, found);
    return hook->ours;
}

/* The real dlsym must be jumped to, not called: from the return address it finds out for whom RTLD_NEXT is meant. */
__attribute__((optimize("O2"), visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    dlsym_t *look_up = find_dlsym();
    struct hook *hook = name[0] == 'c' && name[1] == 'u' ? hook_of(name) : NULL;
    if (shmemi_likely(!hook) || shmemi_is_taking_over())
        return look_up(handle, name);
    return replace(hook, look_up(handle, name));
}

/* ---- cuGetProcAddress -------------------------------------------------------------------------------------------- */

static struct hook *copy_hook(const char *symbol, int version, uint64_t flags)
{
    bool per_thread = version >= FIRST_PER_THREAD && flags & PER_THREAD_DEFAULT_STREAM;
    if (version < FIRST_64_BIT)
        return NULL;
    for (int i = 0; i < N_COPIES; i++)
        if (!strcmp(hooks[i].base, symbol) && hooks[i].per_thread == per_thread)
            return &hooks[i];
    return hook_of(symbol);
}

static void replace_proc_address(const char *symbol, void **function_p, int version, uint64_t flags)
{
    struct hook *hook = copy_hook(symbol, version, flags);
    if (!strcmp(symbol, "cuGetProcAddress"))
        hook = &hooks[version >= FIRST_GET_PROC_ADDRESS_V2 ? HOOK_cuGetProcAddress_v2 : HOOK_cuGetProcAddress];
    if (!hook)
        return;
    learn(hook, *function_p);
    *function_p = hook->ours;
}

__attribute__((visibility("default"))) int cuGetProcAddress(const char *symbol, void **function_p, int version,
                                                            uint64_t flags)
{
    get_proc_address_t *driver = driver_function(&hooks[HOOK_cuGetProcAddress]);
    int result = driver ? driver(symbol, function_p, version, flags) : NOT_INITIALIZED;
    if (!result && function_p && *function_p)
        replace_proc_address(symbol, function_p, version, flags);
    return result;
}

__attribute__((visibility("default"))) int cuGetProcAddress_v2(const char *symbol, void **function_p, int version,
                                                               uint64_t flags, void *status)
{
    get_proc_address_v2_t *driver = driver_function(&hooks[HOOK_cuGetProcAddress_v2]);
    int result = driver ? driver(symbol, function_p, version, flags, status) : NOT_INITIALIZED;
    if (!result && function_p && *function_p)
        replace_proc_address(symbol, function_p, version, flags);
    return result;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static struct shmemi_program_copy copy_of(const struct hook *hook, void *stream)
{
    return (struct shmemi_program_copy){
        .rows = 1,
        .direction = hook->direction,
        .is_async = hook->is_async,
        .per_thread = hook->per_thread,
        .stream = stream,
    };
}

static bool take_over(struct shmemi_program_copy *copy)
{
    double begun = shmemi_report_now();
    enum shmemi_outcome outcome = copy->nbytes < least ? SHMEMI_COPY_SMALL : shmemi_take_over(copy);
    shmemi_report_copy(copy, outcome, begun);
    return outcome == SHMEMI_COPY_TAKEN;
}

static bool take_over_bytes(const struct hook *hook, uintptr_t dest, uintptr_t source, size_t nbytes, void *stream)
{
    struct shmemi_program_copy copy = copy_of(hook, stream);
    copy.dest = dest;
    copy.source = source;
    copy.nbytes = nbytes;
    return !shmemi_is_taking_over() && take_over(&copy);
}

static bool take_over_rows(const struct hook *hook, const void *rows, void *stream)
{
    struct shmemi_program_copy copy = copy_of(hook, stream);
    return !shmemi_is_taking_over() && rows && shmemi_describe_rows(rows, &copy) && take_over(&copy);
}

static int copy_sync(struct hook *hook, uintptr_t dest, uintptr_t source, size_t nbytes)
{
    copy_sync_t *driver = driver_function(hook);
    if (!driver)
        return NOT_INITIALIZED;
    return take_over_bytes(hook, dest, source, nbytes, NULL) ? 0 : driver(dest, source, nbytes);
}

static int copy_async(struct hook *hook, uintptr_t dest, uintptr_t source, size_t nbytes, void *stream)
{
    copy_async_t *driver = driver_function(hook);
    if (!driver)
        return NOT_INITIALIZED;
    return take_over_bytes(hook, dest, source, nbytes, stream) ? 0 : driver(dest, source, nbytes, stream);
}

static int copy_rows_sync(struct hook *hook, const void *rows)
{
    copy_rows_sync_t *driver = driver_function(hook);
    if (!driver)
        return NOT_INITIALIZED;
    return take_over_rows(hook, rows, NULL) ? 0 : driver(rows);
}

static int copy_rows_async(struct hook *hook, const void *rows, void *stream)
{
    copy_rows_async_t *driver = driver_function(hook);
    if (!driver)
        return NOT_INITIALIZED;
    return take_over_rows(hook, rows, stream) ? 0 : driver(rows, stream);
}

#define PARAMETERS_sync uintptr_t dest, uintptr_t source, size_t nbytes
#define PARAMETERS_async PARAMETERS_sync, void *stream
#define ARGUMENTS_sync dest, source, nbytes
#define ARGUMENTS_async ARGUMENTS_sync, stream
#define PARAMETERS_rows_sync const void *rows
#define PARAMETERS_rows_async const void *rows, void *stream
#define ARGUMENTS_rows_sync rows
#define ARGUMENTS_rows_async rows, stream
#define HOOK(symbol, base, per_thread, direction, when)                                                                \
    __attribute__((visibility("default"))) int symbol(PARAMETERS_##when)                                               \
    {                                                                                                                  \
        return copy_##when(&hooks[HOOK_##symbol], ARGUMENTS_##when);                                                   \
    }
#include "contrib/oshcopy/hooks.def"
#undef HOOK

/* ---- The process ------------------------------------------------------------------------------------------------- */

static void forked(void)
{
    shmemi_takeover_forked();
    shmemi_report_forked();
}

__attribute__((constructor)) static void open_hooks(void)
{
    const char *text = getenv("OSHCOPY_MIN");
    size_t size;
    shmemi_report_open();
    pthread_atfork(NULL, NULL, forked);
    least = text && !shmemi_parse_size(text, &size) ? size : DEFAULT_MIN;
    if (!least)
        least = 1;
}

__attribute__((destructor)) static void close_hooks(void)
{
    shmemi_report_close();
}
