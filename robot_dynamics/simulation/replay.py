"""Replay of a command log, compared with the recorded motion bit for bit.

A motion follows from the commands and the number of steps before each one. A replay needs neither
a clock nor the controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from robot_dynamics.simulation.command_log import Entry, RecordedState
from robot_dynamics.simulation.commands import Plant


@dataclass(frozen=True)
class Comparison:
    """Agreement of a replayed motion with the recorded one."""

    steps: int
    states: int  # compared
    difference: str = ''  # the first one; empty if every state has the same bits

    @property
    def agrees(self) -> bool:
        """Whether every recorded state was reproduced in every bit."""
        return not self.difference


def replay(plant: Plant, log: Iterable[Entry]) -> Comparison:
    """Repeat a motion until the log ends or a state differs from the recorded one.

    Args:
        plant: in the state in which the recorded one was created; left in the last state.
        log: commands and states in the order of the run.

    Raises:
        RobotDynamicsError: a command that is invalid for this robot.
        SimulationDiverged: the motion diverges where the recorded one did not.
    """
    states = 0
    for steps, entry in log:
        while plant.steps < steps:
            plant.step()
        if not isinstance(entry, RecordedState):
            plant.apply(entry)
            continue
        difference = _difference(plant, entry)
        if difference:
            return Comparison(plant.steps, states, difference)
        states += 1
    return Comparison(plant.steps, states)


def _difference(plant: Plant, recorded: RecordedState) -> str:
    """Return the first entry of the state that differs, and both values; empty if none."""
    pairs = ('position', plant.q, recorded.q), ('velocity', plant.qd, recorded.qd)
    for quantity, value, other in pairs:
        if value.tobytes() != other.tobytes():
            j = next(j for j in range(len(value)) if value[j].tobytes() != other[j].tobytes())
            return (
                f'after {plant.steps} steps, {quantity} of joint '
                f'{plant.simulator.arm.model.joint_names[j]!r}: recorded {other[j]!r}, '
                f'replayed {value[j]!r}'
            )
    return ''
