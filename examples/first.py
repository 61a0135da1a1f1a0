#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""first: each PE puts a row into the array of the next one.

    oshrun -n 2 python3 first.py
"""
import sys

import mapshmem as shmem

with shmem.init():
    me, n = shmem.my_pe(), shmem.n_pes()
    a = shmem.zeros(4)                                    # a numpy array on the symmetric heap
    shmem.put(a, [10 * me + i for i in range(4)], (me + 1) % n)  # into a of the next PE
    shmem.barrier_all()
    right = list(a) == [10 * ((me - 1) % n) + i for i in range(4)]
    print(f"PE {me}: {a}: {'verified' if right else 'WRONG'}", flush=True)
    shmem.free(a)                                         # all PEs together
sys.exit(not right)
