# SPDX-License-Identifier: BSD-3-Clause
"""Makes the calls of kernels as bitcode of LLVM (for Triton) and PTX (for Numba): extern "C" functions that take the
address of a view, of each line of mapshmem/_kernels/_calls.py. Needs clang, no CUDA toolkit. One file serves all architectures
from compute capability 7.0 on: the header has one form for all, and who links it chooses the instructions.

    make.py INCLUDEDIR FOLDER [CLANG]
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
C_TYPES = {"int": "int", "size": "size_t", "uint64": "unsigned long", "address": "address", "": "int"}
ELEMENTS = {"int8": "signed char", "int16": "short", "int32": "int", "int64": "long", "uint16": "unsigned short",
            "uint32": "unsigned", "uint64": "unsigned long", "float16": "float16", "bfloat16": "bfloat16", "float32": "float",
            "float64": "double", "": "char"}
STRUCTS = {"view": "shmemx_device_view_t", "signal_view": "shmemx_device_view_t", "team": "shmemx_device_team_t"}
CHECKED = {"dest": "dest lies outside of the object of the view", "source": "source lies outside of the object of the view",
           "sig": "the signal lies outside of the object of its view", "ivar": "ivar lies outside of the object of the view"}


def calls():
    sys.dont_write_bytecode = True
    folder = os.path.join(os.path.dirname(HERE), "mapshmem", "_kernels")
    sys.path.insert(0, folder)  # not the package, which needs the library
    try:
        import _calls
    finally:
        sys.path.remove(folder)
    return _calls.CALLS.values(), _calls.GROUPS


def function(call, type_, group):
    """C++ of one function. The group meets first, so what its threads have written is there."""
    element = ELEMENTS[type_]
    kind = {name: element if call.kind(name) == "T" else C_TYPES[call.kind(name)] for name in call.parameters + ("result",)}
    given = ", ".join(kind[name] + " " + name + ("_at" if name in STRUCTS else "") for name in call.parameters)
    lines = ['extern "C" __device__ %s %s(%s)' % (kind["result"], call.symbol(type_, group), given), "{",
             "    typedef %s T;" % element, "    const shmemx_device_%s_t group;" % group]
    for name in call.parameters:
        if name in STRUCTS:
            lines.append("    const %s &%s = *at<const %s>(%s_at);" % (STRUCTS[name], name, STRUCTS[name], name))
    if "pe" in call.parameters:
        lines.append('    require(pe >= 0 && pe < view.n_pes, "there is no such PE", "%s", view.pe);' % call.name)
    lines += ['    require(is_inside(%s, %s, %s), "%s", "%s", view.pe);' % (*touch, CHECKED[touch[1]], call.name)
              for touch in call.touches]
    lines.append("    group.sync();")
    if not call.is_of_one:
        lines.append("    %s%s;" % ("return " if call.result else "", call.code))
    elif call.result:
        lines += ["    unsigned long long result = 0;", "    if (group.rank() == 0)",
                  "        result = (unsigned long long)%s;" % call.code, "    group.ready();",
                  "    return (%s)group.share(result);" % kind["result"]]
    else:
        lines += ["    if (group.rank() == 0)", "        %s;" % call.code, "    group.sync();"]
    if not call.result:
        lines.append("    return 0;")
    return "\n".join(lines + ["}"])


def is_checked(call):
    """Does the debug build look at anything?"""
    return bool(call.touches) or "pe" in call.parameters


def source(chosen):
    groups = calls()[1]
    functions = [function(call, type_, group) for call in chosen for type_ in call.types for group in groups]
    return '#include "platform.h"\n\n' + "\n\n".join(functions) + "\n"


def run(clang, *arguments, text):
    done = subprocess.run([clang, *arguments], input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(" ".join(["cannot make the calls of kernels:", clang, *arguments]) + "\n" + done.stderr[:2000])
    return done.stdout


def widened(ir, name):
    """A word in shared memory takes 1024 bytes. It lies before a kernel's tiles, which Triton takes to begin at a multiple of
    that: the matrix instructions of Hopper look at these bits of an address."""
    ir = re.sub(r"(?m)^(%s = .* global )i64 (undef|poison)(,.*) align \d+$" % re.escape(name), r"\1[1024 x i8] \2\3 align 1024", ir)
    pointer = "i64 addrspace(3)* "  # of compilers whose pointers have types
    return ir.replace(pointer + name, pointer + "bitcast ([1024 x i8] addrspace(3)* %s to i64 addrspace(3)*)" % name)


def plain_ir(clang, include, chosen, is_debug):
    """IR that any compiler of kernels can link: without what this one was told of processors and modules."""
    ir = run(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70", "-nocudainc", "-nocudalib",
             "--cuda-path=/nonexistent", "-Xclang", "-target-feature", "-Xclang", "+ptx72", "-O3", "-std=c++14", "-Wall",
             "-Wno-unused-local-typedef", "-Wno-unused-const-variable", "-Werror", *(["-DMAPSHMEM_DEVICE_DEBUG"] if is_debug else []),
             "-I" + HERE, "-I" + include, "-S", "-emit-llvm", "-o", "-", "-", text=source(chosen))
    ir = re.sub(r' "(target-cpu|target-features|frame-pointer|min-legal-vector-width|stack-protector-buffer-size)"="[^"]*"', "", ir)
    ir = re.sub(r" byval\([^)]*\)", "", ir)  # Triton's LLVM fails on them; all callers pass temporaries
    for name in re.findall(r"(?m)^(@\S+) = .*addrspace\(3\) global ", ir):
        ir = widened(ir, name)
    return re.sub(r"(?m)^!llvm.module.flags = .*$", "", ir)


def write(clang, include, chosen, is_debug, path):
    """PATH.bc for all calls, PATH.ptx for one."""
    ir = plain_ir(clang, include, chosen, is_debug)
    form = ["-c", "-emit-llvm"]
    if path.endswith(".ptx"):
        form = ["-S", "-Xclang", "-target-cpu", "-Xclang", "sm_70", "-Xclang", "-target-feature", "-Xclang", "+ptx72"]
    run(clang, "-x", "ir", "--target=nvptx64-nvidia-cuda", "-Wno-override-module", "-O3", "-Xclang", "-disable-llvm-passes",
        *form, "-o", path, "-", text=ir)


def make(include, folder, clang="clang"):
    """Writes for the usual and the debug build: one file of bitcode, of which Triton takes what it needs, and one of PTX
    for each call, since Numba takes files as they are."""
    known = list(calls()[0])
    work = []
    for build, is_debug in (("release", False), ("debug", True)):
        os.makedirs(os.path.join(folder, build), exist_ok=True)
        work.append((known, is_debug, os.path.join(folder, build, "mapshmem_device.bc")))
        work += [([call], is_debug, os.path.join(folder, build, call.name + ".ptx")) for call in known
                 if is_checked(call) or not is_debug]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(write, clang, include, *item) for item in work]:
            done.result()
    for call in known:
        if not is_checked(call):
            shutil.copy(os.path.join(folder, "release", call.name + ".ptx"), os.path.join(folder, "debug"))


if __name__ == "__main__":
    make(*sys.argv[1:])
