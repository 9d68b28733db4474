# SPDX-License-Identifier: Apache-2.0
"""Posture, load and external force of the viewed robot: one immutable value, checked on change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.start_posture import start_posture
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses
from robot_dynamics.core.model.joint_values import words_of
from robot_dynamics.core.model.robot_model import RobotModel

MOTIONS = ('position', 'velocity', 'acceleration')
FREE_RANGE = {True: math.pi, False: 1.0}  # rad or m, of a joint without limits, by `angular`
FAST = 3.0  # rad/s or m/s, of a joint without a velocity limit
PER_SECOND = 4.0  # largest acceleration offered: the velocity limit in a quarter of a second
MASS = 10.0  # kg, largest payload that the page offers
PLACE = 0.3  # of the reach, largest coordinate of its centre of mass
DECIMALS = 4  # of the numbers in the page
MAX_MASS = 1e6  # kg
MAX_DISTANCE = 100.0  # m
MAX_GRAVITY = 1000.0  # m/s^2
MAX_FORCE = 1e6  # N


class ViewError(RobotDynamicsError, ValueError):
    """A value that was set in the page is wrong, or a motion cannot begin."""


@dataclass(frozen=True)
class Load:
    """Gravity and payload: what changes the dynamics."""

    gravity: tuple[float, ...]  # (3,) m/s^2, base frame
    link: str
    mass: float = 0.0  # kg
    com: tuple[float, ...] = (0.0, 0.0, 0.0)  # in the frame of the link, m

    def carried(self, arm: Dynamics) -> Dynamics:
        """Return the dynamics of an arm, without payload, under this load."""
        return arm.with_gravity(self.gravity).with_payload(self.link, self.mass, self.com)


class PayloadRange(NamedTuple):
    """Payloads that the page offers."""

    mass: float  # kg
    distance: float  # m, of the centre of mass from the link's origin, along each axis


@dataclass(frozen=True, eq=False)
class External:
    """What the environment exerts on the robot.

    Attributes:
        torque: (n,) on the joints, N m or N.
        frame: on which the wrench acts.
        wrench: (6,) moment and force in the axes of the frame, N m and N.
        text: what it is, such as 'contact'.
    """

    torque: Array
    frame: str
    wrench: Array
    text: str


@dataclass(frozen=True, eq=False)
class ViewState:
    """What is shown: every browser shows the same.

    Attributes:
        model: the robot without payload.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.
        qdd: (n,) joint accelerations.
        load: gravity and payload.
        force_link: link at whose origin the force acts.
        force: (3,) of the environment on the robot, base axes, N.
        tip: frame of the ellipsoids.
        payload_range: payloads that can be set in the page.
        measured: (n,) measured efforts, N m or N; None without measurement.
        estimated: what a momentum observer estimates; None without one.
        true: the same as it is, of a simulated robot; None if it is unknown.
    """

    model: RobotModel
    q: Array
    qd: Array
    qdd: Array
    load: Load
    force_link: str
    force: Array
    tip: str
    payload_range: PayloadRange
    measured: Array | None = None
    estimated: External | None = None
    true: External | None = None

    @classmethod
    def initial(cls, model: RobotModel) -> ViewState:
        """Return a robot at rest in its start posture, without payload and force.

        Raises:
            ViewError: no link moves.
        """
        links = model.moving_links
        tip = links[-1]
        q, still = start_posture(Dynamics(model)), np.zeros(model.n)
        load = Load(tuple(model.gravity.tolist()), tip)
        offered = PayloadRange(MASS, round(PLACE * reach(model, q), DECIMALS))
        return cls(model, q, still, still, load, tip, np.zeros(3), tip, offered)

    # -- changes, each checked -----------------------------------------------------------------

    def with_joint(self, quantity: str, joint: int, value: object) -> ViewState:
        """Return the state with another position, velocity or acceleration of one joint.

        Raises:
            ViewError: the value is not a number within the joint's range.
        """
        low, high = (float(end[joint]) for end in ranges(self.model)[quantity])
        name = f'joint {self.model.joint_names[joint]!r}: {quantity}'
        vector = self.motion(quantity).copy()
        vector[joint] = number(name, value, low, high)
        return self._with(quantity, vector)

    def with_posture(self, text: str) -> ViewState:
        """Return the state with the positions that a text lists, see `words_of`, at rest.

        Raises:
            ViewError: a word is not a number within the joint's range, or there are not n.
        """
        words = words_of(text)
        n = self.model.n
        if len(words) != n:
            raise ViewError(
                f'the posture has {len(words)} values; expected {n}, for '
                f'{", ".join(self.model.joint_names)}'
            )
        state = self.at_rest()
        for joint, word in enumerate(words):
            state = state.with_joint('position', joint, word)
        return state

    def at_rest(self) -> ViewState:
        """Return the same posture without motion."""
        still = np.zeros(self.model.n)
        return replace(self, qd=still, qdd=still)

    def without_load(self) -> ViewState:
        """Return the state without payload and force, under the gravity of the model."""
        load = Load(tuple(self.model.gravity.tolist()), self.load.link)
        return replace(self, load=load, force=np.zeros(3))

    def with_gravity(self, values: Sequence[object]) -> ViewState:
        """Return the state under another gravity vector, m/s^2. Raises ViewError."""
        gravity = _vector('gravity', values, MAX_GRAVITY, 'm/s^2')
        return replace(self, load=replace(self.load, gravity=gravity))

    def with_payload(self, link: str, mass: object, com: Sequence[object]) -> ViewState:
        """Return the state with another payload: a point mass [kg] at `com` [m] on a link.

        Raises:
            ViewError: a value is not a number within `payload_range`, or no such link moves.
        """
        load = replace(
            self.load,
            link=self._moving('the payload', link),
            mass=number('payload: mass [kg]', mass, 0.0, self.payload_range.mass),
            com=_vector('payload: centre of mass', com, self.payload_range.distance, 'm'),
        )
        return replace(self, load=load)

    def carrying(self, link: str, mass: object, com: Sequence[object]) -> ViewState:
        """Return the state with a payload that was not set in the page, whose range it extends.

        Raises:
            ViewError: the mass is negative, a value is not finite, or no such link moves.
        """
        heavy = number('payload: mass [kg]', mass, 0.0, MAX_MASS)
        place = _vector('payload: centre of mass', com, MAX_DISTANCE, 'm')
        offered = self.payload_range
        extended = PayloadRange(
            max(offered.mass, heavy), max(offered.distance, *(abs(x) for x in place))
        )
        return replace(self, payload_range=extended).with_payload(link, heavy, place)

    def with_force(self, link: str, values: Sequence[object]) -> ViewState:
        """Return the state with another force [N] at the origin of a link. Raises ViewError."""
        force = np.array(_vector('force', values, MAX_FORCE, 'N'))
        return replace(self, force_link=self._moving('the force', link), force=force)

    def with_tip(self, link: str) -> ViewState:
        """Return the state with the ellipsoids at another link. Raises ViewError."""
        return replace(self, tip=self._moving('the ellipsoids', link))

    def _moving(self, what: str, link: str) -> str:
        links = self.model.moving_links
        if link not in links:
            raise ViewError(f'{what}: link {link!r} does not move; expected {", ".join(links)}')
        return link

    def motion(self, quantity: str) -> Array:
        """Return positions, velocities or accelerations (n,), by their name in `MOTIONS`."""
        return dict(zip(MOTIONS, (self.q, self.qd, self.qdd), strict=True))[quantity]

    def _with(self, quantity: str, vector: Array) -> ViewState:
        if quantity == 'position':
            return replace(self, q=vector)
        return replace(self, qd=vector) if quantity == 'velocity' else replace(self, qdd=vector)


# -- values that depend on the robot -----------------------------------------------------------


def ranges(model: RobotModel) -> dict[str, tuple[Array, Array]]:
    """Return the lowest and highest position, velocity and acceleration offered, (n,) each."""
    free = np.where(model.angular, FREE_RANGE[True], FREE_RANGE[False])
    bounded_below, bounded_above = np.isfinite(model.lower), np.isfinite(model.upper)
    lower = np.where(bounded_below, model.lower, np.where(bounded_above, model.upper, 0.0) - free)
    upper = np.where(bounded_above, model.upper, np.where(bounded_below, model.lower, 0.0) + free)
    speed = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, FAST)
    rate = PER_SECOND * speed
    return {
        'position': (lower, upper),
        'velocity': (-speed, speed),
        'acceleration': (-rate, rate),
    }


def reach(model: RobotModel, q: Array) -> float:
    """Return the distance of the farthest frame from the base at the positions q (n,), m."""
    return max(float(np.linalg.norm(frame_origins(model, q), axis=1).max()), 1e-3)


def frame_origins(model: RobotModel, q: Array) -> Array:
    """Return the origins (k, 3) of joints and frames at the positions q (n,), base frame, m."""
    poses = body_poses(model, q)
    points = [poses[i, :3, 3] for i in range(model.nb)]
    for body, placement in zip(model.frame_body, model.frame_placement, strict=True):
        T = poses[body] if body >= 0 else np.eye(4)
        points.append((T @ placement)[:3, 3])
    return np.stack(points)


def number(name: str, value: object, low: float, high: float) -> float:
    """Return a value as a number within a range, whose ends may be rounded as in the page.

    Raises ViewError, which names the value.
    """
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ViewError(f'{name} is {value!r}; expected a number') from None
    for end in (low, high):
        if result == round(end, DECIMALS):
            result = end
    if not low <= result <= high:
        raise ViewError(f'{name} is {result:g}; expected {low:g} to {high:g}')
    return result


def _vector(name: str, values: Sequence[object], limit: float, unit: str) -> tuple[float, ...]:
    if len(values) != 3:
        raise ViewError(f'{name} has {len(values)} values; expected three, in {unit}')
    axes = zip('xyz', values, strict=True)
    return tuple(number(f'{name} {axis} [{unit}]', value, -limit, limit) for axis, value in axes)
