# SPDX-License-Identifier: BSD-3-Clause
"""How bench/scale and bench/bench start their runs: on this machine, on virtual hosts, or in Slurm's allocation.

A launcher is a context manager, which sets up what runs need. command(pes, program) returns the command to run.
"""

import os
import shlex
import subprocess
import sys

from machine import TOP, run


class Here:
    def __init__(self, machine):
        self.machine = machine

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def command(self, pes, program):
        return [self.machine.program("oshrun"), "-n", str(pes), *program]

    def describe(self):
        return "one machine"


class Slurm(Here):
    def command(self, pes, program):
        name = os.environ.get("MAPSHMEM_LAUNCHER", "srun")
        return [self.machine.program("oshrun"), "--launcher", name, "-n", str(pes), *program]

    def describe(self):
        return "Slurm, %s nodes" % os.environ.get("SLURM_JOB_NUM_NODES", os.environ.get("SLURM_NNODES", "unknown"))


def script_name():
    return os.path.basename(sys.argv[0])


class VirtualHosts(Here):
    """Namespaces on this machine; PEs are spread over the hosts in blocks."""

    vhosts = os.path.join(TOP, "scripts", "vhosts")

    def __init__(self, machine, hosts):
        super().__init__(machine)
        self.hosts = hosts
        kept = [os.environ.get("VHOSTS_KEEP"), machine.folder, TOP, os.getcwd()]
        os.environ["VHOSTS_KEEP"] = ":".join(folder for folder in kept if folder)
        os.environ["VHOSTS_ID"] = "%s%d" % (script_name(), os.getpid())

    def __enter__(self):
        self.kind = self.launcher_kind()
        made = run([self.vhosts, "up", str(self.hosts)], limit=60)
        if made.status != 0:
            sys.exit("%s: no virtual hosts: %s" % (script_name(), made.cause()))
        return self

    def __exit__(self, *_):
        run([self.vhosts, "down"], limit=60)

    def launcher_kind(self):
        told = run([self.machine.program("oshrun"), "--dry-run", "-n", "1", "/bin/true"], limit=20).out
        if "prte" in told:
            return "ompi5"
        if "mpirun" not in told:
            sys.exit("%s: virtual hosts need Open MPI as launcher" % script_name())
        return "ompi4" if " 4." in run(["mpirun", "--version"], limit=20).out else "ompi5"

    def options(self, pes):
        """For mpirun, or behind the "--" of oshrun."""
        slots = str(-(-pes // self.hosts))
        return run([self.vhosts, "mpirun-args", self.kind, slots], limit=20).out.split()

    def on(self, host):
        """What makes a command run on that host; its name is vhost and the number."""
        return [self.vhosts, "exec", str(host)]

    def command(self, pes, program):
        return [*self.on(0), *super().command(pes, program), "--", *self.options(pes)]

    def describe(self):
        return "%d virtual hosts on one machine" % self.hosts


def job_script(options, script, words):
    """Prints a job script that runs the same command inside of an allocation, or submits it."""
    ours = [word for word in words[:words.index("--") if "--" in words else None] if word != "--submit"
            and not word.startswith("--sbatch")] + (words[words.index("--"):] if "--" in words else [])
    lines = ["#!/bin/bash", "#SBATCH --job-name=scale", "#SBATCH --ntasks=%d" % max(options.pes)]
    lines += ["#SBATCH --gpus-per-task=1"] if options.device == "cuda" else []
    lines += ["#SBATCH " + option for option in options.sbatch]
    lines += ["", "cd %s || exit" % shlex.quote(os.getcwd()), "exec %s" % shlex.join([script, *ours]), ""]
    if not options.submit:
        print("\n".join(lines), end="")
        return 0
    try:
        return subprocess.run(["sbatch"], input="\n".join(lines), text=True).returncode and 1
    except OSError as error:
        print("scale: sbatch: %s" % error.strerror, file=sys.stderr)
        return 1
