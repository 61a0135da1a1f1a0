/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel: CUDA includes this file; OpenCL's source ends with it. A work-item computes one cell. Defined before it:
 * KERNEL and GLOBAL, words in front of a kernel and of the target of a pointer; CELL, the number of the work-item.
 */
KERNEL void diffuse(GLOBAL const float *in, GLOBAL float *out, int nx, int ny, int nz, float rate)
{
    const long row = nx + 2, layer = row * (ny + 2), cell = CELL;
    const long at = (cell / nx / ny + 1) * layer + (cell / nx % ny + 1) * row + cell % nx + 1;

    if (cell >= (long)nx * ny * nz)
        return;
    const float around =
        ((in[at - 1] + in[at + 1]) + (in[at - row] + in[at + row])) + (in[at - layer] + in[at + layer]);
    out[at] = in[at] + rate * (around - 6.0f * in[at]);
}
