# SPDX-License-Identifier: BSD-3-Clause
"""The programs that bench/scale runs: their arguments for a problem and a number of PEs, how to read what they print.

A program that is run with --csv prints a line of titles and a line for each variant. An entry of APPS has

    variants                          the names that users can ask for
    rate_unit                         the unit of the work that a PE does in a second
    commands(wanted)                  the runs that measure these variants, as few as possible, since it takes longer
                                      to make a large graph than to search it: [(arguments, {printed name: variant})]
    unsuitable(mode, pes, options)    why the program cannot run like this, or ""
    problem(mode, pes, options)       a description for the report, and the arguments
    rate(row)                         the rate of a line, and alone_percent, the time of the kernels alone, where the
                                      program prints it
"""

import csv

# What is run on this device, or with --quick, where the command line does not say.
DEFAULTS = {
    "cuda": {"weak_size": (4096, 4096), "strong_size": (8192, 8192), "iterations": 1000,
             "weak_scale": 21, "strong_scale": 22, "roots": 16},
    "opencl": {"weak_size": (512, 512), "strong_size": (1024, 1024), "iterations": 100,
               "weak_scale": 13, "strong_scale": 14, "roots": 8},
    "quick": {"weak_size": (128, 128), "strong_size": (256, 256), "iterations": 20,
              "weak_scale": 9, "strong_scale": 10, "roots": 4},
}


def figure(text, scale=1):
    """A number times the scale; None where a program says "too small to tell" or "not measured"."""
    return None if " " in text else scale * float(text)


def read(app, output):
    """{name that the program prints: seconds, comm_seconds, rate, verified, ...} of all complete lines."""
    lines = output.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("variant,")), len(lines))
    found = {}
    for row in csv.DictReader(lines[start:]):
        try:
            seconds = float(row["seconds"])
            found[row["variant"]] = {"seconds": seconds, "comm_seconds": figure(row["comm_seconds"]),
                                     "verified": row["verified"], **app.rate(row, seconds)}
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            continue
    return found


def plain_commands(wanted, third):
    """Of a program with the variants naive, mapped and a third: --both is without it."""
    names = {variant: variant for variant in wanted}
    if len(names) < 2:
        return [(["--variant", variant], names) for variant in names]
    return [(["--variant", "all"] if third in names else ["--both"], names)]


class Stencil2D:
    name = "stencil2d"
    rate_unit = "cell/s"
    variants = ("naive", "mapped", "overlapped")

    @staticmethod
    def commands(wanted):
        return plain_commands(wanted, "overlapped")

    @staticmethod
    def unsuitable(mode, pes, options):
        return ""

    @staticmethod
    def problem(mode, pes, options):
        rows, cols = options.weak_size if mode == "weak" else options.strong_size
        words = "%dx%d%s, %d iterations" % (rows, cols, " per PE" if mode == "weak" else "", options.iterations)
        return words, ["-s" if mode == "weak" else "--size", "%dx%d" % (rows, cols), "--iterations",
                       str(options.iterations)]

    @staticmethod
    def rate(row, seconds):
        cells = int(row["rows"]) * int(row["cols"]) * int(row["iterations"])
        return {"rate": cells / seconds, "alone_percent": figure(row["kernel_alone_seconds"], 100 / seconds)}


class Bfs:
    name = "bfs"
    rate_unit = "TEPS"
    variants = ("naive", "mapped", "atomic", "direction")

    @staticmethod
    def commands(wanted):
        found = plain_commands([variant for variant in wanted if variant != "direction"], "atomic")
        if "direction" in wanted:
            found.append((["--variant", "mapped", "--direction-optimising"], {"mapped": "direction"}))
        return found

    @staticmethod
    def given_graph(options):
        """A graph that the further arguments name."""
        return next((words for words in options.further if words.startswith("--file")), "")

    @staticmethod
    def unsuitable(mode, pes, options):
        if mode == "weak" and Bfs.given_graph(options):
            return "the graph is always the same"
        odd = mode == "weak" and pes & (pes - 1)
        return "a graph twice as large has twice the vertices: PEs must be a power of two" if odd else ""

    @staticmethod
    def problem(mode, pes, options):
        scale = options.weak_scale + pes.bit_length() - 1 if mode == "weak" else options.strong_scale
        graph, arguments = "scale %d" % scale, ["--scale", str(scale)]
        if Bfs.given_graph(options):
            graph, arguments = " ".join(options.further), []
        return "%s, %d roots" % (graph, options.roots), [*arguments, "--roots", str(options.roots)]

    @staticmethod
    def rate(row, seconds):
        return {"rate": float(row["teps"])}


APPS = {app.name: app for app in (Stencil2D, Bfs)}
