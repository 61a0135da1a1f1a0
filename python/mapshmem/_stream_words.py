# SPDX-License-Identifier: BSD-3-Clause
"""Atomic operations, waits and signals in CUDA streams and OpenCL queues: as in _stream.py, where the words are said.

Routines that return a value elsewhere have an array of one element for it as their first argument, which holds the value
when what is enqueued later begins. Words are those of _context.py and _wait.py. Where a comparison is GT, GE, LT or LE, the
sign of the difference decides: values must be less than half the range of their type apart.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import numpy as np

from ._native import ffi, lib
from ._errors import require
from ._operands import Operand, UINT64, local, reachable, same_type, symmetric, type_name, word
from ._stream import Events, enqueue, require_array, signal
from ._wait import Cmp, comparison, status_of

_DEFAULT = lib.SHMEM_CTX_DEFAULT


def _call(operation: str, dtype: Optional[np.dtype], stream: Any, wait_for: Events, arguments: Tuple[Any, ...],
          operand: Any = None) -> Any:
    name = f"{type_name(dtype, operation)}_{operation}"
    if not hasattr(lib, f"shmemx_{name}_on_stream"):
        raise TypeError(f"{operation} in a stream is not defined for elements of type {dtype}")
    return enqueue(name, stream, wait_for, arguments, operand)


def _result(what: str, fetch: Any, dtype: Optional[np.dtype], stream: Any) -> Any:
    """The address for one word."""
    require_array(what, fetch, stream)
    address, room, found = local(fetch, True, dtype)
    same_type(dtype, found)
    if dtype is None or room < dtype.itemsize:
        raise ValueError(f"{what}: there is no room for one element of type {dtype}")
    return address


def _far(what: str, dest: Any, pe: int) -> Operand:
    found = word(dest)
    reachable(_DEFAULT, what, found[0], found[1], pe)
    return found


def _update(operation: str, dest: Any, values: Tuple[Any, ...], pe: int, stream: Any, wait_for: Events) -> Any:
    d, _, dtype = _far(operation + "_on_stream", dest, pe)
    return _call(operation, dtype, stream, wait_for, (d, *values, pe))


def _fetch(operation: str, fetch: Any, dest: Any, values: Tuple[Any, ...], pe: int, stream: Any, wait_for: Events) -> Any:
    what = operation + "_on_stream"
    d, _, dtype = _far(what, dest, pe)
    f = _result(what, fetch, dtype, stream)
    return _call(operation, dtype, stream, wait_for, (f, d, *values, pe), f)


def _named(function: Callable[..., Any], operation: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = operation + "_on_stream"
    function.__doc__ = text
    return function


def _with_value(operation: str, text: str) -> Callable[..., Any]:
    def update(dest: Any, value: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
        return _update(operation, dest, (value,), pe, stream, wait_for)

    return _named(update, operation, text)


def _fetch_with_value(operation: str, text: str) -> Callable[..., Any]:
    def update(fetch: Any, dest: Any, value: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
        return _fetch(operation, fetch, dest, (value,), pe, stream, wait_for)

    return _named(update, operation, text)


atomic_set_on_stream = _with_value("atomic_set", "Set one element on that PE.")
atomic_add_on_stream = _with_value("atomic_add", "Add to one element on that PE.")
atomic_and_on_stream = _with_value("atomic_and", "AND one element on that PE with value.")
atomic_or_on_stream = _with_value("atomic_or", "OR one element on that PE with value.")
atomic_xor_on_stream = _with_value("atomic_xor", "XOR one element on that PE with value.")
atomic_swap_on_stream = _fetch_with_value("atomic_swap", "Set one element on that PE; its old value comes to fetch.")
atomic_fetch_add_on_stream = _fetch_with_value("atomic_fetch_add", "`atomic_add`; the old value comes to fetch.")
atomic_fetch_and_on_stream = _fetch_with_value("atomic_fetch_and", "`atomic_and`; the old value comes to fetch.")
atomic_fetch_or_on_stream = _fetch_with_value("atomic_fetch_or", "`atomic_or`; the old value comes to fetch.")
atomic_fetch_xor_on_stream = _fetch_with_value("atomic_fetch_xor", "`atomic_xor`; the old value comes to fetch.")


def atomic_inc_on_stream(dest: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """Add 1 to one element on that PE."""
    return _update("atomic_inc", dest, (), pe, stream, wait_for)


def atomic_fetch_on_stream(fetch: Any, source: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """The value of one element on that PE comes to fetch."""
    return _fetch("atomic_fetch", fetch, source, (), pe, stream, wait_for)


def atomic_fetch_inc_on_stream(fetch: Any, dest: Any, pe: int, stream: Any, wait_for: Events = None) -> Any:
    """Add 1 to one element on that PE; its old value comes to fetch."""
    return _fetch("atomic_fetch_inc", fetch, dest, (), pe, stream, wait_for)


def atomic_compare_swap_on_stream(fetch: Any, dest: Any, cond: int, value: int, pe: int, stream: Any,
                                  wait_for: Events = None) -> Any:
    """Set one element on that PE to value if it is cond; its old value comes to fetch."""
    return _fetch("atomic_compare_swap", fetch, dest, (cond, value), pe, stream, wait_for)


# ---- waits


def _mine(what: str, ivars: Any) -> Operand:
    found = symmetric(ivars)
    reachable(_DEFAULT, what, found[0], found[1], lib.shmem_my_pe())
    return found


def wait_until_on_stream(ivar: Any, cmp: Cmp, value: int, stream: Any, wait_for: Events = None) -> Any:
    """The stream waits until one word of this PE meets the condition."""
    require()
    ptr, _, dtype = _far("wait_until_on_stream", ivar, lib.shmem_my_pe())
    return _call("wait_until", dtype, stream, wait_for, (ptr, comparison(cmp), value))


def wait_until_all_on_stream(ivars: Any, cmp: Cmp, value: int, stream: Any, status: Optional[Any] = None,
                             wait_for: Events = None) -> Any:
    """The stream waits until every word has met the condition; words whose status, as it is now, is not 0 are left out."""
    require()
    ptr, nbytes, dtype = _mine("wait_until_all_on_stream", ivars)
    assert dtype is not None
    n = nbytes // dtype.itemsize
    ignored, kept = status_of(status, n)
    done = _call("wait_until_all", dtype, stream, wait_for, (ptr, n, ignored, comparison(cmp), value))
    del kept
    return done


def wait_until_any_on_stream(index: Any, ivars: Any, cmp: Cmp, value: int, stream: Any, status: Optional[Any] = None,
                             wait_for: Events = None) -> Any:
    """The stream waits until a word meets the condition. Its number comes to index, one uint64: 2^64 - 1 if all are left
    out."""
    require()
    ptr, nbytes, dtype = _mine("wait_until_any_on_stream", ivars)
    assert dtype is not None
    n = nbytes // dtype.itemsize
    ignored, kept = status_of(status, n)
    place = _result("wait_until_any_on_stream", index, UINT64, stream)
    arguments = (place, ptr, n, ignored, comparison(cmp), value)
    done = _call("wait_until_any", dtype, stream, wait_for, arguments, place)
    del kept
    return done


# ---- signals of this PE


def signal_fetch_on_stream(fetch: Any, sig: Any, stream: Any, wait_for: Events = None) -> Any:
    """The value of this PE's signal comes to fetch, one uint64; data that were put with it have arrived."""
    require()
    mine = signal("signal_fetch_on_stream", sig, lib.shmem_my_pe())
    place = _result("signal_fetch_on_stream", fetch, UINT64, stream)
    return enqueue("signal_fetch", stream, wait_for, (place, mine), place)


def signal_wait_until_set_on_stream(sig: Any, cmp: Cmp, value: int, new_value: int, stream: Any,
                                    wait_for: Events = None) -> Any:
    """`signal_wait_until_on_stream`, and then set the signal to new_value: for graphs, which are launched again. The next
    update may come only when that is done."""
    require()
    mine = signal("signal_wait_until_set_on_stream", sig, lib.shmem_my_pe())
    return enqueue("signal_wait_until_set", stream, wait_for, (mine, comparison(cmp), value, new_value))
