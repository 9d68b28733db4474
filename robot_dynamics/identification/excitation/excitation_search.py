# SPDX-License-Identifier: Apache-2.0
"""Search of the motion that excites the base parameters of a robot most.

The coefficients of a Fourier series maximise

    log det A,    A = sum_j (P_j Y_j)^T (P_j Y_j) / tau_j^2,

with Y_j the rows of the base regressor of joint j along the motion, tau_j its effort limit and P_j
the projection orthogonal to viscous friction, dry friction and a constant offset of that joint,
which an identification estimates as well (D-optimality). Limits are enforced by a penalty during
the search; the amplitudes of the result are then reduced until all hold on a fine grid.

Sources: Swevers, Ganseman, Tükel, De Schutter and Van Brussel, "Optimal robot excitation and
identification", IEEE Trans. Robotics and Automation 13(5), 1997; Ehlich and Zeller, "Schwankung
von Polynomen zwischen Gitterpunkten", Mathematische Zeitschrift 86, 1964 (bound of a
trigonometric polynomial between its samples).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.limits import exceeded
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.identification.estimation.base_parameters import base_parameters
from robot_dynamics.identification.estimation.solver import single_thread
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.excitation import (
    Excitation,
    ExcitationError,
    Fourier,
    Limits,
    basis,
    time_of_approach,
)

OVERSAMPLING = 16  # samples per period of the highest harmonic during the search
FINE = 10  # times as many for the final check
OF_EFFORT = 0.97  # of effort limits, in the search: they hold between samples and on ramps
SMOOTH_DIRECTION = 0.05  # of the velocity limit: width of the change of direction in the search
PENALTIES = (1e2, 1e4, 1e5)  # of squared violations, one after the other
ITERATIONS = 120  # of each
LEAST, AMPLITUDES = 0.05, 300  # smallest amplitudes, and number that are tried
POSTURES = 500  # in which a first posture is searched
RANDOM_MOTIONS = 20  # for comparison; the best of them is the start of the search
LEAST_RANDOM, BISECTIONS = 1e-2, 6  # smallest size of one
ROOM = 0.02  # relative, or m: postures are preferred that are within the limits by more
DIFFERENCE = 1e-6  # rad or m, and per second: step of the regressor's derivatives
RIDGE = 1e-12  # relative, keeps log det finite

Progress = Callable[[int, int], None]


@single_thread()  # rounding differs with the number of threads, and the search amplifies it
def excite(
    arm: Dynamics,
    limits: Limits,
    *,
    period: float = 20.0,
    harmonics: int = 10,
    repeats: int = 3,
    clearance: Clearance | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Excitation:
    """Return a motion that excites the base parameters, within limits.

    Args:
        arm: the model, with its friction, gravity and payloads.
        limits: from `limits_of`.
        period: s.
        harmonics: N, of the Fourier series.
        repeats: number of periods.
        clearance: distances to be kept, between links and above a floor.
        start: (n,) posture of the arm, from which the way to the start is checked as well.
        seed: of the random numbers.
        progress: called with the number of steps done, and of all.

    Raises:
        ExcitationError: no posture or motion within the limits was found, or the way from
            `start` exceeds them.
        SolverError: threadpoolctl is not installed.
    """
    search = _Search(arm, limits, clearance, period, harmonics, np.random.default_rng(seed))
    others = [(*search.information(motion), motion) for motion in search.random_motions()]
    first = max(others, key=lambda other: other[0])[2]
    motion = search.best(first, progress or (lambda done, total: None))
    found = Excitation(
        arm=arm,
        motion=motion,
        repeats=repeats,
        ramp=period / harmonics,
        approach=0.0,
        start=None,
        limits=limits,
    )
    found = search.with_approach(search.feasible(found), start)
    log_det, condition = search.information(found.motion)
    usual, unknowns = np.median([other[0] for other in others]), 2 * search.base.number
    return replace(
        found,
        condition=condition,
        random_conditions=np.array([other[1] for other in others]),
        relative_error=float(np.exp((usual - log_det) / unknowns)),
        closest=clearance.nearest(arm, found.sample(search.fine(found)).q) if clearance else None,
        unchecked=clearance.unchecked if clearance else (),
    )


class _Search:
    """The optimisation, on one grid of a period."""

    def __init__(
        self,
        arm: Dynamics,
        limits: Limits,
        clearance: Clearance | None,
        period: float,
        harmonics: int,
        rng: np.random.Generator,
    ):
        self._arm, self._limits, self._clearance = arm, limits, clearance
        self._period, self._harmonics, self._rng = period, harmonics, rng
        # Dry friction may have either sign.
        self._effort = limits.effort - arm.model.coulomb
        self.base = base_parameters(arm, np.random.default_rng(0))
        samples = OVERSAMPLING * harmonics
        self._t = np.arange(samples) * period / samples
        self._basis = basis(self._t, period, harmonics)
        # A trigonometric polynomial exceeds its samples by less than this factor.
        self._between = 1 / np.cos(np.pi / OVERSAMPLING)
        k = np.tile(np.arange(1, harmonics + 1), 2)[:, None]
        self._unit = limits.half / k  # of the coefficients (2 N, n)
        self._scale = self._column_scale()

    # -- limits -----------------------------------------------------------------------------

    def violation(self, motion: Reference) -> tuple[float, str]:
        """Return by how much a motion exceeds a limit most, relative (of a distance in m).

        And that limit; the first number is 0 or less if the motion exceeds none.
        """
        q, qd, qdd = motion
        limits, names = self._limits, self._arm.model.joint_names
        worst = []
        for quantity, share in (
            ('position', np.abs(q - limits.centre) / limits.half),
            ('velocity', np.abs(qd) / limits.velocity),
            ('acceleration', np.abs(qdd) / limits.acceleration),
            ('effort', np.abs(self._torque(motion)) / self._effort),
        ):
            largest = share.max(axis=0)
            j = int(np.argmax(largest))
            worst.append((float(largest[j]) - 1, f'the {quantity} limit of {names[j]}'))
        if self._clearance is not None:
            worst.append(self._clearance.lack(self._arm, q))
        return max(worst)

    def _jerk(self, found: Excitation) -> tuple[float, str]:
        """Return by how much the message exceeds a jerk limit most, as `violation`."""
        most = self._arm.model.jerk_limit
        if np.isinf(most).all():
            return 0.0, ''
        beyond = exceeded(found.trajectory(), {3: most})
        return max(((1 / share**3 - 1, reason) for share, reason in beyond), default=(0.0, ''))

    def _torque(self, motion: Reference) -> Array:
        """Return the torques (m, n) without dry friction."""
        viscous = self._arm.model.viscous * motion.qd
        return np.asarray(self._arm.inverse_dynamics(*motion) + viscous)

    def fine(self, found: Excitation) -> Array:
        """Return the times of the final check: both ramps, and one period."""
        step = self._period / (FINE * OVERSAMPLING * self._harmonics)
        ends = found.ramp + self._period
        up = np.arange(0.0, ends + step, step)
        return np.asarray(found.approach + np.concatenate([up, found.duration - up[::-1]]))

    def feasible(self, found: Excitation) -> Excitation:
        """Return the motion with amplitudes small enough for all limits, ramps included."""
        found = self._well_begun(found)
        for size in np.geomspace(1.0, LEAST, AMPLITUDES):
            smaller = size * found.motion.coefficients
            motion = Fourier.of(self._period, found.motion.centre, smaller)
            candidate = replace(found, motion=motion)
            t = self.fine(candidate)
            # Few samples rule out most motions.
            excess, limit = self.violation(candidate.sample(t[::FINE]))
            if excess <= 0:
                excess, limit = self.violation(candidate.sample(t))
            if excess <= 0:
                excess, limit = self._jerk(candidate)
            if excess <= 0:
                return candidate
        raise ExcitationError(
            f'no motion within the limits was found, because of {limit}; widen it, or try another '
            'seed'
        )

    def _well_begun(self, found: Excitation) -> Excitation:
        """Return the motion begun where its ramps exceed the limits least.

        On a ramp the arm is slower than in the period: torques of acceleration do not help it.
        """
        u = np.linspace(0.0, found.ramp, OVERSAMPLING)
        ramps = np.concatenate([found.approach + u, found.duration - u])
        begun = [
            replace(found, motion=found.motion.begun_at(time))
            for time in np.arange(0.0, self._period, found.ramp / 4)
        ]
        return min(begun, key=lambda one: self.violation(one.sample(ramps))[0])

    def with_approach(self, found: Excitation, start: ArrayLike | None) -> Excitation:
        """Return the motion with a slow way to its start."""
        limits, jerk = self._limits, self._arm.model.jerk_limit
        first = found.motion.at(np.array([-found.ramp / 2])).q[0]
        if start is None:
            distance = np.maximum(first - limits.lower, limits.upper - first)
            return replace(found, approach=time_of_approach(distance, limits, jerk))
        begin = np.asarray(start, dtype=float)
        time = time_of_approach(np.abs(first - begin), limits, jerk)
        found = replace(found, approach=time, start=begin)
        way = found.sample(np.linspace(0.0, time, FINE * OVERSAMPLING, endpoint=False))
        excess, limit = self.violation(way)
        if excess > 0:
            raise ExcitationError(
                f'the straight way from the given start to that of the motion exceeds {limit}; '
                'begin in another posture, or try another seed'
            )
        return found

    # -- first motions ----------------------------------------------------------------------

    def postures(self) -> list[Array]:
        """Return postures (n,) within the limits, from the middle outwards, if any with room."""
        limits, n = self._limits, self._arm.model.n
        spread = self._rng.uniform(-1, 1, (POSTURES, n)) * np.linspace(0, 1, POSTURES)[:, None]
        still, found = np.zeros((1, n)), []
        for q in limits.centre + spread * limits.half:
            found.append((*self.violation(Reference(q[None], still, still)), q))
            if sum(excess <= -ROOM for excess, *_ in found) == RANDOM_MOTIONS:
                break
        roomy, allowed = ([q for excess, _, q in found if excess <= x] for x in (-ROOM, 0))
        if not allowed:
            limit = min(found, key=lambda one: one[0])[1]
            raise ExcitationError(
                f'none of {POSTURES} postures is within the limits; the best exceeds {limit}'
            )
        return roomy or allowed

    def random_motions(self) -> list[Fourier]:
        """Return random motions about random postures, as large as the limits allow."""
        postures, result = self.postures(), []
        for k in range(RANDOM_MOTIONS):
            x = self._unit * self._rng.normal(size=self._unit.shape)
            smallest, largest = LEAST_RANDOM, 1.0
            for _ in range(BISECTIONS):
                size = np.sqrt(smallest * largest)
                motion = Fourier.of(self._period, postures[k % len(postures)], size * x)
                fits = self.violation(motion.at(self._t))[0] <= 0
                smallest, largest = (size, largest) if fits else (smallest, size)
            result.append(Fourier.of(self._period, postures[k % len(postures)], smallest * x))
        return result

    def best(self, first: Fourier, progress: Progress) -> Fourier:
        """Return the motion of a search that begins with another one."""
        from scipy import optimize

        minimize: Any = optimize.minimize  # its types demand one-dimensional shapes
        n, total = self._arm.model.n, ITERATIONS * len(PENALTIES)
        z = np.concatenate(
            [
                (first.centre - self._limits.centre) / self._limits.half,
                (first.coefficients / self._unit).ravel(),
            ]
        )
        for stage, weight in enumerate(PENALTIES):
            done = [ITERATIONS * stage]

            def step(_: Array, done: list[int] = done) -> None:
                done[0] += 1
                progress(done[0], total)

            z = minimize(
                self._cost,
                z,
                args=(weight,),
                jac=True,
                method='L-BFGS-B',
                callback=step,
                options={'maxiter': ITERATIONS, 'maxcor': 20},
            ).x
        progress(total, total)
        return self._motion(z, n)

    def _motion(self, z: Array, n: int) -> Fourier:
        centre = self._limits.centre + self._limits.half * z[:n]
        return Fourier.of(self._period, centre, self._unit * z[n:].reshape(-1, n))

    # -- cost -------------------------------------------------------------------------------

    def _cost(self, z: Array, weight: float) -> tuple[float, Array]:
        """Return the cost of a motion and its gradient by z."""
        motion = self._motion(z, self._arm.model.n)
        reference = motion.at(self._t)
        log_det, by_information = self._information(reference)
        penalty, by_penalty = self._penalty(reference)
        # The posture in the middle by itself: smaller amplitudes must lead to a motion.
        middle = motion.centre[None]
        at_middle, by_middle = self._penalty(Reference(middle, 0 * middle, 0 * middle))
        g = [-a + weight * b for a, b in zip(by_information, by_penalty, strict=True)]
        by_centre = g[0].sum(axis=0) + weight * by_middle[0][0]
        by_x = sum(B.T @ part for B, part in zip(self._basis, g, strict=True))
        gradient = np.concatenate([self._limits.half * by_centre, (self._unit * by_x).ravel()])
        return -log_det + weight * (penalty + at_middle), gradient

    def _penalty(self, motion: Reference) -> tuple[float, Sequence[Array]]:
        """Return the mean squares of all violations and their derivatives by q, qd, qdd."""
        limits, m = self._limits, len(motion.q)
        by = [np.zeros_like(x) for x in motion]
        total = 0.0
        for k, (x, middle, size) in enumerate(
            (
                (motion.q, limits.centre, limits.half),
                (motion.qd, 0.0, limits.velocity),
                (motion.qdd, 0.0, limits.acceleration),
            )
        ):
            value, slope = _excess(self._between * (x - middle) / size)
            total += value / m
            by[k] += slope * self._between / size / m
        value, slope = _excess(self._torque(motion) / (OF_EFFORT * self._effort))
        total += value / m
        slope = slope / (OF_EFFORT * self._effort) / m
        by[1] += slope * self._arm.model.viscous
        for k, D in enumerate(self._arm.inverse_dynamics_derivatives(*motion)):
            by[k] += np.einsum('mi,mij->mj', slope, D)
        if self._clearance is not None:
            value, by_q = self._clearance.penalty(self._arm, motion.q)
            total += value / m
            by[0] += by_q / m
        return total, by

    # -- information ------------------------------------------------------------------------

    def information(self, motion: Fourier) -> tuple[float, float]:
        """Return log det and condition number of a motion's base regressor.

        Its columns are relative to `_column_scale`, the same for all motions: relative to their
        own norms they would not show that a motion is small.
        """
        R = self._projected(motion.at(self._t))[0].reshape(-1, self.base.number)
        log_det = np.linalg.slogdet(self._regular(R.T @ R))[1]
        return float(log_det), float(np.linalg.cond(R))

    def _column_scale(self) -> Array:
        """Return the size (b,) of the regressor's columns within the limits."""
        limits, rng = self._limits, np.random.default_rng(0)
        shape = (len(self._t), self._arm.model.n)
        sizes = limits.half, limits.velocity, limits.acceleration
        q, qd, qdd = (size * rng.uniform(-1, 1, shape) for size in sizes)
        Y = self._arm.regressor(limits.centre + q, qd, qdd)[..., self.base.columns]
        norms = np.linalg.norm(Y / limits.effort[:, None], axis=(0, 1))
        return np.asarray(norms / np.sqrt(len(self._t)))

    def _regular(self, A: Array) -> Array:
        return np.asarray(A + RIDGE * np.trace(A) * np.eye(len(A)))

    def _projected(self, motion: Reference) -> tuple[Array, Array, Array]:
        """Return P_j Y_j (m, n, b), the nuisances N (n, m, 3) and N^+ Y (n, 3, b), weighted."""
        Y = self._arm.regressor(*motion)[..., self.base.columns]
        Y = Y / self._limits.effort[:, None] / self._scale / np.sqrt(len(self._t))
        speed = (motion.qd / self._limits.velocity).T
        # The motion that is found depends on the rounding of this quotient.
        direction = sliding_direction(speed / SMOOTH_DIRECTION, 1.0)
        N = np.stack([speed, direction, np.ones_like(speed)], axis=-1)
        share = np.linalg.pinv(N) @ Y.transpose(1, 0, 2)
        return Y - (N @ share).transpose(1, 0, 2), N, share

    def _information(self, motion: Reference) -> tuple[float, Sequence[Array]]:
        """Return log det A and its derivatives by q, qd and qdd, (m, n) each."""
        R, N, share = self._projected(motion)
        flat = R.reshape(-1, self.base.number)
        A = self._regular(flat.T @ flat)
        # d log det A = 2 tr(A^-1 R^T dY) - 2 tr(A^-1 R^T dN (N^+ Y))
        G = 2 * np.linalg.solve(A, flat.T).T.reshape(R.shape)
        by_Y = np.zeros((*R.shape[:2], 10 * self._arm.model.nb))
        weight = self._limits.effort[:, None] * self._scale * np.sqrt(len(self._t))
        by_Y[..., self.base.columns] = G / weight
        by = list(self._through_regressor(motion, by_Y))
        by_N = -np.einsum('mjb,jkb->jmk', G, share)
        direction = N[..., 1]
        by_speed = by_N[..., 0] + by_N[..., 1] * (1 - direction**2) / SMOOTH_DIRECTION
        by[1] = by[1] + by_speed.T / self._limits.velocity
        return float(np.linalg.slogdet(A)[1]), by

    def _through_regressor(self, motion: Reference, by_Y: Array) -> Array:
        """Return the derivatives (3, m, n) of sum(by_Y Y) by q, qd and qdd, by differences."""
        (m, n), state = motion.q.shape, np.stack(motion)
        moved = np.broadcast_to(state[:, None], (3, 3 * n + 1, m, n)).copy()
        for k in range(3):
            for j in range(n):
                moved[k, k * n + j, :, j] += DIFFERENCE
        values = np.einsum('dmip,mip->dm', self._arm.regressor(*moved), by_Y, optimize=True)
        return (
            np.asarray((values[:-1] - values[-1]).reshape(3, n, m).transpose(0, 2, 1)) / DIFFERENCE
        )


def _excess(x: Array) -> tuple[float, Array]:
    """Return the squares of what exceeds -1 ... 1, summed, and their derivative by x."""
    over = x - np.clip(x, -1.0, 1.0)
    return float((over**2).sum()), 2 * over
