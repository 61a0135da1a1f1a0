# SPDX-License-Identifier: BSD-3-Clause
"""Litmus tests in the form of herd's C tests: reading them, and the ways that each thread can take.

A test has a name, initial values, threads P0, P1, ... and a condition `exists (...)` on registers (0:r1) and final values,
joined by /\\, \\/ and ~. Statements are those of C11: plain accesses (*x), the atomic functions, fences, if and else, and an
empty while loop around one access, of which only the last turn matters. Beside them there are lock and unlock of a mutex, cas
(which gives the value found), and membarrier, which is Linux's system call.

A comment after a statement says where it is in the library: FILE FUNCTION: OBJECT. With "(spare)" behind, this test does not
need its order. "program" is what the user's program does."""

import collections
import itertools
import re

ROUNDS_MOST = 8  # of looking for values: updates in a circle would find new ones for ever
ORDERS = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
CALLS = {
    "atomic_load": "load", "atomic_store": "store", "atomic_exchange": "exchange", "atomic_fetch_add": "add",
    "atomic_fetch_sub": "sub", "atomic_fetch_or": "or", "cas": "cas", "atomic_thread_fence": "fence",
}

Access = collections.namedtuple("Access", "kind location operands order place")
Event = collections.namedtuple("Event", "thread kind location value order data control rmw")
Place = collections.namedtuple("Place", "file function object spare")


class Test:
    def __init__(self, name):
        self.name, self.init, self.threads, self.exists, self.expect = name, {}, [], "", {}


# ---- Reading ---------------------------------------------------------------------------------------------------------

def place_of(comment):
    if comment == "program":
        return Place(None, None, comment, True)
    spare = comment.endswith(" (spare)")
    found = re.match(r"(\S+\.(?:c|h)) (\w+): ?(.*)$", comment.removesuffix(" (spare)").strip())
    return Place(found[1], found[2], found[3], spare) if found else None


def access_of(text, place):
    """An access or fence, or None if the text is an expression of registers and constants."""
    if text.startswith("*"):
        return Access("load", text[1:], (), "plain", place)
    found = re.fullmatch(r"(\w+?)(_explicit)?\((.*)\)", text)
    if not found or found[1] not in CALLS:
        return None
    kind, operands = CALLS[found[1]], [part.strip() for part in found[3].split(",")]
    order = "seq_cst"
    if found[2] or kind in ("fence", "cas"):
        order = operands.pop().removeprefix("memory_order_")
    if order not in ORDERS:
        raise ValueError(f"no order in {text}")
    location = None if kind == "fence" else operands.pop(0)
    return Access(kind, location, tuple(operands), order, place)


def statement_of(text, place):
    """(what, register, access or expression)"""
    if found := re.fullmatch(r"(lock|unlock|membarrier)\((\w*)\)", text):
        return (found[1], None, Access(found[1], found[2], (), "seq_cst", place))
    if found := re.fullmatch(r"while \((.*\)|\*\w+) (==|!=|<|>=) (\w+)\)", text):
        return ("await", f"not (found {found[2]} {found[3]})", access_of(found[1], place))
    if found := re.fullmatch(r"\*(\w+) = (.*)", text):
        return ("access", None, Access("store", found[1], (found[2],), "plain", place))
    if found := re.fullmatch(r"(?:int )?(\w+) = (.*)", text):
        access = access_of(found[2], place)
        return ("access", found[1], access) if access else ("assign", found[1], found[2])
    access = access_of(text, place)
    if not access:
        raise ValueError(f"what is {text}?")
    return ("access", None, access)


def block_of(lines):
    """The statements up to the closing brace."""
    block = []
    while lines:
        text, _, comment = lines.pop(0).partition("//")
        text, comment = text.strip(), comment.strip()
        if text == "}":
            return block
        if text == "} else {":
            lines.insert(0, "else {")
            return block
        if found := re.fullmatch(r"if \((.*)\) {", text):
            then = block_of(lines)
            other = []
            if lines and lines[0] == "else {":
                lines.pop(0)
                other = block_of(lines)
            block.append(("if", found[1], (then, other)))
        elif text:
            block.append(statement_of(text.removesuffix(";"), place_of(comment)))
    raise ValueError("a brace is missing")


def read(path):
    """All tests of a file; each begins with a line `C name`."""
    tests, lines = [], re.sub(r"\(\*.*?\*\)", "", open(path).read(), flags=re.S).split("\n")
    while lines:
        line = lines.pop(0).strip()
        if line.startswith("C "):
            tests.append(Test(line[2:]))
        elif line.startswith("expect "):
            tests[-1].expect = dict(part.split("=") for part in line.split()[1:])
        elif line.startswith("{"):
            tests[-1].init = {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+)", line)}
        elif re.match(r"P\d+ \(", line):
            tests[-1].threads.append(block_of(lines))
        elif line.startswith("exists "):
            tests[-1].exists = line[len("exists "):]
        elif line and not line.startswith('"'):
            raise ValueError(f"{path}: what is {line}?")
    return tests


