# SPDX-License-Identifier: BSD-3-Clause
"""What must raise an exception, and which; the library's own lines in them. Any number of PEs."""

import ctypes

import mapshmem as shmem
import numpy as np
from harness import main, raises


def test_arguments():
    a, n = shmem.zeros((4, 4)), shmem.n_pes()
    with raises(shmem.InvalidPE, f"no PE {n} in the team; the job has PEs 0 to {n - 1}"):
        shmem.put(a, a, n)
    with raises(IndexError):
        shmem.get(np.zeros(1), a, -1)
    with raises(shmem.NotSymmetric, "put"):
        shmem.put(np.zeros(3), [1.0, 2.0, 3.0], 0)
    with raises(ValueError, "only 128"):
        shmem.put(a, np.zeros(17), 0)
    with raises(ValueError, "not contiguous"):
        shmem.put(a[:, 1], np.zeros(4), 0)
    with raises(ValueError, "not contiguous"):
        shmem.get(np.zeros((4, 2))[:, 0], a, 0)
    with raises(TypeError, "converts nothing"):
        shmem.put(a, np.zeros(3, "f4"), 0)
    with raises(TypeError, "a[i:i+1]"):
        shmem.atomic_fetch(a[0, 0], 0)
    with raises(ValueError, "one element"):
        shmem.atomic_fetch(a, 0)
    with raises(TypeError, "uint64"):
        shmem.signal_set(a[0, 0:1], 1, 0)
    shmem.put(dest=a, source=np.zeros(3), pe=np.int64(0))
    with raises(TypeError):
        shmem.put(a, a)
    with raises(TypeError):
        shmem.put(a, a, 0, 1)
    gone = shmem.ctx_create()
    gone.destroy()
    with raises(shmem.InvalidPE):
        gone.put(a, a, 0)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    shmem.put(a, fixed, 0)
    with raises(ValueError, "read-only"):
        shmem.get(fixed, a, 0)
    with raises(ValueError, "no comparison"):
        shmem.wait_until(shmem.zeros(1, "i8"), "=", 1)
    with raises(shmem.NotSymmetric):
        shmem.wait_until(np.zeros(1, "i8"), "==", 1)
    with raises(TypeError):
        shmem.put(a, {}, 0)
    with raises(TypeError):
        shmem.sum_reduce(shmem.zeros(2, "?"), shmem.zeros(2, "?"))
    with raises(TypeError, "objects"):
        shmem.empty(2, object)
    shmem.free(a)


def test_lines_of_the_library():
    """Errors that only the library knows carry its line."""
    a = shmem.zeros(4)
    with raises(shmem.Error, "shmemx_release") as caught:
        shmem.release(np.zeros(4))
    assert caught.error.line.startswith(f"PE {shmem.my_pe()}: "), caught.error.line

    class Odd(ctypes.Structure):
        _fields_ = [("data", ctypes.POINTER(ctypes.c_double))]

    with raises(shmem.Error, "Odd") as caught:
        shmem.DeepType(Odd, counts={"data": "n"})
    assert "n" in caught.error.line and caught.error.line in str(caught.error)
    with raises(shmem.Error) as caught:
        shmem.deep_info(shmem.zeros(100), None, 0)
    assert "deep" in caught.error.line
    shmem.free(a)


def test_map():
    with raises(shmem.MapError, "no memory on a GPU") as caught:
        shmem.map(np.zeros(4))
    assert shmem.my_pe() or "shmmap refused" in caught.error.line  # the lowest PE that refuses says so

    class Fake:
        """Looks like an array on a GPU."""

        def __init__(self, **parts):
            self.__cuda_array_interface__ = dict({"shape": (4, 4), "typestr": "<f8", "data": (4096, False), "version": 3},
                                                 **parts)

    for parts, text in (({"strides": (64, 8)}, "not contiguous"), ({"data": (4096, True)}, "read-only"),
                        ({"shape": (0,)}, "no elements"), ({}, "refused")):
        with raises(shmem.MapError, text):
            shmem.map(Fake(**parts))
    with raises(ValueError, "not contiguous"):
        shmem.put(shmem.zeros(100), Fake(strides=(64, 8)), 0)
    if shmem.n_pes() > 1:
        with raises(shmem.MapError, "read-only" if shmem.my_pe() == 1 else "PE "):
            shmem.map(Fake(data=(4096, shmem.my_pe() == 1)))


def test_deep():
    class Node(ctypes.Structure):
        pass

    Node._fields_ = [("n", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_double)), ("next", ctypes.POINTER(Node))]
    kind = shmem.DeepType(Node, counts={"data": "n"})
    me, right = shmem.my_pe(), (shmem.my_pe() + 1) % shmem.n_pes()
    left = (me - 1) % shmem.n_pes()
    values = (ctypes.c_double * 3)(me, me + 1, me + 2)
    second = Node(3, values, None)
    first = Node(0, None, ctypes.pointer(second))
    image = shmem.zeros(shmem.deep_size(first, kind), np.uint8)
    sig = shmem.zeros(1, np.uint64)
    assert shmem.put_deep(image, first, kind, right, sig) <= image.nbytes
    shmem.signal_wait_until(sig, "==", 1)
    info = shmem.deep_info(image, kind, me)
    there = Node.from_address(info["root"])
    assert info["nobjects"] >= 3 and there.next.contents.data[2] == left + 2
    made = shmem.get_deep_new(image, kind, me)
    assert made[0].next.contents.data[1] == left + 1
    shmem.barrier_all()
    values[0] = -1.0
    shmem.get_deep(first, image, kind, right)
    assert values[0] == me
    shmem.barrier_all()
    del made
    kind.destroy()
    shmem.free(image), shmem.free(sig)


def test_after_the_end():
    """The last test: main() ends after it, and init begins anew."""
    shmem.finalize()
    with raises(shmem.NotInitialized):
        shmem.my_pe()
    with raises(shmem.NotInitialized):
        shmem.zeros(3)
    shmem.init()


if __name__ == "__main__":
    main(globals())
