# SPDX-License-Identifier: BSD-3-Clause
"""MPI and OpenSHMEM in one program: both name the same processes."""

from mpi4py import MPI

import mapshmem as shmem

with shmem.init():
    me, n = shmem.my_pe(), shmem.n_pes()
    assert (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size) == (me, n)
    a = shmem.zeros(1)
    shmem.put(a, [me], (me + 1) % n)
    shmem.barrier_all()
    assert MPI.COMM_WORLD.allreduce(int(a[0])) == n * (n - 1) // 2
    shmem.free(a)
