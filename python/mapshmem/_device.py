# SPDX-License-Identifier: BSD-3-Clause
"""What a library's array on a GPU is: its address, size, type of elements, and whether its memory can be used as it is.

Understood are __cuda_array_interface__ (CuPy, Numba, PyTorch, JAX), DLPack (the same and more), and the buffers and
arrays of PyOpenCL.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Optional, Tuple

import numpy as np

from ._native import ffi, lib

CUDA = 1
OPENCL = 2

_DL_CPU, _DL_CUDA, _DL_CUDA_MANAGED = 1, 2, 13
_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DL_IS_COPIED = 2
# Types that numpy does not have, by DLPack's code and bits; the names are those of PyTorch, JAX and ml_dtypes.
_DL_EXTENSIONS = {
    (4, 16): "bfloat16", (8, 8): "float8_e4m3", (9, 8): "float8_e4m3b11fnuz", (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2", (13, 8): "float8_e5m2fnuz", (14, 8): "float8_e8m0fnu",
}  # fmt: skip


@lru_cache(maxsize=None)
def extension_dtype(name: str) -> Optional[np.dtype]:
    """numpy's dtype for a type that numpy does not have, or None for other names: that of ml_dtypes where it is installed,
    otherwise bytes. Those of bfloat16 have a field of this name, by which reductions know them."""
    size = next((bits // 8 for (_, bits), known in _DL_EXTENSIONS.items() if known == name), None)
    if size is None:
        return None
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return np.dtype([("bfloat16", "V2")]) if name == "bfloat16" else np.dtype(f"V{size}")


def _extension_of(x: Any) -> Optional[np.dtype]:
    """The dtype of an array whose elements numpy has no type for."""
    return extension_dtype(str(getattr(x, "dtype", "")).rpartition(".")[2])


class DeviceArray:
    """An array on a GPU. `keep` is what owns its memory."""

    __slots__ = ("kind", "address", "nbytes", "dtype", "is_contiguous", "is_read_only", "keep", "device")

    def __init__(self, kind: int, address: int, nbytes: int, dtype: np.dtype, is_contiguous: bool, is_read_only: bool,
                 keep: Any) -> None:
        self.kind = kind
        self.address = address
        self.nbytes = nbytes
        self.dtype = dtype
        self.is_contiguous = is_contiguous
        self.is_read_only = is_read_only
        self.keep = keep
        self.device = 0  # CUDA's number of it

    def check(self, write: bool) -> None:
        """Raise ValueError if this memory cannot be read, or written, as one piece."""
        if not self.is_contiguous:
            raise ValueError("the array on the GPU is not contiguous in the order of C: its elements do not follow each "
                             "other in memory; pass a contiguous copy, or map the whole and use box()")
        if write and self.is_read_only:
            raise ValueError("the array on the GPU is read-only")

    def operand(self, write: bool) -> Any:
        """As the local side of a transfer."""
        if self.kind == OPENCL:
            raise TypeError("an OpenCL buffer has no address: map it, and pass the handle")
        self.check(write)
        keep = self.keep
        return ffi.gc(ffi.cast("void *", self.address), lambda _: keep), self.nbytes, self.dtype


def _is_contiguous(shape: Any, strides: Any, itemsize: int) -> bool:
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _from_interface(x: Any, interface: Any) -> DeviceArray:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 0 to 3."""
    shape, dtype = interface["shape"], _extension_of(x) or np.dtype(interface["typestr"])
    address, is_read_only = interface["data"]
    strides = interface.get("strides")
    if interface.get("mask") is not None:
        raise ValueError("arrays with a mask cannot be transferred")
    nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    contiguous = strides is None or _is_contiguous(shape, strides, dtype.itemsize)
    return DeviceArray(CUDA, address or 0, nbytes, dtype, contiguous, bool(is_read_only), x)


def _dl_dtype(code: int, bits: int, lanes: int) -> np.dtype:
    extension = extension_dtype(_DL_EXTENSIONS.get((code, bits), ""))
    if extension is not None and lanes == 1:
        return extension
    kind = _DL_KINDS.get(code)
    if kind is None or bits % 8 or lanes != 1:
        return np.dtype(f"V{max(bits * lanes // 8, 1)}")
    return np.dtype(f"{kind}{bits // 8}")


