/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long copies of CUDA memory by the library take, next to the driver's own calls.
 */
#ifndef CUDA_TIMES_H
#define CUDA_TIMES_H

#include "cuda_user.h"

enum { TIMES_MAX = 2000 };

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static inline double median(double *times, int n)
{
    qsort(times, n, sizeof *times, compare);
    return times[n / 2];
}

/* Times, in turns, the driver's calls, and the library with both objects known or the source's still to be found. */
static inline void time_size(const char *what, const struct shmemi_place *dest, const struct shmemi_place *source,
                             size_t size)
{
    static double raw[TIMES_MAX], known[TIMES_MAX], unknown[TIMES_MAX];
    struct shmemi_shape shape = shmemi_shape_linear(size);
    struct shmemi_place plain = {source->memory, NULL, source->address};
    int n = size < 1 << 20 ? TIMES_MAX : size < 64 << 20 ? 200 : size < 1 << 30 ? 30 : 7;
    CUstream stream;
    USE(shmemi_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = -3; i < n; i++) {
        double t0 = now_us();
        USE(shmemi_cuda.cuMemcpyDtoDAsync(dest->address, source->address, size, stream));
        USE(shmemi_cuda.cuStreamSynchronize(stream));
        double t1 = now_us();
        CHECK(!memory->copy(dest, source, &shape));
        double t2 = now_us();
        CHECK(!memory->copy(dest, &plain, &shape));
        double t3 = now_us();
        if (i >= 0)
            raw[i] = t1 - t0, known[i] = t2 - t1, unknown[i] = t3 - t2;
    }
    USE(shmemi_cuda.cuStreamDestroy(stream));
    double base = median(raw, n), a = median(known, n), b = median(unknown, n);
    printf("# %s %10zu B: raw %.2f us, copy %.2f (x %.3f), source unknown %.2f (x %.3f)\n", what, size, base, a,
           a / base, b, b / base);
}

static inline void time_copies(const char *what, const struct shmemi_place *dest, const struct shmemi_place *source,
                               size_t size)
{
    static const size_t sizes[] = {8, 65536, 1 << 20, 64 << 20, 1 << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= size; i++)
        time_size(what, dest, source, sizes[i]);
}

static inline void time_owns(const char *what, const void *address)
{
    enum { N = 200000 };
    int n_owned = 0;
    double start = now_us();
    for (int i = 0; i < N; i++)
        n_owned += owns(address);
    printf("# owns(%s): %.1f ns (%s)\n", what, (now_us() - start) * 1e3 / N, n_owned ? "yes" : "no");
}

#endif
