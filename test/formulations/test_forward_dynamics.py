# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics inverts inverse dynamics, and Euler's method is of order one."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound, ShapeError, SingularityError
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.formulations import FORMULATIONS, euler_lagrange
from robot_dynamics.formulations import forward_dynamics as fd

SOLVER = {'inverse_dynamics': euler_lagrange.inverse_dynamics}


def test_forward_after_inverse_is_the_identity(robot, at):
    condition = np.linalg.cond(euler_lagrange.mass_matrix(robot, at.q))
    for formulation in FORMULATIONS:
        tau = formulation.inverse_dynamics(robot, at.q, at.qd, at.qdd)
        qdd = fd.joint_acceleration(
            robot, at.q, at.qd, tau, inverse_dynamics=formulation.inverse_dynamics
        )
        assert np.abs(qdd - at.qdd).max() <= 1e-12 * max(1.0, condition), formulation.__name__


def test_mass_matrix_from_unit_accelerations(robot, at):
    M = euler_lagrange.mass_matrix(robot, at.q)
    columns = fd.mass_matrix(robot, at.q, **SOLVER)
    assert np.abs(columns - M).max() <= 1e-12 * np.abs(M).max()


def test_tip_wrench_pushes_the_robot(robot, at):
    frame = robot.frame_names[1]
    push = {'tip_wrench': at.wrench, 'tip_frame': frame}
    tau = euler_lagrange.inverse_dynamics(robot, at.q, at.qd, at.qdd, **push)
    qdd = fd.joint_acceleration(robot, at.q, at.qd, tau, **push, **SOLVER)
    condition = np.linalg.cond(euler_lagrange.mass_matrix(robot, at.q))
    assert np.abs(qdd - at.qdd).max() <= 1e-12 * max(1.0, condition)


def falling_mass():
    return build_tree(
        'falling_mass', [-1], [False], [np.array([0.0, 0.0, 1.0])], [np.eye(4)], [Inertial(2.0)]
    )


def test_euler_integration_of_free_fall_is_known_exactly():
    N, h = 20, 0.01
    z, v = fd.euler_integration(
        falling_mass(), np.zeros(1), np.ones(1), np.zeros((N, 1)), h, **SOLVER
    )
    k = np.arange(N + 1)
    # v_k = v_0 - g h k,  z_k = v_0 h k - g h^2 k (k - 1) / 2
    assert v[:, 0] == pytest.approx(1 - 9.81 * h * k, abs=1e-13)
    assert z[:, 0] == pytest.approx(h * k - 9.81 * h**2 * k * (k - 1) / 2, abs=1e-13)


def test_euler_integration_holds_a_mass_that_is_carried_by_a_wrench():
    N, carry = 5, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 9.81])
    z, v = fd.euler_integration(
        falling_mass(), np.zeros(1), np.zeros(1), np.zeros((N, 1)), 0.1,
        tip_wrench=np.tile(carry, (N, 1)), **SOLVER,
    )  # fmt: skip
    assert np.abs(z).max() <= 1e-13
    assert np.abs(v).max() <= 1e-13


def test_euler_integration_converges_with_order_one():
    arm, duration = planar_2r(), 0.2
    q, qd = np.array([0.4, -0.3]), np.array([1.0, -2.0])

    def end(N):
        return fd.euler_integration(arm, q, qd, np.ones((N, 2)), duration / N, **SOLVER)[0][-1]

    coarse, middle, fine = end(40), end(80), end(160)
    order = np.log2(np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine))
    assert order == pytest.approx(1.0, abs=0.1)


def test_a_joint_that_moves_nothing_is_named():
    arm = random_tree(3, np.random.default_rng(1), branching=0.0)
    mass, tensor = arm.mass.copy(), arm.inertia_com.copy()
    mass[2], tensor[2] = 0.0, 0.0
    arm = replace(arm, mass=mass, inertia_com=tensor)
    with pytest.raises(SingularityError, match='joint3'):
        fd.joint_acceleration(arm, np.zeros(3), np.zeros(3), np.ones(3), **SOLVER)


def test_wrong_arguments_are_named():
    arm, zero = planar_2r(), np.zeros(2)
    with pytest.raises(ShapeError, match='tau has shape'):
        fd.joint_acceleration(arm, zero, zero, np.zeros(3), **SOLVER)
    with pytest.raises(FrameNotFound, match='nowhere'):
        fd.joint_acceleration(
            arm, zero, zero, zero, tip_wrench=np.zeros(6), tip_frame='nowhere', **SOLVER
        )
    with pytest.raises(ShapeError, match=r'tau has shape \(2,\); it must be \(N, 2\)'):
        fd.euler_integration(arm, zero, zero, zero, 0.1, **SOLVER)
    with pytest.raises(ShapeError, match=r'tip_wrench has shape \(6,\); it must be \(1, 6\)'):
        fd.euler_integration(
            arm, zero, zero, np.zeros((1, 2)), 0.1, tip_wrench=np.zeros(6), **SOLVER
        )
