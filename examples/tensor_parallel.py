# SPDX-License-Identifier: BSD-3-Clause
"""A tensor-parallel matrix product: each PE holds a part of the inner dimension, and the sum over all PEs is made inside of
the Triton kernel that multiplies. Compared with torch.distributed; oshrun -n 2 python3 tensor_parallel.py"""

import mapshmem as shmem
import mapshmem.triton as device
import torch
import triton
import triton.language as tl
from torch_job import compare, seconds_of

M, N, K, TILE_M, TILE_N, TILE_K = 512, 512, 2048, 128, 64, 64  # K: of each PE
TILES = (M // TILE_M) * (N // TILE_N)


@triton.jit(do_not_specialize=["turn"])
def matmul_sum(x, w, partial, flags, out, buffers, flag_view, turn, n_pes: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
               K: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """A program for each tile. partial has two halves, of which a neighbour may still read the other one."""
    tile = tl.program_id(0)
    rows = tile // (N // TILE_N) * TILE_M + tl.arange(0, TILE_M)
    columns = tile % (N // TILE_N) * TILE_N + tl.arange(0, TILE_N)
    total = tl.zeros((TILE_M, TILE_N), tl.float32)
    for k in range(0, K, TILE_K):
        inner = k + tl.arange(0, TILE_K)
        total += tl.dot(tl.load(x + rows[:, None] * K + inner[None, :]), tl.load(w + inner[:, None] * N + columns[None, :]))
    place = turn % 2 * (M * N) + rows[:, None] * N + columns[None, :]
    tl.store(partial + place, total)
    for pe in range(n_pes):  # my tile is there: what all threads have stored comes before the signal
        device.signal_op(flag_view, flags + tile, 1, device.SIGNAL_ADD, pe)
    device.signal_wait_until(flag_view, flags + tile, device.CMP_GE, turn * n_pes)
    total = tl.zeros((TILE_M, TILE_N), tl.float32)
    for pe in range(n_pes):
        theirs = tl.load(buffers + pe).to(tl.pointer_type(tl.float32))
        total += tl.load(theirs + place, volatile=True)
    tl.store(out + rows[:, None] * N + columns[None, :], total)


def main():
    me, n = shmem.my_pe(), shmem.n_pes()
    torch.cuda.set_device(shmem.my_device())
    torch.manual_seed(me)
    x, w = (torch.randn(shape, device="cuda", dtype=torch.float16) / 8 for shape in ((M, K), (K, N)))
    partial, out = torch.zeros(2, M, N, device="cuda"), torch.zeros(M, N, device="cuda")
    flags = torch.zeros(TILES, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    with shmem.map(partial) as p, shmem.map(flags) as f, shmem.map(out) as o:
        if not shmem.kernels_may_wait():
            return print("PEs that share a GPU need NVIDIA's MPS: their kernels wait for each other", flush=True)
        buffers = torch.as_tensor(p.peers(), device="cuda").view(torch.int64)
        if (buffers == 0).any():
            return print("not every PE's memory is within reach of kernels", flush=True)
        view, turn = f.device_view().address, 0
        shmem.barrier_all()

        def in_kernel():
            nonlocal turn
            turn += 1
            matmul_sum[(TILES,)](x, w, partial, flags, out, buffers, view, turn, n, M, N, K, TILE_M, TILE_N, TILE_K,
                                 num_warps=4, **device.link())

        def apart():
            torch.matmul(x, w, out=product)
            out.copy_(product)
            o.reduce("sum", stream=torch.cuda.current_stream())

        product = torch.empty(M, N, device="cuda", dtype=torch.float16)
        in_kernel()
        torch.cuda.synchronize()
        compare("tensor-parallel product", out, (x.float() @ w.float()).cpu(), 0.01)
        shmem.barrier_all()
        print(f"PE {me}: {seconds_of(in_kernel) * 1e6:.1f} us with the sum in the kernel, {seconds_of(apart) * 1e6:.1f} us with "
              "torch.matmul and a sum in the stream", flush=True)


with shmem.init():
    main()
