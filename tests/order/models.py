# SPDX-License-Identifier: BSD-3-Clause
"""Two memory models as axioms on executions: which value each read takes (rf), and in which order the writes of each
location come (co).

Armv8: Arm's model (Deacon, aarch64.cat; "other-multi-copy atomic") without instructions that the library does not use. Updates
count as pairs of exclusive load and store: the atomic instructions of Armv8.1 order no less.
C11: RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential consistency in C/C++11; PLDI 2017), with release sequences
as in C++20. A plain access that another thread's access races with is an error.

Relations are lists: the bits of r[a] are the events b with a r b."""

import itertools

ACQUIRES, RELEASES = ("acquire", "acq_rel", "seq_cst"), ("release", "acq_rel", "seq_cst")


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def compose(r, s):
    result = []
    for row in r:
        new = 0
        for b in bits(row):
            new |= s[b]
        result.append(new)
    return result


def union(*relations):
    result = list(relations[0])
    for relation in relations[1:]:
        for i, row in enumerate(relation):
            result[i] |= row
    return result


def closure(r):
    result = list(r)
    for k in range(len(result)):
        row, bit = result[k], 1 << k
        for i, other in enumerate(result):
            if other & bit:
                result[i] = other | row
    return result


def inverse(r):
    result = [0] * len(r)
    for a, row in enumerate(r):
        for b in bits(row):
            result[b] |= 1 << a
    return result


def restrict(r, first, last):
    return [row & last if first >> a & 1 else 0 for a, row in enumerate(r)]


def reflexive(r):
    return [row | 1 << a for a, row in enumerate(r)]


def is_irreflexive(r):
    return not any(row >> a & 1 for a, row in enumerate(r))


def is_acyclic(r):
    return is_irreflexive(closure(r))


class Execution:
    """The events of one way of each thread, the initial writes first; rf and co are set later. A system call membarrier is a
    fence of its thread, and one somewhere in each other thread: `barriers` says before which event."""

    def __init__(self, test, ways, barriers=()):
        self.events, self.po, self.data, self.control, self.rmw, self.points = [], [], [], [], [], []
        used = {event.location for way in ways for event in way.events if event.location}
        for location in sorted(used):
            self.add(None, "W", location, test.init.get(location, 0), "relaxed")
        self.init = (1 << len(self.events)) - 1
        calls, points = [], dict(barriers)
        for way in ways:
            self.add_thread(way, points.get(way.thread), calls)
        self.barriers = [0] * len(self.events)
        for call in calls:
            for point in self.points:
                self.barriers[call] |= 1 << point
                self.barriers[point] |= 1 << call
        self.select()

    def add(self, thread, kind, location, value, order):
        self.events.append((thread, kind, location, value, order))
        for relation in (self.po, self.data, self.control, self.rmw):
            relation.append(0)
        return len(self.events) - 1

    def add_thread(self, way, barrier, calls):
        number, before = {}, []
        for i, event in enumerate(way.events + [None]):
            if barrier == i:
                at = self.add(way.thread, "F", None, 0, "seq_cst")
                self.points.append(at)
                self.order_behind(before, at)
            if not event:
                break
            kind = "F" if event.kind == "M" else event.kind
            at = number[i] = self.add(way.thread, kind, event.location, event.value, event.order)
            if event.kind == "M":
                calls.append(at)
            self.order_behind(before, at)
            for read in event.data:
                self.data[number[read]] |= 1 << at
            for read in event.control:
                self.control[number[read]] |= 1 << at
            if event.rmw is not None:
                self.rmw[number[event.rmw]] |= 1 << at

    def order_behind(self, before, at):
        for earlier in before:
            self.po[earlier] |= 1 << at
        before.append(at)

    def mask(self, test):
        return sum(1 << i for i, event in enumerate(self.events) if test(*event))

    def select(self):
        self.reads = self.mask(lambda thread, kind, *_: kind == "R")
        self.writes = self.mask(lambda thread, kind, *_: kind == "W")
        self.everything = (1 << len(self.events)) - 1
        n, events = range(len(self.events)), self.events
        self.same_location = [sum(1 << b for b in n if events[a][2] and events[a][2] == events[b][2]) for a in n]
        self.same_thread = [sum(1 << b for b in n if events[a][0] == events[b][0]) for a in n]
        self.po_location = [self.po[a] & self.same_location[a] for a in n]

    def internal(self, relation):
        return [row & self.same_thread[a] for a, row in enumerate(relation)]

    def external(self, relation):
        return [row & ~self.same_thread[a] for a, row in enumerate(relation)]

    def fr(self):
        result = compose(inverse(self.rf), self.co)
        return [row & ~(1 << a) for a, row in enumerate(result)]

    def barriers_between(self):
        """What comes before membarrier is ordered before what comes behind the barrier of another thread, and the reverse."""
        return compose(compose(self.po, self.barriers), self.po)

    def is_coherent(self):
        """Each location by itself is as all models want it, and nothing comes between the two halves of an update."""
        fr = self.fr()
        between = compose(fr, self.co)
        return is_acyclic(union(self.po_location, self.rf, self.co, fr)) and \
            not any(self.rmw[a] & between[a] for a in range(len(self.events)))


