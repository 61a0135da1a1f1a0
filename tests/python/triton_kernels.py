# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of Triton for tensors.py and tensor_times.py; as a program, one that writes outside of its map in a debug build."""

import os

import mapshmem as shmem
import mapshmem.triton as device
import triton
import triton.language as tl


@triton.jit
def exchange(x, words, view, word_view, team, me, right, left):
    """What the kernels of tensors.py all do: put_signal, wait, p, atomic_add, barrier, g, sum_reduce."""
    i = tl.arange(0, 256)
    tl.store(x + 1024 + i, (i + 1000 * me).to(tl.float32))
    device.put_signal(view, x, x + 1024, 256 * 4, word_view, words, 1, device.SIGNAL_SET, right)
    device.signal_wait_until(word_view, words, device.CMP_EQ, 1)
    device.p(word_view, words + 1, 7 + me, right)
    device.atomic_add(word_view, words + 2, 1, 0)
    tl.store(words + 4, me)
    eight = tl.arange(0, 8)
    tl.store(x + 512 + eight, tl.full((8,), 1, tl.float32) * (me + 1))
    device.barrier(team)
    tl.store(words + 3, device.g(word_view, words + 4, left))
    device.sum_reduce(team, x + 512, x + 512, 8)


@triton.jit(do_not_specialize=["me", "first"])
def ping_pong(inbox, data, signal, view, signal_view, me, first, rounds, nbytes):
    """PEs 0 and 1 in turns; tensor_times.py measures it."""
    for i in range(first, first + rounds):
        if me == 0:
            device.put_signal(view, inbox, data, nbytes, signal_view, signal, i, device.SIGNAL_SET, 1 - me)
        device.signal_wait_until(signal_view, signal, device.CMP_GE, i)
        if me != 0:
            device.put_signal(view, inbox, data, nbytes, signal_view, signal, i, device.SIGNAL_SET, 1 - me)


@triton.jit
def write_outside(x, view, n):
    device.put(view, x + n, x, 8, 0)


if __name__ == "__main__":
    import torch

    with shmem.init():
        tensor = torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        memory = shmem.map(tensor[: 1 << 19])
        write_outside[(1,)](tensor, memory.device_view().address, 1 << 19, **device.link(debug=True))
        try:
            torch.cuda.synchronize()
            print("not reached", flush=True)
        finally:
            os._exit(1)  # the context is lost, so nothing can be ended
