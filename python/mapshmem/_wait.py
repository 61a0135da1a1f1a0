# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for words, signals and locks of this PE that other PEs change.

Words are symmetric elements of int32, int64, uint32 or uint64, in the heap or mapped. Other threads of Python run while
one waits; KeyboardInterrupt comes only when the routine returns.

cmp is one of CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE, or "==", "!=", ">", ">=", "<", "<=".
"""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import numpy as np

from ._native import ffi, lib
from ._errors import NotSymmetric, require
from ._operands import UINT64, symmetric, typed, word

CMP_EQ = 1
CMP_NE = 2
CMP_GT = 3
CMP_GE = 4
CMP_LT = 5
CMP_LE = 6

Cmp = Union[int, str]
_SIGNS = {"==": CMP_EQ, "!=": CMP_NE, ">": CMP_GT, ">=": CMP_GE, "<": CMP_LT, "<=": CMP_LE}
_NONE = 2**64 - 1  # SIZE_MAX: the library's answer if there is no such word


def comparison(cmp: Cmp) -> int:
    """The number of a comparison."""
    number = _SIGNS.get(cmp) if isinstance(cmp, str) else cmp
    if number is None or not CMP_EQ <= number <= CMP_LE:
        raise ValueError(f"{cmp!r} is no comparison: use '==', '!=', '>', '>=', '<', '<=' or CMP_EQ...")
    return number


def _mine(what: str, ptr: Any) -> Any:
    require()
    if not lib.shmem_addr_accessible(ptr, lib.shmem_my_pe()):
        raise NotSymmetric(f"{what}: the array is not symmetric: make it with mapshmem.empty, zeros or array, or map it")
    return ptr


def _one(verb: str, ivar: Any, cmp: Cmp, value: int) -> Any:
    ptr, _, dtype = word(ivar)
    return typed("shmem_{}_" + verb, dtype, verb)(_mine(verb, ptr), comparison(cmp), value)


def wait_until(ivar: Any, cmp: Cmp, value: int) -> None:
    """Wait until one word meets the condition."""
    _one("wait_until", ivar, cmp, value)


def test(ivar: Any, cmp: Cmp, value: int) -> bool:
    """Does one word meet the condition?"""
    return bool(_one("test", ivar, cmp, value))


def status_of(status: Optional[Any], n: int) -> Tuple[Any, Any]:
    """The address of the status of n words, and what to keep until the call returns."""
    if status is None:
        return ffi.NULL, None
    ignored = np.ascontiguousarray(status, dtype=np.int32)
    if ignored.size != n:
        raise ValueError(f"status has {ignored.size} elements for {n} words")
    return ffi.cast("const int *", ffi.from_buffer("int[]", ignored)), ignored


def _set(routine: str, ivars: Any, cmp: Cmp, value: Any, status: Optional[Any], indices: Optional[np.ndarray]) -> Any:
    ptr, nbytes, dtype = symmetric(ivars)
    assert dtype is not None
    n = nbytes // dtype.itemsize
    vector = np.ndim(value) > 0
    call = typed("shmem_{}_" + routine + ("_vector" if vector else ""), dtype, routine)
    if n:
        _mine(routine, ptr)
    ignored, kept_status = status_of(status, n)
    values = value
    if vector:
        kept = np.ascontiguousarray(value, dtype=dtype)
        if kept.size != n:
            raise ValueError(f"{kept.size} values for {n} words")
        values = ffi.from_buffer("char[]", kept)
    places = [] if indices is None else [ffi.from_buffer("char[]", indices)]
    done = call(ptr, n, *places, ignored, comparison(cmp), values)
    del kept_status
    return done


def wait_until_all(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> None:
    """Wait until every word meets the condition. value is a number, or has one for each word; words whose status is not
    0 are left out. So in all forms below."""
    _set("wait_until_all", ivars, cmp, value, status, None)


def wait_until_any(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> Optional[int]:
    """Wait until a word meets the condition; returns its index, or None if all are left out."""
    index = int(_set("wait_until_any", ivars, cmp, value, status, None))
    return None if index == _NONE else index


def _some(routine: str, ivars: Any, cmp: Cmp, value: Any, status: Optional[Any]) -> np.ndarray:
    _, nbytes, dtype = symmetric(ivars)
    assert dtype is not None
    indices = np.empty(max(nbytes // dtype.itemsize, 1), dtype=np.uintp)
    return indices[: int(_set(routine, ivars, cmp, value, status, indices))]


def wait_until_some(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> np.ndarray:
    """Wait until a word meets the condition; returns the indices of all that do."""
    return _some("wait_until_some", ivars, cmp, value, status)


def test_all(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> bool:
    """Does every word meet the condition?"""
    return bool(_set("test_all", ivars, cmp, value, status, None))


def test_any(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> Optional[int]:
    """The index of a word that meets the condition, or None."""
    index = int(_set("test_any", ivars, cmp, value, status, None))
    return None if index == _NONE else index


def test_some(ivars: Any, cmp: Cmp, value: Any, status: Optional[Any] = None) -> np.ndarray:
    """The indices of all words that meet the condition."""
    return _some("test_some", ivars, cmp, value, status)


# ---- signals


def signal_fetch(sig: Any) -> int:
    """The value of this PE's signal (one symmetric uint64); data that were put with it have arrived."""
    return int(lib.shmem_signal_fetch(_mine("signal_fetch", word(sig, UINT64)[0])))


def signal_wait_until(sig: Any, cmp: Cmp, value: int) -> int:
    """Wait until this PE's signal meets the condition; returns its value. Data that were put with it have arrived."""
    return int(lib.shmem_signal_wait_until(_mine("signal_wait_until", word(sig, UINT64)[0]), comparison(cmp), value))


# ---- locks

_INT64 = np.dtype(np.int64)


class Lock:
    """A lock of all PEs: one symmetric int64, made collectively and freed by `free`. PEs get it in the order in which
    they ask. As a context manager it is held within the block. Only in the heap, never in memory of a GPU.

    An existing int64 of the heap that is 0 on all PEs may be given.
    """

    def __init__(self, lock: Optional[np.ndarray] = None) -> None:
        from ._heap import zeros

        self._word = zeros(1, np.int64) if lock is None else lock
        self._ptr = _mine("Lock", word(self._word, _INT64)[0])

    def acquire(self) -> None:
        """Wait until this PE holds the lock. It must not hold it already."""
        require()
        lib.shmem_set_lock(self._ptr)

    def release(self) -> None:
        """Complete what was issued on the default context, and give the lock back."""
        require()
        lib.shmem_clear_lock(self._ptr)

    def test(self) -> bool:
        """Take the lock if it is free; returns whether this PE now holds it. Does not wait."""
        require()
        return not lib.shmem_test_lock(self._ptr)

    def free(self) -> None:
        """Free the word. Collective over all PEs."""
        from ._heap import free

        self._ptr = None
        free(self._word)

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.release()
