# SPDX-License-Identifier: BSD-3-Clause
"""Who keeps the memory that the library still uses, and until when: temporaries that nobody but the package holds, in
every operation that may be under way on return, up to every call that ends it. Any number of PEs."""

import gc
import sys
import weakref

import mapshmem as shmem
import numpy as np
from harness import main, raises
from mapshmem import _context, _heap, _map, _setup, _team
from mapshmem._kernels import _peer

try:
    import pyopencl as cl

    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
except (ImportError, IndexError, RuntimeError) as error:
    print(f"no PyOpenCL with a device: {error}")
    sys.exit(77)

MODULES = (_context, _heap, _map, _setup, _team)


def is_alive(reference):
    gc.collect()
    return reference() is not None


class Spy:
    """with Spy("shmem_barrier_all", look): calls look() right before the library's routine of that name."""

    def __init__(self, name, look):
        self.name, self.look, self.real, self.seen = name, look, _map.lib, []

    def __getattr__(self, name):
        routine = getattr(self.real, name)
        if name != self.name:
            return routine

        def call(*arguments):
            self.seen.append(self.look())
            return routine(*arguments)

        return call

    def __enter__(self):
        for module in MODULES:
            module.lib = self
        return self

    def __exit__(self, *exception):
        for module in MODULES:
            module.lib = self.real


def buffer_of(nbytes):
    return cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes)


def operations(heap, words, sig, pe):
    """name: a function that begins an operation with the private array, of 8 elements of int64."""
    return {
        "put_nbi": lambda ctx, x: ctx.put_nbi(heap, x, pe),
        "put_nbi of a part": lambda ctx, x: ctx.put_nbi(heap, x[2:4], pe),
        "put_nbi of bytes": lambda ctx, x: ctx.put_nbi(heap, memoryview(x), pe),
        "get_nbi": lambda ctx, x: ctx.get_nbi(x, heap, pe),
        "get_nbi of a part": lambda ctx, x: ctx.get_nbi(x[1:], heap, pe),
        "put_signal_nbi": lambda ctx, x: ctx.put_signal_nbi(heap, x, sig, 1, pe),
        "put_box_nbi": lambda ctx, x: ctx.put_box_nbi(heap[::2], x[::2], pe),
        "get_box_nbi": lambda ctx, x: ctx.get_box_nbi(x[::2], heap[::2], pe),
        "atomic_fetch_nbi": lambda ctx, x: ctx.atomic_fetch_nbi(x, words, pe),
        "atomic_swap_nbi": lambda ctx, x: ctx.atomic_swap_nbi(x, words, 1, pe),
        "atomic_compare_swap_nbi": lambda ctx, x: ctx.atomic_compare_swap_nbi(x, words, 1, 2, pe),
        "atomic_fetch_add_nbi": lambda ctx, x: ctx.atomic_fetch_add_nbi(x, words, 1, pe),
    }


def begin(operation, ctx):
    private = np.arange(8)
    operation(ctx, private)
    return weakref.ref(private)


class Arrays:
    """with Arrays() as (heap, words, sig)"""

    def __enter__(self):
        self.made = shmem.zeros(8, np.int64), shmem.zeros(1, np.int64), shmem.zeros(1, np.uint64)
        return self.made

    def __exit__(self, *exception):
        for array in self.made:
            shmem.free(array)


def test_until_the_call_that_completes():
    pe = (shmem.my_pe() + 1) % shmem.n_pes()
    with Arrays() as arrays:
        for name, operation in operations(*arrays, pe).items():
            for end, routine in (("quiet", "shmem_ctx_quiet"), ("barrier_all", "shmem_barrier_all"), ("unmap", "shmumap")):
                mapped = shmem.map(buffer_of(64)) if end == "unmap" else None
                private = begin(operation, shmem.CTX_DEFAULT)
                assert is_alive(private), f"{name}: gone before {end}"
                with Spy(routine, lambda: is_alive(private)) as spy:
                    getattr(mapped or shmem, end)()
                assert spy.seen == [True], f"{name}: gone while {end} had not completed it"
                assert not is_alive(private), f"{name}: still there after {end}"


def test_contexts():
    """Of a context that is destroyed, whose team is, and whose object has gone without either."""
    pe = (shmem.my_pe() + 1) % shmem.n_pes()
    with Arrays() as arrays:
        for name, operation in operations(*arrays, pe).items():
            ctx = shmem.ctx_create()
            private = begin(operation, ctx)
            shmem.quiet()
            assert is_alive(private), f"{name}: quiet of another context"
            with Spy("shmem_ctx_destroy", lambda: is_alive(private)) as spy:
                ctx.destroy()
            assert spy.seen == [True] and not is_alive(private), name

            team = shmem.TEAM_WORLD.split_strided(0, 1, shmem.n_pes())
            ctx = team.create_ctx()
            private = begin(operation, ctx)
            del ctx
            assert is_alive(private), f"{name}: gone with the object of the context, which lives on"
            with Spy("shmem_team_destroy", lambda: is_alive(private)) as spy:
                team.destroy()
            assert spy.seen == [True] and not is_alive(private), name


