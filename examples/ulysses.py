# SPDX-License-Identifier: BSD-3-Clause
"""Attention over a sequence that is spread over the PEs (Ulysses): an alltoall in the stream gives each PE all of the
sequence for some of the heads, another one gives it back. Over tensors of PyTorch, in one graph where that is possible.
Compared with torch.distributed; oshrun -n 2 python3 ulysses.py"""

import mapshmem as shmem
import torch
import torch.nn.functional as functional
from torch_job import gloo, seconds_of

SEQUENCE, HEADS, SIZE = 4096, 16, 64  # of all PEs together


class Ulysses:
    """attend(): attention of q, k and v, each [SEQUENCE / n, HEADS, SIZE], all of it in the current stream."""

    def __init__(self, n):
        self.n, self.rows, self.heads = n, SEQUENCE // n, HEADS // n
        shape = (n, 3, self.rows, self.heads, SIZE)  # a block for each PE: its heads of my rows, or my heads of its rows
        self.out, self.there = (torch.zeros(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.back, self.home = (torch.zeros((n, *shape[2:]), device="cuda", dtype=torch.bfloat16) for _ in range(2))
        torch.cuda.synchronize()
        self.maps = [shmem.map(tensor) for tensor in (self.out, self.there, self.back, self.home)]

    def attend(self, qkv):
        stream = torch.cuda.current_stream()
        out, there, back, home = self.maps
        self.out.copy_(qkv.view(3, self.rows, self.n, self.heads, SIZE).permute(2, 0, 1, 3, 4))
        shmem.alltoall(there, out, stream=stream)
        q, k, v = self.there.permute(1, 3, 0, 2, 4).reshape(3, 1, self.heads, SEQUENCE, SIZE)
        mine = functional.scaled_dot_product_attention(q, k, v)[0]  # [heads, SEQUENCE, SIZE]
        self.back.copy_(mine.reshape(self.heads, self.n, self.rows, SIZE).permute(1, 2, 0, 3))
        shmem.alltoall(home, back, stream=stream)
        return self.home.permute(1, 0, 2, 3).reshape(self.rows, HEADS, SIZE)

    def end(self):
        for memory in self.maps:
            memory.unmap()


def whole(qkv, me, n):
    """The same by one PE, as its part of a sum: everybody's rows at their place, from which all make the attention."""
    rows = SEQUENCE // n
    padded = torch.zeros(3, SEQUENCE, HEADS, SIZE)
    padded[:, me * rows : (me + 1) * rows] = qkv.float().cpu()
    return padded


def main():
    me, n = shmem.my_pe(), shmem.n_pes()
    torch.cuda.set_device(shmem.my_device())
    torch.manual_seed(me)
    qkv = torch.randn(3, SEQUENCE // n, HEADS, SIZE, device="cuda", dtype=torch.bfloat16)
    ulysses = Ulysses(n)
    shmem.barrier_all()
    result = ulysses.attend(qkv)
    torch.cuda.synchronize()
    everything = whole(qkv, me, n)
    gloo().all_reduce(everything)
    q, k, v = everything.cuda().permute(0, 2, 1, 3)
    expected = functional.scaled_dot_product_attention(q, k, v).permute(1, 0, 2)
    rows = slice(me * (SEQUENCE // n), (me + 1) * (SEQUENCE // n))
    worst = (result.float() - expected[rows]).abs().max().item()
    assert worst <= 0.02, f"WRONG by {worst}"
    print(f"PE {me}: attention of {SEQUENCE} tokens: verified", flush=True)
    work, how = (lambda: ulysses.attend(qkv)), "in a stream"
    if shmem.kernels_may_wait():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            ulysses.attend(qkv)
        work, how = graph.replay, "in a graph"
    shmem.barrier_all()
    print(f"PE {me}: {seconds_of(work) * 1e6:.0f} us {how}", flush=True)
    shmem.barrier_all()
    ulysses.end()


with shmem.init():
    main()
