#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pack.py - the inputs of a fuzz target in one text file, and back to the files that libFuzzer takes.

Usage: pack.py unpack PACK FOLDER     write each input into a file of the folder, which is made if it is not there
       pack.py pack PACK FOLDER       write the pack anew from the files of the folder

A pack is tests/fuzz/corpus/TARGET.pack; replay.c reads it, too. A line "input NAME" begins an input, and the lines that
follow have its bytes in hexadecimal. Without a NAME the input was found by the fuzzer: its file is named by the SHA-1 of
its bytes, as libFuzzer does. Lines that begin with # are comments, of which those at the top stay.
"""

import hashlib
import os
import sys

PER_LINE = 56
ENDING = ".pack"


def digest(content):
    return hashlib.sha1(content).hexdigest()


def read(path):
    """The comments at the top, and the inputs by name."""
    head, found = [], []
    with open(path, encoding="ascii") as file:
        for line in file.read().splitlines():
            if line.startswith("input"):
                found.append((line[len("input "):], []))
            elif not line.startswith("#"):
                found[-1][1].append(line)
            elif not found:
                head.append(line)
    contents = [(name, bytes.fromhex("".join(digits))) for name, digits in found]
    return head, {name or digest(content): content for name, content in contents}


def unpack(path, folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in read(path)[1].items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def written(name, content):
    given = "" if name == digest(content) else " " + name
    digits = content.hex()
    lines = [digits[i:i + 2 * PER_LINE] for i in range(0, len(digits), 2 * PER_LINE)]
    return "\n".join(["input" + given, *lines])


def pack(path, folder):
    """Those with names first, then those that were found, the shortest first: a new one changes few lines."""
    target = os.path.basename(path)[:-len(ENDING)]
    head = read(path)[0] if os.path.exists(path) else [
        "# SPDX-License-Identifier: BSD-3-Clause", "#",
        "# Inputs of tests/fuzz/fuzz_%s.c; tests/fuzz/pack.py says how they are written." % target]
    inputs = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            inputs[name] = file.read()

    def key(item):
        found = item[0] == digest(item[1])
        return (found, len(item[1]), item[1]) if found else (found, item[0])
    texts = [written(name, content) for name, content in sorted(inputs.items(), key=key)]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join([*head, *texts]) + "\n")


def main(words):
    actions = {"pack": pack, "unpack": unpack}
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__.split("\n\n", 1)[1], end="")
        return 0
    if len(words) != 3 or words[0] not in actions or not words[1].endswith(ENDING):
        print("pack.py: usage: pack.py pack|unpack TARGET.pack FOLDER", file=sys.stderr)
        return 2
    actions[words[0]](words[1], words[2])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
