# SPDX-License-Identifier: Apache-2.0
"""A single body in both forms, the two recursions for the acceleration, and a base that moves."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import (
    adjoint,
    axis_rotation,
    inverse_pose,
    pose,
    spatial_inertia,
)
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.inertia import transformed
from robot_dynamics.core.model.robots import random_inertial, random_tree
from robot_dynamics.core.model.screws import exponential, to_screws
from robot_dynamics.formulations import twist_wrench


def close(x, y, size=None):
    size = np.abs(y).max() if size is None else size
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1.0, size))


def test_single_body_in_both_forms():
    rng = np.random.default_rng(0)
    for _ in range(20):
        body, V, Vd = random_inertial(rng), *rng.normal(size=(2, 6))
        G = spatial_inertia(body.mass, np.zeros(3), body.inertia_com)
        m_b, f_b = twist_wrench.body_moment_and_force(body.mass, body.inertia_com, V, Vd)
        close(twist_wrench.body_wrench(G, V, Vd), np.concatenate([m_b, f_b]))


def test_single_body_from_any_frame():
    """F = G Vd - ad_V^T G V keeps its form in a frame that is not at the centre of mass."""
    rng = np.random.default_rng(1)
    body, V, Vd = random_inertial(rng), *rng.normal(size=(2, 6))
    T_ab = pose(axis_rotation(np.array([0.0, 0.6, 0.8]), 0.7), rng.normal(size=3))
    there = transformed(body, T_ab)
    G_b = spatial_inertia(body.mass, body.com, body.inertia_com)
    G_a = spatial_inertia(there.mass, there.com, there.inertia_com)
    Ad_ab = adjoint(T_ab)
    F_a = twist_wrench.body_wrench(G_a, Ad_ab @ V, Ad_ab @ Vd)
    close(Ad_ab.T @ F_a, twist_wrench.body_wrench(G_b, V, Vd))


def test_both_recursions_for_the_acceleration(robot, at):
    first = twist_wrench.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    second = twist_wrench.inverse_dynamics(
        robot, at.q, at.qd, at.qdd, bracket=twist_wrench.bracket_of_carried_twist
    )
    close(second, first)


def test_twists_are_those_of_the_centres_of_mass(robot, at):
    at_rest = np.zeros(6)
    motions = twist_wrench.forward_iteration(robot, at.q, at.qd, at.qdd, at_rest, at_rest)
    poses = kin.body_poses(robot, at.q)
    for i, J in enumerate(kin.com_jacobians(robot, poses)):
        w, v = np.split(J @ (robot.S @ at.qd), 2)
        R = poses[i, :3, :3]
        close(motions[i].V, np.concatenate([R.T @ w, R.T @ v]))


@pytest.mark.parametrize('n', [1, 4, 8])
def test_moving_base_against_a_free_flyer(n):
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(n)
    model = random_tree(n, rng, branching=0.0)
    twin = pin.Model()
    twin.gravity.linear = model.gravity
    joint = twin.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')
    for i in range(n):
        kind = (
            pin.JointModelRevoluteUnaligned
            if model.revolute[i]
            else pin.JointModelPrismaticUnaligned
        )
        T = pin.SE3(np.array(model.placement[i]))
        joint = twin.addJoint(joint, kind(np.array(model.axis[i])), T, f'joint{i}')
        inertia = pin.Inertia(float(model.mass[i]), model.com[i], model.inertia_com[i])
        twin.appendBodyToJoint(joint, inertia, pin.SE3.Identity())

    q, qd, qdd = rng.normal(size=(3, n))
    V_0, Vd_0 = rng.normal(size=(2, 6))
    # The base is at the origin, not rotated; Pinocchio has the linear part first.
    home = np.array([0, 0, 0, 0, 0, 0, 1.0])
    expected = pin.rnea(
        twin,
        twin.createData(),
        np.concatenate([home, q]),
        np.concatenate([V_0[3:], V_0[:3], qd]),
        np.concatenate([Vd_0[3:], Vd_0[:3], qdd]),
    )[6:]
    tau = twist_wrench.inverse_dynamics(model, q, qd, qdd, base_twist=V_0, base_acceleration=Vd_0)
    close(tau, expected)


def test_a_base_in_free_fall_cancels_gravity(robot, at):
    falling = np.concatenate([np.zeros(3), robot.gravity])
    tau = twist_wrench.inverse_dynamics(robot, at.q, at.qd, at.qdd, base_acceleration=falling)
    weightless = robot.with_gravity(np.zeros(3))
    close(tau, twist_wrench.inverse_dynamics(weightless, at.q, at.qd, at.qdd))


@pytest.mark.parametrize('name', ['base_twist', 'base_acceleration'])
def test_wrong_shapes_are_named(robot, at, name):
    with pytest.raises(ShapeError, match=rf'{name} has shape \(3,\)'):
        twist_wrench.inverse_dynamics(robot, at.q, at.qd, at.qdd, **{name: np.zeros(3)})


def test_screws_in_the_home_position(robot, at):
    """The frames move as in the product of exponentials: T_0i = exp([S_1] q_1) ... M_i."""
    theta = robot.S @ at.q + robot.s0
    A, M, _ = to_screws(robot)
    poses = kin.body_poses(robot, at.q)
    for i in range(robot.nb):
        home, T = np.eye(4), np.eye(4)
        for k in robot.support(i):
            home = home @ M[k]
            # S_k = Ad(M_k) A_k        (9.40)
            T = T @ exponential(adjoint(home) @ A[k], theta[k])
        T_at_com = poses[i] @ pose(np.eye(3), robot.com[i])
        close(T @ home, T_at_com)
        close(inverse_pose(T_at_com) @ T @ home, np.eye(4), 10.0)
