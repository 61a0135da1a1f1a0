# SPDX-License-Identifier: BSD-3-Clause
"""Numpy arrays on the symmetric heap.

They are ordinary arrays of numpy: every function of numpy works on them, and other PEs reach them. They are allocated by
all PEs together, so they must be freed by all PEs together: Python's garbage collector works on each PE at another time,
and frees nothing of the heap. An array that is collected although nobody has freed it gives a ResourceWarning, and its
memory stays taken until `finalize`.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from ._native import ffi, lib
from ._errors import NotSymmetric, fail, last_line, require
from ._kept import keep_prepared, release_prepared
from ._operands import local, symmetric

Shape = Union[int, Sequence[int]]

MALLOC_ATOMICS_REMOTE = 1
MALLOC_SIGNAL_REMOTE = 2


class _Block:
    """Memory of the heap, which the arrays made of it keep by their base."""

    __slots__ = ("address", "nbytes", "is_freed", "__array_interface__", "__weakref__")

    def __init__(self, address: int, nbytes: int) -> None:
        self.address = address
        self.nbytes = nbytes
        self.is_freed = False
        self.__array_interface__ = {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, False)}

    def __del__(self) -> None:
        if not self.is_freed and lib is not None and lib.mapshmem_py_running():
            warnings.warn(f"an array of {self.nbytes} bytes on the symmetric heap was never freed "
                          "(mapshmem.free, on all PEs together)", ResourceWarning, stacklevel=2)


_blocks: Dict[int, Any] = {}  # address: weak reference to its block
_lock = threading.Lock()


def forget_all() -> None:
    """The heap has gone."""
    with _lock:
        for reference in _blocks.values():
            if (block := reference()) is not None:
                block.is_freed = True
        _blocks.clear()


def _adopt(ptr: Any, shape: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = _Block(int(ffi.cast("uintptr_t", ptr)), nbytes)
    with _lock:
        _blocks[block.address] = weakref.ref(block)
    return np.asarray(block)[:nbytes].view(dtype).reshape(shape)


def _shape(shape: Shape) -> Tuple[int, ...]:
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(int(extent) for extent in shape)


def _out_of_memory(nbytes: int) -> MemoryError:
    """With the library's line, which only one PE writes."""
    return MemoryError(last_line() or f"no room for {nbytes} bytes on the symmetric heap: {heap_info()}; "
                       "SHMEM_SYMMETRIC_SIZE sets its size")


def empty(shape: Shape, dtype: Any = float, *, hints: int = 0, align: int = 0) -> np.ndarray:
    """A symmetric array with any content. Collective over all PEs, with the same arguments; a barrier on exit.

    hints: MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE or their sum. align: alignment in bytes, a power of two.
    An array without elements takes no memory, and is no symmetric object. MemoryError if the heap has no room.
    One thread of a PE at a time.
    """
    require()
    extents, kind = _shape(shape), np.dtype(dtype)
    if kind.hasobject:
        raise TypeError("objects of Python cannot be symmetric")
    nbytes = kind.itemsize * int(np.prod(extents, dtype=np.int64))
    if nbytes == 0:
        return np.empty(extents, kind)
    if align:
        ptr = lib.shmem_align(align, nbytes)
    elif hints:
        ptr = lib.shmem_malloc_with_hints(nbytes, hints)
    else:
        ptr = lib.shmem_malloc(nbytes)
    if not ptr:
        raise _out_of_memory(nbytes)
    return _adopt(ptr, extents, kind)


def full(shape: Shape, value: Any, dtype: Any = None, **options: int) -> np.ndarray:
    """A symmetric array in which every element is value. Collective, as `empty`, and ends with a barrier."""
    array = empty(shape, np.asarray(value).dtype if dtype is None else dtype, **options)
    array[...] = value
    lib.shmem_sync_all()
    return array


def zeros(shape: Shape, dtype: Any = float, **options: int) -> np.ndarray:
    """A symmetric array of zeros on all PEs. Collective, as `empty`, and ends with a barrier."""
    return full(shape, 0, dtype, **options)


def ones(shape: Shape, dtype: Any = float, **options: int) -> np.ndarray:
    """A symmetric array of ones on all PEs. Collective, as `empty`, and ends with a barrier."""
    return full(shape, 1, dtype, **options)


def array(values: Any, dtype: Any = None, **options: int) -> np.ndarray:
    """A symmetric copy of this PE's values, which must have the same shape and type on all PEs. Collective; ends with a
    barrier."""
    source = np.asarray(values, dtype=dtype)
    return full(source.shape, source, source.dtype, **options)


