# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance of an arm: the compiled law, its settings, and stiffness that rises.

    tau = CartesianImpedance(arm, 'tool').torque(q, qd, PoseReference(T, V), Impedance()).tau

The equations are in `core.algorithms.cartesian_impedance`. Limits of a target are those of
`pose_following`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.settings import GAIN, joint_setting, setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.feedback_derivatives import FeedbackDerivatives, feedback_derivatives
from robot_dynamics.core.algorithms.cartesian_impedance import (
    ImpedanceInputs,
    ImpedanceTorque,
    Sliding,
    cartesian_impedance,
)
from robot_dynamics.core.algorithms.dual_numbers import duals, total_slopes
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction, coefficients
from robot_dynamics.core.friction.laws import TERMS
from robot_dynamics.core.programs import Robot

NO_WRENCH = NO_ACCELERATION = np.zeros(6)
NO_WRENCH.setflags(write=False)
PER_AXIS = ((), (3,))
SIZES = {
    'translational_stiffness': PER_AXIS,
    'rotational_stiffness': PER_AXIS,
    'damping_ratio': ((),),
    'posture_stiffness': ((),),
    'posture_damping': ((),),
}
SINGULAR_FREQUENCY = 2.0  # rad/s, twice that by which damping is bounded
DIRECTIONS = tuple(
    f'{kind} {axis}' for kind in ('rotation about', 'translation along') for axis in 'xyz'
)
# Fastest rise of a stiffness: of K, N m/rad/s and N/m/s; of the posture's, N m/rad/s or N/m/s
RISE, POSTURE_RISE = np.repeat([50.0, 1000.0], 3), 20.0


class PoseReference(NamedTuple):
    """Target of a frame, in the base frame."""

    pose: Array  # (..., 4, 4)
    velocity: Array  # (..., 6) world-aligned at its origin, angular part first, rad/s and m/s
    acceleration: Array = NO_ACCELERATION  # (..., 6) likewise, rad/s^2 and m/s^2; fed forward

    def copied(self) -> PoseReference:
        """Return the same target in arrays of its own."""
        return PoseReference(*map(np.array, self))


@dataclass(frozen=True, eq=False)
class Impedance:
    """Stiffness and damping of a frame, and of the posture in the null space.

    Attributes:
        translational_stiffness: one, or (3,) along the axes of the target, N/m.
        rotational_stiffness: likewise, N m/rad.
        damping_ratio: zeta of every natural mode at the frame.
        posture_stiffness: one, or (n,) per joint, N m/rad or N/m. Above 0 the law is not passive:
            the projection of a spring on the null space has no potential.
        posture_damping: rate at which motion in the null space decays, 1/s.
        stiffness: the diagonal of K (6,), angular part first.
        damping: (2,) damping_ratio and posture_damping.

    Raises:
        ValueError: a value is negative, not finite, or has another shape.
    """

    translational_stiffness: Array = setting(600.0, 'Stiffness', 'N/m', GAIN)
    rotational_stiffness: Array = setting(30.0, 'Stiffness', 'N m/rad', GAIN)
    damping_ratio: Array = setting(0.7, 'Damping ratio of every mode')
    posture_stiffness: Array = joint_setting(0.0, 'Stiffness', 'N m/rad or N/m', GAIN)
    posture_damping: Array = setting(5.0, 'Damping of the null space', '1/s')
    stiffness: Array = field(init=False)
    damping: Array = field(init=False)

    def __post_init__(self) -> None:
        rows = {}
        for name, sizes in SIZES.items():
            rows[name] = value = coefficients(name, getattr(self, name))
            if value.shape not in sizes and not (name == 'posture_stiffness' and value.ndim == 1):
                raise ValueError(f'{name} has shape {value.shape}; expected one of {sizes}')
            object.__setattr__(self, name, value)
        angular_first = rows['rotational_stiffness'], rows['translational_stiffness']
        K = np.concatenate([np.broadcast_to(part, 3) for part in angular_first])
        object.__setattr__(self, 'stiffness', coefficients('stiffness', K))
        damping = rows['damping_ratio'], rows['posture_damping']
        object.__setattr__(self, 'damping', coefficients('damping', damping))


class CartesianTorque(NamedTuple):
    """Torque of the law and its parts, (..., n) each, and the error."""

    impedance: Array  # N m or N
    gravity: Array
    friction: Array  # of the desired velocity
    error: Array  # (..., 6) of the frame from the target, in the target's axes, rad and m
    z: Array  # (..., n) direction of sliding of friction with memory, for the next state

    @property
    def tau(self) -> Array:
        """The sum of the parts."""
        return self.impedance + self.gravity + self.friction


