/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One iteration of the stencil in OpenCL. REAL is float or double, STRIP_ROWS the cells that a work-item computes.
 * The comment in stencil2d.cu explains the method.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef NEEDS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

static inline void sweep_strip(__global const REAL *restrict in, __global REAL *restrict out, ulong pitch, int rows,
                               REAL center, REAL cardinal, REAL diagonal)
{
    __global const REAL *p = in - pitch;
    REAL nw = p[-1], n = p[0], ne = p[1];
    REAL w = in[-1], here = in[0], e = in[1];

    p = in + pitch;
    for (int i = 0; i < rows; i++) {
        REAL sw = p[-1], s = p[0], se = p[1];

        *out = (center * here + cardinal * (((n + s) + w) + e)) + diagonal * (((nw + sw) + ne) + se);
        nw = w;
        n = here;
        ne = e;
        w = sw;
        here = s;
        e = se;
        p += pitch;
        out += pitch;
    }
}

/* origin is the index of cell (0, 0). */
__kernel void sweep(__global const REAL *restrict in, __global REAL *restrict out, ulong origin, ulong pitch, int rows,
                    int cols, REAL center, REAL cardinal, REAL diagonal)
{
    ulong col = get_global_id(0);
    ulong row = get_global_id(1) * STRIP_ROWS;
    ulong index = origin + row * pitch + col;

    if (col >= cols || row >= rows)
        return;
    if (row + STRIP_ROWS <= rows)
        sweep_strip(in + index, out + index, pitch, STRIP_ROWS, center, cardinal, diagonal);
    else
        sweep_strip(in + index, out + index, pitch, rows - (int)row, center, cardinal, diagonal);
}
