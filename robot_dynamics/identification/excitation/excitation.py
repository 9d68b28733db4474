# SPDX-License-Identifier: Apache-2.0
"""Periodic motions within the limits of a robot, with smooth ramps at both ends.

The motion of each joint is a finite Fourier series. Its path is followed once per period; at both
ends the time along the path is ramped, so that velocities and accelerations rise from zero and
return to it while the arm stays on the path. `excitation_search.excite` chooses the coefficients.

Source: Swevers, Ganseman, Tükel, De Schutter and Van Brussel, "Optimal robot excitation and
identification", IEEE Trans. Robotics and Automation 13(5), 1997.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.limits import described
from robot_dynamics.control.spline import rest_to_rest
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel

TO_FULL_SPEED = 0.25  # s, to the velocity limit, where no acceleration limit is described
SLOW = 0.2  # of the velocity and acceleration limits, on the way to the start
SHORTEST_APPROACH = 2.0  # s
ROUNDING = 1e-12  # relative
OF_RANGE = 0.05  # of the position range, kept free at either end for tracking errors


class ExcitationError(RobotDynamicsError, ValueError):
    """Limits are missing or allow no motion."""


class Limits(NamedTuple):
    """Limits of a motion, (n,) each, finite."""

    lower: Array  # rad or m
    upper: Array
    velocity: Array  # rad/s or m/s
    acceleration: Array  # rad/s^2 or m/s^2
    effort: Array  # N m or N

    @property
    def centre(self) -> Array:
        """The middle of the position range (n,)."""
        return np.asarray((self.lower + self.upper) / 2)

    @property
    def half(self) -> Array:
        """Half the position range (n,)."""
        return np.asarray((self.upper - self.lower) / 2)


def limits_of(
    model: RobotModel,
    *,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
    velocity: ArrayLike = np.inf,
    acceleration: ArrayLike = np.inf,
    effort: ArrayLike = np.inf,
    velocity_scale: float = 0.8,
    effort_margin: float = 0.2,
) -> Limits:
    """Return the limits of an excitation: those of the model, narrowed by the arguments.

    Args:
        model: the robot, with its limits.
        lower: rad or m, one or (n,); so are the next four. They replace missing limits as well.
        upper: rad or m.
        velocity: rad/s or m/s.
        acceleration: rad/s^2 or m/s^2. Where neither the description nor this gives one, the
            velocity limit is reached in 0.25 s.
        effort: N m or N.
        velocity_scale: share of the velocity limits, and of described acceleration limits, that
            is used.
        effort_margin: share of the effort limits that is kept free, for feedback and errors of
            the model.

    Raises:
        ExcitationError: a joint has no finite limit, no range, or more friction than effort.
    """
    low, high = np.maximum(model.lower, lower), np.minimum(model.upper, upper)
    speed = velocity_scale * np.minimum(model.velocity_limit, velocity)
    torque = (1 - effort_margin) * np.minimum(model.effort_limit, effort)
    for values, quantity, option in (
        (high - low, 'position', '--lower and --upper'),
        (speed, 'velocity', '--velocity'),
        (torque, 'effort', '--effort'),
    ):
        _require(model, np.isfinite(values), f'no {quantity} limit', f'give {option}')
        _require(model, values > 0, f'an empty {quantity} range', f'widen {option}')
    _require(
        model,
        torque > model.coulomb,
        'dry friction beyond the usable effort',
        'give --coulomb or --lock',
    )
    free = OF_RANGE * (high - low)
    own = velocity_scale * described(model)
    fastest = np.minimum(np.where(np.isfinite(own), own, speed / TO_FULL_SPEED), acceleration)
    _require(model, fastest > 0, 'an empty acceleration range', 'widen --acceleration')
    return Limits(low + free, high - free, speed, fastest, torque)


def _require(model: RobotModel, fine: Array, problem: str, cure: str) -> None:
    names = [name for name, good in zip(model.joint_names, fine, strict=True) if not good]
    if names:
        raise ExcitationError(
            f'{", ".join(names)}: {problem} in the description or the options; {cure}'
        )


class Fourier(NamedTuple):
    """A periodic motion: q = centre + sum_k sine_k sin(k w t) + cosine_k cos(k w t)."""

    period: float  # s
    centre: Array  # (n,) rad or m
    sine: Array  # (N, n)
    cosine: Array  # (N, n)

    @classmethod
    def of(cls, period: float, centre: Array, coefficients: Array) -> Fourier:
        """Return the motion of coefficients (2 N, n): those of the sines, then the cosines."""
        half = len(coefficients) // 2
        return cls(period, centre, coefficients[:half], coefficients[half:])

    def begun_at(self, time: float) -> Fourier:
        """Return the same motion, begun at another time [s] of its period."""
        angle = 2 * np.pi / self.period * time * np.arange(1, len(self.sine) + 1)[:, None]
        sine = self.sine * np.cos(angle) - self.cosine * np.sin(angle)
        cosine = self.sine * np.sin(angle) + self.cosine * np.cos(angle)
        return Fourier(self.period, self.centre, sine, cosine)

    @property
    def coefficients(self) -> Array:
        """(2 N, n) sines, then cosines."""
        return np.concatenate([self.sine, self.cosine])

    def at(self, t: Array) -> Reference:
        """Return the motion at the times t (m,) [s], (m, n) each."""
        q, qd, qdd = (B @ self.coefficients for B in basis(t, self.period, len(self.sine)))
        return Reference(self.centre + q, qd, qdd)


def basis(t: Array, period: float, harmonics: int) -> tuple[Array, Array, Array]:
    """Return sines and cosines (m, 2 N) at the times t (m,) and their two time derivatives."""
    w = 2 * np.pi / period * np.arange(1, harmonics + 1)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return (
        np.hstack([sine, cosine]),
        np.hstack([w * cosine, -w * sine]),
        np.hstack([-(w**2) * sine, -(w**2) * cosine]),
    )


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that excites the base parameters.

    Attributes:
        arm: that moves.
        motion: one period.
        repeats: number of periods.
        ramp: time of the ramp at either end, s.
        approach: time of the way to the start, s.
        start: (n,) posture in which the way begins; None if it is the arm's, unknown here.
        limits: that hold, but on an unknown way to the start.
        condition: condition number of the base regressor, friction and offsets eliminated, with
            columns relative to their size at random states within the limits.
        random_conditions: of random motions within the same limits.
        relative_error: geometric mean of the standard errors of the base parameters, relative to
            the median random motion.
        closest: distance of the closest links [m], and their names; None if not checked.
        unchecked: pairs of links whose distance is not checked: see `clearance`.
    """

    arm: Dynamics
    motion: Fourier
    repeats: int
    ramp: float
    approach: float
    start: Array | None
    limits: Limits
    condition: float = np.nan
    random_conditions: Array = field(default_factory=lambda: np.zeros(0))
    relative_error: float = np.nan
    closest: tuple[float, str, str] | None = None
    unchecked: tuple[tuple[str, str], ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The n names of the joints."""
        return self.arm.model.joint_names

    @property
    def duration(self) -> float:
        """Time of the end, s."""
        return self.approach + 2 * self.ramp + self.repeats * self.motion.period

    def sample(self, t: Array) -> Reference:
        """Return the motion at the times t (m,) [s] of the message, (m, n) each.

        At rest at the start until `approach`, if the way to the start is unknown.
        """
        t = np.asarray(np.clip(t, 0.0, self.duration), dtype=float)
        phase, rate, change = self._phase(t - self.approach)
        q, qd, qdd = self.motion.at(phase)
        rate, change = rate[:, None], change[:, None]
        # d/dt q(phase), twice
        q, qd, qdd = q, rate * qd, rate**2 * qdd + change * qd
        if self.start is not None:
            before = t < self.approach
            way = rest_to_rest(t[before] / self.approach)
            first = self.motion.at(np.array([-self.ramp / 2])).q[0]
            for rows, part, order in zip((q, qd, qdd), way, range(3), strict=True):
                rows[before] = np.outer(part, first - self.start) / self.approach**order
            q[before] += self.start
        return Reference(q, qd, qdd)

    def trajectory(self, rate: float = 100.0) -> Trajectory:
        """Return points at a rate [Hz]; without `start` the first is at the time `approach`."""
        begin = 0.0 if self.start is not None else self.approach
        t = np.linspace(begin, self.duration, 1 + round((self.duration - begin) * rate))
        return Trajectory(self.joint_names, t, *self.sample(t))

    def _phase(self, s: Array) -> tuple[Array, Array, Array]:
        """Return the time along the path and its derivatives, s [s] after the approach."""
        end = 2 * self.ramp + self.repeats * self.motion.period
        # The way down is the way up in reverse; it ends at rest, without an error of rounding.
        down = s > end / 2
        s = np.where(down, end - s, s)
        s = np.where(s < ROUNDING * end, 0.0, s)
        u = np.clip(s / self.ramp, 0.0, 1.0)
        rate, change, _ = rest_to_rest(u)
        # Integral of the rate, then at full rate.
        phase = self.ramp * u**4 * (2.5 - 3 * u + u**2) + np.maximum(s - self.ramp, 0.0)
        phase = phase - self.ramp / 2
        last = self.repeats * self.motion.period
        change = change / self.ramp
        return np.where(down, last - phase, phase), rate, np.where(down, -change, change)


def time_of_approach(distance: Array, limits: Limits, jerk: Array | float = np.inf) -> float:
    """Return the time [s] of a slow way of `rest_to_rest` over a distance (n,).

    `jerk` (n,) are limits in rad/s^3 or m/s^3, inf where there are none.
    """
    # Largest derivatives of the way: 15/8, 10/sqrt(3) and 60
    time = max(
        SHORTEST_APPROACH,
        float((15 / 8 * distance / (SLOW * limits.velocity)).max()),
        float(np.sqrt(10 / np.sqrt(3) * distance / (SLOW * limits.acceleration)).max()),
        float(np.cbrt(60 * distance / (SLOW * jerk)).max()),
    )
    return float(np.ceil(10 * time) / 10)
