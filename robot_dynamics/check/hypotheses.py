# SPDX-License-Identifier: Apache-2.0
"""Hypotheses of the numbers meant by those of a link, with one slip undone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.description import Link
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, parallel_axis, symmetric
from robot_dynamics.urdf.rules import TENSOR

MASSES = {1e-3: 'in grams', 1e3: 'in tonnes', 0.45359237: 'in pounds', 1e-2: 'times 100'}
TENSORS = {
    1e-3: 'g m^2',
    1e-4: 'kg cm^2',
    1e-6: 'kg mm^2',
    1e-7: 'g cm^2',
    1e-9: 'g mm^2',
    1e3: 't m^2',
}
LENGTHS = {1e-3: 'mm', 1e-2: 'cm', 0.0254: 'inches'}
# Six numbers of a tensor written as those of other attributes: where each one is found.
MISPLACED = {
    (1, 0, 3, 2, 5, 4): 'products of inertia in place of moments',
    (0, 3, 4, 1, 5, 2): 'moments of inertia before products',
    (0, 5, 4, 1, 3, 2): 'moments of inertia before products, these in reverse',
    (0, 1, 3, 2, 4, 5): 'rows of the lower triangle',
}
ROWS = 'first six of nine numbers, row by row,'
TURNED = 'centre of mass and tensor in other axes'
MIRRORED = 'centre of mass and tensor with the opposite sign of one axis'
RARE = {*list(MISPLACED.values())[2:], ROWS, TURNED, MIRRORED}
# Signs of axes, all three first: -1 times the vector.
SIGNS = np.array(sorted(itertools.product((1, -1), repeat=3))[:-1])


class Hypothesis(NamedTuple):
    """An explanation of wrong numbers: a kind of finding and the numbers meant."""

    kind: str
    body: Inertial  # as in the <inertial>
    slip: str  # for the message


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
        for signs in SIGNS:
            axes = ' and '.join(axis for axis, sign in zip('xyz', signs, strict=True) if sign < 0)
            of = '' if sum(signs) == -3 else f' in {axes}'
            meant = Inertial(body.mass, signs * body.com + 0.0, body.inertia_com)
            yield Hypothesis('com-sign', meant, f'centre of mass of opposite sign{of}')
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
    yield from misplaced(link)
    for order in sorted(itertools.permutations(range(3)), key=_moved):
        swapped = I - np.diag(np.diag(I)) + np.diag(np.diag(I)[list(order)])
        yield Hypothesis(
            'inertia-permuted', _with_tensor(body, swapped), 'moments of inertia in another order'
        )


def frame_hypotheses(link: Link) -> Iterator[Hypothesis]:
    """Yield the numbers meant if centre of mass and tensor are both in other axes, or mirrored."""
    body, R = link.body, link.rotation
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            Q = np.diag(signs)[list(order)]
            mirrored = order == (0, 1, 2) and sum(signs) == 1
            if mirrored or (np.linalg.det(Q) > 0 and not np.array_equal(Q, np.eye(3))):
                turn = R.T @ Q @ R
                tensor = turn @ body.inertia_com @ turn.T
                meant = Inertial(body.mass, Q @ body.com + 0.0, tensor)
                yield Hypothesis('inertial-axes', meant, MIRRORED if mirrored else TURNED)


def misplaced(link: Link) -> Iterator[Hypothesis]:
    """Yield the numbers meant if products of inertia stand in the places of moments."""
    body, upper = link.body, np.triu_indices(3)
    written = body.inertia_com[upper]
    for order, slip in MISPLACED.items():
        meant = _with_tensor(body, symmetric(written[list(order)].tolist()))
        yield Hypothesis('inertia-permuted', meant, slip)
    if written[3] != written[1] or not written[1] or not link.geometry.solids:
        return
    # Six of nine numbers, row by row: xx xy xz, yx yy yz. zz is lost; geometry tells it best.
    xx, xy, xz, _, yy, yz = written
    solid = symmetric([1.0, 0, 0, 1.0, 0, 1.0]) * np.trace(link.geometry.solids[0].sigma)
    moments = link.rotation.T @ (solid - link.geometry.solids[0].sigma) @ link.rotation
    zz = moments[2, 2] * (xx + yy) / (moments[0, 0] + moments[1, 1])
    meant = _with_tensor(body, symmetric([xx, xy, xz, yy, yz, zz]))
    yield Hypothesis('inertia-permuted', meant, ROWS)


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
