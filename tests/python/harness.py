# SPDX-License-Identifier: BSD-3-Clause
"""What the Python tests share: runs the functions of a program whose names begin with test_, or those that its arguments name,
in their order, on all PEs, and then end(); an exception ends the job, or with KEEP_GOING in the environment is only shown at first, where every PE
has it."""

import os
import sys
import traceback

import mapshmem as shmem


def main(functions, end=shmem.finalize):
    failed = 0
    shmem.init()
    for name, function in list(functions.items()):
        if name.startswith("test_") and name in (sys.argv[1:] or [name]):
            try:
                function()
            except BaseException:
                sys.stderr.write(f"PE {shmem.my_pe()}: {name} failed\n")
                if "KEEP_GOING" not in os.environ:
                    raise
                traceback.print_exc()
                failed = 1
            shmem.barrier_all()
    end()
    sys.exit(failed)


def numba_fault():
    """Why Numba cannot run the simplest kernel on this PE's GPU; None: it can. What it raises is not for us to know: it depends
    on what it was installed with."""
    try:
        from numba import cuda

        @cuda.jit
        def store(x):
            x[0] = 1

        cuda.select_device(shmem.my_device())
        store[1, 1](cuda.device_array(1, "f4"))
        cuda.synchronize()
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        return f"Numba cannot run a kernel here: {type(error).__name__}: {said}"
    return None


class raises:
    """with raises(ValueError, "text"): the block must end so."""

    def __init__(self, kind, text=""):
        self.kind, self.text, self.error = kind, text, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        assert kind is not None, f"no {self.kind.__name__}"
        if not issubclass(kind, self.kind):
            return False
        assert self.text in str(value), f"{value!r} does not say {self.text!r}"
        self.error = value
        return True
