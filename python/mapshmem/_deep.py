# SPDX-License-Identifier: BSD-3-Clause
"""Deep copy of ctypes structures: objects with everything that their pointers reach, to another PE and back.

Python's own objects have no layout that another PE could read; structures of ctypes have. A DeepType describes one:

    class Node(ctypes.Structure): pass
    Node._fields_ = [("n", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_double)), ("next", ctypes.POINTER(Node))]
    node = mapshmem.DeepType(Node, counts={"data": "n"})
    mapshmem.put_deep(image, first, node, pe)
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ._native import ffi, lib
from ._errors import fail, last_line, Error
from ._operands import UINT64, reachable, symmetric, word

DEEP_HEADER = 128

_VALUE, _POINTER, _STRING, _WEAK, _OPAQUE = 0, 1, 2, 5, 6


def _scalar(kind: Any) -> Optional[str]:
    """The C name of a plain ctypes type."""
    code = getattr(kind, "_type_", None)
    if not isinstance(code, str) or code in "OPzZ":
        return None
    if code in "fdg":
        return {"f": "float", "d": "double", "g": "long double"}[code]
    if code in "c?":
        return "char"
    return f"{'u' if code in 'BHILQ' else ''}int{8 * ctypes.sizeof(kind)}_t"


class DeepType:
    """A ctypes.Structure as the library knows it, with what it points to. Local; each PE makes its own.

    counts: for pointers to several elements, how many, as an expression of members ("n", "nx*ny").
    weak: pointers that are not followed, but set if their target is copied in another way. opaque: copied unchanged.
    Error with the library's line, for example for a type that does not exist, or a count that makes no sense.
    """

    def __init__(self, structure: Any, counts: Optional[Mapping[str, str]] = None, weak: Iterable[str] = (),
                 opaque: Iterable[str] = (), name: Optional[str] = None) -> None:
        self.structure = structure
        self.name = name or structure.__name__
        kept: List[Any] = []
        options: Dict[str, int] = {**{field: _WEAK for field in weak}, **{field: _OPAQUE for field in opaque}}
        rows = [row for field, kind, *_ in structure._fields_
                if (row := self._row(field, kind, counts or {}, options, kept)) is not None]
        table = ffi.new("shmemx_field_t[]", rows)
        self._handle = lib.shmemx_type_create(_text(self.name, kept), ctypes.sizeof(structure), len(rows), table)
        if not self._handle:
            fail("shmemx_type_create")

    def _row(self, field: str, kind: Any, counts: Mapping[str, str], options: Dict[str, int],
             kept: List[Any]) -> Optional[Dict[str, Any]]:
        n = 0
        target: Optional[str] = None
        what: int = options.get(field, _VALUE)
        if kind is ctypes.c_char_p:
            what, target = options.get(field, _STRING), "char"
        elif kind is ctypes.c_void_p:
            what = _OPAQUE
        elif isinstance(kind, type) and issubclass(kind, ctypes._Pointer):
            what, target = options.get(field, _POINTER), self._name(kind._type_)
        elif isinstance(kind, type) and issubclass(kind, ctypes.Array):
            element: Any = kind._type_
            n, target = ctypes.sizeof(kind) // ctypes.sizeof(element), self._name(element)
        else:
            target = self._name(kind)
        if target is None and what != _OPAQUE:
            return None
        offset = getattr(self.structure, field).offset
        count = counts.get(field)
        return {"name": _text(field, kept), "offset": offset, "kind": what, "type": _text(target, kept), "n": n,
                "count": _text(count, kept)}

    def _name(self, kind: Any) -> Optional[str]:
        if kind is self.structure:
            return self.name
        return _scalar(kind) or (kind.__name__ if issubclass(kind, ctypes.Structure) else None)

    def layout_hash(self) -> int:
        """Equal on two PEs if the descriptions are."""
        return int(lib.shmemx_type_hash(self._handle))

    def destroy(self) -> None:
        """Forget the type. Error if another type still needs it."""
        if self._handle and (status := lib.shmemx_type_destroy(self._handle)):
            fail("shmemx_type_destroy", status)
        self._handle = ffi.NULL


def _text(text: Optional[str], kept: List[Any]) -> Any:
    if text is None:
        return ffi.NULL
    kept.append(ffi.new("char[]", text.encode()))
    return kept[-1]


def _objects(source: Any) -> Tuple[Any, int]:
    """Address and number of structures: one, an array, or a pointer to one."""
    if isinstance(source, ctypes._Pointer):
        source = source.contents
    n = len(source) if isinstance(source, ctypes.Array) else 1
    return ffi.cast("void *", ctypes.addressof(source)), n


def _checked(routine: str, result: int) -> int:
    if result < 0:
        fail(routine, result)
    return int(result)


def deep_size(source: Any, kind: DeepType) -> int:
    """Bytes of the image that `put_deep` would write. Local."""
    address, n = _objects(source)
    return _checked("shmemx_put_deep", lib.shmemx_put_deep(ffi.NULL, 0, address, kind._handle, n, lib.shmem_my_pe()))


def put_deep(dest: Any, source: Any, kind: DeepType, pe: int, sig: Any = None, value: int = 1, op: int = 1) -> int:
    """Copy structures, and all that they reach, into dest (symmetric, a multiple of 16) on that PE; pointers are set for
    its CPU, or for its GPU in mapped memory. Returns the bytes of the image: if they are more than dest has, nothing was
    written. sig, value, op: a signal that is updated after it. Completion is that of put. Error with the library's line."""
    d, room, _ = symmetric(dest, True)
    reachable(lib.SHMEM_CTX_DEFAULT, "put_deep", d, room, pe)
    address, n = _objects(source)
    if sig is None:
        return _checked("shmemx_put_deep", lib.shmemx_put_deep(d, room, address, kind._handle, n, pe))
    w = word(sig, UINT64)[0]
    return _checked("shmemx_put_deep_signal",
                    lib.shmemx_put_deep_signal(d, room, address, kind._handle, n, w, value, op, pe))


