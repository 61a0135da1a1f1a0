# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that bench/bench measures: MapSHMEM and its peers, as far as they are installed.

Each has a name; unable(case), which returns why it cannot measure this case, or None; and measure(case, limit), which
returns figures or raises Unable or Failed.
"""

import os
import re
import socket
import threading
import time

from bench_build import SOURCES, Programs, Unable, compile_program
from bench_table import Figure, read_start_up, read_table
from machine import first_line, run


class Failed(Exception):
    """A program that was run and did not do its work."""


class Hung(Failed):
    """It had to be ended."""


class Skipped(Unable):
    """A program that says that this machine has not what it needs."""


def judge(result):
    if result.status == 77:
        raise Skipped(result.cause().replace("status 77: ", ""))
    if result.status != 0:
        raise (Hung if result.status == 124 else Failed)(result.cause())


class Shmem:
    """An OpenSHMEM library: programs and a way to start them."""

    def unable(self, case):
        if case.on_device or not case.program.plain:
            return "it has no symmetric GPU memory"
        return ""

    def prepare(self, cases):
        self.programs.prepare([case.program.name for case in cases if not self.unable(case)])

    def program(self, name):
        return self.programs.path(name)

    def measure(self, case, limit):
        arguments = [word for word in case.arguments if word not in ("--raw", "--naive")]
        figures = []
        for operation in case.program.operations or [None]:
            figures += self.one(case, arguments + (["-o", operation] if operation else []), limit)
        return figures

    def one(self, case, arguments, limit):
        """The figures of one run."""
        start, behind = self.start(case.pes)
        result = run([*start, self.program(case.program.name), *arguments, *behind], limit, self.environment())
        judge(result)
        figures = read_start_up(result.out, case.pes, result.seconds) if case.program.suite == "start" else read_table(
            result.out)
        if not figures:
            raise Failed("its output has no figures")
        return figures

    def start(self, pes):
        """What stands before the program, and what stands behind its arguments."""
        raise NotImplementedError

    def environment(self):
        return {}


class Ours(Shmem):
    name = "MapSHMEM"

    def __init__(self, machine, scratch, hosts=None):
        self.machine, self.hosts = machine, hosts
        self.programs = Programs(machine.program("oshcc"), os.path.join(scratch, "ours"), ())

    def unable(self, case):
        if case.program.suite != "start" and not self.machine.has(case.program.name):
            return "not installed"
        return ""

    def prepare(self, cases):
        self.programs.prepare({case.program.name for case in cases if case.program.suite == "start"})

    def program(self, name):
        return self.programs.path(name) if name == "start_up" else self.machine.program(name)

    def start(self, pes):
        start = [self.machine.program("oshrun"), "-n", str(pes)]
        return ([*self.hosts.on(0), *start], ["--", *self.hosts.options(pes)]) if self.hosts else (start, [])

    def measure(self, case, limit):
        return self.one(case, case.arguments, limit)


class OpenMpi(Shmem):
    """Its OSHMEM. In version 4.1.4 shmem_finalize crashes in the component that is left out."""

    OPTIONS = ("--mca", "osc", "^rdma")

    def __init__(self, compiler, version, scratch, hosts=None):
        self.name, self.hosts = "Open MPI " + version, hosts
        launcher = os.path.join(os.path.dirname(compiler), "mpirun")
        self.launcher = launcher if os.access(launcher, os.X_OK) else "mpirun"
        self.programs = Programs(compiler, os.path.join(scratch, "openmpi"))

    def environment(self):
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def start(self, pes):
        if self.hosts:
            return [*self.hosts.on(0), self.launcher, *self.hosts.options(pes), *self.OPTIONS, "-np", str(pes)], []
        binding = "core" if pes <= len(os.sched_getaffinity(0)) else "none"
        return [self.launcher, "--oversubscribe", "--bind-to", binding, *self.OPTIONS, "-np", str(pes)], []


class OtherShmem(Shmem):
    """An installation with bin/oshcc and bin/oshrun."""

    def __init__(self, prefix, scratch):
        self.prefix, self.name = prefix, os.path.basename(os.path.abspath(prefix))
        self.programs = Programs(os.path.join(prefix, "bin", "oshcc"), os.path.join(scratch, self.name))

    def start(self, pes):
        return [os.path.join(self.prefix, "bin", "oshrun"), "-np", str(pes)], []


def sizes_of(case):
    """Some of the sizes of its -m; of an atomic operation 8."""
    if "-m" not in case.arguments:
        return [8]
    least, most = (int(n) << {"": 0, "K": 10, "M": 20}[unit]
                   for n, unit in re.findall(r"(\d+)([KM]?)", case.arguments[case.arguments.index("-m") + 1]))
    return [1 << i for i in (3, 6, 9, 12, 14, 16, 18, 20, 22, 24) if least <= 1 << i <= most]


class TwoProcesses:
    """A program that serves on one end and measures on the other."""

    hosts = None

    def ends(self, server, client):
        """Both command lines, on their hosts."""
        return (self.hosts.on(1) + server, self.hosts.on(0) + client) if self.hosts else (server, client)

    def address(self):
        return "vhost1" if self.hosts else "127.0.0.1"

    def together(self, server, client, limit):
        server, client = self.ends(server, client)
        results = []
        thread = threading.Thread(target=lambda: results.append(run(server, limit)))
        thread.start()
        time.sleep(0.3)  # it must be listening
        result = run(client, limit)
        thread.join()
        judge(result)
        return result.out


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return str(probe.getsockname()[1])


class Ucx(TwoProcesses):
    """ucx_perftest. Its put latency is half of a ping-pong: it has no put that waits for completion at the target."""

    def __init__(self, path, version, hosts=None):
        self.path, self.name, self.hosts = path, ("ucx_perftest " + version).strip(), hosts

    def prepare(self, cases):
        pass

    def unable(self, case):
        if not case.program.ucx or case.memory not in ("heap", "cuda D D"):
            return None
        return ""

    def measure(self, case, limit):
        until = time.monotonic() + limit
        figures = []
        for size in sizes_of(case):
            figures += self.one(case, size, max(1, until - time.monotonic()))
        return figures

    def one(self, case, size, limit):
        count, warmup = (2000, 200) if size <= 8192 else (200, 20)
        options = ["-t", case.program.ucx, "-s", str(size), "-n", str(count), "-w", str(warmup), "-f", "-v"]
        options += ["-O", "1"] if case.program.ucx in ("ucp_get", "ucp_fadd") else []
        options += ["-m", "cuda"] if case.on_device else []
        port = free_port()
        out = self.together([self.path, "-p", port], [self.path, "-p", port, self.address(), *options], limit)
        # iterations, latencies (percentile or median, average, overall), bandwidths, rates (average, overall)
        lines = [line.split(",") for line in out.splitlines() if re.match(r"\s*\d+,", line)]
        if not lines or len(lines[-1]) < 8:
            raise Failed("its output has no figures")
        latency, bandwidth, rate = (float(lines[-1][i]) for i in (3, 5, 7))
        if case.program.ucx == "ucp_put_bw":
            return [Figure(str(size), "rate", "1/s", None, rate),
                    Figure(str(size), "bandwidth", "MB/s", None, bandwidth * 1.048576)]
        subject = "shmem_longlong_fadd" if case.program.ucx == "ucp_fadd" else str(size)
        return [Figure(subject, "latency", "us", None, latency)]


class UcpRaw(TwoProcesses):
    """The loops of the programs by UCX alone; between hosts."""

    name = "UCX alone"
    TESTS = {"osu_oshm_put": "put", "osu_oshm_get": "get", "osu_oshm_put_mr": "put_mr", "osu_oshm_atomics": "fadd"}

    def __init__(self, scratch, hosts):
        self.path, self.hosts = os.path.join(scratch, "ucp_raw"), hosts
        flags = run(["pkg-config", "--cflags", "--libs", "ucx"], limit=20).out.split()
        compile_program(["cc", "-std=gnu11", "-O2", os.path.join(SOURCES, "ucp_raw.c"), *flags], self.path)

    def prepare(self, cases):
        pass

    def unable(self, case):
        return "" if case.program.name in self.TESTS and case.memory == "heap" else None

    def measure(self, case, limit):
        test = self.TESTS[case.program.name]
        figures = []
        for size in sizes_of(case):
            count = "2000" if size <= 8192 else "100"
            out = self.together([self.path, "5555"], [self.path, self.address(), "5555", test, str(size), count, "50"],
                                limit)
            words = out.split()
            if test == "fadd":
                figures.append(Figure("shmem_longlong_fadd", "latency", "us", None, float(words[1])))
            elif test == "put_mr":
                figures += [Figure(str(size), "rate", "1/s", None, float(words[1])),
                            Figure(str(size), "bandwidth", "MB/s", None, float(words[2]))]
            else:
                figures.append(Figure(str(size), "latency", "us", None, float(words[1])))
        return figures


class Nvshmem:
    """NVSHMEM's host API: one program measures all that it has; each of its lines counts once."""

    def __init__(self, scratch):
        self.script, self.out = os.path.join(SOURCES, "nvshmem.sh"), os.path.join(scratch, "nvshmem")
        os.makedirs(self.out, exist_ok=True)
        built = run([self.script, "build", self.out], limit=120)
        if built.status != 0:
            raise Unable(built.cause())
        self.name = "NVSHMEM " + built.out.strip().split("\n")[-1]
        self.lines, self.most = {}, 8

    def prepare(self, cases):
        self.most = max([size for case in cases if self.unable(case) == "" for size in sizes_of(case)], default=8)

    def unable(self, case):
        return "" if case.program.nvshmem and case.memory in ("", "cuda D D") and case.pes == 2 else None

    def measure(self, case, limit):
        what = case.program.nvshmem
        if what not in self.lines:
            self.run_all(limit)
        figures = self.lines.pop(what, [])
        if not figures:
            raise Failed("it has not measured " + what)
        return figures

    def run_all(self, limit):
        result = run([self.script, "run", self.out, str(self.most), str(max(1, int(limit / 2)))], limit)
        judge(result)
        self.lines = {}
        for what, size, us in re.findall(r"^([^,\n]+),(\d+),([0-9.e+-]+)$", result.out, re.M):
            rate = what.startswith("4096")
            figure = Figure(size if int(size) else "", "rate" if rate else "latency", "1/s" if rate else "us", None,
                            1e6 / float(us) if rate else float(us))
            self.lines.setdefault(what, []).append(figure)


def find_openmpi(scratch, hosts=None):
    """Our own oshcc may come first in PATH; the one that knows --showme:version is Open MPI's."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        compiler = os.path.join(folder, "oshcc")
        if os.access(compiler, os.X_OK):
            version = first_line([compiler, "--showme:version"], r"Open SHMEM ([0-9.]+)")
            if version:
                return OpenMpi(compiler, version, scratch, hosts)
    raise Unable("no oshcc of Open MPI in PATH")


def find_ucx(hosts=None):
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "ucx_perftest")
        if os.access(path, os.X_OK):
            return Ucx(path, first_line([os.path.join(folder, "ucx_info"), "-v"], r"([0-9]+\.[0-9.]+)"), hosts)
    raise Unable("no ucx_perftest in PATH")


def find_nvshmem(scratch, machine):
    if machine.devices.get("cuda", 0) < 2:
        raise Unable("its PEs need a GPU each")
    return Nvshmem(scratch)
