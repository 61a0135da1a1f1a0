/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fills in the table of calls. Most of them are the driver's own functions: its handles are pointers, its addresses and
 * numbers have the sizes of the table's.
 */
#include "gpu/cuda/cuda_calls.h"

#include <string.h>

_Static_assert(sizeof(CUdeviceptr) == sizeof(uintptr_t) && sizeof(CUdevice) == sizeof(int) &&
                   sizeof(CUresult) == sizeof(int) && sizeof(CUstreamCaptureMode) == sizeof(int) &&
                   sizeof(CUuuid) == 16,
               "calls of the table have the driver's parameters");
_Static_assert((int)SHMEMI_GPU_STREAM_NON_BLOCKING == (int)CU_STREAM_NON_BLOCKING &&
                   (int)SHMEMI_GPU_EVENT_NO_TIMING == (int)CU_EVENT_DISABLE_TIMING &&
                   SHMEMI_GPU_HOST_PORTABLE == CU_MEMHOSTALLOC_PORTABLE &&
                   SHMEMI_GPU_HOST_PORTABLE == CU_MEMHOSTREGISTER_PORTABLE &&
                   (int)SHMEMI_GPU_CAPTURE_GLOBAL == (int)CU_STREAM_CAPTURE_MODE_GLOBAL &&
                   (int)SHMEMI_GPU_CAPTURE_RELAXED == (int)CU_STREAM_CAPTURE_MODE_RELAXED,
               "the table's numbers are the driver's");

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

#define STRING(_text) #_text
#define NO_NAME(_function)
#define NAME(_function, _slot) {#_slot, STRING(_function)},
static const struct {
    const char *own, *driver;
} names[] = {
    SHMEMI_CUDA_FUNCTIONS(NO_NAME, NAME) /* */
    {"address_id", "cuPointerGetAttribute"},
    {"address_owner", "cuPointerGetAttributes"},
    {"copy_shape", "cuMemcpy2DAsync or cuMemcpy3DAsync"},
    {"launch_early", "cuLaunchKernelEx"},
    {"stream_words", "cuStreamBatchMemOp"},
};

const char *shmemi_cuda_call_name(const char *call, const char **rest_p)
{
    const size_t length = strcspn(call, "(");
    *rest_p = call + length;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].own) == length && !strncmp(names[i].own, call, length))
            return names[i].driver;
    *rest_p = call;
    return "";
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static int attribute(int device, CUdevice_attribute name)
{
    int value = 0;
    return shmemi_cuda.cuDeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

static void device_abilities(int device, struct shmemi_gpu_abilities *abilities_p)
{
    enum { OVERLAPPING = 9 }; /* compute capability */
    *abilities_p = (struct shmemi_gpu_abilities){
        .has_word_operations = attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS),
        .has_host_atomics = attribute(device, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED),
        .overlaps_launches = shmemi_cuda_launch_kernel_ex &&
                             attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= OVERLAPPING,
        .multiprocessors = (unsigned)attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    };
}

static bool has_native_atomics(int from, int to)
{
    int is_native = 0;
    shmemi_cuda.cuDeviceGetP2PAttribute(&is_native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, from, to);
    return is_native;
}

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

static int address_owner(uintptr_t address, void **context_p, int *device_p)
{
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {context_p, device_p};
    return (int)shmemi_cuda.cuPointerGetAttributes(2, attributes, values, address);
}

static bool address_belongs(uintptr_t address, const void *context, int device)
{
    CUcontext owner = NULL;
    int ordinal = -1;
    if (shmemi_cuda.cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address) == CUDA_SUCCESS && owner)
        return owner == context;
    return shmemi_cuda.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS &&
           ordinal == device;
}

