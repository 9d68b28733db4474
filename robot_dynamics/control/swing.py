# SPDX-License-Identifier: Apache-2.0
"""Trajectory for any robot: every joint moves, within position, velocity and effort limits.

Each joint swings about a home posture by a sum of three sines that starts and ends at rest,

    q_j(t) = c_j + a_j sin^2(pi t/T) sin(2 pi k_j t/T)
           = c_j + a_j [ 1/2 sin(k_j w t) - 1/4 sin((k_j + 1) w t) - 1/4 sin((k_j - 1) w t) ],

with w = 2 pi/T: velocity and acceleration are zero at both ends. Neighbouring joints differ in k_j
or in direction, so that their motions differ. The amplitudes a_j follow from the position limits,
reduced until velocities and torques are within their limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import position_range

SWING = 0.8  # rad, the largest amplitude of a revolute joint
SLIDE = 0.15  # m, of a prismatic one
OF_RANGE = 0.35  # of the position range, at most
OF_SPEED = 0.7  # of the velocity limit, at most
OF_EFFORT = 0.7  # of the effort limit, at most: feedback needs the rest
CYCLES = (1, 2, 3, 4)  # k_j, joint after joint; then again in the other direction
POINTS_PER_SECOND = 4
SHRINK = 0.8  # factor of an amplitude that exceeds a limit
NEGLIGIBLE = 0.02  # of the amplitude; a joint with a smaller one does not move
ROUNDS, POSTURES = 20, 200  # of the search for a posture that the drives can hold


class NoMotion(RobotDynamicsError, ValueError):  # noqa: N818  (names the condition)
    """The effort limits of the robot allow no motion."""


class Swing(NamedTuple):
    """A motion about a home posture."""

    home: Array  # c (n,) rad or m
    amplitude: Array  # a (n,), of either sign
    cycles: Array  # k (n,)
    duration: float  # T, s

    def at(self, t: Array) -> Reference:
        """Return the motion at the times t (m,), (m, n)."""
        w = 2 * np.pi / self.duration
        q, qd, qdd = (np.zeros((len(t), len(self.home))) for _ in range(3))
        for weight, k in (
            (1 / 2, self.cycles),
            (-1 / 4, self.cycles + 1),
            (-1 / 4, self.cycles - 1),
        ):
            phase, rate = np.outer(t, k * w), k * w
            q += weight * np.sin(phase)
            qd += weight * rate * np.cos(phase)
            qdd -= weight * rate**2 * np.sin(phase)
        a = self.amplitude
        return Reference(self.home + a * q, a * qd, a * qdd)

    def trajectory(self, joint_names: Sequence[str]) -> Trajectory:
        """Return points with velocities and accelerations, connected by quintics."""
        t = np.linspace(0.0, self.duration, 1 + max(8, round(POINTS_PER_SECOND * self.duration)))
        q, qd, qdd = self.at(t)
        # Exactly at rest, without the rounding errors of the sines.
        for rates in (qd, qdd):
            rates[[0, -1]] = 0.0
        return Trajectory(joint_names, t, q, qd, qdd)


def swing(arm: Dynamics, duration: float) -> Swing:
    """Return a motion of the given duration [s] that the robot's limits allow.

    Joints whose drives are too weak have amplitude zero.

    Raises:
        NoMotion: the drives cannot hold the arm, or cannot move any joint.
    """
    model = arm.model
    lower, upper = position_range(model)
    cycles = np.resize(CYCLES, model.n)
    direction = np.resize(np.repeat((1, -1), len(CYCLES)), model.n)
    room = np.minimum(OF_RANGE * (upper - lower), np.where(model.angular, SWING, SLIDE))
    # The speed of a swing is at most a (k + 1/2) w.
    fastest = OF_SPEED * model.velocity_limit * duration / (2 * np.pi * (cycles + 0.5))
    result = Swing(home(arm), direction * np.minimum(room, fastest), cycles, duration)
    return _within_effort(arm, result)


def home(arm: Dynamics) -> Array:
    """Return the home posture (n,): central in its limits, and one that the drives can hold."""
    lower, upper = position_range(arm.model)
    centre, half = (lower + upper) / 2, (upper - lower) / 2
    if _load(arm, arm.gravity_torque(centre)).max() <= OF_EFFORT / 2:
        return centre
    rng = np.random.default_rng(0)
    inner = (1 - 2 * OF_RANGE) * half
    best = centre
    for _ in range(ROUNDS):
        # Vary the positions of some joints; keep the posture of least load.
        other = centre + inner * rng.uniform(-1, 1, (POSTURES, arm.model.n))
        changed = rng.random(other.shape) < rng.random((POSTURES, 1))
        postures = np.concatenate([best[None], np.where(changed, other, best)])
        best = postures[np.argmin(_load(arm, arm.gravity_torque(postures)).max(axis=-1))]
    return best


def _within_effort(arm: Dynamics, motion: Swing) -> Swing:
    """Return the motion with amplitudes small enough for the drives."""
    t = np.linspace(0.0, motion.duration, 200)
    full = motion.amplitude
    part = np.ones(arm.model.n)
    while part.any():
        motion = motion._replace(amplitude=part * full)
        weak = peak_load(arm, motion.at(t)) > OF_EFFORT
        if not weak.any():
            return motion
        # A joint without motion is overloaded by the motion of the others.
        part[weak | bool((weak & (part == 0)).any())] *= SHRINK
        part[part < NEGLIGIBLE] = 0.0
    loads = _load(arm, arm.gravity_torque(motion.home))
    j = int(np.argmax(loads))
    raise NoMotion(
        f'the drives of {arm.model.name!r} cannot move it: in the best posture found, holding '
        f'takes {100 * loads[j]:.0f} % of the effort limit {arm.model.effort_limit[j]:g} of '
        f'joint {arm.model.joint_names[j]!r}'
    )


def peak_load(arm: Dynamics, reference: Reference) -> Array:
    """Return the largest torque of a motion relative to the effort limit (n,)."""
    tau = arm.motor_torque(*reference)
    return np.asarray(_load(arm, tau).max(axis=0))


def _load(arm: Dynamics, tau: Array) -> Array:
    return np.asarray(np.abs(tau) / arm.model.effort_limit)
