# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of PyOpenCL as symmetric memory: transfers, parts, signals, atomic operations, collectives, queues."""

import sys

import mapshmem as shmem
import numpy as np
from harness import main, raises

try:
    import pyopencl as cl
    import pyopencl.array

    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
except (ImportError, IndexError, RuntimeError) as error:
    print(f"no PyOpenCL with a device: {error}")
    sys.exit(77)


def places():
    me, n = shmem.my_pe(), shmem.n_pes()
    return me, n, (me + 1) % n, (me - 1) % n


def buffer_of(values):
    return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)


def read(buffer, dtype="f8"):
    out = np.empty(buffer.size // np.dtype(dtype).itemsize, dtype)
    cl.enqueue_copy(queue, out, buffer)
    return out


def test_transfers():
    me, n, right, left = places()
    buffer = buffer_of(np.zeros(64))
    with shmem.map(buffer, dtype="f8") as m:
        assert len(m) == 64 and m.nbytes == 512 and m.route(me) == "local" and m.address
        m.put(np.arange(64.0) + me, right)
        shmem.barrier_all()
        assert (read(buffer) == np.arange(64.0) + left).all()
        out = np.zeros(8)
        m[8:16].get(out, right)
        assert (out == np.arange(8.0, 16) + me).all()
        shmem.barrier_all()
        m[60:].put([1.0, 2.0, 3.0, 4.0], right, nbi=True)
        m[0].p(-1.0, right)
        shmem.quiet()
        shmem.barrier_all()
        assert read(buffer)[60:].tolist() == [1, 2, 3, 4] and m[0].g(left) == -1.0
        sig = shmem.zeros(1, np.uint64)
        m[1:3].put_signal(np.full(2, 5.0 + me), sig, 1, right)
        shmem.signal_wait_until(sig, "==", 1)
        assert read(buffer)[1:3].tolist() == [5.0 + left] * 2
        shmem.put(m[32:40], m[0:8], right)  # from mapped memory to mapped memory
        shmem.barrier_all()
        m.put_signal(np.ones(1), sig, 1, right, shmem.SIGNAL_ADD, nbi=True)
        shmem.quiet()
        shmem.barrier_all()
        assert sig[0] == 2
        shmem.put_box(m.box((3, 2), (8, 1), 16), np.full((3, 2), 9.0), right)
        shmem.barrier_all()
        assert read(buffer)[16:40].reshape(3, 8)[:, :2].tolist() == [[9.0, 9.0]] * 3
        shmem.free(sig)


def test_words():
    me, n, right, left = places()
    buffer = buffer_of(np.zeros(8, np.int64))
    with shmem.map(buffer) as raw:
        m = raw.view(np.int64)
        shmem.atomic_add(m[0], me + 1, 0)
        shmem.barrier_all()
        assert shmem.atomic_fetch(m[0], 0) == n * (n + 1) // 2
        signal = m[1].view(np.uint64)
        shmem.signal_set(signal, 3, right)
        assert shmem.signal_wait_until(signal, ">=", 3) == 3
        shmem.barrier_all()


def test_collectives():
    me, n, right, left = places()
    source, dest = buffer_of(np.full(16, me + 1.0)), buffer_of(np.zeros(16))
    with shmem.map(source, dtype="f8") as s, shmem.map(dest, dtype="f8") as d:
        shmem.sum_reduce(d, s)
        assert (read(dest) == n * (n + 1) / 2).all()
        d.broadcast(s, n - 1)
        assert (read(dest) == n).all()
        shmem.sync_all()
        s.reduce("max")
        assert (read(source) == n).all()
        shmem.barrier_all()


def test_queue():
    me, n, right, left = places()
    source, dest = buffer_of(np.full(32, me + 2.0)), buffer_of(np.zeros(32))
    sig = shmem.zeros(1, np.uint64)
    with shmem.map(source, dtype="f8") as s, shmem.map(dest, dtype="f8") as d:
        program = cl.Program(context, "kernel void twice(global double *x) { x[get_global_id(0)] *= 2; }").build()
        twice = cl.Kernel(program, "twice")
        twice(queue, (32,), None, source)
        event = d.put_signal(s, sig, 1, right, stream=queue)
        assert isinstance(event, cl.Event)
        waited = shmem.signal_wait_until_on_stream(sig, "==", 1, queue, wait_for=[event])
        twice(queue, (32,), None, dest)
        shmem.quiet_on_stream(queue).wait()
        waited.wait()
        queue.finish()
        assert (read(dest) == 4 * (left + 2.0)).all()
        shmem.barrier_all_on_stream(queue).wait()
        d[0:4].put(s[0:4], right, stream=queue)
        shmem.signal_op_on_stream(sig, 5, right, queue)
        shmem.quiet_on_stream(queue)
        shmem.sync_all_on_stream(queue).wait()
        out = np.zeros(4)
        d[0:4].get(out, me, stream=queue).wait()
        assert (out == 2 * (left + 2.0)).all() and sig[0] == 5
        shmem.barrier_all()
    shmem.free(sig)


def test_arrays_and_lifetime():
    me, n, right, left = places()
    array = cl.array.zeros(queue, (4, 4), np.float32)
    m = shmem.map(array)
    assert m.dtype == np.float32 and len(m) == 16
    del array  # the handle keeps it
    m.put(np.full(16, me, "f4"), right)
    shmem.barrier_all()
    part = m[2:4]
    m.unmap()
    m.unmap()
    with raises(ValueError, "unmapped"):
        part.put(np.zeros(2, "f4"), right)
    other = cl.array.zeros(queue, (4, 4), np.float32)
    with raises(shmem.MapError, "not contiguous"):
        shmem.map(other.T)
    with shmem.map(other):
        with raises(shmem.MapError, "already mapped"):
            shmem.map(other)
    if n > 1:
        small = cl.array.zeros(queue, 4 + me, np.float32)
        with raises(shmem.MapError, f", {4 * (n + 3)} bytes on PE {n - 1}, but OpenCL, 16 bytes on PE 0"):
            shmem.map(small)
    kept = shmem.map(cl.array.zeros(queue, 8, np.int32))  # finalize unmaps it
    assert kept.nbytes == 32


def test_is_no_array():
    buffer = buffer_of(np.zeros(8))
    with shmem.map(buffer, dtype="f8") as m:
        for misuse in (lambda: np.asarray(m) + 1, lambda: list(m), lambda: m[::2], lambda: m[8], lambda: float(m)):
            try:
                misuse()
            except (TypeError, IndexError):
                continue
            raise AssertionError("the CPU can touch it")
        with raises(TypeError, "m.get(array, pe)"):
            np.asarray(m)
        assert m.shape == (8,) and m[2:4].shape == (2,)
        with raises(ValueError, "bytes"):
            m.put(np.zeros(9), 0)
        with raises(TypeError, "converts nothing"):
            m.put(np.zeros(2, "f4"), 0)
        with raises(TypeError, "map it"):
            m.put(buffer, 0)
        with raises(ValueError, "whole number"):
            m[0:1].view("c16")
    with shmem.map(buffer_of(np.arange(8.0)), dtype="f8", writable=False) as m:
        with raises(ValueError, "read-only"):
            m.put(np.zeros(8), 0)
        out = np.zeros(8)
        m.get(out, shmem.my_pe())
        assert out[7] == 7
        shmem.barrier_all()


if __name__ == "__main__":
    main(globals())
