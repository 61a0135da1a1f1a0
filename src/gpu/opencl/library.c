/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens libOpenCL, lists its devices, and names its errors.
 */
#define _GNU_SOURCE
#include "gpu/opencl/library.h"

#include "base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define LIBRARY "libOpenCL.so.1"
enum { PLATFORM_NOT_FOUND_KHR = -1001, MAX_PLATFORMS = 32 };

struct symbol {
    const char *name;
    size_t field; /* offset in struct shmemi_opencl */
};

struct error {
    cl_int status;
    const char *name;
};

#define SYMBOL(_name) {#_name, offsetof(struct shmemi_opencl, _name)},
static const struct symbol symbols[] = {SHMEMI_OPENCL_FUNCTIONS(SYMBOL)};

#define ERROR(_name) {_name, #_name},
static const struct error errors[] = {
    /* clang-format off */
    ERROR(CL_DEVICE_NOT_FOUND) ERROR(CL_DEVICE_NOT_AVAILABLE) ERROR(CL_COMPILER_NOT_AVAILABLE)
    ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE) ERROR(CL_OUT_OF_RESOURCES) ERROR(CL_OUT_OF_HOST_MEMORY)
    ERROR(CL_PROFILING_INFO_NOT_AVAILABLE) ERROR(CL_MEM_COPY_OVERLAP) ERROR(CL_MAP_FAILURE)
    ERROR(CL_MISALIGNED_SUB_BUFFER_OFFSET) ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) ERROR(CL_INVALID_VALUE)
    ERROR(CL_INVALID_DEVICE_TYPE) ERROR(CL_INVALID_PLATFORM) ERROR(CL_INVALID_DEVICE) ERROR(CL_INVALID_CONTEXT)
    ERROR(CL_INVALID_QUEUE_PROPERTIES) ERROR(CL_INVALID_COMMAND_QUEUE) ERROR(CL_INVALID_HOST_PTR)
    ERROR(CL_INVALID_MEM_OBJECT) ERROR(CL_INVALID_EVENT_WAIT_LIST) ERROR(CL_INVALID_EVENT) ERROR(CL_INVALID_OPERATION)
    ERROR(CL_INVALID_BUFFER_SIZE) ERROR(CL_INVALID_PROPERTY)
    /* clang-format on */
};

struct shmemi_opencl shmemi_opencl;

static cl_platform_id platforms[MAX_PLATFORMS];
static cl_uint platform_count;
static cl_device_id *devices;
static int device_count;

const char *shmemi_opencl_error_name(cl_int status)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status)
            return errors[i].name;
    return "an error without a name";
}

int shmemi_opencl_errno(cl_int status)
{
    switch (status) {
    case CL_SUCCESS:
        return 0;
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return -ENOMEM;
    case CL_INVALID_VALUE:
    case CL_INVALID_MEM_OBJECT:
    case CL_INVALID_CONTEXT:
        return -EINVAL;
    case CL_DEVICE_NOT_AVAILABLE:
        return -ENODEV;
    default:
        return -EIO;
    }
}

int shmemi_opencl_check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS)
        shmemi_error("%s: %s (%d)", call, shmemi_opencl_error_name(status), status);
    return shmemi_opencl_errno(status);
}

static int open_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        shmemi_info("OpenCL is not used: %s", dlerror());
        return -ENODEV;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (!function) {
            shmemi_info("OpenCL is not used: " LIBRARY " has no %s", symbols[i].name);
            return -ENODEV;
        }
        *(void **)((char *)&shmemi_opencl + symbols[i].field) = function;
    }
    return 0;
}

static int list_platforms(void)
{
    cl_uint found = 0;
    cl_int status = shmemi_opencl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &found);
    if (status == PLATFORM_NOT_FOUND_KHR || (status == CL_SUCCESS && found == 0)) {
        shmemi_info("OpenCL is not used: no platform is installed");
        return -ENODEV;
    }
    if (status != CL_SUCCESS) {
        shmemi_info("OpenCL is not used: clGetPlatformIDs: %s (%d)", shmemi_opencl_error_name(status), status);
        return -ENODEV;
    }
    platform_count = found < MAX_PLATFORMS ? found : MAX_PLATFORMS;
    return 0;
}

/* Add the devices of a type to the list; a platform may have none. */
static int add_devices(cl_platform_id platform, cl_device_type type)
{
    cl_uint found = 0;
    if (shmemi_opencl.clGetDeviceIDs(platform, type, 0, NULL, &found) != CL_SUCCESS || found == 0)
        return 0;
    cl_device_id *grown = realloc(devices, ((size_t)device_count + found) * sizeof *devices);
    if (!grown) {
        shmemi_error("no memory for a list of %u OpenCL devices", found);
        return -ENOMEM;
    }
    devices = grown;
    if (shmemi_opencl.clGetDeviceIDs(platform, type, found, devices + device_count, NULL) == CL_SUCCESS)
        device_count += (int)found;
    return 0;
}

static int list_devices(cl_device_type type)
{
    for (cl_uint i = 0; i < platform_count; i++) {
        int rc = add_devices(platforms[i], type);
        if (rc)
            return rc;
    }
    return 0;
}

int shmemi_opencl_load(void)
{
    int rc = open_library();
    if (!rc)
        rc = list_platforms();
    if (!rc)
        rc = list_devices(CL_DEVICE_TYPE_GPU);
    if (!rc && device_count == 0)
        rc = list_devices(CL_DEVICE_TYPE_ALL);
    if (!rc && device_count == 0) {
        shmemi_info("OpenCL is not used: %u platform(s) but no device (PoCL has none when its cache directory, "
                    "POCL_CACHE_DIR, cannot be written)",
                    platform_count);
        rc = -ENODEV;
    }
    return rc;
}

void shmemi_opencl_unload(void)
{
    free(devices);
    devices = NULL;
    device_count = 0;
    platform_count = 0;
}

int shmemi_opencl_device_count(void)
{
    return device_count;
}

cl_device_id shmemi_opencl_device(int index)
{
    return index >= 0 && index < device_count ? devices[index] : NULL;
}

int shmemi_opencl_device_index(cl_device_id device)
{
    for (int i = 0; i < device_count; i++)
        if (devices[i] == device)
            return i;
    return -1;
}

bool shmemi_opencl_is_dispatch(uintptr_t address)
{
    for (cl_uint i = 0; i < platform_count; i++) {
        uintptr_t dispatch = 0;
        if (!shmemi_opencl_peek(platforms[i], &dispatch) && dispatch == address)
            return true;
    }
    return false;
}

/* The kernel reads the address here, too, and refuses one that cannot be read. */
static int peek_by_pipe(const void *address, uintptr_t *value_p)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    bool is_read = write(ends[1], address, sizeof *value_p) == (ssize_t)sizeof *value_p &&
                   read(ends[0], value_p, sizeof *value_p) == (ssize_t)sizeof *value_p;
    close(ends[0]);
    close(ends[1]);
    return is_read ? 0 : -EFAULT;
}

int shmemi_opencl_peek(const void *address, uintptr_t *value_p)
{
    struct iovec here = {value_p, sizeof *value_p};
    struct iovec there = {(void *)(uintptr_t)address, sizeof *value_p};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got == (ssize_t)sizeof *value_p)
        return 0;
    if (got >= 0 || errno == EFAULT)
        return -EFAULT;
    return peek_by_pipe(address, value_p); /* the system forbids process_vm_readv */
}
