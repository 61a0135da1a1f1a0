/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sub-buffers of OpenCL.
 */
#include "mapped.h"

#include "support/opencl_driver.h"

#include <stdlib.h>

struct buffer *mapped_sub_buffer(struct buffer *buffer, size_t at, size_t nbytes)
{
    const cl_buffer_region region = {.origin = at, .size = nbytes};
    struct buffer *sub_buffer = model_malloc(sizeof *sub_buffer);
    cl_int status;
    sub_buffer->mem = cl.clCreateSubBuffer(buffer->mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (status != CL_SUCCESS)
        wrong(-1, "clCreateSubBuffer of %zu bytes at %zu: error %d", nbytes, at, status);
    return sub_buffer;
}

void mapped_free_sub_buffer(struct buffer *sub_buffer)
{
    cl.clReleaseMemObject(sub_buffer->mem);
    free(sub_buffer);
}
