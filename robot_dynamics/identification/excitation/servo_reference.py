# SPDX-License-Identifier: Apache-2.0
"""References of positions that excite position servos, for an identification without efforts.

    found = excite_servo(Dynamics(model), limits_of(model), seed=0)
    found.trajectory()

| part | share | shows |
|---|---|---|
| chirp from 0.1 to 4 Hz, up on one joint and down on the next | 0.45 | inertia, damping, delay |
| steps, as steep as the velocity limit allows | 0.25 | torque limit, delay |
| slow ramps and rests | 0.225 | Coulomb friction, gravity |
| rests at the beginning and the end | 0.075 | resolution, noise |

All joints move at once, between rests in the middle. Positions and velocities are within the
limits; accelerations are in the chirp, and not where steps and ramps begin and end. A servo lags
behind its reference, by another time on each joint: links keep their distance in all postures of
the ranges in use, not on the path alone.

Source: the parts are those of a study by simulation, in which chirp, steps and slow ramps together
gave each of damping, inertia, Coulomb friction and torque limit per stiffness to 0.4 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.spline import rest_to_rest
from robot_dynamics.control.trajectory import LINEAR, Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.excitation import (
    ExcitationError,
    Limits,
    time_of_approach,
)

SHARES = {'rest': 0.0375, 'chirp': 0.45, 'steps': 0.25, 'slow': 0.225}  # of the duration, in turn
LOWEST, HIGHEST = 0.1, 4.0  # Hz, of the chirp
USED = 0.9  # of the velocity limit in a chirp, whose amplitude changes, too
LARGEST = 0.5  # rad, or of half the range of a prismatic joint: amplitude of all parts
SLOW_TIME = 2.0  # s, of a slow ramp over the amplitude
FADE = 0.5  # s, at both ends of a chirp
SLOW_FADE = 0.25  # of a chirp, at its low frequencies
SHARP = 16.0  # exponent of a smooth minimum
HOLDS = {'steps': (0.5, 1.2), 'slow': (0.3, 1.0)}  # s, between moves
SHORTEST = 10.0  # s
CENTRES, SIZES, SMALLEST = 40, 8, 0.1
ON_WAY = 200  # postures
FEW = 20
POSTURES = 1000  # of the ranges in use, in which distances are checked


@dataclass(frozen=True, eq=False)
class ServoExcitation:
    """A reference for position servos.

    Attributes:
        arm: that moves.
        limits: that hold.
        times: (k,) s, of the message: the first is the time of the way to the start.
        q: (k, n) reference, rad or m.
        start: (n,) posture in which that way begins; None if it is the arm's, unknown here.
        centre: (n,) where it rests.
        amplitude: (n,) around it.
        closest: distance of the closest links in the ranges in use [m], and their names.
        unchecked: pairs of links whose distance is not checked: see `clearance`.
    """

    arm: Dynamics
    limits: Limits
    times: Array
    q: Array
    start: Array | None
    centre: Array
    amplitude: Array
    closest: tuple[float, str, str] | None = None
    unchecked: tuple[tuple[str, str], ...] = ()

    @property
    def approach(self) -> float:
        """Time of the way to the start, s."""
        return float(self.times[0])

    def trajectory(self) -> Trajectory:
        """Return the points, straight between them; without `start` from the time `approach`."""
        names = self.arm.model.joint_names
        t, q = self.times, self.q
        if self.start is not None:
            step = t[1] - t[0]
            before = np.arange(round(self.approach / step)) * step
            way = rest_to_rest(before / self.approach)[0][:, None]
            t = np.concatenate([before, t])
            q = np.concatenate([self.start + way * (q[0] - self.start), q])
        return Trajectory(names, t, q, interpolation=LINEAR)


def excite_servo(
    arm: Dynamics,
    limits: Limits,
    *,
    duration: float = 40.0,
    rate: float = 100.0,
    clearance: Clearance | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
) -> ServoExcitation:
    """Return a reference that excites position servos.

    Args:
        arm: the robot.
        limits: of positions, velocities and, in the chirp, accelerations.
        duration: s, 10 or more; 40 s for all quantities.
        rate: of the points, Hz, 10 times that of the chirp or more.
        clearance: distances to be kept; None: none.
        start: (n,) present posture, from which the way to the start is checked.
        seed: of the random numbers.

    Raises:
        ExcitationError: a short duration, a low rate, or no such motion keeps the distances.
    """
    if not (duration >= SHORTEST and rate >= 10 * HIGHEST):
        raise ExcitationError(
            f'duration is {duration:g} s and rate {rate:g} Hz; a reference of servos needs '
            f'{SHORTEST:g} s and {10 * HIGHEST:g} Hz or more'
        )
    rng = np.random.default_rng(seed)
    largest = np.where(arm.model.angular, LARGEST, LARGEST * limits.half)
    amplitude = np.minimum(largest, limits.half)
    centre, amplitude = _with_room(arm, limits, amplitude, clearance, rng)
    begin = None if start is None else np.asarray(start, dtype=float)
    approach = _approach(arm, limits, centre, clearance, begin)
    t = np.arange(round(duration * rate) + 1) / rate
    columns = [
        _reference(t, duration, *of_joint, j % 2 == 0, rng)
        for j, of_joint in enumerate(
            zip(amplitude, limits.velocity, limits.acceleration, strict=True)
        )
    ]
    q = centre + np.column_stack(columns)
    found = ServoExcitation(
        arm, limits, np.ceil(approach * rate) / rate + t, q, begin, centre, amplitude
    )
    if clearance is None:
        return found
    closest = clearance.nearest(arm, np.concatenate([_postures(centre, amplitude, rng), q]))
    return replace(found, closest=closest, unchecked=clearance.unchecked)


def _approach(
    arm: Dynamics,
    limits: Limits,
    centre: Array,
    clearance: Clearance | None,
    start: Array | None,
) -> float:
    """Return the time of the way to the start, s. Raises ExcitationError as `excite_servo`."""
    if start is None:
        most = np.maximum(centre - limits.lower, limits.upper - centre)
        return time_of_approach(most, limits, arm.model.jerk_limit)
    lack, what = (0.0, '') if clearance is None else clearance.lack(arm, _way(start, centre))
    if lack > 0:
        raise ExcitationError(
            f'the straight way from the given start to that of the motion exceeds {what}; begin '
            'in another posture, or try another seed'
        )
    return time_of_approach(np.abs(centre - start), limits, arm.model.jerk_limit)


def _way(start: Array, end: Array) -> Array:
    """Return postures (m, n) on the straight way."""
    return np.asarray(start + np.linspace(0, 1, ON_WAY)[:, None] * (end - start))


def _with_room(
    arm: Dynamics,
    limits: Limits,
    amplitude: Array,
    clearance: Clearance | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return centre and amplitude (n,), as large as distances allow, near the middle of ranges."""
    room = limits.half - amplitude
    spread = rng.uniform(-1, 1, (CENTRES, arm.model.n)) * np.linspace(0, 1, CENTRES)[:, None]
    if clearance is None:
        return limits.centre, amplitude
    best = np.inf, ''
    for size in np.geomspace(1.0, SMALLEST, SIZES):
        for centre in limits.centre + spread * room:
            postures = _postures(centre, size * amplitude, rng)
            # Few postures rule out most ranges.
            lack = clearance.lack(arm, postures[::FEW])
            if lack[0] <= 0:
                lack = clearance.lack(arm, postures)
            if lack[0] <= 0:
                return centre, size * amplitude
            best = min(best, lack)
    raise ExcitationError(
        f'no ranges of {SMALLEST:g} of the usual size or more keep {best[1]}; give other limits, '
        'or --lock joints'
    )


