# SPDX-License-Identifier: BSD-3-Clause
"""Makes every call of kernels, of every type, in kernels of Triton or Numba on a CUDA GPU, with all PEs: results and all
memory are compared (kernel_cases.py). A kernel takes the call's arguments, and leaves its result, in memory, so that there is
one for each function. Says so where Numba cannot run, or kernels of the PEs would run in turns. kernel_gpu.py triton|numba"""

import importlib.util
import os
import sys
import tempfile
import time

import kernel_cases
import mapshmem as shmem
import numpy as np
from harness import numba_fault
from kernel_calls import ELEMENTS
from mapshmem._kernels._calls import CALLS, GROUPS

TRITON_TYPES = {"i8": "tl.int8", "i16": "tl.int16", "i32": "tl.int32", "i64": "tl.int64", "u16": "tl.uint16", "u32": "tl.uint32",
                "u64": "tl.uint64", "fp16": "tl.float16", "bf16": "tl.bfloat16", "fp32": "tl.float32", "fp64": "tl.float64"}


class Memory:
    """Box, near and the views, as tensors of bytes; the arguments and the result of a call, as 64-bit words."""

    def __init__(self):
        import torch

        self.torch = torch
        n = shmem.n_pes()
        made = (kernel_cases.BYTES, shmem.device_work_bytes(n, kernel_cases.PIECE), kernel_cases.BYTES)
        self.box, self.work, self.near = (torch.zeros(size, dtype=torch.uint8, device="cuda") for size in made)
        self.words, self.out = (torch.zeros(16, dtype=torch.int64, device="cuda") for _ in range(2))
        torch.cuda.synchronize()
        self.maps = [shmem.map(self.box), shmem.map(self.work)]
        self.views = {"view": self.maps[0].device_view().address,
                      "team": shmem.TEAM_WORLD.device_view(self.maps[1]).address}
        self.kernels = {}

    def fill(self, box, near):
        self.box.copy_(self.torch.from_numpy(box))
        self.near.copy_(self.torch.from_numpy(near))

    def read(self):
        return self.box.cpu().numpy(), self.near.cpu().numpy()

    def settle(self):
        self.torch.cuda.synchronize()
        shmem.barrier_all()

    def value(self, given):
        if isinstance(given, tuple):
            return getattr(self, given[0]).data_ptr() + given[1]
        return self.views[given] if isinstance(given, str) else given

    def make(self, made, group):
        call = CALLS[made.name]
        kernel = self.kernels.get((made.name, made.type_, group))
        if kernel is None:
            kernel = self.kernels[made.name, made.type_, group] = self.compiled(call, made.type_, group)
        values = [self.value(made.args[name]) % (1 << 64) for name in call.parameters]
        self.words[: len(values)] = self.torch.from_numpy(np.array(values, np.uint64).view(np.int64))
        self.out.fill_(-77)
        kernel(self.words, self.out)
        self.torch.cuda.synchronize()
        result = self.out[:1].cpu().numpy()
        kind = {"T": made.type_, "uint64": "uint64", "int": "int32", "": "int64"}[call.result]
        return [int(result.view(kind)[0])] if made.result else []

    def end(self):
        self.settle()
        for memory in self.maps:
            memory.unmap()


class Triton(Memory):
    groups = ("block",)

    def __init__(self):
        super().__init__()
        from mapshmem import triton as device

        self.link, self.folder = device.link(), tempfile.mkdtemp(prefix="kernel-gpu-")

    @staticmethod
    def argument(call, type_, name, index):
        """How a kernel makes it of its word."""
        word = f"tl.load(words + {index})"
        element = TRITON_TYPES.get(ELEMENTS.get(type_, ""), "")
        if type_ and name in ("dest", "source", "ivar"):
            return f"{word}.to(tl.pointer_type({element}))"
        kind = {"T": element, "int": "tl.int32"}.get(call.kind(name))
        return f"{word}.to({kind})" if kind else word

    def compiled(self, call, type_, group):
        module = self.module(call, type_)
        return lambda words, out: module.kernel[(1,)](words, out, num_warps=4, **self.link)

    def module(self, call, type_):
        arguments = ", ".join(self.argument(call, type_, name, i) for i, name in enumerate(call.parameters))
        keep = "tl.store(out, made.to(tl.int64))" if call.result else "tl.store(out, 1)"
        name = f"{call.name}_{type_}"
        path = os.path.join(self.folder, name + ".py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import triton\nimport triton.language as tl\nimport mapshmem.triton as device\n\n\n@triton.jit\n"
                       f"def kernel(words, out):\n    made = device.{call.name}({arguments})\n    {keep}\n")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


class Numba(Memory):
    groups = GROUPS

    def compiled(self, call, type_, group):
        from mapshmem import numba as device
        from numba import cuda, types

        kinds = {"T": type_, "int": "int32", "address": "uint64", "size": "uint64", "uint64": "uint64"}
        called = getattr(device, call.symbol(type_, group)[len("mapshmem_") :])
        arguments = ", ".join(f"{kinds[call.kind(name)]}(words[{i}])" for i, name in enumerate(call.parameters))
        used = {kinds[call.kind(name)] for name in call.parameters}
        names = {"called": called, "cuda": cuda, **{kind: getattr(types, kind) for kind in used}}
        exec(f"def kernel(words, out):\n    made = called({arguments})\n    if cuda.threadIdx.x == 0:\n        out[0] = made\n", names)
        kernel = cuda.jit(names["kernel"])
        threads = {"thread": 1, "warp": 32, "block": 128}[group]

        def launch(words, out):
            kernel[1, threads](cuda.as_cuda_array(words), cuda.as_cuda_array(out))
            cuda.synchronize()

        return launch


def functions(memory):
    """All of Triton; of Numba every type with one group, and each call with every group."""
    for call in CALLS.values():
        for i, type_ in enumerate(call.types):
            for k, group in enumerate(memory.groups):
                if i == 0 or k == i % len(memory.groups):
                    yield call, type_, group


def run(way):
    """Returns what there is to say."""
    import torch

    torch.cuda.set_device(shmem.my_device())
    if way == "numba" and (fault := numba_fault()):
        return fault
    memory = Triton() if way == "triton" else Numba()
    begin, made = time.time(), 0
    if shmem.kernels_may_wait():
        for call, type_, group in functions(memory):
            kernel_cases.check(memory, shmem.my_pe(), shmem.n_pes(), call, type_, group)
            made += 1
    memory.end()
    return f"{way}: {made} functions in {time.time() - begin:.0f} s" if made else "kernels would wait in turns: not run"


if __name__ == "__main__":
    with shmem.init():
        text = run(sys.argv[1])
        if shmem.my_pe() == 0:
            print(text, flush=True)
