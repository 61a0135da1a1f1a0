# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of Numba for tensors.py; as a program, one that writes outside of its map in a debug build."""

import os

import mapshmem as shmem
import mapshmem.numba as device
from numba import cuda

EQ, SET = 1, 1


@cuda.jit
def exchange(x, x_at, words, view, word_view, team, me, right, left):
    """What the kernels of tensors.py all do."""
    thread = cuda.threadIdx.x
    for i in range(thread, 256, cuda.blockDim.x):
        x[1024 + i] = i + 1000 * me
    device.put_signal_block(view, x_at, x_at + 4096, 256 * 4, word_view, words, 1, SET, right)
    device.signal_wait_until_block(word_view, words, EQ, 1)
    if thread == 0:
        device.p_int64_thread(word_view, words + 8, 7 + me, right)
        device.atomic_add_int64_thread(word_view, words + 16, 1, 0)
    device.atomic_set_int64_block(word_view, words + 32, me, me)
    if thread < 8:
        x[512 + thread] = me + 1
    device.barrier_block(team)
    device.atomic_set_int64_block(word_view, words + 24, device.g_int64_block(word_view, words + 32, left), me)
    device.sum_reduce_float32_block(team, x_at + 2048, x_at + 2048, 8)


@cuda.jit
def write_outside(x_at, view):
    device.put_thread(view, x_at, x_at, 8, 0)


if __name__ == "__main__":
    import sys

    import numpy as np
    from harness import numba_fault

    with shmem.init():
        if fault := numba_fault():
            print(fault)
            sys.exit(77)
        array = cuda.to_device(np.zeros(1 << 20, np.float32))
        cuda.synchronize()
        memory = shmem.map(array[: 1 << 19])
        first = array.__cuda_array_interface__["data"][0]
        write_outside[1, 1](first + (1 << 21), memory.device_view().address)
        try:
            cuda.synchronize()
            print("not reached", flush=True)
        finally:
            os._exit(1)  # the context is lost, so nothing can be ended
