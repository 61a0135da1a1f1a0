#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tries all executions of litmus tests (program.py) against two memory models (models.py).

check.py --known FILE    tests whose verdicts are known: do the models give the same?
check.py SRC FILE...     protocols: is the outcome of `exists` forbidden, and does it come about when any order is weakened?
                         Does the library, under SRC, have the orders that the file says?

Each line of the output is "ok WHAT" or "not ok WHAT"."""

import itertools
import pathlib
import re
import sys

import models
import program

MODELS = ("Armv8", "C11")


# ---- Executions ------------------------------------------------------------------------------------------------------

def condition(test, registers, final):
    """Is the condition met? registers: of each thread; final: the last value of each location; None: not yet known, may it be
    met?"""
    def value(match):
        thread, register, location, wanted = match.groups()
        if location:
            return str(final[location] == int(wanted))
        return str(registers[int(thread)].get(register) == int(wanted))
    if final is None and re.search(r"(?<![:\w])[a-z]\w*=", test.exists):
        return True
    text = re.sub(r"(?:(\d):(\w+)|\b([a-z]\w*))=(-?\d+)", value, test.exists)
    return eval(text.replace("/\\", " and ").replace("\\/", " or ").replace("~", " not "), {"__builtins__": {}}, {})


def can_be_read(ways, test):
    """Has each read a write to take its value from?"""
    written = {(event.location, event.value) for way in ways for event in way.events if event.kind == "W"}
    return all(event.kind != "R" or (event.location, event.value) in written or
               test.init.get(event.location, 0) == event.value for way in ways for event in way.events)


def barriers_of(ways):
    """Where the barriers of a call of membarrier may be in the other threads."""
    callers = [way.thread for way in ways for event in way.events if event.kind == "M"]
    if not callers:
        return [()]
    assert len(callers) == 1, "one call of membarrier is all that this checker knows"
    others = [way for way in ways if way.thread != callers[0]]
    return itertools.product(*([(way.thread, i) for i in range(len(way.events) + 1)] for way in others))


def merges(lists):
    """All ways to merge lists without changing the order of any."""
    lists = [each for each in lists if each]
    if not lists:
        yield ()
    for i, each in enumerate(lists):
        for rest in merges([*lists[:i], each[1:], *lists[i + 1:]]):
            yield (each[0], *rest)


def sources_of(x, reads, writes):
    """Of each read the writes that it may take its value from: that of an update comes right before what it writes."""
    for read in reads:
        sources = [write for write in writes if x.events[write][3] == x.events[read][3]]
        if x.rmw[read]:
            before = writes[writes.index(next(models.bits(x.rmw[read]))) - 1]
            sources = [before] if before in sources else []
        yield sources


def orders_of(x, location):
    """All rf and co of one location that are coherent, as lists of pairs, and its last value."""
    at = [i for i, event in enumerate(x.events) if event[2] == location]
    writes, reads = [i for i in at if x.writes >> i & 1], [i for i in at if x.reads >> i & 1]
    threads = sorted({x.events[write][0] for write in writes[1:]})
    found = []
    for later in merges([[write for write in writes[1:] if x.events[write][0] == thread] for thread in threads]):
        order = (writes[0], *later)
        co = list(itertools.combinations(order, 2))
        for chosen in itertools.product(*sources_of(x, reads, order)):
            rf = list(zip(chosen, reads))
            relate(x, rf, co)
            if x.is_coherent():
                found.append((rf, co, x.events[order[-1]][3]))
    return found


def relate(x, rf, co):
    x.rf, x.co = [0] * len(x.events), [0] * len(x.events)
    for relation, pairs in ((x.rf, rf), (x.co, co)):
        for a, b in pairs:
            relation[a] |= 1 << b


def executions_of_ways(test, ways, barriers):
    """Yields each coherent execution, with the final values."""
    x = models.Execution(test, ways, barriers)
    locations = sorted({event[2] for event in x.events if event[2]})
    for parts in itertools.product(*(orders_of(x, location) for location in locations)):
        relate(x, [pair for rf, _, _ in parts for pair in rf], [pair for _, co, _ in parts for pair in co])
        yield x, {**test.init, **dict(zip(locations, (last for _, _, last in parts)))}


def allowed(test, wants_races):
    """The models in which the outcome comes about; with wants_races also "race", if two accesses race."""
    found = set()
    for ways in itertools.product(*program.ways_of(test)):
        registers = [way.registers for way in ways]
        can_be_met = condition(test, registers, None)
        if not (can_be_met or wants_races) or not can_be_read(ways, test):
            continue
        for barriers in barriers_of(ways):
            for x, final in executions_of_ways(test, ways, barriers):
                if can_be_met and condition(test, registers, final):
                    found |= {name for name in MODELS if name not in found and getattr(models, name.lower())(x)}
                if wants_races and "race" not in found and models.c11(x) and models.races(x):
                    found.add("race")
                if len(found) == 3 or (not wants_races and found == set(MODELS)):
                    return found
    return found


# ---- Weaker orders ---------------------------------------------------------------------------------------------------

WEAKER = {
    "acquire": ["relaxed"], "release": ["relaxed"], "acq_rel": ["acquire", "release"],
}


def weaker_orders(access):
    if access.order == "seq_cst" and access.kind in ("load", "store"):
        return ["acquire" if access.kind == "load" else "release"]
    if access.order == "seq_cst":
        return ["acq_rel"]
    return WEAKER.get(access.order, []) + (["relaxed"] if access.kind == "fence" and access.order == "acq_rel" else [])


def weakened(block, access, order):
    """The block with another order wherever the library's place is the same."""
    result = []
    for what, detail, rest in block:
        if what == "if":
            rest = tuple(weakened(part, access, order) for part in rest)
        elif what != "assign" and rest.place == access.place and rest.kind == access.kind and rest.order == access.order:
            if what == "membarrier":
                continue
            rest = rest._replace(order=order)
        result.append((what, detail, rest))
    return result