class CartesianImpedance:
    """The law for one frame of an arm.

    Attributes:
        arm: the arm, with its payload.
        frame: the frame.
    """

    def __init__(self, arm: Dynamics, frame: str):
        """Compile the law.

        Args:
            arm: the arm, with its payload.
            frame: a name of `model.frame_names`.

        Raises:
            FrameNotFound: the arm has no frame of that name.
        """
        self.arm, self.frame, self._zero = arm, frame, np.zeros(arm.model.n)
        self._law = impedance_program(arm, frame)

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        target: PoseReference,
        impedance: Impedance,
        *,
        posture: ArrayLike | None = None,
        posture_velocity: ArrayLike = 0.0,
        wrench: ArrayLike = NO_WRENCH,
        friction: JointFriction | None = None,
        z: ArrayLike = 0.0,
        time_step: float = 0.0,
    ) -> CartesianTorque:
        """Return the torque that pulls the frame to its target.

        Args:
            q: (..., n) positions, rad or m.
            qd: (..., n) velocities.
            target: of the frame; its distance should stay below half a turn.
            impedance: stiffness and damping.
            posture: (..., n) q_n, to which `posture_stiffness` pulls; q if None.
            posture_velocity: (..., n) its velocity, for friction.
            wrench: (..., 6) moment and force on the environment, world-aligned at the frame's
                origin, N m and N.
            friction: of the joints, fed forward; none if None.
            z: (..., n) of the torque at the state before, for friction with memory.
            time_step: since then, s.

        Raises:
            ShapeError: an argument has another shape.
        """
        zero = self._zero
        return CartesianTorque(
            *self._law(
                q,
                qd,
                pose_entries(target),
                target.velocity,
                target.acceleration,
                wrench,
                q if posture is None else posture,
                zero + np.asarray(posture_velocity),
                impedance.stiffness,
                zero + impedance.posture_stiffness,
                impedance.damping,
                numbers_of(friction, len(zero)),
                zero + np.asarray(z),
                np.array([time_step]),
            )
        )

    def derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        target: PoseReference,
        impedance: Impedance,
        *,
        posture: ArrayLike | None = None,
        wrench: ArrayLike = NO_WRENCH,
        out: tuple[Array, Array] | None = None,
    ) -> FeedbackDerivatives:
        """Return the derivatives of the torque by q and qd, with gravity and without friction.

        Arguments and errors are those of `torque`. The posture is constant: q, if it is None. The
        first call compiles another program.

        Args:
            q: (..., n) positions, rad or m.
            qd: (..., n) velocities.
            target: of the frame.
            impedance: stiffness and damping.
            posture: (..., n) q_n.
            wrench: (..., 6) on the environment.
            out: two float64 arrays (..., n, n) that receive the results.
        """
        arguments = (
            q,
            qd,
            pose_entries(target),
            target.velocity,
            target.acceleration,
            wrench,
            q if posture is None else posture,
            impedance.stiffness,
            self._zero + impedance.posture_stiffness,
            impedance.damping,
        )
        slopes = impedance_slopes(self.arm, self.frame)
        return feedback_derivatives(slopes, self.arm.model.n, arguments, out)


def pose_entries(target: PoseReference) -> Array:
    """Return the pose of a target as rows (..., 16). Raises ShapeError."""
    pose = np.asarray(target.pose, dtype=float)
    if pose.shape[-2:] != (4, 4):
        raise ShapeError(f'pose of the target has shape {pose.shape}, expected (..., 4, 4)')
    return pose.reshape(*pose.shape[:-2], 16)


def impedance_program(arm: Dynamics, frame: str) -> Callable[..., ImpedanceTorque]:
    """Return the law for a frame of an arm in machine code.

    Its arguments are those of `ImpedanceInputs`, `numbers_of` friction, z and the time step (1).

    Raises:
        FrameNotFound: the arm has no frame of that name.
    """
    arm.tree.frame(frame)
    n = arm.model.n

    def law(robot: Robot, *vectors: Any) -> ImpedanceTorque:
        *given, friction, z, time_step = vectors
        *terms, presliding = [friction[k * n : k * n + n] for k in range(len(TERMS) + 1)]
        sliding = Sliding(terms, presliding, friction[-1], z, time_step[0])
        return cartesian_impedance(robot.tree, frame, ImpedanceInputs(*given), sliding)

    inputs = ImpedanceInputs.sizes(n)
    inputs |= {'friction': (len(TERMS) + 1) * n + 1, 'z': n, 'time_step': 1}
    key = f'cartesian_impedance of {frame}'
    return arm.programs.compiled(key, law, inputs, result=ImpedanceTorque).call


