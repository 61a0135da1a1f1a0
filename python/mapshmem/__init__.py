# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM for Python, with MapSHMEM.

    import mapshmem as shmem

    with shmem.init():
        me, n = shmem.my_pe(), shmem.n_pes()
        a = shmem.zeros(4)                       # a numpy array on the symmetric heap
        shmem.put(a, [me] * 4, (me + 1) % n)     # into the array of the next PE
        shmem.barrier_all()
        print(me, a)
        shmem.free(a)

Names are those of OpenSHMEM 1.6 without the prefix; doc/python.md of MapSHMEM is the tutorial, and lists which routine is
where. Threads: `init(THREAD_MULTIPLE)` allows calls from several at a time. Every call that can wait lets other
threads of Python run. Misuse that can be seen beforehand raises an exception; other errors of routines that have no
result end the job with a line on stderr, as in C.
"""

from ._box import Box
from ._context import (
    CTX_DEFAULT,
    CTX_NOSTORE,
    CTX_PRIVATE,
    CTX_SERIALIZED,
    SIGNAL_ADD,
    SIGNAL_SET,
    Context,
    ctx_create,
)
from ._deep import DEEP_HEADER, DeepType, deep_info, deep_size, get_deep, get_deep_new, put_deep
from ._kernels._device_view import DeviceView, GpuArray, device_sharers, device_spare_blocks, device_view, device_work_bytes
from ._errors import Error, InvalidPE, MapError, NotInitialized, NotSymmetric
from ._heap import (
    MALLOC_ATOMICS_REMOTE,
    MALLOC_SIGNAL_REMOTE,
    MEMORY_LOCKED,
    MEMORY_PREPARED,
    MEMORY_REGISTERED,
    addr_accessible,
    array,
    empty,
    empty_like,
    free,
    full,
    heap_info,
    ones,
    prepare,
    prepared,
    realloc,
    release,
    remote_view,
    zeros,
    zeros_like,
)
from ._map import CUDA, OPENCL, Mapped, kernels_may_wait, map, my_device
from ._kernels._peer import Peer
from ._setup import (
    THREAD_FUNNELED,
    THREAD_MULTIPLE,
    THREAD_SERIALIZED,
    THREAD_SINGLE,
    Job,
    finalize,
    get_unique_id,
    global_exit,
    info_get_name,
    info_get_version,
    init,
    initialized,
    my_pe,
    n_pes,
    pcontrol,
    pe_accessible,
    query_thread,
)
from ._stream import (
    barrier_all_on_stream,
    fence_on_stream,
    get_on_stream,
    iget_on_stream,
    iput_on_stream,
    p_on_stream,
    put_on_stream,
    put_signal_on_stream,
    quiet_on_stream,
    signal_op_on_stream,
    signal_wait_until_on_stream,
    sync_all_on_stream,
)
from ._stream_words import (
    atomic_add_on_stream,
    atomic_and_on_stream,
    atomic_compare_swap_on_stream,
    atomic_fetch_add_on_stream,
    atomic_fetch_and_on_stream,
    atomic_fetch_inc_on_stream,
    atomic_fetch_on_stream,
    atomic_fetch_or_on_stream,
    atomic_fetch_xor_on_stream,
    atomic_inc_on_stream,
    atomic_or_on_stream,
    atomic_set_on_stream,
    atomic_swap_on_stream,
    atomic_xor_on_stream,
    signal_fetch_on_stream,
    signal_wait_until_set_on_stream,
    wait_until_all_on_stream,
    wait_until_any_on_stream,
    wait_until_on_stream,
)
from ._team import TEAM_SHARED, TEAM_WORLD, Team, barrier_all, sync_all
from ._version import __version__
from ._wait import (
    CMP_EQ,
    CMP_GE,
    CMP_GT,
    CMP_LE,
    CMP_LT,
    CMP_NE,
    Lock,
    signal_fetch,
    signal_wait_until,
    test,
    test_all,
    test_any,
    test_some,
    wait_until,
    wait_until_all,
    wait_until_any,
    wait_until_some,
)

# The default context's methods as functions.
put = CTX_DEFAULT.put
get = CTX_DEFAULT.get
put_nbi = CTX_DEFAULT.put_nbi
get_nbi = CTX_DEFAULT.get_nbi
put_signal = CTX_DEFAULT.put_signal
put_signal_nbi = CTX_DEFAULT.put_signal_nbi
p = CTX_DEFAULT.p
g = CTX_DEFAULT.g
iput = CTX_DEFAULT.iput
iget = CTX_DEFAULT.iget
ibput = CTX_DEFAULT.ibput
ibget = CTX_DEFAULT.ibget
put_box = CTX_DEFAULT.put_box
get_box = CTX_DEFAULT.get_box
put_box_nbi = CTX_DEFAULT.put_box_nbi
get_box_nbi = CTX_DEFAULT.get_box_nbi
signal_set = CTX_DEFAULT.signal_set
signal_add = CTX_DEFAULT.signal_add
atomic_fetch = CTX_DEFAULT.atomic_fetch
atomic_set = CTX_DEFAULT.atomic_set
atomic_swap = CTX_DEFAULT.atomic_swap
atomic_compare_swap = CTX_DEFAULT.atomic_compare_swap
atomic_inc = CTX_DEFAULT.atomic_inc
atomic_fetch_inc = CTX_DEFAULT.atomic_fetch_inc
atomic_add = CTX_DEFAULT.atomic_add
atomic_fetch_add = CTX_DEFAULT.atomic_fetch_add
atomic_and = CTX_DEFAULT.atomic_and
atomic_fetch_and = CTX_DEFAULT.atomic_fetch_and
atomic_or = CTX_DEFAULT.atomic_or
atomic_fetch_or = CTX_DEFAULT.atomic_fetch_or
atomic_xor = CTX_DEFAULT.atomic_xor
atomic_fetch_xor = CTX_DEFAULT.atomic_fetch_xor
atomic_fetch_nbi = CTX_DEFAULT.atomic_fetch_nbi
atomic_swap_nbi = CTX_DEFAULT.atomic_swap_nbi
atomic_compare_swap_nbi = CTX_DEFAULT.atomic_compare_swap_nbi
atomic_fetch_inc_nbi = CTX_DEFAULT.atomic_fetch_inc_nbi
atomic_fetch_add_nbi = CTX_DEFAULT.atomic_fetch_add_nbi
atomic_fetch_and_nbi = CTX_DEFAULT.atomic_fetch_and_nbi
atomic_fetch_or_nbi = CTX_DEFAULT.atomic_fetch_or_nbi
atomic_fetch_xor_nbi = CTX_DEFAULT.atomic_fetch_xor_nbi
fence = CTX_DEFAULT.fence
quiet = CTX_DEFAULT.quiet
pe_quiet = CTX_DEFAULT.pe_quiet

# TEAM_WORLD's methods as functions.
broadcast = TEAM_WORLD.broadcast
collect = TEAM_WORLD.collect
fcollect = TEAM_WORLD.fcollect
alltoall = TEAM_WORLD.alltoall
alltoalls = TEAM_WORLD.alltoalls
sum_reduce = TEAM_WORLD.sum_reduce
prod_reduce = TEAM_WORLD.prod_reduce
min_reduce = TEAM_WORLD.min_reduce
max_reduce = TEAM_WORLD.max_reduce
and_reduce = TEAM_WORLD.and_reduce
or_reduce = TEAM_WORLD.or_reduce
xor_reduce = TEAM_WORLD.xor_reduce
sum_inscan = TEAM_WORLD.sum_inscan
sum_exscan = TEAM_WORLD.sum_exscan

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
