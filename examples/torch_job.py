# SPDX-License-Identifier: BSD-3-Clause
"""What the examples with PyTorch share: torch.distributed beside MapSHMEM, to compare results with, and times."""

import os
import tempfile
import time

import mapshmem as shmem
import numpy as np
import torch
import torch.distributed as dist


def gloo():
    """torch.distributed of all PEs, on the CPU: its ranks may share a GPU, those of NCCL may not."""
    if dist.is_initialized():
        return dist
    name = shmem.zeros(256, np.uint8)
    if shmem.my_pe() == 0:
        path = tempfile.mktemp(prefix="torch-job-").encode()
        name[: len(path)] = np.frombuffer(path, np.uint8)
    shmem.broadcast(name, name)
    path = bytes(name).rstrip(b"\0").decode()
    shmem.free(name)
    if shmem.TEAM_SHARED.n_pes() == shmem.n_pes():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one node needs no network
    dist.init_process_group("gloo", init_method="file://" + path, rank=shmem.my_pe(), world_size=shmem.n_pes())
    return dist


def compare(what, result, part, tolerance):
    """Is the result the sum of all PEs' parts, as torch.distributed makes it?"""
    expected = part.clone().float()
    gloo().all_reduce(expected)
    worst = (result.cpu().float() - expected).abs().max().item()
    scale = expected.abs().max().item()
    assert worst <= tolerance * scale, f"{what}: WRONG by {worst} of {scale}"
    print(f"PE {shmem.my_pe()}: {what}: verified", flush=True)


def seconds_of(work, times=50):
    """The time of one call on all PEs, after some that warm up."""
    for _ in range(5):
        work()
    torch.cuda.synchronize()
    shmem.barrier_all()
    start = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times
