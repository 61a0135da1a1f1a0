# SPDX-License-Identifier: BSD-3-Clause
"""Times on tensors of PyTorch, in microseconds, medians of three: half a round trip of put_signal between PEs 0 and 1 from
Python in a stream, beside the same calls in C if their library is named, and in a graph, and inside of a Triton kernel; sums of all PEs in a stream and in a graph, beside NCCL's by
torch.distributed where each PE has a GPU of its own.

Usage: oshrun -n 2 python3 tensor_times.py [LIBRARY]      (of ping_pong.c)"""

import ctypes
import statistics
import sys
import tempfile
import time

import mapshmem as shmem
import numpy as np
import torch

ROUNDS, MOST = 200, 128 << 20


def seconds(work, times):
    """Of one of so many times."""
    torch.cuda.synchronize()
    shmem.barrier_all()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / times


def medians(ways, times):
    """Of three rounds, in which all ways have their turns; one before warms up."""
    rounds = [[seconds(work, times) for work in ways] for _ in range(4)]
    return [statistics.median(found) for found in zip(*rounds[1:])]


def median(work, times):
    return medians([work], times)[0]


def graph_of(work, stream):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        work(stream)
        graph.capture_end()
    return graph


class PingPong:
    def __init__(self, data, inbox, signals):
        self.data, self.inbox, self.signals = data, inbox, signals
        self.me, self.turn = shmem.my_pe(), 0
        self.stream = torch.cuda.Stream(priority=-1)

    def in_stream(self, nbytes, library):
        """From Python, and in C if there is a library."""
        dest, source, signal = self.inbox[:nbytes], self.data[:nbytes], self.signals[0]

        def work():
            for _ in range(ROUNDS):
                self.turn += 1
                if self.me == 0:
                    dest.put_signal(source, signal, self.turn, 1, stream=self.stream)
                shmem.signal_wait_until_on_stream(signal, ">=", self.turn, self.stream)
                if self.me == 1:
                    dest.put_signal(source, signal, self.turn, 0, stream=self.stream)

        def work_in_c():
            addresses = [ctypes.c_void_p(memory.address) for memory in (dest, source, signal)]
            library.ping_pong(*addresses, ctypes.c_size_t(nbytes), ctypes.c_uint64(self.turn), ROUNDS,
                              ctypes.c_void_p(self.stream.cuda_stream))
            self.turn += ROUNDS

        return medians([work] + ([work_in_c] if library else []), 2 * ROUNDS)

    def in_graph(self, nbytes):
        dest, source, signal = self.inbox[:nbytes], self.data[:nbytes], self.signals[1]

        def rounds(stream):
            for _ in range(20):
                if self.me == 0:
                    dest.put_signal(source, signal, 1, 1, stream=stream)
                shmem.signal_wait_until_set_on_stream(signal, "==", 1, 0, stream)
                if self.me == 1:
                    dest.put_signal(source, signal, 1, 0, stream=stream)

        graph = graph_of(rounds, self.stream)

        def work():
            with torch.cuda.stream(self.stream):
                for _ in range(ROUNDS // 20):
                    graph.replay()

        return median(work, 2 * ROUNDS)

    def in_kernel(self, tensors, nbytes):
        import triton_kernels

        data, inbox, words = tensors
        view, signal_view = self.inbox.device_view().address, self.signals.device_view().address
        turn = 0

        def work():
            nonlocal turn
            triton_kernels.ping_pong[(1,)](inbox, data, words[2:], view, signal_view, self.me, turn + 1, ROUNDS, nbytes,
                                           num_warps=4, **triton_kernels.device.link())
            turn += ROUNDS

        return median(work, 2 * ROUNDS)


def ping_pongs(maps, tensors, library):
    ping_pong = PingPong(*maps)
    for nbytes in (8, 1024, 65536, 16 << 20):
        found = ping_pong.in_stream(nbytes, library)
        line = f"put_signal of {nbytes:9} bytes: stream " + "   in C ".join(f"{time_ * 1e6:8.2f}" for time_ in found)
        if shmem.kernels_may_wait():
            line += f"   graph {ping_pong.in_graph(nbytes) * 1e6:8.2f}"
            if nbytes <= 65536:
                line += f"   Triton {ping_pong.in_kernel(tensors, nbytes) * 1e6:8.2f}"
        say(line)


def nccl():
    """torch.distributed over NCCL, or None where PEs share a GPU, which it refuses."""
    if shmem.device_sharers() > 1:
        return None
    import torch.distributed as dist

    name = shmem.zeros(256, np.uint8)
    if shmem.my_pe() == 0:
        path = tempfile.mktemp(prefix="tensor-times-").encode()
        name[: len(path)] = np.frombuffer(path, np.uint8)
    shmem.broadcast(name, name)
    dist.init_process_group("nccl", init_method="file://" + bytes(name).rstrip(b"\0").decode(), rank=shmem.my_pe(),
                            world_size=shmem.n_pes())
    return dist


def sums(data, inbox, tensors):
    other, stream = nccl(), torch.cuda.Stream(priority=-1)
    for nbytes in (8, 4096, 65536, 1 << 20, 16 << 20, MOST):
        times = 100 if nbytes <= 1 << 20 else 10
        d, s = inbox[:nbytes].view("f4"), data[:nbytes].view("f4")
        ways = {"stream": lambda: [shmem.sum_reduce(d, s, stream=stream) for _ in range(times)]}
        if shmem.kernels_may_wait():
            ours = graph_of(lambda st: [shmem.sum_reduce(d, s, stream=st) for _ in range(times)], stream)
            ways["graph"] = ours.replay
        if other:
            tensor = tensors[0].view(torch.float32)[: nbytes // 4]
            ways["NCCL in a stream"] = lambda: [other.all_reduce(tensor) for _ in range(times)]
            other.all_reduce(tensor)
            torch.cuda.synchronize()
            theirs = graph_of(lambda st: [other.all_reduce(tensor) for _ in range(times)], stream)
            ways["NCCL in a graph"] = theirs.replay
        say(f"sum of {nbytes:9} bytes: " + "   ".join(f"{name} {median(way, times) * 1e6:8.2f}" for name, way in ways.items()))
    if other:
        other.destroy_process_group()


def say(text):
    if shmem.my_pe() == 0:
        print(text, flush=True)


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    with shmem.init():
        torch.cuda.set_device(shmem.my_device())
        tensors = [torch.zeros(MOST, dtype=torch.uint8, device="cuda") for _ in range(2)]
        tensors.append(torch.zeros(8, dtype=torch.int64, device="cuda"))
        torch.cuda.synchronize()
        data, inbox, words = (shmem.map(tensor) for tensor in tensors)
        if shmem.n_pes() == 2:
            ping_pongs((data, inbox, words.view("u8")), tensors, ctypes.CDLL(sys.argv[1]) if sys.argv[1:] else None)
        sums(data, inbox, tensors)
        shmem.barrier_all()


if __name__ == "__main__":
    main()
