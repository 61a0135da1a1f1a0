// SPDX-License-Identifier: BSD-3-Clause
//
// A module for device.cu, which loads it by itself.
#include "device_parts.h"

extern "C" __global__ void part_of_module(part_run run)
{
    do_part(run);
}
