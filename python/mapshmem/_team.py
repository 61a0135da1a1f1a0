# SPDX-License-Identifier: BSD-3-Clause
"""Teams, and the collectives over them.

The module's functions (`mapshmem.broadcast`, ...) are the methods of `TEAM_WORLD`. Every PE of the team calls a
collective, with the same sizes and root; dest and source are symmetric: arrays of the heap or handles of `map`. On return
dest is complete and source may be changed. One collective of a team at a time. Errors raise Error.

With stream= (see _stream.py) a collective is enqueued and the call returns, with an event for a queue; what is enqueued
later begins when dest is complete on this PE. All members enqueue the team's collectives in the same order, and
blocking ones of the same team come apart from them. Errors there end the job.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ._native import ffi, lib
from ._kernels._device_view import DeviceView, team_view
from ._errors import NotSymmetric, fail, require
from ._kept import end_flights
from ._operands import same_type, symmetric, type_name
from ._stream import Events, enqueue

_EXTENSIONS = ("half_", "bfloat16_")  # types that OpenSHMEM does not have
_ALLTOALLS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "longdouble"}


class Team:
    """A set of PEs, numbered from 0: made by `split_strided` and `split_2d`; a context manager that calls `destroy`.

    A PE that is no member has no team: the splits give it None.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *exception: Any) -> None:
        if exception[0] is None:
            self.destroy()

    def __repr__(self) -> str:
        for name in ("SHMEM_TEAM_WORLD", "SHMEM_TEAM_SHARED"):
            if self._handle == getattr(lib, name):
                return "mapshmem." + name[6:]
        return f"<mapshmem.Team {self._handle}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Team) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def _ready(self) -> Any:
        if problem := lib.mapshmem_py_check_team(self._handle):
            require()
            raise ValueError(f"the team has been destroyed ({problem})")
        return self._handle

    # ---- PEs

    def my_pe(self) -> int:
        """The number of this PE in the team. Local."""
        return int(lib.shmem_team_my_pe(self._ready()))

    def n_pes(self) -> int:
        """How many PEs the team has. Local."""
        return int(lib.shmem_team_n_pes(self._ready()))

    def translate_pe(self, pe: int, dest_team: "Team") -> int:
        """The number that the team's PE has in another team, or -1. Local."""
        return int(lib.shmem_team_translate_pe(self._ready(), pe, dest_team._ready()))

    def num_contexts(self) -> int:
        """How many contexts the team was made for. Local."""
        config = ffi.new("shmem_team_config_t *")
        if lib.shmem_team_get_config(self._ready(), 1, config):
            fail("shmem_team_get_config")
        return int(config.num_contexts)

    def remote_view(self, array: Any, pe: int) -> Any:
        """`mapshmem.remote_view` with this team's number of the PE."""
        from ._heap import remote_view

        world = self.translate_pe(pe, TEAM_WORLD)
        return None if world < 0 else remote_view(array, world)

    # ---- new teams

    def _config(self, num_contexts: Optional[int]) -> Tuple[Any, int]:
        if num_contexts is None:
            return ffi.NULL, 0
        return ffi.new("shmem_team_config_t *", {"num_contexts": num_contexts}), 1

    def split_strided(self, start: int, stride: int, size: int, num_contexts: Optional[int] = None) -> Optional["Team"]:
        """A team of size PEs: start, start + stride, ... of this one. Collective over this team."""
        made = ffi.new("shmem_team_t *")
        config, mask = self._config(num_contexts)
        if status := lib.shmem_team_split_strided(self._ready(), start, stride, size, config, mask, made):
            fail("shmem_team_split_strided", status)
        return _member(made[0])

    def split_2d(self, xrange: int, x_num_contexts: Optional[int] = None,
                 y_num_contexts: Optional[int] = None) -> Tuple[Optional["Team"], Optional["Team"]]:
        """Teams of this PE's row, of xrange PEs, and of its column. Collective over this team."""
        x, y = ffi.new("shmem_team_t *"), ffi.new("shmem_team_t *")
        x_config, x_mask = self._config(x_num_contexts)
        y_config, y_mask = self._config(y_num_contexts)
        if status := lib.shmem_team_split_2d(self._ready(), xrange, x_config, x_mask, x, y_config, y_mask, y):
            fail("shmem_team_split_2d", status)
        return _member(x[0]), _member(y[0])

    def create_ctx(self, options: int = 0) -> Any:
        """A context whose PE numbers are this team's. Local. Error if the library has no room for one more."""
        from ._context import create

        self._ready()
        return create(self, options)

    def device_view(self, work: Any) -> DeviceView:
        """The team as kernels use it. work: symmetric memory, the same on all members and 0 before its first use, that
        serves this team alone: `device_work_bytes` at least, aligned to 16. Local; it ends with the team."""
        return team_view(self, work)

    def destroy(self) -> None:
        """End the team and its contexts. Collective over the team. Not for TEAM_WORLD and TEAM_SHARED."""
        if self in (TEAM_WORLD, TEAM_SHARED):
            raise ValueError(f"{self!r} cannot be destroyed")
        if self._handle != lib.SHMEM_TEAM_INVALID and lib.mapshmem_py_running():
            lib.shmem_team_destroy(self._handle)
            end_flights(lambda flight: flight.team == self)
        self._handle = lib.SHMEM_TEAM_INVALID

    # ---- collectives

    def sync(self, *, stream: Any = None, wait_for: Events = None) -> Any:
        """Wait until all PEs of the team have come here. Completes no transfer."""
        self._ready()
        return self._run("team_sync", stream, wait_for)

    def barrier_on_stream(self, stream: Any, wait_for: Events = None) -> Any:
        """`quiet_on_stream`, then `sync` of the team in the stream. Elsewhere it is `quiet` and `sync`."""
        return enqueue("team_barrier", stream, wait_for, (self._ready(),))

    def _pair(self, what: str, dest: Any, source: Any, times_dest: int, times_source: int,
              n: Optional[int]) -> Tuple[Any, Any, int, Any]:
        """Addresses, the number of elements, and their type; the two have room for so many times n."""
        team = self._ready()
        d, room, dtype = symmetric(dest, True)
        s, available, found = symmetric(source)
        same_type(dtype, found)
        assert dtype is not None
        size = dtype.itemsize
        if n is None:
            n = available // size // times_source
        if n < 0 or n * size * times_source > available or n * size * times_dest > room:
            raise ValueError(f"{what} of {n} elements: dest needs {times_dest} x {n * size} bytes and has {room}, "
                             f"the source {times_source} x {n * size} bytes and has {available}")
        for name, ptr in (("dest", d), ("the source", s)):
            if n and not lib.shmem_addr_accessible(ptr, lib.shmem_my_pe()):
                raise NotSymmetric(f"{what}: {name} is not symmetric: make it with mapshmem.empty, zeros or array, or map it")
        assert team
        return d, s, n, dtype

    def _run(self, name: str, stream: Any, wait_for: Events, *arguments: Any) -> Any:
        """Call a collective of the library, or enqueue it."""
        if stream is not None:
            return enqueue(name, stream, wait_for, (self._handle, *arguments))
        if wait_for:
            raise TypeError("only a queue has a list of events")
        is_standard = not name.startswith(_EXTENSIONS)
        routine = ("shmem_" if is_standard else "shmemx_") + name
        if status := getattr(lib, routine)(self._handle, *arguments):
            fail(routine, status)
        return None

    def broadcast(self, dest: Any, source: Any, root: int = 0, n: Optional[int] = None, *, stream: Any = None,
                  wait_for: Events = None) -> Any:
        """Copy n elements of the root's source into dest on all PEs of the team; None: all of source."""
        d, s, n, dtype = self._pair("broadcast", dest, source, 1, 1, n)
        if not 0 <= root < self.n_pes():
            raise IndexError(f"broadcast: there is no PE {root} in the team")
        return self._run("broadcastmem", stream, wait_for, d, s, n * dtype.itemsize, root)

    def collect(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                wait_for: Events = None) -> Any:
        """Concatenate the sources of all PEs in dest, in the order of the PEs. n may differ from PE to PE, and dest must
        have room for the sum."""
        d, s, n, dtype = self._pair("collect", dest, source, 1, 1, n)
        return self._run("collectmem", stream, wait_for, d, s, n * dtype.itemsize)

    def fcollect(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                 wait_for: Events = None) -> Any:
        """Concatenate n elements of each PE's source in dest."""
        d, s, n, dtype = self._pair("fcollect", dest, source, self.n_pes(), 1, n)
        return self._run("fcollectmem", stream, wait_for, d, s, n * dtype.itemsize)

    def alltoall(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                 wait_for: Events = None) -> Any:
        """Send the i-th block of n elements of source to PE i; block i of dest comes from PE i."""
        pes = self.n_pes()
        d, s, n, dtype = self._pair("alltoall", dest, source, pes, pes, n)
        return self._run("alltoallmem", stream, wait_for, d, s, n * dtype.itemsize)

    def alltoalls(self, dest: Any, source: Any, dst: int, sst: int, n: int, *, stream: Any = None,
                  wait_for: Events = None) -> Any:
        """`alltoall` of n elements that lie dst elements apart in dest and sst elements apart in source."""
        if dst < 1 or sst < 1:
            raise ValueError("alltoalls: the strides begin at 1")
        pes = self.n_pes()
        d, s, _, dtype = self._pair("alltoalls", dest, source, 0, 1, 0)
        for name, array, stride in (("dest", dest, dst), ("the source", source, sst)):
            if n and ((pes * n - 1) * stride + 1) * dtype.itemsize > array.nbytes:
                raise ValueError(f"alltoalls: {name} has no room for {pes} x {n} elements with a stride of {stride}")
        kind = _ALLTOALLS.get(dtype.itemsize)
        if kind is None:
            raise TypeError(f"alltoalls is not defined for elements of type {dtype}")
        return self._run(kind + "_alltoalls", stream, wait_for, d, s, dst, sst, n)

    def _combine(self, what: str, dest: Any, source: Any, n: Optional[int], stream: Any, wait_for: Events) -> Any:
        d, s, n, dtype = self._pair(what, dest, source, 1, 1, n)
        name = f"{type_name(dtype, what)}_{what}"
        if not hasattr(lib, f"shmemx_{name}_on_stream"):  # all have both forms
            raise TypeError(f"{what} is not defined for elements of type {dtype}")
        return self._run(name, stream, wait_for, d, s, n)

    def sum_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the sum of source[i] of all PEs; dest may be source. Integers, floats (of 16 bits, too), complex
        numbers."""
        return self._combine("sum_reduce", dest, source, n, stream, wait_for)

    def prod_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                    wait_for: Events = None) -> Any:
        """dest[i] is the product of source[i] of all PEs. Integers, floats, complex numbers."""
        return self._combine("prod_reduce", dest, source, n, stream, wait_for)

    def min_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the least source[i] of all PEs. Integers and floats, of 16 bits, too."""
        return self._combine("min_reduce", dest, source, n, stream, wait_for)

    def max_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the greatest source[i] of all PEs. Integers and floats, of 16 bits, too."""
        return self._combine("max_reduce", dest, source, n, stream, wait_for)

    def and_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the bitwise AND of source[i] of all PEs. Integers."""
        return self._combine("and_reduce", dest, source, n, stream, wait_for)

    def or_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                  wait_for: Events = None) -> Any:
        """dest[i] is the bitwise OR of source[i] of all PEs. Integers."""
        return self._combine("or_reduce", dest, source, n, stream, wait_for)

    def xor_reduce(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the bitwise XOR of source[i] of all PEs. Integers."""
        return self._combine("xor_reduce", dest, source, n, stream, wait_for)

    def sum_inscan(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the sum of source[i] of the PEs up to this one. Types as sum_reduce, but
        for floats of 16 bits."""
        return self._combine("sum_inscan", dest, source, n, stream, wait_for)

    def sum_exscan(self, dest: Any, source: Any, n: Optional[int] = None, *, stream: Any = None,
                   wait_for: Events = None) -> Any:
        """dest[i] is the sum of source[i] of the PEs before this one. Types as sum_reduce, but
        for floats of 16 bits."""
        return self._combine("sum_exscan", dest, source, n, stream, wait_for)


def _member(handle: Any) -> Optional[Team]:
    return None if handle == lib.SHMEM_TEAM_INVALID else Team(handle)


TEAM_WORLD = Team(lib.SHMEM_TEAM_WORLD)
TEAM_SHARED = Team(lib.SHMEM_TEAM_SHARED)


def barrier_all() -> None:
    """Wait until all PEs have come here, and all puts of the default context have arrived."""
    from ._context import CTX_DEFAULT

    require()
    CTX_DEFAULT._kept.complete(lib.shmem_barrier_all)


def sync_all() -> None:
    """Wait until all PEs have come here. Completes no transfer."""
    require()
    lib.shmem_sync_all()
