# SPDX-License-Identifier: BSD-3-Clause
"""Every call of kernels, through Triton and Numba: compiled for several architectures, which needs no GPU. Each line of
its output is a compiler that is there; 77 if there is none."""

import re
import sys

ARCHITECTURES = (70, 80, 90, 100)
ELEMENTS = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16", "uint32": "u32", "uint64": "u64",
            "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def kernel_text(call, type_):
    """A kernel of Triton that makes the call, keeps its result, and the types of its arguments."""
    kinds = {"address": "i64", "size": "i64", "uint64": "i64", "int": "i32", "T": ELEMENTS.get(type_)}
    signature = {name: kinds[call.kind(name)] for name in call.parameters}
    for name in ("dest", "source", "ivar"):
        if name in signature and type_:
            signature[name] = "*" + ELEMENTS[type_]
    names = ", ".join(signature)
    keep = f"    tl.store(out, made.to(tl.int64))" if call.result else "    tl.store(out, 1)"
    return f"def kernel({names}, out):\n    made = device.{call.name}({names})\n{keep}\n", {**signature, "out": "*i64"}


def shared_words(ptx):
    """Variables in shared memory, of which each begins and ends at a multiple of 1024 bytes."""
    found = re.findall(r"^(?!\.extern).*\.shared \.align (\d+) \.b8 \S+\[(\d+)\];$", ptx, re.MULTILINE)
    assert len(found) == len(re.findall(r"^(?!\.extern)\..*\.shared ", ptx, re.MULTILINE)), ptx
    assert all(int(number) % 1024 == 0 for one in found for number in one), found
    return len(found)


def check_triton(folder):
    import importlib.util

    import triton
    from mapshmem import triton as device
    from mapshmem._kernels._calls import CALLS
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    compiled = words = 0
    for call in CALLS.values():
        for type_ in call.types:
            text, signature = kernel_text(call, type_)
            path = f"{folder}/kernel_{call.name}_{type_}.py"
            with open(path, "w", encoding="utf-8") as file:
                file.write("import triton\nimport triton.language as tl\nimport mapshmem.triton as device\n\n\n@triton.jit\n" + text)
            spec = importlib.util.spec_from_file_location(f"kernel_{call.name}_{type_}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            source = ASTSource(fn=module.kernel, signature=signature)
            architectures = ARCHITECTURES[1:] if call.name in ("put_signal", "signal_wait_until") else (90,)
            for debug in (False, True) if call.name == "put" else (False,):
                for architecture in architectures:
                    made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=device.link(debug))
                    assert "extern" not in made.asm["ptx"] or "__assertfail" in made.asm["ptx"], f"{call.name}: not linked"
                    assert ("lies outside" in made.asm["ptx"] or "assertfail" in made.asm["ptx"]) == debug, call.name
                    words += shared_words(made.asm["ptx"])
                    compiled += 1
    assert words, "no call has a result for all threads"
    print(f"Triton {triton.__version__}: {compiled} kernels")


def linked(ptx, paths):
    """The size of what CUDA's linker makes of a kernel and the files of its calls, for sm_90."""
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(1, ["-arch=sm_90"])
    for number, content in enumerate([ptx.encode()] + [open(path, "rb").read() for path in paths]):
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, content, len(content), f"file {number}")
    nvjitlink.complete(handle)
    return nvjitlink.get_linked_cubin_size(handle)


def check_numba():
    import numba_cuda
    from mapshmem import numba as device
    from mapshmem._kernels._bitcode import path
    from mapshmem._kernels._calls import CALLS, GROUPS
    from numba import cuda, types

    compiled = 0
    kinds = {"address": types.uint64, "size": types.uint64, "uint64": types.uint64, "int": types.int32}
    for call in CALLS.values():
        for type_ in call.types:
            for group in GROUPS:
                names = {"called": getattr(device, call.symbol(type_, group)[len("mapshmem_") :])}
                given = ", ".join(call.parameters)
                exec(f"def kernel({given}):\n    called({given})\n", names)
                arguments = tuple(getattr(types, type_) if call.kind(name) == "T" else kinds[call.kind(name)]
                                  for name in call.parameters)
                text, _ = cuda.compile_ptx(names["kernel"], arguments, cc=(9, 0), device=False)
                assert call.symbol(type_, group) in text, text
                compiled += 1
        assert linked(text, [path(call.name + ".ptx", False)]) > 1000, call.name
    print(f"Numba's CUDA {numba_cuda.__version__}: {compiled} kernels")


if __name__ == "__main__":
    found = 0
    for check, arguments in ((check_triton, sys.argv[1:]), (check_numba, [])):
        try:
            check(*arguments)
            found += 1
        except ModuleNotFoundError as error:
            print(error)
    sys.exit(0 if found else 77)