def variants(test):
    """The test with one order weakened, each with its description."""
    seen = set()
    for access in program.accesses(test):
        what = (access.place, access.kind, access.order)
        if what in seen or not access.place or access.place.spare or access.kind in ("lock", "unlock"):
            continue
        seen.add(what)
        for order in ["none"] if access.kind == "membarrier" else weaker_orders(access):
            other = program.Test(test.name)
            other.init, other.exists = test.init, test.exists
            other.threads = [weakened(block, access, order) for block in test.threads]
            where = f"{access.place.file} {access.place.function}: {access.place.object}".rstrip(": ")
            yield f"{where}, {access.kind} {access.order} as {order}", other


# ---- The library's source --------------------------------------------------------------------------------------------

WRITTEN = {
    "load": r"(?:atomic_load(?:_explicit)?|__atomic_load_n)", "store": r"(?:atomic_store(?:_explicit)?|__atomic_store_n)",
    "exchange": r"(?:atomic_exchange(?:_explicit)?|__atomic_exchange_n)",
    "add": r"(?:atomic_fetch_add(?:_explicit)?|__atomic_fetch_add)",
    "sub": r"(?:atomic_fetch_sub(?:_explicit)?|__atomic_fetch_sub)",
    "or": r"(?:atomic_fetch_or(?:_explicit)?|__atomic_fetch_or)",
    "cas": r"(?:atomic_compare_exchange_(?:weak|strong)(?:_explicit)?|__atomic_compare_exchange_n)",
    "fence": r"(?:__)?atomic_thread_fence", "lock": r"pthread_mutex_(?:try)?lock", "unlock": r"pthread_mutex_unlock",
}


def body_of(src, place):
    """The function's text with single spaces, or None."""
    for path in sorted(pathlib.Path(src).rglob(place.file)):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        found = re.search(rf"^[^\n\s#/][^\n;]*\b{place.function}\([^;{{]*\)\s*\n?{{\n(.*?)^}}", text, re.S | re.M)
        if found:
            return re.sub(r"\s+", " ", found[1])
    return None


def is_written(body, access):
    """Does the function have this access, in this order?"""
    if access.order == "plain" or access.kind == "membarrier":
        return access.place.object in body
    name = re.escape(access.place.object)
    order = rf"(?:memory_order_{access.order}|__ATOMIC_{access.order.upper()})"
    if access.kind in ("lock", "unlock"):
        order = ""
    elif access.order == "seq_cst" and re.search(rf"{WRITTEN[access.kind].replace('(?:_explicit)?', '')}\(&?{name}\b",
                                                 body):
        return True
    between = r"[^;]*?" if access.kind not in ("fence",) else ""
    return re.search(rf"\b{WRITTEN[access.kind]}\(&?{name}{between}{order}", body) is not None


def strangers(src, test):
    """What the test says of the library, and the library does not."""
    for access in program.accesses(test):
        if not access.place:
            if access.kind not in ("load", "store") or access.order not in ("plain", "relaxed"):
                yield f"{access.kind} {access.order}: it has no place in the library"
            continue
        if not access.place.file:
            continue
        body = body_of(src, access.place)
        if body is None:
            yield f"{access.place.file} has no {access.place.function}"
        elif not is_written(body, access):
            yield f"{access.place.file} {access.place.function}: " \
                f"no {access.kind} {access.order} {access.place.object}".rstrip()


# ---- What is asked for -----------------------------------------------------------------------------------------------

def say(is_right, what):
    print(("ok " if is_right else "not ok ") + what, flush=True)


def check_known(test):
    found = allowed(test, False)
    wrong = [name for name in MODELS if (test.expect[name] == "allowed") != (name in found)]
    say(not wrong, f"{test.name} is as known" if not wrong else f"{test.name} is not as known in {', '.join(wrong)}")


def check_protocol(src, test):
    missing = sorted(set(strangers(src, test)))
    for text in missing:
        say(False, f"{test.name}: {text}")
    if not missing:
        say(True, f"{test.name}: the library has these orders")
    found = allowed(test, True)
    say(not found, f"{test.name}: holds in Armv8 and C11" if not found else
        f"{test.name}: does not hold: {', '.join(sorted(found))}")
    for text, other in variants(test):
        say(allowed(other, True), f"{test.name}: would fail with {text}")


def main():
    if sys.argv[1] == "--known":
        for test in program.read(sys.argv[2]):
            check_known(test)
        return
    for path in sys.argv[2:]:
        for test in program.read(path):
            check_protocol(sys.argv[1], test)


if __name__ == "__main__":
    main()