@functools.lru_cache(maxsize=4)
def impedance_slopes(arm: Dynamics, frame: str) -> Callable[..., Array]:
    """Return the compiled derivative of the law along a direction (dq, dqd) of the state.

    Its other arguments are those of `ImpedanceInputs` but for `posture_velocity`, which moves
    friction alone.
    """
    n = arm.model.n
    sizes = ImpedanceInputs.sizes(n)
    del sizes['posture_velocity']

    def slopes(robot: Robot, dq: Any, dqd: Any, *vectors: Any) -> Any:
        still = [0.0] * n
        at = ImpedanceInputs(**dict(zip(sizes, vectors, strict=True)), posture_velocity=still)
        moved = at._replace(q=duals(at.q, dq), qd=duals(at.qd, dqd))
        smooth = Sliding([still] * len(TERMS), [1.0] * n, 0.0, still, 0.0)
        found = cartesian_impedance(robot.tree, frame, moved, smooth)
        return total_slopes(found.impedance, found.gravity)

    inputs = {'dq': n, 'dqd': n, **sizes}
    return arm.programs.compiled(f'cartesian_impedance_slopes of {frame}', slopes, inputs).call


@functools.lru_cache(maxsize=8)
def numbers_of(friction: JointFriction | None, n: int) -> Array:
    """Return coefficients by term, pre-sliding length, (n) each, and 1 of a law with memory."""
    if friction is None:
        return np.concatenate([np.zeros(len(TERMS) * n), np.ones(n), [0.0]])
    zero = np.zeros(n)
    rows = [zero + friction.coefficients.get(term, 0.0) for term in TERMS]
    return np.concatenate([*rows, zero + friction.presliding, [float(friction.law.memory)]])


class StiffnessRamp:
    """Stiffness that falls at once and rises slowly: a spring that is stretched gains energy.

    Attributes:
        present: the impedance in force.
        energy: what has been added to the spring of the frame by rises, J: 1/2 e^T dK e.
    """

    def __init__(self, impedance: Impedance):
        """Begin with this impedance."""
        self.present, self.energy = impedance, 0.0

    def advance(self, wanted: Impedance, dt: float, error: Array) -> Impedance:
        """Return the impedance after one more interval.

        Args:
            wanted: what it is to become. Damping is in force at once.
            dt: s, since the last call.
            error: (6,) of the last torque, rad and m.
        """
        if self.present is wanted:
            return wanted
        before, limit = self.present.stiffness, self.present.posture_stiffness + POSTURE_RISE * dt
        stiffness = np.minimum(wanted.stiffness, before + RISE * dt)
        # 1/2 e^T dK e
        self.energy += 0.5 * float(error**2 @ np.maximum(stiffness - before, 0.0))
        self.present = wanted
        if np.any(stiffness < wanted.stiffness) or np.any(limit < wanted.posture_stiffness):
            self.present = replace(
                wanted,
                rotational_stiffness=stiffness[:3],
                translational_stiffness=stiffness[3:],
                posture_stiffness=np.minimum(wanted.posture_stiffness, limit),
            )
        return self.present


def singular_directions(arm: Dynamics, frame: str, q: Array, impedance: Impedance) -> list[str]:
    """Return the directions in which a frame can hardly move, in words.

    They are those of natural modes below SINGULAR_FREQUENCY, whose damping is bounded; each is
    named after the axis of the base, or the rotation about it, that has the largest part in it.

    Args:
        arm: the arm.
        frame: a name of `model.frame_names`.
        q: (n,) positions.
        impedance: stiffness; a direction without stiffness is not singular.
    """
    roots = np.repeat(np.sqrt([impedance.stiffness[:3].max(), impedance.stiffness[3:].max()]), 3)
    J = roots[:, None] * arm.jacobian(q, frame)
    squares, U = np.linalg.eigh(J @ np.linalg.solve(arm.mass_matrix(q), J.T))
    singular = (squares < SINGULAR_FREQUENCY**2) & (roots[np.abs(U).argmax(axis=0)] > 0)
    return [DIRECTIONS[k] for k in np.abs(U[:, singular]).argmax(axis=0)]
