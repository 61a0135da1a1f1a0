# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of PyTorch, CuPy and JAX on CUDA GPUs as symmetric memory. Each test is left out where its library or a GPU is
missing."""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import mapshmem as shmem
import numpy as np
from harness import main, raises

try:
    import torch

    if not torch.cuda.is_available():
        raise ImportError("PyTorch sees no GPU")
except ImportError as error:
    print(f"no PyTorch with a GPU: {error}")
    sys.exit(77)


def places():
    me, n = shmem.my_pe(), shmem.n_pes()
    return me, n, (me + 1) % n, (me - 1) % n


def say(text):
    if shmem.my_pe() == 0:
        print(text, flush=True)


def test_torch():
    me, n, right, left = places()
    torch.cuda.set_device(shmem.my_device())
    x, y = torch.zeros(1000, device="cuda"), torch.full((1000,), me + 1.0, device="cuda")
    torch.cuda.synchronize()
    before = (x.data_ptr(), torch.cuda.memory_allocated())
    with shmem.map(x) as m:
        assert (x.data_ptr(), torch.cuda.memory_allocated()) == before, "map copies nothing"
        assert m.dtype == np.float32 and len(m) == 1000
        say(f"PyTorch {torch.__version__}: route {m.route(right)}")
        m.put(y, right)  # a tensor that is not mapped
        shmem.barrier_all()
        assert (x == left + 1.0).all().item(), x
        m[:10].put(np.arange(10, dtype="f4"), right)
        shmem.barrier_all()
        assert x[9].item() == 9 and x[10].item() == left + 1.0
        m[10:20].get(y[:10], right)
        assert (y[:10] == me + 1.0).all().item()
        shmem.barrier_all()
        m[0].p(4.5, right)
        shmem.barrier_all()
        assert m[0].g(left) == 4.5 and x[0].item() == 4.5
        m.put(y, right, nbi=True)
        shmem.quiet()
        shmem.barrier_all()
        m.put(torch.full((1000,), me + 1.0), right)  # a tensor of the CPU
        shmem.barrier_all()
        m.reduce("sum")
        assert (x == n * (n + 1) / 2).all().item()
        shmem.barrier_all()
    del y


def test_torch_streams():
    me, n, right, left = places()
    x, halo = torch.zeros(256, device="cuda"), torch.zeros(256, device="cuda")
    sig = torch.zeros(1, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    with shmem.map(x) as m, shmem.map(halo) as h, shmem.map(sig) as raw:
        signal = raw.view(np.uint64)
        for stream in (torch.cuda.Stream(priority=-1), torch.cuda.Stream(), torch.cuda.default_stream()):
            with torch.cuda.stream(stream):
                sig.zero_()
                halo.zero_()
            stream.synchronize()
            shmem.barrier_all()
            with torch.cuda.stream(stream):
                x.fill_(me + 1.0)
                h.put_signal(m, signal, 1, right, stream=stream)
                shmem.signal_wait_until_on_stream(signal, "==", 1, stream)
                halo.mul_(2)
                shmem.quiet_on_stream(stream)
            stream.synchronize()
            assert (halo == 2 * (left + 1.0)).all().item(), halo
            shmem.barrier_all()
            m.put(h, right, stream=stream)
            shmem.barrier_all_on_stream(stream)
            stream.synchronize()
        shmem.barrier_all()


def test_torch_refusals():
    me, n, right, left = places()
    with raises(shmem.MapError, "not contiguous"):
        shmem.map(torch.zeros(4, 5, device="cuda").t())
    with raises(shmem.MapError):
        shmem.map(torch.zeros(4))
    with raises(shmem.MapError, "grad"):
        shmem.map(torch.zeros(4, device="cuda", requires_grad=True))
    for dtype in torch.bfloat16, torch.float16, torch.complex64, torch.bool:
        x = torch.zeros(8, dtype=dtype, device="cuda")
        y = torch.ones(8, dtype=dtype, device="cuda")
        torch.cuda.synchronize()
        with shmem.map(x) as m:
            m.put(y, right)
            shmem.barrier_all()
            assert (x == y).all().item()
            shmem.barrier_all()
    x = torch.zeros(100000, device="cuda")
    address = x.data_ptr()
    with shmem.map(x):
        del x
        torch.cuda.synchronize()
        assert torch.empty(100000, device="cuda").data_ptr() != address, "the handle keeps the tensor"


def test_cupy():
    try:
        import cupy
    except ImportError:
        return say("no CuPy")
    me, n, right, left = places()
    cupy.cuda.Device(shmem.my_device()).use()
    x = cupy.zeros((8, 16))
    y = cupy.full((8, 16), me + 1.0)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with shmem.map(x) as m:
        say(f"CuPy {cupy.__version__}: route {m.route(right)}")
        assert x.data.ptr == x.__cuda_array_interface__["data"][0]
        m.put(y, right, stream=stream)
        shmem.barrier_all_on_stream(stream)
        stream.synchronize()
        assert float(x.sum()) == 128 * (left + 1)
        shmem.barrier_all()
        shmem.put_box(m.box((8, 1), (16, 1), 15), np.full((8, 1), 9.0), right)
        shmem.barrier_all()
        assert (cupy.asnumpy(x)[:, 15] == 9).all() and x[0, 14] == left + 1
        shmem.barrier_all()
    with raises(shmem.MapError, "not contiguous"):
        shmem.map(x[:, 1])


def test_jax():
    try:
        import jax
        import jax.numpy as jnp

        device = jax.devices("gpu")[max(shmem.my_device(), 0)]
    except (ImportError, RuntimeError, IndexError):
        return say("no JAX with a GPU")
    me, n, right, left = places()
    x = jax.device_put(jnp.full(64, me + 1.0), device).block_until_ready()
    try:
        shmem.map(x).unmap()
        say("JAX says that its arrays may be written")
    except shmem.MapError as error:
        assert "read-only" in str(error), error
    with shmem.map(x, writable=False) as m:
        say(f"JAX {jax.__version__}: route {m.route(right)}")
        assert x.unsafe_buffer_pointer() == x.__cuda_array_interface__["data"][0]
        out = np.zeros(64, "f4")
        m.get(out, right)
        assert (out == right + 1.0).all()
        with raises(ValueError, "read-only"):
            m.put(out, right)
        shmem.barrier_all()


def test_dlpack():
    """Only DLPack, as a library without the interface of CUDA would offer it."""

    class Only:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    me, n, right, left = places()
    x = torch.zeros(50, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with shmem.map(Only(x)) as m:
        assert m.dtype == np.float64 and len(m) == 50
        m.put(np.full(50, me + 1.0), right)
        shmem.barrier_all()
        assert (x == left + 1.0).all().item()
        shmem.barrier_all()
    with raises(shmem.MapError, "not contiguous"):
        shmem.map(Only(x[::2]))


if __name__ == "__main__":
    main(globals())
