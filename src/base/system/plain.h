/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of memory that are certainly the host's own. Whether a private pointer is a GPU's only the GPU's driver can
 * tell, and a question takes it longer (0.2 us) than a whole put of a few bytes. So a page is remembered once the
 * driver has said that it knows nothing of an address in it, and forgotten when the driver may have got the address.
 *
 * Why that is right. The GPU's memory, managed memory included, lies at addresses that the driver has got from the
 * kernel by mmap, and the kernel gives it none that are in use. A page that the driver does not know belongs to somebody
 * else. It can become GPU memory only after it has been unmapped, which nobody needs to tell us, and the driver has then
 * got the address by mmap. This library therefore defines mmap, mmap64 and mremap, as all but the C library itself call
 * them: besides what they are for, they only forget the pages that they have mapped.
 *
 * What the driver knows and is host memory is not remembered: page-locked memory of its own it may free, and put to
 * another use, without a call of mmap. Memory of the program that becomes page-locked, or that GPUs reach since the
 * system is coherent, stays host memory: the CPU can load and store there, and more is not concluded. Whether it is
 * page-locked is asked each time that this matters.
 *
 * Nothing is remembered where another mmap comes before this one (a program that loads the library by dlopen, a
 * sanitizer), where the driver's calls are found not to come here, which gpu/device/gpu_context.c tries when CUDA is first
 * used, or once this library's own calls do not come here any more, which is tried whenever a page is remembered.
 *
 * A page that the driver is just being asked about is not remembered if anything has been mapped meanwhile. Any thread
 * may call these functions; forget allocates nothing.
 */
#ifndef SHMEMI_PLAIN_H
#define SHMEMI_PLAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_PLAIN_PAGE = 4096,   /* or a part of a page, where these are larger */
    SHMEMI_PLAIN_PAGES = 16384, /* so many can be remembered at the same time: 64 MiB */
};

/* The last address of each page that is remembered, by the page's number modulo SHMEMI_PLAIN_PAGES; 0: none. Read relaxed: who
 * maps something else there tells the threads that use it, after the page was forgotten. */
extern _Atomic uintptr_t shmemi_plain_pages[SHMEMI_PLAIN_PAGES];

/* Is it certain that the address is host memory? On the fast path. */
static inline __attribute__((always_inline)) bool shmemi_is_plain(const void *address)
{
    uintptr_t last = (uintptr_t)address | (SHMEMI_PLAIN_PAGE - 1);
    return atomic_load_explicit(&shmemi_plain_pages[last / SHMEMI_PLAIN_PAGE % SHMEMI_PLAIN_PAGES],
                                memory_order_relaxed) == last;
}

/* From open to close, pages may be remembered. -ENOTSUP, not logged, where other libraries call another mmap. */
int shmemi_plain_open(void);
void shmemi_plain_close(void);

/* To be called before the driver is asked, for remember. */
uint64_t shmemi_plain_changes(void);
/* No kind of GPU memory knows this address of the program. The page is not remembered if something has been forgotten
 * since `changes`; that of NULL never is. */
void shmemi_plain_remember(const void *address, uint64_t changes);

/* Something has been mapped at these addresses. */
void shmemi_plain_forget(const void *address, size_t size);
/* Is the address in what was last reported to forget, by whichever thread, since watch? */
void shmemi_plain_watch(void);
bool shmemi_plain_was_last(const void *address);

#endif
