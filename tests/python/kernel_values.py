# SPDX-License-Identifier: BSD-3-Clause
"""Makes every call of kernels, of every type and group, on threads of the CPU, with all PEs: results and all memory are
compared (kernel_cases.py). With "debug": also that what lies outside of the object of a view, and a PE that does not exist,
end the process. The library is made of the calls' source and played.h: kernel_values.py LIBRARY [debug]"""

import ctypes
import os
import sys

import kernel_cases
import mapshmem as shmem
import numpy as np
from mapshmem._kernels._calls import CALLS, GROUPS

THREADS = {"thread": 1, "warp": 4, "block": 5}  # a warp that is played has 4
_KERNEL = ctypes.CFUNCTYPE(None)
_C = {"address": ctypes.c_uint64, "size": ctypes.c_uint64, "uint64": ctypes.c_uint64, "int": ctypes.c_int, "": ctypes.c_int}


def c_type(call, type_, name):
    kind = call.kind(name)
    return getattr(ctypes, "c_" + type_) if kind == "T" else _C[kind]


class Memory:
    """Box and near of this PE, and the views that kernels need."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.box = shmem.zeros(kernel_cases.BYTES, np.uint8, align=64)
        self.work = shmem.zeros(shmem.device_work_bytes(shmem.n_pes(), kernel_cases.PIECE), np.uint8, align=64)
        self.room = np.zeros(kernel_cases.BYTES + 64, np.uint8)
        first = -self.room.ctypes.data % 64
        self.near = self.room[first : first + kernel_cases.BYTES]
        self.views = {"view": shmem.device_view(self.box).value, "team": shmem.TEAM_WORLD.device_view(self.work).value}

    def fill(self, box, near):
        self.box[:], self.near[:] = box, near

    def read(self):
        return self.box, self.near

    settle = staticmethod(shmem.barrier_all)

    def address(self, value):
        if isinstance(value, tuple):
            return getattr(self, value[0]).ctypes.data + value[1]
        return self.views[value].ctypes.data if isinstance(value, str) else value

    def function(self, name, type_, group):
        call = CALLS[name]
        function = getattr(self.library, call.symbol(type_, group))
        function.argtypes = [c_type(call, type_, parameter) for parameter in call.parameters]
        function.restype = c_type(call, type_, "result")
        return function

    def make(self, made, group):
        function, results = self.function(made.name, made.type_, group), []
        values = [self.address(made.args[name]) for name in CALLS[made.name].parameters]
        self.library.play(THREADS[group], _KERNEL(lambda: results.append(function(*values))))
        assert len(results) == THREADS[group], f"{made.name}: a thread has failed"
        return results


def end_of(memory, made):
    """What a call by one thread says, and the exit status of its process."""
    there, here = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(here, 1)
        memory.make(made, "thread")
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as said:
        text = said.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check_refusals(memory):
    """Arguments of the right calls, with one that is wrong."""
    me, n = shmem.my_pe(), shmem.n_pes()
    tried = 0
    for call in CALLS.values():
        _, calls, *_ = next(kernel_cases.Steps(me, n).of(call, call.types[-1]))
        made = next(made for made in calls if made.name == call.name)
        wrong = [(name, ("box", offset)) for _, name, _ in call.touches for offset in (-(1 << 45), 1 << 45)]
        wrong += [("pe", pe) for pe in (-1, n) if "pe" in call.parameters]
        for name, value in wrong:
            args = {**made.args, name: value}
            if "nbytes" in args:
                args["nbytes"] = 8
            text, status = end_of(memory, kernel_cases.Call(made.name, made.type_, **args))
            expected = "there is no such PE" if name == "pe" else "lies outside of the object of"
            assert status == 33 and text.startswith(f"{call.name}: PE {me}: ") and expected in text, (call.name, name, value, text,
                                                                                                     status)
            tried += 1
    return tried


def main():
    shmem.init()
    memory, me, n = Memory(sys.argv[1]), shmem.my_pe(), shmem.n_pes()
    made = 0
    for call in CALLS.values():
        for type_ in call.types:
            for group in GROUPS:
                kernel_cases.check(memory, me, n, call, type_, group)
                made += 1
    refused = check_refusals(memory) if sys.argv[2:] == ["debug"] else 0
    if me == 0:
        print(f"{made} functions, {refused} wrong calls", flush=True)
    shmem.finalize()


if __name__ == "__main__":
    main()
