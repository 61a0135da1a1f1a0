# SPDX-License-Identifier: BSD-3-Clause
"""Calls of kernels with their arguments, and what all memory and all results are afterwards, for any number of PEs. Who runs
them has a class like Memory, which makes the calls: kernel_values.py on threads of the CPU, kernel_gpu.py on a GPU.

Every PE has a symmetric box and private memory, near. Before each step they are filled with what all PEs know. A step is a
list of calls that all PEs make together, each with arguments of its own; then all bytes of both are compared."""

import numpy as np

BYTES, PIECE = 16384, 64  # of box and near; of the places of a team's work area, so that more goes in pieces
SET, ADD = 1, 2
SIZES = (0, 1, 15, 16, 17, 100, 1025)
COUNTS = (1, 7, 16, 17, 70)
BFLOAT16 = "bfloat16"
HOLDS = {1: np.equal, 2: np.not_equal, 3: np.greater, 4: np.greater_equal, 5: np.less, 6: np.less_equal}


class Call:
    """A call of a step: args has "box" and "near" plus an offset as pairs, and views by name. result: what each thread gets."""

    def __init__(self, name, type_="", result=None, **args):
        self.name, self.type_, self.result, self.args = name, type_, result, args


class State:
    """What the memory of all PEs is to be."""

    def __init__(self, n, seed):
        self.box = [np.random.default_rng([seed, pe, 0]).integers(0, 256, BYTES, np.uint8) for pe in range(n)]
        self.near = [np.random.default_rng([seed, pe, 1]).integers(0, 256, BYTES, np.uint8) for pe in range(n)]


def kind_of(type_):
    return np.dtype({"": "u1", BFLOAT16: "u2"}.get(type_, type_))


def words(memory, offset, type_, count=1):
    """A part of memory as elements."""
    kind = kind_of(type_)
    return memory[offset : offset + count * kind.itemsize].view(kind)


def extremes(type_):
    """Around 0 and both halves of the range."""
    kind = np.iinfo(type_)
    half = 1 << (kind.bits - 1)
    unsigned = (0, 1, half - 1, half, half + 1, 2 * half - 1, 0xA5A5A5A5A5A5A5A5 & (2 * half - 1))
    return [int(np.array([value], f"u{kind.bits // 8}").view(type_)[0]) for value in unsigned]


def pairs(type_):
    """Values that are together interesting."""
    all_ = extremes(type_)
    return [(all_[i], all_[(i * 3 + 2) % len(all_)]) for i in range(len(all_))] + [(value, value) for value in all_[2:5]]


# ---- 16 bits


def to_float(kind, numbers):
    if kind == BFLOAT16:
        return (numbers.astype("u4") << 16).view("f4")
    return numbers


def from_float(kind, numbers):
    if kind != BFLOAT16:
        return numbers
    whole = numbers.astype("f4").view("u4")
    return ((whole + 0x7FFF + (whole >> 16 & 1)) >> 16).astype("u2")


def combined(operation, type_, parts):
    """As the library does it: in the order of the members, rounded after each."""
    rules = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
             "or": np.bitwise_or, "xor": np.bitwise_xor}
    result = parts[0]
    for part in parts[1:]:
        result = from_float(type_, rules[operation](to_float(type_, result), to_float(type_, part)))
    return result


def numbers(type_, seed, count):
    """Elements all over the range, as far as sums and products stay in it where that matters."""
    random = np.random.default_rng(seed)
    if kind_of(type_).kind in "iu" and type_ != BFLOAT16:
        return random.integers(0, 256, count * kind_of(type_).itemsize, np.uint8).view(type_)
    return from_float(type_, (random.standard_normal(count) * 3).astype("f4" if type_ == BFLOAT16 else type_))


# ---- steps


