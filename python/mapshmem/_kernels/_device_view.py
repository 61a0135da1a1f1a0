# SPDX-License-Identifier: BSD-3-Clause
"""What kernels need to communicate: views of symmetric objects and of teams, as shmemx_device.h has them, passed to a
kernel by value (CuPy's RawKernel, NVRTC) or as the address of a copy in memory of the GPU (Triton, Numba).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Optional

import numpy as np

from .._native import ffi, lib
from .._errors import Error, fail, require
from .._operands import MappedMemory, symmetric


@lru_cache(maxsize=None)
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error(f"there is no CUDA driver: {error}") from error


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status:
        raise Error(f"{name} failed with error {status} of CUDA: is a device chosen, as by torch.cuda.set_device?")


class _Copy:
    """Bytes in memory of the GPU that the calling thread has chosen, freed with the object."""

    def __init__(self, content: np.ndarray) -> None:
        self.address = 0
        self._context, address = ctypes.c_void_p(), ctypes.c_uint64()
        _call("cuCtxGetCurrent", ctypes.byref(self._context))
        _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(content.nbytes))
        self.address = int(address.value)
        _call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(content.ctypes.data), ctypes.c_size_t(content.nbytes))
        _call("cuStreamSynchronize", ctypes.c_void_p(0))  # a copy of pageable memory may end after the call

    def __del__(self) -> None:
        if self.address and not _driver().cuCtxPushCurrent_v2(self._context):  # otherwise the context has gone
            _driver().cuMemFree_v2(ctypes.c_uint64(self.address))
            _driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


class GpuArray:
    """An array in memory of the GPU for kernels to read, with __cuda_array_interface__."""

    def __init__(self, content: np.ndarray, mapping: Any = None) -> None:
        self._copy = _Copy(content)
        self._mapping = mapping
        self.shape, self.dtype = content.shape, content.dtype

    @property
    def address(self) -> int:
        """For kernels of the GPU that was chosen when the array was made."""
        if self._mapping is not None and not self._mapping.is_mapped:
            raise ValueError("the memory has been unmapped")
        return self._copy.address

    @property
    def __cuda_array_interface__(self) -> Any:
        data = (self.address, False)  # PyTorch takes no arrays that say they are read-only
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "version": 3}


class DeviceView:
    """A symmetric object, or a team, as kernels of this PE use it. `device_view`, `Mapped.device_view` and
    `Team.device_view` make it; it ends with the map, or the team.

    value: for kernels that take it by value: an array of numpy of one element, of the size of shmemx_device_view_t
    (shmemx_device_team_t). CuPy's RawKernel takes it as it is; the driver and NVRTC take its address (ctypes.data).
    address: of a copy in memory of the GPU, for Triton and Numba. Make it before a stream is captured.
    """

    def __init__(self, kind: str, mapping: Any, team: Any = None) -> None:
        self._struct = ffi.new(kind + " *")
        self._mapping = mapping
        self._team = team
        self._copy: Optional[GpuArray] = None

    @property
    def value(self) -> np.ndarray:
        """The view by value."""
        self._require()
        raw = bytes(ffi.buffer(self._struct))
        return np.ndarray((), np.dtype(f"V{len(raw)}"), raw)

    @property
    def address(self) -> int:
        """Of the view's copy in memory of the GPU that was chosen when this was first asked for."""
        self._require()
        if self._copy is None:
            self._copy = GpuArray(self.value)
        return self._copy.address

    def _require(self) -> None:
        require()
        if self._team is not None:
            self._team._ready()
        if self._mapping is not None and not self._mapping.is_mapped:
            raise ValueError("the memory has been unmapped")


def device_view(memory: Any) -> DeviceView:
    """What kernels need for the object that mapped memory, or an array of the heap, belongs to: for the heap, kernels of
    the GPU that the thread has chosen. Local. Error for memory of OpenCL, and where there is no memory left.

    In kernels, memory is named by its address in this PE: that of the array that was mapped, or of the heap's array."""
    require()
    mapping = memory._mapping if isinstance(memory, MappedMemory) else None
    made = DeviceView("shmemx_device_view_t", mapping)
    if status := lib.shmemx_device_view(symmetric(memory)[0], made._struct):
        fail("shmemx_device_view", status)
    return made


def team_view(team: Any, work: Any) -> DeviceView:
    """See Team.device_view."""
    ptr, nbytes, _ = symmetric(work)
    mapping = work._mapping if isinstance(work, MappedMemory) else None
    made = DeviceView("shmemx_device_team_t", mapping, team)
    if status := lib.shmemx_device_team_view(team._ready(), ptr, nbytes, made._struct):
        fail("shmemx_device_team_view", status)
    return made


def device_work_bytes(n_pes: int, nbytes: int = 0) -> int:
    """How many bytes the work area of a team has with which kernels combine up to nbytes at once; 0: only meet."""
    return int(lib.mapshmem_py_work_bytes(n_pes, nbytes))


def device_sharers() -> int:
    """How many PEs use this PE's CUDA device. Local; after the first map."""
    require()
    return int(lib.shmemx_device_sharers())


def device_spare_blocks() -> int:
    """How many blocks a kernel that waits for other PEs leaves free for the library. Local; after the views are made."""
    require()
    return int(lib.shmemx_device_spare_blocks())
