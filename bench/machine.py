# SPDX-License-Identifier: BSD-3-Clause
"""What the measuring scripts share: where the programs are, a description of the machine, commands with a time limit.

    from machine import Machine, run
    machine = Machine(prefix)                      # ends with one line when nothing is installed there
    result = run([machine.program("oshrun"), "-n", "2", machine.program("stencil2d")], limit=60)
    if result.status == 0: print(result.out)
"""

import os
import platform
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENDS_WITHIN = 20  # seconds, after it was told to; a launcher takes some of them


class Result:
    """What became of a command: status is 124 if it had to be ended, 127 if it could not be started."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def cause(self):
        """Why it failed, in one line."""
        if self.status == 124:
            return "had not ended after %.0f s" % self.seconds
        lines = [line.strip() for line in (self.err or self.out).splitlines() if re.search(r"\w", line)]
        told = [line for line in lines if not line.startswith("oshrun:")] or lines
        return "status %d%s" % (self.status, ": " + told[-1][:200] if told else "")


def run(command, limit, environment=None):
    """Its output goes by files: what is left of it when it had to be ended cannot hold up the caller."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       start_new_session=True, env={**os.environ, **(environment or {})})
        except OSError as error:
            return Result(127, "", "%s: %s" % (command[0], error.strerror), 0)
        status = wait(process, limit)
        seconds = limit if status == 124 else time.monotonic() - started
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Result(status, *texts, seconds)


def wait_until_end(process, limit):
    """As process.wait(), which looks every 50 ms only if there is a limit."""
    try:
        ended = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return process.wait(limit)
    try:
        select.select([ended], [], [], limit)
    finally:
        os.close(ended)
    return process.wait(0.001)


def wait(process, limit):
    try:
        status = wait_until_end(process, limit)
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        end(process)
        return 124
    except BaseException:
        end(process)
        raise


def end(process):
    """Of the process, and then of what it has left behind in its session."""
    process.terminate()
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def first_line(command, pattern=r"\s*(.*\S)"):
    """What the pattern finds in the output of a command, or "" when there is no such command."""
    found = re.search(pattern, run(command, limit=20).out)
    return found.group(1) if found else ""


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


class Machine:
    """The programs of one installation, or of a build folder, and the machine that they run on."""

    def __init__(self, prefix=None):
        places = [prefix] if prefix else [os.path.join(TOP, "build", "prefix"), os.path.join(TOP, "build")]
        folders = [os.path.join(place, name) for place in places for name in ("bin", "")]
        self.folder = next((os.path.abspath(folder) for folder in folders
                            if os.access(os.path.join(folder, "oshrun"), os.X_OK)), None)
        if not self.folder:
            sys.exit("%s: no oshrun in %s: run scripts/quickstart --build, or give --prefix DIR"
                     % (os.path.basename(sys.argv[0]), " or ".join(places)))
        told = run([self.program("oshinfo")], limit=60).out
        self.version = told.split("\n", 1)[0]
        self.devices = {kind.lower(): int(n) for kind, n in re.findall(r"^ +(CUDA|OpenCL) +(\d+) device", told, re.M)}

    def program(self, name):
        return os.path.join(self.folder, name)

    def has(self, name):
        return os.access(self.program(name), os.X_OK)

    def device(self):
        """The programming interface to measure, if nobody says which: CUDA where there is a GPU."""
        return "cuda" if self.devices.get("cuda") else "opencl"

    def description(self):
        """For the head of a report; all values are text or numbers."""
        gpus = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], limit=20)
        names = [line.strip() for line in gpus.out.splitlines()] if gpus.status == 0 else []
        return {
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "library": self.version,
            "commit": first_line(["git", "-C", TOP, "rev-parse", "--short=12", "HEAD"]) if os.path.exists(
                os.path.join(TOP, ".git")) else "",
            "kernel": platform.release(),
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
            "load": "%.2f" % os.getloadavg()[0],
            "gpus": "; ".join("%d x %s" % (names.count(name), name) for name in dict.fromkeys(names)) or "none",
            "opencl_devices": self.devices.get("opencl", 0),
            "launcher": first_line(["mpirun", "--version"]),
        }
