/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which GPU carries out the atomic operations on a GPU's memory.
 */
#include "gpu/device/kernels/gpu_lists.h"

#include <string.h>

static void find_agent(const struct shmemi_place *own, struct shmemi_agent *agent_p)
{
    const struct shmemi_gpu_context *context = own->object;
    *agent_p = (struct shmemi_agent){0};
    if (!GPU_CALL(device_uuid, agent_p->device, context->handle))
        agent_p->exists = shmemi_gpu_has_lists(own);
}

static bool is_device(int device, const struct shmemi_agent *agent)
{
    uint8_t uuid[sizeof agent->device];
    return !shmemi_gpu.device_uuid(uuid, device) && !memcmp(uuid, agent->device, sizeof uuid);
}

/* True if kernels run on the agent's own device, or on one whose atomic operations are carried out there. Nothing is
 * known about a device that this process does not see. */
static bool reaches_agent(const struct shmemi_place *imported, const struct shmemi_agent *agent)
{
    const struct shmemi_gpu_context *context = imported->object;
    int count = 0;
    if (!agent->exists || !context || !shmemi_gpu_has_lists(imported))
        return false;
    if (is_device(context->handle, agent))
        return true;
    shmemi_gpu.device_count(&count);
    for (int i = 0; i < count; i++) {
        int device;
        if (!shmemi_gpu.device_get(&device, i) && is_device(device, agent) &&
            shmemi_gpu.has_native_atomics(context->handle, device))
            return true;
    }
    return false;
}

const struct shmemi_agents shmemi_gpu_agents = {
    .find = find_agent,
    .reaches = reaches_agent,
};
