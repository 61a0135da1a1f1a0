/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the CUDA driver at run time, and translates its errors.
 */
#include "gpu/cuda/cuda_calls.h"
#include "gpu/device/streams/program_streams.h"

#include "base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define STRING(_text) #_text
#define SYMBOL(_name, ...) {STRING(_name), offsetof(struct shmemi_cuda, _name)},

struct shmemi_cuda shmemi_cuda;
CUresult (*shmemi_cuda_load_function)(CUfunction function);
CUresult (*shmemi_cuda_stream_id)(CUstream stream, unsigned long long *id);
CUresult (*shmemi_cuda_launch_kernel_ex)(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                         void **extra);

static const struct {
    const char *name;
    size_t offset; /* of the field in struct shmemi_cuda */
} symbols[] = {SHMEMI_CUDA_FUNCTIONS(SYMBOL, SYMBOL)};

enum { N_SYMBOLS = sizeof symbols / sizeof symbols[0] };

/* Launches that overlap can be captured from CUDA 12.3 on. */
static void look_up_launch(void *library)
{
    enum { CAN_CAPTURE = 12030 };
    CUresult (*get_version)(int *version);
    int version = 0;
    *(void **)&get_version = dlsym(library, "cuDriverGetVersion");
    if (get_version && get_version(&version) == CUDA_SUCCESS && version >= CAN_CAPTURE)
        *(void **)&shmemi_cuda_launch_kernel_ex = dlsym(library, "cuLaunchKernelEx");
}

static void note_exit(void)
{
    shmemi_gpu.is_over = true;
}

int shmemi_cuda_load(void)
{
    static bool waits_for_exit;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        shmemi_debug("no CUDA driver: %s", dlerror());
        return -ENODEV;
    }
    for (int i = 0; i < N_SYMBOLS; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (!function) {
            shmemi_warn("the CUDA driver is too old: it has no %s; GPU memory cannot be used", symbols[i].name);
            dlclose(library);
            return -ENODEV;
        }
        *(void **)((char *)&shmemi_cuda + symbols[i].offset) = function;
    }
    *(void **)&shmemi_cuda_load_function = dlsym(library, "cuFuncLoad");
    *(void **)&shmemi_cuda_stream_id = dlsym(library, "cuStreamGetId");
    look_up_launch(library);
    if (!waits_for_exit)
        waits_for_exit = !atexit(note_exit);
    shmemi_cuda_calls_fill();
    return 0;
}

/* Advice to the user on errors that the driver's own text does not explain. */
static const char *hint(int result)
{
    switch (result) {
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return "; is the fabric manager running (systemctl status nvidia-fabricmanager)?";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "; kernel module and user library differ in version: reload the module or restart the machine";
    case CUDA_ERROR_UNKNOWN:
        return "; are the device files /dev/nvidia* there, and may this user open them?";
    case CUDA_ERROR_OPERATING_SYSTEM:
        return "; does a container or a limit stand in the way?";
    default:
        return "";
    }
}

int shmemi_cuda_start(void)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const int result = (int)shmemi_cuda.cuInit(0);
    if (result == CUDA_SUCCESS)
        return 0;
    bool expected = result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_DEINITIALIZED;
    if (expected)
        shmemi_debug("CUDA cannot be used: %s", shmemi_cuda_error_text(result));
    else if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("CUDA cannot be used: %s%s", shmemi_cuda_error_text(result), hint(result));
    return -ENODEV;
}

const char *shmemi_cuda_error_text(int result)
{
    const char *text = NULL;
    shmemi_cuda.cuGetErrorString((CUresult)result, &text);
    return text ? text : "unknown error";
}

static const char *error_name(int result)
{
    const char *name = NULL;
    shmemi_cuda.cuGetErrorName((CUresult)result, &name);
    return name ? name : "CUDA_ERROR_?";
}

int shmemi_cuda_errno(int result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return 0;
    case CUDA_ERROR_NOT_READY:
        return -EAGAIN;
    case CUDA_ERROR_INVALID_VALUE:
        return -EINVAL;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return -ENOMEM;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
        return -ENODEV;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_TOO_MANY_PEERS:
        return -ENOTSUP;
    case CUDA_ERROR_NOT_PERMITTED:
        return -EPERM;
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        return -EALREADY;
    default:
        return -EIO;
    }
}

int shmemi_cuda_failed(int result, const char *call)
{
    bool over = result == CUDA_ERROR_DEINITIALIZED;
    const char *rest, *name = shmemi_cuda_call_name(call, &rest);
    shmemi_log(over ? SHMEMI_LOG_DEBUG : SHMEMI_LOG_ERROR, "%s%s: %s (%s)%s", name, rest,
               shmemi_cuda_error_text(result), error_name(result), hint(result));
    if (result == CUDA_ERROR_LAUNCH_FAILED)
        shmemi_gpu_complaint_report();
    return shmemi_cuda_errno(result);
}
