/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ring_opencl: a number travels from GPU buffer to GPU buffer, round all PEs and twice. Each PE only enqueues its part:
 * waits and puts take their place in the queue of the program, and the CPU waits once, at the end.
 *
 *     oshcc -o ring_opencl ring_opencl.c -lOpenCL
 *     oshrun -n 3 ./ring_opencl
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <shmemx.h>
#include <stdio.h>

static uint64_t arrived; /* static data are symmetric: the signal */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes(), value = 42, result = 0;
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof value, NULL, NULL);
    void *mapped = shmmap(&buffer, sizeof value, OSHM_MEMTYPE_OPENCL);
    if (!mapped) shmem_global_exit(1); /* shmmap has printed the reason */
    if (me == 0) clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL);
    for (uint64_t round = 1; round <= 2; round++) {
        if (me > 0) shmemx_signal_wait_until_on_queue(&arrived, SHMEM_CMP_GE, round, queue, 0, NULL, NULL);
        shmemx_putmem_signal_on_queue(mapped, mapped, sizeof value, &arrived, round, SHMEM_SIGNAL_SET, next, queue, 0,
                                      NULL, NULL);
        if (me == 0) shmemx_signal_wait_until_on_queue(&arrived, SHMEM_CMP_GE, round, queue, 0, NULL, NULL);
    }
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL); /* the CPU's first wait */
    printf("PE %d has %d: %s\n", me, result, result == value ? "verified" : "WRONG");
    shmumap(mapped);
    clReleaseMemObject(buffer);
    shmem_finalize();
    return result != value;
}
