/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The staging slots as UCX sees them: registered once, when the first request needs them.
 */
#include "transport/request.h"
#include "transport/ucx/internal.h"

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
