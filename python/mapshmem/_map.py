# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a GPU as symmetric memory: `map` and the handles that it returns."""

from __future__ import annotations

import gc
import threading
from weakref import WeakSet
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

import numpy as np

from ._native import ffi, lib
from ._box import Box
from ._context import CTX_DEFAULT, SIGNAL_SET, Context
from ._device import CUDA, OPENCL, DeviceArray, device_array
from ._kernels._device_view import DeviceView, GpuArray, device_view
from ._errors import MapError, last_line, require
from ._operands import MappedMemory
from ._kernels._peer import Peer, peer
from ._quick import State
from ._stream import get_on_stream, put_on_stream, put_signal_on_stream
from ._team import TEAM_WORLD, Team

__all__ = ["CUDA", "OPENCL", "Mapped", "map", "my_device", "kernels_may_wait", "device_array"]


class _Mapping(State):
    """One call of shmmap, which all handles of it share. It keeps the array alive.

    lent: other PEs' copies that arrays of this process lie in."""

    __slots__ = ("keep", "base", "device", "lent", "view")

    def __init__(self, keep: Any, base: Any, is_writable: bool, device: int) -> None:
        self.keep = keep
        self.base = base
        self.device = device
        self.lent: WeakSet[Peer] = WeakSet()
        self.view: Optional[DeviceView] = None
        self.is_mapped = True
        self.is_writable = is_writable

    def require_unlent(self) -> None:
        """Raise BufferError while an array lies in another PE's copy: it would have no memory any more."""
        if self.lent:
            gc.collect()
        if self.lent:
            pes = sorted({made.pe for made in self.lent})
            raise BufferError(f"cannot unmap: arrays made by peer() are alive, in copies of PEs {pes}: delete them first")


_mappings: Dict[int, _Mapping] = {}
_lock = threading.Lock()


