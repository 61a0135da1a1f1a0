# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that write outside of their map, in a debug build of the calls of Triton and Numba: they end, and say why. Each
runs as a program of its own, whose context is lost."""

import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def said_by(program):
    environment = {**os.environ, "MAPSHMEM_DEVICE_DEBUG": "1"}
    done = subprocess.run([sys.executable, os.path.join(FOLDER, program)], capture_output=True, text=True, timeout=60,
                          env=environment, check=False)
    return done.stdout + done.stderr


found = 0
for program in ("triton_kernels.py", "numba_kernels.py"):
    said = said_by(program)
    if any(reason in said for reason in ("ModuleNotFoundError", "no NVIDIA driver", "CUDA driver library", "Numba cannot run")):
        print(f"{program}: {said.splitlines()[-1]}")
        continue
    assert "dest lies outside of the object of the view" in said and "not reached" not in said, said[-3000:]
    found += 1
sys.exit(0 if found else 77)
