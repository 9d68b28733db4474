# SPDX-License-Identifier: Apache-2.0
"""Inertia of uniform solids: box, cylinder, capsule, sphere and ellipsoid.

Each function returns an `Inertial` in a frame at the named point, with axes along the solid's. The
tensor of a body of density rho is the volume integral

    I = integral over the body of rho (r.r 1 - r r^T) dV.

For a body with three planes of symmetry it reduces to three numbers, Sigma = integral of
rho r r^T dV = diag(sx, sy, sz) and I = tr(Sigma) 1 - Sigma. `transformed` of `model.inertia`
changes the frame of the result, `combined` adds several.

Source: Spong, Hutchinson and Vidyasagar, section 6.2.1 and example 6.3; Lynch and Park, draft,
section 9.2.1 (volume integrals).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial


def box(mass: float, a: float, b: float, c: float) -> Inertial:
    """Return a rectangular solid of lengths a, b, c [m] along x, y, z, about its centre.

    I_xx = m/12 (b^2 + c^2), and so on. Spong, Hutchinson and Vidyasagar, example 6.3.

    Raises:
        ModelError: a length or the mass [kg] is negative or not finite, as for all solids.
    """
    _check(mass=mass, a=a, b=b, c=c)
    # integral of x^2 from -a/2 to a/2 = a^3/12, so sx = m a^2 / 12
    return _symmetric(mass, mass / 12 * np.array([a, b, c]) ** 2)


def box_of_density(
    density: Callable[[Array], ArrayLike], a: float, b: float, c: float, *, nodes: int = 8
) -> Inertial:
    """Return a rectangular solid of variable density, about axes through its centre.

    The volume integrals of Spong, Hutchinson and Vidyasagar, section 6.2.1, over the solid of
    example 6.3 with rho(x, y, z) instead of a constant, by Gauss quadrature.

    Args:
        density: rho(r), from points (k, 3) [m] to densities (k,) [kg/m^3].
        a: length along x, m.
        b: length along y, m.
        c: length along z, m.
        nodes: number per axis; exact for polynomials rho of degree up to 2 nodes - 3 in each.

    Raises:
        ModelError: a length is negative or not finite, or a density negative or not finite.
    """
    _check(a=a, b=b, c=c)
    x, w = np.polynomial.legendre.leggauss(nodes)
    r = np.stack(np.meshgrid(x, x, x, indexing='ij'), axis=-1).reshape(-1, 3) * [
        a / 2,
        b / 2,
        c / 2,
    ]
    rho = np.broadcast_to(np.asarray(density(r), dtype=float), len(r))
    if not np.all(np.isfinite(rho) & (rho >= 0)):
        raise ModelError(f'density is {rho.min()} kg/m^3 at a point; expected finite numbers >= 0')
    dm = rho * np.einsum('i,j,k->ijk', w, w, w).ravel() * (a * b * c / 8)
    mass = float(dm.sum())
    com = dm @ r / mass if mass > 0 else np.zeros(3)
    # Sigma = integral of rho (r - com) (r - com)^T dV
    Sigma = np.einsum('k,ki,kj->ij', dm, r - com, r - com)
    return Inertial(mass, com, _tensor(Sigma))


def ellipsoid(mass: float, a: float, b: float, c: float) -> Inertial:
    """Return a solid ellipsoid of half-axes a, b, c [m] along x, y, z, about its centre."""
    _check(mass=mass, a=a, b=b, c=c)
    # sx = m a^2 / 5
    return _symmetric(mass, mass / 5 * np.array([a, b, c]) ** 2)


def sphere(mass: float, radius: float) -> Inertial:
    """Return a solid sphere of a radius [m], about its centre: I = 2/5 m r^2."""
    return ellipsoid(mass, radius, radius, radius)


def cylinder(mass: float, radius: float, length: float) -> Inertial:
    """Return a solid cylinder along z, about its centre; as URDF's <cylinder>."""
    _check(mass=mass, radius=radius, length=length)
    # sx = sy = m r^2 / 4,  sz = m l^2 / 12
    across = mass * radius**2 / 4
    return _symmetric(mass, np.array([across, across, mass * length**2 / 12]))


def capsule(mass: float, radius: float, length: float) -> Inertial:
    """Return a solid capsule along z, about its centre: a cylinder between two half spheres.

    `length` is that of the cylinder, as of the <capsule> of URDF 1.1.
    """
    _check(mass=mass, radius=radius, length=length)
    # Shares of the volume of cylinder and sphere, pi r^2 l and 4/3 pi r^3
    share = 1.0 if length > 0 else 0.0
    if radius > 0:
        share = length / (length + 4 / 3 * radius)
    straight, round_ = mass * share, mass * (1 - share)
    across = straight * radius**2 / 4 + round_ * radius**2 / 5
    # The centre of a half sphere is 3/8 r from its flat side:
    # sz = m l^2/12 + m_s (r^2/5 + l^2/4 + 3/8 r l)
    along = straight * length**2 / 12 + round_ * (
        radius**2 / 5 + length**2 / 4 + 3 / 8 * radius * length
    )
    return _symmetric(mass, np.array([across, across, along]))


def _symmetric(mass: float, sigma: Array) -> Inertial:
    """Return a body about its centre, with second moments `sigma` (3,) along its axes."""
    return Inertial(mass, np.zeros(3), _tensor(np.diag(sigma)))


def _tensor(Sigma: Array) -> Array:
    # I = tr(Sigma) 1 - Sigma
    return np.asarray(np.trace(Sigma) * np.eye(3) - Sigma)


def _check(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(f'{name} is {value}; it must be finite and not negative')
