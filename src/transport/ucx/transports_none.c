/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For UCX before 1.14, which has no function to query the transports of an endpoint, but prints them, one a line:
 *
 *     #                 lane[0]:  1:tcp/eth0.0 md[1] ...
 */
#include "transport/ucx/ucx_internal.h"

#include <stdio.h>
#include <stdlib.h>

static enum shmemi_ucx_rdma read_lines(FILE *lines)
{
    enum shmemi_ucx_rdma rdma = SHMEMI_UCX_RDMA_UNKNOWN;
    char line[256], name[64];
    while (fgets(line, sizeof line, lines))
        if (sscanf(line, "# lane[%*d]: %*d:%63[a-z0-9_]/", name) == 1)
            rdma = shmemi_ucx_with_transport(rdma == SHMEMI_UCX_RDMA_UNKNOWN ? SHMEMI_UCX_NO_RDMA : rdma, name);
    return rdma;
}

enum shmemi_ucx_rdma shmemi_ucx_is_rdma(ucp_ep_h endpoint)
{
    enum shmemi_ucx_rdma rdma = SHMEMI_UCX_RDMA_UNKNOWN;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return rdma;
    ucp_ep_print_info(endpoint, stream);
    fclose(stream);
    stream = size ? fmemopen(text, size, "r") : NULL;
    if (stream) {
        rdma = read_lines(stream);
        fclose(stream);
    }
    free(text);
    return rdma;
}
