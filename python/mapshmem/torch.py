# SPDX-License-Identifier: BSD-3-Clause
"""Symmetric memory for PyTorch, with the calls of torch.distributed._symmetric_memory: peers' tensors, and signals in the
current stream. No process group is needed, and one may exist beside.

    import mapshmem.torch as symm_mem

    t = symm_mem.empty(1024, dtype=torch.float32)           # or any contiguous tensor of this PE's GPU
    handle = symm_mem.rendezvous(t)                          # all PEs together
    right = handle.get_buffer((handle.rank + 1) % handle.world_size, t.shape, t.dtype)
    right.copy_(values)                                      # into the next PE's t, as to any tensor
    handle.barrier()                                         # in the current stream, as all that follows

It is a module beside PyTorch's and no back end of it: a back end is a class of C++ that is compiled for one version of
PyTorch, has allocated the memory itself, and is asked by the name of a process group, whereas any tensor can be mapped.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ._kernels._device_view import DeviceView, GpuArray
from ._map import Mapped, map, my_device
from ._setup import my_pe
from ._stream import signal_op_on_stream, signal_wait_until_on_stream
from ._team import TEAM_WORLD, Team

_SIGNAL_ADD = 2
_MINUS_ONE = 2**64 - 1
_handles: Dict[Tuple[int, int, Team], "SymmetricMemory"] = {}


def empty(*size: Any, dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """A tensor on this PE's GPU for `rendezvous`. Local; tensors from elsewhere will do as well."""
    return torch.empty(*size, dtype=dtype, device=torch.device("cuda", max(my_device(), 0)))


def rendezvous(tensor: torch.Tensor, team: Team = TEAM_WORLD, channels: int = 64) -> "SymmetricMemory":
    """Make a tensor of each PE symmetric. Collective over all PEs of the job, whatever the team, with tensors of one size;
    ranks are the team's numbers. The handle of a tensor is made once, and asked for again by all PEs or none. It keeps
    the tensor until `SymmetricMemory.unmap` or `finalize`."""
    key = (tensor.data_ptr(), tensor.nbytes, team)
    if key not in _handles or not _handles[key].is_mapped:
        _handles[key] = SymmetricMemory(tensor, team, channels)
    return _handles[key]


