/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The staging slots as UCX sees them: registered once, when the first request needs them.
 */
#include "base/log.h"
#include "transport/request.h"
#include "transport/ucx_internal.h"

/* The staging area as UCX knows it; NULL when it could not be registered, which UCX then does by parts. */
static struct {
    pthread_once_t once;
    ucp_mem_h handle;
} staging = {.once = PTHREAD_ONCE_INIT};

static void register_staging(void)
{
    const size_t sets = 2; /* requests come over a network in jobs of several nodes only */
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = shmemi_staging.memory,
        .length = sets * shmemi_staging.slots * shmemi_staging.chunk,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    ucs_status_t status = ucp_mem_map(shmemi_ucx.context, &params, &staging.handle);
    if (status == UCS_OK)
        return;
    staging.handle = NULL;
    shmemi_warn("the staging slots (%zu bytes) cannot be registered with the network: %s; is the limit of locked "
                "memory (ulimit -l) high enough?", params.length, ucs_status_string(status));
}

/* An operation's data is in a slot. */
void shmemi_ucx_name_staging(ucp_request_param_t *param)
{
    pthread_once(&staging.once, register_staging);
    if (!staging.handle)
        return;
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param->memh = staging.handle;
}

void shmemi_ucx_staging_close(void)
{
    if (staging.handle)
        ucp_mem_unmap(shmemi_ucx.context, staging.handle);
    staging.handle = NULL;
    staging.once = (pthread_once_t)PTHREAD_ONCE_INIT;
}
