/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo_opencl: the exchange of halo.c between GPU buffers that the program has created and mapped. Kernels, puts and waits
 * follow each other in a queue, and the CPU waits once, at the end.
 *
 *     oshcc -o halo_opencl halo_opencl.c -lOpenCL
 *     oshrun -n 2 ./halo_opencl
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "halo.h"
#include <CL/cl.h>
#include <shmemx.h>
#include <stdio.h>

enum { FROM_LEFT, FROM_RIGHT, BYTES = (CELLS + 2) * sizeof(unsigned) };

static const char *source =
    "kernel void one_step(global unsigned *to, global const unsigned *from)"
    "{ size_t i = get_global_id(0) + 1; to[i] = (from[i - 1] + from[i] + from[i + 1]) % 1000; }";

/* Enqueues a put of the cell at from into the halo of that PE, with its signal. */
static void put_cell(cl_command_queue queue, unsigned *halo, unsigned *from, uint64_t *arrived, uint64_t turn, int pe)
{
    shmemx_putmem_signal_on_queue(halo, from, sizeof *from, arrived, turn, SHMEM_SIGNAL_SET, pe, queue, 0, NULL, NULL);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "one_step", NULL);

    cl_mem field[2];
    unsigned *map[2], cells[CELLS + 2] = {0};
    for (int i = 0; i < 2; i++) {
        field[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
        map[i] = shmmap(&field[i], BYTES, OSHM_MEMTYPE_OPENCL);
        if (!map[i]) shmem_global_exit(1); /* shmmap has printed the reason */
    }
    uint64_t *arrived = shmem_calloc(2, sizeof *arrived); /* the step whose cell has come from either side */
    start(cells, me * CELLS, CELLS);
    clEnqueueWriteBuffer(queue, field[0], CL_TRUE, 0, BYTES, cells, 0, NULL, NULL);
    shmem_barrier_all(); /* before this the write could come after the first put, and overwrite the halo */

    for (int s = 0; s < STEPS; s++) {
        unsigned *now = map[s % 2];
        uint64_t turn = (uint64_t)s + 1;
        put_cell(queue, &now[CELLS + 1], &now[1], &arrived[FROM_RIGHT], turn, left);
        put_cell(queue, &now[0], &now[CELLS], &arrived[FROM_LEFT], turn, right);
        shmemx_signal_wait_until_on_queue(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn, queue, 0, NULL, NULL);
        shmemx_signal_wait_until_on_queue(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn, queue, 0, NULL, NULL);
        clSetKernelArg(kernel, 0, sizeof(cl_mem), &field[(s + 1) % 2]);
        clSetKernelArg(kernel, 1, sizeof(cl_mem), &field[s % 2]);
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){CELLS}, NULL, 0, NULL, NULL);
    }
    clEnqueueReadBuffer(queue, field[STEPS % 2], CL_TRUE, 0, BYTES, cells, 0, NULL, NULL); /* the CPU's only wait */

    int wrong = !is_right(cells, me, n);
    printf("PE %d: %d cells after %d steps: %s\n", me, CELLS, STEPS, wrong ? "WRONG" : "verified");
    for (int i = 0; i < 2; i++) shmumap(map[i]);
    shmem_finalize();
    return wrong;
}
