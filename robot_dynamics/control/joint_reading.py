# SPDX-License-Identifier: Apache-2.0
"""Joint data by name, from the messages of drivers to complete vectors in the model's order.

A `sensor_msgs/JointState` may list joints in any order, with joints of other robots, only some at
a time, without velocities, or with NaN where an interface is missing. Missing values never become
zero: positions and velocities keep their last value for a limited time, and after that there is no
state, or no velocity. Messages are read by attribute, so that this file needs no ROS.

The time of the states never goes back, except by a reset: late states are rejected. So are values
that no joint of the robot can have: a torque computed from them, or a filter that has taken them,
would not be finite (`state_bounds`).
"""

from __future__ import annotations

import copy
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.filters import VelocityFilter
from robot_dynamics.core.model.robot_model import RobotModel

TURNS, RANGES, BESIDE = 10, 10, 1.0  # beyond position limits: turns; ranges of a slide and 1 m
FARTHEST_TURN, FARTHEST_SLIDE = 1e5, 1e3  # rad and m, of joints without position limits
SPEEDS, FASTEST = 10, 1e3  # of the velocity limit; rad/s or m/s, of joints without one
NO_LIMIT = 1e6  # a range [rad or m] or velocity limit above this counts as none


class JointDataError(RobotDynamicsError, ValueError):
    """A message of joint data is rejected: it is inconsistent, or not finite."""


class JointReading(NamedTuple):
    """A complete state of the robot at one time, in the model's joint order."""

    stamp: int  # ns, the newest of its joints; it goes back only if `restarted`
    q: Array  # (n,) rad or m
    qd: Array | None  # (n,) rad/s or m/s; None where a velocity is missing and not estimated
    effort: Array | None  # (n,) N m or N; None where an effort is missing
    restarted: bool = False  # time was reset since the reading before


class StateBounds(NamedTuple):
    """Positions and velocities that a joint of a robot may have, in the model's joint order."""

    lower: list[float]  # n, rad or m
    upper: list[float]
    speed: list[float]  # n, rad/s or m/s, largest in either direction


@functools.lru_cache(maxsize=8)
def state_bounds(model: RobotModel) -> StateBounds:
    """Return bounds of what may be received: far beyond the limits, and finite without limits.

    A joint may be beyond its limits, and count turns. A missing limit, a range without extent and
    one above NO_LIMIT give fixed bounds.
    """
    width, angular, most = model.upper - model.lower, model.angular, model.velocity_limit
    limited = (width > 0) & (width <= NO_LIMIT)
    beside = np.where(angular, TURNS * 2 * np.pi, RANGES * np.where(limited, width, 0.0) + BESIDE)
    farthest = np.where(angular, FARTHEST_TURN, FARTHEST_SLIDE)
    return StateBounds(
        np.where(limited, model.lower - beside, -farthest).tolist(),
        np.where(limited, model.upper + beside, farthest).tolist(),
        np.where((most > 0) & (most <= NO_LIMIT), SPEEDS * most, FASTEST).tolist(),
    )


class JointMap:
    """Indices of the model's joints in a list of names."""

    def __init__(self, joint_names: tuple[str, ...]):
        self.joint_names = tuple(joint_names)
        self._names: list[str] | None = None
        self._places: list[int] = []
        self._joints: list[int] = []

    def places(self, names: list[str]) -> tuple[list[int], list[int]]:
        """Return (places, joints): entry places[k] of the message is joint joints[k], ascending.

        Raises JointDataError if a joint is named twice.
        """
        if names != self._names:  # the same list arrives a thousand times a second
            found = [name for name in names if name in self.joint_names]
            if len(set(found)) != len(found):
                twice = sorted({name for name in found if found.count(name) > 1})
                raise JointDataError(f'joint {", ".join(twice)} is named more than once')
            known = [name for name in self.joint_names if name in found]
            self._places = [names.index(name) for name in known]
            self._joints = [self.joint_names.index(name) for name in known]
            self._names = list(names)
        return self._places, self._joints

    def complete(self, names: list[str], values: Any, quantity: str) -> Array:
        """Return one finite value for every joint of the model, by name.

        Raises:
            JointDataError: a joint is missing, unknown or named twice, the sizes differ, or a
                value is not finite.
        """
        unknown = [name for name in names if name not in self.joint_names]
        missing = [name for name in self.joint_names if name not in names]
        if unknown or missing:
            raise JointDataError(
                f'{quantity} must name {", ".join(self.joint_names)}: '
                f'missing {", ".join(missing) or "none"}, unknown {", ".join(unknown) or "none"}'
            )
        if len(values) != len(names):
            raise JointDataError(f'{quantity} has {len(values)} values for {len(names)} names')
        places, _ = self.places(list(names))
        return finite(np.asarray(values, dtype=float)[places], self.joint_names, quantity)


