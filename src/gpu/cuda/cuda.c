/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA kind of memory: devices, what a user's pointer is, and the table of the kind.
 *
 * Loading the driver does not start CUDA: a program that never uses CUDA pays for a library call or two. A program that
 * holds a device pointer has started CUDA itself.
 */
#include "gpu/copy_threads/copy_pool.h"
#include "gpu/cuda/cuda_calls.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/page_locks.h"
#include "gpu/device/streams/program_streams.h"
#include "gpu/device/timing.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Which addresses are CUDA memory? ---------------------------------------------------------------------------- */

/* Host memory known to CUDA is page-locked or managed. Managed memory counts as device memory, wherever it is now. */
static bool is_managed(CUdeviceptr address)
{
    uint64_t managed = 0;
    CUresult result = shmemi_cuda.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    return result == CUDA_SUCCESS && managed;
}

/* Every error means that CUDA does not know the address, has not been started, or has been shut down. Where the driver
 * can tell of any host memory (HMM, coherent systems) it still calls this unregistered, which is type 0. */
static enum shmemi_claim cuda_claim(const void *address)
{
    CUmemorytype type = 0;
    CUdeviceptr pointer = (CUdeviceptr)address;
    if (shmemi_gpu.is_over ||
        shmemi_cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) != CUDA_SUCCESS)
        return SHMEMI_CLAIM_NONE;
    if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED || is_managed(pointer))
        return SHMEMI_CLAIM_OWN;
    return type ? SHMEMI_CLAIM_LOCKED : SHMEMI_CLAIM_NONE;
}

/* ---- Order with the program's own synchronous calls ---------------------------------------------------------------
 * cudaMemcpy of up to 64 KiB from pageable memory, and cudaMemset, return before the GPU has carried them out. The
 * library's streams do not wait for the default stream (a kernel that waits for a put would block for ever), so a put
 * could send the old contents. The attribute SYNC_MEMOPS makes such calls on an allocation synchronous; earlier calls
 * are waited for once. For memory that cannot have the attribute (pools, cuMemMap) we wait at each use. */

enum { KNOWN_BUFFERS = 256 };

struct known_buffer {
    uint64_t id; /* 0: free */
    struct shmemi_gpu_context *context;
};

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_buffer known_buffers[KNOWN_BUFFERS]; /* those with the attribute, by id */

static struct shmemi_gpu_context *known_context(uint64_t id)
{
    pthread_mutex_lock(&known_lock);
    const struct known_buffer *known = &known_buffers[id % KNOWN_BUFFERS];
    struct shmemi_gpu_context *context = known->id == id ? known->context : NULL;
    pthread_mutex_unlock(&known_lock);
    return context;
}

static void remember(uint64_t id, struct shmemi_gpu_context *context)
{
    pthread_mutex_lock(&known_lock);
    known_buffers[id % KNOWN_BUFFERS] = (struct known_buffer){id, context};
    pthread_mutex_unlock(&known_lock);
}

static void forget_buffers(void)
{
    pthread_mutex_lock(&known_lock);
    for (int i = 0; i < KNOWN_BUFFERS; i++)
        known_buffers[i] = (struct known_buffer){0};
    pthread_mutex_unlock(&known_lock);
}

/* True when the program's cudaMemcpy and cudaMemset on this allocation are synchronous from now on. */
static bool make_synchronous(CUdeviceptr pointer, struct shmemi_gpu_context *context)
{
    bool pushed;
    unsigned yes = 1;
    if (shmemi_gpu_enter(context, &pushed))
        return false;
    bool done = shmemi_cuda.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer) == CUDA_SUCCESS;
    shmemi_cuda.cuStreamSynchronize(CU_STREAM_LEGACY);
    shmemi_gpu_leave(pushed);
    return done;
}

static void cuda_adopt(struct shmemi_place *place)
{
    unsigned long long id = 0;
    struct shmemi_gpu_context *context;
    if (shmemi_cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, place->address) != CUDA_SUCCESS)
        id = 0;
    place->object = id ? known_context(id) : NULL;
    if (place->object || shmemi_gpu_context_at(place->address, &context))
        return;
    place->object = context;
    if (make_synchronous(place->address, context) && id)
        remember(id, context);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static int cuda_device_count(void)
{
    int count = 0;
    if (shmemi_cuda_start() || CUDA_CALL(cuDeviceGetCount, &count))
        return 0;
    return count;
}

static int device_handle(int device, CUdevice *handle_p)
{
    int rc = shmemi_cuda_start();
    if (rc)
        return rc;
    return shmemi_cuda_errno(shmemi_cuda.cuDeviceGet(handle_p, device));
}

static int cuda_device_pci(int device, char *text, size_t size)
{
    CUdevice handle;
    int domain, bus, slot;
    int rc = device_handle(device, &handle);
    if (!rc)
        rc = CUDA_CALL(cuDeviceGetAttribute, &domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, handle);
    if (!rc)
        rc = CUDA_CALL(cuDeviceGetAttribute, &bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, handle);
    if (!rc)
        rc = CUDA_CALL(cuDeviceGetAttribute, &slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, handle);
    if (!rc)
        snprintf(text, size, "%04x:%02x:%02x.0", domain, bus, slot);
    return rc;
}

