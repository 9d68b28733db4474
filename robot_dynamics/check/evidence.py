# SPDX-License-Identifier: Apache-2.0
"""Comparison of inertias with the geometry of their links.

A slip in a description has a shape: a factor of a unit, a swap of two numbers, a sign, other
axes. Each is proposed only if the numbers are implausible as they are and plausible once it is
undone, and of several the one that fits best. It is unique if no other one explains the numbers
as well, and proved if the numbers are impossible for any part. The numbers that are compared:

- density: mass over volume of the geometry;
- excess: distance of the centre of mass from the bounding box, over the diagonal of the box;
- offset: distance of the centre of mass from the centroid, over the same diagonal;
- size: radius of gyration over that of the uniform solid;
- distance: between the second moments per mass of link and solid, Sigma / m and Sigma_g,

      d = sqrt(sum_k log^2 lambda_k),   lambda_k: eigenvalues of Sigma_g^-1 Sigma / m,

  the affine-invariant distance of positive definite matrices, with the common scale reduced by
  half: a hollow part differs from the solid in scale, not in direction.

Source of the distance: Lee and Park, "A geometric algorithm for robust multibody inertial
parameter identification", RA-L 3(3), 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.description import Description, Link
from robot_dynamics.check.hypotheses import (
    RARE,
    Hypothesis,
    entry_hypotheses,
    frame_hypotheses,
    misplaced,
    tensor_hypotheses,
    unit_hypotheses,
)
from robot_dynamics.check.twins import agree
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, inconsistency, second_moment
from robot_dynamics.urdf.geometry.link_solids import Solid

DENSITIES = (30.0, 12_000.0)  # kg/m^3 of a bounding solid: from foam to lead
SIZES = (0.25, 3.5)  # radius of gyration over that of the uniform solid
MAX_EXCESS = 0.25
UNIT_EXCESS = 2.0  # a centre of mass in mm, cm or inches is farther away than this
# A centre of mass of opposite sign: outside by this much, and farther from the centroid by this.
SIGN_EXCESS, SIGN_GAIN, NEAR_OFFSET = 0.08, 3.0, 0.2
# Numbers beyond these are no guesses of a designer, so that a unit explains them.
EXTREME_DENSITIES = (2.0, 100_000.0)
EXTREME_SIZES = (0.04, 25.0)
# Bounds that a link must meet once a unit is repaired, and narrower ones if it was not extreme.
REPAIRED_DENSITIES = (60.0, 12_000.0)
REPAIRED_SIZES, NEAR_SIZES = (0.2, 5.5), (0.5, 2.0)
REPAIRED_EXCESS = 0.35
GUESSED_EXCESS = 20.0  # of a centre of mass in other units, in diagonals of a guessed solid
TYPICAL_DENSITY, TYPICAL_SIZE = 1_200.0, 0.9
SMALL_MASSES = ('mass in pounds', 'mass times 100')
DENSE, USUAL_DENSITY = 20.0, 1.6  # of a mass times 100, and that meant, e-foldings: of the typical
LONG, LOST = 7, 5  # digits of a number that a factor gave, and those that it loses without
# Deviations of a mass from those of the other links: as it is, without the slip; least spread.
MASS_OUTLIER, MASS_INLIER, MIN_SPREAD = 5.0, 1.5, 0.03
FLATNESS = 0.003  # of the trace, added to second moments: plates and rods have no inverse
# Distance of a repaired tensor from the geometry, and the factor by which it must have fallen.
GAINS = {0.55: 2.5, 0.9: 3.5}
MIN_GAIN = 0.05
# Slips that explain numbers alike: by less differ costs of units, and offsets from the centroid.
SAME_COST, SAME_OFFSET = 0.5, 0.1
SAME_PLACE = 0.05  # diagonals: places that are one
SAME_DISTANCE = 1.2, 0.01  # a factor of the least distance, and added to it
EXACT_OFFSET, EXACT_DISTANCE = 0.02, 0.05  # of an inertia that is that of the geometry
MIN_MASS = 1e-30  # kg; a tensor over less overflows
MAX_DISTANCE = 0.9  # from the geometry, of a repair of an inconsistent tensor
MIN_LINKS = 4  # fewer have no median


class Fit(NamedTuple):
    """An inertia compared with one solid."""

    density: float
    excess: float
    offset: float
    size: float
    distance: float

    @property
    def faults(self) -> list[str]:
        """Kinds of findings, most telling first."""
        kinds = {
            'density': _outside(self.density, DENSITIES),
            'com-outside-geometry': self.excess > MAX_EXCESS,
            'radius-of-gyration': _outside(self.size, SIZES),
        }
        return [kind for kind, fault in kinds.items() if fault]

    @property
    def extreme(self) -> bool:
        """Whether mass or tensor are wrong by orders of magnitude."""
        return _outside(self.density, EXTREME_DENSITIES) or _outside(self.size, EXTREME_SIZES)

    def repairs(self, before: Fit, kind: str) -> bool:
        """Return whether it is plausible as the result of a repair of this kind."""
        if kind == 'com-unit':
            return before.excess > UNIT_EXCESS and self.excess <= REPAIRED_EXCESS
        if kind == 'com-sign':
            near = self.offset < min(before.offset / SIGN_GAIN, NEAR_OFFSET)
            return before.excess > SIGN_EXCESS >= self.excess and near
        sizes = REPAIRED_SIZES if before.extreme else NEAR_SIZES
        plausible = not (_outside(self.density, REPAIRED_DENSITIES) or _outside(self.size, sizes))
        return plausible and before.faults != ['com-outside-geometry']


class Typical(NamedTuple):
    """Medians of the links of a robot whose numbers are plausible, and their deviations."""

    density: float = TYPICAL_DENSITY
    size: float = TYPICAL_SIZE
    spreads: tuple[float, float] = (np.inf, np.inf)  # of the logarithms

    def cost(self, fit: Fit) -> float:
        """Return how far mass, size and place of a link are from these, in e-foldings."""
        return float(np.abs(self._logs(fit)) @ (0.5, 1.0)) + fit.offset

    def deviation(self, fit: Fit) -> float:
        """Return how far mass and size of a link are from these, in standard deviations."""
        return float(np.linalg.norm(self._logs(fit) / self.spreads))

    def _logs(self, fit: Fit) -> Array:
        return np.log([fit.density / self.density, fit.size / self.size])


USUAL = Typical()


class Slip(NamedTuple):
    """The hypothesis that explains wrong numbers best."""

    meant: Hypothesis
    unique: bool  # no other one explains them as well
    proved: bool


def _outside(value: float, bounds: tuple[float, float]) -> bool:
    return not bounds[0] <= value <= bounds[1]


def fits(link: Link, body: Inertial) -> list[Fit]:
    """Return the comparison of an inertia with each solid of the link's geometry.

    Args:
        link: the link.
        body: with the tensor in the axes of its <inertial>.
    """
    if body.mass < MIN_MASS:
        return []
    sigma = link.rotation @ second_moment(body.inertia_com) @ link.rotation.T / body.mass
    return [_fit(body, sigma, solid) for solid in link.solids]


def best_fit(link: Link, body: Inertial, typical: Typical = USUAL) -> Fit | None:
    """Return the comparison with the solid that fits best, or None without one."""
    found = fits(link, body)
    return min(found, key=lambda fit: (len(fit.faults), typical.cost(fit)), default=None)


def typical_fit(robot: Description) -> Typical:
    """Return the medians of density and size of the links with geometry."""
    found = [
        fit
        for link in robot.links.values()
        if link.geometry.solids
        if (fit := best_fit(link, link.body)) is not None and not fit.faults
    ]
    if len(found) < MIN_LINKS:
        return USUAL
    logs = np.log([(fit.density, fit.size) for fit in found])
    middle = np.median(logs, axis=0)
    spreads = np.maximum(1.48 * np.median(np.abs(logs - middle), axis=0), MIN_SPREAD)
    density, size = np.exp(middle).tolist()
    return Typical(density, size, (float(spreads[0]), float(spreads[1])))


def tensor_distance(link: Link, body: Inertial) -> float:
    """Return the least distance of the tensor from those of the link's geometry, or infinity."""
    if not link.geometry.solids:
        return np.inf
    return min((fit.distance for fit in fits(link, body)), default=np.inf)


