# SPDX-License-Identifier: Apache-2.0
"""Tolerances of a motion: along the path, at the goal, and of the time of arrival.

Their names and meaning are those of `constraints` of joint_trajectory_controller (4.42.1,
tolerances.hpp).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.trajectory import Reference


class Tolerances(NamedTuple):
    """Largest errors of the joints; 0 for no limit."""

    path: Array  # (n,) rad or m, during the motion
    goal: Array  # (n,) rad or m, at its end
    stopped_velocity: Array | float = 0.0  # (n,) rad/s or m/s, at its end
    goal_time: float = 0.0  # s, after which the goal must be reached; 0: it is awaited
    path_velocity: Array | float = 0.0  # (n,) rad/s or m/s, during the motion

    def path_violation(
        self, reference: Reference, state: JointReading, joint_names: tuple[str, ...]
    ) -> str:
        """Return which joint is too far from the reference, or ''."""
        distance = _beyond(reference.q - state.q, self.path, joint_names, 'off its path')
        velocity = self.path_velocity
        none = not velocity if isinstance(velocity, float) else not np.any(velocity)
        if distance or state.qd is None or none:
            return distance
        error = reference.qd - state.qd
        most = np.broadcast_to(velocity, error.shape)
        return _beyond(error, most, joint_names, 'in rad/s or m/s off its velocity')

    def goal_violation(
        self, goal: Reference, state: JointReading, joint_names: tuple[str, ...]
    ) -> str:
        """Return which joint is too far from the goal, or too fast, or ''."""
        distance = _beyond(goal.q - state.q, self.goal, joint_names, 'off its goal')
        if distance or state.qd is None:
            return distance
        slow = np.broadcast_to(self.stopped_velocity, state.qd.shape)
        return _beyond(state.qd, slow, joint_names, 'in rad/s or m/s: not at rest')


def none(n: int) -> Tolerances:
    """Return the tolerances of n joints without limits."""
    return Tolerances(np.zeros(n), np.zeros(n))


def _beyond(error: Array, most: Array, joint_names: tuple[str, ...], what: str) -> str:
    over = np.abs(error) > most
    if not np.count_nonzero(over):  # a fifth of the time of any()
        return ''
    over &= most > 0
    if not over.any():
        return ''
    j = int(np.argmax(over))
    return f'joint {joint_names[j]!r} is {abs(error[j]):.4g} {what}; the tolerance is {most[j]:g}'
