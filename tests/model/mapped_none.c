/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sub-buffers in a build without OpenCL.
 */
#include "mapped.h"

struct buffer *mapped_sub_buffer(struct buffer *buffer, size_t at, size_t nbytes)
{
    (void)buffer;
    wrong(-1, "no sub-buffer of %zu bytes at %zu without OpenCL", nbytes, at);
}

void mapped_free_sub_buffer(struct buffer *sub_buffer)
{
    (void)sub_buffer;
}
