# SPDX-License-Identifier: BSD-3-Clause
"""The cases that bench/bench measures: programs, the kinds of memory each is run with, how its output is read."""

import re

from svgplot import size_text

# What a title of a program's table is: metric, unit, and whose figure it is (None: the library's that was run).
TITLES = {
    "Latency (us)": ("latency", "us", None),
    "Avg Latency(us)": ("latency", "us", None),
    "Pure Comm.(us)": ("latency", "us", None),
    "Messages/s": ("rate", "1/s", None),
    "Bandwidth (MB/s)": ("bandwidth", "MB/s", None),
    "Overlap(%)": ("overlap", "%", None),
    "Raw (us)": ("latency", "us", "raw copy"),
    "Raw (copies/s)": ("rate", "1/s", "raw copy"),
    "Raw overlap(%)": ("overlap", "%", "raw copy"),
    "Naive (us)": ("latency", "us", "naive"),
    "By hand (us)": ("latency", "us", "by hand"),
    "Host (us)": ("latency", "us", "host memory"),
}
RATES = ("1/s", "MB/s", "%")  # more is better; of all else less


class Program:
    """A row of the table. sides: letters for a device's buffers; ucx: the test of ucx_perftest that does the same;
    nvshmem: the line of nvshmem_peer that does; counted: what a size counts, if not bytes; operations: what other
    libraries are asked for, one at a time, where one of them may have an operation that fails."""

    def __init__(self, name, suite, sizes=None, host=("heap", "global"), sides=("D D", "H D", "D H"), raw=False,
                 naive=False, plain=True, arguments="", ucx=None, nvshmem=None, operations=(), counted=""):
        self.name, self.suite, self.sizes, self.host, self.sides = name, suite, sizes, host, sides
        self.raw, self.naive, self.plain, self.arguments = raw, naive, plain, arguments.split()
        self.ucx, self.nvshmem, self.operations, self.counted = ucx, nvshmem, operations, counted


class Case:
    """One command line for one number of PEs."""

    def __init__(self, program, memory, pes, arguments):
        self.program, self.memory, self.pes, self.arguments = program, memory, pes, arguments

    @property
    def on_device(self):
        return self.memory.startswith(("cuda", "opencl"))

    def subject_text(self, subject):
        """The first column of its table, for people."""
        if not subject.isdecimal():
            return subject
        return "%s %s" % (subject, self.program.counted) if self.program.counted else size_text(int(subject))

    def __str__(self):
        return " ".join(filter(None, [self.program.name, self.memory, "%d PEs" % self.pes]))


TRANSFER = {"quick": "8:1M", "host": "1:4M", "device": "8:16M"}
RATE = {"quick": "8:1M", "host": "1:4M", "device": "8:4M"}
COLLECTIVE = {"quick": "8:64K", "host": "8:1M", "device": "8:1M"}
OVERLAP = {"quick": "64K:1M", "host": "8:1M", "device": "8:4M"}

PROGRAMS = (
    Program("osu_oshm_put", "transfers", TRANSFER, raw=True, naive=True, ucx="ucp_put_lat", nvshmem="put"),
    Program("osu_oshm_get", "transfers", TRANSFER, raw=True, naive=True, ucx="ucp_get", nvshmem="get"),
    Program("osu_oshm_put_nb", "transfers", TRANSFER, raw=True, naive=True),
    Program("osu_oshm_get_nb", "transfers", TRANSFER, raw=True, naive=True),
    Program("osu_oshm_put_long", "transfers", {**TRANSFER, "host": "8:4M"}, host=("heap",), sides=()),
    Program("osu_oshm_put_signal", "transfers", TRANSFER, raw=True, naive=True),
    Program("osu_oshm_strided", "transfers", {"quick": "8:4K", "host": "1:4K", "device": "8:4K"}, raw=True, naive=True,
            counted="rows"),
    Program("osu_oshm_deep_put", "transfers", {"quick": "256:1M", "host": "256:4M", "device": "256:4M"},
            sides=("H D",), raw=True, plain=False),
    Program("osu_oshm_put_mr", "rates", RATE, raw=True, arguments="-f", ucx="ucp_put_bw"),
    Program("osu_oshm_get_mr", "rates", RATE, raw=True, arguments="-f"),
    Program("osu_oshm_put_mr_nb", "rates", RATE, raw=True, arguments="-f", nvshmem="4096 put_nbi + quiet"),
    Program("osu_oshm_get_mr_nb", "rates", RATE, raw=True, arguments="-f", nvshmem="4096 get_nbi + quiet"),
    Program("osu_oshm_put_overlap", "overlap", OVERLAP, raw=True),
    Program("osu_oshm_get_overlap", "overlap", OVERLAP, raw=True),
    Program("osu_oshm_atomics", "atomics", sides=("H D",), ucx="ucp_fadd", operations=(
        "shmem_int_fadd", "shmem_longlong_fadd", "shmem_longlong_cswap", "shmem_longlong_add")),
    Program("osu_oshm_barrier", "collectives", host=("",), sides=(), nvshmem="barrier_all"),
    Program("osu_oshm_broadcast", "collectives", COLLECTIVE, naive=True),
    Program("osu_oshm_collect", "collectives", COLLECTIVE, naive=True),
    Program("osu_oshm_fcollect", "collectives", COLLECTIVE, naive=True),
    Program("osu_oshm_reduce", "collectives", COLLECTIVE, naive=True),
    Program("osu_oshm_alltoall", "collectives", COLLECTIVE, naive=True),
    Program("gpu_matrix", "matrix", host=(), sides=("D D",), plain=False),
    Program("start_up", "start", host=("",), sides=()),
)
SUITES = tuple(dict.fromkeys(program.suite for program in PROGRAMS))


