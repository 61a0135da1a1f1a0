# SPDX-License-Identifier: BSD-3-Clause
"""Where the tests of streams run: memory of a device that is mapped, and streams of several libraries, live and captured.

A place has areas of raw bytes that are mapped on every PE, of which a test takes parts of any type, and run(), which
enqueues what it is given in a stream and waits."""

import contextlib

import mapshmem as shmem
import numpy as np

AREA = 1 << 16


class Place:
    """areas: handles."""

    def part(self, area, dtype, n, first=0):
        return self.areas[area].view(dtype)[first : first + n]


class OpenCL(Place):
    """A queue of PyOpenCL, in order or not; works without a GPU."""

    def __init__(self, areas):
        import pyopencl as cl

        self.cl = cl
        self.context = cl.Context([device for platform in cl.get_platforms() for device in platform.get_devices()][:1])
        self.queue = cl.CommandQueue(self.context)
        self.buffers = [cl.Buffer(self.context, cl.mem_flags.READ_WRITE, AREA) for _ in range(areas)]
        self.areas = [shmem.map(buffer) for buffer in self.buffers]

    def streams(self):
        yield "queue", self.queue

    def write(self, area, values):
        self.cl.enqueue_copy(self.queue, self.buffers[area], np.ascontiguousarray(values).view(np.uint8).reshape(-1)).wait()

    def read(self, area, dtype, n):
        out = np.empty(n * np.dtype(dtype).itemsize, np.uint8)
        self.cl.enqueue_copy(self.queue, out, self.buffers[area]).wait()
        return out.view(dtype)

    def run(self, stream, work):
        work(stream)
        stream.finish()


class Torch(Place):
    """Streams of PyTorch, of other libraries on its tensors, and graphs."""

    def __init__(self, areas):
        import torch

        torch.cuda.set_device(shmem.my_device())
        self.torch = torch
        self.tensors = [torch.zeros(AREA, dtype=torch.uint8, device="cuda") for _ in range(areas)]
        torch.cuda.synchronize()
        self.areas = [shmem.map(tensor) for tensor in self.tensors]

    def streams(self):
        torch = self.torch
        side = torch.cuda.Stream()
        yield "torch", side
        yield "torch, high priority", torch.cuda.Stream(priority=-1)
        yield "number", side.cuda_stream
        with contextlib.suppress(ImportError):
            import cupy

            yield "CuPy", cupy.cuda.Stream(non_blocking=True)
        with contextlib.suppress(ImportError):
            from numba import cuda

            yield "Numba", cuda.external_stream(side.cuda_stream)
        if shmem.kernels_may_wait():
            yield "torch graph", Graph(torch)
            with contextlib.suppress(ImportError):
                import cupy

                yield "CuPy graph", CupyGraph(cupy)

    def write(self, area, values):
        raw = self.torch.from_numpy(np.ascontiguousarray(values).view(np.uint8).reshape(-1).copy())
        self.tensors[area][: raw.numel()].copy_(raw)
        self.torch.cuda.synchronize()

    def read(self, area, dtype, n):
        self.torch.cuda.synchronize()
        return self.tensors[area][: n * np.dtype(dtype).itemsize].cpu().numpy().view(dtype)

    def run(self, stream, work):
        if isinstance(stream, (Graph, CupyGraph)):
            stream.run(work)
        else:
            work(stream)
        self.torch.cuda.synchronize()


class Graph:
    """Captures the work and launches it. Memory that PyTorch would have to allocate meanwhile would be an error."""

    def __init__(self, torch):
        self.torch = torch
        self.stream = torch.cuda.Stream()

    def run(self, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.stream(self.stream):
            graph.capture_begin(capture_error_mode="thread_local")
            before = self.torch.cuda.memory_allocated()
            work(self.stream)
            assert self.torch.cuda.memory_allocated() == before
            graph.capture_end()
            graph.replay()
        self.torch.cuda.synchronize()
        self.graph = graph  # of which the library's launches are a part


class CupyGraph:
    def __init__(self, cupy):
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)

    def run(self, work):
        with self.stream:
            self.stream.begin_capture(self.cupy.cuda.runtime.streamCaptureModeThreadLocal)
            work(self.stream)
            self.graph = self.stream.end_capture()
            self.graph.launch(self.stream)
        self.stream.synchronize()


def is_captured(stream):
    return isinstance(stream, (Graph, CupyGraph))


def find_place(areas):
    """A GPU with PyTorch, else a device of OpenCL; None: neither."""
    with contextlib.suppress(ImportError):
        import torch

        if torch.cuda.is_available():
            return Torch(areas)
    with contextlib.suppress(ImportError, IndexError, RuntimeError):
        return OpenCL(areas)
    return None
