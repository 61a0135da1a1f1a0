# What cffi makes: its types are known when a program runs only.
from typing import Any

ffi: Any
lib: Any
