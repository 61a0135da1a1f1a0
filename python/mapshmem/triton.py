# SPDX-License-Identifier: BSD-3-Clause
"""Calls for kernels of Triton. They are those of shmemx_device.h, made by all threads of a program (a block) together.

    import mapshmem.triton as device

    @triton.jit
    def send(x, signal, view, n, right, BLOCK: tl.constexpr):
        ...
        device.put_signal(view, x, x, n * 4, view, signal, 1, device.SIGNAL_SET, right)
        device.signal_wait_until(view, signal, device.CMP_EQ, 1)

    view = shmem.map(x).device_view()
    send[(1,)](x, signal, view.address, n, right, BLOCK=256, **device.link())

Memory is named by its address in this PE's array: pointers, which are the tensors that were mapped. Sizes are in bytes; view
and team are addresses of views (`Mapped.device_view`, `Team.device_view`), as integers. All arguments are scalars. p, g,
atomic operations, tests, waits and reductions take the type of the elements that the pointer points to; value and result
have it, too. Atomic operations are made once for a program, and wait_until by it as a whole: no thread goes on before. A
kernel with calls that have a result has 1 KiB of shared memory less for tiles. A program that waits for another one's needs
all that it waits for to run at the same time: see doc/kernels.md.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Tuple

from triton.language import core

from ._kernels._bitcode import path
from ._kernels._calls import CALLS, Call

CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE = (core.constexpr(number) for number in range(1, 7))
SIGNAL_SET, SIGNAL_ADD = core.constexpr(1), core.constexpr(2)

_KINDS = {"address": core.int64, "size": core.int64, "uint64": core.int64, "int": core.int32}
_SIGNED = {1: core.int8, 2: core.int16, 4: core.int32, 8: core.int64}
_NAMED = {"int8": core.int8, "int16": core.int16, "int32": core.int32, "int64": core.int64, "uint32": core.int32,
          "uint64": core.int64}  # fmt: skip
_OF_BITS = ("p", "g", "atomic_fetch", "atomic_set", "atomic_swap", "atomic_compare_swap")  # whatever they mean


def link(debug: bool = False) -> Dict[str, Any]:
    """Options of a launch of a kernel that makes these calls. debug: a PE that does not exist, and an address outside of the
    object of its view, end the kernel with a line that says so."""
    return {"extern_libs": {"mapshmem": path("mapshmem_device.bc", debug)}}


def _scalar(call: Call, name: str, value: Any, semantic: Any) -> Any:
    made = semantic.to_tensor(value)
    if made.type.is_block():
        raise TypeError(f"mapshmem.triton.{call.name}: {name} is a block, but a program makes the call once, with scalars")
    return made


def _as_bits(value: Any, width: int, semantic: Any) -> Any:
    """A number as the integer of the same bits."""
    if value.dtype.is_floating():
        return semantic.bitcast(value, _SIGNED[width])
    return semantic.cast(value, _SIGNED[width])


def _element(call: Call, pointer: Any) -> Tuple[str, Any]:
    """The call's type for the elements that a pointer points to, and Triton's."""
    if not pointer.dtype.is_ptr():
        raise TypeError(f"mapshmem.triton.{call.name}: a pointer is needed, whose elements tell the type")
    element = pointer.dtype.element_ty
    bits = 8 * (element.primitive_bitwidth // 8)
    if element.is_floating() and call.name not in _OF_BITS:
        names = ["bfloat16" if element.is_bf16() else f"float{bits}"]
    else:
        names = [f"uint{bits}", f"int{bits}"] if element.is_int_unsigned() else [f"int{bits}"]
    found = next((name for name in names if name in call.types), None)
    if found is None:
        raise TypeError(f"mapshmem.triton.{call.name} is not defined for elements of type {element}")
    return found, element


def _converted(call: Call, name: str, value: Any, element: Any, semantic: Any) -> Any:
    """An argument as the function takes it."""
    if call.kind(name) == "T":
        if element.is_floating():
            value = semantic.cast(value, element)
        return _as_bits(value, element.primitive_bitwidth // 8, semantic)
    return semantic.cast(value, _KINDS[call.kind(name)])


def _emit(call: Call, arguments: Dict[str, Any], semantic: Any) -> Any:
    scalars = {name: _scalar(call, name, value, semantic) for name, value in arguments.items()}
    type_, element = "", core.int32
    if call.types != ("",):
        typed = next(name for name in ("dest", "source", "ivar") if name in scalars)
        type_, element = _element(call, scalars[typed])
    values = [_converted(call, name, value, element, semantic) for name, value in scalars.items()]
    result = _NAMED[type_] if call.result == "T" else _KINDS.get(call.result, core.int32)
    symbols = {tuple(value.dtype for value in values): (call.symbol(type_, "block"), result)}
    made = core.extern_elementwise("mapshmem", "", values, symbols, is_pure=False, _semantic=semantic)
    if call.result != "T" or element == result:
        return made
    return semantic.bitcast(made, element)


def _binding(call: Call) -> Callable[..., Any]:
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in call.parameters]
    signature = inspect.Signature(parameters)

    def bound(*positional: Any, _semantic: Any = None, **named: Any) -> Any:
        given = signature.bind(*positional, **named).arguments
        return _emit(call, {name: core._unwrap_if_constexpr(value) for name, value in given.items()}, _semantic)

    bound.__name__ = bound.__qualname__ = call.name
    bound.__doc__ = f"{call.name}{signature}: see shmemx_device_{call.name}."
    return core.extern(bound)


globals().update({name: _binding(call) for name, call in CALLS.items()})
__all__ = ["link", "CMP_EQ", "CMP_NE", "CMP_GT", "CMP_GE", "CMP_LT", "CMP_LE", "SIGNAL_SET", "SIGNAL_ADD", *CALLS]