class SymmetricMemory:
    """A tensor on all PEs of a team. Made by `rendezvous`.

    Signals are words of 64 bits, one for each channel and pair of ranks, which count: a put_signal may come before the
    one before it has been waited for. All signals of this handle are complete before `unmap`.
    """

    def __init__(self, tensor: torch.Tensor, team: Team, channels: int) -> None:
        self.tensor = tensor
        self.rank, self.world_size = team.my_pe(), team.n_pes()
        self._pes = [team.translate_pe(rank, TEAM_WORLD) for rank in range(self.world_size)]
        self._pad_tensor = torch.zeros(channels * self.world_size, dtype=torch.int64, device=tensor.device)
        torch.cuda.synchronize(tensor.device)  # zeros are there before another PE signals
        self.channels = channels
        self._memory: Mapped = map(tensor).view("u1")
        self._pad: Mapped = map(self._pad_tensor).view("u8")
        self._addresses: Dict[str, GpuArray] = {}

    @property
    def is_mapped(self) -> bool:
        """Until `unmap` or `finalize`."""
        return bool(self._memory._mapping.is_mapped)

    @property
    def buffer_size(self) -> int:
        """Bytes of the tensor."""
        return self._memory.nbytes

    @property
    def signal_pad_size(self) -> int:
        """Bytes of the signals."""
        return self._pad.nbytes

    def _pointers(self, memory: Mapped) -> List[int]:
        made = [memory.peer(pe) for pe in self._pes]
        return [0 if one is None else one.address for one in made]

    @property
    def buffer_ptrs(self) -> List[int]:
        """Addresses of the ranks' tensors as kernels of this PE reach them; 0 where they do not."""
        return self._pointers(self._memory)

    @property
    def signal_pad_ptrs(self) -> List[int]:
        """Addresses of the ranks' signals."""
        return self._pointers(self._pad)

    def _on_gpu(self, name: str, addresses: List[int], memory: Mapped) -> int:
        if name not in self._addresses:
            content = torch.tensor(addresses, dtype=torch.int64).numpy()
            self._addresses[name] = GpuArray(content, memory._mapping)
        return self._addresses[name].address

    @property
    def buffer_ptrs_dev(self) -> int:
        """The address of `buffer_ptrs` in memory of the GPU, for kernels."""
        return self._on_gpu("buffers", self.buffer_ptrs, self._memory)

    @property
    def signal_pad_ptrs_dev(self) -> int:
        """The address of `signal_pad_ptrs` in memory of the GPU, for kernels."""
        return self._on_gpu("pads", self.signal_pad_ptrs, self._pad)

    @property
    def view(self) -> DeviceView:
        """What kernels need for the calls of mapshmem.triton and mapshmem.numba."""
        return self._memory.device_view()

    def _tensor(self, memory: Mapped, rank: int, sizes: Sequence[int], dtype: torch.dtype, offset: int) -> torch.Tensor:
        width = torch.empty((), dtype=dtype).element_size()
        nbytes = int(torch.Size(sizes).numel()) * width
        first = offset * width
        if offset < 0 or first + nbytes > memory.nbytes:
            raise ValueError(f"{nbytes} bytes from byte {first} on do not fit into {memory.nbytes}")
        found = memory[first : first + nbytes].peer(self._pes[rank])
        if found is None:
            raise RuntimeError(f"no kernel of PE {my_pe()} reaches the memory of PE {self._pes[rank]}, whose route is "
                               f"{memory.route(self._pes[rank])}: use transfers on streams, or the calls of kernels")
        return torch.from_dlpack(found).view(dtype).view(tuple(sizes))

    def get_buffer(self, rank: int, sizes: Sequence[int], dtype: torch.dtype, storage_offset: int = 0) -> torch.Tensor:
        """The tensor of that rank, or a part of it, offset in elements. RuntimeError where no kernel reaches it."""
        return self._tensor(self._memory, rank, sizes, dtype, storage_offset)

    def get_signal_pad(self, rank: int, sizes: Sequence[int] = (), dtype: torch.dtype = torch.int64,
                       storage_offset: int = 0) -> torch.Tensor:
        """The signals of that rank: of channel c and the sender s at c * world_size + s."""
        whole = (self._pad.nbytes // torch.empty((), dtype=dtype).element_size(),)
        return self._tensor(self._pad, rank, sizes or whole, dtype, storage_offset)

    def _word(self, sender: int, channel: int) -> Mapped:
        if not 0 <= channel < self.channels or not 0 <= sender < self.world_size:
            raise IndexError(f"there is no channel {channel} of rank {sender}: there are {self.channels}")
        return self._pad[channel * self.world_size + sender]

    def put_signal(self, dst_rank: int, channel: int = 0) -> None:
        """Signal that rank in the current stream: what it has done before is visible to who waits for the signal."""
        stream = torch.cuda.current_stream().cuda_stream
        signal_op_on_stream(self._word(self.rank, channel), 1, self._pes[dst_rank], stream, _SIGNAL_ADD)

    def wait_signal(self, src_rank: int, channel: int = 0) -> None:
        """The current stream waits for a signal of that rank, and takes it."""
        stream = torch.cuda.current_stream().cuda_stream
        word = self._word(src_rank, channel)
        signal_wait_until_on_stream(word, ">=", 1, stream)
        signal_op_on_stream(word, _MINUS_ONE, my_pe(), stream, _SIGNAL_ADD)

    def barrier(self, channel: int = 0) -> None:
        """The current stream waits until the streams of all ranks have come here, with all that they had done."""
        others = [(self.rank + i) % self.world_size for i in range(1, self.world_size)]
        for rank in others:
            self.put_signal(rank, channel)
        for rank in reversed(others):
            self.wait_signal(rank, channel)

    def unmap(self) -> None:
        """End it. Collective over all PEs of the job; BufferError while a tensor of `get_buffer` is alive."""
        self._memory._mapping.require_unlent()
        self._pad._mapping.require_unlent()
        self._memory.unmap()
        self._pad.unmap()
        for key in [key for key, handle in _handles.items() if handle is self]:
            del _handles[key]
