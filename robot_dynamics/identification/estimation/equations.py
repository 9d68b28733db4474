# SPDX-License-Identifier: Apache-2.0
"""Unknowns and weighted equations of the fit of an arm to one or more recordings.

    effort_j = g_j (Y_j theta + s Y_j E l) + sum_t f_jt phi_jt + o_j + r_j qdd_j

with the drive gains g (1 for torques), the coefficients f of the friction law's features phi, the
offsets o of each recording and the rotor inertias r. Where the arm carries a load (s = 1), l are
its ten parameters in the frame of a link and E l those of the bodies; its mass is known, the rest
may be unknown. Unknown gains make the problem bilinear; the product is linearised at an estimate,

    g Y theta  =  g0 Y theta + g (Y theta0) - g0 Y theta0.

Source: Gautier and Briot, "Global identification of joint drive gains and dynamic parameters of
robots", J. Dyn. Sys., Meas., Control 136(5), 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import FrictionLaw
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.identification.estimation.pseudo_inertia import Bodies

RIDGE = 1e-3  # of a column: fixes what no row determines
SMALLEST_GAIN = 0.05  # of the one at the start: gains are positive


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters of an arm, of its drives, and of what it carries.

    Attributes:
        theta: (10 nb,) inertial parameters.
        X: (nb, 4, 4) pseudo-inertias relative to the description's.
        friction: (n, terms) coefficients, in units of the effort.
        offset: (recordings, n) in units of the effort.
        rotor: (n,) in units of the effort per rad/s^2 or m/s^2.
        gain: (n,) effort per N m or N.
        load: (10,) parameters of the load in the frame of its link.
    """

    theta: Array
    X: Array
    friction: Array
    offset: Array
    rotor: Array
    gain: Array
    load: Array

    def towards(self, other: Estimate, share: float, scaled: Bodies) -> Estimate:
        """Return the estimate on the way to another; share 1 is the other."""
        parts = {
            item.name: (1 - share) * getattr(self, item.name) + share * getattr(other, item.name)
            for item in fields(self)
        }
        return replace(Estimate(**parts), theta=scaled.theta(parts['X']))


class Load(NamedTuple):
    """What a link carries in recordings with a load.

    Attributes:
        placement: (10 nb, 10) from its parameters in the frame of the link to the bodies'.
        value: (10,) known parameters, or those expected.
        deviation: (10,) of the unknown ones, 0 for those that are known.
    """

    placement: Array
    value: Array
    deviation: Array

    @property
    def unknown(self) -> Array:
        """(10,) bool."""
        return np.asarray(self.deviation > 0)


class RecordingRows(NamedTuple):
    """Rows of a recording."""

    rows: Observations
    recording: int = 0  # number of the recording that has its offsets; -1: those of the mean
    loaded: bool = False

    def select(self, rows: Array) -> RecordingRows:
        """Return some of the rows, by a mask (K,)."""
        return self._replace(rows=self.rows.select(rows))

    def independent(self) -> RecordingRows:
        """Return the rows that the low-pass leaves independent."""
        return self._replace(rows=self.rows.independent())

    def delayed(self, delay: float, scale: Array | float) -> RecordingRows:
        """Return the rows with the efforts moved earlier by a delay [s], and multiplied."""
        return self._replace(rows=self.rows.delayed(delay, scale))


