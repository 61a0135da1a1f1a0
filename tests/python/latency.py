# SPDX-License-Identifier: BSD-3-Clause
"""Time of a put of 8 bytes from PE 0 to the last PE, in Python and in C, in the same process and by turns.

Usage: oshrun -n 2 python3 latency.py PUT8.so [torch | opencl | heap]

Medians of 41 rounds of 200 puts each, in microseconds. Sources: numpy array of the heap, part of the mapped memory. The
last column is a put in C alone, with a pause of 1 us before the next: what is left of the call in Python is beside it.
"""

import ctypes
import statistics
import sys
import time

import mapshmem as shmem
import numpy as np

ROUNDS, PUTS = 41, 200


def memory(kind):
    """8 KiB of symmetric memory of the kind, as mapshmem.put takes it."""
    if kind == "torch":
        import torch

        torch.cuda.set_device(shmem.my_device())
        return shmem.map(torch.zeros(1024, dtype=torch.float64, device="cuda"))
    if kind == "opencl":
        import pyopencl

        context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1])
        return shmem.map(pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 8192), dtype="f8")
    return shmem.zeros(1024)


def address(x):
    return x.address if isinstance(x, shmem.Mapped) else x.__array_interface__["data"][0]


def in_python(dest, source, pe):
    put = shmem.put
    begin = time.perf_counter()
    for _ in range(PUTS):
        put(dest, source, pe)
    return time.perf_counter() - begin


def compare(name, put8, dest, source, pe):
    ends = address(dest), address(source)
    ways = (lambda: in_python(dest, source, pe), lambda: put8(*ends, PUTS, pe, 0.0), lambda: put8(*ends, PUTS, pe, 1e-6))
    times = [[], [], []]
    for _ in range(ROUNDS):
        for way, list_ in zip(ways, times):
            list_.append(way() / PUTS * 1e6)
            shmem.quiet()
    python, c, paused = (statistics.median(list_) for list_ in times)
    print(f"{name:26} Python {python:7.3f} us   C {c:7.3f} us   difference {python - c:6.3f} us   "
          f"C, with 1 us between puts {paused:7.3f} us", flush=True)


def main():
    kind = sys.argv[2] if len(sys.argv) > 2 else "heap"
    put8 = ctypes.CDLL(sys.argv[1]).put8_seconds
    put8.restype, put8.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_int,
                                            ctypes.c_double]
    with shmem.init():
        m, host = memory(kind), shmem.zeros(1)
        pe = shmem.n_pes() - 1
        shmem.barrier_all()
        if shmem.my_pe() == 0:
            compare(f"{kind}, from a heap array", put8, m[:1], host, pe)
            compare(f"{kind}, from {kind}", put8, m[:1], m[8:9], pe)
        shmem.barrier_all()
        if kind == "heap":
            shmem.free(m)
        shmem.free(host)


if __name__ == "__main__":
    main()
