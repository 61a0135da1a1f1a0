/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remembers pages of host memory, and sees what other libraries map.
 */
#define _GNU_SOURCE
#include "base/system/plain.h"

#include "base/log.h"
#include "base/sanitizer.h"
#include "base/system/pages.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uintptr_t shmemi_plain_pages[SHMEMI_PLAIN_PAGES];

static atomic_bool is_open;
static _Atomic uint64_t calls; /* of mmap, as far as they come here */
static _Atomic uint64_t changes;
static struct {
    _Atomic uintptr_t address, size;
} last_mapped;

/* ---- mmap for all libraries of the process ----------------------------------------------------------------------- */

static void *note_mapped(void *mapped, size_t length)
{
    if (mapped != MAP_FAILED && atomic_load_explicit(&is_open, memory_order_relaxed))
        shmemi_plain_forget(mapped, shmemi_whole_pages(length));
    return mapped;
}

static void *map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return note_mapped((void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset), length);
}

static void *remap(void *old, size_t old_length, size_t length, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *address = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    return note_mapped((void *)syscall(SYS_mremap, old, old_length, length, flags, address), length);
}

#if !SHMEMI_IS_SANITIZED
#define SEEN(_function) __attribute__((visibility("default"), alias(#_function)))
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) SEEN(map);
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) SEEN(map);
void *mremap(void *old, size_t old_length, size_t length, int flags, ...) SEEN(remap);
#endif

/* Do calls of mmap still come here? Other libraries (UCX, Open MPI) may take mmap over later than this one was loaded, by
 * changes of its code or of the tables through which all libraries call it. */
static bool is_called(void)
{
    const int saved_errno = errno;
    const uint64_t before = atomic_load(&calls);
    mmap(NULL, 0, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* maps nothing */
    errno = saved_errno;
    return atomic_load(&calls) != before;
}

/* A library finds a symbol where this look-up finds it. */
int shmemi_plain_open(void)
{
    if (dlsym(RTLD_DEFAULT, "mmap") != (void *)map || dlsym(RTLD_DEFAULT, "mmap64") != (void *)map ||
        dlsym(RTLD_DEFAULT, "mremap") != (void *)remap)
        return -ENOTSUP;
    atomic_store(&is_open, true);
    return 0;
}

void shmemi_plain_close(void)
{
    atomic_store(&is_open, false);
    shmemi_plain_forget(NULL, SIZE_MAX);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

uint64_t shmemi_plain_changes(void)
{
    return atomic_load(&changes);
}

static _Atomic uintptr_t *slot_of(uintptr_t page)
{
    return &shmemi_plain_pages[page % SHMEMI_PLAIN_PAGES];
}

/* It stores, and then looks whether something has changed; forget does it the other way round. So one of the two sees
 * the other, and removes the page. */
void shmemi_plain_remember(const void *address, uint64_t before)
{
    _Atomic uintptr_t *slot = slot_of((uintptr_t)address / SHMEMI_PLAIN_PAGE);
    if ((uintptr_t)address < SHMEMI_PLAIN_PAGE || !atomic_load(&is_open) || atomic_load(&changes) != before)
        return;
    if (!is_called()) {
        shmemi_debug("another library has taken mmap over: GPU drivers are asked about each private pointer");
        shmemi_plain_close();
        return;
    }
    atomic_store(slot, (uintptr_t)address | (SHMEMI_PLAIN_PAGE - 1));
    if (!atomic_load(&is_open) || atomic_load(&changes) != before)
        atomic_store(slot, 0);
}

void shmemi_plain_forget(const void *address, size_t size)
{
    atomic_fetch_add(&changes, 1);
    atomic_store(&last_mapped.address, (uintptr_t)address);
    atomic_store(&last_mapped.size, size);
    if (!size)
        return;
    uintptr_t first = (uintptr_t)address / SHMEMI_PLAIN_PAGE;
    uintptr_t last = ((uintptr_t)address + (size - 1)) / SHMEMI_PLAIN_PAGE;
    uintptr_t n = last - first < SHMEMI_PLAIN_PAGES ? last - first + 1 : SHMEMI_PLAIN_PAGES;
    for (uintptr_t i = 0; i < n; i++) {
        _Atomic uintptr_t *slot = slot_of(first + i);
        uintptr_t known = atomic_load(slot);
        if (known && known / SHMEMI_PLAIN_PAGE - first <= last - first)
            atomic_store(slot, 0);
    }
}

void shmemi_plain_watch(void)
{
    atomic_store(&last_mapped.size, 0);
}

bool shmemi_plain_was_last(const void *address)
{
    return (uintptr_t)address - atomic_load(&last_mapped.address) < atomic_load(&last_mapped.size);
}
