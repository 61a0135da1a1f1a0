# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of hostile.test, as tables, and what must be true after each. Prints TAP. The present folder is its own."""

import json
import os
import re
import shlex
import subprocess

OSHTRACE, OSHINFO, OSHCC, OSHTYPES = (os.environ.get(name, "") for name in ("OSHTRACE", "OSHINFO", "OSHCC", "OSHTYPES"))
SECONDS = 120
MARKER = os.path.join(os.getcwd(), "evaluated")
count = 0


class Wrong(Exception):
    pass


def case(name, function, *arguments):
    """One line of TAP: the function raises Wrong, or whatever it stumbles over."""
    global count
    count += 1
    try:
        function(*arguments)
        if os.path.exists(MARKER):
            os.remove(MARKER)
            raise Wrong("a part of the input was evaluated")
    except Exception as error:  # the other cases go on
        print(f"not ok {count} - {name!r:.100}\n# {type(error).__name__}: {str(error)!r:.600}", flush=True)
    else:
        print(f"ok {count} - {name!r:.100}", flush=True)


def expect(condition, cause):
    if not condition:
        raise Wrong(cause)


def is_clean(text):
    """Nothing in it steers a terminal; text is bytes, and UTF-8."""
    return all(line.isprintable() for line in text.decode("utf-8").replace("\t", " ").split("\n"))


def run(command, statuses, lines=1, env=None, **options):
    """Run it; it must end with one of these statuses, and with `lines` lines on stderr if it is not 0."""
    environment = {**os.environb, **(env or {})}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL, **options)
    told = done.stderr.decode("utf-8", "backslashreplace")
    expect(done.returncode in statuses, f"status {done.returncode}: {told}")
    expect(b"Traceback" not in done.stderr, told)
    expect(is_clean(done.stderr), f"control characters: {told!r}")
    if done.returncode and lines is not None:
        expect(done.stderr.count(b"\n") == lines, f"{done.stderr.count(10)} lines: {told}")
    return done


# What may stand wherever text may.
TEXTS = [
    b"", b" ", b"\n", b"\r\n", b"a\nb", b"\x1b[31mred", b"\x1b]0;title\x07", b"\x07", b"\x7f", b"\xc2\x9b31m", b"\xff",
    b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b'"', b"'", b"\\", b"\\n", b"a\"b", b"%s%n%p", b"%",
    b"$(touch " + MARKER.encode() + b")", b"`touch " + MARKER.encode() + b"`", b"; touch " + MARKER.encode(),
    b"x[$(touch " + MARKER.encode() + b")]", b"$HOME", b"*", b"~", b"-", b"--", b"-x", b"<b>&amp;</script>", b"../../x",
    b"x" * 100000, "ä€😀".encode(),
]

# ---- oshtrace ---------------------------------------------------------------------------------------------------------

EVENT = {"ph": "X", "name": "shmem_put", "pid": 0, "tid": 1, "cat": "put", "ts": 1.5, "dur": 2.0,
         "args": {"route": "shm", "pe": 1, "region": "heap", "offset": 0, "bytes": 8}}
NAMED = {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "program"}}


def changed(path, value):
    """A trace with one value of its first event replaced: path is "name", "args.route"..."""
    event = json.loads(json.dumps(EVENT))
    *inside, last = path.split(".")
    place = event
    for key in inside:
        place = place[key]
    place[last] = value
    return json.dumps([NAMED, event, EVENT]).encode()