def dl_type(dtype: np.dtype) -> Tuple[int, int]:
    """DLPack's code and bits; bytes for what it has no name for."""
    name = (dtype.names or (dtype.name,))[0]
    extension = next((known for known, extended in _DL_EXTENSIONS.items() if extended == name), None)
    return extension or (next((code for code, kind in _DL_KINDS.items() if kind == dtype.kind), 1), 8 * dtype.itemsize)


def _capsule(x: Any) -> Any:
    """Asks for the newest form, which tells whether the array is read-only; older libraries do not know the argument. Only
    the address is wanted: no stream of PyTorch has to wait for another one (-1), which streams that are captured could not."""
    streams = {"stream": -1} if type(x).__module__.startswith("torch") else {}
    try:
        return x.__dlpack__(max_version=(1, 1), copy=False, **streams)
    except TypeError:
        return x.__dlpack__(**streams)


_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _from_dlpack(x: Any) -> DeviceArray:
    """https://dmlc.github.io/dlpack/latest/c_api.html. The capsule is kept and not used up, so it frees the tensor."""
    capsule = _capsule(x)
    name = _name_of(capsule)
    managed = ffi.cast("void *", _pointer_of(capsule, name))
    contiguous, code, bits, lanes = (ffi.new("int *") for _ in range(4))
    nelems, flags = ffi.new("int64_t *"), ffi.new("uint64_t *")
    address = lib.mapshmem_py_managed(managed, name == b"dltensor_versioned", contiguous, code, bits, lanes, nelems, flags)
    if flags[0] & _DL_IS_COPIED:
        raise ValueError("the array's library would make a copy of it")
    dtype = _dl_dtype(code[0], bits[0], lanes[0])
    return DeviceArray(CUDA, int(address), dtype.itemsize * nelems[0], dtype, bool(contiguous[0]), bool(flags[0] & 1),
                       (x, capsule))


def _from_pyopencl(x: Any, dtype: Any) -> Optional[DeviceArray]:
    if hasattr(x, "base_data") and hasattr(x, "queue"):  # pyopencl.array.Array
        if x.offset:
            raise ValueError("the array begins inside of its buffer: map array.base_data and use a part of the handle")
        nbytes = x.dtype.itemsize * int(np.prod(x.shape, dtype=np.int64))
        return DeviceArray(OPENCL, x.base_data.int_ptr, nbytes, x.dtype, bool(x.flags.c_contiguous), False, x)
    if hasattr(x, "int_ptr") and hasattr(x, "size"):  # pyopencl.Buffer
        flags = int(x.flags) if isinstance(getattr(x, "flags", 0), int) else 0
        return DeviceArray(OPENCL, x.int_ptr, x.size, np.dtype(dtype or np.uint8), True, bool(flags & 4), x)
    return None


def host_array(x: Any) -> Any:
    """An array of numpy on the memory of a tensor on the CPU (PyTorch, JAX); anything else unchanged."""
    if not hasattr(x, "__dlpack_device__") or int(x.__dlpack_device__()[0]) != _DL_CPU:
        return x
    if _extension_of(x) is None:
        return x.numpy() if hasattr(x, "numpy") else np.from_dlpack(x)
    found = _from_dlpack(x)
    memory = ffi.buffer(found.operand(False)[0], found.nbytes)
    array = np.ndarray((found.nbytes,), np.uint8, memory).view(found.dtype)
    array.flags.writeable = not found.is_read_only
    return array


def device_array(x: Any, dtype: Any = None) -> Optional[DeviceArray]:
    """The array on a GPU that x is, or None if it is none. dtype: of elements, where x has no type of its own."""
    if type(x).__module__.startswith("pyopencl"):
        return _from_pyopencl(x, dtype)
    found = _on_cuda(x)
    if found is not None and hasattr(x, "__dlpack_device__"):
        found.device = int(x.__dlpack_device__()[1])
    return found


def _on_cuda(x: Any) -> Optional[DeviceArray]:
    try:  # PyTorch has the attribute for all tensors, and raises AttributeError for those of the CPU
        interface = getattr(x, "__cuda_array_interface__", None)
    except (RuntimeError, TypeError, KeyError):  # tensors that require gradients, types without a name of numpy's
        interface = None
    if interface is not None:
        return _from_interface(x, interface)
    if hasattr(x, "__dlpack__") and int(x.__dlpack_device__()[0]) in (_DL_CUDA, _DL_CUDA_MANAGED):
        return _from_dlpack(x)
    return None