@dataclass(frozen=True, eq=False)
class Terms:
    """Rows with the features of one friction law: arrays (K, n, ...) of all recordings."""

    Y: Array
    load: Array  # (K, n, 10) columns of the load's parameters
    features: Array
    qdd: Array
    effort: Array
    moving: Array
    block: Array
    recording: Array  # (K,)

    def select(self, rows: Array) -> Terms:
        """Return some of the rows, by a mask (K,)."""
        return Terms(*(getattr(self, item.name)[rows] for item in fields(self)))

    def of_recordings(self) -> Array:
        """Return a column (K, recordings) of ones for each recording."""
        return np.asarray(self.recording[:, None] == np.unique(self.recording), dtype=float)

    def rigid(self, x: Estimate) -> Array:
        """Return the torque of the rigid bodies (K, n), N m or N."""
        return np.asarray(self.Y @ x.theta + self.load @ x.load)

    def offsets(self, x: Estimate) -> Array:
        """Return the offsets (K, n)."""
        return np.asarray(np.vstack([x.offset, x.offset.mean(axis=0)])[self.recording])

    def predicted(self, x: Estimate) -> Array:
        """Return the efforts (K, n) of an estimate."""
        friction = np.einsum('kjt,jt->kj', self.features, x.friction)
        return np.asarray(x.gain * self.rigid(x) + friction + self.offsets(x) + x.rotor * self.qdd)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is fitted.

    Attributes:
        recordings: of the same arm.
        law: of the friction.
        presliding: (n,) of the law.
        scaled: bodies of the description.
        start: the description; its friction, rotor and gain stay where a joint is not excited.
        excited: (n,) bool: the joint moves.
        rotors: whether efforts are measured before the rotors.
        unknown: (n,) bool: the drive gain is estimated.
        load: that of the recordings with one.
    """

    recordings: Sequence[RecordingRows]
    law: FrictionLaw
    presliding: Array
    scaled: Bodies
    start: Estimate
    excited: Array
    rotors: bool
    unknown: Array
    load: Load | None = None

    @property
    def gains(self) -> bool:
        """Whether a drive gain is unknown."""
        return bool(self.unknown.any())

    def terms(self, x: Estimate, recordings: Sequence[RecordingRows] = ()) -> Terms:
        """Return the rows of the problem, or of other recordings.

        The friction's load is that of this estimate.
        """
        parts, first = [], 0
        for rows, number, loaded in recordings or self.recordings:
            theta, load = x.theta, np.zeros((*rows.qdd.shape, 10))
            if loaded and self.load is not None:
                theta = theta + self.load.placement @ x.load
                load = rows.Y @ self.load.placement
            rotor = x.rotor / x.gain  # kg m^2 or kg
            phi = rows.friction_features(self.law, self.presliding, theta, rotor)
            block = first + rows.block
            first = int(block[-1]) + 1
            of = np.full(len(block), number)
            parts.append((rows.Y, load, phi, rows.qdd, rows.effort, rows.moving, block, of))
        return Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def linear_problem(
    problem: Problem, terms: Terms, weight: Array, x: Estimate
) -> tuple[Array, Array]:
    """Return A (rows, P) and b (rows,), weighted, linearised at x; compressed by QR."""
    p = len(x.theta)
    R = np.concatenate([rows_of_joint(problem, terms, weight, x, j) for j in range(len(x.gain))])
    norms = np.linalg.norm(R[:, p:-1], axis=0)
    unit = RIDGE * np.where(norms > 0, norms, 1.0)
    towards = np.zeros(len(norms))
    of = split(problem, np.arange(len(norms) + p))
    towards[of.gain - p] = x.gain  # the last ones
    if (load := problem.load) is not None:
        at = of.load[load.unknown] - p
        unit[at], towards[at] = 1 / load.deviation[load.unknown], load.value[load.unknown]
    ridge = np.column_stack([np.zeros((len(norms), p)), np.diag(unit), unit * towards])
    R = np.concatenate([R, ridge])
    return R[:, :-1], R[:, -1]


def rows_of_joint(problem: Problem, terms: Terms, weight: Array, x: Estimate, j: int) -> Array:
    """Return columns of all unknowns and the right-hand side of one joint (P + 1, P + 1)."""
    n, T = x.friction.shape
    size = 10 * problem.scaled.nb + n * (T + len(x.offset) + 2) + 10
    at = split(problem, np.arange(size))
    A = np.zeros((len(terms.Y), size + 1))
    A[:, at.theta] = x.gain[j] * terms.Y[:, j]
    b = terms.effort[:, j].copy()
    A[:, at.offset[:, j]] = terms.recording[:, None] == np.arange(len(x.offset))
    if problem.excited[j]:
        A[:, at.friction[j]] = terms.features[:, j]
        A[:, at.rotor[j]] = terms.qdd[:, j] * problem.rotors
    else:
        b -= terms.features[:, j] @ x.friction[j] + x.rotor[j] * terms.qdd[:, j]
    if problem.unknown[j]:
        tau = terms.rigid(x)[:, j]
        A[:, at.gain[j]] = tau
        b += x.gain[j] * tau
    if (load := problem.load) is not None:
        on, columns = load.unknown, x.gain[j] * terms.load[:, j]
        A[:, at.load[on]] = columns[:, on]
        b -= columns[:, ~on] @ load.value[~on]
    A[:, -1] = b
    return np.asarray(np.linalg.qr(weight[:, j, None] * A, mode='r'))


def split(problem: Problem, values: Array) -> Estimate:
    """Return one value per unknown (P,) in the fields of an estimate."""
    start = problem.start
    shapes = [(f.name, getattr(start, f.name).shape) for f in fields(start) if f.name != 'X']
    ends = np.cumsum([int(np.prod(shape)) for _, shape in shapes])
    parts = np.split(values, ends[:-1])
    named = {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts, strict=True)}
    return Estimate(X=start.X, **named)


def lower_bounds(x: Estimate) -> Array:
    """Return the lower bounds of all unknowns but theta, for the gains at the start."""
    parts = (0 * x.friction, x.offset - np.inf, 0 * x.rotor, SMALLEST_GAIN * x.gain)
    return np.concatenate([*(part.ravel() for part in parts), x.load - np.inf])


def unpacked(problem: Problem, x: Estimate, X: Array, rest: Array) -> Estimate:
    """Return the solution of a convex problem, with what is not estimated as in x."""
    found = split(problem, np.concatenate([problem.scaled.theta(X), rest]))
    on, known = problem.excited, np.ones(10, dtype=bool)
    if problem.load is not None:
        known = ~problem.load.unknown
    return replace(
        found,
        X=X,
        friction=np.where(on[:, None], np.maximum(found.friction, 0.0), x.friction),
        rotor=np.where(on, np.maximum(found.rotor, 0.0), x.rotor) * problem.rotors,
        gain=np.where(problem.unknown, found.gain, x.gain),
        load=np.where(known, x.load, found.load),
    )
