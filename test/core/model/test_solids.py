# SPDX-License-Identifier: Apache-2.0
"""Solids against volume integrals by quadrature, and against each other."""

import itertools

import numpy as np
import pytest
from definite import is_definite

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import axis_rotation, pose
from robot_dynamics.core.model import solids
from robot_dynamics.core.model.inertia import (
    Inertial,
    combined,
    inconsistency,
    pseudo_inertia,
    transformed,
)

ROUNDING = 1e-13
EPS = np.finfo(float).eps


def assert_same(body, expected, tolerance=ROUNDING):
    assert body.mass == pytest.approx(expected.mass, rel=tolerance)
    assert np.abs(body.com - expected.com).max() <= tolerance * max(
        1.0, np.abs(expected.com).max()
    )
    size = np.abs(expected.inertia_com).max()
    assert np.abs(body.inertia_com - expected.inertia_com).max() <= tolerance * size


# -- by the definition ----------------------------------------------------------------------------

GAUSS = [(x + 1) / 2 for x in np.polynomial.legendre.leggauss(12)[0]]
WEIGHTS = np.polynomial.legendre.leggauss(12)[1] / 2
TURN = np.arange(16) / 16  # equal weights: exact for the sines and cosines that occur


def by_quadrature(mass, point, density):
    """Return the body of points r(u, v, w), u, v, w in 0 ... 1, with their volume elements.

    12 Gauss nodes in u and v, 16 equal steps in w (an angle): exact for all bodies below.
    """
    nodes = [
        (np.array(point(u, v, 2 * np.pi * w)), density(u, v) * wu * wv)
        for (u, wu), (v, wv), w in itertools.product(
            zip(GAUSS, WEIGHTS, strict=True), zip(GAUSS, WEIGHTS, strict=True), TURN
        )
    ]
    volume = sum(dV for _, dV in nodes)
    com = sum(r * dV for r, dV in nodes) / volume
    # I = integral of rho (r.r 1 - r r^T) dV, about the centre of mass
    tensor = sum(
        ((r - com) @ (r - com) * np.eye(3) - np.outer(r - com, r - com)) * dV for r, dV in nodes
    )
    return Inertial(mass, com, tensor * mass / volume)


def ball(a, b, c):
    """Return points and volume elements of an ellipsoid."""

    def point(u, v, angle):
        radius, z = u, 2 * v - 1
        across = radius * np.sqrt(1 - z**2)
        return a * across * np.cos(angle), b * across * np.sin(angle), c * radius * z

    return point, lambda u, v: u**2


def round_column(radius, height, bottom=0.0):
    """Return points and volume elements of a cylinder along z."""

    def point(u, v, angle):
        across = u * radius
        return across * np.cos(angle), across * np.sin(angle), bottom + height * v

    return point, lambda u, v: u


BY_DEFINITION = {
    'ellipsoid': (solids.ellipsoid(2.0, 0.3, 0.5, 0.7), ball(0.3, 0.5, 0.7)),
    'sphere': (solids.sphere(2.0, 0.3), ball(0.3, 0.3, 0.3)),
    'cylinder': (solids.cylinder(2.0, 0.3, 0.8), round_column(0.3, 0.8, bottom=-0.4)),
}


@pytest.mark.parametrize('name', BY_DEFINITION)
def test_solid_is_its_volume_integral(name):
    body, (point, density) = BY_DEFINITION[name]
    assert_same(body, by_quadrature(2.0, point, density))


def test_rectangular_solid_of_example_6_3():
    """rho abc = m and I_xx = m/12 (b^2 + c^2); likewise y and z; no products of inertia."""
    a, b, c, rho = 0.3, 0.5, 0.7, 800.0
    body = solids.box(rho * a * b * c, a, b, c)
    assert body.mass == 800.0 * 0.3 * 0.5 * 0.7
    # I_xx = integral of (y^2 + z^2) rho dx dy dz, each term by hand
    I_xx = rho * a * (b**3 / 12 * c + b * c**3 / 12)
    I_yy = rho * b * (a**3 / 12 * c + a * c**3 / 12)
    I_zz = rho * c * (a**3 / 12 * b + a * b**3 / 12)
    assert_same(body, Inertial(body.mass, np.zeros(3), np.diag([I_xx, I_yy, I_zz])))
    assert body.inertia_com[0, 0] == pytest.approx(body.mass / 12 * (b**2 + c**2), rel=4 * EPS)


