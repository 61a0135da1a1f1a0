# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel: extension modules in C, for all versions of Python from 3.9 on (the limited API)."""

import os
import re
import shutil
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True  # build_native would leave __pycache__ in the sources
import build_native  # noqa: E402
from device import make as make_device  # noqa: E402

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # of older versions of setuptools
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = object  # no wheels can be made, but the package can


def require_library():
    """Says in one line what is missing, where the compiler would say it in many."""
    missing = build_native.what_is_missing()
    if missing:
        raise SystemExit(missing)


class CheckedBuild(build_ext):
    def run(self):
        require_library()
        super().run()


class WithKernels(build_py):
    """The calls of kernels, where clang is: MAPSHMEM_CLANG names another one, and if it is empty none are made."""

    def run(self):
        super().run()
        clang = os.environ.get("MAPSHMEM_CLANG", "clang")
        if shutil.which(clang) and build_native.includedir:
            make_device.make(build_native.includedir[0], os.path.join(self.build_lib, "mapshmem", "device"), clang)


class StableWheel(bdist_wheel):
    """cffi makes the module abi3; this says so in the name of the wheel."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        super().finalize_options()

    def run(self):
        require_library()  # before the steps that come first have printed their lines
        super().run()


def version():
    with open(os.path.join(here, "mapshmem", "_version.py"), encoding="utf-8") as file:
        return re.search(r'__version__ = "(.*)"', file.read()).group(1)


def commands():
    found = {"build_ext": CheckedBuild, "build_py": WithKernels}
    if bdist_wheel is not object:
        found["bdist_wheel"] = StableWheel
    return found


# pip calls these commands, from the folder of the sources.
LEAVE_NOTHING = {"egg_info", "dist_info", "bdist_wheel"}


def setup_beside(work):
    """With pip, builds in the folder WORK: in the sources would remain what was made. Other commands build on what the
    call before has left, or name files relative to the sources."""
    quick = Extension("mapshmem._quick", ["quick.c", "quick_stream.c"], depends=["checked.h", "quick.h"], py_limited_api=True, **build_native.options)
    lend = Extension("mapshmem._lend", ["lend.c"], depends=["dlpack.h"], py_limited_api=True)
    options = {}
    if LEAVE_NOTHING.intersection(sys.argv):
        options = {"build": {"build_base": work}, "egg_info": {"egg_base": work}}
    setup(version=version(), license="BSD-3-Clause", ext_modules=[quick, lend], cffi_modules=["build_native.py:ffibuilder"],
          cmdclass=commands(), options=options)


with tempfile.TemporaryDirectory() as folder:
    setup_beside(folder)
