# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: transfers, atomic operations, signals, and their order and completion.

The module's functions (`mapshmem.put`, ...) are the methods of the default context, `CTX_DEFAULT`.

dest is what is written, source what is read; the side that lies on the other PE is symmetric: dest of put, source of
get. PE numbers are those of the context's team. The number of elements is that of the local side (source of put, dest
of get); the symmetric side must have at least as many, and elements of the same type.
"""

from __future__ import annotations

from typing import Any, Iterable, Optional, Tuple

import numpy as np

from ._native import ffi, lib
from ._errors import fail, refuse, require
from ._kept import Flight, default, end_flights, new_flight
from ._operands import UINT64, local, reachable, same_type, strided, symmetric, typed, word
from ._quick import Transfers

CTX_SERIALIZED = 1
CTX_PRIVATE = 2
CTX_NOSTORE = 4

SIGNAL_SET = 1
SIGNAL_ADD = 2

# These check the symmetric side first; they return 0, or a number for refuse().
_put = lib.mapshmem_py_put
_put_nbi = lib.mapshmem_py_put_nbi
_get = lib.mapshmem_py_get
_get_nbi = lib.mapshmem_py_get_nbi
_Plan = Tuple[Any, Any, int]


def _to(what: str, dest: Any, source: Any) -> _Plan:
    """Addresses and bytes of a put."""
    d, room, dtype = symmetric(dest, True)
    s, nbytes, found = local(source, False, dtype)
    if found is not dtype:
        same_type(dtype, found)
    if nbytes > room:
        raise ValueError(f"{what}: the source has {nbytes} bytes, but dest only {room}")
    return d, s, nbytes


def _from(what: str, dest: Any, source: Any) -> _Plan:
    """Addresses and bytes of a get."""
    s, room, dtype = symmetric(source)
    d, nbytes, found = local(dest, True, dtype)
    if found is not dtype:
        same_type(dtype, found)
    if nbytes > room:
        raise ValueError(f"{what}: dest has {nbytes} bytes, but the source only {room}")
    return d, s, nbytes


def _box_of(dest: Any, source: Any) -> Tuple[Any, Any, Any, int]:
    """Addresses, the shape as the library takes it, and bytes from the first to the last of the dest and source."""
    from ._box import box

    return box(dest, source)


class Context(Transfers):
    """A context: operations that are ordered and completed apart from those of other contexts.

    Made by `ctx_create` and `Team.create_ctx`; a context manager that calls `destroy` at its end. The program makes one
    call at a time on a CTX_SERIALIZED context; only the thread that made a CTX_PRIVATE context uses it.

    Operations whose names end in _nbi are complete after `quiet`. Until then dest must not be read and source must not
    be written; this package keeps private arrays of such operations alive until then.
    """

    __slots__ = ("_handle", "_kept")

    def __init__(self, handle: Any, kept: Flight) -> None:
        self._use(handle)
        self._kept = kept  # quick.c appends to it

    def _use(self, handle: Any) -> None:
        self._handle = handle
        self._address = int(ffi.cast("uintptr_t", handle))

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *exception: Any) -> None:
        if exception[0] is None:
            self.destroy()

    def __repr__(self) -> str:
        return "mapshmem.CTX_DEFAULT" if self._handle == lib.SHMEM_CTX_DEFAULT else f"<mapshmem.Context {self._handle}>"

    # ---- put and get, put_nbi and get_nbi are methods of Transfers. They call these where arguments need more.

    def _put(self, dest: Any, source: Any, pe: int) -> None:
        d, s, n = _to("put", dest, source)
        problem = _put(self._handle, d, s, n, pe)
        if problem:
            refuse(problem, "put", n, pe)

    def _get(self, dest: Any, source: Any, pe: int) -> None:
        d, s, n = _from("get", dest, source)
        problem = _get(self._handle, d, s, n, pe)
        if problem:
            refuse(problem, "get", n, pe)

    def _put_nbi(self, dest: Any, source: Any, pe: int) -> None:
        d, s, n = _to("put_nbi", dest, source)
        problem = self._kept.post(s, _put_nbi, self._handle, d, s, n, pe)
        if problem:
            refuse(problem, "put_nbi", n, pe)

    def _get_nbi(self, dest: Any, source: Any, pe: int) -> None:
        d, s, n = _from("get_nbi", dest, source)
        problem = self._kept.post(d, _get_nbi, self._handle, d, s, n, pe)
        if problem:
            refuse(problem, "get_nbi", n, pe)

    def put_signal(self, dest: Any, source: Any, sig: Any, value: int, pe: int, op: int = SIGNAL_SET) -> None:
        """`put`, and then update the signal (a symmetric uint64) on that PE: set it to value, or add value.

        Who sees the new signal there (`signal_wait_until`) sees the data."""
        d, s, n = _to("put_signal", dest, source)
        reachable(self._handle, "put_signal", d, n, pe)
        lib.shmem_ctx_putmem_signal(self._handle, d, s, n, self._word("put_signal", sig, pe, UINT64)[0], value, op, pe)

    def put_signal_nbi(self, dest: Any, source: Any, sig: Any, value: int, pe: int, op: int = SIGNAL_SET) -> None:
        """Begin `put_signal`; source must not change before `quiet`."""
        d, s, n = _to("put_signal_nbi", dest, source)
        reachable(self._handle, "put_signal_nbi", d, n, pe)
        w = self._word("put_signal_nbi", sig, pe, UINT64)[0]
        self._kept.post(s, lib.shmem_ctx_putmem_signal_nbi, self._handle, d, s, n, w, value, op, pe)

    def p(self, dest: Any, value: Any, pe: int) -> None:
        """Put one element, the first of dest."""
        d, _, dtype = symmetric(dest, True)
        one = np.array(value, dtype=dtype)
        if problem := _put(self._handle, d, ffi.from_buffer("char[]", one), one.nbytes, pe):
            refuse(problem, "p", one.nbytes, pe)

    def g(self, source: Any, pe: int) -> Any:
        """Get one element, the first of source."""
        s, _, dtype = symmetric(source)
        one = np.empty((), dtype=dtype)
        if problem := _get(self._handle, ffi.from_buffer("char[]", one), s, one.nbytes, pe):
            refuse(problem, "g", one.nbytes, pe)
        return one[()]

    # ---- strided

    def _strided(self, routine: str, dest: Any, source: Any, dst: int, sst: int, block: int, count: Optional[int],
                 pe: int) -> None:
        plan = strided(routine, dest, source, dst, sst, block, count)
        if not plan.blocks:
            return
        reachable(self._handle, routine, plan.dest if routine.endswith("put") else plan.source, plan.extent, pe)
        call = getattr(lib, f"shmem_ctx_{routine}{8 * plan.size}")
        call(self._handle, plan.dest, plan.source, dst, sst, *((block,) if "b" in routine else ()), plan.blocks, pe)

    def iput(self, dest: Any, source: Any, dst: int, sst: int, pe: int, n: Optional[int] = None) -> None:
        """Put n single elements: every sst-th of source to every dst-th of dest. None: as many as fit both."""
        self._strided("iput", dest, source, dst, sst, 1, n, pe)

    def iget(self, dest: Any, source: Any, dst: int, sst: int, pe: int, n: Optional[int] = None) -> None:
        """Get n single elements: every sst-th of source to every dst-th of dest."""
        self._strided("iget", dest, source, dst, sst, 1, n, pe)

    def ibput(self, dest: Any, source: Any, dst: int, sst: int, bsize: int, pe: int, n: Optional[int] = None) -> None:
        """Put n blocks of bsize elements, whose beginnings are dst and sst elements apart."""
        self._strided("ibput", dest, source, dst, sst, bsize, n, pe)

    def ibget(self, dest: Any, source: Any, dst: int, sst: int, bsize: int, pe: int, n: Optional[int] = None) -> None:
        """Get n blocks of bsize elements, whose beginnings are dst and sst elements apart."""
        self._strided("ibget", dest, source, dst, sst, bsize, n, pe)

    def _box(self, routine: str, dest: Any, source: Any, pe: int) -> None:
        d, s, shape, keep = _box_of(dest, source)
        if shape is None:
            return
        address, nbytes = (d if "put" in routine else s)
        reachable(self._handle, routine, address, nbytes, pe)
        call = getattr(lib, f"shmemx_ctx_{routine}")
        if routine.endswith("_nbi"):
            self._kept.post(keep, call, self._handle, d[0], s[0], shape, pe)
        else:
            call(self._handle, d[0], s[0], shape, pe)

    def put_box(self, dest: Any, source: Any, pe: int) -> None:
        """Put a part of an array of up to three dimensions: dest and source are views of the same shape, such as
        grid[1:-1, 1:-1, 0:1], or boxes of a handle (`m.box`). Completion is that of `put`."""
        self._box("put_box", dest, source, pe)

    def get_box(self, dest: Any, source: Any, pe: int) -> None:
        """Get a part of an array of up to three dimensions, as `put_box`. Completion is that of `get`."""
        self._box("get_box", dest, source, pe)

    def put_box_nbi(self, dest: Any, source: Any, pe: int) -> None:
        """Begin `put_box`; complete after `quiet`."""
        self._box("put_box_nbi", dest, source, pe)

    def get_box_nbi(self, dest: Any, source: Any, pe: int) -> None:
        """Begin `get_box`; complete after `quiet`."""
        self._box("get_box_nbi", dest, source, pe)

    # ---- signals

    def _word(self, what: str, x: Any, pe: int, dtype: Optional[np.dtype] = None) -> Any:
        found = word(x, dtype)
        reachable(self._handle, what, found[0], found[1], pe)
        return found

    def signal_set(self, sig: Any, value: int, pe: int) -> None:
        """Set a signal (one symmetric uint64) on that PE. Atomic."""
        lib.shmem_ctx_signal_set(self._handle, self._word("signal_set", sig, pe, UINT64)[0], value, pe)

    def signal_add(self, sig: Any, value: int, pe: int) -> None:
        """Add to a signal on that PE. Atomic."""
        lib.shmem_ctx_signal_add(self._handle, self._word("signal_add", sig, pe, UINT64)[0], value, pe)

    # ---- atomic operations: one symmetric element of int32, int64, uint32, uint64; fetch, set, swap also of floats

    def _atomic(self, operation: str, dest: Any, pe: int, *values: Any) -> Any:
        what = "atomic_" + operation
        d, _, dtype = self._word(what, dest, pe)
        return typed("shmem_ctx_{}_" + what, dtype, what)(self._handle, d, *values, pe)

    def _atomic_nbi(self, operation: str, fetch: np.ndarray, dest: Any, pe: int, *values: Any) -> None:
        what = "atomic_" + operation
        d, nbytes, dtype = self._word(what, dest, pe)
        f, room, found = local(fetch, True, dtype)
        same_type(dtype, found)
        if room < nbytes:
            raise ValueError(f"{what}: fetch has no room for one element")
        self._kept.post(f, typed("shmem_ctx_{}_" + what + "_nbi", dtype, what), self._handle, f, d, *values, pe)

    def atomic_fetch(self, source: Any, pe: int) -> Any:
        """The value of one element on that PE, read atomically."""
        return self._atomic("fetch", source, pe)

    def atomic_set(self, dest: Any, value: Any, pe: int) -> None:
        """Set one element on that PE."""
        self._atomic("set", dest, pe, value)

    def atomic_swap(self, dest: Any, value: Any, pe: int) -> Any:
        """Set one element on that PE; returns its old value."""
        return self._atomic("swap", dest, pe, value)

    def atomic_compare_swap(self, dest: Any, cond: int, value: int, pe: int) -> int:
        """Set one element on that PE to value if it is cond; returns its old value."""
        return int(self._atomic("compare_swap", dest, pe, cond, value))

    def atomic_inc(self, dest: Any, pe: int) -> None:
        """Add 1 to one element on that PE."""
        self._atomic("inc", dest, pe)

    def atomic_fetch_inc(self, dest: Any, pe: int) -> int:
        """Add 1 to one element on that PE; returns its old value."""
        return int(self._atomic("fetch_inc", dest, pe))

    def atomic_add(self, dest: Any, value: int, pe: int) -> None:
        """Add to one element on that PE."""
        self._atomic("add", dest, pe, value)

    def atomic_fetch_add(self, dest: Any, value: int, pe: int) -> int:
        """Add to one element on that PE; returns its old value."""
        return int(self._atomic("fetch_add", dest, pe, value))

    def atomic_and(self, dest: Any, value: int, pe: int) -> None:
        """AND one element on that PE with value."""
        self._atomic("and", dest, pe, value)

    def atomic_fetch_and(self, dest: Any, value: int, pe: int) -> int:
        """AND one element on that PE with value; returns its old value."""
        return int(self._atomic("fetch_and", dest, pe, value))

    def atomic_or(self, dest: Any, value: int, pe: int) -> None:
        """OR one element on that PE with value."""
        self._atomic("or", dest, pe, value)

    def atomic_fetch_or(self, dest: Any, value: int, pe: int) -> int:
        """OR one element on that PE with value; returns its old value."""
        return int(self._atomic("fetch_or", dest, pe, value))

    def atomic_xor(self, dest: Any, value: int, pe: int) -> None:
        """XOR one element on that PE with value."""
        self._atomic("xor", dest, pe, value)

    def atomic_fetch_xor(self, dest: Any, value: int, pe: int) -> int:
        """XOR one element on that PE with value; returns its old value."""
        return int(self._atomic("fetch_xor", dest, pe, value))

    def atomic_fetch_nbi(self, fetch: Any, source: Any, pe: int) -> None:
        """Begin `atomic_fetch`; the value is in the first element of fetch after `quiet`, as for all forms below."""
        self._atomic_nbi("fetch", fetch, source, pe)

    def atomic_swap_nbi(self, fetch: Any, dest: Any, value: Any, pe: int) -> None:
        """Begin `atomic_swap`."""
        self._atomic_nbi("swap", fetch, dest, pe, value)

    def atomic_compare_swap_nbi(self, fetch: Any, dest: Any, cond: int, value: int, pe: int) -> None:
        """Begin `atomic_compare_swap`."""
        self._atomic_nbi("compare_swap", fetch, dest, pe, cond, value)

    def atomic_fetch_inc_nbi(self, fetch: Any, dest: Any, pe: int) -> None:
        """Begin `atomic_fetch_inc`."""
        self._atomic_nbi("fetch_inc", fetch, dest, pe)

    def atomic_fetch_add_nbi(self, fetch: Any, dest: Any, value: int, pe: int) -> None:
        """Begin `atomic_fetch_add`."""
        self._atomic_nbi("fetch_add", fetch, dest, pe, value)

    def atomic_fetch_and_nbi(self, fetch: Any, dest: Any, value: int, pe: int) -> None:
        """Begin `atomic_fetch_and`."""
        self._atomic_nbi("fetch_and", fetch, dest, pe, value)

    def atomic_fetch_or_nbi(self, fetch: Any, dest: Any, value: int, pe: int) -> None:
        """Begin `atomic_fetch_or`."""
        self._atomic_nbi("fetch_or", fetch, dest, pe, value)

    def atomic_fetch_xor_nbi(self, fetch: Any, dest: Any, value: int, pe: int) -> None:
        """Begin `atomic_fetch_xor`."""
        self._atomic_nbi("fetch_xor", fetch, dest, pe, value)

    # ---- order and completion

    def fence(self) -> None:
        """What was put to a PE before this is delivered there before what is put later."""
        require()
        lib.shmem_ctx_fence(self._handle)

    def quiet(self) -> None:
        """Wait until all operations of this context are complete."""
        require()
        self._kept.complete(lib.shmem_ctx_quiet, self._handle)

    def pe_quiet(self, pes: Iterable[int]) -> None:
        """Wait until all operations of this context on these PEs are complete."""
        require()
        numbers = list(pes)
        for pe in numbers:
            reachable(self._handle, "pe_quiet", ffi.NULL, 0, pe)
        lib.shmem_ctx_pe_quiet(self._handle, ffi.new("int[]", numbers), len(numbers))

    def session_start(self, *, batch: bool = False, total_ops: Optional[int] = None) -> None:
        """Announce many operations on this context: batch allows the library to gather small ones."""
        require()
        config = ffi.new("shmem_ctx_session_config_t *")
        config.total_ops = total_ops or 0
        lib.shmem_ctx_session_start(self._handle, int(batch), config, 1 if total_ops is not None else 0)

    def session_stop(self) -> None:
        """End what `session_start` began."""
        require()
        lib.shmem_ctx_session_stop(self._handle)

    def destroy(self) -> None:
        """Complete all operations and end the context. Local. Not for CTX_DEFAULT; once is enough."""
        if self._handle == lib.SHMEM_CTX_DEFAULT:
            raise ValueError("the default context cannot be destroyed")
        if self._handle != lib.SHMEM_CTX_INVALID and lib.mapshmem_py_running():
            lib.shmem_ctx_destroy(self._handle)
        self._use(lib.SHMEM_CTX_INVALID)
        end_flights(lambda flight: flight is self._kept)

    @property
    def team(self) -> Any:
        """The team whose PE numbers the context uses."""
        from ._team import TEAM_WORLD

        require()
        team = ffi.new("shmem_team_t *")
        if lib.shmem_ctx_get_team(self._handle, team):
            fail("shmem_ctx_get_team")
        return self._kept.team or TEAM_WORLD


CTX_DEFAULT = Context(lib.SHMEM_CTX_DEFAULT, default)


def create(team: Any, options: int) -> Context:
    """A context of a team."""
    handle = ffi.new("shmem_ctx_t *")
    if status := lib.shmem_team_create_ctx(team._handle, options, handle):
        fail("shmem_team_create_ctx", status)
    return Context(handle[0], new_flight(team))


def ctx_create(options: int = 0) -> Context:
    """A new context of TEAM_WORLD. Local. options: CTX_SERIALIZED, CTX_PRIVATE, CTX_NOSTORE or their sum.

    Error if the library has no room for one more."""
    from ._team import TEAM_WORLD

    require()
    return create(TEAM_WORLD, options)