class Steps:
    """Each method yields steps: a function that changes the state as the calls of all PEs do, this PE's calls, and for some a
    function that changes the state before."""

    def __init__(self, me, n):
        self.me, self.n = me, n
        self.right = (me + 1) % n

    def of(self, call, type_):
        """Those of a call of the list for a type."""
        name = call.name
        if name.endswith(("_reduce", "_reduce_direct", "_reducescatter")):
            return self.reductions(name, type_)
        if name.startswith(("broadcast", "fcollect", "alltoall")):
            return self.collections(name)
        if name.startswith("atomic_"):
            return self.atomics(name, type_)
        by_name = {"put_nbi": self.put, "get_nbi": self.get, "put_signal_nbi": self.put_signal, "sync": self.meeting,
                   "barrier": self.meeting}
        return (by_name.get(name) or getattr(self, name))(name, type_)

    def put(self, name, type_):
        for i, size in enumerate(SIZES):
            def change(state, size=size, i=i):
                for pe in range(self.n):
                    state.box[(pe + 1) % self.n][35 + i : 35 + i + size] = state.near[pe][50 : 50 + size]
            yield change, [Call(name, view="view", dest=("box", 35 + i), source=("near", 50), nbytes=size, pe=self.right)]

    def get(self, name, type_):
        for i, size in enumerate(SIZES):
            def change(state, size=size, i=i):
                for pe in range(self.n):
                    state.near[pe][35 + i : 35 + i + size] = state.box[(pe + 1) % self.n][50 : 50 + size]
            yield change, [Call(name, view="view", dest=("near", 35 + i), source=("box", 50), nbytes=size, pe=self.right)]

    def put_signal(self, name, type_):
        for size, op, value in ((0, SET, 1), (17, SET, (1 << 63) + 5), (1025, ADD, 1 << 63), (16, ADD, (1 << 64) - 1)):
            def change(state, size=size, op=op, value=value):
                for pe in range(self.n):
                    there = state.box[(pe + 1) % self.n]
                    there[128 : 128 + size] = state.near[pe][7 : 7 + size]
                    word = words(there, 64, "uint64")
                    word[0] = value if op == SET else (int(word[0]) + value) % (1 << 64)
            yield change, [Call(name, view="view", dest=("box", 128), source=("near", 7), nbytes=size, signal_view="view",
                                sig=("box", 64), signal=value, op=op, pe=self.right)]

    def signal_op(self, name, type_):
        for op, value in ((SET, (1 << 63) + 9), (ADD, (1 << 64) - 1), (ADD, 1 << 63)):
            def change(state, op=op, value=value):
                for pe in range(self.n):
                    word = words(state.box[pe], 72, "uint64")
                    word[0] = value if op == SET else (int(word[0]) + value) % (1 << 64)
            yield change, [Call(name, view="view", sig=("box", 72), signal=value, op=op, pe=self.right)]

    def signal_fetch(self, name, type_):
        def look(state):
            return int(words(state.box[self.me], 80, "uint64")[0])
        yield (lambda state: None), [Call(name, result=look, view="view", sig=("box", 80))]

    def p(self, name, type_):
        for value in extremes(type_):
            def change(state, value=value):
                for pe in range(self.n):
                    words(state.box[pe], 88, type_)[0] = value
            yield change, [Call(name, type_, view="view", dest=("box", 88), value=value, pe=self.right)]

    def g(self, name, type_):
        for offset in (96, 96 + 3 * kind_of(type_).itemsize):
            def look(state, offset=offset):
                return int(words(state.box[self.right], offset, type_)[0])
            yield (lambda state: None), [Call(name, type_, look, view="view", source=("box", offset), pe=self.right)]

    def atomics(self, name, type_):
        """Every PE updates a word of the next one, which another call has set before."""
        what = name[len("atomic_") :].replace("fetch_", "")
        rules = {"fetch": lambda old, value: old, "set": lambda old, value: value, "swap": lambda old, value: value,
                 "compare_swap": lambda old, value: value, "add": lambda old, value: old + value,
                 "and": lambda old, value: old & value, "or": lambda old, value: old | value, "xor": lambda old, value: old ^ value}
        bits = kind_of(type_).itemsize * 8
        for old, value in pairs(type_):
            def change(state, old=old, value=value):
                for pe in range(self.n):
                    made = rules[what](old, value) % (1 << bits)
                    words(state.box[pe], 104, type_)[0] = np.array([made], f"u{bits // 8}").view(type_)[0]
            common = {"view": "view", "dest": ("box", 104), "pe": self.right}
            given = {} if what == "fetch" else {"value": value}
            calls = [Call("atomic_set", type_, value=old, **common)]
            has_result = name.startswith("atomic_fetch") or what in ("swap", "compare_swap")
            if what == "compare_swap":  # once in vain
                other = old ^ 1
                calls.append(Call(name, type_, lambda state, old=old: old, cond=other, value=value ^ 3, **common))
                given["cond"] = old
            calls.append(Call(name, type_, (lambda state, old=old: old) if has_result else None, **given, **common))
            yield change, calls

    def wait_until(self, name, type_):
        for cmp, holds in HOLDS.items():
            for here, other in pairs(type_):
                if holds(np.dtype(type_).type(here), np.dtype(type_).type(other)):
                    yield from self._look(name, type_, cmp, here, other, None)

    def test(self, name, type_):
        for cmp, holds in HOLDS.items():
            for here, other in pairs(type_):
                answer = int(holds(np.dtype(type_).type(here), np.dtype(type_).type(other)))
                yield from self._look(name, type_, cmp, here, other, lambda state, answer=answer: answer)

    def _look(self, name, type_, cmp, here, other, result):
        def change(state):
            for pe in range(self.n):
                words(state.box[pe], 112, type_)[0] = here
        setting = {2: "int16", 4: "int32", 8: "int64"}[kind_of(type_).itemsize]
        bits = int(np.array([here], type_).view(setting)[0])
        yield change, [Call("p", setting, view="view", dest=("box", 112), value=bits, pe=self.me),
                       Call(name, type_, result, view="view", ivar=("box", 112), cmp=cmp, value=other)]

    def signal_wait_until(self, name, type_):
        """The signal of the left one, which its value is seen with."""
        for i, cmp in enumerate((1, 3, 4, 2)):
            value = (1 << 63) + 17 + i
            limit = value if cmp in (1, 4) else value - 1
            def change(state, value=value):
                for pe in range(self.n):
                    words(state.box[pe], 120, "uint64")[0] = value
                    state.box[pe][200:300] = state.near[(pe - 1) % self.n][200:300]
            reset = Call("signal_op", view="view", sig=("box", 120), signal=limit if cmp == 2 else 0, op=SET, pe=self.me)
            yield change, [reset, Call("barrier", team="team"),
                           Call("put_signal", view="view", dest=("box", 200), source=("near", 200), nbytes=100,
                                signal_view="view", sig=("box", 120), signal=value, op=SET, pe=self.right),
                           Call(name, result=lambda state, value=value: value, view="view", sig=("box", 120), cmp=cmp,
                                signal=limit)]

    def fence(self, name, type_):
        """Of two puts to one place the second stays."""
        def change(state):
            for pe in range(self.n):
                state.box[(pe + 1) % self.n][400:500] = state.near[pe][1100:1200]
        put = {"view": "view", "dest": ("box", 400), "nbytes": 100, "pe": self.right}
        yield change, [Call("put_nbi", source=("near", 1000), **put), Call(name, view="view"),
                       Call("put_nbi", source=("near", 1100), **put)]

    def quiet(self, name, type_):
        """After it, a get to the place of the source brings back what was put."""
        def change(state):
            for pe in range(self.n):
                state.box[(pe + 1) % self.n][400:500] = state.near[pe][1000:1100]
                state.near[pe][1200:1300] = state.near[pe][1000:1100]
        yield change, [Call("put_nbi", view="view", dest=("box", 400), source=("near", 1000), nbytes=100, pe=self.right),
                       Call(name, view="view"),
                       Call("get", view="view", dest=("near", 1200), source=("box", 400), nbytes=100, pe=self.right)]

    def meeting(self, name, type_):
        """What was put before is read here after it: a sync needs a quiet."""
        def change(state):
            for pe in range(self.n):
                here = state.box[pe]
                here[400:500] = state.near[(pe - 1) % self.n][1000:1100]
                state.near[pe][1200:1300] = here[400:500]
        put = Call("put_nbi", view="view", dest=("box", 400), source=("near", 1000), nbytes=100, pe=self.right)
        last = [Call(name, team="team"), Call("get", view="view", dest=("near", 1200), source=("box", 400), nbytes=100, pe=self.me)]
        yield change, [put] + ([Call("quiet", view="view")] if name == "sync" else []) + last

    def collections(self, name):
        """In place of dest where that is allowed, which is for broadcasts; dest is symmetric if there is a view."""
        what, straight = name.replace("_direct", ""), name.endswith("_direct")
        where = "box" if straight else "near"
        for i, size in enumerate(SIZES):
            root = i % self.n
            def change(state, size=size, root=root):
                for pe in range(self.n):
                    dest = getattr(state, where)[pe]
                    for of in range(self.n) if what != "broadcast" else (0,):
                        first = 9000 + i + of * size
                        source = state.near[root if what == "broadcast" else of]
                        begin = 33 + (pe * size if what == "alltoall" else 0)
                        dest[first : first + size] = source[begin : begin + size]
            given = {"team": "team", "dest": (where, 9000 + i), "source": ("near", 33), "nbytes": size}
            if straight:
                given["view"] = "view"
            if what == "broadcast":
                given["root"] = root
            yield change, [Call(name, **given)]

    def reductions(self, name, type_):
        what, straight = name.split("_")[0], name.endswith("_direct")
        where = "box" if straight else "near"
        scatters = "scatter" in name
        for i, count in enumerate(COUNTS):
            every = [numbers(type_, [i, pe], count * (self.n if scatters else 1)) for pe in range(self.n)]
            def before(state, every=every):
                for pe in range(self.n):
                    words(state.near[pe], 32, type_, len(every[pe]))[:] = every[pe]
            def change(state, count=count, every=every):
                for pe in range(self.n):
                    parts = [part[pe * count : (pe + 1) * count] for part in every] if scatters else every
                    words(getattr(state, where)[pe], 8192, type_, count)[:] = combined(what, type_, parts)
            given = {"team": "team", "dest": (where, 8192), "source": ("near", 32), "nelems": count}
            if straight:
                given["view"] = "view"
            yield change, [Call(name, type_, **given)], before


def check(memory, me, n, call, type_, group):
    """All steps of a call of the list, made by a group. memory: fills and reads box and near, makes a call, and waits until all
    PEs have come (settle)."""
    quiet = Call("quiet", view="view")
    for seed, (change, calls, *before) in enumerate(Steps(me, n).of(call, type_)):
        state = State(n, seed)
        for function in before:
            function(state)
        memory.fill(state.box[me], state.near[me])
        memory.settle()
        for made in calls + [quiet]:
            results = memory.make(made, group)
            if made.result:
                expected = made.result(state)
                assert results and all(found == expected for found in results), (made.name, type_, group, made.args, results, expected)
        memory.settle()
        change(state)
        for name, found, expected in zip(("box", "near"), memory.read(), (state.box[me], state.near[me])):
            wrong = np.flatnonzero(found != expected)
            assert not wrong.size, (call.name, type_, group, f"step {seed}: PE {me}'s {name} is wrong at {wrong[:8]} of {wrong.size}",
                                    found[wrong[:8]], expected[wrong[:8]])
