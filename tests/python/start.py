# SPDX-License-Identifier: BSD-3-Clause
"""Starts without a launcher.

This process makes unique ids, and starts processes that become PEs by them, or by the variables of torchrun; what is wrong
with an id is an exception.
"""

import multiprocessing
import os

import mapshmem as shmem

N_PES = 3


def exchange(rank):
    assert (shmem.my_pe(), shmem.n_pes()) == (rank, N_PES)
    a = shmem.zeros(4)
    shmem.put(a, [10 * rank + i for i in range(4)], (rank + 1) % N_PES)
    shmem.barrier_all()
    left = (rank - 1) % N_PES
    assert list(a) == [10 * left + i for i in range(4)], list(a)
    shmem.free(a)


def by_id(rank, uid):
    with shmem.init(shmem.THREAD_MULTIPLE, uid=uid, rank=rank, world_size=N_PES) as job:
        assert job.thread_level == shmem.THREAD_MULTIPLE
        exchange(rank)


def by_variables(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(N_PES), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(N_PES),
                      MASTER_ADDR="localhost", MASTER_PORT=str(20000 + os.getppid() % 10000))
    with shmem.init():
        exchange(rank)


def refused(kind, **arguments):
    try:
        shmem.init(**arguments)
    except kind:
        return
    raise AssertionError(f"not refused: {arguments}")


def check_refusals(uid):
    refused(TypeError, uid=uid)
    refused(TypeError, uid=uid, rank=0)
    refused(TypeError, rank=0, world_size=1)
    refused(ValueError, uid=uid[1:], rank=0, world_size=1)
    refused(ValueError, uid=uid + b"x", rank=0, world_size=1)
    refused(shmem.Error, uid=bytes(128), rank=0, world_size=1)
    refused(shmem.Error, uid=uid, rank=1, world_size=1)
    refused(shmem.Error, uid=uid, rank=-1, world_size=1)
    assert not shmem.initialized()


def run(method, work, *arguments):
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=work, args=(rank, *arguments)) for rank in range(N_PES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * N_PES, [worker.exitcode for worker in workers]


def main():
    uid, other = shmem.get_unique_id(), shmem.get_unique_id()
    assert type(uid) is bytes and len(uid) == 128 and uid != other
    check_refusals(uid)
    run("spawn", by_id, uid)
    run("fork", by_id, other)
    run("spawn", by_variables)


if __name__ == "__main__":
    main()
