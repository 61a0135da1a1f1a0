/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of one precision. real.c includes this file twice, with
 *   REAL         the type
 *   NAME(f)      f with a suffix for the type
 */

static void NAME(fill)(void *dest, const struct field *field, long row, long col, long n)
{
    REAL *cell = dest;

    for (long i = 0; i < n; i++)
        cell[i] = (REAL)initial_value(field, row, col + i);
}

static void NAME(set)(void *dest, double value, long n)
{
    REAL *cell = dest;

    for (long i = 0; i < n; i++)
        cell[i] = (REAL)value;
}

/* The order of the operations is that of the kernels, so that the results are equal bit for bit. */
static void NAME(sweep)(const void *in, void *out, long rows, long cols, const double weights[3])
{
    const REAL center = (REAL)weights[0];
    const REAL cardinal = (REAL)weights[1];
    const REAL diagonal = (REAL)weights[2];
    size_t pitch = (size_t)cols + 2;

    for (long r = 0; r < rows; r++) {
        const REAL *here = (const REAL *)in + ((size_t)r + 1) * pitch + 1;
        const REAL *north = here - pitch;
        const REAL *south = here + pitch;
        REAL *restrict to = (REAL *)out + ((size_t)r + 1) * pitch + 1;

        for (long c = 0; c < cols; c++) {
            REAL cross = ((north[c] + south[c]) + here[c - 1]) + here[c + 1];
            REAL corners = ((north[c - 1] + south[c - 1]) + north[c + 1]) + south[c + 1];

            to[c] = (center * here[c] + cardinal * cross) + diagonal * corners;
        }
    }
}

static void NAME(compare)(const void *expected, const void *found, long row, long col, long n, double tolerance,
                          struct comparison *sum)
{
    const REAL *want = expected;
    const REAL *have = found;

    for (long i = 0; i < n; i++) {
        if (!isfinite(want[i]))
            sum->not_finite++;
        else if (memcmp(&want[i], &have[i], sizeof(REAL)) != 0)
            compare_inexact(want[i], have[i], row, col + i, tolerance, sum);
    }
}
