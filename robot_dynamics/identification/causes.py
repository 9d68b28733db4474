"""Causes of a residual: the fewest errors of a model that explain it.

All residuals are fitted at once, by weighted least squares: a payload at the tip changes the
torque of every joint, and must not be mistaken for seven frictions. The weight of a joint is 1 /
sigma^2, with sigma the part of its residual that no combination of causes explains. `selection`
chooses the causes. Dropped are causes that are certain but small, physically impossible, or not
valid in every block of time: a fit to the other blocks must predict each one.

Source: Gautier, Dynamic identification of robots with power model, ICRA 1997 (the weights).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.identification.cause_columns import (
    OF_JOINTS,
    OF_MOTION,
    OF_ROBOT,
    PER_BODY,
    Columns,
    moves,
)
from robot_dynamics.identification.selection import RANK, Group, NormalEquations, Solution
from robot_dynamics.model.robot_model import STANDARD_GRAVITY
from robot_dynamics.spatial import Array

FLOOR = 1e-3  # of the effort: lowest standard deviation of a residual
ENOUGH_MOTION = 0.1  # of the time, and
ENOUGH_SAMPLES = 50  # : below, friction of a joint is not determined
OF_RESIDUAL, OF_EFFORT = 0.05, 0.01  # of a joint's: a cause that explains less is omitted
CERTAIN = 3.0  # standard deviations
BLOCKS = 6  # of time, each predicted by a fit of the others
UNEXPLAINED = 1  # of the blocks that excite a cause: more must not contradict it
SAME_GRAVITY = 0.01  # relative: gravity differs by less between any two places on Earth
STANDARD = float(np.linalg.norm(STANDARD_GRAVITY))  # m/s^2
WEAK = 0.2  # of gravity: less counts as none, compensated elsewhere
NEWTON_STEPS, CLOSE = 20, 0.01  # at most; of a standard deviation: no further step is needed
FARTHEST = 2.0  # m, of a load from the link's origin
TINY = 1e-30


class Cause(NamedTuple):
    """An error of the model; positive if the model underestimates."""

    kind: str  # of OF_JOINTS or OF_ROBOT, 'inertia' of a link, or 'centre of mass' of a load
    # without a certain mass
    place: str  # the joint or link; empty for the whole robot
    value: Array  # in the units of `columns`; of a load m and c, of a centre of mass m c
    error: Array  # standard deviations of these
    joint: str  # of the largest torque
    size: float  # N m or N there, root mean square


class Findings(NamedTuple):
    """Causes of the residuals."""

    searched: bool  # whether joints moved enough to search causes
    doubtful: bool  # whether causes were dropped as impossible, or invalid in some block
    causes: tuple[Cause, ...]  # ordered by the share of the residual they explain
    unexplained: Array  # (n,) root mean square of the remaining residual


def find_causes(columns: Columns, effort: Array, model: Array, measured: Array) -> Findings:
    """Return the causes of the residuals, if there is enough motion.

    Args:
        columns: of the motion.
        effort: (k, n) measured, of all stretches.
        model: (k, n) computed.
        measured: (n,) bool: the joint has measured efforts.
    """
    fit = _Fit(columns, columns.kept_of(effort), columns.kept_of(model), measured)
    if not fit.searchable:
        return Findings(False, False, (), _rms(fit.residual))
    loads = [([], np.zeros_like(fit.residual)), fit.load()]
    found = [fit.explanation(*load, links) for load in loads for links in (False, True)]
    return min(found, key=lambda one: one[0])[1]


class _Fit:
    """Residuals (K, n) and the columns of their possible causes."""

    def __init__(self, columns: Columns, effort: Array, model: Array, measured: Array):
        self.residual = effort - model
        self._columns = columns
        self._effort = _rms(effort)
        self._names = columns.arm.model.joint_names
        n = len(self._names)
        self._of_joints = columns.of_joints()
        self._of_robot = np.concatenate([columns.of_robot(), columns.of_bodies()])
        self._rows = moves(columns.speeds())
        standing = self._rows.sum(axis=0) < max(ENOUGH_SAMPLES, ENOUGH_MOTION * len(self._rows))
        self.searchable = bool((measured & ~standing).any())  # a single posture fits any cause
        self._rows[:, standing] = True
        self._of_joints[OF_MOTION][..., standing] = 0.0
        self._rows[:, ~measured] = False
        own = len(OF_JOINTS)
        self.groups = [
            Group(kind, j, [own * j + k]) for j in range(n) for k, kind in enumerate(OF_JOINTS)
        ]
        first = own * n
        for kind, size in OF_ROBOT.items():
            self.groups.append(Group(kind, -1, list(range(first, first + size))))
            first += size
        self._first_of_bodies = first
        self._loaded = int(columns.arm.tree.frame(columns.link).body)
        for body in range(columns.arm.model.nb):
            unknowns = list(range(first + PER_BODY * body, first + PER_BODY * (body + 1)))
            self.groups.append(Group('inertia', -1, unknowns))

    def load(self) -> tuple[list[Cause], Array]:
        """Return the missing payload, if there is one, and its torque (K, n)."""
        first, _ = self.solve(self.residual, [g for g in self.groups if g.kind != 'inertia'])
        found = first.find('load')
        if found is None:
            return [], np.zeros_like(self.residual)
        (m, *moment), error = found
        if abs(m) > CERTAIN * error[0]:
            exact = self._point_mass(np.array([m, *(moment / m)]), first.groups)
            if exact is not None:
                value, error, torque = exact
                return [self._of_link('load', value, error, torque)], torque
        torque = np.tensordot(found[0], self._of_robot[:4], axes=1)
        return [self._of_link('centre of mass', np.array(moment), error[1:], torque)], torque

    def explanation(
        self, load: list[Cause], of_load: Array, links: bool
    ) -> tuple[float, Findings]:
        """Return the information criterion of an explanation, and the explanation.

        Args:
            load: the assumed payload, or none.
            of_load: its torque (K, n).
            links: whether the inertia of any link may be wrong.
        """
        groups = [group for group in self.groups if group.kind not in ('load', 'inertia')]
        if links:
            # An error of the link with the possible payload is first searched as a payload.
            groups += [
                g
                for g in self.groups
                if g.kind == 'inertia' and (load or self._body(g) != self._loaded)
            ]
        solution, doubtful = self.solve(self.residual - of_load, groups)
        causes = [self.cause(group, solution) for group in solution.groups] + load
        causes.sort(key=lambda cause: -cause.size)
        torque = sum(self.torque(group, solution.x) for group in solution.groups)
        rest = self.residual - of_load - torque
        samples = self._rows.sum(axis=0)
        unknowns = int(np.count_nonzero(solution.x)) + len(load) * OF_ROBOT['load']
        squares = np.array([(rest[rows, j] ** 2).sum() for j, rows in enumerate(self._rows.T)])
        variance = squares / np.maximum(1, samples) + (FLOOR * self._effort) ** 2 + TINY
        # The Bayesian information criterion where each joint's variance is unknown.
        criterion = samples @ np.log(variance) + unknowns * np.log(samples.sum())
        return float(criterion), Findings(True, doubtful, tuple(causes), _rms(rest))

    def solve(self, residual: Array, groups: list[Group]) -> tuple[Solution, bool]:
        """Return the valid causes of a residual (K, n) among these groups.

        And whether others were dropped as impossible or invalid in some block.
        """
        normal, dropped = self._normal_equations(residual), False
        while True:
            solution = self._important(normal, groups)
            doubtful = [g for g in solution.groups if not self._holds(g, solution, normal)]
            if not doubtful:
                return solution, dropped
            dropped = dropped or any(self._stands_out(g, solution, normal) for g in doubtful)
            groups = [group for group in groups if group not in doubtful]

    def _important(self, normal: NormalEquations, groups: list[Group]) -> Solution:
        chosen = normal.select(groups)
        while True:
            solution = normal.solution(chosen)
            sizes = [self._importance(self.torque(group, solution.x)) for group in chosen]
            if not sizes or min(sizes) >= 1:
                return solution
            del chosen[int(np.argmin(sizes))]

    def _holds(self, group: Group, solution: Solution, normal: NormalEquations) -> bool:
        """Return whether a cause is possible and predicts blocks to which it was not fitted."""
        if not self._possible(group, solution):
            return False
        gains = normal.held_out(solution.groups, group)
        gains = gains[np.isfinite(gains)]
        failed = int((gains < CERTAIN**2 / BLOCKS).sum())
        return len(gains) > 2 * UNEXPLAINED and failed <= UNEXPLAINED

    def _stands_out(self, group: Group, solution: Solution, normal: NormalEquations) -> bool:
        """Return whether an invalid cause exceeds noise, which makes the recording doubtful."""
        gains = np.nan_to_num(normal.held_out(solution.groups, group))
        return bool(np.abs(gains).sum() > BLOCKS * CERTAIN**2)

    def _possible(self, group: Group, solution: Solution) -> bool:
        """Return whether a cause is physically possible, within its standard deviations."""
        model, j = self._columns.arm.model, group.joint
        value, error = solution.x[group.unknowns], CERTAIN * solution.error[group.unknowns]
        has = {
            'dry friction': model.coulomb,
            'viscous friction': model.viscous,
            'rotor inertia': model.reflected_inertia,
        }
        if group.kind in has:
            return bool(has[group.kind][j] + value[0] > -error[0])
        if group.kind == 'scale':  # of either sign, but not zero
            return bool(abs(1 + value[0]) > error[0])
        if group.kind in ('load', 'inertia'):
            body = self._body(group)
            return bool(model.mass[body] + value[0] > -error[0])
        if group.kind == 'gravity':
            size, allowed = _norm(model.gravity + value), _norm(error)
            assumed = _norm(model.gravity)
            return size < WEAK * assumed + allowed or any(
                abs(size - g) < SAME_GRAVITY * g + allowed for g in (STANDARD, assumed)
            )
        return True

    def torque(self, group: Group, x: Array) -> Array:
        """Return the torque (K, n) of a cause."""
        values = x[group.unknowns]
        if group.joint >= 0:
            result = np.zeros_like(self.residual)
            kind = OF_JOINTS.index(group.kind)
            result[:, group.joint] = values[0] * self._of_joints[kind, :, group.joint]
            return result
        first = len(OF_JOINTS) * len(self._names)
        here = [unknown - first for unknown in group.unknowns]
        return np.tensordot(values, self._of_robot[here], axes=1)

    def _point_mass(self, x: Array, groups: list[Group]) -> tuple[Array, Array, Array] | None:
        """Return m and c of a load (4,), their errors, and its torque (K, n).

        The tensor m c^2 is not linear in m and m c: Newton's method, starting without it, with all
        other causes that were found. None if it does not converge.
        """
        for _ in range(NEWTON_STEPS):
            rest = self.residual - self._columns.of_load(x)
            normal = self._normal_equations(rest, self._columns.of_load_changes(x))
            step, error = normal.solution(groups).of('load')
            x = x + step
            if not np.linalg.norm(x[1:]) < FARTHEST:
                return None
            if (np.abs(step) <= CLOSE * error).all():
                return x, error, self._columns.of_load(x)
        return None

    def _of_link(self, kind: str, value: Array, error: Array, torque: Array) -> Cause:
        return Cause(kind, self._columns.link, value, error, *self.largest(torque))

    def cause(self, group: Group, solution: Solution) -> Cause:
        """Return the cause of a chosen group."""
        place = self._names[group.joint] if group.joint >= 0 else ''
        if group.kind == 'inertia':
            place = self._columns.arm.model.body_names[self._body(group)]
        value, error = solution.x[group.unknowns], solution.error[group.unknowns]
        return Cause(
            group.kind, place, value, error, *self.largest(self.torque(group, solution.x))
        )

    def _body(self, group: Group) -> int:
        if group.kind == 'load':
            return self._loaded
        return (group.unknowns[0] - self._first_of_bodies) // PER_BODY

    def largest(self, torque: Array) -> tuple[str, float]:
        """Return the joint where a torque (K, n) is largest, and its root mean square there."""
        size = _rms(torque)
        j = int(np.argmax(size))
        return self._names[j], float(size[j])

    def _importance(self, torque: Array) -> float:
        """Return the size of a torque (K, n) relative to the smallest that is reported."""
        least = np.maximum(OF_RESIDUAL * _rms(self.residual), OF_EFFORT * self._effort)
        return float(np.max(_rms(torque) / np.where(least > 0, least, np.inf)))

    def _normal_equations(self, residual: Array, of_load: Array | None = None) -> NormalEquations:
        """Return the normal equations of a residual (K, n), with given load columns (4, K, n)."""
        of_robot = self._of_robot
        if of_load is not None:
            of_robot = np.concatenate([of_load, of_robot[len(of_load) :]])
        own, n = len(OF_JOINTS), len(self._names)
        size = own * n + len(of_robot)
        A, b = np.zeros((BLOCKS, size, size)), np.zeros((BLOCKS, size))
        blocks = np.array_split(np.arange(len(residual)), BLOCKS)
        for j in np.flatnonzero(self._rows.any(axis=0)):
            rows = self._rows[:, j]
            X = np.concatenate([self._of_joints[:, rows, j], of_robot[:, rows, j]]).T
            r = residual[rows, j]
            few = X[:, : self._first_of_bodies - own * (n - 1)]  # not more than samples
            x, _, rank, _ = np.linalg.lstsq(few, r, rcond=RANK**0.5)
            sigma2 = ((r - few @ x) ** 2).sum() / max(1, len(r) - rank)
            weight = 1 / max(sigma2, (FLOOR * self._effort[j]) ** 2, TINY)
            at = [*range(own * j, own * (j + 1)), *range(own * n, size)]
            ends = np.cumsum([rows[block].sum() for block in blocks])[:-1]
            for k, (Xk, rk) in enumerate(zip(np.split(X, ends), np.split(r, ends), strict=True)):
                A[np.ix_([k], at, at)] += weight * Xk.T @ Xk
                b[k, at] += weight * Xk.T @ rk
        return NormalEquations(A, b, int(self._rows.sum()))


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))
