/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of collectives and strided transfers on mapped CUDA memory, the latter beside the driver's own 2-D copy: median
 * and best, in microseconds. Build: oshcc -O2 -I$CUDA/include -o gpu_collectives gpu_collectives.c
 * -L$CUDA/lib64/stubs -lcuda; run: oshrun -n 2 ./gpu_collectives. SHMEM_COLLECTIVE=reduce=kernel, =segment and =flat
 * choose who combines.
 */
#include <shmemx.h>

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 160 << 20, REPEATS_MOST = 200, WARM_UP = 3, ELEMENTS = 4096 };

static double times[REPEATS_MOST];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *what, size_t nbytes, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    if (shmem_my_pe() == 0)
        printf("%-28s %9zu bytes: median %9.2f, best %9.2f\n", what, nbytes, times[count / 2], times[0]);
}

/* begin: what comes before each run without being measured. */
#define MEASURE(what, nbytes, count, begin, ...)                                                                       \
    do {                                                                                                               \
        for (int run = -WARM_UP; run < (count); run++) {                                                               \
            begin;                                                                                                     \
            double start = now();                                                                                      \
            __VA_ARGS__;                                                                                               \
            if (run >= 0)                                                                                              \
                times[run] = now() - start;                                                                            \
        }                                                                                                              \
        print(what, nbytes, count);                                                                                    \
    } while (0)

static void measure_collectives(double *dest, const double *source)
{
    static const size_t sizes[] = {8, 2048, 65536, 1 << 20, 64 << 20};
    for (int i = 0; i < 5; i++) {
        const size_t nbytes = sizes[i], n = nbytes / sizeof(double);
        const int count = nbytes >= 1 << 20 ? 10 : 100;
        MEASURE("double_sum_reduce", nbytes, count, shmem_sync_all(),
                shmem_double_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n));
        if (nbytes > 1 << 20)
            return;
        MEASURE("double_broadcast", nbytes, count, shmem_sync_all(),
                shmem_double_broadcast(SHMEM_TEAM_WORLD, dest, source, n, 0));
        MEASURE("double_fcollect", nbytes, count, shmem_sync_all(),
                shmem_double_fcollect(SHMEM_TEAM_WORLD, dest, source, n));
        MEASURE("double_alltoall", nbytes, count, shmem_sync_all(),
                shmem_double_alltoall(SHMEM_TEAM_WORLD, dest, source, n));
    }
}

/* To and from the last PE, which waits meanwhile. */
static void measure_strided(double *dest, double *source)
{
    const int pe = shmem_n_pes() - 1;
    const size_t nbytes = ELEMENTS * sizeof(double);
    CUstream stream;
    CUDA_MEMCPY2D rect = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = (CUdeviceptr)shmem_ptr(source, shmem_my_pe()),
        .srcPitch = nbytes, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = (CUdeviceptr)shmem_ptr(dest, pe),
        .dstPitch = nbytes, .WidthInBytes = sizeof(double), .Height = ELEMENTS,
    };
    if (shmem_my_pe() || !rect.srcDevice || !rect.dstDevice || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        return;
    MEASURE("double_iput, stride 4096", nbytes, 200, ,
            shmem_double_iput(dest, source, ELEMENTS, ELEMENTS, ELEMENTS, pe));
    MEASURE("cuMemcpy2DAsync", nbytes, 200, , cuMemcpy2DAsync(&rect, stream); cuStreamSynchronize(stream));
    MEASURE("double_iget, stride 4096", nbytes, 200, ,
            shmem_double_iget(dest, source, ELEMENTS, ELEMENTS, ELEMENTS, pe));
    MEASURE("double_iput, stride 2", 16 * nbytes, 100, , shmem_double_iput(dest, source, 2, 2, 16 * ELEMENTS, pe));
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUdeviceptr buffer[2];
    double *object[2];
    shmem_init();
    if (cuInit(0) || cuDeviceGet(&device, shmemx_my_device(OSHM_MEMTYPE_CUDA)) ||
        cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) {
        puts("no CUDA device on this machine");
        shmem_global_exit(1);
    }
    for (int i = 0; i < 2; i++) {
        if (cuMemAlloc(&buffer[i], MOST) || cuMemsetD8(buffer[i], 0, MOST))
            shmem_global_exit(1);
        object[i] = shmmap((void *)buffer[i], MOST, OSHM_MEMTYPE_CUDA);
        if (!object[i])
            shmem_global_exit(1);
    }
    measure_collectives(object[0], object[1]);
    shmem_barrier_all();
    measure_strided(object[0], object[1]);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
