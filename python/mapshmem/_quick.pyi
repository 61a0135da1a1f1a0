# What quick.c is for Python.
from typing import Any

import numpy as np

class State:
    is_mapped: bool
    is_writable: bool

class Memory:
    dtype: np.dtype
    nbytes: int
    _mapping: Any
    def __init__(self, mapping: State, address: int, nbytes: int, dtype: np.dtype) -> None: ...

class Transfers:
    _address: int
    def put(self, dest: Any, source: Any, pe: int) -> None: ...
    def get(self, dest: Any, source: Any, pe: int) -> None: ...
    def put_nbi(self, dest: Any, source: Any, pe: int) -> None: ...
    def get_nbi(self, dest: Any, source: Any, pe: int) -> None: ...

def put_signal_on_stream(dest: Any, source: Any, sig: Any, value: Any, pe: Any, op: Any, stream: Any, /) -> bool: ...
def signal_wait_until_on_stream(sig: Any, cmp: Any, value: Any, stream: Any, /) -> bool: ...
