# SPDX-License-Identifier: BSD-3-Clause
"""A mixture of experts, one on each PE: Triton kernels send each token to the PE of its expert (dispatch) and the result
back (combine), with no step of the CPU between. Compared with torch.distributed; oshrun -n 2 python3 moe.py"""

import mapshmem as shmem
import mapshmem.triton as device
import torch
import triton
import triton.language as tl
from torch_job import gloo, seconds_of

TOKENS, SIZE = 256, 512  # of each PE


@triton.jit(do_not_specialize=["me"])
def dispatch(x, expert, slot, rows, tokens, arrived, view, word_view, me, TOKENS: tl.constexpr, SIZE: tl.constexpr):
    """A program for each token: its row, and its number here, to the place that me has on the expert's PE."""
    token = tl.program_id(0)
    pe = tl.load(expert + token).to(tl.int32)
    place = me * TOKENS + tl.load(slot + token)
    device.put(view, rows + place * SIZE, x + token * SIZE, SIZE * 2, pe)
    device.p(word_view, tokens + place, token, pe)
    device.signal_op(word_view, arrived + me, 1, device.SIGNAL_ADD, pe)  # after both


@triton.jit(do_not_specialize=["me"])
def announce(counts, expected, word_view, me, n: tl.constexpr):
    """How many tokens each expert gets from me."""
    for pe in range(n):
        device.signal_op(word_view, expected + me, tl.load(counts + pe) + 1, device.SIGNAL_SET, pe)


@triton.jit
def wait_for_tokens(arrived, expected, word_view, n: tl.constexpr):
    for pe in range(n):
        device.signal_wait_until(word_view, expected + pe, device.CMP_GT, 0)
        device.signal_wait_until(word_view, arrived + pe, device.CMP_GE, tl.load(expected + pe, volatile=True) - 1)


@triton.jit
def combine(y, tokens, expected, out, returned, view, word_view, TOKENS: tl.constexpr, SIZE: tl.constexpr):
    """A program for each place: what has come from a PE goes back to where its token is."""
    place = tl.program_id(0)
    pe = place // TOKENS
    if place % TOKENS < tl.load(expected + pe) - 1:
        token = tl.load(tokens + place)
        device.put_signal(view, out + token * SIZE, y + place * SIZE, SIZE * 2, word_view, returned, 1, device.SIGNAL_ADD, pe)


@triton.jit
def wait_for_results(returned, word_view, TOKENS: tl.constexpr):
    device.signal_wait_until(word_view, returned, device.CMP_GE, TOKENS)


class Experts:
    """rows: what came from each PE; out: what came back; words: signals and counters, and the tokens' numbers."""

    def __init__(self, n):
        self.n = n
        self.data = torch.zeros(n * TOKENS + TOKENS, SIZE, device="cuda", dtype=torch.float16)
        self.rows, self.out = self.data[: n * TOKENS], self.data[n * TOKENS :]
        self.words = torch.zeros(2 * n + 1 + n * TOKENS, device="cuda", dtype=torch.int64)
        self.arrived, self.expected, self.returned, self.tokens = self.words.split((n, n, 1, n * TOKENS))
        torch.cuda.synchronize()
        self.maps = [shmem.map(self.data), shmem.map(self.words)]
        self.view, self.word_view = (memory.device_view().address for memory in self.maps)

    def forward(self, x, expert, weight):
        me, n, how = shmem.my_pe(), self.n, device.link()
        stream = torch.cuda.current_stream()
        self.words.zero_()
        shmem.barrier_all_on_stream(stream)  # nobody signals before the words are 0
        chosen = torch.nn.functional.one_hot(expert, n)
        counts = chosen.sum(0)
        slot = (chosen.cumsum(0) - 1).gather(1, expert[:, None]).flatten()
        announce[(1,)](counts, self.expected, self.word_view, me, n, **how)
        dispatch[(TOKENS,)](x, expert, slot, self.rows, self.tokens, self.arrived, self.view, self.word_view, me, TOKENS, SIZE,
                            **how)
        wait_for_tokens[(1,)](self.arrived, self.expected, self.word_view, n, **how)
        y = torch.relu(self.rows @ weight)
        combine[(n * TOKENS,)](y, self.tokens, self.expected, self.out, self.returned, self.view, self.word_view, TOKENS, SIZE,
                               **how)
        wait_for_results[(1,)](self.returned, self.word_view, TOKENS, **how)
        return self.out

    def end(self):
        for memory in self.maps:
            memory.unmap()


def expected_of(x, expert, weight, me, n):
    """By torch.distributed: the weights of all experts come to each PE."""
    weights = torch.zeros(n, SIZE, SIZE)
    weights[me] = weight.float().cpu()
    gloo().all_reduce(weights)
    every = torch.relu(torch.einsum("td,edf->etf", x.float(), weights.cuda()))
    return every[expert, torch.arange(TOKENS, device="cuda")]


def main():
    me, n = shmem.my_pe(), shmem.n_pes()
    torch.cuda.set_device(shmem.my_device())
    torch.manual_seed(me)
    x = torch.randn(TOKENS, SIZE, device="cuda").half()
    weight = torch.randn(SIZE, SIZE, device="cuda").half() / SIZE**0.5
    expert = torch.randint(n, (TOKENS,), device="cuda")
    experts = Experts(n)
    if not shmem.kernels_may_wait():
        print("PEs that share a GPU need NVIDIA's MPS: their kernels wait for each other", flush=True)
    else:
        out = experts.forward(x, expert, weight)
        torch.cuda.synchronize()
        worst = (out.float() - expected_of(x, expert, weight, me, n)).abs().max().item()
        assert worst <= 0.02, f"WRONG by {worst}"
        print(f"PE {me}: {TOKENS} tokens to {n} experts and back: verified", flush=True)
        shmem.barrier_all()
        print(f"PE {me}: {seconds_of(lambda: experts.forward(x, expert, weight)) * 1e6:.0f} us a layer", flush=True)
    shmem.barrier_all()
    experts.end()


with shmem.init():
    main()
