# SPDX-License-Identifier: BSD-3-Clause
"""Sums of all PEs beside those of others on the same tensors of PyTorch: NCCL by torch.distributed, plain and with windows
(a torch.cuda.MemPool that is registered), and PyTorch's symmetric memory, whose back end is CUDA's or that of the argument
(NVSHMEM). In streams and in graphs, in microseconds; in turns, medians of three. Every result is compared. Needs a GPU for
each PE. What cannot be had here is named with the reason.

Usage: oshrun -n 2 python3 tensor_peers.py [NVSHMEM]"""

import sys

import mapshmem as shmem
import numpy as np
import torch
import torch.distributed as dist
from tensor_times import graph_of, medians, nccl, say

SIZES = [8 << shift for shift in range(0, 25, 2)]  # 8 bytes to 128 MiB
ONE_SHOT_MOST = 1 << 20  # larger ones by two steps


class Agreement:
    """A flag of all PEs: what one of them cannot do none does."""

    def __init__(self):
        self.flag = shmem.zeros(1, np.int32)

    def made(self, name, make):
        """What make() returns on all PEs, or None."""
        reason, found = "", None
        try:
            found = make()
        except Exception as error:  # whatever PyTorch says of what was not built in
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        self.flag[0] = found is not None
        shmem.min_reduce(self.flag, self.flag)
        if reason:
            print(f"PE {shmem.my_pe()}: {name}: not here: {reason}", flush=True)
        return found if self.flag[0] else None


class Sum:
    """A way to sum a tensor into another one: run(stream) enqueues it; fill and check are for its memory."""

    def __init__(self, source, dest, run):
        self.source, self.dest, self.run = source, dest, run

    def verified(self):
        """The way itself. ValueError if its result is wrong."""
        n = shmem.n_pes()
        self.source.fill_(shmem.my_pe() + 1)
        torch.cuda.synchronize()
        shmem.barrier_all()
        found = self.run(torch.cuda.current_stream())
        torch.cuda.synchronize()
        shmem.barrier_all()
        if not ((self.dest if found is None else found) == n * (n + 1) / 2).all():
            raise ValueError("the result is WRONG")
        return self


def ours(maps, tensors, nbytes):
    d, s = (memory[:nbytes].view("f4") for memory in maps)
    dest, source = (tensor[: nbytes // 4] for tensor in tensors)
    return Sum(source, dest, lambda stream: shmem.sum_reduce(d, s, stream=stream))


def plain(tensor, nbytes):
    """In place, as all_reduce works."""
    part = tensor[: nbytes // 4]

    def run(stream):
        dist.all_reduce(part)

    return Sum(part, part, run)


def windowed():
    """A tensor in memory that NCCL has allocated and registered."""
    dist.all_reduce(torch.zeros(1, device="cuda"))  # it connects with the first operation
    backend = dist.group.WORLD._get_backend(torch.device("cuda", torch.cuda.current_device()))
    pool = torch.cuda.MemPool(backend.mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        tensor = torch.zeros(SIZES[-1] // 4, device="cuda")
    backend.register_mem_pool(pool, symm=True)
    dist.all_reduce(tensor)
    return tensor, pool


def symmetric(backend):
    """A tensor of PyTorch's symmetric memory."""
    from torch.distributed import _symmetric_memory as symm_mem

    if backend != "CUDA":
        symm_mem.set_backend(backend)
    tensor = symm_mem.empty(SIZES[-1] // 4, dtype=torch.float32, device=torch.device("cuda", torch.cuda.current_device()))
    symm_mem.rendezvous(tensor, dist.group.WORLD.group_name)
    return tensor


def one_shot(tensor, nbytes):
    part, group = tensor[: nbytes // 4], dist.group.WORLD.group_name
    if nbytes <= ONE_SHOT_MOST:
        return Sum(part, part, lambda stream: torch.ops.symm_mem.one_shot_all_reduce(part, "sum", group))

    def run(stream):
        torch.ops.symm_mem.two_shot_all_reduce_(part, "sum", group)

    return Sum(part, part, run)


def repeated(way, times, stream):
    def work():
        with torch.cuda.stream(stream):
            for _ in range(times):
                way.run(stream)

    return work


def measure(agreement, makers, nbytes, stream):
    """A line for a size: of each way the time in a stream and in a graph."""
    times = 100 if nbytes <= 1 << 20 else 10
    names, works = [], []
    for name, make in makers.items():
        way = agreement.made(f"{name}, {nbytes} bytes", lambda make=make: make().verified())
        if way is None:
            continue
        graph = agreement.made(f"{name} in a graph", lambda way=way: graph_of(
            lambda captured: repeated(way, times, captured)(), stream))
        names += [name] + ([name + " (graph)"] if graph else [])
        works += [repeated(way, times, stream)] + ([graph.replay] if graph else [])
    assert "MapSHMEM" in names, nbytes
    found = medians(works, times)
    say(f"sum of {nbytes:9} bytes: " + "   ".join(f"{name} {time_ * 1e6:.2f}" for name, time_ in zip(names, found)))


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    with shmem.init():
        torch.cuda.set_device(shmem.my_device())
        backend, agreement = (sys.argv[1:] or ["CUDA"])[0], Agreement()
        tensors = [torch.zeros(SIZES[-1] // 4, device="cuda") for _ in range(2)]
        torch.cuda.synchronize()
        maps = [shmem.map(tensor) for tensor in tensors]
        if nccl() is None:
            say("NCCL refuses PEs that share a GPU: nothing to compare with")
            return
        window = agreement.made("NCCL with windows", windowed)
        symm = agreement.made(f"symmetric memory of PyTorch ({backend})", lambda: symmetric(backend))
        other, stream = torch.zeros(SIZES[-1] // 4, device="cuda"), torch.cuda.Stream(priority=-1)
        for nbytes in SIZES:
            makers = {"MapSHMEM": lambda n=nbytes: ours(maps, tensors, n), "NCCL": lambda n=nbytes: plain(other, n)}
            if window:
                makers["NCCL with windows"] = lambda n=nbytes: plain(window[0], n)
            if symm is not None:
                makers[f"PyTorch's ({backend})"] = lambda n=nbytes: one_shot(symm, n)
            measure(agreement, makers, nbytes, stream)
        shmem.barrier_all()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
