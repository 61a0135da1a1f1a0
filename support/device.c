/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds and opens a device by its kind's name and its number.
 */
#include "device.h"

#include <string.h>

#include "util.h"

const struct device_ops *device_find(const char *name)
{
    static const struct device_ops *const kinds[] = {&device_cuda_ops, &device_opencl_ops};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

int device_count(const struct device_ops *ops, const struct kernel_code *code)
{
    bool is_built = ops == &device_cuda_ops ? code->fatbin != NULL : code->opencl != NULL;

    return is_built ? ops->count() : 0;
}

struct device *device_open(const struct device_ops *ops, int index, const struct kernel_code *code)
{
    int n = ops->count();

    if (n == 0)
        die("%s", ops->absent);
    if (device_count(ops, code) == 0)
        die("built without kernels for %s: install nvcc and configure again, or use another device", ops->name);
    if (index >= n)
        die("no %s device %d: there are %d, counted from 0", ops->name, index, n);
    return ops->open(index, code);
}
