# SPDX-License-Identifier: BSD-3-Clause
"""A PE's copy of mapped memory as an array of other libraries: read and written by kernels, without a transfer."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from .._native import ffi, lib
from .._device import dl_type
from .._errors import refuse
from .._lend import lend
from .._quick import Memory

_DL_CUDA = 2


class Peer:
    """That PE's copy of mapped memory, where kernels of this PE reach it by load and store: `Mapped.peer` makes it.

    It has __cuda_array_interface__ and DLPack, so `torch.from_dlpack(p)`, `torch.as_tensor(p)`, `cupy.asarray(p)` and
    `numba.cuda.as_cuda_array(p)` make arrays of it, flat ones. While it or such an array is alive, `unmap` raises
    BufferError. Nothing orders accesses but what the program does: signals, barriers.
    """

    __slots__ = ("pe", "_memory", "_address", "__weakref__")

    def __init__(self, memory: Memory, address: int, pe: int) -> None:
        self.pe = pe
        self._memory = memory
        self._address = address

    def __repr__(self) -> str:
        return f"<mapshmem.Peer {len(self)} x {self.dtype} of PE {self.pe}>"

    def __len__(self) -> int:
        return self._memory.nbytes // self.dtype.itemsize

    @property
    def address(self) -> int:
        """Of the first element, for kernels of this PE. ValueError after `finalize`."""
        if not self._memory._mapping.is_mapped:
            raise ValueError("the memory has been unmapped")
        return self._address

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self._memory.dtype

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._memory.nbytes

    @property
    def shape(self) -> Tuple[int]:
        """The number of elements, as a shape: memory is flat."""
        return (len(self),)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        data = (self.address, not self._memory._mapping.is_writable)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "version": 3}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _DL_CUDA, self._memory._mapping.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        """No stream of this package works on the memory, so none is waited for."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a PE's copy is lent where it is: copy the array that is made of it")
        if not self._memory._mapping.is_writable:
            raise BufferError("the mapped memory is read-only, which DLPack's tensors of this form cannot say: use "
                              "__cuda_array_interface__")
        return lend(self, self.address, len(self), *self.__dlpack_device__(), *dl_type(self.dtype))


def peer(memory: Any, pe: int) -> Optional[Peer]:
    """See Mapped.peer."""
    if problem := lib.mapshmem_py_check(lib.SHMEM_CTX_DEFAULT, memory._ptr, memory.nbytes, pe):
        refuse(problem, "peer", memory.nbytes, pe)
    address = lib.shmem_ptr(memory._ptr, pe)
    if address == ffi.NULL:
        return None
    made = Peer(memory, int(ffi.cast("uintptr_t", address)), pe)
    memory._mapping.lent.add(made)
    return made
