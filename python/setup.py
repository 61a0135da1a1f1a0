# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel: extension modules in C, for all versions of Python from 3.9 on (the limited API)."""

import atexit
import os
import re
import shutil
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import build_native  # noqa: E402

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # of older versions of setuptools
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = object  # no wheels can be made, but the package can


class BuildExtension(build_ext):
    """One line instead of the compiler's page where there is no MapSHMEM."""

    def run(self):
        if not build_native.libdir:
            sys.exit(build_native.missing())
        super().run()


class StableWheel(bdist_wheel):
    """cffi makes the module abi3; this says so in the name of the wheel."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        super().finalize_options()


def version():
    with open(os.path.join(here, "mapshmem", "_version.py"), encoding="utf-8") as file:
        return re.search(r'__version__ = "(.*)"', file.read()).group(1)


def outside_of_tree():
    """What is made on the way to a wheel is no part of the sources, and goes when the build ends."""
    folder = tempfile.mkdtemp(prefix="mapshmem-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {"build": {"build_base": folder}, "egg_info": {"egg_base": folder}}


commands = {"build_ext": BuildExtension}
if bdist_wheel is not object:
    commands["bdist_wheel"] = StableWheel
quick = Extension("mapshmem._quick", ["quick.c"], depends=["checked.h"], py_limited_api=True, **build_native.options)
setup(version=version(), ext_modules=[quick], cffi_modules=["build_native.py:ffibuilder"],
      cmdclass=commands, options=outside_of_tree())
