/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the CUDA driver.
 */
#include "driver.h"

#include "library.h"

#include "base/log.h"

#include <dlfcn.h>
#include <pthread.h>

struct nvs_driver nvs_driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_usable;

static void find_driver(void)
{
    int count = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define NVS_FIND_FUNCTION(NAME, SYMBOL, PARAMETERS) *(void **)&nvs_driver.NAME = dlsym(library, SYMBOL);
    NVS_FOR_DRIVER(NVS_FIND_FUNCTION)
#undef NVS_FIND_FUNCTION
    is_usable = nvs_driver.init && !nvs_driver.init(0) && !nvs_driver.device_count(&count) && count > 0;
}

bool nvs_has_cuda(void)
{
    pthread_once(&once, find_driver);
    return is_usable;
}

bool nvs_has_context(void)
{
    struct CUctx_st *context = NULL;
    return nvs_has_cuda() && !nvs_driver.context_current(&context) && context;
}

int nvs_driver_failed(const char *routine, const char *what, int error)
{
    const char *text = NULL;
    if (error && (nvs_driver.error_text(error, &text) || !text))
        text = "unknown error";
    if (error) {
        nvs_complaint_tell();
        shmemi_error("%s: CUDA cannot %s: %s", routine, what, text);
    }
    return error;
}

int nvs_need_context(const char *routine)
{
    struct CUctx_st *context = NULL;
    int device, error = nvs_driver.context_current(&context);
    if (!error && context)
        return 0;
    if (!error)
        error = nvs_driver.device_get(&device, 0);
    if (!error)
        error = nvs_driver.primary_retain(&context, device);
    if (!error)
        error = nvs_driver.context_choose(context);
    return nvs_driver_failed(routine, "use the first GPU", error);
}
