# SPDX-License-Identifier: BSD-3-Clause
"""Parts of arrays: from views of numpy and boxes of handles to the library's shape of rows and layers."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

from ._native import ffi
from ._operands import MappedMemory, symmetric


class Box:
    """A part of mapped memory, for put_box and get_box: `Mapped.box` makes it."""

    __slots__ = ("handle", "offset", "shape", "strides")

    def __init__(self, handle: Any, offset: int, shape: Tuple[int, ...], strides: Tuple[int, ...]) -> None:
        self.handle = handle
        self.offset = offset
        self.shape = shape
        self.strides = strides


def _parts(x: Any) -> Tuple[Any, Tuple[int, ...], Tuple[int, ...], int, Any]:
    """Address of the first element, shape, strides in bytes, bytes of an element, and what must stay alive."""
    if isinstance(x, Box):
        return ffi.cast("char *", symmetric(x.handle)[0]) + x.offset, x.shape, x.strides, x.handle.dtype.itemsize, x.handle
    if isinstance(x, MappedMemory):
        size = x.dtype.itemsize
        return ffi.cast("char *", symmetric(x)[0]), (x.nbytes // size,), (size,), size, x
    if isinstance(x, np.ndarray):
        address = ffi.cast("char *", x.__array_interface__["data"][0])
        return address, x.shape, x.strides, x.itemsize, x
    raise TypeError(f"{type(x).__name__} is no array and no box of a handle")


def _levels(shape: Tuple[int, ...], dest: Tuple[int, ...], source: Tuple[int, ...], size: int) -> List[List[int]]:
    """[extent, pitch of dest, pitch of source] from the inside to the outside; the first is a run of bytes."""
    levels = [[size, 1, 1]]
    for extent, d, s in zip(reversed(shape), reversed(dest), reversed(source)):
        if extent == 1:
            continue
        inner = levels[-1]
        if d == inner[0] * inner[1] and s == inner[0] * inner[2]:
            inner[0] *= extent
        else:
            levels.append([extent, d, s])
    return levels


def box(dest: Any, source: Any) -> Tuple[Any, Any, Any, Any]:
    """((address, bytes from the first to the last) of dest, of source, shape or None if it is empty, what to keep)."""
    d, shape, dest_strides, size, keep_dest = _parts(dest)
    s, source_shape, source_strides, source_size, keep_source = _parts(source)
    if shape != source_shape or size != source_size:
        raise ValueError(f"boxes of different shapes: {shape} and {source_shape}, elements of {size} and {source_size} bytes")
    if 0 in shape:
        return None, None, None, None
    levels = _levels(shape, dest_strides, source_strides, size)
    if len(levels) > 3 or any(pitch < 0 for level in levels for pitch in level[1:]):
        raise ValueError("a box has at most three dimensions that cannot be merged, and no negative strides")
    inner_pitches = [(level[0] * level[1], level[0] * level[2]) for level in levels]
    for (dest_inner, source_inner), level in zip(inner_pitches, levels[1:]):
        if level[1] < dest_inner or level[2] < source_inner:
            raise ValueError("the rows of a box overlap")
    levels += [[1, 0, 0]] * (3 - len(levels))
    (width, _, _), (rows, dest_row, source_row), (layers, dest_layer, source_layer) = levels
    made = ffi.new("shmemx_box_t *", {
        "width": width, "rows": rows, "layers": layers, "dest_row_pitch": dest_row, "dest_layer_pitch": dest_layer,
        "source_row_pitch": source_row, "source_layer_pitch": source_layer,
    })  # fmt: skip
    dest_bytes = width + (rows - 1) * dest_row + (layers - 1) * dest_layer
    source_bytes = width + (rows - 1) * source_row + (layers - 1) * source_layer
    return (d, dest_bytes), (s, source_bytes), made, (keep_dest, keep_source)