def finite(values: Array, joint_names: tuple[str, ...], quantity: str) -> Array:
    """Return the values; raise JointDataError, which names the joints, if one is not finite."""
    if not all(map(math.isfinite, values.flat)):
        good = np.isfinite(values)
        bad = ', '.join(
            f'{name} = {value}'
            for name, value, ok in zip(joint_names, values, good, strict=True)
            if not ok
        )
        raise JointDataError(f'{quantity} must be finite: {bad}')
    return values


class JointStateReader:
    """Collects joint states into states of the whole robot.

    Values are kept in lists, which are faster than arrays for the few joints of an arm.
    """

    def __init__(
        self,
        model: RobotModel,
        input_timeout: float,
        velocities: VelocityFilter | None = None,
    ):
        """Begin without values.

        Args:
            model: the robot, for its joints and their bounds.
            input_timeout: how long a value is held, and how late a state may be without being
                a reset, s of the stamps' time.
            velocities: estimates velocities that a message lacks; None: they stay unknown.
        """
        self._map = JointMap(model.joint_names)
        self._bounds = tuple(zip(*state_bounds(model), strict=True))  # of each joint
        self.adjust(input_timeout, velocities)
        self._restarted = False
        self.reset()

    def adjust(self, input_timeout: float, velocities: VelocityFilter | None) -> None:
        """Continue with other settings."""
        self._timeout = round(input_timeout * SECOND)
        self._velocities = velocities

    def reset(self) -> None:
        """Drop all values."""
        n = len(self._map.joint_names)
        self._last = self._late = -1  # newest stamp; stamp of a state rejected as late since then
        # Positions, velocities, efforts; NaN: not received.
        self._values = [[math.nan] * n for _ in range(3)]
        self._stamps = [-1] * n
        self._velocity_stamps = [-1] * n

    def missing(self) -> list[str]:
        """Return the joints without a position, or with one older than the timeout."""
        return [
            name
            for name, position, stamp in zip(
                self._map.joint_names, self._values[0], self._stamps, strict=True
            )
            if math.isnan(position) or self._last - stamp > self._timeout
        ]

    def read(self, message: Any, stamp: int) -> JointReading | None:
        """Read a message; return the state, or None while joints are missing or too old.

        Args:
            message: has `name`, `position`, `velocity` and `effort`, as JointState.
            stamp: its time in ns. A message older than the last one of a joint is late; older by
                more than the timeout, or late twice with the same stamp, it is a reset (of a
                simulation, a bag played again) and invalidates all values before. Messages of
                different drivers may overtake each other.

        Raises:
            JointDataError: the message is rejected as a whole, and why: it is inconsistent, late,
                or has a value, or leads to an estimated velocity, beyond `state_bounds`.
        """
        places, joints = self._map.places(message.name)
        if not joints:
            return None  # a gripper's, or another robot's
        rows = self._checked(message, places, joints)
        if stamp < self._last:
            self._check_time(stamp, max(self._stamps[joint] for joint in joints))
        if stamp > self._last:
            self._last, self._late = stamp, -1
        if len(joints) == len(self._stamps) and all(map(math.isfinite, rows[1])):
            # The whole robot, in the model's order.
            self._stamps, self._velocity_stamps = [stamp] * len(joints), [stamp] * len(joints)
            self._values = rows
        else:
            self._hold(joints, stamp, rows)
            if self.missing():
                return None
        # `_checked` has rejected positions that are not finite.
        q = np.array(self._values[0])
        qd = self._velocity(q)
        restarted, self._restarted = self._restarted, False
        return JointReading(self._last, q, qd, _if_given(self._values[2]), restarted)

    def _velocity(self, q: Array) -> Array | None:
        """Return velocities (n,): the last measured ones, or those estimated from positions q."""
        is_old = self._last - min(self._velocity_stamps) > self._timeout
        held = None if is_old else _if_given(self._values[1])
        if self._velocities is None or self._velocity_stamps == self._stamps:
            return held
        after = copy.copy(self._velocities)
        estimated = after.update(self._last / SECOND, q)
        if held is None and estimated is not None:
            for joint, (value, (*_, most)) in enumerate(zip(estimated, self._bounds, strict=True)):
                if abs(value) > most:
                    # The filter keeps its state, and the position counts as not received.
                    self._values[0][joint] = math.nan
                    raise self._beyond(joint, 'estimated velocity', value, -most, most)
        self._velocities = after
        return estimated if held is None else held

    def _check_time(self, stamp: int, before: int) -> None:
        """Reset if a stamp is far before the last one of its joints; reject it if it is late."""
        if stamp >= before:
            return
        # A simulation that was reset early, and waits for an answer, repeats its state.
        if before - stamp > self._timeout or stamp == self._late:
            self.reset()
            self._restarted = True
            return
        self._late = stamp
        raise JointDataError(
            f'the stamp {stamp / SECOND:.6f} s is {(before - stamp) / 1e6:g} ms before that of '
            'the last state; expected later ones, or a reset by more than '
            f'{self._timeout / SECOND:g} s'
        )

    def _checked(self, message: Any, places: list[int], joints: list[int]) -> list[list[float]]:
        """Return positions, velocities and efforts of the joints, NaN for what is not given."""
        count = len(message.name)
        given = message.position, message.velocity, message.effort
        if len(given[0]) != count:
            raise JointDataError(f'{len(given[0])} positions for {count} joint names')
        for quantity, values in zip(('velocity', 'effort'), given[1:], strict=True):
            if len(values) not in (0, count):
                raise JointDataError(
                    f'{len(values)} entries of {quantity} for {count} joint names; '
                    f'there must be {count}, or none'
                )
        rows = [
            [values[place] for place in places] if len(values) else [math.nan] * len(places)
            for values in given
        ]
        if not all(map(math.isfinite, rows[0])):
            names = tuple(self._map.joint_names[joint] for joint in joints)
            finite(np.array(rows[0]), names, 'position')
        for joint, position, velocity in zip(joints, *rows[:2], strict=True):
            lower, upper, most = self._bounds[joint]
            if not lower <= position <= upper:
                raise self._beyond(joint, 'position', position, lower, upper)
            # A velocity that is not finite is missing.
            if most < abs(velocity) < math.inf:
                raise self._beyond(joint, 'velocity', velocity, -most, most)
        return rows

    def _beyond(
        self, joint: int, quantity: str, value: float, lower: float, upper: float
    ) -> JointDataError:
        return JointDataError(
            f'joint {self._map.joint_names[joint]!r}: {quantity} is {value:g}; expected '
            f'{lower:g} to {upper:g}, far beyond its limits'
        )

    def _hold(self, joints: list[int], stamp: int, rows: list[list[float]]) -> None:
        """Use the values of some joints; velocities that are not given keep their last value."""
        positions, velocities, efforts = self._values
        for joint, position, velocity, effort in zip(joints, *rows, strict=True):
            self._stamps[joint], positions[joint], efforts[joint] = stamp, position, effort
            if math.isfinite(velocity):
                self._velocity_stamps[joint], velocities[joint] = stamp, velocity


def _if_given(values: list[float]) -> Array | None:
    # joint_state_broadcaster writes NaN where the hardware has no such interface.
    return np.array(values) if all(map(math.isfinite, values)) else None


class StampRateLimit:
    """Limits how often joint states are answered, by their stamps."""

    def __init__(self, rate: float, repeat: bool = False):
        """Begin.

        Args:
            rate: answers per second of the stamps' time; 0: no limit.
            repeat: whether a stamp that is the same as the last one is answered again.
        """
        self._period = SECOND / rate if rate > 0 else 0.0
        self._repeat = repeat
        self._last: int | None = None

    def is_due(self, stamp: int) -> bool:
        """Return whether a state with this stamp [ns] is answered, and count it as answered then.

        Stamps that go back (a reset, a bag played again) restart the limit.
        """
        if self._last is not None and 0 <= stamp - self._last < self._period:
            return self._repeat and stamp == self._last
        self._last = stamp
        return True