static int cuda_device_name(int device, char *text, size_t size)
{
    CUdevice handle;
    int rc = device_handle(device, &handle);
    return rc ? rc : CUDA_CALL(cuDeviceGetName, text, (int)size, handle);
}

static int cuda_allocate(int device, size_t size, void **object_p)
{
    struct shmemi_gpu_context *context;
    CUdeviceptr pointer;
    bool pushed;
    int rc = shmemi_cuda_start();
    if (!rc)
        rc = shmemi_gpu_context_find(NULL, device, &context);
    if (!rc)
        rc = shmemi_gpu_enter(context, &pushed);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuMemAlloc, &pointer, size);
    shmemi_gpu_leave(pushed);
    if (!rc)
        *object_p = (void *)pointer;
    return rc;
}

static void cuda_deallocate(void *object)
{
    shmemi_cuda.cuMemFree((CUdeviceptr)object);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Attributes of a pointer, from the driver. Flags are as wide as the widest type that any driver version writes. */
struct pointer_facts {
    CUmemorytype type;
    CUcontext context; /* NULL: memory of a pool, or mapped by cuMemMap */
    int device;
    CUdeviceptr start;
    size_t size;
    unsigned long long buffer_id;
    uint64_t is_managed;
    uint64_t has_legacy_ipc;
    CUmemoryPool pool;
};

static CUresult query(CUdeviceptr pointer, struct pointer_facts *facts_p)
{
    struct pointer_facts facts = {.device = -1};
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_BUFFER_ID,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,     CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    };
    void *values[] = {
        &facts.type,      &facts.context,    &facts.device,         &facts.start, &facts.size,
        &facts.buffer_id, &facts.is_managed, &facts.has_legacy_ipc, &facts.pool,
    };
    enum { N_FACTS = sizeof names / sizeof names[0] };
    CUresult result = shmemi_cuda.cuPointerGetAttributes(N_FACTS, names, values, pointer);
    if (result == CUDA_SUCCESS)
        *facts_p = facts;
    return result;
}

/* Is this memory of cuMemCreate, mapped by cuMemMap? */
static bool is_vmm(CUdeviceptr pointer)
{
    CUmemGenericAllocationHandle handle;
    if (shmemi_cuda.cuMemRetainAllocationHandle(&handle, (void *)pointer) != CUDA_SUCCESS)
        return false;
    shmemi_cuda.cuMemRelease(handle);
    return true;
}

static enum shmemi_memory_class vmm_class(CUdeviceptr pointer)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp properties = {0};
    if (shmemi_cuda.cuMemRetainAllocationHandle(&handle, (void *)pointer) != CUDA_SUCCESS)
        return SHMEMI_CLASS_CUDA_OTHER;
    CUresult result = shmemi_cuda.cuMemGetAllocationPropertiesFromHandle(&properties, handle);
    shmemi_cuda.cuMemRelease(handle);
    bool has_descriptor = properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return result == CUDA_SUCCESS && has_descriptor ? SHMEMI_CLASS_CUDA_VMM : SHMEMI_CLASS_CUDA_VMM_PRIVATE;
}

/* The driver does not tell which handle types a pool has: try to export a descriptor. */
static enum shmemi_memory_class pool_class(CUmemoryPool pool)
{
    int fd = -1;
    CUresult result =
        shmemi_cuda.cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS)
        return SHMEMI_CLASS_CUDA_POOL_PRIVATE;
    close(fd);
    return SHMEMI_CLASS_CUDA_POOL;
}

/* Programs fill a range of addresses piece by piece with cuMemMap; adjacent pieces serve as one object. */
static void join_pieces(struct pointer_facts *facts, CUdeviceptr reserved_end, CUdeviceptr wanted_end)
{
    CUdeviceptr start, end = facts->start + facts->size;
    size_t size;
    while (end < wanted_end && end < reserved_end && is_vmm(end) &&
           shmemi_cuda.cuMemGetAddressRange(&start, &size, end) == CUDA_SUCCESS && start + size > end)
        end = start + size;
    facts->size = end - facts->start;
}

/* Name the class of the allocation, and correct its extent where the driver reports the reserved addresses instead.
 * Memory of class OTHER came from another process or interface, for example. */
static enum shmemi_memory_class classify(struct pointer_facts *facts, CUdeviceptr pointer, size_t wanted)
{
    if (facts->is_managed)
        return SHMEMI_CLASS_CUDA_MANAGED;
    if (facts->pool)
        return pool_class(facts->pool);
    if (facts->has_legacy_ipc)
        return SHMEMI_CLASS_CUDA_MALLOC;
    CUdeviceptr reserved_end = facts->start + facts->size;
    if (shmemi_cuda.cuMemGetAddressRange(&facts->start, &facts->size, pointer) != CUDA_SUCCESS)
        facts->size = 0;
    if (!is_vmm(pointer))
        return SHMEMI_CLASS_CUDA_OTHER;
    join_pieces(facts, reserved_end, pointer + wanted);
    facts->buffer_id = 0; /* it was that of one piece only */
    return vmm_class(pointer);
}

