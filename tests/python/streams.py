# SPDX-License-Identifier: BSD-3-Clause
"""Every operation on streams: with every type of elements, on streams of every library that is there, live and captured
into graphs. On a CUDA GPU with PyTorch, or on a device of OpenCL. Any number of PEs."""

import sys

import mapshmem as shmem
import numpy as np
from harness import main, raises
from mapshmem._device import extension_dtype
from places import find_place, is_captured

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
REALS = INTEGERS + ["f2", "f4", "f8"]
ALL = REALS + ["c8", "c16"]
WORDS = ["i4", "i8", "u4", "u8"]
N = 37  # elements of each PE
SOURCE, DEST, WORD, OTHER = range(4)
LAST = 2**64 - 1

place = None
bfloat16 = extension_dtype("bfloat16")


def setup():
    global place
    place = place or find_place(4)
    if place is None:
        print("neither PyTorch with a GPU nor PyOpenCL with a device")
        shmem.finalize()
        sys.exit(77)
    return shmem.my_pe(), shmem.n_pes()


def values(pe, dtype, n=N):
    """Small whole numbers, of which sums are exact in every type."""
    return ((np.arange(n) + 3 * pe) % 5 + 1).astype(dtype)


def each_stream(team=shmem.TEAM_WORLD):
    """A thread of the library takes part in what a team of one member does, so that cannot be captured. All PEs do the
    same, whichever team they are in."""
    smallest = shmem.n_pes() if team == shmem.TEAM_WORLD else shmem.n_pes() // 2
    for name, stream in place.streams():
        if smallest > 1 or not is_captured(stream):
            yield name, stream
        shmem.barrier_all()


def enqueue(stream, work):
    """On all PEs, when their areas are ready."""
    shmem.barrier_all()
    place.run(stream, work)


def expect(area, expected, what):
    found = place.read(area, expected.dtype, expected.size)
    assert np.array_equal(found, expected), f"{what}: {found} is not {expected}"


def members(team):
    """Numbers in TEAM_WORLD."""
    return [team.translate_pe(pe, shmem.TEAM_WORLD) for pe in range(team.n_pes())]


