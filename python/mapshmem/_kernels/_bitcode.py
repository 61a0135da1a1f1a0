# SPDX-License-Identifier: BSD-3-Clause
"""Where the calls of kernels are, as compilers link them."""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "device")


def path(name: str, debug: bool) -> str:
    """The file of that name, in the usual or the debug build. ImportError if the package was built without them."""
    found = os.path.join(_FOLDER, "debug" if debug else "release", name)
    if not os.path.exists(found):
        raise ImportError(f"mapshmem was built without the calls of kernels ({found} is missing): build the package again where "
                          "clang is in the PATH, or named by MAPSHMEM_CLANG")
    return found
