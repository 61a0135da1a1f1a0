/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For a UCX that does not tell which transports an endpoint uses (before 1.14).
 */
#include "transport/ucx/internal.h"

enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    (void)endpoint;
    return SHMEMI_UCX_RDMA_UNKNOWN;
}