def statements(block):
    for what, detail, rest in block:
        if what == "if":
            yield from itertools.chain(statements(rest[0]), statements(rest[1]))
        else:
            yield what, detail, rest


def accesses(test):
    for thread in test.threads:
        for what, _, rest in statements(thread):
            if what != "assign":
                yield rest


# ---- The ways of a thread --------------------------------------------------------------------------------------------

class Way:
    """One way through a thread: its events so far, and what they depend on."""

    def __init__(self, thread):
        self.thread, self.events, self.registers, self.taint, self.control = thread, [], {}, {}, frozenset()

    def copy(self):
        other = Way(self.thread)
        other.events, other.registers, other.taint = self.events[:], dict(self.registers), dict(self.taint)
        other.control = self.control
        return other

    def add(self, kind, location, value, order, data=frozenset(), rmw=None):
        self.events.append(Event(self.thread, kind, location, value, order, data, self.control, rmw))
        return len(self.events) - 1

    def evaluate(self, text, **more):
        """The value of an expression, and the reads that it depends on."""
        python = text.replace("&&", " and ").replace("||", " or ").replace("/", "//")
        names = set(re.findall(r"\b[a-z]\w*\b", python)) & set(self.registers)
        taint = frozenset().union(*(self.taint[name] for name in names))
        return int(eval(python, {"__builtins__": {}}, {**self.registers, **more})), taint


def new_value(way, access, old):
    """What an update writes, and the reads that this depends on; (None, ...) if it writes nothing."""
    operand, taint = way.evaluate(access.operands[-1])
    if access.kind == "cas":
        expected, more = way.evaluate(access.operands[0])
        return (operand if old == expected else None), taint | more
    change = {"add": old + operand, "sub": old - operand, "or": old | operand, "exchange": operand}
    return change[access.kind], taint


class Values:
    """Of each location, the values that reads may find, and those that have been written on some way, even one that ends."""

    def __init__(self, known):
        self.known, self.written = known, {location: set(values) for location, values in known.items()}

    def write(self, way, access, value, *more, rmw=None):
        self.written[access.location].add(value)
        way.add("W", access.location, value, access.order, *more, rmw=rmw)


def perform(way, access, values):
    """All ways on, each with the value that was found and the event that found it."""
    if access.kind == "fence":
        way.add("F", None, 0, access.order)
        return [(way, None, None)]
    if access.kind == "store":
        value, taint = way.evaluate(access.operands[0])
        values.write(way, access, value, taint)
        return [(way, None, None)]
    ways = []
    for old in sorted(values.known[access.location]):
        on = way.copy()
        if access.kind == "load":
            ways.append((on, old, on.add("R", access.location, old, access.order)))
            continue
        at = on.add("R", access.location, old, access.order)
        value, taint = new_value(on, access, old)
        if value is not None:
            values.write(on, access, value, taint | {at}, rmw=at)
        ways.append((on, old, at))
    return ways


def step(way, statement, values):
    """All ways on after a statement that is no branch."""
    what, detail, rest = statement
    if what == "assign":
        way.registers[detail], way.taint[detail] = way.evaluate(rest)
        return [way]
    if what == "membarrier":
        way.add("M", None, 0, "seq_cst")
        return [way]
    if what == "unlock":
        values.write(way, rest._replace(order="release"), 0)
        return [way]
    if what == "lock":
        rest = Access("cas", rest.location, ("0", "1"), "acquire", rest.place)
        what, detail = "await", "found == 0"
    ways = []
    for on, found, at in perform(way, rest, values):
        if what == "await":
            if not on.evaluate(detail, found=found)[0]:
                continue
            on.control |= {at}
        elif detail:
            on.registers[detail], on.taint[detail] = found, frozenset({at})
        ways.append(on)
    return ways


def follow(block, way, values):
    ways = [way]
    for statement in block:
        if statement[0] != "if":
            ways = [on for way in ways for on in step(way, statement, values)]
            continue
        after = []
        for way in ways:
            is_met, taint = way.evaluate(statement[1])
            way.control |= taint
            after += follow(statement[2][0 if is_met else 1], way, values)
        ways = after
    return ways


def ways_of(test):
    """For each thread all its ways, given the values that any thread may write."""
    locations = {access.location for access in accesses(test) if access.location}
    known = {location: {test.init.get(location, 0)} for location in locations}
    for _ in range(ROUNDS_MOST):
        values = Values(known)
        ways = [follow(block, Way(i), values) for i, block in enumerate(test.threads)]
        if values.written == known:
            break
        known = values.written
    return ways