def deep_info(image: Any, kind: Optional[DeepType], pe: int) -> Dict[str, Any]:
    """What the image on that PE is: "size", "nobjects", "nelems", "root" (an address there), "has_offsets"."""
    info = ffi.new("shmemx_deep_info_t *")
    ptr = symmetric(image)[0]
    reachable(lib.SHMEM_CTX_DEFAULT, "deep_info", ptr, DEEP_HEADER, pe)
    _checked("shmemx_deep_info", lib.shmemx_deep_info(ptr, kind._handle if kind else ffi.NULL, info, pe))
    return {"size": info.size, "nobjects": info.nobjects, "nelems": info.nelems, "root": info.root,
            "has_offsets": bool(info.has_offsets)}


def get_deep(dest: Any, image: Any, kind: DeepType, pe: int) -> int:
    """Copy an image on that PE back into the structures that it was made from, or others of the same shape."""
    ptr = symmetric(image)[0]
    reachable(lib.SHMEM_CTX_DEFAULT, "get_deep", ptr, DEEP_HEADER, pe)
    address, n = _objects(dest)
    return _checked("shmemx_get_deep", lib.shmemx_get_deep(address, ptr, kind._handle, n, pe))


def get_deep_new(image: Any, kind: DeepType, pe: int) -> Any:
    """New structures from an image on that PE: an array of kind.structure. They are freed when it, and all that
    was made from it by numpy or ctypes, has gone; pointers taken out of it do not keep them."""
    ptr = symmetric(image)[0]
    reachable(lib.SHMEM_CTX_DEFAULT, "get_deep_new", ptr, DEEP_HEADER, pe)
    n = ffi.new("size_t *")
    objects = lib.shmemx_get_deep_new(ptr, kind._handle, n, pe)
    if not objects:
        raise Error(line := last_line() or "shmemx_get_deep_new failed", line)
    made = (kind.structure * n[0]).from_address(int(ffi.cast("uintptr_t", objects)))
    made._mapshmem_owner = ffi.gc(objects, lib.shmemx_deep_free)
    return made
