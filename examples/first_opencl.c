/* SPDX-License-Identifier: BSD-3-Clause
 *
 * first_opencl: every PE puts a row of numbers from its host memory into the GPU buffer of the next PE. With CUDA
 * (first_cuda.cu) the lines that have "cl" in a name are different.
 *
 *     oshcc -o first_opencl first_opencl.c -lOpenCL
 *     oshrun -n 2 ./first_opencl
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <shmemx.h>
#include <stdio.h>

enum { N = 1024, BYTES = N * sizeof(double) };

int main(void)
{
    double row[N];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    double *mapped = shmmap(&buffer, BYTES, OSHM_MEMTYPE_OPENCL);
    if (!mapped) shmem_global_exit(1); /* shmmap has printed the reason */
    for (int i = 0; i < N; i++) row[i] = 1000 * me + i;
    shmem_double_put(mapped, row, N, next); /* into the GPU memory of the next PE */
    shmem_barrier_all();
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, row, 0, NULL, NULL);
    int wrong = row[0] != 1000 * previous || row[N - 1] != 1000 * previous + N - 1;
    printf("PE %d: my buffer holds %.0f to %.0f: %s\n", me, row[0], row[N - 1], wrong ? "WRONG" : "verified");
    shmumap(mapped);
    clReleaseMemObject(buffer);
    shmem_finalize();
    return wrong;
}
