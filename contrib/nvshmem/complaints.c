/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a kernel says before it ends itself by a trap, since CUDA says no more than that a launch has failed.
 */
#include "library.h"

#include "driver.h"

enum { PAGE_BYTES = 4096, PORTABLE_AND_MAPPED = 3 };

/* Page-locked where it is: it stays readable, whatever the program does to the GPU. */
static union {
    struct nvshmemi_mapshmem_complaint complaint;
    char page[PAGE_BYTES];
} place __attribute__((aligned(PAGE_BYTES)));

static bool is_locked, is_told;

static const char *const calls[] = {
    [NVSHMEMI_CALL_PUT] = "a put or p",
    [NVSHMEMI_CALL_GET] = "a get or g",
    [NVSHMEMI_CALL_STRIDED] = "an iput or iget",
    [NVSHMEMI_CALL_PUT_SIGNAL] = "a put with signal",
    [NVSHMEMI_CALL_ATOMIC] = "an atomic operation",
    [NVSHMEMI_CALL_WAIT] = "a wait",
};

struct nvshmemi_mapshmem_complaint *nvs_complaint_place(void)
{
    if (!is_locked && nvs_driver.lock_pages)
        is_locked = !nvs_driver.lock_pages(&place, sizeof place, PORTABLE_AND_MAPPED);
    return is_locked ? &place.complaint : NULL;
}

void nvs_complaint_tell(void)
{
    const struct nvshmemi_mapshmem_complaint *complaint = &place.complaint;
    const unsigned call = __atomic_load_n(&complaint->call, __ATOMIC_ACQUIRE);
    if (call == NVSHMEMI_CALL_NONE || __atomic_exchange_n(&is_told, true, __ATOMIC_RELAXED))
        return;
    if (call == NVSHMEMI_CALL_TEAM)
        shmemi_error(
            "a kernel of this PE has ended: it named %lld, which is no team of this PE, or the program has not yet "
            "called nvshmem_malloc, where teams get what their kernels need",
            (long long)complaint->address);
    else if (call < sizeof calls / sizeof calls[0])
        shmemi_error(
            "a kernel of this PE has ended: %s for PE %d named the address 0x%llx, which is not symmetric: for other "
            "PEs take memory of nvshmem_malloc, or register it by nvshmemx_buffer_register_symmetric",
            calls[call], complaint->pe, complaint->address);
}

/* A program that finds the failure itself may end without another call. */
static __attribute__((destructor)) void tell_at_the_end(void)
{
    nvs_complaint_tell();
}
