/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks UCX which transports an endpoint uses.
 */
#include "transport/ucx/internal.h"

#include <string.h>

enum { TRANSPORTS_MAX = 32 };

/* Is this a UCX transport whose adapter reads and writes the peer's memory itself: rc_verbs, rc_mlx5, dc_mlx5...? */
static bool is_rdma(const char *transport)
{
    return !strncmp(transport, "rc_", 3) || !strncmp(transport, "dc_", 3);
}

enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    ucp_transport_entry_t entries[TRANSPORTS_MAX];
    ucp_ep_attr_t attributes = {
        .field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
        .transports = {.entries = entries, .num_entries = TRANSPORTS_MAX, .entry_size = sizeof entries[0]},
    };
    bool found = false;
    if (ucp_ep_query(endpoint, &attributes) != UCS_OK)
        return SHMEMI_UCX_RDMA_UNKNOWN;
    for (unsigned i = 0; i < attributes.transports.num_entries && !found; i++)
        found = is_rdma(entries[i].transport_name);
    return found ? SHMEMI_UCX_RDMA : SHMEMI_UCX_NO_RDMA;
}