ODD = [None, True, -1, 0.5, 1e300, 10**40, "", "12", [], {}, [1], {"a": 1}, ["shm"]]
FILES = [
    b"", b" ", b"{", b"[", b"[1", b"[]", b"{}", b"null", b"1", b'"text"', b"[1]", b'["a"]', b"[[]]", b"[null]", b"[{}]",
    b'{"traceEvents": 5}', b'{"traceEvents": "text"}', b'{"traceEvents": {}}', b'{"a": []}', b"\xff\xfe[\x00]\x00",
    b"\xef\xbb\xbf[]", b"\x00" * 1000, b"[" * 100000, b'[{"a":' * 50000, b"9" * 100000, b"\x7fELF\x02\x01\x01",
    json.dumps([EVENT]).encode()[:-3], json.dumps([EVENT]).encode() + b"x",
    b'[{"ph":"X","name":"a","pid":0,"tid":1,"ts":NaN,"dur":1}]', b'[{"ph":"X","name":"a","pid":0,"tid":1,"ts":1,"dur":1e999}]',
    b'[{"ph":"X","name":"a","pid":0,"tid":1,"ts":-Infinity,"dur":1}]',
    b'[{"ph":"b","name":"a","pid":0,"tid":0,"ts":5,"id":[]}]',
    b'[{"ph":"X","name":"\\ud800","pid":0,"tid":1,"ts":1,"dur":1}]',
    b'[{"ph":"X","name":"\xff","pid":0,"tid":1,"ts":1,"dur":1}]',
    b'[{"ph":"b","name":"a","pid":0,"tid":0,"ts":5,"id":1},{"ph":"e","name":"a","pid":0,"tid":0,"ts":1,"id":1}]',
]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def check_page(page):
    """It is UTF-8, its script has the data as JSON, and nothing of a name is markup."""
    text = page.decode("utf-8")
    data = re.search(r"<script>const data = (.*);\n", text)
    json.loads(data[1], parse_constant=lambda word: (_ for _ in ()).throw(Wrong(f"{word} on the page")))
    expect(text.count("<script>") == 1 and text.count("</script>") == 1 and "<b>&" not in text, "markup of a name")
    tables = text[text.index("</script>"):]
    expect(not re.search(r"\b(nan|inf)\b", tables, re.I), "a number that is none")


def oshtrace_reads(content, name=b"t.json", *options):
    write(name, content)
    before = set(os.listdir(b"."))
    page = os.path.splitext(name)[0] + b".html"
    done = run([OSHTRACE.encode(), *options, b"./" + name], (0, 1))
    expect(read(name) == content, "the input was changed")
    expect(is_clean(done.stdout), f"control characters: {done.stdout!r}")
    if not done.returncode:
        expect(not done.stderr, done.stderr)
        check_page(read(page))
    expect(set(os.listdir(b".")) - before <= {page}, "other files")
    expect(done.returncode == 0 or not done.stdout, "half of a summary")
    for path in (name, page):
        if os.path.exists(path):
            os.remove(path)


def oshtrace_keeps_its_input(make):
    """The page and a trace would be the same file. make(trace) returns the arguments."""
    content = json.dumps([NAMED, EVENT]).encode()
    write("one.html", content)
    write("two.json", content)
    arguments = make()
    run([OSHTRACE, *arguments], (1,))
    expect(read("one.html") == content and read("two.json") == content, "a trace was overwritten")
    for name in os.listdir("."):
        os.remove(name)


def link(how, source, target):
    how(source, target)
    return target


SAME_FILE = {
    "its ending is that of pages": lambda: ["one.html"],
    "-o names it": lambda: ["-o", "two.json", "two.json"],
    "-o names the second of two": lambda: ["-o", "two.json", "one.html", "two.json"],
    "-o names it by another path": lambda: ["-o", os.path.abspath("two.json"), "./two.json"],
    "-o is a link to it": lambda: ["-o", link(os.symlink, "two.json", "page"), "two.json"],
    "-o is another name of it": lambda: ["-o", link(os.link, "two.json", "page"), "two.json"],
}


def oshtrace_options(text):
    content = json.dumps([NAMED, EVENT]).encode()
    write("t.json", content)
    for option in (b"--slowest", b"--most", b"--no-such-" + text):
        if len(text) > 1000:
            break
        done = run([OSHTRACE.encode(), option, text, b"t.json"], (1, 2))
        expect(not done.stdout and read("t.json") == content, "it went on")
    os.remove("t.json")


def oshtrace_cannot_write(command, said):
    write("t.json", json.dumps([EVENT]).encode())
    done = run(["bash", "-c", command], (1,))
    expect(said in done.stderr, done.stderr)
    os.remove("t.json")


