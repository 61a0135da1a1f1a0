/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tree is built on PE 0's CPU, goes to PE 1's GPU in one piece, and a kernel looks up keys there. OpenCL, whose
 * buffers have no addresses: the pointers in the tree are offsets from the start of the buffer. An example to be copied:
 * it calls OpenCL itself and needs nothing but the library.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "tree.h"

#include <CL/cl.h>

static uint64_t arrived;   /* symmetric: is the tree there? */
static double found[KEYS]; /* symmetric: what the GPU found */

/* A work-item for each key. */
static const char *const kernel_text =
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "struct tree { long key; int n; ulong values, left, right; };\n"
    "#define TREE(offset) ((global const struct tree *)(memory + (offset)))\n"
    "kernel void look_up_all(global const char *memory, ulong tree, global double *sums)\n"
    "{\n"
    "    long key = get_global_id(0);\n"
    "    while (tree && TREE(tree)->key != key)\n"
    "        tree = key < TREE(tree)->key ? TREE(tree)->left : TREE(tree)->right;\n"
    "    double sum = tree ? 0 : -1;\n"
    "    for (int i = 0; tree && i < TREE(tree)->n; i++)\n"
    "        sum += ((global const double *)(memory + TREE(tree)->values))[i];\n"
    "    sums[key] = sum;\n"
    "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;

static int open_device(void)
{
    cl_platform_id platform;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS)
        return 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 0;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    return queue != NULL;
}

static void run_kernel(cl_mem memory, cl_ulong root)
{
    const size_t keys = KEYS;
    const char *text = kernel_text;
    cl_mem sums = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof found, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "look_up_all", NULL);
    clSetKernelArg(kernel, 0, sizeof memory, &memory);
    clSetKernelArg(kernel, 1, sizeof root, &root);
    clSetKernelArg(kernel, 2, sizeof sums, &sums);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &keys, NULL, 0, NULL, NULL);
    if (clEnqueueReadBuffer(queue, sums, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL) != CL_SUCCESS)
        shmem_global_exit(1);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(sums);
}

/* PE 1 has to know no more of the tree than its type. */
static void use_tree(const void *image, shmemx_type_t type, cl_mem memory)
{
    shmemx_deep_info_t info;
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
    if (shmemx_deep_info(image, type, &info, 1) != 0)
        shmem_global_exit(1); /* the library has printed the reason */
    run_kernel(memory, info.root);
    shmem_putmem(found, found, sizeof found, 0);
}

int main(int argc, char **argv)
{
    int status = read_arguments(argc, argv);
    if (status >= 0)
        return status;
    status = 0;
    shmem_init();
    const int me = shmem_my_pe();
    if (!open_device() || shmem_n_pes() < 2) {
        printf("this example needs 2 PEs and an OpenCL device\n");
        shmem_finalize();
        return 77;
    }
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, CAPACITY, NULL, NULL);
    void *image = shmmap(&memory, CAPACITY, OSHM_MEMTYPE_OPENCL);
    shmemx_type_t type = shmemx_type_create("tree", sizeof(struct tree), 4, tree_fields);
    if (!image || !type)
        shmem_global_exit(1); /* the library has printed the reason */

    struct tree *root = me == 0 ? grow() : NULL;
    if (me == 0) {
        const ptrdiff_t size = shmemx_put_deep_signal(image, CAPACITY, root, type, 1, &arrived, 1, SHMEM_SIGNAL_SET, 1);
        if (size < 0 || size > CAPACITY)
            shmem_global_exit(1);
        printf("the tree takes %ld bytes\n", (long)size);
    }
    if (me == 1)
        use_tree(image, type, memory);
    shmem_barrier_all();
    if (me == 0)
        status = !is_right(root, found);
    shmumap(image);
    clReleaseMemObject(memory);
    shmem_finalize();
    return status;
}