# ---- Armv8 -----------------------------------------------------------------------------------------------------------

def armv8(x):
    """Is the execution allowed? Fences are what compilers make of them: DMB ISHLD for acquire, DMB ISH for the others."""
    acquire = x.mask(lambda thread, kind, l, v, order: kind == "R" and order in ACQUIRES)
    release = x.mask(lambda thread, kind, l, v, order: kind == "W" and order in RELEASES)
    full = x.mask(lambda thread, kind, l, v, order: kind == "F" and order not in ("acquire", "relaxed"))
    load_fence = x.mask(lambda thread, kind, l, v, order: kind == "F" and order == "acquire")
    rfi, every, po = x.internal(x.rf), x.everything, x.po
    observed = x.external(union(x.rf, x.co, x.fr()))
    dependent = union(x.data, restrict(x.control, every, x.writes), compose(x.data, rfi))
    updates = sum(x.rmw)
    atomic = union(x.rmw, restrict(restrict(rfi, updates, every), every, acquire))
    barriers = union(
        compose(restrict(po, every, full), po),
        compose(restrict(po, x.reads, load_fence), po),
        restrict(po, release, acquire), restrict(po, acquire, every), restrict(po, every, release),
        restrict(po, every, full), restrict(po, full, every), x.barriers_between())
    return is_acyclic(union(observed, dependent, atomic, barriers))


# ---- C11 -------------------------------------------------------------------------------------------------------------

def happens_before(x):
    """As in RC11; the initial writes come first."""
    atomic = x.mask(lambda thread, kind, l, v, order: kind != "F" and order != "plain")
    release = x.mask(lambda thread, kind, l, v, order: kind in "WF" and order in RELEASES)
    acquire = x.mask(lambda thread, kind, l, v, order: kind in "RF" and order in ACQUIRES)
    fences = x.mask(lambda thread, kind, *_: kind == "F")
    everything = x.everything
    sequence = restrict(reflexive(closure(compose(x.rf, x.rmw))), x.writes & atomic, everything)
    from_fence, to_fence = reflexive(restrict(x.po, fences, everything)), reflexive(restrict(x.po, everything, fences))
    read = restrict(compose(sequence, x.rf), everything, x.reads & atomic)
    synchronizes = restrict(compose(compose(from_fence, read), to_fence), release, acquire)
    first = [x.everything & ~x.init if x.init >> a & 1 else 0 for a in range(len(x.events))]
    return closure(union(x.po, synchronizes, first, x.barriers_between()))


def sequential(x, hb, eco):
    """psc of RC11."""
    everything = x.everything
    sc = x.mask(lambda thread, kind, l, v, order: order == "seq_cst")
    fences = sc & x.mask(lambda thread, kind, *_: kind == "F")
    elsewhere = [row & ~x.same_location[a] for a, row in enumerate(x.po)]
    scb = union(x.po, compose(compose(elsewhere, hb), elsewhere), [row & x.same_location[a] for a, row in enumerate(hb)],
                x.co, x.fr())
    accesses = sc & ~fences
    hb_or_same = reflexive(hb)
    identity = [1 << a if accesses >> a & 1 else 0 for a in range(len(x.events))]
    begin = union(identity, restrict(hb_or_same, fences, everything))
    end = union(identity, restrict(hb_or_same, everything, fences))
    base = compose(compose(begin, scb), end)
    between_fences = restrict(union(hb, compose(compose(hb, eco), hb)), fences, fences)
    return union(base, between_fences)


def c11(x):
    """Is the execution consistent?"""
    hb, eco = happens_before(x), closure(union(x.rf, x.co, x.fr()))
    if not is_irreflexive(hb) or not is_irreflexive(compose(hb, eco)):
        return False
    return is_acyclic(union(x.po, x.rf)) and is_acyclic(sequential(x, hb, eco))


def races(x):
    """Do two threads access a location, one of them by a plain access, one of them writing, without an order?"""
    hb = happens_before(x)
    for a, b in itertools.combinations(range(len(x.events)), 2):
        pair = x.events[a], x.events[b]
        if pair[0][2] and pair[0][2] == pair[1][2] and pair[0][0] != pair[1][0] and "W" in (pair[0][1], pair[1][1]) and \
                "plain" in (pair[0][4], pair[1][4]) and not (hb[a] >> b & 1 or hb[b] >> a & 1):
            return True
    return False
