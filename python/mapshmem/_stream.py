# SPDX-License-Identifier: BSD-3-Clause
"""Operations that take their place in a CUDA stream or an OpenCL queue of the program.

A stream is one of CuPy, PyTorch or Numba, anything with __cuda_stream__, a number (cudaStream_t), or a CommandQueue of
PyOpenCL. The operation begins when everything before it in the stream is complete, and the call returns at once; what is
enqueued later begins when source may be used again (put), the data are in dest (get), or the condition holds (wait).
Delivery needs `quiet_on_stream`. Atomic operations and waits are in _stream_words.py; collectives take stream=, too.

On a queue the functions return a pyopencl.Event, and wait_for is a list of such events that come before; the package
keeps source and dest alive until the event is complete. Streams of CUDA know neither: the result is None, and the program
keeps source and dest alive until the stream has passed the operation (in a graph, as long as the graph). So a source must
be an array there: a list or a number would be copied to one that nobody keeps.

Handles and arrays of the heap are symmetric as elsewhere; PE numbers are those of TEAM_WORLD. Errors that this package
does not find end the job.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _quick
from ._native import ffi, lib
from ._errors import require
from ._kept import keep_enqueued
from ._operands import UINT64, local, reachable, same_type, strided, symmetric, word
from ._wait import _SIGNS, Cmp, comparison

Events = Optional[List[Any]]
_DEFAULT = lib.SHMEM_CTX_DEFAULT
_STREAM = ffi.typeof("shmemx_stream_t")


def cuda_handle(stream: Any) -> int:
    """The cudaStream_t of a stream of any library."""
    found = getattr(stream, "cuda_stream", None)  # PyTorch: first, since such calls are many and short
    if found is not None:
        return int(found)
    if isinstance(stream, (int, np.integer)):
        return int(stream)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    if hasattr(stream, "ptr"):  # CuPy
        return int(stream.ptr)
    handle = getattr(stream, "handle", None)  # Numba
    if handle is not None:
        return int(getattr(handle, "value", handle) or 0)
    raise TypeError(f"{type(stream).__name__} is no CUDA stream and no OpenCL queue")


def _is_queue(stream: Any) -> bool:
    return type(stream).__module__.startswith("pyopencl")


@lru_cache(maxsize=None)
def _on_stream(name: str) -> Any:
    return getattr(lib, f"shmemx_{name}_on_stream")


def enqueue(name: str, stream: Any, wait_for: Events, arguments: Tuple[Any, ...], operand: Any = None) -> Any:
    """Call shmemx_NAME_on_stream or _on_queue. operand: memory of the program that the operation uses."""
    if _is_queue(stream):
        import pyopencl

        events = [ffi.cast("shmemx_event_t", event.int_ptr) for event in wait_for or []]
        listed = ffi.new("shmemx_event_t[]", events) if events else ffi.NULL
        made = ffi.new("shmemx_event_t *")
        queue = ffi.cast("shmemx_queue_t", stream.int_ptr)
        getattr(lib, f"shmemx_{name}_on_queue")(*arguments, queue, len(events), listed, made)
        event = pyopencl.Event.from_int_ptr(int(ffi.cast("uintptr_t", made[0])), False)
        if operand is not None:
            keep_enqueued(stream.int_ptr, event, operand)
        return event
    if wait_for:
        raise TypeError("a CUDA stream has no list of events")
    _on_stream(name)(*arguments, ffi.cast(_STREAM, cuda_handle(stream)))
    return None


_COPIED = (int, float, complex, np.generic, list, tuple)


def require_array(what: str, near: Any, stream: Any) -> None:
    """Raise unless the program keeps the memory of an operand on the local side, or the package does."""
    if isinstance(near, _COPIED) and not _is_queue(stream):
        raise TypeError(f"{what}: a stream needs an array, which the program keeps until the stream has passed, not "
                        f"{type(near).__name__}")


def _transfer(what: str, far: Any, near: Any, near_is_dest: bool, pe: int, stream: Any) -> Tuple[Any, Any, int]:
    require_array(what, near, stream)
    there, room, dtype = symmetric(far, not near_is_dest)
    here, nbytes, found = local(near, near_is_dest, dtype)
    same_type(dtype, found)
    if nbytes > room:
        raise ValueError(f"{what}: {nbytes} bytes do not fit into {room}")
    reachable(_DEFAULT, what, there, nbytes, pe)
    return there, here, nbytes


def put_on_stream(dest: Any, source: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """`put` in a stream."""
    d, s, n = _transfer("put_on_stream", dest, source, False, pe, stream)
    return enqueue("putmem", stream, wait_for, (d, s, n, pe), s)


def get_on_stream(dest: Any, source: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """`get` in a stream."""
    s, d, n = _transfer("get_on_stream", source, dest, True, pe, stream)
    return enqueue("getmem", stream, wait_for, (d, s, n, pe), d)


def p_on_stream(dest: Any, value: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """`p` in a stream: the value is that of the call. Its opposite is `get_on_stream` of one element."""
    d, _, dtype = symmetric(dest, True)
    if dtype is None or dtype.itemsize not in (1, 2, 4, 8):
        raise TypeError(f"p_on_stream is not defined for elements of type {dtype}")
    reachable(_DEFAULT, "p_on_stream", d, dtype.itemsize, pe)
    bits = int(np.array(value, dtype=dtype).view(f"u{dtype.itemsize}"))
    return enqueue(f"uint{8 * dtype.itemsize}_p", stream, wait_for, (d, bits, pe))


def _strided(routine: str, near: Any, dest: Any, source: Any, dst: int, sst: int, n: Optional[int], pe: int, stream: Any,
             wait_for: Events) -> Any:
    what = routine + "_on_stream"
    require_array(what, near, stream)
    plan = strided(routine, dest, source, dst, sst, 1, n)
    here, there = (plan.source, plan.dest) if routine == "iput" else (plan.dest, plan.source)
    reachable(_DEFAULT, what, there, plan.extent if plan.blocks else 0, pe)
    arguments = (plan.dest, plan.source, dst, sst, plan.blocks, pe)
    return enqueue(f"{routine}{8 * plan.size}", stream, wait_for, arguments, here)


def iput_on_stream(dest: Any, source: Any, dst: int, sst: int, pe: int, stream: Any, n: Optional[int] = None,
                   wait_for: Events = None) -> Any:
    """`iput` in a stream."""
    return _strided("iput", source, dest, source, dst, sst, n, pe, stream, wait_for)


def iget_on_stream(dest: Any, source: Any, dst: int, sst: int, pe: int, stream: Any, n: Optional[int] = None,
                   wait_for: Events = None) -> Any:
    """`iget` in a stream."""
    return _strided("iget", dest, dest, source, dst, sst, n, pe, stream, wait_for)


def signal(what: str, sig: Any, pe: int) -> Any:
    """The address of a signal on a PE."""
    ptr, nbytes, _ = word(sig, UINT64)
    reachable(_DEFAULT, what, ptr, nbytes, pe)
    return ptr


def put_signal_on_stream(dest: Any, source: Any, sig: Any, value: int, pe: int, stream: Any, op: int = 1,
                         wait_for: Events = None) -> Any:
    """`put_signal` in a stream."""
    if wait_for is None and _quick.put_signal_on_stream(dest, source, sig, value, pe, op, stream):
        return None
    d, s, n = _transfer("put_signal_on_stream", dest, source, False, pe, stream)
    arguments = (d, s, n, signal("put_signal_on_stream", sig, pe), value, op, pe)
    return enqueue("putmem_signal", stream, wait_for, arguments, s)


def signal_op_on_stream(sig: Any, value: int, pe: int, stream: Any, op: int = 1, wait_for: Events = None) -> Any:
    """Update a signal after the earlier puts of the stream to that PE: SIGNAL_SET or SIGNAL_ADD."""
    return enqueue("signal_op", stream, wait_for, (signal("signal_op_on_stream", sig, pe), value, op, pe))


def signal_wait_until_on_stream(sig: Any, cmp: Cmp, value: int, stream: Any, wait_for: Events = None) -> Any:
    """The stream waits until this PE's signal meets the condition; data that were put with it are then there."""
    number = _SIGNS.get(cmp) if isinstance(cmp, str) else cmp
    if wait_for is None and _quick.signal_wait_until_on_stream(sig, number, value, stream):
        return None
    require()
    mine = signal("signal_wait_until_on_stream", sig, lib.shmem_my_pe())
    return enqueue("signal_wait_until", stream, wait_for, (mine, comparison(cmp), value))


def fence_on_stream(stream: Any, wait_for: Events = None) -> Any:
    """What the stream has put before is delivered before what it puts later."""
    require()
    return enqueue("fence", stream, wait_for, ())


def quiet_on_stream(stream: Any, wait_for: Events = None) -> Any:
    """The stream waits until all its earlier puts have been delivered."""
    require()
    return enqueue("quiet", stream, wait_for, ())


def sync_all_on_stream(stream: Any, wait_for: Events = None) -> Any:
    """The stream waits until streams of all PEs have come to theirs. The same order of all these on every PE."""
    require()
    return enqueue("sync_all", stream, wait_for, ())


def barrier_all_on_stream(stream: Any, wait_for: Events = None) -> Any:
    """`quiet_on_stream`, then `sync_all_on_stream`."""
    require()
    return enqueue("barrier_all", stream, wait_for, ())
