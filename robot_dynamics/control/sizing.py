# SPDX-License-Identifier: Apache-2.0
"""Load of the drives along a motion, drives of a catalogue that bear it, and largest payloads.

A drive turns r times per turn of its joint. Its joint needs

    tau = M qdd + C qd + g + F  +  (r^2 I_m - B) qdd

where B is the rotor inertia of the model, which that of the drive replaces. The drive bears the
motion if

    max |tau| <= r tau_peak,   rms tau <= r tau_rated,   r max |qd| <= w_max.

The rms stands for the heat of the windings, which grows with the square of the current. Losses of
the gear are those of the friction of the joint.

The energy that the drives supply is that of the arm and of friction: int qd^T tau = dE + losses.
Where qd tau < 0 a joint brakes, and its drive returns or dissipates the energy.

Source: Siciliano, Sciavicco, Villani and Oriolo 2009, sections 5.1 and 7.2.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import spline
from robot_dynamics.control.feasibility import MOST_SAMPLES, STEP
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.friction.memory import FrictionModel
from robot_dynamics.core.model.joint_values import at_least_zero

# Gauss-Lobatto points of [0, 1] and their weights: both ends, exact to degree 5.
POINTS = np.array([0.0, (1 - 1 / math.sqrt(5)) / 2, (1 + 1 / math.sqrt(5)) / 2, 1.0])
WEIGHTS = np.array([1.0, 5.0, 5.0, 1.0]) / 12
ROUNDING = 1e-9  # relative, of a load at a limit
BLOCK = 2000  # postures whose terms stay in the processor's cache: four times as fast as all


class CatalogueError(ModelError):
    """A catalogue of drives cannot be read."""


class Drive(NamedTuple):
    """A drive of a catalogue: torques and inertia at the shaft of its motor."""

    name: str
    peak: float  # N m
    rated: float  # N m, in continuous operation
    speed: float  # rad/s
    inertia: float  # kg m^2
    ratio: float  # turns of the motor per turn of the joint; of a slide, rad/m


class SampledMotion(NamedTuple):
    """A motion at k instants."""

    t: Array  # (k,) s
    q: Array  # (k, n) rad or m; so are the others
    qd: Array
    qdd: Array
    weights: Array  # (k,) s, of the integral over time

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory) -> SampledMotion:
        """Sample a trajectory between its first and its last point."""
        T = np.diff(trajectory.times)
        if not len(T):
            return cls.of_samples(trajectory.times, *trajectory.at_waypoints())
        number = np.ceil(T / max(STEP, trajectory.duration / MOST_SAMPLES)).astype(int)
        k = np.repeat(np.arange(len(T)), number)
        h = (T / number)[k, None]
        first = np.cumsum(number) - number
        s = h * ((np.arange(len(k)) - first[k])[:, None] + POINTS)
        t = (trajectory.times[k, None] + s).ravel()
        segments = np.repeat(k, len(POINTS))
        q, qd, qdd = spline.evaluate(trajectory.polynomials[:, segments], s.ravel())
        return cls(t, q, qd, qdd, (h * WEIGHTS).ravel())

    @classmethod
    def of_samples(cls, t: Array, q: Array, qd: Array, qdd: Array) -> SampledMotion:
        """Return samples without a gap, weighted by the trapezoidal rule."""
        half = np.diff(t) / 2
        return cls(t, q, qd, qdd, np.append(half, 0.0) + np.append(0.0, half))

    def followed_by(self, other: SampledMotion) -> SampledMotion:
        """Return the samples of both."""
        return SampledMotion(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    @property
    def duration(self) -> float:
        """Total time, s."""
        return float(self.weights.sum())

    def root_mean_square(self, x: Array) -> Array:
        """Return that over time of x (k, n), (n,); a single instant is at rest for any time."""
        shares = self.weights / self.duration if self.duration > 0 else np.ones(len(x)) / len(x)
        return np.asarray(np.sqrt(shares @ x**2))


@dataclass(frozen=True, eq=False)
class DriveLoad:
    """What a motion demands of the drives of n joints.

    Attributes:
        motion: k samples.
        torque: (k, n) of the drives, friction included, N m or N.
        rms, peak: (n,) of the torque; the peak has the sign of the torque.
        rms_speed, speed: (n,) root mean square and largest velocity, rad/s or m/s.
        power, braking_power: (n,) largest power supplied, and taken up by the drive, W.
        supplied, braking: (n,) energy supplied where qd tau > 0, and taken up where it is < 0, J.
        losses: (n,) work of friction, J.
    """

    motion: SampledMotion
    torque: Array
    rms: Array
    peak: Array
    rms_speed: Array
    speed: Array
    power: Array
    braking_power: Array
    supplied: Array
    braking: Array
    losses: Array

    @property
    def work(self) -> float:
        """Work of all drives, the integral of qd^T tau, J."""
        return float((self.supplied - self.braking).sum())

    @property
    def total_power(self) -> tuple[float, float]:
        """Largest power that all drives together supply, and take up, W."""
        power = (self.motion.qd * self.torque).sum(axis=1)
        return float(power.max(initial=0.0)), float((0.0 - power).max(initial=0.0))


def drive_load(
    arm: Dynamics, motion: SampledMotion, friction: FrictionModel | None = None
) -> DriveLoad:
    """Return what a motion demands of the drives of an arm.

    Args:
        arm: with its payload and rotors.
        motion: joints in the order of the model.
        friction: of the joints; that of the model if None.
    """
    rigid = arm.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    return _load(motion, rigid, friction or _described(arm))


def _described(arm: Dynamics) -> FrictionModel:
    """Return the friction of the model."""
    return coulomb_friction(arm.model.viscous, arm.model.coulomb)


def _load(motion: SampledMotion, rigid: Array, friction: FrictionModel) -> DriveLoad:
    """Return the load of torques (k, n) without friction."""
    resisting = friction.torque(motion.qd, rigid)
    torque = rigid + resisting
    power = motion.qd * torque
    columns = np.arange(torque.shape[1])
    return DriveLoad(
        motion=motion,
        torque=torque,
        rms=motion.root_mean_square(torque),
        peak=torque[np.abs(torque).argmax(axis=0), columns],
        rms_speed=motion.root_mean_square(motion.qd),
        speed=np.abs(motion.qd).max(axis=0),
        power=np.maximum(power, 0.0).max(axis=0),
        braking_power=np.maximum(-power, 0.0).max(axis=0),
        supplied=motion.weights @ np.maximum(power, 0.0),
        braking=motion.weights @ np.maximum(-power, 0.0),
        losses=motion.weights @ (motion.qd * resisting),
    )


# -- drives of a catalogue ----------------------------------------------------------------------


class Fit(NamedTuple):
    """Used shares of the limits of a drive, at each of n joints."""

    drive: Drive
    peak: Array  # (n,)
    rated: Array
    speed: Array

    @property
    def used(self) -> Array:
        """(n,) the largest of the shares."""
        return np.asarray(np.max([self.peak, self.rated, self.speed], axis=0))

    @property
    def fits(self) -> Array:
        """(n,) bool: the drive bears the motion."""
        return np.asarray(self.used <= 1 + ROUNDING)


def fit_drives(
    arm: Dynamics,
    motion: SampledMotion,
    drives: list[Drive],
    friction: FrictionModel | None = None,
) -> list[Fit]:
    """Return how each drive bears the motion at each joint; arguments as `drive_load`."""
    rigid = arm.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    law = friction or _described(arm)
    found = []
    for drive in drives:
        r = drive.ratio
        # tau + (r^2 I_m - B) qdd
        rotor = r**2 * drive.inertia - arm.model.reflected_inertia
        load = _load(motion, rigid + rotor * motion.qdd, law)
        shares = (
            np.abs(load.peak) / (r * drive.peak),
            load.rms / (r * drive.rated),
            r * load.speed / drive.speed,
        )
        found.append(Fit(drive, *shares))
    return found


def read_drives(file: Path) -> list[Drive]:
    """Return the drives of a CSV file with the columns of `Drive`; others are ignored.

    Raises:
        CatalogueError: a column is missing, a value is not a number in its range, a name is used
            twice, or there is no drive; with file and line.
        OSError: the file cannot be read.
    """
    with file.open(encoding='utf-8-sig', errors='replace', newline='') as stream:
        rows = csv.DictReader(stream, skipinitialspace=True)
        heads = [head.strip().lower() for head in rows.fieldnames or ()]
        rows.fieldnames = heads
        if missing := [name for name in Drive._fields if name not in heads]:
            raise CatalogueError(
                f'{file}: no column {missing[0]}; expected {",".join(Drive._fields)}: torques '
                '[N m], speed [rad/s] and inertia [kg m^2] at the shaft of the motor, and turns '
                'of the motor per turn of the joint'
            )
        drives = [_drive(f'{file}, line {rows.line_num}', row) for row in rows]
    names = [drive.name for drive in drives]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise CatalogueError(f'{file}: drive {repeated[0]!r} is there twice; expected one')
    if not drives:
        raise CatalogueError(f'{file}: no drives')
    return drives


def _drive(where: str, row: dict[str, str]) -> Drive:
    """Return the drive of a line."""
    values = []
    for name in Drive._fields[1:]:
        text = (row[name] or '').strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and (value > 0 or (name == 'inertia' and value == 0))):
            expected = 'at least 0' if name == 'inertia' else 'a positive number'
            raise CatalogueError(f'{where}, {name}: {text!r}; expected {expected}')
        values.append(value)
    return Drive((row['name'] or '').strip(), *values)


# -- the largest payload ------------------------------------------------------------------------


class LargestPayload(NamedTuple):
    """The largest payload that the efforts bear, in k postures."""

    mass: Array  # (k,) kg; 0 where the arm alone exceeds a limit; inf where none bounds it
    joint: Array  # (k,) index of the joint that bounds it


def largest_payload(
    arm: Dynamics,
    q: Array,
    link: str,
    com: ArrayLike = (0.0, 0.0, 0.0),
    acceleration: ArrayLike = 0.0,
    friction: FrictionModel | None = None,
) -> LargestPayload:
    """Return the largest point mass within the effort limits of the model, from rest.

    Torques are linear in the mass m of the payload, g + m g' and M + m M'. Every joint may
    accelerate at once, in either direction, so that

        |g_i + m g'_i| + sum_j |M_ij + m M'_ij| a_j <= limit_i.

    The left side is convex and piecewise linear in m: Newton's method from the right finds the
    largest m in as many steps as there are pieces. With an acceleration, joints overcome their
    dry friction as well, (limit - c - s) / (1 + k) by the coefficients of the law; at rest,
    friction only helps.

    Args:
        arm: without the payload.
        q: (k, n) postures, rad or m.
        link: that carries the payload.
        com: (3,) its centre of mass in the frame of the link, m.
        acceleration: of the joints, one or (n,), rad/s^2 or m/s^2; 0: at rest.
        friction: of the joints; that of the model if None.

    Raises:
        FrameNotFound, ModelError: of `link` or a value; or no joint has an effort limit.
    """
    model = arm.model
    a = at_least_zero('acceleration', acceleration, model.joint_names)
    if not np.isfinite(model.effort_limit).any():
        raise ModelError(
            f'{model.name!r} has no effort limits, so that any payload is within them; expected '
            'a limit for one joint at least'
        )
    limit = model.effort_limit
    if a.any():
        of = (friction or _described(arm)).coefficients
        c, s, k = (of.get(name, np.zeros(())) for name in ('coulomb', 'stribeck', 'load'))
        limit = (limit - c - s) / (1 + k)
    arms = [arm.with_payload(link, mass, com) for mass in (0.0, 1.0)]
    parts = []
    for block in np.split(q, range(BLOCK, len(q), BLOCK)):
        # Terms x + m y of joint i, (n + 1, n, k): gravity, then the inertia of each joint.
        x, one = (_terms(one, block, a) for one in arms)
        parts.append(_largest(x, one - x, limit[:, None]))
    return LargestPayload(*map(np.concatenate, zip(*parts, strict=True)))


def _terms(arm: Dynamics, q: Array, a: Array) -> Array:
    """Return g, and the columns of M a, (n + 1, n, k); g alone, (1, n, k), at rest."""
    g = np.ascontiguousarray(arm.gravity_torque(q).T)[None]
    if not a.any():
        return g
    return np.concatenate([g, (arm.mass_matrix(q) * a).transpose(2, 1, 0)])


def _largest(x: Array, y: Array, limit: Array) -> LargestPayload:
    """Return the largest m >= 0 with sum |x + m y| <= limit (n, 1), of (terms, n, k) each."""
    # Rounding of terms that do not depend on the payload.
    size = np.abs(y)
    y = np.where(size <= 16 * np.finfo(float).eps * (np.abs(x) + size), 0.0, y)
    with np.errstate(divide='ignore', invalid='ignore'):
        # A term |x + m y| falls with m up to its zero; the last zero begins the last piece.
        zero = np.where(y != 0, -x / y, 0.0)
        m = zero.max(axis=0, initial=0.0)
        for _ in range(2 * len(x) + 1):  # a step ends on another piece or its end
            slope = np.where(m >= zero, np.abs(y), -np.abs(y)).sum(axis=0)
            excess = np.abs(x + m * y).sum(axis=0) - limit
            m = np.where(slope > 0, m - excess / slope, 0.0)
            if (excess <= ROUNDING * np.abs(limit)).all():
                break
    m = np.where(np.isinf(limit) | ~y.any(axis=0), np.inf, m)
    alone = np.abs(x).sum(axis=0) > limit * (1 + ROUNDING)
    m = np.where(alone, 0.0, np.maximum(m, 0.0))
    return LargestPayload(m.min(axis=0), m.argmin(axis=0))
