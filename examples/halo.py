#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""halo: a circle of cells is cut into parts, one for each PE. In each step a PE puts its outermost cells into the halos of
its neighbours, with signals, waits for theirs, and computes. The two rows of field take turns: while a neighbour puts into
one for the next step, this PE may still read the other.

    oshrun -n 4 python3 halo.py
"""
import sys

import mapshmem as shmem
import numpy as np

CELLS, STEPS = 1000, 100

with shmem.init():
    me, n = shmem.my_pe(), shmem.n_pes()
    left, right = (me - 1) % n, (me + 1) % n
    field = shmem.zeros((2, CELLS + 2), np.int64)
    arrived = shmem.zeros(2, np.uint64)  # the step whose cell has come from the left, from the right
    field[0, 1:-1] = (me * CELLS + np.arange(CELLS)) % 7
    for step in range(1, STEPS + 1):
        now, after = field[(step - 1) % 2], field[step % 2]
        shmem.put_signal(now[-1:], now[1:2], arrived[1:], step, left)
        shmem.put_signal(now[:1], now[-2:-1], arrived[:1], step, right)
        shmem.signal_wait_until(arrived[:1], ">=", step)
        shmem.signal_wait_until(arrived[1:], ">=", step)
        after[1:-1] = (now[:-2] + now[1:-1] + now[2:]) % 1000

    whole = np.arange(n * CELLS) % 7  # the same for the whole circle, by this PE alone
    for _ in range(STEPS):
        whole = (np.roll(whole, 1) + whole + np.roll(whole, -1)) % 1000
    right_cells = np.array_equal(field[STEPS % 2, 1:-1], whole[me * CELLS : (me + 1) * CELLS])
    print(f"PE {me}: {CELLS} cells after {STEPS} steps: {'verified' if right_cells else 'WRONG'}", flush=True)
    shmem.free(field)
    shmem.free(arrived)
sys.exit(not right_cells)
