# SPDX-License-Identifier: BSD-3-Clause
"""Calls for kernels of Numba: those of shmemx_device.h, with a group at the end of their names: put_thread, put_warp and
put_block. Those of elements have their type before it: p_int64_thread, atomic_add_int32_block.

    import mapshmem.numba as device

    @cuda.jit
    def send(x, signal, view, nbytes, right):
        device.put_signal_block(view, x, x, nbytes, view, signal, 1, SIGNAL_SET, right)

    send[1, 256](array.__cuda_array_interface__["data"][0], signal, view.address, nbytes, right)

Addresses, sizes and signals are integers of 64 bits, addresses those in this PE's arrays. view and team are the addresses
of views (`Mapped.device_view`, `Team.device_view`). A call that one thread of a group makes (p, g, signal_op, atomic
operations, test) is made once by a warp or block, and all its threads get the result. reducescatter and the forms with a view
(sum_reduce_direct and so on), which are for large data, are for blocks. Nothing is linked but what a
kernel calls. With MAPSHMEM_DEVICE_DEBUG in the environment when this module is imported, a PE that does not exist and an
address outside of the object of its view end the kernel with a line that says so.
"""

from __future__ import annotations

import inspect
import os
from typing import Any

from numba import cuda

from ._kernels._bitcode import path
from ._kernels._calls import CALLS, Call

_KINDS = {"address": "uint64", "size": "uint64", "uint64": "uint64", "int": "int32", "": "int32"}

if "abi" not in inspect.signature(cuda.declare_device).parameters:
    raise ImportError("mapshmem.numba needs numba-cuda with functions of C (declare_device(abi=\"c\")): pip install -U numba-cuda")


def _declared(call: Call, type_: str, group: str, debug: bool) -> Any:
    kinds = [type_ if call.kind(name) == "T" else _KINDS[call.kind(name)] for name in ("result", *call.parameters)]
    signature = f"{kinds[0]}({', '.join(kinds[1:])})"
    return cuda.declare_device(call.symbol(type_, group), signature, link=path(call.name + ".ptx", debug), abi="c")


def _bindings() -> Any:
    debug = bool(os.environ.get("MAPSHMEM_DEVICE_DEBUG"))
    for call in CALLS.values():
        for type_ in call.types:
            for group in call.groups:
                yield call.symbol(type_, group)[len("mapshmem_") :], _declared(call, type_, group, debug)


globals().update(_bindings())
__all__ = [call.symbol(type_, group)[len("mapshmem_") :] for call in CALLS.values() for type_ in call.types for group in call.groups]
