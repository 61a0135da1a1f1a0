/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of the CUDA driver that the library calls. They are looked up when it runs, so that it can be built and used
 * without CUDA; their types are written out here for the same reason.
 */
#ifndef NVS_DRIVER_H
#define NVS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long nvs_device_address;
struct CUctx_st;
struct CUfunc_st;
struct CUmod_st;
struct CUlib_st;
struct CUstream_st;

/* X(NAME, SYMBOL, PARAMETERS): the result of each is 0, or an error's number. */
#define NVS_FOR_DRIVER(X)                                                                                              \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                  \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                           \
    X(context_current, "cuCtxGetCurrent", (struct CUctx_st * *context))                                                \
    X(context_choose, "cuCtxSetCurrent", (struct CUctx_st * context))                                                  \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (struct CUctx_st * *context, int device))                            \
    X(error_text, "cuGetErrorString", (int error, const char **text))                                                  \
    X(allocate, "cuMemAlloc_v2", (nvs_device_address * address, size_t size))                                          \
    X(release, "cuMemFree_v2", (nvs_device_address address))                                                           \
    X(set_bytes, "cuMemsetD8_v2", (nvs_device_address address, unsigned char value, size_t size))                      \
    X(copy_in, "cuMemcpyHtoD_v2", (nvs_device_address to, const void *from, size_t size))                              \
    X(copy, "cuMemcpy", (nvs_device_address to, nvs_device_address from, size_t size))                                 \
    X(copy_on_stream, "cuMemcpyAsync",                                                                                 \
      (nvs_device_address to, nvs_device_address from, size_t size, struct CUstream_st * stream))                      \
    X(allocate_on_stream, "cuMemAllocAsync", (nvs_device_address * address, size_t size, struct CUstream_st * stream)) \
    X(release_on_stream, "cuMemFreeAsync", (nvs_device_address address, struct CUstream_st * stream))                  \
    X(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, nvs_device_address address))            \
    X(lock_pages, "cuMemHostRegister_v2", (void *address, size_t size, unsigned flags))                                \
    X(stream_wait, "cuStreamSynchronize", (struct CUstream_st * stream))                                               \
    X(module_variable, "cuModuleGetGlobal_v2",                                                                         \
      (nvs_device_address * address, size_t * size, struct CUmod_st * module, const char *name))                       \
    X(library_module, "cuLibraryGetModule", (struct CUmod_st * *module, struct CUlib_st * library))                    \
    X(module_count, "cuModuleGetFunctionCount", (unsigned *count, struct CUmod_st *module))                            \
    X(module_functions, "cuModuleEnumerateFunctions",                                                                  \
      (struct CUfunc_st * *functions, unsigned count, struct CUmod_st *module))                                        \
    X(function_name, "cuFuncGetName", (const char **name, struct CUfunc_st *function))

enum { NVS_ATTRIBUTE_MEMORY_TYPE = 2, NVS_MEMORY_OF_DEVICE = 2 };

struct nvs_driver {
#define NVS_DRIVER_FUNCTION(NAME, SYMBOL, PARAMETERS) int(*NAME) PARAMETERS;
    NVS_FOR_DRIVER(NVS_DRIVER_FUNCTION)
#undef NVS_DRIVER_FUNCTION
};

extern struct nvs_driver nvs_driver __attribute__((visibility("hidden")));

/* Is there a driver with a GPU? Finds it at the first call. Functions that an older driver lacks are NULL. */
bool nvs_has_cuda(void) __attribute__((visibility("hidden")));

/* Is a context of CUDA current in the calling thread? */
bool nvs_has_context(void) __attribute__((visibility("hidden")));

/* Make one current if there is none: that of the first GPU, which is the one that CUDA's runtime chooses. 0, or an error's
 * number, which is logged. */
int nvs_need_context(const char *routine) __attribute__((visibility("hidden")));

/* Log an error of the driver, unless it is 0. Returns it. */
int nvs_driver_failed(const char *routine, const char *what, int error) __attribute__((visibility("hidden")));

#endif
