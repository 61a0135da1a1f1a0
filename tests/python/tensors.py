# SPDX-License-Identifier: BSD-3-Clause
"""Other PEs' tensors, symmetric memory of PyTorch, and calls of kernels of Triton, Numba and CuPy, on a CUDA GPU. Any number
of PEs. INCLUDE in the environment is the folder of shmemx_device.h, for CuPy."""

import contextlib
import os
import sys

import mapshmem as shmem
import numpy as np
from harness import main, numba_fault, raises
from mapshmem._device import extension_dtype

try:
    import mapshmem.torch as symm_mem
    import torch

    if not torch.cuda.is_available():
        raise ImportError("PyTorch sees no GPU")
except ImportError as error:
    print(f"no PyTorch with a GPU: {error}")
    sys.exit(77)

TYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "bool", "float8_e4m3fn",
         "float8_e5m2"]


def places():
    me, n = shmem.my_pe(), shmem.n_pes()
    torch.cuda.set_device(shmem.my_device())
    return me, n, (me + 1) % n, (me - 1) % n


def say(text):
    if shmem.my_pe() == 0:
        print(text, flush=True)


def filled(value, dtype, n=64):
    return torch.full((n,), value, device="cuda").to(getattr(torch, dtype))


def settle():
    torch.cuda.synchronize()
    shmem.barrier_all()


def may_wait(memory):
    """Do kernels of the PEs run side by side?"""
    if shmem.kernels_may_wait():
        return True
    say("kernels would wait in turns: not run")
    return False


# ---- peers


def test_types():
    """Every type is mapped, put as elements of its own, and read where it is on the other PE."""
    me, n, right, left = places()
    for dtype in TYPES:
        x, y = filled(0, dtype), filled(me + 1, dtype)
        settle()
        with shmem.map(x) as m:
            m.put(y, right)
            settle()
            assert torch.equal(x.view(torch.uint8), filled(left + 1, dtype).view(torch.uint8)), dtype
            m.put(filled(me + 2, dtype).cpu(), right)  # a tensor of the CPU
            settle()
            expected = filled(me + 2, dtype)
            peer = m.peer(right)
            assert peer is not None, f"route {m.route(right)}"
            there = torch.from_dlpack(peer)
            kind = getattr(torch, dtype)
            assert there.numel() == 64 and there.element_size() == x.element_size(), (dtype, there.dtype)
            assert there.dtype == kind or extension_dtype(dtype) is not None, (dtype, there.dtype)
            assert torch.equal(there.view(torch.uint8), expected.view(torch.uint8)), dtype
            settle()
            del there, peer


def test_peers():
    me, n, right, left = places()
    x = filled(float(me), "float32", 1000)
    settle()
    m = shmem.map(x)
    mine = torch.as_tensor(m.peer(me), device="cuda")
    assert mine.data_ptr() == x.data_ptr()
    there = torch.from_dlpack(m[10:20].peer(right))
    assert (there == right).all()
    settle()
    there.copy_(torch.arange(10.0, device="cuda") + me)
    settle()
    assert (x[10:20] == torch.arange(10.0, device="cuda") + left).all() and x[9] == me and x[20] == me
    addresses = torch.as_tensor(m.peers(), device="cuda").view(torch.int64).tolist()
    assert addresses[me] == x.data_ptr() and addresses[right] == m.peer(right).address and len(addresses) == n
    with contextlib.suppress(ImportError):
        import cupy

        cupy.cuda.Device(shmem.my_device()).use()
        assert float(cupy.asarray(m.peer(right))[0]) == right
    with contextlib.suppress(ImportError):
        from numba import cuda

        assert cuda.as_cuda_array(m.peer(right)).copy_to_host()[0] == right
    settle()
    with raises(BufferError, "delete them first"):
        m.unmap()
    del mine, there
    m.unmap()
    with raises(ValueError, "unmapped"):
        m.put(x, right)


def test_freed_at_once():
    """Nobody but the package has the tensors: what the allocator gives out next is written over."""
    me, n, right, left = places()
    stream = torch.cuda.Stream()
    for turn in range(8):
        m = shmem.map(filled(float(me), "float32", 1 << 16))
        view, there = m.device_view(), torch.from_dlpack(m.peer(right))
        poison = [torch.full((1 << 16,), -99.0, device="cuda") for _ in range(8)]
        settle()
        m.reduce("sum", stream=stream)
        settle()
        expected = n * (n - 1) / 2
        assert (there == expected).all() and view.value.nbytes, turn
        del there, poison
        settle()
        m.unmap()


# ---- mapshmem.torch