def device_memories(program, devices, quick):
    sides = program.sides[:1] if quick else program.sides
    return ["%s %s" % (device, letters) for device in devices for letters in sides]


def counts(program, quick, on_device):
    """Options for the number of operations: less than the program's own when it must be quick."""
    if not quick:
        return []
    if program.suite in ("transfers", "rates", "atomics"):
        return ["-i", "100", "-x", "10"] if on_device else ["-i", "1000", "-x", "100"]
    return ["-i", "20" if on_device or program.suite == "overlap" else "200", "-x", "5"]


def case_of(program, memory, pes, quick):
    if program.suite == "start":
        return Case(program, memory, pes, [])
    words = memory.split()
    if program.suite == "matrix":
        return Case(program, memory, pes, ["-d", words[0]] + (["--quick"] if quick else []))
    on_device = len(words) == 3
    arguments = ["-d", words[0]] + words[1:] if on_device else words
    if program.sizes:
        arguments += ["-m", program.sizes["quick" if quick else "device" if on_device else "host"]]
    arguments += counts(program, quick, on_device) + program.arguments + ["-c"]
    arguments += ["--raw"] if program.raw else []
    arguments += ["--naive"] if program.naive and on_device else []
    return Case(program, memory, pes, arguments)


def cases(suites, devices, pes_list, quick, start_pes):
    """All that is to be measured; the same program with each memory comes together."""
    found = []
    for program in PROGRAMS:
        if program.suite in suites:
            many = {"collectives": pes_list, "start": start_pes}.get(program.suite, [2])
            host = program.host[:1] if quick else program.host
            found += [case_of(program, memory, pes, quick) for pes in many
                      for memory in [*host, *device_memories(program, devices, quick)]]
    return found


class Figure:
    """One value of a table; subject is a size in bytes, the name of an operation, or ""."""

    def __init__(self, subject, metric, unit, peer, value):
        self.subject, self.metric, self.unit, self.peer, self.value = subject, metric, unit, peer, value


def read_table(output):
    """The figures of a program's output; columns that have no title of TITLES, and dashes, are left out."""
    titles, figures = [], []
    for line in output.splitlines():
        if line.startswith("#"):
            titles = re.split(r"\s{2,}", line.strip())
            continue
        words = line.split()
        if len(titles) < 2 or not words:
            continue
        subject = "" if titles[0] == "#" else words.pop(0)
        for title, word in zip(titles[1:], words):
            if title in TITLES and re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", word):
                figures.append(Figure(subject, *TITLES[title], float(word)))
    return figures


def read_start_up(output, pes, seconds):
    """start_up prints a line for each PE: number, microseconds in shmem_init, then KiB of memory by kind."""
    lines = [line.split() for line in output.splitlines() if re.fullmatch(r"\s*\d+(\s+[\d.]+){9}\s*", line)]
    if len(lines) != pes:
        return []
    columns = [[float(line[i]) for line in lines] for i in range(10)]
    mean = [sum(column) / pes for column in columns]
    return [Figure("", *figure) for figure in (
        ("start to end", "s", None, seconds), ("shmem_init", "us", None, max(columns[1])),
        ("resident", "KiB", None, max(columns[2])), ("proportional share", "KiB", None, mean[3]),
        ("private", "KiB", None, mean[4]), ("page tables", "KiB", None, max(columns[5])),
        ("heap of malloc", "KiB", None, mean[6]), ("other anonymous", "KiB", None, mean[7]),
        ("shared memory", "KiB", None, mean[8]), ("files", "KiB", None, mean[9]))]