static int refuse(int rc, char *reason, size_t reason_size, const char *text)
{
    snprintf(reason, reason_size, "%s", text);
    return rc;
}

static int check_type(CUresult result, const struct pointer_facts *facts, char *reason, size_t reason_size)
{
    bool is_unknown = result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_ERROR_NOT_INITIALIZED)
        return refuse(-EINVAL, reason, reason_size, "is not CUDA device memory (the program has not started CUDA)");
    if (is_unknown || (result == CUDA_SUCCESS && !facts->type && !facts->is_managed))
        return refuse(-EINVAL, reason, reason_size, "is not CUDA device memory");
    if (result != CUDA_SUCCESS)
        return refuse(shmemi_cuda_errno(result), reason, reason_size, shmemi_cuda_error_text(result));
    if (facts->type == CU_MEMORYTYPE_HOST && !facts->is_managed)
        return refuse(-EINVAL, reason, reason_size, "is page-locked host memory, not CUDA device memory");
    if (facts->type == CU_MEMORYTYPE_ARRAY)
        return refuse(-EINVAL, reason, reason_size, "is a CUDA array, not linear device memory");
    return 0;
}

static int cuda_open_object(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                            size_t reason_size)
{
    struct pointer_facts facts = {0};
    struct shmemi_gpu_context *context;
    CUdeviceptr pointer = (CUdeviceptr)object;
    shmemi_gpu_contexts_check();
    int rc = check_type(query(pointer, &facts), &facts, reason, reason_size);
    if (rc)
        return rc;
    enum shmemi_memory_class class = classify(&facts, pointer, size);
    if (pointer - facts.start >= facts.size)
        return refuse(-EINVAL, reason, reason_size, "is an address without memory behind it");
    size_t room = facts.start + facts.size - pointer;
    if (size > room) {
        snprintf(reason, reason_size, "is %zu bytes long, %zu past the end of the allocation", size, size - room);
        return -EINVAL;
    }
    rc = shmemi_gpu_context_find(facts.context, facts.device < 0 ? 0 : facts.device, &context);
    if (rc)
        return refuse(rc, reason, reason_size, "is on a CUDA device that could not be opened");
    make_synchronous(pointer, context);
    *allocation_p = (struct shmemi_allocation){
        .place = {.memory = &shmemi_memory_cuda, .object = context, .address = pointer},
        .base = facts.start,
        .size = facts.size,
        .buffer_id = facts.buffer_id,
        .device = context->device,
        .class = class,
    };
    return 0;
}

static void cuda_close_object(struct shmemi_allocation *allocation)
{
    (void)allocation; /* its object, the record of the context, stays until the kind is closed */
}

static const char *cuda_handicap(const struct shmemi_allocation *allocation)
{
    if (shmemi_gpu_has_kernels(allocation->place.object))
        return NULL;
    return shmemi_kernels_image_size ? "the library's device kernels do not run on this GPU: build with a newer nvcc"
                                     : "the library was built without device kernels: build where nvcc is";
}

/* ---- The kind ---------------------------------------------------------------------------------------------------- */

static void cuda_close(void)
{
    shmemi_gpu_contexts_check();
    shmemi_copy_pool_close();
    shmemi_gpu_pinned_close();
    forget_buffers();
    shmemi_gpu_streams_close();
    shmemi_cuda_ipc_close();
    shmemi_gpu_timings_close();
    shmemi_gpu_contexts_close();
}

static const struct shmemi_addresses cuda_addresses = {
    .claim = cuda_claim,
    .adopt = cuda_adopt,
    .make_current = shmemi_gpu_make_current,
};

const struct shmemi_memory shmemi_memory_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .type = SHMEMI_MEMTYPE_CUDA,
    .prepare = shmemi_cuda_mps_prepare,
    .open = shmemi_cuda_load,
    .close = cuda_close,
    .device_count = cuda_device_count,
    .device_pci = cuda_device_pci,
    .device_name = cuda_device_name,
    .allocate = cuda_allocate,
    .deallocate = cuda_deallocate,
    .open_object = cuda_open_object,
    .close_object = cuda_close_object,
    .handicap = cuda_handicap,
    .copy = shmemi_gpu_copy,
    .copy_start = shmemi_gpu_copy_start,
    .copy_beside = shmemi_gpu_copy_beside,
    .event_test = shmemi_gpu_event_test,
    .event_wait = shmemi_gpu_event_wait,
    .amo = shmemi_gpu_amo,
    .combine = shmemi_gpu_combine,
    .report_copies = shmemi_gpu_timings_report,
    .addresses = &cuda_addresses,
    .bursts = &shmemi_gpu_bursts,
    .channels = &shmemi_gpu_channels,
    .lists = &shmemi_kernel_list_table,
    .atomic_units = &shmemi_gpu_atomic_units,
    .sharing = &shmemi_cuda_sharing,
    .pinning = &shmemi_gpu_pinning,
    .streams = &shmemi_gpu_streams,
};
