# SPDX-License-Identifier: Apache-2.0
"""Comparison of inertias with the geometry of their links.

A slip in a description has a shape: a factor of a unit, a swap of two numbers, a sign. Each is
proposed only if the numbers are implausible as they are and plausible once it is undone, and of
several the one that fits best. The numbers that are compared:

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

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.model.inertia import (
    Inertial,
    inconsistency,
    parallel_axis,
    second_moment,
    symmetric,
)
from robot_dynamics.spatial import Array
from robot_dynamics.urdf.geometry.link_solids import Solid
from robot_dynamics.urdf.rules import TENSOR
from robot_dynamics.urdf_check.description import Description, Link

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
MASSES = {1e-3: 'in grams', 1e3: 'in tonnes', 0.45359237: 'in pounds', 1e-2: 'times 100'}
TENSORS = {
    1e-3: 'g m^2',
    1e-4: 'kg cm^2',
    1e-6: 'kg mm^2',
    1e-7: 'g cm^2',
    1e-9: 'g mm^2',
    1e3: 't m^2',
}
SMALL_MASSES = ('mass in pounds', 'mass times 100')
DENSE, USUAL_DENSITY = 20.0, 1.6  # of a mass times 100, and that meant, e-foldings: of the typical
LENGTHS = {1e-3: 'mm', 1e-2: 'cm', 0.0254: 'inches'}
# Six numbers of a tensor written as those of other attributes: where each one is found.
MISPLACED = ((1, 0, 3, 2, 5, 4), (0, 3, 4, 1, 5, 2))
LONG, LOST = 7, 5  # digits of a number that a factor gave, and those that it loses without
# Deviations of a mass from those of the other links: as it is, without the slip; least spread.
MASS_OUTLIER, MASS_INLIER, MIN_SPREAD = 5.0, 1.5, 0.03
FLATNESS = 0.003  # of the trace, added to second moments: plates and rods have no inverse
# Distance of a repaired tensor from the geometry, and the factor by which it must have fallen.
GAINS = {0.55: 2.5, 0.9: 3.5}
MIN_GAIN = 0.05
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


class Hypothesis(NamedTuple):
    """An explanation of wrong numbers: a kind of finding and the numbers meant."""

    kind: str
    body: Inertial  # as in the <inertial>
    slip: str  # for the message


def _outside(value: float, bounds: tuple[float, float]) -> bool:
    return not bounds[0] <= value <= bounds[1]


def fits(link: Link, body: Inertial) -> list[Fit]:
    """Return the comparison of an inertia with each solid of the link's geometry.

    Args:
        link: the link.
        body: with the tensor in the axes of its <inertial>.
    """
    if body.mass <= 0:
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


# -- hypotheses --------------------------------------------------------------------------------


def unit_hypotheses(body: Inertial) -> Iterator[Hypothesis]:
    """Yield the numbers meant if mass, tensor or centre of mass have another unit or sign."""
    for k, unit in MASSES.items():
        meant = Inertial(body.mass * k, body.com, body.inertia_com)
        yield Hypothesis('mass-unit', meant, f'mass {unit}')
    for k, unit in TENSORS.items():
        meant = Inertial(body.mass, body.com, body.inertia_com * k)
        yield Hypothesis('inertia-unit', meant, f'tensor in {unit}')
    for k, unit in LENGTHS.items() if body.com.any() else ():
        meant = Inertial(body.mass, body.com * k, body.inertia_com)
        yield Hypothesis('com-unit', meant, f'centre of mass in {unit}')
    if body.com.any():
        meant = Inertial(body.mass, 0.0 - body.com, body.inertia_com)
        yield Hypothesis('com-sign', meant, 'centre of mass of opposite sign')
    meant = Inertial(body.mass * 1e-3, body.com, body.inertia_com * 1e-9)
    yield Hypothesis('inertia-unit', meant, 'mass in grams, tensor in g mm^2')


def tensor_hypotheses(link: Link) -> Iterator[Hypothesis]:
    """Yield the numbers meant if the tensor has another reference point, sign or order."""
    body, I = link.body, link.body.inertia_com
    yield Hypothesis(
        'inertia-about-origin',
        _with_tensor(body, I - parallel_axis(body.mass, link.rotation.T @ body.com)),
        'tensor about the link origin instead of the centre of mass',
    )
    for signs in sorted(itertools.product((-1, 1), repeat=3), key=lambda s: (s != (-1, -1, -1),)):
        flipped = I.copy()
        for (i, j), sign in zip(((0, 1), (0, 2), (1, 2)), signs, strict=True):
            flipped[i, j] = flipped[j, i] = sign * I[i, j]
        yield Hypothesis(
            'products-sign', _with_tensor(body, flipped), 'products of inertia of opposite sign'
        )
    yield from misplaced(body)
    for order in sorted(itertools.permutations(range(3)), key=_moved):
        swapped = I - np.diag(np.diag(I)) + np.diag(np.diag(I)[list(order)])
        yield Hypothesis(
            'inertia-permuted', _with_tensor(body, swapped), 'moments of inertia in another order'
        )


def misplaced(body: Inertial) -> Iterator[Hypothesis]:
    """Yield the numbers meant if products of inertia stand in the places of moments."""
    upper = np.triu_indices(3)
    for order in MISPLACED:
        entries = body.inertia_com[upper][list(order)]
        meant = _with_tensor(body, symmetric(entries.tolist()))
        yield Hypothesis('inertia-permuted', meant, 'products of inertia in place of moments')


def _moved(order: tuple[int, ...]) -> int:
    """Return how many moments change places: two that were swapped explain more than three."""
    return sum(i != k for i, k in enumerate(order))


def entry_hypotheses(body: Inertial) -> Iterator[Hypothesis]:
    """Yield the numbers meant if one entry of the tensor has a wrong sign or decimal point."""
    for name, i, j in zip(TENSOR, *np.triu_indices(3), strict=True):
        # The sign of a product alone is a hypothesis of its own.
        for factor in (*([-1.0] if i == j else []), *(10.0**k for k in range(-9, 10) if k)):
            tensor = body.inertia_com.copy()
            tensor[i, j] = tensor[j, i] = factor * tensor[i, j]
            slip = f'sign of {name}' if factor < 0 else f'decimal point of {name}'
            yield Hypothesis('inertia-entry', _with_tensor(body, tensor), slip)


def _with_tensor(body: Inertial, tensor: Array) -> Inertial:
    return Inertial(body.mass, body.com, tensor)


def unit_slip(link: Link, typical: Typical, both_sides: bool) -> Hypothesis | None:
    """Return the unit or sign that explains implausible numbers of a link, or None.

    Args:
        link: the link.
        typical: the medians of the robot.
        both_sides: whether the twin has the same sign; then it is no slip.
    """
    now = best_fit(link, link.body, typical)
    if now is None:
        return None
    guessed = not link.geometry.solids
    if guessed and not now.extreme and now.excess < GUESSED_EXCESS:
        return None
    meant = [(best_fit(link, h.body, typical), h) for h in unit_hypotheses(link.body)]
    good = [
        (typical.cost(then) - told_by_digits(link.body, h), h)
        for then, h in meant
        if then is not None
        and inconsistency(h.body) is None
        and not (both_sides and h.kind == 'com-sign')
        and _explains(link.body, h, now, then, typical)
    ]
    return min(good, key=lambda pair: pair[0], default=(0.0, None))[1]


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


def tensor_slip(link: Link) -> Hypothesis | None:
    """Return the slip that explains a tensor that does not fit the geometry, or None."""
    now = tensor_distance(link, link.body)
    consistent = (h for h in tensor_hypotheses(link) if inconsistency(h.body) is None)
    scored = [(tensor_distance(link, h.body), h) for h in consistent]
    # The first of equals: signs of zeros and swaps of equal moments change nothing.
    then = min((distance for distance, _ in scored), default=np.inf)
    gain = next((gain for bound, gain in GAINS.items() if then <= bound), np.inf)
    if not np.isfinite(now) or now < gain * then + MIN_GAIN:
        return None
    return next(h for distance, h in scored if distance <= then * 1.2 + 0.01)
