# SPDX-License-Identifier: Apache-2.0
"""Samples of the motion of the base, from what sensors and controllers send.

Sensors are fixed to the base; vectors are in the axes of the sensor. A measurement that no base
can have, or that contradicts gravity, is rejected with a reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import BaseMotionSettings, MotionSample
from robot_dynamics.control.filters import LowPass
from robot_dynamics.core.base_motion import BaseMotion

# Beyond the ranges of inertial sensors, and far from overflow.
FASTEST, FASTEST_POINT = 100.0, 100.0  # rad/s and m/s
STEEPEST, HARDEST = 1e4, 1e3  # rad/s^2 and m/s^2

REST_TIME = 0.5  # s without motion, after which the acceleration is compared with gravity
REST_RATE, REST_CHANGE = 0.1, 0.5  # rad/s and m/s^2: less is no motion
NEAR, NEAR_LEAST = 0.1, 0.5  # of gravity, and m/s^2: error of a sensor at rest
AMONG = 2.0  # times gravity, or that part of it: a sensor that may move
UPRIGHT = 0.3  # of gravity: error of an attitude
LEAN = np.pi / 3  # rad, of a base at the beginning: more is a sensor mounted otherwise


class BaseMotionError(RobotDynamicsError, ValueError):
    """A measurement of the motion of the base is rejected."""


class Mounting(NamedTuple):
    """Pose of a sensor in the base frame."""

    orientation: Array  # (3, 3) R_bs
    position: Array  # (3,) m


class InertialSource:
    """Motions of the base from an inertial sensor."""

    def __init__(self, settings: BaseMotionSettings):
        """Begin without samples."""
        self.settings = settings
        self.restart()

    def restart(self) -> None:
        """Begin anew with the next measurement."""
        self._stamps, self._filter, self._weight = _Stamps(), LowPass(), WeightCheck()
        self._stands = False  # whether the direction of gravity was once as expected

    def add(
        self,
        stamp: int,
        angular_velocity: ArrayLike,
        proper_acceleration: ArrayLike,
        mounting: Mounting,
        gravity: ArrayLike,
        attitude: ArrayLike | None = None,
        base_gravity: ArrayLike | None = None,
    ) -> MotionSample | None:
        """Return the motion of the base; None of the first measurement, and after a gap.

        An attitude that disagrees with the acceleration is not used.

        Args:
            stamp: ns.
            angular_velocity: (3,) rad/s.
            proper_acceleration: (3,) m/s^2.
            mounting: of the sensor.
            gravity: (3,) gravity vector in the world, m/s^2.
            attitude: (3, 3) R_ws of the sensor in the world, if it is known.
            base_gravity: (3,) gravity vector in the base frame where the base stands as
                described, of which the first measurements are within 60 degrees; None: unknown.

        Raises:
            BaseMotionError: a value is out of range, the stamp is not later than the last one,
                another sensor sent the last one, or acceleration or attitude contradict gravity.
        """
        w = bounded('angular velocity', angular_velocity, FASTEST, 'rad/s')
        f = bounded('acceleration', proper_acceleration, HARDEST, 'm/s^2')
        weight = None
        if attitude is not None:
            # g_s = R_ws^T g_w
            weight = np.asarray(attitude, dtype=float).T @ np.asarray(gravity, dtype=float)
        step = self._stamps.step(stamp, self.settings.age_limit, mounting)
        if step is None:
            self._filter.reset()
            self._weight = WeightCheck()
        size = float(np.linalg.norm(gravity))
        down = None if self._stands else _down(mounting, base_gravity)
        if fault := self._weight.fault(stamp, w, f, size, weight, down):
            self._filter.reset()
            raise BaseMotionError(fault)
        self._stands = self._stands or self._weight.passed
        found = self._filter.update([*w, *f], step or 0.0, self.settings.low_pass)
        if found is None:
            return None
        (w, f), wd = np.split(found[0], 2), found[1][:3]
        motion = BaseMotion.from_imu(w, f, wd, **mounting._asdict())
        own = None
        if weight is not None and _agrees(f, weight, gravity):
            own = mounting.orientation @ weight
        return MotionSample(stamp, motion.array(), own)


class OdometrySource:
    """Motions of the base from the velocity of a frame that is fixed to it."""

    def __init__(self, settings: BaseMotionSettings):
        """Begin without samples."""
        self.settings = settings
        self.restart()

    def restart(self) -> None:
        """Begin anew with the next measurement."""
        self._stamps, self._filter = _Stamps(), LowPass()
        self._stands = False

    def add(
        self,
        stamp: int,
        twist: ArrayLike,
        attitude: ArrayLike,
        mounting: Mounting,
        gravity: ArrayLike,
        base_gravity: ArrayLike | None = None,
    ) -> MotionSample | None:
        """Return the motion of the base; None of the first measurement, and after a gap.

        Args:
            stamp: ns.
            twist: (6,) angular and linear velocity, in the axes of the frame, rad/s and m/s.
            attitude: (3, 3) R_ws of the frame in the world.
            mounting: of the frame.
            gravity: (3,) gravity vector in the world, m/s^2.
            base_gravity: as for `InertialSource.add`, of the first attitude.

        Raises:
            BaseMotionError: a value is out of range, the stamp is not later than the last one,
                another frame sent the last one, or the attitude contradicts gravity.
        """
        row = np.asarray(twist, dtype=float)
        w = bounded('angular velocity', row[:3], FASTEST, 'rad/s')
        v = bounded('velocity', row[3:], FASTEST_POINT, 'm/s')
        R, place = np.asarray(attitude, dtype=float), mounting._asdict()
        # g_b = R_bs R_ws^T g_w
        weight = mounting.orientation @ (R.T @ np.asarray(gravity, dtype=float))
        if base_gravity is not None and not self._stands:
            if _leans(-weight, base_gravity):
                raise BaseMotionError(
                    f'gravity is {_text(weight)} m/s^2 in the base frame by the orientation, and '
                    f'{_text(np.asarray(base_gravity))} by gravity and base_orientation; '
                    'expected less than 60 degrees between them: an orientation in axes with z '
                    'up (REP 103), and the frame mounted as in the URDF'
                )
            self._stands = True
        step = self._stamps.step(stamp, self.settings.age_limit, mounting)
        if step is None:
            self._filter.reset()
        found = self._filter.update([*w, *v], step or 0.0, self.settings.low_pass)
        if found is None:
            return None
        motion = BaseMotion.from_odometry(*found, R, **place, gravity=gravity)
        return MotionSample(stamp, motion.array(), weight)


class CommandSource:
    """Motions of the base from the reference of its controller, without a filter.

    Accelerations are matched with the angular velocity of the nearest stamp, less than one period
    of the accelerations away.
    """

    def __init__(self, settings: BaseMotionSettings):
        """Begin without samples."""
        self.settings = settings
        self.restart()

    def restart(self) -> None:
        """Begin anew with the next messages."""
        self._of_twists, self._of_accelerations = _Stamps(), _Stamps()
        self._weight = WeightCheck()
        self._twists: list[tuple[int, Array]] = []  # stamp [ns], (3,) in base axes
        self._acceleration: tuple[int, Array, Array, Mounting] | None = None
        self._period = 0  # ns
        self._apart = 0  # ns, between the last acceleration and the angular velocity, unmatched
        self._stands = False

    @property
    def missing(self) -> str:
        """Which part of the motion is missing, or ''."""
        if self._acceleration is None:
            return 'no acceleration belongs to the angular velocities' * bool(self._twists)
        if not self._twists:
            return 'no angular velocity belongs to the accelerations'
        return _unmatched(self._apart) if self._apart else ''

    def add_twist(
        self, stamp: int, angular_velocity: ArrayLike, mounting: Mounting
    ) -> MotionSample | None:
        """Return the motion of the base, if the acceleration that belongs to it is known.

        Args:
            stamp: ns.
            angular_velocity: (3,) rad/s, in the axes of a frame.
            mounting: of the frame.

        Raises:
            BaseMotionError: a value is out of range, or the stamp is not later than the last one.
        """
        w = bounded('angular velocity', angular_velocity, FASTEST, 'rad/s')
        if self._of_twists.step(stamp, self.settings.age_limit) is None:
            self._twists.clear()
            if self._acceleration is not None and not self._near(stamp, self._acceleration[0]):
                self._acceleration = None
        self._twists = [*self._twists[-3:], (stamp, mounting.orientation @ w)]
        return self._matched()

    def add_acceleration(
        self,
        stamp: int,
        angular_acceleration: ArrayLike,
        proper_acceleration: ArrayLike,
        mounting: Mounting,
        gravity: ArrayLike,
        base_gravity: ArrayLike | None = None,
    ) -> MotionSample | None:
        """Return the motion of the base, if the angular velocity that belongs to it is known.

        Args:
            stamp: ns.
            angular_acceleration: (3,) rad/s^2, in the axes of a frame.
            proper_acceleration: (3,) of its origin, likewise: 9.81 upwards at rest, m/s^2.
            mounting: of the frame.
            gravity: (3,) gravity vector in the world, m/s^2.
            base_gravity: as for `InertialSource.add`.

        Raises:
            BaseMotionError: a value is out of range, the stamp is not later than the last one,
                or the acceleration contradicts gravity.
        """
        wd = bounded('angular acceleration', angular_acceleration, STEEPEST, 'rad/s^2')
        f = bounded('acceleration', proper_acceleration, HARDEST, 'm/s^2')
        step = self._of_accelerations.step(stamp, self.settings.age_limit)
        if step is None:
            self._weight = WeightCheck()
            self._twists = [twist for twist in self._twists if self._near(stamp, twist[0])]
        self._period = round((step or 0.0) * SECOND)
        w = self._twists[-1][1] if self._twists else np.zeros(3)
        size = float(np.linalg.norm(gravity))
        down = None if self._stands else _down(mounting, base_gravity)
        if fault := self._weight.fault(stamp, w, f, size, down=down):
            self._acceleration = None
            raise BaseMotionError(fault)
        self._stands = self._stands or self._weight.passed
        self._acceleration = stamp, wd, f, mounting
        return self._matched()

    def _near(self, stamp: int, other: int) -> bool:
        return abs(stamp - other) <= self.settings.age_limit * SECOND

    def _matched(self) -> MotionSample | None:
        if self._acceleration is None or not self._twists:
            return None
        stamp, wd, f, mounting = self._acceleration
        at, w = min(self._twists, key=lambda twist: abs(twist[0] - stamp))
        apart = abs(at - stamp)
        if not self._near(at, stamp):
            raise BaseMotionError(_unmatched(apart))
        self._apart = apart if apart >= self._period else 0
        if self._apart:
            return None
        R = mounting.orientation
        motion = BaseMotion.from_imu(R.T @ w, f, wd, **mounting._asdict())
        return MotionSample(stamp, motion.array())


class WeightCheck:
    """Check whether an acceleration at rest is that of the weight, of one stream.

    Until the sensor has once been at rest, an acceleration of half to twice the weight counts as
    that of a sensor that moves, and others are rejected: that of the first sample, and then the
    mean of each half of a second.

    Attributes:
        passed: whether the sensor has been at rest, with the acceleration of the weight.
    """

    def __init__(self) -> None:
        self.passed = False
        self._all: _Mean | None = None  # of all samples of the present half of a second
        self._rest: _Mean | None = None  # of those of the present rest
        self._rested = False  # whether the fault is that at rest
        self._fault = ''

    def fault(
        self,
        stamp: int,
        w: Array,
        f: Array,
        gravity: float,
        weight: Array | None = None,
        down: Array | None = None,
    ) -> str:
        """Take one measurement; return how the acceleration contradicts the weight, or ''.

        Args:
            stamp: ns.
            w: (3,) angular velocity, rad/s.
            f: (3,) proper acceleration, m/s^2.
            gravity: size of the gravity vector, m/s^2.
            weight: (3,) gravity vector in the axes of the sensor by its attitude, if known.
            down: likewise as base and mounting are described, if it is to be about that.
        """
        if self.passed:
            return ''
        if self._all is None or self._all.seconds(stamp) >= REST_TIME:
            mean = f if self._all is None else self._all.value
            self._all = _Mean(stamp, f)
            if not self._rested:
                self._fault = _fault_in_motion(mean, gravity, down)
        self._all.add(f)
        moves = np.linalg.norm(w) > REST_RATE
        if self._rest is None or moves or np.linalg.norm(f - self._rest.first) > REST_CHANGE:
            self._rest = _Mean(stamp, f)
        self._rest.add(f)
        if self._rest.seconds(stamp) >= REST_TIME:
            self._rested = True
            self._fault = _fault_at_rest(self._rest.value, gravity, weight, down)
            self.passed = not self._fault
        return self._fault


class _Mean:
    """Mean of vectors from a time on."""

    def __init__(self, stamp: int, first: Array):
        self._begun, self.first = stamp, first.copy()
        self._sum, self._count = np.zeros(3), 0

    def add(self, x: Array) -> None:
        self._sum, self._count = self._sum + x, self._count + 1

    def seconds(self, stamp: int) -> float:
        """Return the time until a stamp [ns], s."""
        return (stamp - self._begun) / SECOND

    @property
    def value(self) -> Array:
        return self._sum / self._count


def _fault_in_motion(f: Array, gravity: float, down: Array | None) -> str:
    """Return how an acceleration contradicts the weight even of a base that moves, or ''."""
    size = float(np.linalg.norm(f))
    if not gravity / AMONG - NEAR_LEAST <= size <= AMONG * gravity + NEAR_LEAST:
        return _weightless(size, gravity)
    return _otherwise(f, down)


def _fault_at_rest(f: Array, gravity: float, weight: Array | None, down: Array | None) -> str:
    """Return how the mean acceleration at rest contradicts the weight, or ''."""
    size = float(np.linalg.norm(f))
    if abs(size - gravity) > max(NEAR * gravity, NEAR_LEAST):
        return _weightless(size, gravity)
    if weight is not None and not _agrees(f, weight, gravity):
        return (
            f'acceleration at rest is {_text(f)} m/s^2 and expected as {_text(-weight)} by the '
            'orientation; expected an orientation in axes with z up (REP 103), '
            'orientation_covariance[0] = -1 without one, or base_motion.fallback gravity'
        )
    return _otherwise(f, down)


def _otherwise(f: Array, down: Array | None) -> str:
    """Return how the direction of an acceleration contradicts the mounting, or ''."""
    if down is None or not _leans(f, down):
        return ''
    return (
        f'acceleration is {_text(f)} m/s^2, and at rest {_text(-down)} by gravity, '
        'base_orientation and the pose of the sensor in the URDF; expected less than 60 degrees '
        'between them: a sensor that is mounted as in the URDF, and the base_orientation of the '
        'robot'
    )


def _down(mounting: Mounting, base_gravity: ArrayLike | None) -> Array | None:
    """Return a gravity vector in base axes (3,) in the axes of a sensor, if it is known."""
    if base_gravity is None:
        return None
    return np.asarray(mounting.orientation.T @ np.asarray(base_gravity, dtype=float))


def _leans(f: Array, gravity: ArrayLike) -> bool:
    """Return whether an acceleration is more than `LEAN` from that of a gravity vector."""
    g = np.asarray(gravity, dtype=float)
    return bool(-f @ g < np.cos(LEAN) * np.linalg.norm(f) * np.linalg.norm(g))


def _agrees(f: Array, weight: Array, gravity: ArrayLike) -> bool:
    """Return whether an acceleration is about that of a weight, under this gravity."""
    return bool(np.linalg.norm(f + weight) <= UPRIGHT * np.linalg.norm(gravity))


def _weightless(size: float, gravity: float) -> str:
    """Return what is wrong with the size of an acceleration at rest."""
    cause = ''
    if gravity > 0 and abs(size - 1.0) < NEAR:
        cause = ': it is in multiples of g'
    elif size < NEAR * gravity:
        cause = ': it is without gravity'
    return f'acceleration at rest is {size:.3g} m/s^2; expected {gravity:.3g}{cause}'


class _Stamps:
    """Stamps of one stream of one sensor, which must rise."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._sensor: Mounting | None = None
        self._is_slow = False  # the last step was too long

    def step(self, stamp: int, longest: float, sensor: Mounting | None = None) -> float | None:
        """Return the time since the stamp before, s; None where the stream begins anew.

        It begins anew after a longer step in either direction.

        Raises:
            BaseMotionError: the stamp is not later than the last one, steps are too long, or the
                last one, just before, is of another sensor.
        """
        before = self._last
        step = None if before is None else (stamp - before) / SECOND
        if step is not None and abs(step) <= longest and not _same(sensor, self._sensor):
            raise BaseMotionError(
                'sensors at two poses send measurements; expected one sensor on this topic'
            )
        if step is not None and -longest <= step <= 0.0:
            raise BaseMotionError(
                f'stamp {stamp / SECOND:.6f} s is {-step:.3g} s before the last one; expected '
                'later ones'
            )
        was_slow, self._is_slow = self._is_slow, step is not None and step > longest
        self._last, self._sensor = stamp, sensor
        if step is not None and was_slow and self._is_slow:
            raise BaseMotionError(
                f'messages are {step:.3g} s apart; expected at most {longest:g} s '
                '(base_motion.age_limit)'
            )
        return step if step is not None and 0.0 < step <= longest else None


def _same(one: Mounting | None, other: Mounting | None) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or all(map(np.array_equal, one, other))


def _unmatched(apart: int) -> str:
    return (
        f'acceleration and nearest angular velocity are {apart / SECOND:.3g} s apart; expected '
        'less than a period'
    )


def bounded(name: str, value: ArrayLike, most: float, unit: str) -> Array:
    """Return a vector (3,). Raises ShapeError, or BaseMotionError if a component is beyond it."""
    v = np.array(value, dtype=float)
    if v.shape != (3,):
        raise ShapeError(f'{name} has shape {v.shape}; it must be (3,)')
    if not (np.abs(v) <= most).all():
        raise BaseMotionError(
            f'{name} is {_text(v)} {unit}; expected finite numbers of at most {most:g}'
        )
    return v


def _text(v: Array) -> str:
    return f'({", ".join(f"{x:.3g}" for x in v)})'
