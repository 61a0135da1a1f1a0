/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tells of a program that follows a mapped address with the CPU. Nothing is behind these addresses, so that ends in
 * SIGSEGV: a handler writes a line that names the object, and leaves the signal to whoever had it before.
 */
#define _GNU_SOURCE
#include "shmem/internal.h"

#include <signal.h>

static struct sigaction found; /* what the program had before shmem_init */
static bool is_kept;           /* perhaps by a handler that was set later, which calls the one before it: this one */

static void tell(const char *address)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    if (!region)
        shmemi_error(
            "the program has used %p with the CPU: shmmap's addresses are there, but nothing is mapped at this one",
            (const void *)address);
    else if (region->id >= SHMEMI_REGION_FIRST_MAPPED)
        shmemi_error(
            "the program has used %p with the CPU: byte %td of the %s memory that is mapped at %p (%zu bytes); this "
            "address is for communication only: copy by shmem_get, or use the GPU's own pointer or buffer",
            (const void *)address, address - region->base, region->place.memory->title, (void *)region->base,
            region->size);
}

/* Returning repeats the access, and so the signal, which then takes its usual way; one that was sent has to be sent again. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t offset = (uintptr_t)info->si_addr - shmemi_window.base;
    sigaction(signal, &found, NULL);
    if (info->si_code <= 0)
        raise(signal);
    else if (offset < shmemi_window.span && offset >= shmemi_window.heap_size)
        tell(info->si_addr);
}

/* Set a second time, above a handler that calls it, it would be called by what it leaves the signal to, without end. */
void shmemi_cpu_access_watch(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (!is_kept)
        sigaction(SIGSEGV, &ours, &found);
}

void shmemi_cpu_access_unwatch(void)
{
    struct sigaction present;
    is_kept =
        sigaction(SIGSEGV, NULL, &present) || !(present.sa_flags & SA_SIGINFO) || present.sa_sigaction != on_fault;
    if (!is_kept)
        sigaction(SIGSEGV, &found, NULL);
}