def _fit(body: Inertial, sigma: Array, solid: Solid) -> Fit:
    nearest = np.clip(body.com, solid.lower, solid.upper)
    diagonal = np.linalg.norm(solid.upper - solid.lower)
    size = np.sqrt(max(np.trace(sigma), 0.0) / np.trace(solid.sigma))
    return Fit(
        density=body.mass / solid.volume,
        excess=float(np.linalg.norm(body.com - nearest) / diagonal),
        offset=float(np.linalg.norm(body.com - solid.centroid) / diagonal),
        size=float(max(size, 1e-12)),
        distance=sigma_distance(sigma, solid.sigma),
    )


def sigma_distance(sigma: Array, reference: Array) -> float:
    """Return the distance of two second moments; see above."""
    spread = FLATNESS * np.trace(reference) * np.eye(3)
    values, U = np.linalg.eigh(reference + spread)
    W = U / np.sqrt(np.maximum(values, 1e-300))
    ratios = np.linalg.eigvalsh(W.T @ (sigma + spread) @ W)
    logs = np.log(np.clip(ratios, 1e-9, None))
    return float(np.hypot(np.linalg.norm(logs - logs.mean()), logs.mean() / 2))


# -- slips ------------------------------------------------------------------------------------


def unit_slip(
    link: Link, typical: Typical, both_sides: bool, reach: float, others: Sequence[Array] = ()
) -> Slip | None:
    """Return the unit or sign that explains implausible numbers of a link, or None.

    Args:
        link: the link.
        typical: the medians of the robot.
        both_sides: whether the twin has the same sign; then it is no slip.
        reach: of the robot, m: no centre of mass is farther away.
        others: centres of mass (3,) if the numbers are those of other frames.
    """
    now = best_fit(link, link.body, typical)
    if now is None:
        return None
    guessed = not link.geometry.solids
    if guessed and not now.extreme and now.excess < GUESSED_EXCESS:
        return None
    good = []
    for h in unit_hypotheses(link.body):
        then = best_fit(link, h.body, typical)
        if then is None or inconsistency(h.body) or (both_sides and h.kind == 'com-sign'):
            continue
        if _explains(link.body, h, now, then, typical):
            good.append((typical.cost(then) - told_by_digits(link.body, h), h, then))
    if not good:
        return None
    cost, best, then = min(good, key=lambda row: row[0])
    margin = SAME_OFFSET if best.kind in ('com-unit', 'com-sign') else SAME_COST
    alternatives = [h.body for other, h, _ in good if other < cost + margin]
    if best.kind == 'com-unit':
        elsewhere = (Inertial(link.body.mass, com, link.body.inertia_com) for com in others)
        alternatives += [
            body
            for body in elsewhere
            if (fit := best_fit(link, body)) is not None and fit.excess <= REPAIRED_EXCESS
        ]
    unique = not guessed and all(_same(link, best.body, body) for body in alternatives)
    return Slip(best, unique, unique and _proved(link.body, best, now, then, reach))


