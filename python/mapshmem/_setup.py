# SPDX-License-Identifier: BSD-3-Clause
"""Beginning and end of a job, and questions about it."""

from __future__ import annotations

import atexit
import sys
from types import TracebackType
from typing import Any, Optional, Tuple, Type

from ._native import ffi, lib
from ._errors import fail, require

THREAD_SINGLE = 0
THREAD_FUNNELED = 1
THREAD_SERIALIZED = 2
THREAD_MULTIPLE = 3

_before_hook: Any = None
_at_exit_is_set = False


def _end_job(kind: Type[BaseException], value: BaseException, trace: Optional[TracebackType]) -> None:
    """An exception that nobody catches: without this the other PEs would wait for this one for ever."""
    (_before_hook or sys.__excepthook__)(kind, value, trace)
    if initialized() and n_pes() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        global_exit(1)


def _at_exit() -> None:
    while initialized():
        finalize()


class Job:
    """What `init` returns: a context manager that calls `finalize` at its end.

    `thread_level` is the level of thread support that was granted. If the block ends by an exception, `finalize` is
    left out: the other PEs may never come to theirs.
    """

    def __init__(self, thread_level: int) -> None:
        self.thread_level = thread_level

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None:
            finalize()


def get_unique_id() -> bytes:
    """Make a unique id, which the program takes to all processes of a job that no launcher has started.

    One process makes it, and need not be a PE, but must live until all PEs have finalised. Whoever has the 128 bytes can
    become a PE. An id serves one job. Local; at any time.
    """
    uid = ffi.new("shmemx_uniqueid_t *")
    status = lib.shmemx_get_uniqueid(uid)
    if status:
        fail("shmemx_get_uniqueid", status)
    return bytes(ffi.buffer(uid))


def _init_attr(thread_level: int, uid: bytes, rank: Optional[int], world_size: Optional[int], provided: Any) -> int:
    room = ffi.new("shmemx_uniqueid_t *")
    attr = ffi.new("shmemx_init_attr_t *")
    if rank is None or world_size is None:
        raise TypeError("init: a uid needs rank and world_size")
    if len(uid) != ffi.sizeof("shmemx_uniqueid_t"):
        raise ValueError(f"init: uid has {len(uid)} bytes, and those of get_unique_id() are "
                         f"{ffi.sizeof('shmemx_uniqueid_t')}")
    ffi.buffer(room)[:] = uid
    attr.size = ffi.sizeof("shmemx_init_attr_t")
    attr.thread_level = thread_level
    attr.pe, attr.n_pes, attr.uniqueid = rank, world_size, room
    return int(lib.shmemx_init_attr(attr, provided))


def init(thread_level: int = THREAD_SINGLE, *, end_job_on_exception: bool = True, uid: Optional[bytes] = None,
         rank: Optional[int] = None, world_size: Optional[int] = None) -> Job:
    """Begin. Collective over all PEs; may be repeated, and then needs as many `finalize`.

    thread_level: THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED or THREAD_MULTIPLE. Programs whose Python threads
    call MapSHMEM at the same time need THREAD_MULTIPLE: while a thread waits in a routine, others run.
    end_job_on_exception: an exception that nobody catches is printed and ends the job on all PEs, with status 1.
    uid, rank, world_size: start without a launcher, as PE `rank` of `world_size`, by the bytes of `get_unique_id`.
    Nothing of this is needed under a launcher and under torchrun.

    Finalised automatically when Python exits. Errors (no launcher where one is needed, no memory) end the job.
    """
    global _before_hook, _at_exit_is_set
    provided = ffi.new("int *")
    if uid is None and (rank is not None or world_size is not None):
        raise TypeError("init: rank and world_size need a uid")
    if uid is not None:
        if _init_attr(thread_level, uid, rank, world_size, provided):
            fail("shmemx_init_attr")
    elif lib.shmem_init_thread(thread_level, provided):
        fail("shmem_init_thread")
    if end_job_on_exception and sys.excepthook is not _end_job:
        _before_hook = sys.excepthook
        sys.excepthook = _end_job
    if not _at_exit_is_set:
        atexit.register(_at_exit)
        _at_exit_is_set = True
    return Job(provided[0])


def finalize() -> None:
    """End. Collective; completes all communication, unmaps what is mapped and frees the symmetric heap.

    Arrays of the symmetric heap must not be touched afterwards: their memory is gone.
    """
    from . import _heap, _kept, _map

    require()
    lib.shmem_finalize()
    if not initialized():
        for part in (_heap, _kept, _map):
            part.forget_all()


def initialized() -> bool:
    """Between init and finalize? Local; at any time."""
    return bool(lib.mapshmem_py_running())


def query_thread() -> int:
    """The level of thread support (THREAD_*). Local."""
    require()
    provided = ffi.new("int *")
    lib.shmem_query_thread(provided)
    return int(provided[0])


def global_exit(status: int = 0) -> None:
    """End all PEs with this exit status, at once. Does not return."""
    require()
    lib.shmem_global_exit(status)


def my_pe() -> int:
    """The number of this PE, from 0. Local."""
    require()
    return int(lib.shmem_my_pe())


def n_pes() -> int:
    """How many PEs the job has. Local."""
    require()
    return int(lib.shmem_n_pes())


def pe_accessible(pe: int) -> bool:
    """Can this PE communicate with that one? Local."""
    require()
    return bool(lib.shmem_pe_accessible(pe))


def info_get_version() -> Tuple[int, int]:
    """Major and minor version of OpenSHMEM. At any time."""
    major, minor = ffi.new("int *"), ffi.new("int *")
    lib.shmem_info_get_version(major, minor)
    return major[0], minor[0]


def info_get_name() -> str:
    """Name of the library. At any time."""
    name = ffi.new("char[256]")
    lib.shmem_info_get_name(name)
    text: str = ffi.string(name).decode()
    return text


def pcontrol(level: int) -> None:
    """For profiling tools that put themselves in front of the library; nothing without one."""
    lib.mapshmem_py_pcontrol(level)
