// SPDX-License-Identifier: BSD-3-Clause
//
// One block of one thread.
#include <shmemx_device.h>

#include "kernel.h"

void kernel_put(const shmemx_device_view_t *view, long *word, long value, int pe)
{
    shmemx_device_p(*view, word, value, pe);
    shmemx_device_quiet(shmemx_device_thread_t(), *view);
}
