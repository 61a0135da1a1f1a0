/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA's driver, opened at run time.
 */
#include "cuda_driver.h"

#include <dlfcn.h>

#include "util.h"

#define SYMBOL(name) SYMBOL_(name)
#define SYMBOL_(name) {#name, (void **)&cuda.name},

struct cuda_functions cuda;

bool cuda_load(void)
{
    static const struct {
        const char *name;
        void **field;
    } symbols[] = {CUDA_FUNCTIONS(SYMBOL)};
    static enum { NOT_TRIED, LOADED, MISSING } state;
    void *lib;

    if (state != NOT_TRIED)
        return state == LOADED;
    state = MISSING;
    lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].field = dlsym(lib, symbols[i].name);
        if (!*symbols[i].field)
            return false;
    }
    if (lib && cuda.cuInit(0) == CUDA_SUCCESS)
        state = LOADED;
    return state == LOADED;
}

void cuda_check(CUresult rc, const char *what)
{
    const char *text = NULL;

    if (rc == CUDA_SUCCESS)
        return;
    cuda.cuGetErrorString(rc, &text);
    die("%s: CUDA error %d: %s", what, (int)rc, text ? text : "unknown");
}