def test_symmetric_memory():
    me, n, right, left = places()
    t = symm_mem.empty(4, 256, dtype=torch.float32)
    t.fill_(me)
    handle = symm_mem.rendezvous(t)
    assert symm_mem.rendezvous(t) is handle and (handle.rank, handle.world_size) == (me, n)
    assert handle.buffer_size == 4096 and handle.buffer_ptrs[me] == t.data_ptr() and handle.view.address
    there = handle.get_buffer(right, (256,), torch.float32, 256)
    for channel in range(3):
        handle.barrier(channel)
        there.fill_(10 * me + channel)  # the second row of the next rank
        handle.barrier(channel)
        assert (t[1] == 10 * left + channel).all() and (t[0] == me).all() and (t[2] == me).all()
    for _ in range(3):
        handle.put_signal(right, 5)
    torch.cuda.synchronize()
    for _ in range(3):
        handle.wait_signal(left, 5)
    torch.cuda.synchronize()
    settle()
    assert (handle.get_signal_pad(me) == 0).all(), "every signal has been taken"
    with raises(IndexError, "no channel 64"):
        handle.put_signal(right, 64)
    with raises(ValueError, "do not fit"):
        handle.get_buffer(right, (2000,), torch.float32)
    if shmem.kernels_may_wait():
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            there.add_(1)
            handle.barrier(7)
        settle()
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
        shmem.barrier_all()
        assert (t[1] == 10 * left + 2 + 5).all()
        del graph
    del there
    settle()
    handle.unmap()
    assert not handle.is_mapped


# ---- kernels


class Exchange:
    """Memory that the kernels of a test use: data and signals, and a team."""

    def __init__(self):
        self.x = torch.zeros(4096, dtype=torch.float32, device="cuda")
        self.words = torch.zeros(64, dtype=torch.int64, device="cuda")
        n = shmem.n_pes()
        self.work = torch.zeros(shmem.device_work_bytes(n, 4096), dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        self.maps = [shmem.map(tensor) for tensor in (self.x, self.words, self.work)]
        self.view, self.word_view = (m.device_view() for m in self.maps[:2])
        self.team = shmem.TEAM_WORLD.device_view(self.maps[2])

    def __enter__(self):
        settle()
        return self

    def __exit__(self, *exception):
        settle()
        for m in self.maps:
            m.unmap()


def check_exchange(e, me, n, left, name):
    torch.cuda.synchronize()
    shmem.barrier_all()
    assert (e.x[:256] == torch.arange(256.0, device="cuda") + 1000 * left).all(), (name, e.x[:4])
    words = e.words.tolist()
    assert words[0] == 1 and words[1] == 7 + left and words[3] == left, (name, words)
    if me == 0:
        assert words[2] == n, (name, words)
    total = n * (n + 1) / 2
    assert (e.x[512:520] == total).all(), (name, e.x[512:520])


def test_triton():
    me, n, right, left = places()
    try:
        import triton_kernels
    except ImportError as error:
        return say(f"no Triton: {error}")
    with Exchange() as e:
        if not may_wait(e):
            return
        triton_kernels.exchange[(1,)](e.x, e.words, e.view.address, e.word_view.address, e.team.address, me, right, left,
                                      num_warps=4, **triton_kernels.device.link())
        check_exchange(e, me, n, left, "Triton")


def test_numba():
    me, n, right, left = places()
    if fault := numba_fault():
        return say(fault)
    try:
        import numba_kernels
        from numba import cuda
    except ImportError as error:
        return say(f"no Numba: {error}")
    with Exchange() as e:
        if not may_wait(e):
            return
        arguments = (cuda.as_cuda_array(e.x), e.x.data_ptr(), e.words.data_ptr(), e.view.address, e.word_view.address,
                     e.team.address, me, right, left)
        numba_kernels.exchange[1, 128](*arguments)
        cuda.synchronize()
        check_exchange(e, me, n, left, "Numba")


CUPY = r"""
#include <shmemx_device.h>
extern "C" __global__ void exchange(float *x, unsigned long *words, shmemx_device_view_t view, shmemx_device_view_t word_view,
                                    shmemx_device_team_t team, int me, int right, int left)
{
    const shmemx_device_block_t block;
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        x[1024 + i] = i + 1000 * me;
    block.sync();
    shmemx_device_put_signal(block, view, x, x + 1024, 256, word_view, words, 1, SHMEM_SIGNAL_SET, right);
    shmemx_device_signal_wait_until(block, word_view, words, SHMEM_CMP_EQ, 1);
    if (threadIdx.x == 0) {
        shmemx_device_p(word_view, words + 1, 7ul + me, right);
        shmemx_device_atomic_add(word_view, words + 2, 1ul, 0);
        words[4] = me;
    }
    if (threadIdx.x < 8)
        x[512 + threadIdx.x] = me + 1;
    block.sync();
    shmemx_device_barrier(block, team);
    if (threadIdx.x == 0)
        words[3] = shmemx_device_g(word_view, words + 4, left);
    shmemx_device_sum_reduce(block, team, x + 512, x + 512, 8);
}
"""


def test_cupy():
    me, n, right, left = places()
    try:
        import cupy
    except ImportError as error:
        return say(f"no CuPy: {error}")
    include = os.environ.get("INCLUDE")
    if not include:
        return say("CuPy: INCLUDE is not set")
    cupy.cuda.Device(shmem.my_device()).use()
    kernel = cupy.RawKernel(CUPY, "exchange", options=("-I" + include,))
    with Exchange() as e:
        if not may_wait(e):
            return
        arguments = (cupy.asarray(e.x), cupy.asarray(e.words), e.view.value, e.word_view.value, e.team.value, np.int32(me),
                     np.int32(right), np.int32(left))
        kernel((1,), (128,), arguments)
        check_exchange(e, me, n, left, "CuPy")


if __name__ == "__main__":
    main(globals())