def _same(link: Link, one: Inertial, two: Inertial) -> bool:
    """Return whether two explanations of a mass, tensor or place are one."""
    if not np.array_equal(one.com, two.com):
        diagonal = np.linalg.norm(link.solids[0].upper - link.solids[0].lower)
        return float(np.linalg.norm(one.com - two.com)) <= SAME_PLACE * float(diagonal)
    return agree(one, two)


def _proved(body: Inertial, meant: Hypothesis, now: Fit, then: Fit, reach: float) -> bool:
    """Return whether numbers are impossible as they are, and usual without a slip."""
    if meant.kind == 'mass-unit':
        return _outside(now.density, EXTREME_DENSITIES) or told_by_digits(body, meant)
    if meant.kind == 'inertia-unit':
        return now.extreme and not _outside(then.size, NEAR_SIZES)
    # A sign is one of several explanations of a place outside.
    return meant.kind == 'com-unit' and bool(np.linalg.norm(body.com) > reach)


def _explains(body: Inertial, meant: Hypothesis, now: Fit, then: Fit, typical: Typical) -> bool:
    """Return whether a slip explains numbers that are implausible, or unlike the other links'."""
    if meant.slip not in SMALL_MASSES:
        return then.repairs(now, meant.kind) and bool(now.faults or meant.kind == 'com-sign')
    # A part that is a little too dense is not one in pounds: both mass and tensor must tell.
    outlier = typical.deviation(now) > MASS_OUTLIER > MASS_INLIER > typical.deviation(then)
    dense = now.density > max(DENSITIES[1], DENSE * typical.density)
    usual = abs(np.log(then.density / typical.density)) < USUAL_DENSITY
    alone = dense and usual and _outside(now.size, SIZES)
    return outlier or (then.repairs(now, meant.kind) and (alone or told_by_digits(body, meant)))


