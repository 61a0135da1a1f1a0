/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OpenCL kind of memory, which are buffers (cl_mem) of the user's contexts: devices, and the table of the kind.
 */
#include "gpu/opencl/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PCI_BUS_INFO_KHR = 0x410F, /* cl_khr_pci_bus_info */
    PCI_BUS_ID_NV = 0x4008,    /* cl_nv_device_attribute_query */
    PCI_SLOT_ID_NV = 0x4009,   /* device * 8 + function */
    PCI_DOMAIN_ID_NV = 0x400A,
};

struct pci_bus_info_khr {
    cl_uint domain, bus, device, function;
};

static struct shmemi_opencl *const cl = &shmemi_opencl;

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static int opencl_device_name(int index, char *text, size_t size)
{
    cl_device_id device = shmemi_opencl_device(index);
    char name[256] = "";
    if (!device)
        return -EINVAL;
    cl_int status = cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, "clGetDeviceInfo");
    snprintf(text, size, "%s", name);
    return 0;
}

static bool pci_of_khr(cl_device_id device, struct pci_bus_info_khr *info)
{
    return cl->clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof *info, info, NULL) == CL_SUCCESS;
}

static bool pci_of_nvidia(cl_device_id device, struct pci_bus_info_khr *info)
{
    cl_uint slot = 0;
    if (cl->clGetDeviceInfo(device, PCI_BUS_ID_NV, sizeof info->bus, &info->bus, NULL) != CL_SUCCESS ||
        cl->clGetDeviceInfo(device, PCI_SLOT_ID_NV, sizeof slot, &slot, NULL) != CL_SUCCESS)
        return false;
    if (cl->clGetDeviceInfo(device, PCI_DOMAIN_ID_NV, sizeof info->domain, &info->domain, NULL) != CL_SUCCESS)
        info->domain = 0; /* older drivers know only domain 0 */
    info->device = slot >> 3;
    info->function = slot & 7;
    return true;
}

static bool find_pci(cl_device_id device, struct pci_bus_info_khr *info)
{
    return pci_of_khr(device, info) || pci_of_nvidia(device, info);
}

static int opencl_device_pci(int index, char *text, size_t size)
{
    cl_device_id device = shmemi_opencl_device(index);
    struct pci_bus_info_khr info = {0};
    if (!device)
        return -EINVAL;
    if (!find_pci(device, &info))
        return -ENODEV;
    snprintf(text, size, "%04x:%02x:%02x.%x", info.domain, info.bus, info.device, info.function);
    return 0;
}

static int opencl_allocate(int index, size_t size, void **object_p)
{
    cl_device_id device = shmemi_opencl_device(index);
    cl_mem *object = device ? malloc(sizeof *object) : NULL;
    cl_int status;
    if (!object)
        return device ? -ENOMEM : -EINVAL;
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status == CL_SUCCESS) {
        *object = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
        cl->clReleaseContext(context); /* the buffer keeps it */
    }
    if (status != CL_SUCCESS) {
        free(object);
        return shmemi_opencl_check(status, "clCreateBuffer");
    }
    *object_p = object;
    return 0;
}

static void opencl_deallocate(void *object)
{
    cl->clReleaseMemObject(*(cl_mem *)object);
    free(object);
}

static bool opencl_is_object(const void *address)
{
    uintptr_t table;
    return !shmemi_opencl_peek(address, &table) && shmemi_opencl_is_dispatch(table);
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

/* OpenCL has no command for atomic operations. */
static int opencl_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p)
{
    (void)word, (void)amo, (void)old_p;
    return -ENOTSUP;
}

/* OpenCL shows each GPU as the PCI device that it is in all processes. */
static void find_device(const struct shmemi_place *own, struct shmemi_atomic_unit *unit_p)
{
    const struct shmemi_opencl_buffer *buffer = own->object;
    struct pci_bus_info_khr info = {0};
    *unit_p = (struct shmemi_atomic_unit){.exists = 0};
    static_assert(sizeof info == sizeof unit_p->device, "a device is told by its place on the bus");
    if (find_pci(buffer->context->device, &info))
        memcpy(unit_p->device, &info, sizeof info);
}

static const struct shmemi_atomic_units opencl_atomic_units = {.find = find_device};

static void opencl_close(void)
{
    shmemi_opencl_pinned_close();
    shmemi_opencl_unload();
}

const struct shmemi_memory shmemi_memory_opencl = {
    .name = "opencl",
    .title = "OpenCL",
    .type = SHMEMI_MEMTYPE_OPENCL,
    .open = shmemi_opencl_load,
    .close = opencl_close,
    .device_count = shmemi_opencl_device_count,
    .device_pci = opencl_device_pci,
    .device_name = opencl_device_name,
    .allocate = opencl_allocate,
    .deallocate = opencl_deallocate,
    .open_object = shmemi_opencl_open_object,
    .close_object = shmemi_opencl_close_object,
    .is_object = opencl_is_object,
    .copy = shmemi_opencl_copy,
    .copy_start = shmemi_opencl_copy_start,
    .event_test = shmemi_opencl_event_test,
    .event_wait = shmemi_opencl_event_wait,
    .amo = opencl_amo,
    .atomic_units = &opencl_atomic_units,
    .pinning = &shmemi_opencl_pinning,
    .streams = &shmemi_opencl_queues,
};