def trace_cases():
    for content in FILES:
        case(f"oshtrace: {content[:60]!r}", oshtrace_reads, content)
    for path in ("ph", "name", "pid", "tid", "cat", "ts", "dur", "args", "args.route", "args.pe", "args.region",
                 "args.bytes"):
        case(f"oshtrace: odd values of {path}", lambda p=path: [oshtrace_reads(changed(p, odd)) for odd in ODD])
    for text in TEXTS:
        word = text.decode("utf-8", "surrogateescape")
        for path in ("name", "args.route", "args.region"):
            case(f"oshtrace: {path} {text[:40]!r}", oshtrace_reads, changed(path, word))
        if text and b"/" not in text and len(text) < 200 and text not in (b"..",):
            case(f"oshtrace: a file of the name {text!r}", oshtrace_reads, json.dumps([NAMED, EVENT]).encode(),
                 text + b".json")
        if text:
            case(f"oshtrace: options {text[:40]!r}", oshtrace_options, text)
    for name, make in SAME_FILE.items():
        case(f"oshtrace overwrites no trace: {name}", oshtrace_keeps_its_input, make)
    case("oshtrace: /dev/zero", lambda: run([OSHTRACE, "/dev/zero"], (1,)))
    case("oshtrace: a folder", lambda: run([OSHTRACE, "."], (1,)))
    case("oshtrace: a full disk", oshtrace_cannot_write, f"{OSHTRACE} t.json >/dev/full", b"standard output: No space")
    case("oshtrace: a page on a full disk", oshtrace_cannot_write, f"{OSHTRACE} -o /dev/full t.json", b"/dev/full: No space")
    case("oshtrace: a page in a folder that is not there", oshtrace_cannot_write, f"{OSHTRACE} -o no/page t.json", b"no/page")
    case("oshtrace: a terminal of ASCII", lambda: (
        write("t.json", changed("name", "ä€")), run([OSHTRACE, "t.json"], (0,), env={b"PYTHONIOENCODING": b"ascii"})))


def is_utf8(text):
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# ---- oshinfo ----------------------------------------------------------------------------------------------------------


def strict_json(text):
    found = json.loads(text.decode("utf-8"), parse_constant=lambda word: (_ for _ in ()).throw(Wrong(word)))
    expect(isinstance(found, dict), "no object")
    return found


def oshinfo_json(variable, text):
    done = run([OSHINFO, "--json"], (0, 1), env={variable.encode(): text})
    found = strict_json(done.stdout)
    expect(("error" in found) == (done.returncode != 0) and "version" in found, f"status {done.returncode}")
    if done.returncode:
        expect(found["error"].strip().startswith("PE 0: ") and found["error"] in done.stderr.decode(), found["error"])
    shown = [row["value"] for row in found["settings"] if row["name"] == variable]
    expect(shown == [text.decode("utf-8", "replace")] or not is_utf8(text) and "\ufffd" in shown[0], f"{shown!r:.100}")


def oshinfo_lines(variable, text, expected):
    done = run([OSHINFO, "--settings"], (0, 1), env={variable.encode(): text})
    expect(is_clean(done.stdout), "control characters")
    expect(done.returncode or done.stdout.count(b"\n") == expected, f"{done.stdout.count(10)} lines, not {expected}")


def info_cases():
    usual = run([OSHINFO, "--settings"], (0,)).stdout.count(b"\n")
    for text in TEXTS:
        if b"/" in text:
            os.makedirs(os.path.dirname(text) or b".", exist_ok=True)
        case(f"oshinfo --json: SHMEM_NODE_SIZE={text[:40]!r}", oshinfo_json, "SHMEM_NODE_SIZE", text)
        case(f"oshinfo --json: SHMEM_VERSION={text[:40]!r}", oshinfo_json, "SHMEM_VERSION", text)
        case(f"oshinfo --settings: SHMEM_VERSION={text[:40]!r}", oshinfo_lines, "SHMEM_VERSION", text, usual)
        case(f"oshinfo: option {text[:40]!r}",
             lambda t=text: run([OSHINFO.encode(), b"--" + t + b"?"], (2,)))


# ---- oshcc ------------------------------------------------------------------------------------------------------------


def oshcc_shows(text):
    """What --show prints is a line for a shell that has the same words."""
    words = [b"-c", b"-DX=" + text, text + b".c"]
    done = run([OSHCC.encode(), b"--show", *words], (0,))
    expect(done.stdout.count(b"\n") == 1, "several lines")
    again = subprocess.run(["bash", "-c", b"printf '%s\\0' " + done.stdout], capture_output=True, check=True).stdout
    expect(again.split(b"\0")[-4:-1] == words, f"{again!r:.200}")


def oshcc_compiler(text):
    done = run([OSHCC.encode(), b"--show", b"x.c"], (0, 127), env={b"MAPSHMEM_CC": b"no-such-compiler-" + text})
    expect(done.returncode == 127 or text == b"\n", done.stdout)


