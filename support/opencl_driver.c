/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL's loader, opened at run time.
 */
#include "opencl_driver.h"

#include <dlfcn.h>

#include "util.h"

#define SYMBOL(name) {#name, (void **)&cl.name},

struct opencl_functions cl;

bool opencl_load(void)
{
    static const struct {
        const char *name;
        void **field;
    } symbols[] = {OPENCL_FUNCTIONS(SYMBOL)};
    static enum { NOT_TRIED, LOADED, MISSING } state;
    void *lib;

    if (state != NOT_TRIED)
        return state == LOADED;
    state = MISSING;
    lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].field = dlsym(lib, symbols[i].name);
        if (!*symbols[i].field)
            return false;
    }
    state = lib ? LOADED : MISSING;
    return state == LOADED;
}

void opencl_check(cl_int rc, const char *what)
{
    if (rc != CL_SUCCESS)
        die("%s: OpenCL error %d", what, (int)rc);
}