def test_another_thread_completes_before_it_is_posted():
    """As if a quiet of another thread came between the steps of put_nbi: played by calls in the order that matters."""
    with Arrays() as (heap, words, sig):
        real = _context._put_nbi

        def late(*arguments):
            shmem.quiet()
            return real(*arguments)

        _context._put_nbi = late
        try:
            private = begin(lambda ctx, x: ctx.put_nbi(heap, memoryview(x), 0), shmem.CTX_DEFAULT)
        finally:
            _context._put_nbi = real
        assert is_alive(private), "a quiet has let go of what it has not completed"
        shmem.quiet()
        assert not is_alive(private)


def test_another_thread_completes_at_the_same_time():
    class Thing:
        pass

    from mapshmem._kept import Flight

    flight, things = Flight(), [Thing() for _ in range(4)]
    alive = [weakref.ref(thing) for thing in things]

    def nothing():
        pass

    def meanwhile():
        flight.post(things[1], nothing)
        flight.complete(nothing)
        flight.post(things[2], nothing)
        flight.append(things[3])

    flight.post(things[0], nothing)
    flight.complete(meanwhile)
    things.clear()
    assert [is_alive(thing) for thing in alive] == [False, False, True, True]
    flight.complete(nothing)
    assert not any(is_alive(thing) for thing in alive)


def test_an_exception_when_it_is_posted():
    """Python raises KeyboardInterrupt when the routine has returned."""
    with Arrays() as (heap, words, sig):
        real = _context._put_nbi

        def interrupted(*arguments):
            real(*arguments)
            raise KeyboardInterrupt

        _context._put_nbi = interrupted
        private = np.arange(8)
        try:
            with raises(KeyboardInterrupt):
                shmem.put_nbi(heap, memoryview(private), 0)
        finally:
            _context._put_nbi = real
        private = weakref.ref(private)
        assert is_alive(private)
        shmem.quiet()


def test_unmap_while_puts_are_under_way():
    """The same with data, which travel as long as it takes."""
    me, pes = shmem.my_pe(), shmem.n_pes()
    n = 2 << 20
    heap = shmem.zeros(n)
    for turn in range(4):
        with shmem.map(buffer_of(4096)):
            heap[...] = 0
            shmem.barrier_all()
            shmem.put_nbi(heap, np.full(n, turn + 1.0), (me + 1) % pes)
        reused = np.full(n, -99.0)
        shmem.barrier_all()
        assert (heap == turn + 1.0).all(), f"{(heap != turn + 1.0).sum()} wrong elements"
        del reused
        shmem.barrier_all()
    shmem.free(heap)


def test_queues():
    me, pes = shmem.my_pe(), shmem.n_pes()
    heap = shmem.zeros(8)
    for make in (lambda: np.full(8, me + 1.0), lambda: [me + 1.0] * 8):
        near, gate = make(), cl.UserEvent(context)
        private = weakref.ref(near) if isinstance(near, np.ndarray) else None
        event = shmem.put_on_stream(heap, near, (me + 1) % pes, queue, wait_for=[gate])
        del near
        assert private is None or is_alive(private), "gone before the queue has come to it"
        reused = [np.full(8, -99.0) for _ in range(64)]
        gate.set_status(cl.command_execution_status.COMPLETE)
        event.wait()
        shmem.quiet_on_stream(queue).wait()
        shmem.barrier_all()
        assert heap.tolist() == [(me - 1) % pes + 1.0] * 8
        out = np.zeros(8)
        shmem.get_on_stream(out, heap, me, queue).wait()  # lets go of what is complete
        assert private is None or not is_alive(private)
        assert out.tolist() == heap.tolist()
        del reused
        shmem.barrier_all()
    with raises(TypeError, "a stream needs an array"):
        shmem.put_on_stream(heap, [1.0], me, 0)
    with raises(TypeError, "a stream needs an array"):
        shmem.put_on_stream(heap, np.float64(1), me, 0)
    shmem.free(heap)


