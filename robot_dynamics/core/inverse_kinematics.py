# SPDX-License-Identifier: Apache-2.0
"""Joint positions that bring a frame to a pose.

Damped least squares with compiled poses and Jacobians, at first from the posture that the caller
names. Where that ends beside the pose, it begins anew from a few of many postures, which are the
same in every call: those whose frame is nearest to the pose.

Sources: Nakamura and Hanafusa 1986; Wampler 1986; the damping as Marquardt 1963.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError, ShapeError
from robot_dynamics.common.spatial import Array, quaternion
from robot_dynamics.core.algorithms.rotation_vector import rotation_vector
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import check_vector
from robot_dynamics.core.model.states import random_postures

CLOSE = 1e-9  # rad and m, of a pose that is reached
STEPS = 300  # at most, from one posture
RESTARTS = 12
POSTURES = 256  # of which the restarts are the nearest
# Levenberg-Marquardt damping, rad or m: the first, the least, and the largest that is tried
DAMPING, LEAST_DAMPING, MOST_DAMPING = 0.1, 1e-6, 1e6
SLOW, SLOW_STEPS = 0.8, 5  # a descent is left after so many steps in turn that leave so much
HALF_TURN = -0.999  # cosine: near it the rotation vector has no digits


class InverseKinematics(NamedTuple):
    """Joint positions for a pose.

    Attributes:
        q: (n,) joint positions within the limits, rad or m.
        error: (6,) rotation vector [rad] and displacement [m] left to the pose, base axes.
        converged: no entry of the error is above 1e-9.
    """

    q: Array
    error: Array
    converged: bool


def inverse_kinematics(
    arm: Dynamics,
    frame: str,
    target: Array,
    q0: Array,
    steps: int = STEPS,
    restarts: int = RESTARTS,
) -> InverseKinematics:
    """Return joint positions within the limits that bring a frame to a pose.

    The solution that descent from q0 leads to; where there is none, that of another posture, which
    may be far from q0. A pose that is not reached is approached as far as possible from q0, 1 rad
    counting as 1 m: check `converged`, or that the error is small enough. Of random reachable
    poses, from random q0, 98 to 100 of 100 are reached by arms of six and seven joints.

    It does not avoid collisions and singularities, nor choose among the motions of a redundant
    arm. mink and pyroki do tasks, collisions and redundancy; MoveIt plans paths between postures.

    Args:
        arm: the compiled robot, `Dynamics(model)`.
        frame: name of the frame.
        target: (4, 4) T_wf in the base, or (3,) the position of its origin alone, m: the
            orientation is free.
        q0: (n,) joint positions to begin with; those beyond a limit begin there.
        steps: at most so many from each posture; a target that moves with few, from the last q.
        restarts: other postures to begin with, at most; 0: the solution stays near q0.

    Raises:
        RobotDynamicsError: the robot is not a `Dynamics`.
        FrameNotFound: the model has no frame of that name.
        ShapeError: q0 is not (n,), or the target neither (3,) nor a pose (4, 4).
    """
    if not isinstance(arm, Dynamics):
        raise RobotDynamicsError(
            f'arm is a {type(arm).__name__}; inverse kinematics needs the compiled robot, '
            'Dynamics(model)'
        )
    check_vector(arm.model, q0=q0)
    descent = _Descent(arm, frame, _checked_target(target))
    first = state = descent.run(descent.begin(np.asarray(q0, dtype=float)), steps, SLOW_STEPS)
    if not first.reached:
        for q in _nearest_postures(descent, restarts):
            state = descent.run(descent.begin(q), steps, SLOW_STEPS)
            if state.reached:
                break
        else:
            state = descent.run(first, steps - first.steps, steps)
    return InverseKinematics(state.q, state.error, state.reached)


class _State(NamedTuple):
    """A posture on the way to the pose."""

    q: Array
    error: Array
    damping: float = DAMPING
    steps: int = 0

    @property
    def reached(self) -> bool:
        return bool(np.abs(self.error).max() <= CLOSE)


class _Descent:
    """Damped least squares toward one pose."""

    def __init__(self, arm: Dynamics, frame: str, target: Array) -> None:
        self.arm, self.frame, self.target = arm, frame, target
        self.lower, self.upper = arm.model.lower, arm.model.upper
        self.rows = slice(0 if target.ndim == 2 else 3, 6)

    def begin(self, q: Array) -> _State:
        """Return the state at a posture, that within the limits which is next to it."""
        q = self._within(q)
        return _State(q, self._error(q))

    def run(self, state: _State, steps: int, slow_steps: int) -> _State:
        """Return where the descent ends, at the latest after so many steps (in turn slow ones)."""
        slow, square = 0, state.error @ state.error
        for count in range(state.steps, state.steps + steps):
            if state.reached or slow >= slow_steps or state.damping > MOST_DAMPING:
                break
            q = self._step(state)
            error = self._error(q)
            before, tried = square, error @ error
            if tried < before:
                square = tried
                damping = max(0.2 * state.damping, LEAST_DAMPING)
                state = _State(q, error, damping, count + 1)
            else:
                state = state._replace(damping=4.0 * state.damping, steps=count + 1)
            slow = slow + 1 if square > SLOW**2 * before else 0
        return state

    def _step(self, state: _State) -> Array:
        """Return the posture that a step leads to, within the limits."""
        q, e = state.q, state.error[self.rows]
        J = self.arm.jacobian(q, self.frame)[self.rows]
        # Joints at a limit stay there if the descent of |e|^2 / 2, J^T e, leads beyond it.
        descent = e @ J
        blocked = ((q <= self.lower) & (descent < 0)) | ((q >= self.upper) & (descent > 0))
        J = np.where(blocked, 0.0, J)
        # min |J dq - e|^2 + damping^2 |dq|^2:  dq = J^T (J J^T + damping^2)^-1 e
        square = J @ J.T
        square.flat[:: len(e) + 1] += state.damping**2
        return self._within(q + np.linalg.solve(square, e) @ J)

    def _within(self, q: Array) -> Array:
        """Return positions within the limits."""
        return np.asarray(np.minimum(np.maximum(q, self.lower), self.upper))

    def _error(self, q: Array) -> Array:
        """Return the rotation vector and the displacement (6,) to the target."""
        T = self.arm.forward_kinematics(q, self.frame)
        error = np.zeros(6)
        # e_P = p_d - p,  e_O = log(R_d R^T)
        if self.target.ndim == 1:
            error[3:] = self.target - T[:3, 3]
        else:
            error[3:] = self.target[:3, 3] - T[:3, 3]
            error[:3] = _turn(self.target[:3, :3] @ T[:3, :3].T)
        return error


def _nearest_postures(descent: _Descent, count: int) -> Array:
    """Return the postures (count, n) of a fixed sequence whose frames are nearest to the pose."""
    postures = random_postures(descent.arm.model, POSTURES)
    T, target = descent.arm.forward_kinematics(postures, descent.frame), descent.target
    # |p - p_d|^2 + |R - R_d|^2 / 2: for small angles the square of the angle
    if target.ndim == 1:
        distance = np.square(T[:, :3, 3] - target).sum(axis=1)
    else:
        apart = np.square(T - target)
        distance = apart[:, :3, 3].sum(axis=1) + 0.5 * apart[:, :3, :3].sum(axis=(1, 2))
    return np.asarray(postures[np.argsort(distance)[:count]])


def _checked_target(target: Array) -> Array:
    """Return a pose (4, 4) or a position (3,). Raises ShapeError."""
    target = np.asarray(target, dtype=float)
    if not np.isfinite(target).all():
        raise ShapeError(f'target is {target.tolist()}; it must be finite')
    if target.shape == (3,):
        return target
    if target.shape != (4, 4):
        raise ShapeError(
            f'target has shape {target.shape}; it must be (4, 4), a pose, or (3,), a position'
        )
    R = target[:3, :3]
    if not (np.allclose(R.T @ R, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0):
        raise ShapeError(f'target has no rotation matrix, R^T R = 1, det R = 1: R is {R.tolist()}')
    return target


def _turn(R: Array) -> Array:
    """Return the rotation vector (3,) of a rotation matrix, at half a turn as well."""
    if np.trace(R) < 1.0 + 2.0 * HALF_TURN:
        *axis, w = quaternion(R)
        sine = math.hypot(*axis)
        return 2.0 * math.atan2(sine, w) / sine * np.array(axis)
    return np.array(rotation_vector(R.tolist()))