def test_rectangular_solid_of_example_6_3_with_a_density_that_is_not_uniform():
    """Spong et al., section 6.2.1: rho(x, y, z) = rho (1 + k x + l y z), each integral by hand."""
    a, b, c, rho, k, l = 0.3, 0.5, 0.7, 800.0, 1.3, 2.1
    body = solids.box_of_density(
        lambda r: rho * (1 + k * r[:, 0] + l * r[:, 1] * r[:, 2]), a, b, c
    )
    m = rho * a * b * c
    assert body.mass == pytest.approx(m, rel=ROUNDING)
    # integral of rho x dV = rho k a^3/12 b c: the middle is not the centre of mass
    com = np.array([k * a**2 / 12, 0, 0])
    assert body.com == pytest.approx(com, rel=ROUNDING, abs=ROUNDING)
    # Odd terms vanish in the second moments, and those of y z alone are not zero in Sigma_yz.
    Sigma = m / 12 * np.diag([a**2, b**2, c**2])
    Sigma[1, 2] = Sigma[2, 1] = l * m * b**2 / 12 * c**2 / 12
    Sigma -= m * np.outer(com, com)
    assert_same(body, Inertial(m, com, np.trace(Sigma) * np.eye(3) - Sigma))


def test_constant_density_is_the_uniform_box():
    body = solids.box_of_density(lambda r: np.full(len(r), 800.0), 0.3, 0.5, 0.7)
    assert_same(body, solids.box(800.0 * 0.3 * 0.5 * 0.7, 0.3, 0.5, 0.7))


# -- against each other ---------------------------------------------------------------------------


def test_a_cylinder_is_two_half_as_long():
    half = solids.cylinder(1.0, 0.2, 0.5)
    parts = [transformed(half, pose(np.eye(3), np.array([0, 0, z]))) for z in (-0.25, 0.25)]
    assert_same(combined(parts), solids.cylinder(2.0, 0.2, 1.0))


def test_degenerate_sizes_are_consistent_limits():
    assert is_definite(solids.box(1.0, 0.1, 0.2, 0.3))
    plate, rod = solids.box(1.0, 0.1, 0.2, 0.0), solids.cylinder(1.0, 0.0, 0.3)
    for body in (plate, rod, solids.sphere(1.0, 0.0), Inertial()):
        assert not is_definite(body)
        assert inconsistency(body) is None


@pytest.mark.parametrize('size', [1e-3, 1.0, 1e3])
def test_solids_have_a_definite_pseudo_inertia_and_plates_have_none(size):
    rng = np.random.default_rng(8)
    for _ in range(20):
        a, b, c = size * rng.uniform(0.1, 1.0, 3)
        body = transformed(solids.box(2.0, a, b, c), random_pose(rng, size))
        assert inconsistency(body) is None
        assert is_definite(body)
        # The same without units: lengths in sizes
        D = np.diag([1 / size, 1 / size, 1 / size, 1.0])
        assert np.linalg.eigvalsh(D @ pseudo_inertia(body) @ D)[0] > 0
    plate = transformed(solids.box(2.0, size, size, 0.0), random_pose(rng, size))
    assert np.linalg.eigvalsh(D @ pseudo_inertia(plate) @ D)[0] == pytest.approx(0, abs=1e-14)


def random_pose(rng, size=1.0):
    axis = rng.normal(size=3)
    return pose(
        axis_rotation(axis / np.linalg.norm(axis), rng.normal()), size * rng.normal(size=3)
    )


# -- rejections ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: solids.box(1.0, 0.1, -0.2, 0.3), 'b is -0.2'),
        (lambda: solids.box_of_density(lambda r: r[:, 0], 1.0, 1.0, 1.0), 'density is -0.4'),
        (lambda: solids.box_of_density(len, -1.0, 1.0, 1.0), 'a is -1.0'),
        (lambda: solids.sphere(-1.0, 0.1), 'mass is -1.0'),
        (lambda: solids.cylinder(1.0, np.nan, 0.1), 'radius is nan'),
    ],
)
def test_impossible_solids_are_named(make, message):
    with np.errstate(invalid='ignore'), pytest.raises(ModelError, match=message):
        make()