def queue_operations(heap, words, sig, pe):
    """name: a function that enqueues an operation with the private array, of 8 elements of int64, behind an event."""
    return {
        "put": lambda x, gate: shmem.put_on_stream(heap, x, pe, queue, wait_for=gate),
        "put_signal": lambda x, gate: shmem.put_signal_on_stream(heap, x, sig, 1, pe, queue, wait_for=gate),
        "get": lambda x, gate: shmem.get_on_stream(x, heap, pe, queue, wait_for=gate),
        "iput": lambda x, gate: shmem.iput_on_stream(heap, x, 1, 2, pe, queue, wait_for=gate),
        "iget": lambda x, gate: shmem.iget_on_stream(x, heap, 2, 1, pe, queue, wait_for=gate),
        "atomic_fetch": lambda x, gate: shmem.atomic_fetch_on_stream(x, words, pe, queue, wait_for=gate),
        "atomic_fetch_inc": lambda x, gate: shmem.atomic_fetch_inc_on_stream(x, words, pe, queue, wait_for=gate),
        "atomic_swap": lambda x, gate: shmem.atomic_swap_on_stream(x, words, 1, pe, queue, wait_for=gate),
        "compare_swap": lambda x, gate: shmem.atomic_compare_swap_on_stream(x, words, 1, 2, pe, queue, wait_for=gate),
        "signal_fetch": lambda x, gate: shmem.signal_fetch_on_stream(x.view("u8"), sig, queue, wait_for=gate),
        "wait_until_any": lambda x, gate: shmem.wait_until_any_on_stream(x.view("u8"), words, ">=", 0, queue, wait_for=gate),
    }


def test_every_operation_of_a_queue():
    pe = (shmem.my_pe() + 1) % shmem.n_pes()
    with Arrays() as arrays:
        for name, operation in queue_operations(*arrays, pe).items():
            gate, private = cl.UserEvent(context), np.arange(8)
            event = operation(private, [gate])
            private = weakref.ref(private)
            assert is_alive(private), f"{name}: gone before the queue has come to it"
            gate.set_status(cl.command_execution_status.COMPLETE)
            event.wait()
            shmem.get_on_stream(np.zeros(8, np.int64), arrays[0], pe, queue).wait()  # lets go of what is complete
            assert not is_alive(private), f"{name}: still there when the queue has passed it"
        queue.finish()
        shmem.barrier_all()


def test_prepared():
    private = np.zeros(1 << 16)
    part = private[:16]
    shmem.prepare(private)
    shmem.prepare(private)
    alive = weakref.ref(private)
    del private
    shmem.release(part)
    del part
    assert is_alive(alive), "prepared twice, released once"
    again = np.frombuffer(memoryview(alive()).cast("B"), np.uint8)
    shmem.release(again)
    del again
    assert not is_alive(alive)


def test_peers():
    """Arrays that lie in another PE's copy keep it. Played by memory of the CPU where kernels reach no other copy."""
    me, n = shmem.my_pe(), shmem.n_pes()
    heap, m = shmem.full(8, 2.5), shmem.map(buffer_of(64), dtype="f8")
    assert m.peer((me + 1) % n) is None, "no kernel reaches memory of OpenCL"
    with raises(shmem.InvalidPE, "there is no PE"):
        m.peer(n)
    made = _peer.Peer(m[2:6], heap[2:6].__array_interface__["data"][0], me)
    m._mapping.lent.add(made)
    assert made.__cuda_array_interface__["shape"] == (4,) and made.__dlpack_device__()[0] == 2
    real, _peer._DL_CUDA = _peer._DL_CUDA, 1
    try:
        array = np.from_dlpack(made)
        m._mapping.is_writable = False  # as with map(x, writable=False)
        assert made.__cuda_array_interface__["data"] == (made.address, True)
        with raises(BufferError, "read-only"):
            np.from_dlpack(made)
        m._mapping.is_writable = True
    finally:
        _peer._DL_CUDA = real
    assert array.tolist() == [2.5] * 4 and array.ctypes.data == made.address
    peer = weakref.ref(made)
    del made
    assert is_alive(peer), "the array keeps it"
    with raises(BufferError, f"in copies of PEs [{me}]"):
        m.unmap()
    assert m._mapping.is_mapped
    del array
    assert not is_alive(peer)
    unused = _peer.lend(m, 0, 1, 1, 0, 2, 64)
    del unused  # a capsule that nobody has taken
    m.unmap()
    shmem.free(heap)


def finalize():
    """A nested finalize ends nothing, the last one completes everything before anything is let go."""
    buffer = buffer_of(64)
    heap, mapped = shmem.zeros(8, np.int64), shmem.map(buffer)
    shmem.init()
    private = begin(lambda ctx, x: ctx.put_nbi(heap, x, 0), shmem.CTX_DEFAULT)
    other = begin(lambda ctx, x: ctx.put_nbi(heap, x, 0), shmem.ctx_create())
    shmem.finalize()
    assert mapped._mapping.is_mapped and mapped.route(0), "the job goes on"
    assert is_alive(private) and is_alive(other)

    def look():
        return is_alive(private), is_alive(other), mapped._mapping.keep is not None

    with Spy("shmem_finalize", look) as spy:
        shmem.finalize()
    assert spy.seen == [(True, True, True)], spy.seen
    assert not is_alive(private) and not is_alive(other)
    assert mapped._mapping.keep is None and not mapped._mapping.is_mapped


main(globals(), finalize)
