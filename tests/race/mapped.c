/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A put to a mapped OpenCL buffer and a get by another PE: with a race if the argument is racy, without one
 * otherwise. The argument probe only asks for a device; the status is 77 where there is none.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <shmem.h>
#include <shmemx.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16 };

static cl_mem new_buffer(void)
{
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        exit(77);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    return clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
}

int main(int argc, char **argv)
{
    static char source[256], dest[256];
    const int is_racy = argc > 1 && !strcmp(argv[1], "racy");
    if (argc > 1 && !strcmp(argv[1], "probe")) /* whether there is a device */
        return !new_buffer();
    shmem_init();
    cl_mem buffer = new_buffer();
    char *mapped = shmmap(&buffer, BYTES, OSHM_MEMTYPE_OPENCL);
    if (!mapped)
        return 1;
    if (shmem_my_pe() == 0)
        shmem_putmem(mapped + 4096, source, 256, 1); // racy
    if (!is_racy)
        shmem_barrier_all();
    if (shmem_my_pe() == 2)
        shmem_getmem(dest, mapped + 4096 + 255, 1, 1); // racy
    shmem_barrier_all();
    shmumap(mapped);
    clReleaseMemObject(buffer);
    shmem_finalize();
    return 0;
}
