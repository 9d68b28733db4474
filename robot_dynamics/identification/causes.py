"""Causes of a residual: the most probable errors of a model that explain it.

All residuals are fitted at once, by weighted least squares: a payload at the tip changes the
torque of every joint, and must not be mistaken for seven frictions. The noise of each joint is
the residual that its causes do not explain, an autoregressive process, estimated anew until the
choice of causes no longer changes. `selection` chooses the causes. Dropped are causes that are
certain but small, physically impossible, or not valid in every block of time: a fit to the other
blocks must predict each one.

Noise of the motion is noise of the columns, which biases their products: with errors E of the
columns X, the mean of (X + E)^T (X + E) is X^T X + E^T E. The same noise is therefore added to
the motion once more, with either sign, and the change of the products is subtracted.

The last fit allows for small errors of gain, friction and rotor inertia of every joint, with a
narrow prior; where several links are wrong, for small errors of the inertia of every link as well.
There, a scale multiplies the torque that the other causes correct. The causes that are reported
must explain the residual without those that are not.

Sources: Gautier, Dynamic identification of robots with power model, ICRA 1997 (weights); Cook and
Stefanski, Simulation-extrapolation estimation in parametric measurement error models, J. American
Statistical Association 89, 1994 (noise added to the columns).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.autoregression import (
    ORDER,
    Noise,
    noise_of,
    whitened,
    whitened_rows,
)
from robot_dynamics.identification.cause_columns import (
    OF_JOINTS,
    OF_MOTION,
    OF_TORQUE,
    Columns,
    moves,
)
from robot_dynamics.identification.hypotheses import (
    CERTAIN,
    Cause,
    Findings,
    Hypothesis,
    cause,
    exclusive,
    hypotheses,
    inexact,
    inexact_links,
    possible,
    within_limits,
)
from robot_dynamics.identification.robust_errors import spread
from robot_dynamics.identification.selection import Regression, Solution
from robot_dynamics.identification.sufficient_causes import sufficient
from robot_dynamics.spatial import Array

FLOOR = 1e-3  # of the effort: lowest standard deviation of a residual
ENOUGH_MOTION = 0.1  # of the time, and
ENOUGH_SAMPLES = 50  # : below, friction of a joint is not determined
OF_RESIDUAL, OF_EFFORT = 0.05, 0.01  # of a joint's: a cause that explains less is omitted
FEW, OF_MANY = 3, 2.0  # causes; more of them mimic each other, and must be larger by this factor
OF_MASS = 0.1  # of a link's: a smaller error alone is omitted
OF_GRAVITY = 0.005  # of the effort: the same of an error of gravity
COMMON = ('offset', 'delay')  # always in the last fit: the others' errors allow for them
VISIBLE = 0.05  # of the effort: an error of this size should be
SHOULD_BE_VISIBLE = ('dry friction', 'Stribeck friction', 'viscous friction', 'scale')
BLOCKS = 6  # of time, each predicted by a fit of the others
UNEXPLAINED = 1  # of the blocks that excite a cause: more must not contradict it
ROUNDS = 10  # of estimating the noise
CLOSE = 0.02  # relative: noise that changes less has converged
SEVERAL, SIMILAR = 2, 0.25  # links with errors of similar size: the others have errors as well
AMBIGUOUS = 8.0  # in log probability: a cause that explains as much, but for this
TINY = 1e-30


def find_causes(
    arm: Dynamics,
    link: str,
    columns: Columns,
    perturbed: Sequence[Columns],
    effort: Array,
    measured: Array,
) -> Findings:
    """Return the causes of the residuals, if there is enough motion.

    Args:
        arm: the model.
        link: of a possible payload.
        columns: of the motion.
        perturbed: the same with the motion's noise added, and subtracted; or none.
        effort: (n,) root mean square of the measured efforts.
        measured: (n,) bool: the joint has measured efforts.
    """
    search = _Search(arm, link, columns, perturbed, effort, measured)
    if not search.searchable:
        nothing = np.zeros_like(columns.residual)
        return Findings(False, False, (), _rms(columns.residual), nothing, (0.0, math.inf), ())
    return search.findings()


class _Search:
    """Residuals and the columns of their possible causes."""

    def __init__(
        self,
        arm: Dynamics,
        link: str,
        columns: Columns,
        perturbed: Sequence[Columns],
        effort: Array,
        measured: Array,
    ):
        self._arm, self._link, self._columns, self._effort = arm, link, columns, effort
        self._rows = moves(columns.qd[columns.rows])
        standing = self._rows.sum(axis=0) < max(ENOUGH_SAMPLES, ENOUGH_MOTION * len(self._rows))
        self.searchable = bool((measured & ~standing).any())  # a single posture fits any cause
        self._rows[:, standing] = True
        self._rows[:, ~measured] = False
        determined = np.tile(measured, (len(OF_JOINTS), 1))
        determined[OF_MOTION] &= ~standing
        found = hypotheses(arm, link, columns, effort, determined)
        self._possible = list(range(len(found)))
        self._assume([*found, *inexact(found)])
        self._common = [g for g in self._possible if self._hypotheses[g].kind in COMMON]
        self._perturbed = perturbed
        self._data = self._stacks()

    def _assume(self, assumed: list[Hypothesis]) -> None:
        self._hypotheses = assumed
        self._exclusive = exclusive(assumed)
        self._directions = np.concatenate([h.directions for h in assumed])
        self._prior = np.concatenate([h.prior for h in assumed])
        ends = np.cumsum([0, *(len(h.prior) for h in assumed)])
        self._groups = [range(*pair) for pair in pairwise(ends)]

    def findings(self) -> Findings:
        """Return the causes that remain after all checks."""
        model, allowed = self._arm.model, self._possible
        dropped = False
        while True:
            chosen, regression, noise = self._best(allowed)
            solution = self._spread(regression.solution(chosen), noise)
            impossible = [
                g
                for g in chosen
                if not possible(model, self._hypotheses[g], *self._of(g, solution))
            ]
            if not impossible:
                break
            dropped = dropped or any(self._stands_out(g, chosen, regression) for g in impossible)
            allowed = [g for g in allowed if g not in impossible]
        found = chosen
        chosen = [*found, *(g for g in self._common if g not in found)]
        solution = self._spread(regression.solution(chosen), noise)
        # Small causes, and those that are not valid throughout, stay in the fit of the others.
        least = 1.0 if len(found) <= FEW else OF_MANY
        importance = {g: self._importance(g, solution.x) for g in found}
        large = [g for g in found if importance[g] >= least]
        valid = [g for g in found if self._valid(g, chosen, regression)]
        dropped = dropped or any(
            self._stands_out(g, chosen, regression) for g in large if g not in valid
        )
        refined = self._scaled(solution)
        of_links = [importance[g] for g in found if self._hypotheses[g].body >= 0]
        least = max([1.0, *(SIMILAR * one for one in of_links)])
        if sum(one >= least for one in of_links) >= SEVERAL:
            links = inexact_links([self._hypotheses[g] for g in self._possible])
            refined._assume([*self._hypotheses, *links])
        regression = refined._regression(noise)
        solution = refined._fit(chosen, regression, noise)
        named = [g for g in valid if g in large]
        reported = refined._sufficient(named, [g for g in valid if g not in large], solution.x)
        dropped = dropped or any(g not in reported for g in named)
        return refined._reported(chosen, reported, allowed, regression, noise, dropped)

    def _stacks(self) -> list[tuple[float, Array]]:
        count = len(self._perturbed)
        stacks = [(2.0 if count else 1.0, self._columns.stacked())]
        return stacks + [(-1.0 / count, one.stacked()) for one in self._perturbed]

    def _scaled(self, solution: Solution) -> _Search:
        """Return the search with scales of the corrected torque, not of the model's."""
        errors = self._errors(solution.x)
        result = copy.copy(self)
        result._columns = self._columns.with_scale_of(*errors)
        result._perturbed = [one.with_scale_of(*errors) for one in self._perturbed]
        result._data = result._stacks()
        return result

    def _best(self, allowed: Sequence[int]) -> tuple[list[int], Regression, Noise]:
        """Return the most probable choice of several searches, and the noise that it leaves.

        A few wrong links may explain much of what many drives do, so that one search begins with
        the causes of single joints. Scales are those of each joint, or one of all.
        """
        kinds = [(h.joint >= 0, h.kind == 'scale' and not h.place) for h in self._hypotheses]
        apart = [g for g in allowed if not kinds[g][1]]
        of_joints = [g for g in apart if kinds[g][0]]
        noise = Noise(self._floored(self._rest(None)[1]), np.zeros((ORDER, len(self._effort))))
        first, _, left = self._converged(of_joints, noise, ())
        found = [
            self._converged(apart, left, first),
            self._converged(apart, noise, ()),
        ]
        if len(apart) < len(allowed):
            found.append(self._converged(allowed, noise, ()))
        return max(found, key=lambda one: one[1].log_probability(one[0]))

    def _converged(
        self, allowed: Sequence[int], noise: Noise, chosen: Sequence[int]
    ) -> tuple[list[int], Regression, Noise]:
        """Return the chosen hypotheses and the noise that they leave, from a first choice."""
        for _ in range(ROUNDS):
            before, regression = set(chosen), self._regression(noise)
            chosen = regression.select(allowed, chosen)
            after = self._noise(regression.solution(chosen))
            change = np.abs(np.log(after.sigma / noise.sigma)).max()
            noise = after
            if set(chosen) == before and change < CLOSE:
                break
        return list(chosen), self._regression(noise), noise

    def _regression(self, noise: Noise) -> Regression:
        """Return the normal equations of the hypotheses, whitened, without the columns' noise."""
        size = self._directions.shape[1]
        A, b, of_noise = np.zeros((BLOCKS, size, size)), np.zeros((BLOCKS, size)), 0.0
        edges = np.linspace(0, len(self._rows) - ORDER, BLOCKS + 1).astype(int)
        for j, at, count, stacks in self._whitened(self._data, noise):
            of_noise -= count * float(np.log(noise.sigma[j]))
            for weight, Z in stacks:
                for k in range(BLOCKS):
                    X = Z[edges[k] : edges[k + 1]]
                    products = weight * X.T @ X
                    A[np.ix_([k], at, at)] += products[:-1, :-1]
                    b[k, at] += products[:-1, -1]
                    of_noise -= 0.5 * float(products[-1, -1])
        D = self._directions
        return Regression(
            D @ A @ D.T,
            b @ D.T,
            of_noise,
            self._prior,
            self._groups,
            np.array([h.price for h in self._hypotheses]),
            self._exclusive,
        )

    def _whitened(
        self, stacks: Sequence[tuple[float, Array]], noise: Noise
    ) -> Iterator[tuple[int, list[int], int, list[tuple[float, Array]]]]:
        """Yield the measured joints: number, errors that act on it, samples, whitened stacks."""
        n, own = len(self._effort), len(OF_JOINTS)
        size = self._directions.shape[1]
        for j in np.flatnonzero(self._rows.any(axis=0)):
            used = whitened_rows(self._rows[:, j])
            factor = used[:, None] / noise.sigma[j]
            yield (
                int(j),
                [*range(j, own * n, n), *range(own * n, size)],
                int(used.sum()),
                [(w, whitened(data[j], noise.coefficients[:, j]) * factor) for w, data in stacks],
            )

    def _rest(self, solution: Solution | None) -> tuple[Array, Array]:
        """Return the unexplained residual (R, n), zero where unused, and its rms."""
        rest = self._columns.residual
        if solution is not None:
            rest = rest - self._sum(solution.x)
        rest = np.where(self._rows, rest[self._columns.rows], 0.0)
        counts = np.maximum(1, self._rows.sum(axis=0))
        return rest, np.sqrt((rest**2).sum(axis=0) / counts)

    def _noise(self, solution: Solution) -> Noise:
        rest, _ = self._rest(solution)
        noise = noise_of(rest, self._rows, int(np.count_nonzero(solution.x)))
        return noise._replace(sigma=self._floored(noise.sigma))

    def _floored(self, sigma: Array) -> Array:
        return np.sqrt(sigma**2 + (FLOOR * self._effort) ** 2 + TINY)

    # -- validity ---------------------------------------------------------------------------

    def _valid(self, g: int, chosen: Sequence[int], regression: Regression) -> bool:
        """Return whether a cause predicts blocks to which it was not fitted."""
        gains = regression.held_out(chosen, g)
        gains = gains[np.isfinite(gains)]
        failed = int((gains < CERTAIN**2 / BLOCKS).sum())
        return len(gains) > 2 * UNEXPLAINED and failed <= UNEXPLAINED

    def _sufficient(self, reported: Sequence[int], small: Sequence[int], x: Array) -> list[int]:
        """Return causes that together make no joint's residual worse; x: all unknowns."""
        before = self._floored(_rms(self._columns.residual))
        measured = self._rows.any(axis=0)

        def rms_without(torque: Array) -> Array:
            return np.where(measured, _rms(self._columns.residual - torque) / before, 0.0)

        torques = [{g: self._torque(g, x) for g in some} for some in (reported, small)]
        return sufficient(rms_without, *torques)

    def _stands_out(self, g: int, chosen: Sequence[int], regression: Regression) -> bool:
        """Return whether an invalid cause exceeds noise, which makes the recording doubtful."""
        gains = np.nan_to_num(regression.held_out(chosen, g))
        return bool(np.abs(gains).sum() > BLOCKS * CERTAIN**2)

    def _importance(self, g: int, x: Array) -> float:
        """Return the size of a cause relative to the smallest that is reported."""
        h = self._hypotheses[g]
        share = OF_GRAVITY if h.kind == 'gravity' else OF_EFFORT
        least = np.maximum(OF_RESIDUAL * _rms(self._columns.residual), share * self._effort)
        size = _rms(self._torque(g, x))
        if h.kind in OF_TORQUE:
            size[h.joint] = abs(x[self._groups[g][0]])
        if h.kind == 'inertia' and len(h.prior) == 1:
            size *= min(1.0, abs(x[self._groups[g][0]]) / OF_MASS)
        return float(np.max(size / np.where(least > 0, least, np.inf)))

    # -- results ----------------------------------------------------------------------------

    def _spread(self, solution: Solution, noise: Noise) -> Solution:
        """Return the solution with errors as large as the scores of the samples vary."""
        joints = self._whitened(self._data[:1], noise)
        return spread(solution, [(Z, self._directions[:, at]) for _, at, _, ((_, Z),) in joints])

    def _fit(self, chosen: Sequence[int], regression: Regression, noise: Noise) -> Solution:
        """Return the solution with the small errors of all joints that have no such cause."""
        of_joints = [g for g in chosen if self._hypotheses[g].joint >= 0]
        taken = np.asarray(self._exclusive[:, of_joints].any(axis=1))
        small = [g for g in range(len(self._possible), len(taken)) if not taken[g]]
        return self._spread(regression.solution([*chosen, *small]), noise)

    def _of(self, g: int, solution: Solution) -> tuple[Array, Array]:
        here = list(self._groups[g])
        return solution.x[here], solution.covariance[np.ix_(here, here)]

    def _torque(self, g: int, x: Array) -> Array:
        only = np.zeros_like(x)
        only[self._groups[g]] = x[self._groups[g]]
        return self._sum(only)

    def _sum(self, x: Array) -> Array:
        return self._columns.torque(*self._errors(x))

    def _errors(self, x: Array) -> tuple[Array, Array]:
        """Return the errors of joints (6, n) and of the robot (P,)."""
        errors, n = x @ self._directions, len(self._effort)
        own = len(OF_JOINTS) * n
        return errors[:own].reshape(-1, n), errors[own:]

    def _cause(self, g: int, solution: Solution) -> Cause:
        h, model = self._hypotheses[g], self._arm.model
        value, covariance = self._of(g, solution)
        value = within_limits(model, h, value, covariance)
        return cause(model, self._link, h, value, covariance, self._torque(g, solution.x))

    def _reported(
        self,
        chosen: Sequence[int],
        reported: Sequence[int],
        allowed: Sequence[int],
        regression: Regression,
        noise: Noise,
        dropped: bool,
    ) -> Findings:
        solution = self._fit(chosen, regression, noise)
        causes = []
        for g in reported:
            others = [other for other in chosen if other != g]
            gains = regression.gains(others, allowed)
            one = self._cause(g, solution)
            alternatives: dict[tuple[str, str], Cause] = {}
            for other in np.argsort(-gains):
                if other == g or gains[other] < max(0.0, gains[g] - AMBIGUOUS):
                    continue
                instead = self._fit([*others, int(other)], regression, noise)
                if possible(
                    self._arm.model, self._hypotheses[other], *self._of(int(other), instead)
                ):
                    as_well = self._cause(int(other), instead)
                    alternatives.setdefault((as_well.kind, as_well.place), as_well)
            alternatives.pop((one.kind, one.place), None)
            causes.append(replace(one, alternatives=tuple(alternatives.values())))
        causes.sort(key=lambda cause: -cause.size)
        torque = sum(
            (self._torque(g, solution.x) for g in reported), np.zeros_like(self._columns.qd)
        )
        unexplained = _rms(self._columns.residual - torque)
        delay, undetermined = self._also(chosen, reported, regression, noise)
        return Findings(True, dropped, tuple(causes), unexplained, torque, delay, undetermined)

    def _also(
        self,
        chosen: Sequence[int],
        reported: Sequence[int],
        regression: Regression,
        noise: Noise,
    ) -> tuple[tuple[float, float], tuple[tuple[str, str], ...]]:
        """Return the delay of the efforts, and errors that the recording would not show."""
        delay, undetermined = (0.0, math.inf), []
        for g, h in zip(self._possible, self._hypotheses, strict=False):
            looked_for = h.kind in SHOULD_BE_VISIBLE and h.joint >= 0 and g not in reported
            if not looked_for and h.kind != 'delay':
                continue
            solution = self._spread(regression.solution(sorted({*chosen, g})), noise)
            value, covariance = self._of(g, solution)
            error = float(np.sqrt(covariance[0, 0]))
            if h.kind == 'delay':
                delay = float(value[0]), error
            else:
                column = self._columns.of_joints[OF_JOINTS.index(h.kind), :, h.joint]
                unit = 1.0 if h.kind in OF_TORQUE else _rms(column)
                if _least(h, error) * unit > VISIBLE * self._effort[h.joint]:
                    undetermined.append((h.kind, h.place))
        undetermined += [
            (kind, name)
            for kind in SHOULD_BE_VISIBLE
            for name in self._arm.model.joint_names
            if not any((h.kind, h.place) == (kind, name) for h in self._hypotheses)
        ]
        return delay, tuple(undetermined)


def _least(h: Hypothesis, error: float) -> float:
    """Return the smallest value of a cause's one unknown that is worth its price."""
    # log probability x^2 / 2 error^2 - log(prior / error) > price, as in `selection`
    return error * math.sqrt(2 * (h.price + max(0.0, math.log(h.prior[0] / error))))


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))