def told_by_digits(body: Inertial, meant: Hypothesis) -> bool:
    """Return whether a factor gave a number of few digits the many that it has."""
    if meant.kind == 'mass-unit':
        return lost_digits(body.mass, meant.body.mass)
    return meant.kind == 'com-unit' and any(map(lost_digits, body.com, meant.body.com))


def lost_digits(written: float, meant: float) -> bool:
    """Return whether a number has far fewer digits than the one that is written."""
    digits = _digits(f'{written:.12g}')
    return digits >= LONG and _digits(f'{meant:.{digits - 1}g}') <= digits - LOST


def _digits(text: str) -> int:
    return len(text.partition('e')[0].replace('.', '').strip('-0'))


def tensor_slip(link: Link) -> Slip | None:
    """Return the slip that explains a tensor that does not fit the geometry, or None.

    One that explains the place of the centre of mass, too, comes before one of the tensor alone.
    """
    now = tensor_distance(link, link.body)
    scored = [
        (tensor_distance(link, h.body), h)
        for h in (*tensor_hypotheses(link), *frame_hypotheses(link))
        if inconsistency(h.body) is None
    ]
    # Many orders and axes: of those that are rare, only one that fits exactly is evidence.
    scored = [(d, h) for d, h in scored if d <= EXACT_DISTANCE or h.slip not in RARE]
    then = min((distance for distance, _ in scored), default=np.inf)
    gain = next((gain for bound, gain in GAINS.items() if then <= bound), np.inf)
    if not np.isfinite(now) or now < gain * then + MIN_GAIN:
        return None
    factor, added = SAME_DISTANCE
    return _placed(link, [h for distance, h in scored if distance <= then * factor + added])


def _placed(link: Link, near: Sequence[Hypothesis]) -> Slip:
    """Return which of some slips of the tensor explains the place of the centre of mass."""
    offsets = [min(fit.offset for fit in fits(link, h.body)) for h in near]
    good = [h for h, o in zip(near, offsets, strict=True) if o <= min(offsets) + SAME_OFFSET]
    # The first of equals: signs of zeros and swaps of equal moments change nothing.
    best = good[0]
    unique = all(agree(best.body, h.body) for h in good)
    exact = min(offsets) <= EXACT_OFFSET and tensor_distance(link, best.body) <= EXACT_DISTANCE
    return Slip(best, unique, unique and exact and best.kind == 'inertial-axes')


def consistent_slip(link: Link) -> Hypothesis | None:
    """Return the only slip without which an inconsistent tensor is that of the geometry, or None.

    Without geometry the slip is the sign of the one moment that is negative, or products larger
    than all moments that stand in their places.
    """
    candidates = [*entry_hypotheses(link.body), *tensor_hypotheses(link), *frame_hypotheses(link)]
    scored = [
        (tensor_distance(link, h.body), h) for h in candidates if inconsistency(h.body) is None
    ]
    least = min((distance for distance, _ in scored), default=np.inf)
    # One moment that is negative is a sign, unless the geometry clearly says otherwise.
    if (np.diag(link.body.inertia_com) < 0).sum() == 1:
        signs = [pair for pair in scored if pair[1].slip.startswith('sign of')]
        if signs and not 2 * least < signs[0][0] < np.inf:
            return signs[0][1]
    if not np.isfinite(least):
        moments = np.abs(np.diag(link.body.inertia_com))
        dominated = np.abs(link.body.inertia_com).max() > moments.max()
        orders = [h for h in misplaced(link) if dominated and inconsistency(h.body) is None]
        same = all(agree(orders[0].body, h.body) for h in orders)
        return orders[0] if orders and same else None
    factor, added = SAME_DISTANCE
    near = [h for distance, h in scored if distance <= least * factor + added]
    slip = _placed(link, near) if least <= MAX_DISTANCE else None
    return slip.meant if slip and slip.unique else None
