/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Users' OpenCL buffers: finds out what a user has passed, checks it, and keeps a record while it is mapped.
 *
 * The address of a place is an offset in the root buffer, so that ranges of a buffer and of its sub-buffers can be
 * compared.
 */
#include "gpu/opencl/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct shmemi_opencl *const cl = &shmemi_opencl;

struct buffer_info {
    cl_mem_object_type type;
    size_t size;
    cl_mem_flags flags;
    cl_context context;
    cl_mem parent; /* NULL unless it is a sub-buffer */
    size_t origin;
};

__attribute__((format(printf, 3, 4))) static int refuse(char *reason, size_t reason_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, reason_size, format, args);
    va_end(args);
    return -EINVAL;
}

/* OpenCL cannot tell a cl_mem from another pointer, and crashes if it gets one. Mistakes that can be found without
 * calling it are refused here: addresses that cannot be read, pointers to what does not begin with the address of a
 * driver's table, as objects do, and the frequent one of passing the cl_mem instead of its address. */
static int find_buffer(void *object, cl_mem *buffer_p, char *reason, size_t reason_size)
{
    uintptr_t handle, table, entry;
    if (!object)
        return refuse(reason, reason_size, "is NULL; it must be the address of a cl_mem");
    if (shmemi_opencl_peek(object, &handle))
        return refuse(reason, reason_size, "is not the address of a cl_mem: it cannot be read");
    if (!handle)
        return refuse(reason, reason_size, "is the address of a NULL cl_mem");
    if (shmemi_opencl_is_dispatch(handle))
        return refuse(reason, reason_size, "is an OpenCL object; pass the address of the cl_mem variable");
    if (shmemi_opencl_peek((void *)handle, &table) || shmemi_opencl_peek((void *)table, &entry))
        return refuse(reason, reason_size, "is not the address of a cl_mem");
    *buffer_p = (cl_mem)handle;
    return 0;
}

static cl_int inspect(cl_mem buffer, struct buffer_info *info)
{
    const struct {
        cl_mem_info name;
        size_t size;
        void *value;
    } query[] = {
        {CL_MEM_TYPE, sizeof info->type, &info->type},
        {CL_MEM_SIZE, sizeof info->size, &info->size},
        {CL_MEM_FLAGS, sizeof info->flags, &info->flags},
        {CL_MEM_CONTEXT, sizeof info->context, &info->context},
        {CL_MEM_ASSOCIATED_MEMOBJECT, sizeof info->parent, &info->parent},
        {CL_MEM_OFFSET, sizeof info->origin, &info->origin},
    };
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; i < sizeof query / sizeof *query && status == CL_SUCCESS; i++)
        status = cl->clGetMemObjectInfo(buffer, query[i].name, query[i].size, query[i].value, NULL);
    return status;
}

static int validate(const struct buffer_info *info, size_t size, char *reason, size_t reason_size)
{
    if (info->type != CL_MEM_OBJECT_BUFFER)
        return refuse(reason, reason_size, "is an image or a pipe, not a buffer");
    if (size > info->size)
        return refuse(reason, reason_size, "size %zu is larger than the buffer (%zu bytes)", size, info->size);
    if (info->flags & CL_MEM_HOST_NO_ACCESS)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_NO_ACCESS, which forbids copies by the host");
    if (info->flags & CL_MEM_HOST_READ_ONLY)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_READ_ONLY, which forbids writes by the host");
    if (info->flags & CL_MEM_HOST_WRITE_ONLY)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_WRITE_ONLY, which forbids reads by the host");
    return 0;
}

/* Index in the list of the device, or of the device that it is a part of; -1 when the list has neither. */
static int device_index(cl_device_id device)
{
    int index = shmemi_opencl_device_index(device);
    cl_device_id parent = NULL;
    while (index < 0 && cl->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) == 0 &&
           parent) {
        index = shmemi_opencl_device_index(parent);
        device = parent;
    }
    return index;
}

static int make_record(cl_mem buffer, const struct buffer_info *info, struct shmemi_opencl_buffer **record_p,
                       char *reason, size_t reason_size)
{
    struct shmemi_opencl_buffer *record = calloc(1, sizeof *record);
    if (!record) {
        refuse(reason, reason_size, "cannot be recorded: no host memory");
        return -ENOMEM;
    }
    cl_int status = cl->clRetainMemObject(buffer);
    if (status != CL_SUCCESS)
        goto err_free;
    record->context = shmemi_opencl_context_get(info->context, &status);
    if (!record->context)
        goto err_release;
    record->buffer = buffer;
    record->root = info->parent ? info->parent : buffer;
    record->origin = info->parent ? info->origin : 0;
    if (record->context->direct)
        record->storage = shmemi_opencl_map_address(shmemi_opencl_lane(record->context)->queue[SHMEMI_OPENCL_WRITE],
                                                    buffer, info->size);
    *record_p = record;
    return 0;

err_release:
    cl->clReleaseMemObject(buffer);
err_free:
    free(record);
    refuse(reason, reason_size, "cannot be used through its context: %s", shmemi_opencl_error_name(status));
    return shmemi_opencl_errno(status);
}

int shmemi_opencl_open_object(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                              size_t reason_size)
{
    cl_mem buffer = NULL;
    struct buffer_info info = {0};
    struct shmemi_opencl_buffer *record = NULL;
    int rc = find_buffer(object, &buffer, reason, reason_size);
    if (rc)
        return rc;
    cl_int status = inspect(buffer, &info);
    if (status != CL_SUCCESS)
        return refuse(reason, reason_size, "is not a cl_mem: %s", shmemi_opencl_error_name(status));
    rc = validate(&info, size, reason, reason_size);
    if (!rc)
        rc = make_record(buffer, &info, &record, reason, reason_size);
    if (rc)
        return rc;
    *allocation_p = (struct shmemi_allocation){
        .place = {.memory = &shmemi_memory_opencl, .object = record, .address = record->origin},
        .base = record->origin,
        .size = info.size,
        .buffer_id = (uint64_t)(uintptr_t)record->root,
        .device = device_index(record->context->device),
        .class = SHMEMI_CLASS_OPENCL,
    };
    return 0;
}

void shmemi_opencl_close_object(struct shmemi_allocation *allocation)
{
    struct shmemi_opencl_buffer *record = allocation->place.object;
    cl->clReleaseMemObject(record->buffer);
    shmemi_opencl_context_put(record->context);
    free(record);
    allocation->place.object = NULL;
}