def cc_cases():
    for text in TEXTS:
        if len(text) > 1000:
            continue
        case(f"oshcc --show: {text!r}", oshcc_shows, text)
        case(f"oshcc --showme:{text!r}", lambda t=text: run([OSHCC.encode(), b"--showme:" + t], (1,)))
        case(f"MAPSHMEM_CC={text!r}", oshcc_compiler, text)


# ---- oshtypes ---------------------------------------------------------------------------------------------------------

PLACE = b"PLACE_OF_A_NAME_WITH_FORTY_CHARACTERS_XX"
HOLDER = b"HOLDER_OF_A_TYPE_WITH_FORTY_CHARACTERS_X"
SOURCE = b"struct " + HOLDER + b" { int n; double " + PLACE + b"; struct " + HOLDER + b" *next; } it;\n"


def oshtypes_writes(text, which):
    """The name of a member or a type in the object is replaced by the text. What is written compiles, and has one function."""
    name = text[:len(which)].replace(b"\0", b"").ljust(len(which), b"_")
    content = read("object.o")
    write("hostile.o", content.replace(which, name))
    wanted = name if which == HOLDER else HOLDER
    done = run([OSHTYPES.encode(), b"-n", b"made", b"-o", b"made.c", b"--", b"hostile.o", wanted], (0, 1), lines=None)
    expect(all(line.startswith(b"oshtypes: ") for line in done.stderr.splitlines()), done.stderr)
    expect(read("hostile.o") == content.replace(which, name), "the input was changed")
    if done.returncode:
        return
    run([OSHCC, "-Wall", "-Werror", "-c", "made.c", "-o", "made.o"], (0,))
    defined = subprocess.run(["nm", "--defined-only", "-g", "made.o"], capture_output=True, check=True).stdout
    expect([line.split()[2] for line in defined.splitlines()] == [b"made_register"], defined)


def oshtypes_refuses(*arguments):
    done = run([OSHTYPES, *arguments], (1, 2))
    expect(not done.stdout and not os.path.exists("no.c"), "something was written")


def oshtypes_keeps(arguments):
    before = {name: read(name) for name in ("object.o", "notes.ann")}
    run([OSHTYPES, *arguments, "object.o", HOLDER.decode()], (1,), lines=None)
    expect(before == {name: read(name) for name in before}, "an input was overwritten")


def type_cases():
    write("source.c", SOURCE)
    write("notes.ann", HOLDER + b".next one\n")
    subprocess.run([OSHCC, "-g", "-c", "source.c", "-o", "object.o"], check=True)
    for text in TEXTS + [b'");system("x', b"*/ int evil; /*", b"};int evil(void);", b"??/", b"{}", b"a.b", b"a[b]"]:
        case(f"oshtypes: a member of the name {text[:40]!r}", oshtypes_writes, text, PLACE)
        case(f"oshtypes: a type of the name {text[:40]!r}", oshtypes_writes, text, HOLDER)
    for name in ("a-b", "", "1a", "a b", "a;b", 'a"', "a\nb"):
        case(f"oshtypes: -n {name!r}", oshtypes_refuses, "-o", "no.c", "-n", name, "object.o", HOLDER.decode())
    for header in ('a"b', "a\nb", "a\\b"):
        case(f"oshtypes: -i {header!r}", oshtypes_refuses, "-o", "no.c", "-i", header, "object.o", HOLDER.decode())
    for option in ("--no\x1b[31m", "-o", "-Q", "--name"):
        case(f"oshtypes: option {option!r}", oshtypes_refuses, option)
    for arguments in (["-o", "object.o"], ["-o", "notes.ann", "-a", "notes.ann"], ["-o", "object.o", "-f", "object.o"]):
        case(f"oshtypes overwrites no input: {arguments}", oshtypes_keeps, arguments)
    content = read("object.o")
    for length in (0, 1, 4, 16, 63, 64, len(content) // 4, len(content) // 2, len(content) - 64):
        write("cut.o", content[:length])
        case(f"oshtypes: {length} bytes of an object", run, [OSHTYPES, "-o", "no.c", "cut.o", HOLDER.decode()], (1,), None)


def in_folder(name, cases):
    os.makedirs(name)
    os.chdir(name)
    cases()
    os.chdir("..")


in_folder("trace", trace_cases)
in_folder("info", info_cases)
in_folder("cc", cc_cases)
if os.access(OSHTYPES, os.X_OK):
    in_folder("types", type_cases)
print(f"1..{count}")
