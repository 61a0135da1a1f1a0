/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that kernels read: on the device, where a kernel finds it soonest, or plain memory for threads of the CPU.
 */
#include "device/device.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int shmemi_device_write(const struct shmemi_place *user, void *copy, const void *bytes, size_t nbytes)
{
    const struct shmemi_place dest = {user->memory, user->object, (uintptr_t)copy};
    const struct shmemi_place source = shmemi_place_host(bytes);
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    if (user->memory)
        return shmemi_memory_copy(&dest, &source, &shape);
    memcpy(copy, bytes, nbytes);
    return 0;
}

int shmemi_device_out_of_memory(void)
{
    shmemi_error("out of memory for what kernels need to reach other PEs");
    return -ENOMEM;
}

static int on_device(const struct shmemi_place *user, const void *bytes, size_t nbytes, void **copy_p)
{
    int rc = user->memory->streams->commands->allocate(user, nbytes, copy_p);
    if (rc)
        return rc;
    rc = shmemi_device_write(user, *copy_p, bytes, nbytes);
    if (rc)
        shmemi_device_free(user, *copy_p);
    return rc;
}

int shmemi_device_copy_of(const struct shmemi_place *user, const void *bytes, size_t nbytes, void **copy_p)
{
    if (user->memory)
        return on_device(user, bytes, nbytes, copy_p);
    *copy_p = malloc(nbytes);
    if (!*copy_p)
        return shmemi_device_out_of_memory();
    memcpy(*copy_p, bytes, nbytes);
    return 0;
}

void shmemi_device_free(const struct shmemi_place *user, void *copy)
{
    if (user->memory)
        user->memory->streams->commands->free(user, copy);
    else
        free(copy);
}
