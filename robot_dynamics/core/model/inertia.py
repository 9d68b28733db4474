# SPDX-License-Identifier: Apache-2.0
"""Inertia of one rigid body: mass, centre of mass, tensor, and physical consistency.

A body is stored as (m, c, I_com), with the tensor about the centre of mass. Two other forms are in
use: ten parameters about the body frame, in which every torque is linear,
(m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz), and the pseudo-inertia, the 4x4
matrix of second mass moments, which is positive semidefinite exactly for the physically
consistent inertias.

Sources: Spong, Hutchinson and Vidyasagar, section 6.2.3; Milićević, Golubović and Slavković,
(2.11); Wensing, Kim and Slotine, "Linear matrix inequalities for physically consistent inertial
parameter identification", RA-L 3(1), 2018.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array

SMALLEST_MOMENT = 1e-6  # of a repaired body: least second moment, of the largest


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass (3,) [m] and tensor (3, 3) about it [kg m^2], in one frame."""

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia_com: Array = field(default_factory=lambda: np.zeros((3, 3)))


def parallel_axis(mass: float, offset: Array) -> Array:
    """Return the (3, 3) tensor of a point mass at `offset` (3,): the term of Steiner's theorem.

    Spong, Hutchinson and Vidyasagar, section 6.2.3.
    """
    # I = m (c.c 1 - c c^T)
    return np.asarray(mass * (offset @ offset * np.eye(3) - np.outer(offset, offset)))


def transformed(body: Inertial, T: Array) -> Inertial:
    """Return the same body, expressed in the frame in which its frame has the pose T (4, 4)."""
    R, p = T[:3, :3], T[:3, 3]
    return Inertial(body.mass, R @ body.com + p, R @ body.inertia_com @ R.T)


def combined(bodies: Iterable[Inertial]) -> Inertial:
    """Return the inertia of several rigidly connected bodies, all in the same frame.

    Tensors of massless bodies are added about the frame's origin.
    """
    parts = list(bodies)
    mass = sum(body.mass for body in parts)
    # c = sum m_k c_k / m
    com = sum((b.mass * b.com for b in parts), np.zeros(3)) / mass if mass > 0 else np.zeros(3)
    # I = sum I_k + m_k (d.d 1 - d d^T),  d = c_k - c
    tensor = sum(
        (b.inertia_com + parallel_axis(b.mass, b.com - com) for b in parts), np.zeros((3, 3))
    )
    return Inertial(float(mass), com, tensor)


def to_parameters(body: Inertial) -> Array:
    """Return (m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz), (10,), tensor about the frame."""
    I_o = body.inertia_com + parallel_axis(body.mass, body.com)
    upper = I_o[np.triu_indices(3)]
    return np.concatenate([[body.mass], body.mass * body.com, upper])


def from_parameters(parameters: Array) -> Inertial:
    """Return the body of ten parameters (10,) about its frame: the inverse of `to_parameters`.

    Raises:
        ModelError: the mass is zero although the first moment is not.
    """
    mass, first_moment, upper = parameters[0], parameters[1:4], parameters[4:]
    I_o = symmetric(upper)
    if mass == 0:
        if np.any(first_moment):
            raise ModelError(
                f'mass is 0 with first moment {first_moment} kg m; expected a first moment of zero'
            )
        return Inertial(0.0, np.zeros(3), I_o)
    com = first_moment / mass
    return Inertial(float(mass), com, I_o - parallel_axis(mass, com))


def symmetric(upper: ArrayLike) -> Array:
    """Return the tensor (3, 3) of I_xx, I_xy, I_xz, I_yy, I_yz, I_zz (6,)."""
    I = np.zeros((3, 3))
    I[np.triu_indices(3)] = upper
    return np.asarray(I + np.triu(I, 1).T)


def second_moment(inertia: Array) -> Array:
    """Return Sigma = sum m r r^T (3, 3) of the tensor I = sum m (r.r 1 - r r^T), same point."""
    # Sigma = tr(I)/2 1 - I
    return np.asarray(np.trace(inertia) / 2 * np.eye(3) - inertia)


def pseudo_inertia(body: Inertial) -> Array:
    """Return J = sum m (r, 1)(r, 1)^T (4, 4) about the frame.

    Milićević, Golubović and Slavković, below (2.15).
    """
    # J = [[Sigma, m c], [m c^T, m]]
    J = np.empty((4, 4))
    J[:3, :3] = second_moment(body.inertia_com) + body.mass * np.outer(body.com, body.com)
    J[:3, 3] = J[3, :3] = body.mass * body.com
    J[3, 3] = body.mass
    return J


def malformation(body: Inertial) -> str | None:
    """Return why these are no numbers of a body, or None: shapes, signs, finiteness, symmetry."""
    for name, value, shape in (
        ('mass', body.mass, ()),
        ('com', body.com, (3,)),
        ('inertia', body.inertia_com, (3, 3)),
    ):
        array = np.asarray(value)
        if array.shape != shape or not np.isfinite(array).all():
            return f'{name} is {array.tolist()}; it must be finite, of shape {shape}'
    if body.mass < 0:
        return f'mass is {body.mass} kg; it must not be negative'
    I = np.asarray(body.inertia_com)
    if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
        return f'inertia is {I.tolist()}; it must be symmetric'
    return None


def inconsistency(body: Inertial, relative_tolerance: float = 1e-6) -> str | None:
    """Return why this inertia is physically inconsistent, or None if it is consistent.

    A tensor is consistent exactly if its second moment Sigma is positive semidefinite, that is,
    if its principal moments are positive and none exceeds the sum of the other two. Point masses
    and rods are accepted as limits, and so are violations of rounding size: published tensors
    have few digits.
    """
    moments = np.linalg.eigvalsh(body.inertia_com)
    # The moment of a body of 1 um in size: a smaller moment counts as zero.
    slack = relative_tolerance * np.abs(moments).max() + 1e-12 * body.mass
    shown = ', '.join(f'{value:.4g}' for value in moments)
    if moments[0] < -slack:
        return f'principal moments ({shown}) kg m^2 are not all positive'
    if moments[2] > moments[0] + moments[1] + slack:
        return (
            f'principal moments ({shown}) kg m^2 violate the triangle inequality: the largest '
            'must not exceed the sum of the others'
        )
    if body.mass == 0 and np.any(np.abs(body.inertia_com) > 0):
        return f'it has no mass, but principal moments ({shown}) kg m^2'
    return None


def consistent(body: Inertial) -> Inertial:
    """Return a body, its tensor replaced by the nearest consistent one where it is inconsistent.

    Nearest is the least change of the tensor (Frobenius norm), which keeps its principal axes. A
    body without mass has no tensor.
    """
    if inconsistency(body) is None:
        return body
    if body.mass == 0:
        return replace(body, inertia_com=np.zeros((3, 3)))
    values, axes = np.linalg.eigh(second_moment(body.inertia_com))
    floor = SMALLEST_MOMENT * np.abs(values).max()
    # |I' - I|^2 = |s' - s|^2 + (1.(s' - s))^2 in the eigenvalues s of Sigma. It is least at
    # s'_i = max(s_i - t, floor),  t = 1.(s' - s) = max_k sum_{i<k} (floor - s_i) / (4 - k),
    # with s in ascending order.
    below = np.concatenate([[0.0], np.cumsum(floor - values)])
    sigma = np.maximum(values - (below / (4.0, 3.0, 2.0, 1.0)).max(), floor)
    # I = tr(Sigma) 1 - Sigma
    moments = sigma.sum() - sigma
    return replace(body, inertia_com=np.asarray((axes * moments) @ axes.T))