class Mapped(MappedMemory):
    """Memory of a GPU, or a part of it, as symmetric memory: a flat sequence of elements, in the order of memory.

    A handle goes wherever a symmetric array goes (`mapshmem.put(m, source, pe)`, atomic operations, signals,
    collectives), on the local side as well, and has the most used ones as methods. m[a:b] is a handle of a part, m[i]
    of one element. There is no way to read or write elements: the CPU cannot. As a context manager it ends by `unmap`.

    Transfers and the work of the GPU know nothing of each other, unless they go through a stream: synchronise the stream
    that writes a source before the transfer, and use `quiet`, a signal or a barrier before kernels read what has come.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __iter__ = None  # not iterable, though it has __getitem__

    def __init__(self, mapping: _Mapping, ptr: Any, nbytes: int, dtype: np.dtype) -> None:
        super().__init__(mapping, int(ffi.cast("uintptr_t", ptr)), nbytes, dtype)
        self._ptr = ptr

    def __repr__(self) -> str:
        state = "" if self._mapping.is_mapped else ", unmapped"
        return f"<mapshmem.Mapped {len(self)} x {self.dtype} at {self.address:#x}{state}>"

    def __len__(self) -> int:
        return self.nbytes // self.dtype.itemsize

    @property
    def address(self) -> int:
        """The symmetric address: a name for communication, behind which there is no memory."""
        return int(ffi.cast("uintptr_t", self._ptr))

    def __getitem__(self, index: Union[int, slice]) -> "Mapped":
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                raise IndexError("a part of mapped memory has no step: use iput, iget or box()")
        else:
            first = range(len(self))[index]
            last = first + 1
        size = self.dtype.itemsize
        ptr = ffi.cast("void *", ffi.cast("char *", self._ptr) + first * size)
        return Mapped(self._mapping, ptr, max(last - first, 0) * size, self.dtype)

    def __array__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError("mapped memory has no elements that the CPU could read: m.get(array, pe) copies them into an array")

    @property
    def shape(self) -> Tuple[int]:
        """The number of elements, as a shape: memory is flat."""
        return (len(self),)

    def view(self, dtype: Any) -> "Mapped":
        """The same memory with elements of another type."""
        kind = np.dtype(dtype)
        if self.nbytes % kind.itemsize:
            raise ValueError(f"{self.nbytes} bytes are no whole number of {kind}")
        return Mapped(self._mapping, self._ptr, self.nbytes, kind)

    def box(self, shape: Tuple[int, ...], pitches: Tuple[int, ...], offset: int = 0) -> Box:
        """A part of up to three dimensions for put_box and get_box: shape as numpy's; pitches are the elements from one
        to the next in each dimension, offset those before the first. IndexError if it does not fit."""
        size = self.dtype.itemsize
        if len(shape) != len(pitches):
            raise ValueError("a box needs a pitch for each dimension")
        last = offset + sum((extent - 1) * pitch for extent, pitch in zip(shape, pitches))
        if 0 not in shape and (offset < 0 or last >= len(self)):
            raise IndexError(f"the box ends at element {last} of {len(self)}")
        return Box(self, offset * size, tuple(shape), tuple(pitch * size for pitch in pitches))

    # ---- transfers: this memory on the other PE

    def put(self, source: Any, pe: int, *, nbi: bool = False, ctx: Context = CTX_DEFAULT, stream: Any = None) -> Any:
        """Copy source (host memory, a handle, any array on a CUDA GPU) into this memory on that PE. See Context.put.

        nbi: return at once, complete after quiet. stream: enqueue it there (see put_on_stream)."""
        if stream is None:
            return ctx.put_nbi(self, source, pe) if nbi else ctx.put(self, source, pe)
        return put_on_stream(self, source, pe, stream)

    def get(self, dest: Any, pe: int, *, nbi: bool = False, ctx: Context = CTX_DEFAULT, stream: Any = None) -> Any:
        """Copy this memory on that PE into dest, as many bytes as dest has. See Context.get."""
        if stream is not None:
            return get_on_stream(dest, self, pe, stream)
        return ctx.get_nbi(dest, self, pe) if nbi else ctx.get(dest, self, pe)

    def put_signal(self, source: Any, sig: Any, value: int, pe: int, op: int = SIGNAL_SET, *, nbi: bool = False,
                   ctx: Context = CTX_DEFAULT, stream: Any = None) -> Any:
        """`put`, and then update a signal on that PE. See Context.put_signal."""
        if stream is not None:
            return put_signal_on_stream(self, source, sig, value, pe, stream, op)
        return (ctx.put_signal_nbi if nbi else ctx.put_signal)(self, source, sig, value, pe, op)

    def p(self, value: Any, pe: int, *, ctx: Context = CTX_DEFAULT) -> None:
        """Put one element, the first of this memory."""
        ctx.p(self, value, pe)

    def g(self, pe: int, *, ctx: Context = CTX_DEFAULT) -> Any:
        """Get one element, the first of this memory."""
        return ctx.g(self, pe)

    # ---- collectives with this memory as dest

    def broadcast(self, source: Any = None, root: int = 0, team: Team = TEAM_WORLD, *, stream: Any = None) -> Any:
        """Broadcast the root's source (None: this memory of the root) into this memory of all PEs."""
        return team.broadcast(self, self if source is None else source, root, stream=stream)

    def reduce(self, operation: str, source: Any = None, team: Team = TEAM_WORLD, *, stream: Any = None) -> Any:
        """Combine source (None: this memory) of all PEs: "sum", "prod", "min", "max", "and", "or", "xor"."""
        if operation not in ("sum", "prod", "min", "max", "and", "or", "xor"):
            raise ValueError(f"no reduction {operation!r}")
        return getattr(team, operation + "_reduce")(self, self if source is None else source, stream=stream)

    # ---- other PEs' copies, for kernels

    def peer(self, pe: int) -> Optional[Peer]:
        """That PE's copy of this memory as an array that kernels read and write, or None where they do not reach it: on
        another node, through the host, in memory of OpenCL. Local. For arrays of the heap see `remote_view`."""
        require()
        return peer(self, pe)

    def peers(self) -> GpuArray:
        """The addresses of this memory in the copies of all PEs, as kernels of this PE reach them, as uint64 in memory of
        the GPU; 0 for PEs whose copy they do not reach. Local; valid until `unmap`."""
        require()
        there = [lib.shmem_ptr(self._ptr, pe) for pe in range(lib.shmem_n_pes())]
        return GpuArray(np.array([int(ffi.cast("uintptr_t", ptr)) for ptr in there], np.uint64), self._mapping)

    def device_view(self) -> DeviceView:
        """What kernels need to communicate on this memory with the calls of shmemx_device.h. Local. Once for an object."""
        mapping = self._mapping
        if mapping.view is None:
            mapping.view = device_view(self)
        return mapping.view

    # ---- the end

    def route(self, pe: int) -> Optional[str]:
        """How bytes get to this memory on that PE: "local", "cuda-ipc", "shared", "cuda-shadow", "gdr", "staged"..."""
        require()
        name = lib.shmemx_route(self._ptr, pe)
        return None if name == ffi.NULL else ffi.string(name).decode()

    def unmap(self) -> None:
        """End the map, of whose handles none can be used any more. Collective; a barrier on entry, which completes all
        transfers. The memory stays its owner's. Once is enough. BufferError, before anything is done, while an array made
        by `peer` is alive."""
        mapping = self._mapping
        if not mapping.is_mapped:
            return
        if lib.mapshmem_py_running():
            mapping.require_unlent()
            CTX_DEFAULT._kept.complete(lib.shmumap, mapping.base)
        _forget(mapping)

    def __enter__(self) -> "Mapped":
        return self

    def __exit__(self, *exception: Any) -> None:
        if exception[0] is None:
            self.unmap()


