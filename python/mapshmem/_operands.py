# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of transfers: from arrays to addresses.

A transfer has a symmetric side (an array of the symmetric heap, or a handle of `map`) and a local side, which may be
any memory of this process: numpy arrays and other buffers, handles, and arrays on a CUDA GPU that are not mapped.
Arrays must be contiguous in the order of C; nothing is ever copied to make them so.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from ._device import device_array, host_array
from ._errors import refuse
from ._native import ffi, lib
from ._quick import Memory

_from_buffer = ffi.from_buffer
_ndarray = np.ndarray
_BYTES = ffi.typeof("char[]")
_check = lib.mapshmem_py_check

# The address (for cffi), the size in bytes, the type of elements or None.
Operand = Tuple[Any, int, Optional[np.dtype]]


class MappedMemory(Memory):
    """What Mapped (_map.py) is to transfers: memory of a GPU in the symmetric address space."""

    __slots__ = ("_ptr",)

    _ptr: Any


def _array(array: np.ndarray, write: bool) -> Operand:
    try:
        return _from_buffer(_BYTES, array, write), array.nbytes, array.dtype
    except (ValueError, BufferError, TypeError) as error:
        if not array.flags.c_contiguous:
            raise ValueError("the array is not contiguous: use put_box or get_box, iput or iget, or a copy") from error
        if write and not array.flags.writeable:
            raise ValueError("the array is read-only") from error
        # types that the buffer protocol does not know (datetime64, bfloat16 of ml_dtypes)
        return _from_buffer(_BYTES, array.view(np.uint8).reshape(-1), write), array.nbytes, array.dtype


def symmetric(x: Any, write: bool = False) -> Operand:
    """The symmetric side. Whether the memory is symmetric the caller finds out with reachable()."""
    if type(x) is _ndarray:  # isinstance() takes long to say no
        return _array(x, write)
    if isinstance(x, MappedMemory):
        mapping = x._mapping
        if mapping.is_writable or (mapping.is_mapped and not write):
            return x._ptr, x.nbytes, x.dtype
        raise ValueError("the mapped memory is read-only" if mapping.is_mapped else "the memory has been unmapped")
    if isinstance(x, np.ndarray):
        return _array(x, write)
    if isinstance(x, np.generic):
        raise TypeError("a numpy scalar is a copy and has no symmetric address: pass a[i:i+1] instead of a[i]")
    raise TypeError(f"{type(x).__name__} is not symmetric memory: pass an array of the symmetric heap or a handle of map()")


def local(x: Any, write: bool, dtype: Optional[np.dtype]) -> Operand:
    """The local side. Numbers, lists and tuples become an array of the other side's type where they are only read."""
    if isinstance(x, (np.ndarray, MappedMemory)):
        return symmetric(x, write)
    x = host_array(x)
    if isinstance(x, np.ndarray):
        return _array(x, write)
    found = device_array(x)
    if found is not None:
        return found.operand(write)
    if isinstance(x, (int, float, complex, np.generic, list, tuple)) and not write:
        return _array(np.ascontiguousarray(x, dtype=dtype), False)
    try:
        buffer = _from_buffer(_BYTES, x, write)
    except (TypeError, BufferError, ValueError) as error:
        raise TypeError(f"cannot transfer {'to' if write else 'from'} {type(x).__name__}: {error}") from error
    return buffer, len(buffer), None


def same_type(a: Optional[np.dtype], b: Optional[np.dtype]) -> None:
    """A transfer moves bytes and converts nothing, so elements of two different types are a mistake."""
    if a is not b and a is not None and b is not None and a != b and "V" not in (a.kind, b.kind):
        raise TypeError(f"the elements are {a} on one side and {b} on the other: a transfer converts nothing; use view()")


def reachable(ctx: Any, what: str, ptr: Any, nbytes: int, pe: int) -> None:
    """Raise unless nbytes at the address are symmetric, and the context has that PE."""
    problem = _check(ctx, ptr, nbytes, pe)
    if problem:
        refuse(problem, what, nbytes, pe)


def word(x: Any, dtype: Optional[np.dtype] = None) -> Operand:
    """One symmetric element, for atomic operations, signals and waits."""
    ptr, nbytes, found = symmetric(x)
    if found is None or nbytes != found.itemsize:
        raise ValueError(f"one element is needed, not {nbytes} bytes: pass a[i:i+1]")
    if dtype is not None and found != dtype:
        raise TypeError(f"the element is {found}, but {dtype} is needed")
    return ptr, nbytes, found


UINT64 = np.dtype(np.uint64)

# Names of types in routines, by numpy's kind and size: "q" and "l" are both of 64 bits here.
_NAMES = {
    ("i", 1): "int8", ("i", 2): "int16", ("i", 4): "int32", ("i", 8): "int64",
    ("u", 1): "uint8", ("u", 2): "uint16", ("u", 4): "uint32", ("u", 8): "uint64",
    ("f", 2): "half", ("f", 4): "float", ("f", 8): "double", ("f", 16): "longdouble", ("c", 8): "complexf", ("c", 16): "complexd",
}  # fmt: skip


def type_name(dtype: Optional[np.dtype], what: str) -> str:
    """As in shmem_NAME_sum_reduce; elements in a foreign byte order have none."""
    name = _NAMES.get((dtype.kind, dtype.itemsize)) if dtype is not None and dtype.isnative else None
    if name is None and dtype is not None and "bfloat16" in (dtype.names or (dtype.name,)):
        return "bfloat16"
    if name is None:
        raise TypeError(f"{what} is not defined for elements of type {dtype}")
    return name


def typed(pattern: str, dtype: Optional[np.dtype], what: str) -> Any:
    """The routine pattern.format(NAME) of the library."""
    routine = getattr(lib, pattern.format(type_name(dtype, what)), None)
    if routine is None:
        raise TypeError(f"{what} is not defined for elements of type {dtype}")
    return routine


class Strided(NamedTuple):
    """Blocks of block elements, whose beginnings are dst and sst elements apart, and the bytes from the first to the last
    on the symmetric side."""

    dest: Any
    source: Any
    size: int
    blocks: int
    extent: int


def _blocks_in(elements: int, stride: int, block: int) -> int:
    return 0 if elements < block or stride <= 0 else (elements - block) // stride + 1


def strided(routine: str, dest: Any, source: Any, dst: int, sst: int, block: int, count: Optional[int]) -> Strided:
    """Operands of a routine whose name ends in put or get. count: None stands for as many as fit both."""
    to = routine.endswith("put")
    d, dest_bytes, dtype = symmetric(dest, True) if to else local(dest, True, None)
    s, source_bytes, found = local(source, False, dtype) if to else symmetric(source)
    same_type(dtype, found)
    if dtype is None or dtype.itemsize not in (1, 2, 4, 8, 16):
        raise TypeError(f"{routine} is not defined for elements of type {dtype}")
    size = dtype.itemsize
    room = [_blocks_in(nbytes // size, stride, block) for nbytes, stride in ((dest_bytes, dst), (source_bytes, sst))]
    if count is None:
        count = min(room)
    if dst < block or sst < block or count < 0 or count > min(room):
        raise ValueError(f"{routine}: {count} blocks of {block} with strides {dst} and {sst} do not fit: "
                         f"dest has room for {room[0]}, the source for {room[1]}")
    return Strided(d, s, size, count, ((count - 1) * (dst if to else sst) + block) * size)
