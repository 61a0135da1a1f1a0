# SPDX-License-Identifier: BSD-3-Clause
"""Declares the routines of MapSHMEM to cffi, which writes the extension module mapshmem._native.

Pointers are void * for Python, so that any buffer can be passed; the C compiler knows the true prototypes from
shmem.h, and checks the rest. cffi lets other Python threads run while a routine does.

Where MapSHMEM is, in this order: MAPSHMEM_INCLUDEDIR and MAPSHMEM_LIBDIR (a library that is not installed, as for oshcc),
pkg-config, the oshcc of the PATH. MAPSHMEM_RUNPATH: where programs look for it, instead of there. Other libraries of
OpenSHMEM have an oshcc, too, which may be the first.
"""

import os
import shutil
import subprocess
import sys

from cffi import FFI

from declarations import declarations

# ---- where the library is -------------------------------------------------------------------------------------------


def from_pkg_config(variable):
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), "--variable=" + variable, "mapshmem"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def from_oshcc(option):
    """The last directory that oshcc passes with -I or -L."""
    if not shutil.which("oshcc"):
        return ""
    shown = subprocess.run(["oshcc", "-show", "x.c"], check=True, capture_output=True, text=True).stdout.split()
    found = [word[2:] for word in shown if word.startswith(option)]
    return found[-1] if found else ""


def find(variable, option):
    """A list of one directory; of none if there is no MapSHMEM, which sdist does not need."""
    found = os.environ.get("MAPSHMEM_" + variable.upper()) or from_pkg_config(variable) or from_oshcc(option)
    return [found] if found else []


def what_is_missing():
    """One line, if no extension module can be built; nothing if one can."""
    remedy = "put MapSHMEM's oshcc first into the PATH, or its mapshmem.pc into PKG_CONFIG_PATH"
    if not includedir or not libdir:
        return "mapshmem: found no MapSHMEM: " + remedy
    if not os.path.isdir(os.path.join(includedir[0], "mapshmem")):  # headers that no other library has
        return "mapshmem: {} is not of MapSHMEM (oshcc is {}): {}".format(
            includedir[0], shutil.which("oshcc") or "not in the PATH", remedy)
    return ""


def run_path(directories):
    """Programs find what lies in the system's directories without a path; others are told where the library was.
    MAPSHMEM_RUNPATH says otherwise; empty: without a path."""
    if "MAPSHMEM_RUNPATH" in os.environ:
        return [found for found in os.environ["MAPSHMEM_RUNPATH"].split(":") if found]
    return [found for found in directories if not found.startswith(("/usr/lib", "/lib"))]


# ---- the module ---------------------------------------------------------------------------------------------------

SOURCE = r"""
#include "checked.h"
#include "dlpack.h"
#include <shmemx.h>
#include <shmemx_device.h>
#include <stdint.h>

static int mapshmem_py_check_team(shmem_team_t team)
{
    return !mapshmem_py_running() ? 1 : team == SHMEM_TEAM_INVALID ? 2 : 0;
}

static void mapshmem_py_pcontrol(int level)
{
    shmem_pcontrol(level);
}

static size_t mapshmem_py_work_bytes(int n_pes, size_t nbytes)
{
    return SHMEMX_DEVICE_WORK_BYTES(n_pes, nbytes);
}

/* Where a tensor's first element is. *contiguous: its elements follow each other in the order of C. */
static uintptr_t mapshmem_py_managed(void *managed, int is_versioned, int *contiguous, int *code, int *bits, int *lanes,
                                     int64_t *nelems, uint64_t *flags)
{
    const struct dl_versioned *versioned = managed;
    const struct dl_tensor *tensor = is_versioned ? &versioned->tensor : managed;
    int64_t expected = 1;
    *contiguous = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->strides && tensor->shape[i] != 1 && tensor->strides[i] != expected)
            *contiguous = 0;
        expected *= tensor->shape[i];
    }
    *nelems = expected;
    *contiguous |= !expected;
    *code = tensor->code;
    *bits = tensor->bits;
    *lanes = tensor->lanes;
    *flags = is_versioned ? versioned->flags : 0;
    return (uintptr_t)tensor->data + tensor->byte_offset;
}
"""

libdir = find("libdir", "-L")
includedir = find("includedir", "-I")
here = os.path.dirname(os.path.abspath(__file__))
options = {"include_dirs": [here] + includedir, "library_dirs": libdir, "libraries": ["mapshmem"],
           "runtime_library_dirs": run_path(libdir)}
ffibuilder = FFI()
ffibuilder.cdef(declarations())
ffibuilder.set_source("mapshmem._native", SOURCE, py_limited_api=True, **options)

if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
