#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""first_opencl: each PE puts a row of its host memory into the GPU buffer of the next PE; needs PyOpenCL.

    oshrun -n 2 python3 first_opencl.py
"""
import sys

import mapshmem as shmem
import numpy as np
import pyopencl as cl

with shmem.init():
    me, n = shmem.my_pe(), shmem.n_pes()
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1024 * 8)
    with shmem.map(buffer, dtype=np.float64) as m:        # unmapped at the end of the block
        m.put(np.arange(1024.0) + 1000 * me, (me + 1) % n)
        shmem.barrier_all()
        row = np.empty(1024)
        cl.enqueue_copy(queue, row, buffer)
        right = np.array_equal(row, np.arange(1024.0) + 1000 * ((me - 1) % n))
        print(f"PE {me}: my buffer holds {row[0]:.0f} to {row[-1]:.0f}: {'verified' if right else 'WRONG'}", flush=True)
        shmem.barrier_all()
sys.exit(not right)
