# SPDX-License-Identifier: BSD-3-Clause
"""The calls of kernels, one line each: of these are made the functions of the bitcode (device/make.py), and the bindings
for Triton and Numba. shmemx_device.h says what they mean; dest, source, sig and ivar are addresses in this PE's memory.

Types of parameters and results are "address" (64 bits; view and team are addresses, too, of copies in memory of the GPU),
"int", "size" (64 bits), and "T", an element of the call's type.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple

GROUPS = ("thread", "warp", "block")
_KINDS = {"nbytes": "size", "nelems": "size", "signal": "uint64", "pe": "int", "op": "int", "cmp": "int", "root": "int",
          "value": "T", "cond": "T"}  # others are addresses


class Call(NamedTuple):
    """is_of_one: one thread of a group makes the call, and all get its result. touches: (address, its bytes) in this PE's
    copy of the object of the view named first; a debug build looks at them."""

    name: str
    parameters: Tuple[str, ...]
    result: str
    code: str
    types: Tuple[str, ...] = ("",)
    is_of_one: bool = False
    touches: Tuple[Tuple[str, str, str], ...] = ()

    def kind(self, parameter: str) -> str:
        """The type of a parameter, or of "result"."""
        return self.result if parameter == "result" else _KINDS.get(parameter, "address")

    def symbol(self, type_: str, group: str) -> str:
        """The name of the function for elements of a type and a group."""
        return "_".join(part for part in ("mapshmem", self.name, type_, group) if part)


_WORDS = ("int16", "int32", "int64", "uint16", "uint32", "uint64")
_AMO_WORDS = ("int32", "int64")
_UNITS = ("int8", "int16", "int32", "int64")
_REALS = ("float16", "bfloat16", "float32", "float64")
_NUMBERS = _AMO_WORDS + _REALS  # sums and products of words have the same bits with and without a sign
_ORDERED = ("int32", "int64", "uint32", "uint64") + _REALS  # which of two words is less depends on the sign
_REDUCTIONS = {"sum": _NUMBERS, "prod": _NUMBERS, "min": _ORDERED, "max": _ORDERED, "and": _AMO_WORDS, "or": _AMO_WORDS,
               "xor": _AMO_WORDS}  # fmt: skip


def _transfers() -> List[Call]:
    there = {"put": ("view", "dest", "nbytes"), "get": ("view", "source", "nbytes")}
    calls = []
    for name in ("put", "put_nbi", "get", "get_nbi"):
        code = f"shmemx_device_{name.replace('t', 'tmem', 1)}(group, view, at<void>(dest), at<void>(source), nbytes, pe)"
        calls.append(Call(name, ("view", "dest", "source", "nbytes", "pe"), "", code, touches=(there[name[:3]],)))
    for name in ("put_signal", "put_signal_nbi"):
        code = (f"shmemx_device_{name}(group, view, at<char>(dest), at<char>(source), nbytes, signal_view, word_at(sig), signal, "
                "op, pe)")
        parameters = ("view", "dest", "source", "nbytes", "signal_view", "sig", "signal", "op", "pe")
        calls.append(Call(name, parameters, "", code, touches=(there["put"], ("signal_view", "sig", "8"))))
    return calls


def _words() -> List[Call]:
    """Calls on words of the other PE."""
    dest, source = (("view", "dest", "sizeof(T)"),), (("view", "source", "sizeof(T)"),)
    calls = [
        Call("p", ("view", "dest", "value", "pe"), "", "shmemx_device_p(view, at<T>(dest), value, pe)", _UNITS, True, dest),
        Call("g", ("view", "source", "pe"), "T", "shmemx_device_g(view, at<T>(source), pe)", _UNITS, True, source),
        Call("signal_op", ("view", "sig", "signal", "op", "pe"), "",
             "shmemx_device_signal_op(view, word_at(sig), signal, op, pe)", is_of_one=True, touches=(("view", "sig", "8"),)),
        Call("signal_fetch", ("view", "sig"), "uint64", "shmemx_device_signal_fetch(view, word_at(sig))",
             is_of_one=True, touches=(("view", "sig", "8"),)),
    ]  # fmt: skip
    for name, values, result in (("fetch", (), "T"), ("set", ("value",), ""), ("swap", ("value",), "T"),
                                 ("compare_swap", ("cond", "value"), "T"), ("fetch_add", ("value",), "T"), ("add", ("value",), ""),
                                 ("fetch_and", ("value",), "T"), ("and", ("value",), ""), ("fetch_or", ("value",), "T"),
                                 ("or", ("value",), ""), ("fetch_xor", ("value",), "T"), ("xor", ("value",), "")):
        code = f"shmemx_device_atomic_{name}({', '.join(('view', 'at<T>(dest)') + values + ('pe',))})"
        calls.append(Call("atomic_" + name, ("view", "dest") + values + ("pe",), result, code, _AMO_WORDS, True, dest))
    return calls


def _waits() -> List[Call]:
    mine = (("view", "ivar", "sizeof(T)"),)
    parameters = ("view", "ivar", "cmp", "value")
    return [
        Call("wait_until", parameters, "", "shmemx_device_wait_until(group, view, at<T>(ivar), cmp, value)", _WORDS,
             touches=mine),
        Call("test", parameters, "int", "shmemx_device_test(view, at<T>(ivar), cmp, value)", _WORDS, True, mine),
        Call("signal_wait_until", ("view", "sig", "cmp", "signal"), "uint64",
             "shmemx_device_signal_wait_until(group, view, word_at(sig), cmp, signal)", touches=(("view", "sig", "8"),)),
        Call("fence", ("view",), "", "shmemx_device_fence(group, view)"),
        Call("quiet", ("view",), "", "shmemx_device_quiet(group, view)"),
    ]  # fmt: skip


def _straight(call: Call, nbytes: str) -> Call:
    """The form with a view: data go straight to dest, of which so many bytes are written."""
    return call._replace(name=call.name + "_direct", parameters=("team", "view") + call.parameters[1:],
                         code=call.code.replace("team,", "team, view,"), touches=(("view", "dest", nbytes),))


def _collectives() -> List[Call]:
    calls = [Call(name, ("team",), "", f"shmemx_device_{name}(group, team)") for name in ("barrier", "sync")]
    straight = []
    for name, last, nbytes in (("broadcast", ("root",), "nbytes"), ("fcollect", (), "nbytes * team.n_pes"),
                               ("alltoall", (), "nbytes * team.n_pes")):
        code = f"shmemx_device_{name}({', '.join(('group', 'team', 'at<char>(dest)', 'at<char>(source)', 'nbytes') + last)})"
        calls.append(Call(name, ("team", "dest", "source", "nbytes") + last, "", code))
        straight.append(_straight(calls[-1], nbytes))
    for kind in ("reduce", "reducescatter"):
        for operation, types in _REDUCTIONS.items():
            code = f"shmemx_device_{operation}_{kind}(group, team, at<T>(dest), at<T>(source), nelems)"
            calls.append(Call(f"{operation}_{kind}", ("team", "dest", "source", "nelems"), "", code, types))
            if kind == "reduce":
                straight.append(_straight(calls[-1], "nelems * sizeof(T)"))
    return calls + straight


CALLS: Dict[str, Call] = {call.name: call for call in _transfers() + _words() + _waits() + _collectives()}
