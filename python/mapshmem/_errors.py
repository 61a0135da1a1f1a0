# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions, and how a failed call of the library becomes one."""

from __future__ import annotations

from typing import Any, NoReturn

from ._native import ffi, lib


class Error(RuntimeError):
    """A call of MapSHMEM has failed. The text is the line that the library has written to stderr, if it wrote one.

    `line` is that line, or an empty string.
    """

    line: str

    def __init__(self, text: str, line: str = "") -> None:
        super().__init__(text)
        self.line = line


class MapError(Error):
    """`map` was refused, on this PE or on another one: all PEs get this exception, and nothing is mapped."""


class NotInitialized(Error):
    """A routine was called before `init` or after `finalize`."""


class NotSymmetric(Error, ValueError):
    """The memory is not symmetric: it is no array of `empty`, `zeros`, `array`..., and no handle of `map`."""


class InvalidPE(Error, IndexError):
    """There is no PE of that number in the team of the context."""


def last_line() -> str:
    """The line that the library has written for the last error of this thread, once."""
    text: str = ffi.string(lib.shmemx_last_error()).decode(errors="replace")
    return text


def fail(routine: str, status: Any = None) -> NoReturn:
    """Raise Error with the library's line, or with the routine and its result if it wrote none."""
    line = last_line()
    raise Error(line or f"{routine} failed" + ("" if status is None else f" with {status}"), line)


def require() -> None:
    """Raise NotInitialized unless the library is initialised."""
    if not lib.mapshmem_py_running():
        raise NotInitialized("MapSHMEM is not initialised: call mapshmem.init() first, and nothing after finalize()")


def refuse(problem: int, what: str, nbytes: int, pe: int) -> NoReturn:
    """Raise what mapshmem_py_check has found."""
    if problem == 1:
        require()
    if problem == 2:
        raise InvalidPE(f"{what}: there is no PE {pe} in the team; the job has PEs 0 to {lib.shmem_n_pes() - 1}")
    if problem == 3:
        raise NotSymmetric(f"{what}: the array is not symmetric: make it with mapshmem.empty, zeros or array; map makes "
                           "an array on a GPU symmetric")
    raise NotSymmetric(f"{what}: {nbytes} bytes end past the symmetric object that they begin in")
