// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels played by threads of the CPU, on the symmetric heap.
#include "kernel_ops.h"

extern "C" int kernels_open(void)
{
    return 1;
}

extern "C" int kernels_reach(int is_mapped)
{
    return !is_mapped;
}

extern "C" void kernels_run(const struct kernel_scene *scene, unsigned long, unsigned threads)
{
    const kernel_scene s = *scene;
    shmemx_device_host_launch(1, threads, [s] { play_ops(s); });
}
