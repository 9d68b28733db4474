# SPDX-License-Identifier: Apache-2.0
"""One rigid body against momenta in the inertial frame; Lynch and Park, draft, section 9.2."""

import numpy as np
import pytest

from robot_dynamics.common.spatial import axis_rotation, lie_bracket, spatial_inertia
from robot_dynamics.core.model.robots import random_inertial
from robot_dynamics.formulations import twist_wrench
from robot_dynamics.textbook.closed_forms import RigidBody
from robot_dynamics.validation.identities import derivative

ROUNDING = 1e-12
RNG = np.random.default_rng(6)


def body():
    inertial = random_inertial(RNG)
    return RigidBody(inertial.mass, inertial.inertia_com)


CASES = [(body(), *RNG.uniform(-3, 3, (2, 6))) for _ in range(8)]
every_case = pytest.mark.parametrize(('rigid', 'V', 'Vd'), CASES)


def assert_equal(value, expected, tolerance=ROUNDING):
    assert np.abs(value - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@every_case
def test_both_forms_agree(rigid, V, Vd):
    assert_equal(rigid.twist_wrench(V, Vd), rigid.classical_wrench(V, Vd))


@every_case
def test_the_library_s_forms(rigid, V, Vd):
    F = rigid.classical_wrench(V, Vd)
    G = spatial_inertia(rigid.m, np.zeros(3), rigid.I_b)
    assert_equal(G, rigid.G)
    assert_equal(twist_wrench.body_wrench(G, V, Vd), F)
    parts = twist_wrench.body_moment_and_force(rigid.m, rigid.I_b, V, Vd)
    assert_equal(np.concatenate(parts), F)


@every_case
def test_wrench_is_the_rate_of_momentum_in_the_inertial_frame(rigid, V, Vd):
    """(9.14) and (9.15), for a motion with known orientation.

    R(t) = R_0 exp([a] f(t)) exp([b] t): the body's angular velocity is w = b + exp(-[b] t) a f'.
    """
    a, b = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    R_0 = axis_rotation(np.array([0.0, 0.6, 0.8]), 0.7)

    def motion(t):
        R = R_0 @ axis_rotation(a, np.sin(t)) @ axis_rotation(b, t)
        w = b + axis_rotation(b, t).T @ a * np.cos(t)
        # v_b is any smooth function of time.
        return R, np.concatenate([w, V[3:] + Vd[3:] * t])

    R, now = motion(0.0)
    rate = derivative(lambda t: motion(t)[1], 1.0)
    F_inertial = derivative(lambda t: rigid.inertial_momentum(*motion(t)), 1.0)
    F_b = np.concatenate([R.T @ F_inertial[:3], R.T @ F_inertial[3:]])
    assert_equal(rigid.twist_wrench(now, rate), F_b, 1e-11)


@every_case
def test_power_is_the_rate_of_kinetic_energy(rigid, V, Vd):
    """d/dt (1/2 V^T G V) = V^T F: the bracket's part of F does no work. (9.24), (9.33)."""
    F = rigid.twist_wrench(V, Vd)
    assert_equal(V @ F, V @ rigid.momentum(Vd))
    # K is homogeneous: 1/2 V^T P
    assert_equal(rigid.kinetic_energy(V), V @ rigid.momentum(V) / 2)


@every_case
def test_moment_alone_is_euler_s_equation(rigid, V, Vd):
    """(9.34): m_b = I wd - [w]^T I w; and the bracket is that of `spatial`."""
    moment = rigid.twist_wrench(V, Vd)[:3]
    w_bracket = lie_bracket(V)[:3, :3]
    # v x m v = 0, so translation adds nothing
    assert_equal(moment, rigid.I_b @ Vd[:3] - w_bracket.T @ rigid.I_b @ V[:3])
