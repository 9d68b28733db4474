"""Another robot, made ready beside the work with the present one.

To read a description and to compile its programs takes up to a second for an arm, and seconds for
hundreds of joints or megabytes of nonsense. No joint state waits for that: it happens in a thread
of its own, and the executor's thread takes the result when it is there.

Python runs one thread at a time, and lets each of them go on for 5 ms. A node gives its turn away
with every message that it publishes, so that an answer would take several of those. As long as
there are two threads turns are short.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from robot_dynamics.dynamics import Dynamics

TURN = 1e-4  # s, of a thread while there are two
LOOK = 0.01  # s, between two looks whether the other robot is ready


class ReadyRobot(NamedTuple):
    """A robot whose programs are compiled."""

    text: str  # the URDF; empty if it came from a file
    parameters: Any
    base: Dynamics  # as the description has it
    arm: Dynamics  # and under the parameters
    warnings: list[str]  # about the description


def ready_robot(node: Any, parameters: Any, text: str) -> ReadyRobot:
    """Return the robot of a URDF as a node wants it, and change nothing of the node.

    Raises:
        RobotDynamicsError: the description or a parameter is refused, and why.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model = node.model_of(parameters, text)
    base = Dynamics(model)
    arm = node.vary(base, parameters)
    node.prepare(arm)
    return ReadyRobot(text, parameters, base, arm, [str(w.message) for w in caught])


class Preparation:
    """Makes one robot at a time ready, in the background of a node."""

    def __init__(self, node: Any, finished: Callable[[Callable[[], ReadyRobot]], None]):
        """Begin with nothing to do.

        Args:
            node: for which the robots are.
            finished: called by its executor, with a function that returns the robot or raises
                what refuses it.
        """
        self._node, self._finished = node, finished
        self._thread = ThreadPoolExecutor(max_workers=1)  # started with the first task
        self._task: Future[ReadyRobot] | None = None
        self._timer = node.create_steady_timer(LOOK, self._look)
        self._timer.cancel()

    @property
    def is_busy(self) -> bool:
        """Whether a robot is being made ready."""
        return self._task is not None

    def begin(self, parameters: Any, text: str) -> None:
        """Make the robot of a URDF ready; there must be no other under way."""
        self._task = self._thread.submit(_in_short_turns, self._node, parameters, text)
        self._timer.reset()

    def _look(self) -> None:
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            self._timer.cancel()
            self._finished(task.result)


def _in_short_turns(node: Any, parameters: Any, text: str) -> ReadyRobot:
    turn = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        return ready_robot(node, parameters, text)
    finally:
        sys.setswitchinterval(turn)
