# What lend.c is for Python.
from typing import Any

def lend(owner: Any, address: int, nelems: int, device_type: int, device: int, code: int, bits: int) -> Any: ...
