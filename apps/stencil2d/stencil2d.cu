/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One iteration of the stencil in CUDA. Compile with --fmad=false: the check compares bit for bit.
 *
 * A thread walks down STRIP_ROWS cells of one column and keeps the three rows around the cell in registers; the left
 * and right neighbours come from the L1 cache. Threads of a warp take adjacent columns.
 */
#define STRIP_ROWS 8

/* With a constant number of rows the loop is unrolled and its loads are issued early. */
template <typename T>
__device__ __forceinline__ void sweep_strip(const T *__restrict__ in, T *__restrict__ out, size_t pitch, int rows,
                                            T center, T cardinal, T diagonal)
{
    const T *p = in - pitch;
    T nw = p[-1], n = p[0], ne = p[1];
    T w = p[pitch - 1], here = p[pitch], e = p[pitch + 1];

    p += 2 * pitch;
#pragma unroll
    for (int i = 0; i < rows; i++) {
        T sw = p[-1], s = p[0], se = p[1];

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

/* in and out point to cell (0, 0). */
template <typename T>
__device__ void sweep(const T *__restrict__ in, T *__restrict__ out, size_t pitch, int rows, int cols, T center,
                      T cardinal, T diagonal)
{
    size_t col = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t first = ((size_t)blockIdx.y * blockDim.y + threadIdx.y) * STRIP_ROWS;
    size_t step = (size_t)gridDim.y * blockDim.y * STRIP_ROWS;

    if (col >= cols)
        return;
    for (size_t row = first; row < rows; row += step) {
        const T *from = in + row * pitch + col;
        T *to = out + row * pitch + col;

        if (row + STRIP_ROWS <= rows)
            sweep_strip(from, to, pitch, STRIP_ROWS, center, cardinal, diagonal);
        else
            sweep_strip(from, to, pitch, rows - (int)row, center, cardinal, diagonal);
    }
}

extern "C" __global__ void sweep_sp(const float *in, float *out, size_t pitch, int rows, int cols, float center,
                                    float cardinal, float diagonal)
{
    sweep(in, out, pitch, rows, cols, center, cardinal, diagonal);
}

extern "C" __global__ void sweep_dp(const double *in, double *out, size_t pitch, int rows, int cols, double center,
                                    double cardinal, double diagonal)
{
    sweep(in, out, pitch, rows, cols, center, cardinal, diagonal);
}