static int address_id(unsigned long long *id_p, uintptr_t address)
{
    return (int)shmemi_cuda.cuPointerGetAttribute(id_p, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
}

/* Page-locked host memory, as the driver knows it. Where a GPU reaches all host memory (HMM, ATS), the driver tells of any
 * address without an error, but knows of no range around it. */
struct locked_range {
    CUdeviceptr start,
        on_device; /* where it begins; where kernels of the current context reach the address asked for */
    size_t size;   /* 0: the address is not in such memory */
};

static CUresult find_locked(CUdeviceptr address, struct locked_range *range)
{
    CUmemorytype type = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *values[] = {&type, &range->start, &range->size, &range->on_device};
    *range = (struct locked_range){0};
    CUresult result = shmemi_cuda.cuPointerGetAttributes(4, attributes, values, address);
    if (result != CUDA_SUCCESS || type != CU_MEMORYTYPE_HOST)
        range->size = 0;
    return result;
}

/* Kernels may reach other host memory, too; what a stream does without a kernel may not. */
static int address_on_device(uintptr_t *address_p, uintptr_t address)
{
    struct locked_range range;
    CUresult result = find_locked(address, &range);
    *address_p = range.on_device;
    return result == CUDA_SUCCESS && !range.size ? CUDA_ERROR_INVALID_VALUE : (int)result;
}

static bool is_locked_range(const void *address, size_t size)
{
    struct locked_range range;
    find_locked((CUdeviceptr)address, &range);
    return range.size && (CUdeviceptr)address + size <= range.start + range.size;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static bool stream_is_captured(void *stream)
{
    CUstreamCaptureStatus status;
    CUresult result = shmemi_cuda.cuStreamIsCapturing(stream, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (result == CUDA_SUCCESS && status);
}

/* The driver's operation for a step at a word; false when there is none. */
static bool describe_word(const struct shmemi_gpu_word *word, CUstreamBatchMemOpParams *operation)
{
    const bool is_half = word->size == sizeof(uint32_t);
    const uint64_t ones = is_half ? UINT32_MAX : UINT64_MAX;
    uint64_t value = word->value;
    unsigned flags = CU_STREAM_WAIT_VALUE_GEQ;
    switch (word->step) {
    case SHMEMI_STEP_SET:
        *operation = (CUstreamBatchMemOpParams){
            .writeValue = {.operation = is_half ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64,
                           .address = word->address,
                           .value64 = value & ones}};
        return true;
    case SHMEMI_STEP_UNTIL_EQ:
        flags = CU_STREAM_WAIT_VALUE_EQ;
        break;
    case SHMEMI_STEP_UNTIL_GT:
        value++;
        break;
    case SHMEMI_STEP_UNTIL_GE:
        break;
    case SHMEMI_STEP_UNTIL_NE:
        if (value & ones)
            return false;
        flags = CU_STREAM_WAIT_VALUE_AND;
        value = UINT64_MAX;
        break;
    default:
        return false;
    }
    *operation = (CUstreamBatchMemOpParams){
        .waitValue = {.operation = is_half ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64,
                      .address = word->address,
                      .value64 = value & ones,
                      .flags = flags}};
    return true;
}

static int stream_words(void *stream, const struct shmemi_gpu_word *words, unsigned n)
{
    CUstreamBatchMemOpParams operations[SHMEMI_GPU_WORDS_MAX];
    for (unsigned i = 0; i < n; i++)
        if (!describe_word(&words[i], &operations[i]))
            return CUDA_ERROR_NOT_SUPPORTED;
    return (int)shmemi_cuda.cuStreamBatchMemOp(stream, n, operations, 0);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static int launch_early(void *function, unsigned blocks, unsigned threads, int priority, void *stream, void **arguments)
{
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = priority}},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
         .value = {.programmaticStreamSerializationAllowed = 1}},
    };
    const CUlaunchConfig config = {
        .gridDimX = blocks,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .hStream = stream,
        .attrs = attributes,
        .numAttrs = sizeof attributes / sizeof attributes[0],
    };
    return (int)shmemi_cuda_launch_kernel_ex(&config, function, arguments, NULL);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

#define LEAVE(_function)
#define TAKE(_function, _slot) ._slot = (__typeof__(shmemi_gpu._slot))shmemi_cuda._function,

void shmemi_cuda_calls_fill(void)
{
    shmemi_gpu = (struct shmemi_gpu_calls){
        SHMEMI_CUDA_FUNCTIONS(LEAVE, TAKE) /* */
            .memory = &shmemi_memory_cuda,
        .is_over = shmemi_gpu.is_over,
        .kernels = shmemi_kernels_image_size ? shmemi_kernels_image : NULL,
        .errno_of = shmemi_cuda_errno,
        .error_text = shmemi_cuda_error_text,
        .failed = shmemi_cuda_failed,
        .device_abilities = device_abilities,
        .has_native_atomics = has_native_atomics,
        .runs_processes_beside = shmemi_cuda_uses_mps,
        .address_owner = address_owner,
        .address_belongs = address_belongs,
        .address_id = address_id,
        .address_on_device = address_on_device,
        .is_locked_range = is_locked_range,
        .stream_id = (__typeof__(shmemi_gpu.stream_id))shmemi_cuda_stream_id,
        .stream_words = stream_words,
        .stream_is_captured = stream_is_captured,
        .copy_shape = shmemi_cuda_copy_shape,
        .function_load = (__typeof__(shmemi_gpu.function_load))shmemi_cuda_load_function,
        .launch_early = launch_early,
    };
}
