/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu.h over OpenCL 1.2. Devices are numbered as shmemx_my_device does: those of all platforms in order, GPUs only if
 * there are any.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

/* The macros within the text are OpenCL's: see gpu_prelude. */
#define KERNELS(...) const char gpu_kernels[] = #__VA_ARGS__;
extern const char gpu_kernels[];
static const char gpu_prelude[] = "#define KERNEL kernel void\n"
                                  "#define GLOBAL global\n"
                                  "#define INDEX (int)get_global_id(0)\n"
                                  "#define ATOMIC_ADD(address, value) atomic_add(address, value)\n"
                                  "#define ATOMIC_MIN(address, value) atomic_min(address, value)\n"
                                  "#define ATOMIC_SET(address, value) atomic_xchg(address, value)\n";

struct gpu_argument {
    const void *value;
    size_t size;
};

#define DEVICE(type) cl_mem
#define ARGUMENT(variable) { &(variable), sizeof(variable) }
#define LAUNCH(kernel, n, ...)                                                                                         \
    do {                                                                                                               \
        const struct gpu_argument arguments[] = { __VA_ARGS__ };                                                       \
                                                                                                                       \
        gpu_launch(#kernel, n, arguments, sizeof(arguments) / sizeof(arguments[0]));                                   \
    } while (0)

#define MAP(buffer, bytes) shmmap(&(buffer), bytes, OSHM_MEMTYPE_OPENCL)
#define MAP_TYPE OSHM_MEMTYPE_OPENCL
#define PUT_SIGNAL_IN_ORDER(...) shmemx_putmem_signal_on_queue(__VA_ARGS__, gpu_queue, 0, NULL, NULL)
#define WAIT_IN_ORDER(...) shmemx_signal_wait_until_on_queue(__VA_ARGS__, gpu_queue, 0, NULL, NULL)

static cl_context gpu_context;
static cl_command_queue gpu_queue;
static cl_program gpu_program;

static inline cl_uint gpu_list(cl_device_type type, cl_device_id *ids, cl_uint max)
{
    cl_platform_id platforms[8];
    cl_uint n_platforms = 0, total = 0;

    clGetPlatformIDs(8, platforms, &n_platforms);
    for (cl_uint i = 0; i < n_platforms && i < 8 && total < max; i++) {
        cl_uint n = 0;

        if (clGetDeviceIDs(platforms[i], type, max - total, ids + total, &n) == CL_SUCCESS)
            total += n < max - total ? n : max - total;
    }
    return total;
}

static inline void gpu_open(int index)
{
    const char *text[] = { gpu_prelude, gpu_kernels };
    cl_device_id ids[32];
    cl_uint n = gpu_list(CL_DEVICE_TYPE_GPU, ids, 32);
    cl_int rc;

    if (n == 0)
        n = gpu_list(CL_DEVICE_TYPE_ALL, ids, 32);
    if (n == 0 || index < 0) {
        fprintf(stderr, "no OpenCL device\n");
        exit(77);
    }
    gpu_context = clCreateContext(NULL, 1, &ids[(cl_uint)index % n], NULL, NULL, &rc);
    gpu_check(rc, "clCreateContext");
    gpu_queue = clCreateCommandQueue(gpu_context, ids[(cl_uint)index % n], 0, &rc);
    gpu_check(rc, "clCreateCommandQueue");
    gpu_program = clCreateProgramWithSource(gpu_context, 2, text, NULL, &rc);
    gpu_check(rc, "clCreateProgramWithSource");
    GPU_CALL(clBuildProgram(gpu_program, 1, &ids[(cl_uint)index % n], "", NULL, NULL));
}

static inline cl_mem gpu_alloc(size_t bytes)
{
    cl_int rc;
    cl_mem buffer = clCreateBuffer(gpu_context, CL_MEM_READ_WRITE, bytes, NULL, &rc);

    gpu_check(rc, "clCreateBuffer");
    return buffer;
}

static inline void gpu_free(cl_mem buffer)
{
    GPU_CALL(clReleaseMemObject(buffer));
}

static inline void gpu_wait(void)
{
    GPU_CALL(clFinish(gpu_queue));
}

static inline void gpu_in(cl_mem buffer, struct block b, const void *host)
{
    const size_t there[3] = { b.offset % b.pitch, b.offset / b.pitch, 0 }, here[3] = { 0, 0, 0 };
    const size_t region[3] = { b.width, b.height, 1 };

    GPU_CALL(clEnqueueWriteBufferRect(gpu_queue, buffer, CL_TRUE, there, here, region, b.pitch, 0, b.width, 0, host, 0,
                                      NULL, NULL));
}

static inline void gpu_out(void *host, cl_mem buffer, struct block b)
{
    const size_t there[3] = { b.offset % b.pitch, b.offset / b.pitch, 0 }, here[3] = { 0, 0, 0 };
    const size_t region[3] = { b.width, b.height, 1 };

    GPU_CALL(clEnqueueReadBufferRect(gpu_queue, buffer, CL_TRUE, there, here, region, b.pitch, 0, b.width, 0, host, 0,
                                     NULL, NULL));
}

static inline void gpu_launch(const char *name, int n, const struct gpu_argument *arguments, size_t n_arguments)
{
    const size_t items = (size_t)n;
    cl_int rc;
    cl_kernel kernel = clCreateKernel(gpu_program, name, &rc);

    gpu_check(rc, name);
    for (cl_uint i = 0; i < n_arguments; i++)
        gpu_check(clSetKernelArg(kernel, i, arguments[i].size, arguments[i].value), name);
    gpu_check(clEnqueueNDRangeKernel(gpu_queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), name);
    GPU_CALL(clReleaseKernel(kernel));
}
