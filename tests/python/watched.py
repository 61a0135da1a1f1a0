# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program, and ends it after so many seconds, with the stacks of its threads. Usage: watched.py SECONDS PROGRAM..."""

import faulthandler
import os
import runpy
import sys

seconds, program = float(sys.argv[1]), sys.argv[2]
faulthandler.enable()
faulthandler.dump_traceback_later(seconds, exit=True)
sys.argv[:2] = []
sys.path[0] = os.path.dirname(os.path.abspath(program))
runpy.run_path(program, run_name="__main__")
