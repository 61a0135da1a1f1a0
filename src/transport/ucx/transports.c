/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks UCX which transports an endpoint uses.
 */
#include "transport/ucx/ucx_internal.h"

enum { TRANSPORTS_MAX = 32 };

enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    enum shmemi_ucx_rdma rdma = SHMEMI_UCX_NO_RDMA;
    ucp_transport_entry_t entries[TRANSPORTS_MAX];
    ucp_ep_attr_t attributes = {
        .field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
        .transports = {.entries = entries, .num_entries = TRANSPORTS_MAX, .entry_size = sizeof entries[0]},
    };
    if (ucp_ep_query(endpoint, &attributes) != UCS_OK)
        return SHMEMI_UCX_RDMA_UNKNOWN;
    for (unsigned i = 0; i < attributes.transports.num_entries; i++)
        rdma = shmemi_ucx_with_transport(rdma, entries[i].transport_name);
    return rdma;
}
