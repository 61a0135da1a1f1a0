# SPDX-License-Identifier: BSD-3-Clause
"""Compiles programs for another library: those of tests/osu, and start_up of this folder. The .am files of tests/osu and
of support list their sources."""

import concurrent.futures
import os
import re

from machine import TOP, run

SOURCES = os.path.join(TOP, "bench")


class Unable(Exception):
    """Why something is not measured."""


def read_lists(path):
    """The variables of a makefile; of its conditions what holds where a build has none of the optional parts."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().replace("\\\n", " ").splitlines()
    lists, taken = {}, [True]
    for line in lines:
        if line.startswith("if "):
            taken.append(line.startswith("if !"))
        elif line == "else":
            taken[-1] = not taken[-1]
        elif line == "endif":
            taken.pop()
        elif all(taken) and (found := re.match(r"(\w+) *(\+?=)(.*)", line)):
            name, how, value = found.groups()
            lists[name] = (lists.get(name, "") if how == "+=" else "") + " " + value.strip()
    return lists


def expand(lists, value):
    words = []
    for word in value.split():
        named = re.fullmatch(r"\$\((\w+)\)", word)
        words += expand(lists, lists.get(named.group(1), "")) if named else [word]
    return words


def sources_of(name):
    if name == "start_up":
        return [os.path.join(SOURCES, "start_up.c")]
    lists = read_lists(os.path.join(TOP, "tests", "osu", "osu.am"))
    lists |= read_lists(os.path.join(TOP, "support", "support.am"))
    files = expand(lists, lists.get(name + "_SOURCES", "") + " $(support_basis) $(support_kinds)")
    return [os.path.join(TOP, file) for file in dict.fromkeys(files) if file.endswith(".c")]


def compile_program(command, target):
    result = run([*command, "-o", target], limit=100)
    if result.status != 0:
        lines = (result.err or result.out).splitlines()
        cause = next((line for word in ("undefined reference", "error") for line in lines if word in line.lower()),
                     result.cause())
        raise Unable("does not compile: " + cause.replace(TOP + os.sep, "")[:200])
    return target


class Programs:
    """Programs for the library of one compiler, in a folder; each is compiled when it is first asked for."""

    def __init__(self, compiler, folder, flags=("-DOSU_PLAIN_SHMEM",)):
        self.command, self.folder, self.found = [compiler, "-std=gnu11", "-O2", "-I" + TOP, *flags], folder, {}
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        if name not in self.found:
            try:
                self.found[name] = compile_program([*self.command, *sources_of(name), "-lm"],
                                                   os.path.join(self.folder, name))
            except Unable as error:
                self.found[name] = error
        if isinstance(self.found[name], Unable):
            raise self.found[name]
        return self.found[name]

    def prepare(self, names):
        """Several at once."""
        def attempt(name):
            try:
                self.path(name)
            except Unable:
                pass  # told to who asks for it
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(attempt, dict.fromkeys(names)))
