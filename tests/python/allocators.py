# SPDX-License-Identifier: BSD-3-Clause
"""Which route memory of PyTorch takes with the allocator that PYTORCH_CUDA_ALLOC_CONF chooses: one line for a small and
a large tensor. What the library tells of it is on stderr."""

import os

import mapshmem as shmem
import torch

with shmem.init():
    torch.cuda.set_device(shmem.my_device())
    other = (shmem.my_pe() + 1) % shmem.n_pes()
    for n in (100, 20 * 2**20):
        x = torch.zeros(n, device="cuda")
        torch.cuda.synchronize()
        try:
            with shmem.map(x) as m:
                m.put(torch.full((n,), 2.0, device="cuda"), other)
                shmem.barrier_all()
                result = f"route {m.route(other)}, data {'right' if (x == 2).all().item() else 'WRONG'}"
        except shmem.MapError as error:
            result = f"refused: {error}"
        if shmem.my_pe() == 0:
            print(f"{os.environ.get('PYTORCH_CUDA_ALLOC_CONF', '(default)'):34} {4 * n:10} bytes: {result}", flush=True)
        shmem.barrier_all()
