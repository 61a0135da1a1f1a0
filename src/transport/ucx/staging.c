/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The staging slots as UCX sees them: registered once, when the first request needs them. And memory that the program has
 * prepared.
 */
#include "base/log.h"
#include "transport/request.h"
#include "transport/ucx/ucx_internal.h"

/* UCX's handle of the staging area; NULL when it could not be registered as a whole: UCX then registers each
 * transfer. */
static struct {
    pthread_once_t once;
    ucp_mem_h handle;
} staging = {.once = PTHREAD_ONCE_INIT};

static void register_staging(void)
{
    const size_t sets = 2; /* this PE's own slots, and those for requests of other nodes */
    staging.handle =
        shmemi_ucx_registrar.register_memory(shmemi_staging.memory, sets * shmemi_staging.slots * shmemi_staging.chunk);
}

void shmemi_ucx_prepare_staging(void)
{
    pthread_once(&staging.once, register_staging);
}

/* Tell UCX that an operation's data is in a slot. */
void shmemi_ucx_name_staging(ucp_request_param_t *param)
{
    shmemi_ucx_prepare_staging();
    if (!staging.handle)
        return;
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param->memh = staging.handle;
}

void shmemi_ucx_staging_close(void)
{
    if (staging.handle)
        shmemi_ucx_registrar.unregister_memory(staging.handle);
    staging.handle = NULL;
    staging.once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

/* ---- Memory that the program has prepared ------------------------------------------------------------------------ */

static void *register_memory(void *address, size_t size)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    ucp_mem_h memory = NULL;
    if (!atomic_load(&shmemi_ucx.is_open))
        return NULL;
    ucs_status_t status = shmemi_ucx_map(address, size, UCS_MEMORY_TYPE_HOST, &memory);
    if (status == UCS_OK)
        return memory;
    if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("%zu bytes at %p cannot be registered with the network: %s; transfers from and to them are slower"
                    " (ulimit -l limits it)",
                    size, address, ucs_status_string(status));
    return NULL;
}

static void unregister_memory(void *handle)
{
    ucp_mem_unmap(shmemi_ucx.context, handle);
}

const struct shmemi_registrar shmemi_ucx_registrar = {register_memory, unregister_memory};
