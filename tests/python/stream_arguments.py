# SPDX-License-Identifier: BSD-3-Clause
"""What put_signal and its wait hand to the library for a stream, with each form of arguments, and what they refuse: where
recorded.c has been loaded before the library, whose path is the argument. Two PEs, over PyOpenCL."""

import ctypes
import sys

import mapshmem as shmem
import numpy as np
import pyopencl as cl
from harness import raises

NAMES = ("dest", "source", "nbytes", "sig", "value", "op", "pe", "cmp", "stream", "n_calls")


class Stream:
    """As PyTorch's; its number is above half of the range."""

    def __init__(self, number):
        self.cuda_stream = number


def main():
    last = (ctypes.c_uint64 * len(NAMES)).in_dll(ctypes.CDLL(sys.argv[1]), "recorded_last")
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    maps = [shmem.map(cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096), dtype=np.float32) for _ in range(2)]
    words = shmem.map(cl.Buffer(context, cl.mem_flags.READ_WRITE, 64), dtype=np.uint64)
    there, here, sig = maps[0][8:16], maps[1][16:22], words[3]
    array, heap = np.arange(6, dtype=np.float32), shmem.zeros(6, np.float32)
    calls = 0

    def expect(**expected):
        nonlocal calls
        calls += 1
        found = dict(zip(NAMES, last))
        assert found == {**dict.fromkeys(NAMES, 0), **expected, "n_calls": calls}, (found, expected)

    for number in (0x7F00, (1 << 63) + 8):
        for stream in (Stream(number), number):  # by C, and by Python
            for source, at in ((here, here.address), (array, array.ctypes.data), (heap, heap.ctypes.data)):
                for value, op in ((0, shmem.SIGNAL_SET), ((1 << 64) - 1, shmem.SIGNAL_ADD)):
                    put = {"dest": there.address, "source": at, "nbytes": 24, "sig": sig.address, "value": value, "op": op, "pe": 1,
                           "stream": number}
                    there.put_signal(source, sig, value, 1, op, stream=stream)
                    expect(**put)
                    shmem.put_signal_on_stream(there, source, sig, value, 1, stream, op)
                    expect(**put)
            for cmp, sign in enumerate(("==", "!=", ">", ">=", "<", "<="), 1):
                for given in (cmp, sign):
                    shmem.signal_wait_until_on_stream(sig, given, (1 << 63) + cmp, stream)
                    expect(sig=sig.address, value=(1 << 63) + cmp, cmp=cmp, stream=number)
            heap_signal = shmem.zeros(1, np.uint64)
            there.put_signal(here, heap_signal, 5, 0, stream=stream)
            expect(dest=there.address, source=here.address, nbytes=24, sig=heap_signal.ctypes.data, value=5, op=1, pe=0,
                   stream=number)

            def put(dest=there, source=here, sig=sig, value=1, pe=0, op=1, stream=stream):
                return lambda: shmem.put_signal_on_stream(dest, source, sig, value, pe, stream, op)

            for wrong, kind in ((put(pe=2), IndexError), (put(pe=-1), IndexError), (put(dest=maps[0][:5]), ValueError),
                                (put(sig=words[2:4]), ValueError), (put(sig=words.view(np.int64)[3]), TypeError),
                                (put(source=array.astype(np.int32)), TypeError), (put(value=1 << 64), OverflowError),
                                (put(value=-1), OverflowError), (put(source=[1.0]), TypeError), (put(stream="none"), TypeError),
                                (lambda: shmem.signal_wait_until_on_stream(sig, 7, 1, stream), ValueError),
                                (lambda: shmem.signal_wait_until_on_stream(words[:2], 1, 1, stream), ValueError)):
                with raises(kind):
                    wrong()
    assert last[-1] == calls, "nothing wrong has come to the library"
    for m in (*maps, words):
        m.unmap()
    with raises(ValueError, "unmapped"):
        there.put_signal(here, sig, 1, 0, stream=Stream(1))
    assert last[-1] == calls


if __name__ == "__main__":
    with shmem.init():
        main()
