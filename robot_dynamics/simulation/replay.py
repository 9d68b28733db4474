"""Make a recorded motion again, from the deeds that made it, and say whether it is the same.

The log of a run lists deeds (`plant.py`), each with the number of steps made before it, and some
of the states that were seen on the way. Nothing else is needed: no clock, no commands that came
too late, no controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from robot_dynamics.simulation.commands import Deed, Plant
from robot_dynamics.spatial import Array


class Seen(NamedTuple):
    """A state of the recorded motion."""

    q: Array  # (n,) rad or m
    qd: Array  # (n,)


Entry = tuple[int, Deed | Seen]


@dataclass(frozen=True)
class Comparison:
    """How a motion that was made again compares with the recorded one."""

    steps: int
    states: int  # compared
    difference: str = ''  # the first there was; empty if every state has the same bits

    @property
    def agrees(self) -> bool:
        """Whether every state that was seen was seen again, in every bit."""
        return not self.difference


def replay(plant: Plant, log: Iterable[Entry]) -> Comparison:
    """Make a motion again and compare its states, until the log ends or one of them differs.

    Args:
        plant: as the recorded one was when it was made; it is left in the last state.
        log: in the order of the run.

    Raises:
        RobotDynamicsError: a deed that this robot refuses.
        SimulationDiverged: the motion goes where the recorded one did not.
    """
    states = 0
    for steps, entry in log:
        while plant.steps < steps:
            plant.step()
        if not isinstance(entry, Seen):
            plant.apply(entry)
            continue
        difference = _difference(plant, entry)
        if difference:
            return Comparison(plant.steps, states, difference)
        states += 1
    return Comparison(plant.steps, states)


def _difference(plant: Plant, seen: Seen) -> str:
    """Say which number differs, and by how much; empty if none does."""
    for quantity, value, other in (('position', plant.q, seen.q), ('velocity', plant.qd, seen.qd)):
        if value.tobytes() != other.tobytes():
            j = next(j for j in range(len(value)) if value[j].tobytes() != other[j].tobytes())
            return (
                f'after {plant.steps} steps, {quantity} of joint '
                f'{plant.simulator.arm.model.joint_names[j]!r}: {other[j]!r} was recorded, and '
                f'{value[j]!r} comes now'
            )
    return ''