def teams():
    """All PEs, and those of an even and odd number."""
    yield shmem.TEAM_WORLD
    me, n = shmem.my_pe(), shmem.n_pes()
    made = [shmem.TEAM_WORLD.split_strided(start, 2, (n - start + 1) // 2) for start in range(min(n, 2))]
    with made[me % 2] as team:
        yield team


REDUCTIONS = {
    "sum_reduce": (np.add, ALL), "prod_reduce": (np.multiply, [t for t in ALL if t != "f2"]), "min_reduce": (np.minimum, REALS),
    "max_reduce": (np.maximum, REALS), "and_reduce": (np.bitwise_and, INTEGERS), "or_reduce": (np.bitwise_or, INTEGERS),
    "xor_reduce": (np.bitwise_xor, INTEGERS),
}  # fmt: skip


def test_reductions():
    setup()
    for team in teams():
        for name, stream in each_stream(team):
            for operation, (combine, types) in REDUCTIONS.items():
                for dtype in types:
                    parts = [values(pe, dtype) for pe in members(team)]
                    expected = parts[0]
                    for part in parts[1:]:
                        expected = combine(expected, part).astype(dtype)
                    place.write(SOURCE, values(shmem.my_pe(), dtype))
                    call = getattr(team, operation)
                    d, s = place.part(DEST, dtype, N), place.part(SOURCE, dtype, N)
                    enqueue(stream, lambda st: call(d, s, stream=st))
                    expect(DEST, expected, f"{operation} of {dtype} on {name}")


def test_sums_of_bfloat16():
    """With the type of ml_dtypes, or without it: the bits are the upper half of a float's."""
    setup()
    for name, stream in each_stream():
        parts = [values(pe, "f4") for pe in range(shmem.n_pes())]
        bits = [(part.view("u4") >> 16).astype("u2") for part in [parts[shmem.my_pe()], np.sum(parts, 0, "f4"),
                                                                  np.max(parts, 0), np.min(parts, 0)]]
        place.write(SOURCE, bits[0])
        d, s = place.part(DEST, bfloat16, N), place.part(SOURCE, bfloat16, N)
        for operation, expected in zip(("sum_reduce", "max_reduce", "min_reduce"), bits[1:]):
            call = getattr(shmem, operation)
            enqueue(stream, lambda st: call(d, s, stream=st))
            expect(DEST, expected, f"{operation} of bfloat16 on {name}")
        with raises(TypeError, "prod_reduce is not defined"):
            shmem.prod_reduce(d, s)


def test_scans():
    me, n = setup()
    for name, stream in each_stream():
        for dtype in [t for t in ALL if t != "f2"]:
            place.write(SOURCE, values(me, dtype))
            d, s = place.part(DEST, dtype, N), place.part(SOURCE, dtype, N)
            for operation, last in (("sum_inscan", me + 1), ("sum_exscan", me)):
                expected = sum((values(pe, dtype) for pe in range(last)), np.zeros(N, dtype)).astype(dtype)
                call = getattr(shmem, operation)
                enqueue(stream, lambda st: call(d, s, stream=st))
                expect(DEST, expected, f"{operation} of {dtype} on {name}")


def test_moves():
    """broadcast, collect, fcollect, alltoall, alltoalls: of types of every size."""
    setup()
    for team in teams():
        pes = members(team)
        rank = pes.index(shmem.my_pe())
        for name, stream in each_stream(team):
            for dtype in ("u1", "f2", "f4", "f8", "c16"):
                k = len(pes)
                wide = [values(pe, dtype, N * k) for pe in pes]
                place.write(SOURCE, wide[rank])
                d, s = place.part(DEST, dtype, 4 * N * k), place.part(SOURCE, dtype, N * k)
                where = f"of {dtype} on {name}"
                enqueue(stream, lambda st: team.broadcast(d, s, k - 1, N, stream=st))
                expect(DEST, wide[-1][:N], "broadcast " + where)
                enqueue(stream, lambda st: team.fcollect(d, s, N, stream=st))
                expect(DEST, np.concatenate([part[:N] for part in wide]), "fcollect " + where)
                enqueue(stream, lambda st: team.collect(d, s, rank + 1, stream=st))
                expect(DEST, np.concatenate([wide[i][: i + 1] for i in range(k)]), "collect " + where)
                enqueue(stream, lambda st: team.alltoall(d, s, N, stream=st))
                expect(DEST, np.concatenate([part[rank * N : rank * N + N] for part in wide]), "alltoall " + where)
                place.write(DEST, np.zeros(4 * N * k, dtype))
                enqueue(stream, lambda st: team.alltoalls(d, s, 3, 2, 5, stream=st))
                expected = np.zeros(15 * k, dtype)
                for i, part in enumerate(wide):
                    expected[15 * i : 15 * i + 15 : 3] = part[10 * rank : 10 * rank + 10 : 2]
                expect(DEST, expected, "alltoalls " + where)


def test_sync():
    me, n = setup()
    for team in teams():
        pes = members(team)
        right = pes[(pes.index(me) + 1) % len(pes)]
        left = pes[(pes.index(me) - 1) % len(pes)]
        for name, stream in each_stream(team):
            place.write(SOURCE, values(me, "f8"))
            d, s = place.part(DEST, "f8", N), place.part(SOURCE, "f8", N)

            def work(st):
                team.sync(stream=st)
                shmem.put_on_stream(d, s, right, st)
                team.barrier_on_stream(st)

            enqueue(stream, work)
            expect(DEST, values(left, "f8"), f"put and team barrier on {name}")
            shmem.barrier_all()
        shmem.barrier_all()


def test_transfers():
    me, n = setup()
    right, left = (me + 1) % n, (me - 1) % n
    for name, stream in each_stream():
        for dtype in ("u1", "i2", "f4", "f8", "c16"):
            place.write(SOURCE, values(me, dtype, 4 * N))
            place.write(DEST, np.zeros(4 * N, dtype))
            place.write(OTHER, np.zeros(4 * N, dtype))
            shmem.barrier_all()
            d, s, o = (place.part(area, dtype, 4 * N) for area in (DEST, SOURCE, OTHER))

            def work(st):
                shmem.iput_on_stream(d, s, 3, 2, right, st, n=N)
                shmem.fence_on_stream(st)
                if np.dtype(dtype).itemsize <= 8:
                    shmem.p_on_stream(d[1:2], 7, right, st)
                shmem.get_on_stream(o[:N], s, left, st)
                shmem.iget_on_stream(o[N : 3 * N], s, 2, 1, right, st, n=N)
                shmem.barrier_all_on_stream(st)

            enqueue(stream, work)
            expected, other = np.zeros(4 * N, dtype), np.zeros(4 * N, dtype)
            expected[: 3 * N : 3] = values(left, dtype, 4 * N)[: 2 * N : 2]
            if np.dtype(dtype).itemsize <= 8:
                expected[1] = 7
            other[:N] = values(left, dtype)
            other[N : 3 * N : 2] = values(right, dtype)
            expect(DEST, expected, f"iput of {dtype} on {name}")
            expect(OTHER, other, f"get and iget of {dtype} on {name}")
            shmem.barrier_all()


def test_signals():
    me, n = setup()
    right, left = (me + 1) % n, (me - 1) % n
    for name, stream in each_stream():
        place.write(WORD, np.zeros(8, "u8"))
        place.write(SOURCE, values(me, "f4"))
        shmem.barrier_all()
        d, s, o = (place.part(area, "f4", N) for area in (DEST, SOURCE, OTHER))
        sig = place.part(WORD, "u8", 8)

        def work(st):
            d.put_signal(s, sig[0], 5, right, stream=st)
            shmem.signal_wait_until_set_on_stream(sig[0], "==", 5, 9, st)
            shmem.signal_fetch_on_stream(sig[1], sig[0], st)
            shmem.signal_op_on_stream(sig[2], 3, right, st, shmem.SIGNAL_ADD)
            shmem.signal_wait_until_on_stream(sig[2], ">=", 3, st)
            shmem.get_on_stream(o, d, me, st)
            shmem.quiet_on_stream(st)

        enqueue(stream, work)
        expect(WORD, np.array([9, 9, 3, 0], "u8"), f"signals on {name}")
        expect(OTHER, values(left, "f4"), f"put_signal on {name}")
        shmem.barrier_all()


def test_atomics():
    """All PEs on the words of one: what is fetched tells in which order, the sum that none was lost."""
    me, n = setup()
    for name, stream in each_stream():
        for dtype in WORDS:
            place.write(WORD, np.array([0, 0, 12, 8, 10, 0, 2, 6], dtype))
            place.write(OTHER, np.zeros(16, dtype))
            shmem.barrier_all()
            w, o = place.part(WORD, dtype, 8), place.part(OTHER, dtype, 16)

            def work(st):
                shmem.atomic_add_on_stream(w[0], me + 1, 0, st)
                shmem.atomic_fetch_add_on_stream(o[0], w[0], 100, 0, st)
                shmem.atomic_inc_on_stream(w[1], 0, st)
                shmem.atomic_fetch_inc_on_stream(o[1], w[1], 0, st)
                shmem.atomic_and_on_stream(w[2], 8, 0, st)
                shmem.atomic_fetch_or_on_stream(o[2], w[3], 4, 0, st)
                shmem.atomic_fetch_xor_on_stream(o[3], w[4], 0, 0, st)
                shmem.atomic_compare_swap_on_stream(o[4], w[5], 0, 77, 0, st)
                shmem.atomic_or_on_stream(w[6], 1, 0, st)
                shmem.atomic_fetch_and_on_stream(o[5], w[7], 3, 0, st)
                shmem.atomic_xor_on_stream(w[7], 0, 0, st)
                shmem.barrier_all_on_stream(st)
                shmem.atomic_fetch_on_stream(o[6], w[5], 0, st)
                shmem.barrier_all_on_stream(st)
                shmem.atomic_swap_on_stream(o[7], w[0][0:1] if me else w[1], 5, me, st)
                shmem.atomic_set_on_stream(w[2], 6, me, st)
                shmem.barrier_all_on_stream(st)

            enqueue(stream, work)
            what = f"{dtype} on {name}"
            if me == 0:
                total = n * (n + 1) // 2 + 100 * n
                expect(WORD, np.array([total, 5, 6, 12, 10, 77, 3, 2], dtype), "atomics of " + what)
            got = place.read(OTHER, dtype, 8).tolist()
            assert got[2] in (8, 12) and got[3] == 10 and got[4] in (0, 77) and got[5] in (6, 2) and got[6] == 77, (what, got)
            assert 0 < got[1] < 2 * n and (got[7] == 2 * n if me == 0 else got[7] == 0), (what, got)
            shmem.barrier_all()
        for dtype in ("f4", "f8"):
            place.write(WORD, np.array([1.5, 0], dtype))
            shmem.barrier_all()
            w = place.part(WORD, dtype, 2)

            def work(st):
                shmem.atomic_swap_on_stream(w[1], w[0], 2.5, me, st)
                shmem.atomic_set_on_stream(w[0], 3.5, me, st)
                shmem.quiet_on_stream(st)

            enqueue(stream, work)
            expect(WORD, np.array([3.5, 1.5], dtype), f"swap of {dtype} on {name}")
            shmem.barrier_all()


def test_waits():
    me, n = setup()
    right = (me + 1) % n
    for name, stream in each_stream():
        for dtype in WORDS:
            place.write(WORD, np.zeros(8, dtype))
            place.write(OTHER, np.zeros(4, "u8"))
            shmem.barrier_all()
            w, index = place.part(WORD, dtype, 8), place.part(OTHER, "u8", 4)

            def work(st):
                for i, value in enumerate((4, 4, 1, 1)):
                    shmem.atomic_set_on_stream(w[i], value, right, st)
                shmem.wait_until_on_stream(w[0], "==", 4, st)
                shmem.wait_until_all_on_stream(w[:6], ">", 0, st, status=[0, 0, 0, 0, 1, 1])
                shmem.wait_until_any_on_stream(index[0], w[:6], ">", 3, st, status=[1, 0, 0, 0, 0, 0])
                shmem.wait_until_any_on_stream(index[1], w[:2], ">", 3, st, status=[1, 1])

            enqueue(stream, work)
            expect(OTHER, np.array([1, LAST], "u8"), f"wait_until_any of {dtype} on {name}")
            shmem.barrier_all()


def test_private_operands():
    """Of the program, not mapped: numpy arrays in the queue or stream."""
    me, n = setup()
    right, left = (me + 1) % n, (me - 1) % n
    for name, stream in each_stream():
        if is_captured(stream):
            continue  # a thread of the library takes part in what is neither mapped nor page-locked
        source, out, old = values(me, "f8"), np.zeros(N), np.zeros(1, "i8")
        place.write(WORD, np.array([41], "i8"))
        shmem.barrier_all()
        d = place.part(DEST, "f8", N)

        def work(st):
            shmem.put_on_stream(d, source, right, st)
            shmem.barrier_all_on_stream(st)
            shmem.get_on_stream(out, d, me, st)
            shmem.atomic_fetch_add_on_stream(old, place.part(WORD, "i8", 1), 1, me, st)

        enqueue(stream, work)
        assert np.array_equal(out, values(left, "f8")) and old[0] == 41, name
        shmem.barrier_all()


def test_refusals():
    setup()
    name, stream = next(iter(place.streams()))
    d = place.part(DEST, "f8", N)
    w = place.part(WORD, "i8", 2)
    for wrong, kind, text in (
        (lambda: shmem.atomic_add_on_stream(d[0], 1, 0, stream), TypeError, "not defined for elements of type float64"),
        (lambda: shmem.atomic_add_on_stream(w, 1, 0, stream), ValueError, "one element is needed"),
        (lambda: shmem.atomic_add_on_stream(w[0], 1, shmem.n_pes(), stream), shmem.InvalidPE, "there is no PE"),
        (lambda: shmem.atomic_fetch_on_stream(np.zeros(1, "i4"), w[0], 0, stream), TypeError, "converts nothing"),
        (lambda: shmem.wait_until_on_stream(w[0], "=>", 1, stream), ValueError, "no comparison"),
        (lambda: shmem.p_on_stream(d[:2].view("c16"), 1, 0, stream), TypeError, "not defined"),
        (lambda: shmem.iput_on_stream(d, np.zeros(4), 1, 1, 0, stream, n=5), ValueError, "do not fit"),
        (lambda: shmem.sum_reduce(d, d, N + 1, stream=stream), ValueError, "dest needs"),
        (lambda: shmem.and_reduce(d, d, stream=stream), TypeError, "not defined for elements of type float64"),
        (lambda: shmem.sum_reduce(d, d, wait_for=[1]), TypeError, "only a queue"),
        (lambda: shmem.sum_reduce(d, d, stream="main"), TypeError, "no CUDA stream"),
    ):
        with raises(kind, text):
            wrong()


main(globals())
