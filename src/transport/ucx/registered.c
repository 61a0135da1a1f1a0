/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of this PE that is registered with UCX: the regions that other nodes may reach, each with its packed key; the
 * staging slots, when the first request needs them; and memory that the program has prepared.
 */
#include "base/holdings.h"
#include "base/log.h"
#include "transport/request.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdlib.h>

static ucs_status_t map_memory(void *address, size_t size, ucs_memory_type_t type, ucp_mem_h *memory_p)
{
    ucp_mem_map_params_t params = {
        .field_mask =
            UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = address,
        .length = size,
        .memory_type = type,
    };
    return ucp_mem_map(shmemi_ucx.context, &params, memory_p);
}

/* ---- Regions ----------------------------------------------------------------------------------------------------- */

static struct shmemi_ucx_exposure *exposures; /* under the service lock */

static int make_key(struct shmemi_ucx_exposure *exposure, ucs_memory_type_t type, const char **cause_p)
{
    ucs_status_t status = map_memory(exposure->address, exposure->size, type, &exposure->memory);
    if (status == UCS_OK) {
        status = ucp_rkey_pack(shmemi_ucx.context, exposure->memory, &exposure->key, &exposure->key_size);
        if (status != UCS_OK)
            ucp_mem_unmap(shmemi_ucx.context, exposure->memory);
    }
    *cause_p = ucs_status_string(status);
    return shmemi_ucx_errno(status);
}

static struct shmemi_ucx_exposure **find(uint32_t region)
{
    struct shmemi_ucx_exposure **link = &exposures;
    while (*link && (*link)->region != region)
        link = &(*link)->next;
    return link;
}

const struct shmemi_ucx_exposure *shmemi_ucx_exposure_of(uint32_t region)
{
    return *find(region);
}

char *shmemi_ucx_exposed(uint32_t region, uint64_t offset, size_t nbytes)
{
    const struct shmemi_ucx_exposure *exposure = region < SHMEMI_REGION_FIRST_MAPPED ? *find(region) : NULL;
    if (!exposure || offset > exposure->size || nbytes > exposure->size - offset)
        return NULL;
    return (char *)exposure->address + offset;
}

int shmemi_ucx_expose_typed(uint32_t region, void *address, size_t size, ucs_memory_type_t type, const char **cause_p)
{
    struct shmemi_ucx_exposure *exposure = calloc(1, sizeof *exposure);
    *cause_p = "out of memory";
    if (!exposure)
        return -ENOMEM;
    exposure->region = region;
    exposure->address = address;
    exposure->size = size;
    int rc = make_key(exposure, type, cause_p);
    if (rc) {
        free(exposure);
        return rc;
    }
    shmemi_hold(SHMEMI_PART_KEYS, (ptrdiff_t)(sizeof *exposure + exposure->key_size));
    pthread_mutex_lock(&shmemi_ucx.service_lock);
    exposure->next = exposures;
    exposures = exposure;
    shmemi_ucx_key_answer_kept(exposure);
    pthread_mutex_unlock(&shmemi_ucx.service_lock);
    return 0;
}

static int expose(uint32_t region, const struct shmemi_allocation *allocation, size_t size, char *reason,
                  size_t reason_size)
{
    (void)reason, (void)reason_size;
    const char *cause;
    void *address = (void *)allocation->place.address;
    if (allocation->place.memory != &shmemi_memory_host)
        return 0;
    int rc = shmemi_ucx_expose_typed(region, address, size, UCS_MEMORY_TYPE_HOST, &cause);
    if (rc)
        shmemi_error("cannot register %zu bytes at %p with the network: %s; is the limit of locked memory (ulimit -l) "
                     "high enough?",
                     size, address, cause);
    return rc;
}

static void unmap(struct shmemi_ucx_exposure *exposure)
{
    shmemi_hold(SHMEMI_PART_KEYS, -(ptrdiff_t)(sizeof *exposure + exposure->key_size));
    ucp_rkey_buffer_release(exposure->key);
    ucp_mem_unmap(shmemi_ucx.context, exposure->memory);
    free(exposure);
}

void shmemi_ucx_hide(uint32_t region)
{
    if (!atomic_load(&shmemi_ucx.is_open))
        return;
    pthread_mutex_lock(&shmemi_ucx.service_lock);
    struct shmemi_ucx_exposure **link = find(region), *exposure = *link;
    if (exposure)
        *link = exposure->next;
    pthread_mutex_unlock(&shmemi_ucx.service_lock);
    if (exposure)
        unmap(exposure);
}

const struct shmemi_exposing shmemi_ucx_exposing = {.expose = expose, .hide = shmemi_ucx_hide};

/* ---- Staging slots ----------------------------------------------------------------------------------------------- */

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

/* ---- Memory that the program has prepared ------------------------------------------------------------------------ */

static void *register_memory(void *address, size_t size)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    ucp_mem_h memory = NULL;
    if (!atomic_load(&shmemi_ucx.is_open))
        return NULL;
    ucs_status_t status = map_memory(address, size, UCS_MEMORY_TYPE_HOST, &memory);
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

/* ---- Close ------------------------------------------------------------------------------------------------------- */

void shmemi_ucx_registered_close(void)
{
    if (staging.handle)
        unregister_memory(staging.handle);
    staging.handle = NULL;
    staging.once = (pthread_once_t)PTHREAD_ONCE_INIT;
    while (exposures) {
        struct shmemi_ucx_exposure *exposure = exposures;
        exposures = exposure->next;
        unmap(exposure);
    }
}
