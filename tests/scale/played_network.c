/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a played job (played.h): UCX's own, with three functions changed (linked with --wrap).
 *
 * The library is told that there is RDMA, as on the networks of large machines: else it would send small puts as messages
 * of its own. The answer to a request names the PE that the request was for, where this process would name
 * itself.
 */
#include "played.h"

#include "transport/request.h"
#include "transport/ucx/ucx_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 1024, ENDPOINTS = 1 << 20 };

/* Which PE an endpoint was made for: a table by the endpoint's address. */
static struct {
    ucp_ep_h endpoint[ENDPOINTS];
    int pe[ENDPOINTS];
} made; /* under the initiator lock */
static _Atomic int n_endpoints;
static _Atomic long n_operations;

/* The PE that a request with this slot was sent to; of those without a slot, the PEs in the order of sending. */
static int of_slot[SLOTS];
static struct {
    int pe[1 << 16];
    _Atomic unsigned sent, answered;
} slotless[SHMEMI_SLOTLESS_SETS];

ucs_status_ptr_t __real_ucp_put_nbx(ucp_ep_h endpoint, const void *source, size_t nbytes, uint64_t address,
                                    ucp_rkey_h key, const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_put_nbx(ucp_ep_h endpoint, const void *source, size_t nbytes, uint64_t address,
                                    ucp_rkey_h key, const ucp_request_param_t *param);
ucs_status_ptr_t __real_ucp_get_nbx(ucp_ep_h endpoint, void *dest, size_t nbytes, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_get_nbx(ucp_ep_h endpoint, void *dest, size_t nbytes, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param);
ucs_status_t __real_ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *endpoint_p);
ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *endpoint_p);
enum shmemi_ucx_rdma __wrap_shmemi_ucx_is_rdma(ucp_ep_h endpoint);
ucs_status_ptr_t __real_ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_length,
                                        const void *data, size_t length, const ucp_request_param_t *param);
ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_length,
                                        const void *data, size_t length, const ucp_request_param_t *param);

long played_operations(void)
{
    return n_operations;
}

int played_endpoints(void)
{
    return n_endpoints;
}

ucs_status_ptr_t __wrap_ucp_put_nbx(ucp_ep_h endpoint, const void *source, size_t nbytes, uint64_t address,
                                    ucp_rkey_h key, const ucp_request_param_t *param)
{
    n_operations++;
    return __real_ucp_put_nbx(endpoint, source, nbytes, address, key, param);
}

ucs_status_ptr_t __wrap_ucp_get_nbx(ucp_ep_h endpoint, void *dest, size_t nbytes, uint64_t address, ucp_rkey_h key,
                                    const ucp_request_param_t *param)
{
    n_operations++;
    return __real_ucp_get_nbx(endpoint, dest, nbytes, address, key, param);
}

static size_t place_of(ucp_ep_h endpoint)
{
    size_t at = ((uintptr_t)endpoint >> 4) * 0x9e3779b1u % ENDPOINTS;
    while (made.endpoint[at] && made.endpoint[at] != endpoint)
        at = (at + 1) % ENDPOINTS;
    return at;
}

ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *endpoint_p)
{
    ucs_status_t status = __real_ucp_ep_create(worker, params, endpoint_p);
    if (status != UCS_OK)
        return status;
    size_t at = place_of(*endpoint_p);
    made.endpoint[at] = *endpoint_p;
    made.pe[at] = (int)(intptr_t)params->err_handler.arg;
    n_endpoints++;
    return UCS_OK;
}

enum shmemi_ucx_rdma __wrap_shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    (void)endpoint;
    return SHMEMI_UCX_RDMA;
}

static void note_request(int pe, uint16_t slot)
{
    if (!shmemi_is_slotless(slot)) {
        of_slot[slot % SLOTS] = pe;
        return;
    }
    unsigned set = shmemi_slotless_set(slot);
    slotless[set].pe[slotless[set].sent++ & 0xffff] = pe;
}

/* The library keeps the header of an answer until it is sent, and does not read it again. */
static void name_owner(struct shmemi_ucx_answer *answer)
{
    unsigned set = shmemi_is_slotless(answer->slot) ? shmemi_slotless_set(answer->slot) : 0;
    answer->owner = (uint32_t)(shmemi_is_slotless(answer->slot) ? slotless[set].pe[slotless[set].answered++ & 0xffff]
                                                                : of_slot[answer->slot % SLOTS]);
}

ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, const void *header, size_t header_length,
                                        const void *data, size_t length, const ucp_request_param_t *param)
{
    n_operations++;
    if (id == SHMEMI_UCX_AM_REQUEST)
        note_request(made.pe[place_of(endpoint)], ((const struct shmemi_request *)header)->slot);
    if (id == SHMEMI_UCX_AM_ANSWER)
        name_owner((struct shmemi_ucx_answer *)(uintptr_t)header);
    return __real_ucp_am_send_nbx(endpoint, id, header, header_length, data, length, param);
}
