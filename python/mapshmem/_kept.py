# SPDX-License-Identifier: BSD-3-Clause
"""Memory of the program that the library still reads or writes: kept alive here, and let go when the library is done.

Each context has a Flight of what its operations ending in _nbi were given; `prepared` has what is registered, `enqueued`
what operations in OpenCL queues were given. Nothing else in the package holds memory for the library's sake, but for the
mappings of `map`.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Tuple

_lock = threading.Lock()


class Flight(List[Any]):
    """What operations of a context were given that may not be complete, in the order in which they were posted.

    An operand comes in after its operation was posted, and until then the caller holds it. So whoever finds it here
    completes it by a quiet that begins now, whichever thread has posted it.
    """

    __slots__ = ("_landed", "team")

    def __init__(self, team: Any = None) -> None:
        super().__init__()
        self._landed = 0  # how many have left
        self.team = team

    def post(self, operand: Any, routine: Callable[..., Any], *arguments: Any) -> Any:
        """Call a routine that begins an operation. An exception, as of a signal, may come as soon as it has returned."""
        try:
            return routine(*arguments)
        finally:
            self.append(operand)

    def complete(self, routine: Callable[..., Any], *arguments: Any) -> None:
        """Call a routine that completes all that was posted, and then let go of what was here before. What other threads
        have posted meanwhile stays; so does everything if the call ends by an exception."""
        with _lock:
            end = self._landed + len(self)
        routine(*arguments)
        with _lock:
            n = max(end - self._landed, 0)
            gone = self[:n]
            del self[:n]
            self._landed += n
        gone.clear()  # runs destructors of the program, which may call anything


# Of contexts but the default one; they stay until the context is destroyed, not until Python has collected its object.
_flights: List[Flight] = []
_prepared: Dict[int, List[Any]] = {}
_enqueued: Dict[int, Deque[Tuple[Any, Any]]] = {}

default = Flight()


def new_flight(team: Any) -> Flight:
    """For a context of that team."""
    flight = Flight(team)
    with _lock:
        _flights.append(flight)
    return flight


def end_flights(is_over: Callable[[Flight], bool]) -> None:
    """The library has completed and ended these contexts."""
    with _lock:
        over = [flight for flight in _flights if is_over(flight)]
        _flights[:] = [flight for flight in _flights if not is_over(flight)]
    for flight in over:
        flight.clear()


def keep_prepared(address: int, memory: Any) -> None:
    """Memory at that address has been prepared once more."""
    with _lock:
        _prepared.setdefault(address, []).append(memory)


def release_prepared(address: int) -> None:
    """And has been released once."""
    with _lock:
        left = _prepared.get(address, [])
        gone = left.pop() if left else None
        if not left:
            _prepared.pop(address, None)
    del gone


def keep_enqueued(queue: int, event: Any, operand: Any) -> None:
    """An OpenCL queue uses operand until the event is complete. Lets go of those that are."""
    gone = []
    with _lock:
        waiting = _enqueued.setdefault(queue, deque())
        while waiting and waiting[0][0].command_execution_status <= 0:  # CL_COMPLETE, or an error
            gone.append(waiting.popleft())
        waiting.append((event, operand))
    gone.clear()


def forget_all() -> None:
    """The library has ended, and uses nothing any more."""
    end_flights(lambda flight: True)
    default.clear()
    with _lock:
        gone = [*_prepared.values(), *_enqueued.values()]
        _prepared.clear()
        _enqueued.clear()
    del gone
