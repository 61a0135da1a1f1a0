/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watchdog says of transfers and of symmetric addresses.
 */
#include "op/operation.h"

#include "bootstrap/job.h"

void shmemi_append_address(char *text, size_t size, uint32_t region, size_t offset)
{
    if (region == SHMEMI_REGION_HEAP)
        shmemi_append(text, size, "offset %zu of the symmetric heap", offset);
    else if (region == SHMEMI_REGION_STATIC)
        shmemi_append(text, size, "offset %zu of static data", offset);
    else
        shmemi_append(text, size, "offset %zu of mapped region %u", offset, region);
}

void shmemi_describe_transfer(const struct shmemi_call *call, char *text, size_t size)
{
    const struct shmemi_transfer_call *transfer = (const struct shmemi_transfer_call *)call;
    shmemi_append(text, size, "%zu bytes at ", transfer->nbytes);
    shmemi_append_address(text, size, transfer->view->region, transfer->offset);
    shmemi_append(text, size, " of PE %d, route %s", transfer->view->pe, transfer->view->driver->name);
    shmemi_name_process(transfer->view->pe);
}
