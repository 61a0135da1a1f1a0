/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For UCX before 1.14, which has no function to query the transports of an endpoint.
 */
#include "transport/ucx/internal.h"

enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    (void)endpoint;
    return SHMEMI_UCX_RDMA_UNKNOWN;
}
