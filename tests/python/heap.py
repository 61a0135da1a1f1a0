# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of the symmetric heap: memory, transfers, atomic operations, signals, waits, locks, contexts, teams,
collectives. Any number of PEs."""

import gc
import threading
import warnings

import mapshmem as shmem
import numpy as np
from harness import main, raises


def places():
    me, n = shmem.my_pe(), shmem.n_pes()
    return me, n, (me + 1) % n, (me - 1) % n


def test_query():
    me, n, _, _ = places()
    assert 0 <= me < n and shmem.initialized() and shmem.query_thread() >= shmem.THREAD_SINGLE
    assert shmem.info_get_version() == (1, 6) and "MapSHMEM" in shmem.info_get_name()
    assert all(shmem.pe_accessible(pe) for pe in range(n)) and not shmem.pe_accessible(n)
    shmem.pcontrol(1)
    job = shmem.init()  # once more, and so it ends twice
    with job:
        pass
    assert shmem.initialized()


def test_memory():
    before = shmem.heap_info()["used"]
    arrays = [shmem.empty((3, 5), np.float32), shmem.zeros(7, "i8"), shmem.ones((2, 2)), shmem.full(3, 2.5),
              shmem.array([[1, 2], [3, 4]]), shmem.empty(4, align=4096), shmem.zeros_like(np.ones((2, 3), "u2")),
              shmem.empty(2, "u8", hints=shmem.MALLOC_SIGNAL_REMOTE)]  # fmt: skip
    assert arrays[0].shape == (3, 5) and arrays[0].dtype == np.float32 and not arrays[1].any()
    assert arrays[4].tolist() == [[1, 2], [3, 4]] and arrays[6].shape == (2, 3)
    assert arrays[5].__array_interface__["data"][0] % 4096 == 0
    assert shmem.heap_info()["used"] > before and shmem.addr_accessible(arrays[0], 0)
    assert shmem.zeros((0, 3)).shape == (0, 3)
    arrays[1][:] = range(7)
    arrays[1] = shmem.realloc(arrays[1], 70)
    assert arrays[1][:7].tolist() == list(range(7)) and arrays[1].size == 70
    for array in arrays:
        shmem.free(array)
    assert shmem.heap_info()["used"] == before
    with raises(MemoryError, "SHMEM_SYMMETRIC_SIZE"):
        shmem.empty(2**40)
    with raises(shmem.NotSymmetric):
        shmem.free(np.zeros(3))


def test_lost_array():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        shmem.zeros(3)
        gc.collect()
    assert [w for w in seen if w.category is ResourceWarning], "an array that is never freed gives a warning"


def test_put_get():
    me, n, right, left = places()
    for dtype in "i1", "u2", "i4", "u8", "f4", "f8", "g", "c8", "c16", "?":
        a, b = shmem.zeros((4, 3), dtype), np.full((4, 3), me + 1, dtype)
        shmem.put(a, b, right)
        shmem.barrier_all()
        assert (a == np.array(left + 1, dtype)).all()
        shmem.get(b[1:3], a[0:2], right)
        assert (b[1:3] == np.array(me + 1, dtype)).all() and (b[0] == np.array(me + 1, dtype)).all()
        shmem.barrier_all()
        shmem.put_nbi(a[2:], np.full((2, 3), 7, dtype), right)  # kept alive
        out = np.zeros((4, 3), dtype)
        shmem.quiet()
        shmem.barrier_all()
        shmem.get_nbi(out, a, left)
        shmem.quiet()
        assert (out[2:] == np.array(7, dtype)).all()
        shmem.p(a[0, 1:2], 5, right)
        shmem.barrier_all()
        assert a[0, 1] == np.array(5, dtype) and shmem.g(a[0:1, 1:2], left) == np.array(5, dtype)
        shmem.barrier_all()
        shmem.free(a)
    a = shmem.zeros(16, np.uint8)
    shmem.put(a, b"0123456789abcdef", right)
    shmem.barrier_all()
    assert a.tobytes() == b"0123456789abcdef"
    shmem.free(a)


def test_strided_and_boxes():
    me, n, right, left = places()
    a = shmem.zeros((4, 6), "i4")
    b = np.arange(24, dtype="i4").reshape(4, 6) + 100 * me
    shmem.iput(a.reshape(-1)[1:], b.reshape(-1), 6, 6, right)
    shmem.barrier_all()
    assert a[:, 1].tolist() == [100 * left + 6 * i for i in range(4)]
    got = np.zeros(4, "i4")
    shmem.iget(got, a.reshape(-1)[1:], 1, 6, right, 4)
    assert got.tolist() == [100 * me + 6 * i for i in range(4)]
    shmem.barrier_all()
    shmem.ibput(a, b, 6, 6, 2, right)
    shmem.barrier_all()
    assert (a[:, :2] == b[:, :2] - 100 * me + 100 * left).all()
    shmem.barrier_all()
    shmem.ibget(b, a, 6, 6, 3, right, 2)
    assert (b[:2, :2] == np.arange(24).reshape(4, 6)[:2, :2] + 100 * me).all()
    shmem.barrier_all()
    shmem.free(a)
    cube = shmem.zeros((4, 5, 6))
    mine = np.arange(120.0).reshape(4, 5, 6) + 1000 * me
    shmem.put_box(cube[1:-1, 1:-1, 0:1], mine[1:-1, 1:-1, 4:5], right)
    shmem.put_box_nbi(cube[:, 0, :], mine[:, 4, :], right)
    shmem.barrier_all()
    theirs = mine - 1000 * me + 1000 * left
    assert (cube[1:-1, 1:-1, 0] == theirs[1:-1, 1:-1, 4]).all() and (cube[:, 0, :] == theirs[:, 4, :]).all()
    assert cube[1:, 1:, 1:].sum() == 0
    out = np.zeros((4, 6))
    shmem.get_box(out, cube[:, 0, :], right)
    assert (out == mine[:, 4, :]).all()
    shmem.barrier_all()
    with raises(ValueError, "shapes"):
        shmem.put_box(cube[:2], mine[:3], right)
    shmem.free(cube)


def test_atomics():
    me, n, right, left = places()
    for dtype in "i4", "i8", "u4", "u8":
        a, old = shmem.zeros(2, dtype), np.zeros(1, dtype)
        word = a[0:1]
        shmem.atomic_inc(word, 0)
        shmem.atomic_add(word, 2, 0)
        assert 0 <= shmem.atomic_fetch_add(word, 3, 0) < 10 * n
        shmem.atomic_fetch_inc(word, 0)
        shmem.barrier_all()
        assert shmem.atomic_fetch(word, 0) == 7 * n
        word = a[1:2]
        shmem.atomic_set(word, 12, right)
        shmem.barrier_all()
        assert shmem.atomic_swap(word, 10, right) == 12 and shmem.atomic_compare_swap(word, 10, 6, right) == 10
        assert shmem.atomic_fetch_and(word, 12, right) == 6 and shmem.atomic_fetch_or(word, 3, right) == 4
        assert shmem.atomic_fetch_xor(word, 1, right) == 7
        shmem.atomic_and(word, 4, right), shmem.atomic_or(word, 8, right), shmem.atomic_xor(word, 4, right)
        shmem.quiet()
        for call, values, expected in ((shmem.atomic_fetch_nbi, (), 8), (shmem.atomic_swap_nbi, (1,), 8),
                                       (shmem.atomic_compare_swap_nbi, (1, 2), 1), (shmem.atomic_fetch_inc_nbi, (), 2),
                                       (shmem.atomic_fetch_add_nbi, (4,), 3), (shmem.atomic_fetch_and_nbi, (5,), 7),
                                       (shmem.atomic_fetch_or_nbi, (2,), 5), (shmem.atomic_fetch_xor_nbi, (1,), 7)):
            call(old, word, *values, right)
            shmem.quiet()
            assert old[0] == expected, (call, old, expected)
        shmem.barrier_all()
        assert a[1] == 6
        shmem.free(a)
    x = shmem.zeros(1)
    assert shmem.atomic_swap(x, 2.5, right) == 0.0
    shmem.barrier_all()
    assert shmem.atomic_fetch(x, left) == 2.5
    with raises(TypeError):
        shmem.atomic_add(x, 1, right)
    shmem.barrier_all()
    shmem.free(x)


def test_signals_and_waits():
    me, n, right, left = places()
    sig, data = shmem.zeros(2, np.uint64), shmem.zeros(100)
    shmem.put_signal(data, np.full(100, me + 0.5), sig[0:1], 5, right)
    assert shmem.signal_wait_until(sig[0:1], ">=", 5) == 5 and data[99] == left + 0.5
    shmem.barrier_all()
    shmem.put_signal_nbi(data, np.full(100, 3.5), sig[0:1], 2, right, shmem.SIGNAL_ADD)
    shmem.wait_until(sig[0:1], shmem.CMP_EQ, 7)
    shmem.signal_set(sig[1:2], 4, right)
    shmem.signal_add(sig[1:2], 4, right)
    shmem.wait_until(sig[1:2], "==", 8)
    assert shmem.signal_fetch(sig[1:2]) == 8 and shmem.test(sig[1:2], "!=", 7) and not shmem.test(sig[1:2], "<", 8)
    shmem.barrier_all()
    for dtype in "i4", "u8":
        flags = shmem.zeros(4, dtype)
        shmem.put(flags, np.arange(4, dtype=dtype) + 1, right)
        shmem.wait_until_all(flags, ">", 0)
        shmem.wait_until_all(flags, "==", [1, 2, 3, 4])
        assert shmem.wait_until_any(flags, "==", 3) == 2 and shmem.wait_until_any(flags, ">", 0, [1] * 4) is None
        assert shmem.wait_until_some(flags, ">", 2).tolist() == [2, 3]
        assert shmem.wait_until_some(flags, ">=", [9, 2, 9, 4], [0, 0, 0, 1]).tolist() == [1]
        assert shmem.test_all(flags, ">", 0) and not shmem.test_all(flags, ">", [0, 0, 0, 4])
        assert shmem.test_any(flags, "==", 9) is None and shmem.test_any(flags, "==", 4) == 3
        assert shmem.test_some(flags, "<", 3).tolist() == [0, 1]
        shmem.barrier_all()
        shmem.free(flags)
    shmem.free(sig), shmem.free(data)


def test_other_threads_run():
    """A thread that waits in the library lets others run: here the one that ends its wait."""
    me, n, right, left = places()
    flag = shmem.zeros(1, np.int64)
    timer = threading.Timer(0.05, lambda: flag.__setitem__(0, 1))
    timer.start()
    shmem.wait_until(flag, "==", 1)
    timer.join()
    shmem.barrier_all()
    shmem.free(flag)


def test_lock():
    me, n, _, _ = places()
    lock, count = shmem.Lock(), shmem.zeros(1, np.int64)
    for _ in range(5):
        with lock:
            shmem.p(count, shmem.g(count, 0) + 1, 0)
    shmem.barrier_all()
    assert shmem.g(count, 0) == 5 * n
    if me == 0:
        assert lock.test()
        lock.release()
    shmem.barrier_all()
    lock.free()
    shmem.free(count)


def test_contexts():
    me, n, right, left = places()
    a = shmem.zeros(3)
    with shmem.ctx_create(shmem.CTX_SERIALIZED) as ctx:
        assert ctx.team == shmem.TEAM_WORLD
        ctx.session_start(batch=True, total_ops=3)
        for i in range(3):
            ctx.put_nbi(a[i : i + 1], [me + i], right)
        ctx.session_stop()
        ctx.fence()
        ctx.quiet()
        ctx.pe_quiet([right])
    shmem.pe_quiet([right, left])
    shmem.barrier_all()
    assert a.tolist() == [left, left + 1, left + 2]
    with raises(shmem.InvalidPE):
        ctx.put(a, [1.0], right)  # destroyed
    shmem.barrier_all()
    shmem.free(a)


def test_teams():
    me, n, right, left = places()
    world = shmem.TEAM_WORLD
    assert (world.my_pe(), world.n_pes()) == (me, n) and shmem.TEAM_SHARED.n_pes() >= 1
    even = world.split_strided(0, 2, (n + 1) // 2, num_contexts=1)
    assert (even is None) == (me % 2 == 1)
    if even is not None:
        assert even.my_pe() == me // 2 and even.translate_pe(even.my_pe(), world) == me and even.num_contexts() == 1
        even.sync()
    a = shmem.zeros(n, "i8")
    if even is not None:
        with even, even.create_ctx() as ctx:
            ctx.put(a[0:1], [even.my_pe() + 10], (even.my_pe() + 1) % even.n_pes())
            ctx.quiet()
            even.sync()
            assert a[0] == 10 + (even.my_pe() - 1) % even.n_pes() and ctx.team == even
            with raises(shmem.InvalidPE):
                ctx.put(a[0:1], [1], even.n_pes())
    x, y = world.split_2d(2)
    assert x.n_pes() <= 2 and y.n_pes() >= 1
    y.destroy(), x.destroy()
    view = shmem.remote_view(a, me)
    view[0] = 77
    assert a[0] == 77 and world.remote_view(a, me) is not None
    shmem.barrier_all()
    shmem.free(a)


def test_collectives():
    me, n, right, left = places()
    a, b = shmem.array(np.arange(n * 3) + 100 * me), shmem.zeros(n * 3, int)
    shmem.broadcast(b, a, n - 1)
    assert (b == np.arange(n * 3) + 100 * (n - 1)).all()
    shmem.sync_all()
    shmem.fcollect(b, a[:3])
    assert (b == np.concatenate([np.arange(3) + 100 * pe for pe in range(n)])).all()
    shmem.sync_all()
    many = shmem.zeros(n * (n + 1) // 2, int)
    shmem.collect(many, a[: me + 1])
    assert (many == np.concatenate([np.arange(pe + 1) + 100 * pe for pe in range(n)])).all()
    shmem.alltoall(b, a)
    assert (b == np.concatenate([np.arange(3) + 3 * me + 100 * pe for pe in range(n)])).all()
    shmem.sync_all()
    b[:] = 0
    shmem.sync_all()
    shmem.alltoalls(b, a, 2, 3, 1)
    assert b[: 2 * n : 2].tolist() == [100 * pe + 3 * me for pe in range(n)]
    for dtype in "i1", "u2", "i4", "i8", "u8", "f4", "f8", "g", "c8", "c16":
        s, d = shmem.full(4, me + 1, dtype), shmem.zeros(4, dtype)
        shmem.sum_reduce(d, s)
        assert d[3] == n * (n + 1) // 2
        shmem.prod_reduce(d, s)
        assert d[0] == np.prod(np.arange(1, n + 1))
        shmem.sum_inscan(d, s)
        assert d[1] == (me + 1) * (me + 2) // 2
        shmem.sum_exscan(d, s)
        assert d[1] == me * (me + 1) // 2
        if d.dtype.kind != "c":
            shmem.max_reduce(d, s), shmem.min_reduce(s, s)
            assert d[2] == n and s[2] == 1
        if d.dtype.kind in "iu":
            s[:] = me + 1
            shmem.sync_all()
            for call, combine in ((shmem.and_reduce, np.bitwise_and), (shmem.or_reduce, np.bitwise_or),
                                  (shmem.xor_reduce, np.bitwise_xor)):
                call(d, s)
                assert d[0] == combine.reduce(np.arange(1, n + 1))
        shmem.barrier_all()
        shmem.free(s), shmem.free(d)
    for array in a, b, many:
        shmem.free(array)


def test_prepare():
    private = np.zeros(10000)
    shmem.prepare(private)
    assert shmem.prepared(private) & shmem.MEMORY_PREPARED
    shmem.release(private)
    assert not shmem.prepared(private) & shmem.MEMORY_PREPARED


def test_floats_of_16_bits():
    me, n = shmem.my_pe(), shmem.n_pes()
    a, b = shmem.full(5, me + 1, np.float16), shmem.zeros(5, np.float16)
    shmem.sum_reduce(b, a)
    assert b.tolist() == [n * (n + 1) / 2] * 5
    shmem.max_reduce(a, a)
    assert a.tolist() == [n] * 5
    with raises(TypeError, "prod_reduce is not defined for elements of type float16"):
        shmem.prod_reduce(b, a)
    shmem.free(a)
    shmem.free(b)


if __name__ == "__main__":
    main(globals())