def _forget(mapping: _Mapping) -> None:
    mapping.is_mapped = mapping.is_writable = False
    mapping.keep = mapping.view = None
    with _lock:
        _mappings.pop(int(ffi.cast("uintptr_t", mapping.base)), None)


def forget_all() -> None:
    """finalize has unmapped everything."""
    with _lock:
        left: List[_Mapping] = list(_mappings.values())
    for mapping in left:
        _forget(mapping)


def _refused(error: Optional[Exception]) -> NoReturn:
    text = ffi.string(lib.shmemx_strerror()).decode(errors="replace")
    line = last_line()
    if error is not None:
        raise MapError(f"map: {error}", line) from error
    hint = " (the exception of that PE says why)" if "it has nothing to map" in text else ""
    raise MapError(f"map: {text}{hint}", line)


def _examine(x: Any, writable: Optional[bool], dtype: Any) -> DeviceArray:
    found = device_array(x, dtype)
    if found is None:
        raise TypeError(f"{type(x).__name__} is no memory on a GPU: it has no __cuda_array_interface__, is not on a CUDA "
                        "device for DLPack, and is no buffer of PyOpenCL; arrays of the CPU belong in the symmetric heap: mapshmem.array")
    if writable:
        found.is_read_only = False
    found.check(writable is None)
    if not found.nbytes:
        raise ValueError("the array on the GPU has no elements")
    return found


def map(x: Any, *, writable: Optional[bool] = None, dtype: Any = None) -> Mapped:
    """Make the memory of an array on a GPU symmetric, without copying it; the result is a handle for communication.

    Collective over all PEs; each passes its own array, and all the same size. x: anything with __cuda_array_interface__ or
    DLPack on a CUDA device (CuPy, PyTorch, JAX, Numba), or a Buffer or array of PyOpenCL. It stays alive until `unmap`.

    writable: None refuses arrays that say they are read-only (those of JAX); False accepts them for gets, and for the
    local side of puts; True lets other PEs write them all the same. dtype: type of elements of a PyOpenCL buffer (bytes).

    MapError on all PEs if one refuses, with the PE and the cause: an array that is not contiguous, read-only, empty, or
    on the CPU; memory that is mapped already; sizes that differ. One thread of a PE at a time.
    """
    require()
    try:
        found = _examine(x, writable, dtype)
    except (TypeError, ValueError, BufferError) as error:
        lib.shmmap(ffi.NULL, 0, 0)  # so that the other PEs learn of it
        _refused(error)
    kind = found.kind
    buffer = ffi.new("void *[1]", [ffi.cast("void *", found.address)])
    base = lib.shmmap(buffer if kind == OPENCL else buffer[0], found.nbytes, kind)
    if not base:
        _refused(None)
    mapping = _Mapping((found.keep, buffer), base, not (found.is_read_only or writable is False), found.device)
    with _lock:
        _mappings[int(ffi.cast("uintptr_t", base))] = mapping
    return Mapped(mapping, base, found.nbytes, found.dtype)


def my_device(kind: int = CUDA) -> int:
    """The device that this PE should use: a CUDA ordinal, or for OPENCL the index among all devices that OpenCL lists (of
    GPUs, if there are any). -1: there is none. Local."""
    require()
    return int(lib.shmemx_my_device(kind))


def kernels_may_wait(kind: int = CUDA) -> bool:
    """May kernels of this PE wait for what other PEs do? Local; after the first map."""
    require()
    return bool(lib.shmemx_kernels_may_wait(kind))