def empty_like(prototype: Any, **options: int) -> np.ndarray:
    """A symmetric array of the shape and type of another one. Collective, as `empty`."""
    return empty(np.shape(prototype), np.asarray(prototype).dtype, **options)


def zeros_like(prototype: Any, **options: int) -> np.ndarray:
    """A symmetric array of zeros with the shape and type of another one. Collective, as `zeros`."""
    return zeros(np.shape(prototype), np.asarray(prototype).dtype, **options)


def _take(array: np.ndarray, what: str) -> Optional[_Block]:
    """The block that the array begins, which is then nobody's."""
    address = int(array.__array_interface__["data"][0])
    with _lock:
        reference = _blocks.get(address)
        block: Optional[_Block] = reference() if reference is not None else None
        if block is None:
            raise NotSymmetric(f"{what}: the array does not begin where an array of the symmetric heap begins, or was freed")
        del _blocks[address]
        block.is_freed = True
    return block


def free(array: np.ndarray) -> None:
    """Free an array of `empty` and its kind. Collective over all PEs, with the same array; a barrier on entry.

    Neither this array nor views of it may be touched afterwards: the memory may be another array's.
    One thread of a PE at a time.
    """
    require()
    if array.nbytes == 0:
        return
    block = _take(array, "free")
    assert block is not None
    lib.shmem_free(ffi.cast("void *", block.address))


def realloc(array: np.ndarray, shape: Shape) -> np.ndarray:
    """An array of another size that begins with the elements of this one, which must not be used any more.

    Collective, with barriers on entry and exit. MemoryError if there is no room: the old array then stays.
    """
    require()
    extents = _shape(shape)
    nbytes = array.dtype.itemsize * int(np.prod(extents, dtype=np.int64))
    if array.nbytes == 0 or nbytes == 0:
        free(array)
        return empty(extents, array.dtype)
    block = _take(array, "realloc")
    assert block is not None
    ptr = lib.shmem_realloc(ffi.cast("void *", block.address), nbytes)
    if not ptr:
        with _lock:
            block.is_freed = False
            _blocks[block.address] = weakref.ref(block)
        raise _out_of_memory(nbytes)
    return _adopt(ptr, extents, array.dtype)


def heap_info() -> Dict[str, int]:
    """This PE's heap in bytes: "size", "used", and "largest_free", the most that one array could get. Local."""
    require()
    info = ffi.new("shmemx_heap_info_t *")
    lib.shmemx_heap_info(info)
    return {"size": info.size, "used": info.used, "largest_free": info.largest_free}


def addr_accessible(array: Any, pe: int) -> bool:
    """Can this PE reach the array on that PE? Local."""
    require()
    return bool(lib.shmem_addr_accessible(symmetric(array)[0], pe))


def remote_view(array: np.ndarray, pe: int) -> Optional[np.ndarray]:
    """shmem_ptr: that PE's copy of the array, to be read and written by load and store, or None if it is out of reach.

    Arrays of the heap can be viewed on the PEs of this node; GPU memory never. Valid until the array is freed.
    """
    require()
    ptr, nbytes, dtype = symmetric(array)
    there = lib.shmem_ptr(ptr, pe) if isinstance(array, np.ndarray) and nbytes else ffi.NULL
    if not there or dtype is None:
        return None
    return np.frombuffer(ffi.buffer(there, nbytes), dtype=dtype).reshape(array.shape)


def prepare(array: Any) -> None:
    """Page-lock private memory, and register it with the network, for many transfers. Local.

    The package keeps the array alive until `release`. Error with the library's line for symmetric or mapped memory on a
    GPU, for overlaps with another prepared range, and if there is no memory.
    """
    require()
    ptr, nbytes, _ = _whole(array)
    if status := lib.shmemx_prepare(ptr, nbytes):
        fail("shmemx_prepare", status)
    keep_prepared(int(ffi.cast("uintptr_t", ptr)), ptr)


def release(array: Any) -> None:
    """Undo one `prepare` of the memory that begins where the array does. Local."""
    require()
    ptr = _whole(array)[0]
    if status := lib.shmemx_release(ptr):
        fail("shmemx_release", status)
    release_prepared(int(ffi.cast("uintptr_t", ptr)))


MEMORY_PREPARED = 1
MEMORY_LOCKED = 2
MEMORY_REGISTERED = 4


def prepared(array: Any) -> int:
    """What `prepare` has reached for this memory: a sum of MEMORY_PREPARED, MEMORY_LOCKED, MEMORY_REGISTERED. Local."""
    require()
    ptr, nbytes, _ = _whole(array)
    return int(lib.shmemx_prepared(ptr, nbytes))


def _whole(array: Any) -> Tuple[Any, int, Any]:
    return local(array, False, None)