def _postures(centre: Array, amplitude: Array, rng: np.random.Generator) -> Array:
    """Return random postures (m, n) of a range, half of them at its corners."""
    inside = rng.uniform(-1, 1, (POSTURES // 2, len(centre)))
    return np.asarray(centre + amplitude * np.concatenate([inside, np.sign(inside)]))


def _reference(
    t: Array,
    duration: float,
    amplitude: float,
    velocity: float,
    acceleration: float,
    up: bool,
    rng: np.random.Generator,
) -> Array:
    """Return the reference of a joint (k,) around its middle, at the times t (k,)."""
    ends = np.cumsum([share * duration for share in SHARES.values()])
    x = np.zeros(len(t))
    chirp, steps, slow = ((t >= a) & (t < b) for a, b in pairwise(ends))
    x[chirp] = _chirp(t[chirp] - ends[0], ends[1] - ends[0], amplitude, velocity, acceleration, up)
    for name, rows, begin, speed, least in (
        ('steps', steps, ends[1], velocity, 0.7),
        ('slow', slow, ends[2], min(amplitude / SLOW_TIME, velocity), 0.3),
    ):
        time = SHARES[name] * duration
        x[rows] = _moves(t[rows] - begin, time, amplitude, speed, least, HOLDS[name], rng)
    return x


def _chirp(
    t: Array, duration: float, amplitude: float, velocity: float, acceleration: float, up: bool
) -> Array:
    """Return a sine (k,) whose frequency grows exponentially, or falls, within limits."""
    growth = np.log(HIGHEST / LOWEST)
    s = t if up else duration - t
    w = 2 * np.pi * LOWEST * np.exp(growth * s / duration)
    bounds = np.full_like(w, amplitude), USED * velocity / w, USED * acceleration / w**2
    # A minimum without kinks, at which velocities would jump
    size = np.sum(np.array(bounds) ** -SHARP, axis=0) ** (-1 / SHARP)
    # Integral of w
    phase = (w - 2 * np.pi * LOWEST) * duration / growth
    # Where limits are low, a sine of 0.1 Hz begins slowly.
    for fade in (FADE, SLOW_FADE * duration):
        ends = np.clip(np.minimum(s / fade, (duration - s) / FADE), 0.0, 1.0)
        x = rest_to_rest(ends)[0] * size * np.sin(phase)
        excess = _excess(x, t[1] - t[0], velocity, acceleration)
        if excess <= 1:
            break
    return np.asarray(x / max(excess, 1.0))


def _excess(x: Array, step: float, velocity: float, acceleration: float) -> float:
    """Return the largest share of a limit in a motion (k,) with rests at its ends."""
    v = np.diff(x, prepend=0.0, append=0.0) / step
    largest = np.abs(v).max() / velocity, np.abs(np.diff(v)).max() / step / acceleration
    return float(max(largest))


def _moves(
    t: Array,
    duration: float,
    amplitude: float,
    speed: float,
    least: float,
    holds: tuple[float, float],
    rng: np.random.Generator,
) -> Array:
    """Return moves (k,) at a speed between random goals of either sign in turn, with holds."""
    # The first goal, a hold and the way back take less than the time.
    amplitude = min(amplitude, speed * duration / 4)
    times, values, sign = [0.0], [0.0], rng.choice([-1.0, 1.0])
    while True:
        goal = sign * amplitude * rng.uniform(least, 1.0)
        arrival = times[-1] + abs(goal - values[-1]) / speed
        end = arrival + rng.uniform(*holds)
        if end + amplitude / speed > duration:
            break
        times, values, sign = [*times, arrival, end], [*values, goal, goal], -sign
    home = times[-1] + abs(values[-1]) / speed
    return np.asarray(np.interp(t, [*times, home], [*values, 0.0]))
