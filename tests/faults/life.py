# SPDX-License-Identifier: BSD-3-Clause
"""What life.c does until the job is ended, in Python."""
import numpy
import mapshmem as shmem

shmem.init()
me, n = shmem.my_pe(), shmem.n_pes()
words, mine = shmem.zeros(512, dtype=numpy.int64), numpy.ones(512, dtype=numpy.int64)
shmem.barrier_all()
while True:
    shmem.put(words, mine, (me + 1) % n)
    shmem.get(mine, words, (me + 1) % n)
    shmem.put_nbi(words, mine, (me + 1) % n)
    shmem.quiet()
    shmem.atomic_add(words[0:1], 1, (me + 1) % n)
    shmem.barrier_all()
