# SPDX-License-Identifier: Apache-2.0
"""Laws of so(3) and SE(3), and their matrix exponentials by an independent library."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from robot_dynamics.common import spatial

EPS = np.finfo(float).eps
SEEDS = range(5)


def random_pose(rng):
    return spatial.pose(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))


def vee(V):
    """Return the (4, 4) matrix [V] of a twist: [V] = [[w], v; 0, 0]."""
    M = np.zeros((4, 4))
    M[:3, :3], M[:3, 3] = spatial.skew(V[:3]), V[3:]
    return M


def unvee(M):
    return np.concatenate([spatial.unskew(M[:3, :3]), M[:3, 3]])


def test_cross_product_of_any_numbers():
    a, b = np.random.default_rng(1).normal(size=(2, 3))
    assert spatial.cross(a, b) == pytest.approx(np.cross(a, b), rel=0, abs=4 * EPS)
    # Exact; some products of entries are plain numbers.
    x = np.array([Fraction(1, 3), 0, 0], dtype=object)
    y = np.array([0, Fraction(1, 7), 2], dtype=object)
    assert spatial.cross(x, y).tolist() == [0, -Fraction(2, 3), Fraction(1, 21)]


@pytest.mark.parametrize('seed', SEEDS)
def test_skew_is_the_cross_product(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 3))
    np.testing.assert_allclose(spatial.skew(a) @ b, np.cross(a, b), atol=8 * EPS)
    np.testing.assert_array_equal(spatial.skew(a), -spatial.skew(a).T)
    np.testing.assert_array_equal(spatial.unskew(spatial.skew(a)), a)


def test_unskew_ignores_the_symmetric_part():
    M = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(spatial.skew(spatial.unskew(M)), (M - M.T) / 2, atol=2 * EPS)


@pytest.mark.parametrize('seed', SEEDS)
def test_rotation_is_the_exponential_of_skew(seed):
    rng = np.random.default_rng(seed)
    axis, angle = rng.normal(size=3), rng.uniform(-7, 7)
    axis /= np.linalg.norm(axis)
    R = spatial.axis_rotation(axis, angle)
    np.testing.assert_allclose(R, expm(spatial.skew(axis) * angle), atol=64 * EPS)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=16 * EPS)
    assert np.linalg.det(R) == pytest.approx(1, abs=16 * EPS)
    np.testing.assert_allclose(R @ axis, axis, atol=16 * EPS)


@pytest.mark.parametrize(
    ('rotation', 'letter'),
    [(spatial.rotation_x, 'x'), (spatial.rotation_y, 'y'), (spatial.rotation_z, 'z')],
)
def test_elementary_rotations(rotation, letter):
    for angle in (0.0, 0.3, -2.0, 7.0):
        expected = Rotation.from_euler(letter, angle).as_matrix()
        np.testing.assert_allclose(rotation(angle), expected, atol=8 * EPS)


def test_roll_pitch_yaw_are_about_fixed_axes():
    for seed in SEEDS:
        angles = np.random.default_rng(seed).uniform(-4, 4, 3)
        # Lower case: extrinsic, that is, fixed axes.
        expected = Rotation.from_euler('xyz', angles).as_matrix()
        np.testing.assert_allclose(spatial.rotation_rpy(*angles), expected, atol=16 * EPS)


@pytest.mark.parametrize('pitch', [0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, np.pi, 2.0])
def test_roll_pitch_yaw_give_the_rotation_back(pitch):
    """Also where roll and yaw are about one axis, and only their sum or difference is known."""
    for seed in SEEDS:
        roll, yaw = np.random.default_rng(seed).uniform(-4, 4, 2)
        R = spatial.rotation_rpy(roll, pitch, yaw)
        np.testing.assert_allclose(spatial.rotation_rpy(*spatial.rpy(R)), R, atol=16 * EPS)


def test_complex_angles_give_derivatives():
    step = 1e-30
    axis, angle = np.array([0.6, 0.0, 0.8]), 0.7
    slope = spatial.axis_rotation(axis, angle + 1j * step).imag / step
    # dR/dt = [a] R
    expected = spatial.skew(axis) @ spatial.axis_rotation(axis, angle)
    np.testing.assert_allclose(slope, expected, atol=16 * EPS)


@pytest.mark.parametrize('seed', SEEDS)
def test_poses_form_a_group(seed):
    rng = np.random.default_rng(seed)
    A, B = random_pose(rng), random_pose(rng)
    np.testing.assert_allclose(A @ spatial.inverse_pose(A), np.eye(4), atol=16 * EPS)
    AB = spatial.inverse_pose(spatial.inverse_pose(B) @ spatial.inverse_pose(A))
    np.testing.assert_allclose(AB, A @ B, atol=32 * EPS)
    np.testing.assert_array_equal(A[3], [0, 0, 0, 1])


@pytest.mark.parametrize('seed', SEEDS)
def test_adjoint_carries_twists(seed):
    rng = np.random.default_rng(seed)
    A, B, V = random_pose(rng), random_pose(rng), rng.normal(size=6)
    # [Ad_T V] = T [V] T^-1,  Ad_AB = Ad_A Ad_B
    carried = A @ vee(V) @ spatial.inverse_pose(A)
    np.testing.assert_allclose(spatial.adjoint(A) @ V, unvee(carried), atol=64 * EPS)
    np.testing.assert_allclose(
        spatial.adjoint(A @ B), spatial.adjoint(A) @ spatial.adjoint(B), atol=64 * EPS
    )


@pytest.mark.parametrize('seed', SEEDS)
def test_lie_bracket_is_the_commutator(seed):
    V, W = np.random.default_rng(seed).normal(size=(2, 6))
    commutator = vee(V) @ vee(W) - vee(W) @ vee(V)
    np.testing.assert_allclose(spatial.lie_bracket(V) @ W, unvee(commutator), atol=32 * EPS)
    np.testing.assert_allclose(spatial.lie_bracket(V) @ V, np.zeros(6), atol=16 * EPS)
    # exp(ad_V) = Ad_exp(V)
    np.testing.assert_allclose(
        expm(spatial.lie_bracket(V)), spatial.adjoint(expm(vee(V))), atol=1e4 * EPS
    )


@pytest.mark.parametrize('seed', SEEDS)
def test_spatial_inertia_gives_the_kinetic_energy(seed):
    rng = np.random.default_rng(seed)
    points, masses, V = rng.normal(size=(8, 3)), rng.uniform(0.1, 1, 8), rng.normal(size=6)
    mass, com = masses.sum(), masses @ points / masses.sum()
    arms = points - com
    inertia_com = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    G = spatial.spatial_inertia(mass, com, inertia_com)
    # sum m |v + w x r|^2 / 2 = V^T G V / 2
    speeds = V[3:] + np.cross(V[:3], points)
    energy = (masses * (speeds**2).sum(axis=1)).sum() / 2
    assert pytest.approx(energy, rel=64 * EPS) == V @ G @ V / 2
    np.testing.assert_allclose(G, G.T, atol=8 * EPS)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.3, 1.0, 3.0, np.pi])
def test_a_quaternion_is_axis_and_half_angle(angle):
    axis = np.array([2.0, -3.0, 6.0]) / 7
    x = spatial.quaternion(spatial.axis_rotation(axis, angle))
    expected = np.array([*(axis * np.sin(angle / 2)), np.cos(angle / 2)])
    # At half a turn both signs are the same rotation, and w = 0 decides for neither.
    assert abs(x @ expected) == pytest.approx(1, abs=1e-15)
    assert x[3] >= 0
    if angle < 3.1:
        np.testing.assert_allclose(x, expected, atol=1e-15)


def test_quaternions_turn_vectors_as_matrices_do():
    rng = np.random.default_rng(0)
    for roll, pitch, yaw in rng.uniform(-np.pi, np.pi, (50, 3)):
        R = spatial.rotation_z(yaw) @ spatial.rotation_y(pitch) @ spatial.rotation_x(roll)
        *v, w = spatial.quaternion(R)
        for u in np.eye(3):
            # u' = u + 2 w (v x u) + 2 v x (v x u)
            turned = u + 2 * w * np.cross(v, u) + 2 * np.cross(v, np.cross(v, u))
            np.testing.assert_allclose(turned, R @ u, atol=4e-15)
        for size in (1.0, -2.0):  # both signs are the same rotation
            np.testing.assert_allclose(
                spatial.quaternion_rotation(size * spatial.quaternion(R)), R, atol=4e-15
            )
