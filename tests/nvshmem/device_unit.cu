// SPDX-License-Identifier: BSD-3-Clause
//
// A second unit for device.cu: linked with the first one, and as a shared library (-DPART_OF_LIBRARY).
#include "device_parts.h"

#if defined(PART_OF_LIBRARY)
#define PART_KERNEL part_of_library
#define PART_LAUNCH extern "C" void launch_part_of_library(const part_run &run)
#else
#define PART_KERNEL part_of_unit
#define PART_LAUNCH void launch_part_of_unit(const part_run &run)
#endif

__global__ void PART_KERNEL(part_run run)
{
    do_part(run);
}

PART_LAUNCH
{
    nvshmem_barrier_all(); // a call of the host: the library tells this unit what its kernels need
    PART_KERNEL<<<1, 96>>>(run);
}
