# SPDX-License-Identifier: Apache-2.0
"""Translational and rotational parts, each against a robot that has only that part."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.formulations import closed_form_matrix, euler_lagrange
from robot_dynamics.formulations import generalized_dalembert as gd


@pytest.fixture
def point_masses(robot):
    """The robot with every link shrunk to a point: it can only translate."""
    none = np.zeros(robot.n)
    return replace(robot, inertia_com=np.zeros((robot.nb, 3, 3)), reflected_inertia=none)


@pytest.fixture
def massless_tensors(robot):
    """The robot with tensors but no mass: only its rotation counts."""
    return replace(robot, mass=np.zeros(robot.nb), reflected_inertia=np.zeros(robot.n))


def close(value, expected):
    return np.abs(value - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def test_translational_part_is_that_of_point_masses(robot, point_masses, at):
    _, D_tran = gd.mass_matrix_parts(robot, at.q)
    h_tran, _ = gd.velocity_torque_parts(robot, at.q, at.qd)
    assert close(D_tran, euler_lagrange.mass_matrix(point_masses, at.q))
    assert close(h_tran, euler_lagrange.coriolis_matrix(point_masses, at.q, at.qd) @ at.qd)


def test_rotational_part_is_that_of_massless_tensors(robot, massless_tensors, at):
    D_rot, _ = gd.mass_matrix_parts(robot, at.q)
    _, h_rot = gd.velocity_torque_parts(robot, at.q, at.qd)
    assert close(D_rot, euler_lagrange.mass_matrix(massless_tensors, at.q))
    assert close(h_rot, euler_lagrange.coriolis_matrix(massless_tensors, at.q, at.qd) @ at.qd)


def test_sliding_arms_have_no_rotational_part():
    arm = random_tree(4, np.random.default_rng(6), prismatic=1.0)
    q, qd = np.random.default_rng(7).normal(size=(2, 4))
    assert not gd.mass_matrix_parts(arm, q)[0].any()
    assert not np.concatenate(gd.velocity_torque_parts(arm, q, qd)).any()


def test_velocity_torques_are_quadratic_in_velocity(robot, at):
    slow = np.concatenate(gd.velocity_torque_parts(robot, at.q, at.qd))
    fast = np.concatenate(gd.velocity_torque_parts(robot, at.q, -3 * at.qd))
    assert close(fast, 9 * slow)


def test_centrifugal_and_coriolis_torques_of_both_parts(robot, point_masses, massless_tensors, at):
    """Each quarter is that of half a robot, by its Christoffel symbols."""
    parts = gd.velocity_torques(robot, at.q, at.qd)
    tran = closed_form_matrix.velocity_torques(point_masses, at.q, at.qd)
    rot = closed_form_matrix.velocity_torques(massless_tensors, at.q, at.qd)
    assert close(parts.centrifugal_tran, tran.centrifugal)
    assert close(parts.coriolis_tran, tran.coriolis)
    assert close(parts.centrifugal_rot, rot.centrifugal)
    assert close(parts.coriolis_rot, rot.coriolis)


def test_one_joint_alone_has_no_coriolis_torque(robot, at):
    for k in range(robot.n):
        parts = gd.velocity_torques(robot, at.q, at.qd * np.eye(robot.n)[k])
        assert close(parts.coriolis_tran, np.zeros(robot.n))
        assert close(parts.coriolis_rot, np.zeros(robot.n))


def test_the_geometry_is_computed_once_per_evaluation(robot, at, monkeypatch):
    calls = []
    geometry = gd.geometry
    monkeypatch.setattr(gd, 'geometry', lambda *args: calls.append(1) or geometry(*args))
    gd.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    assert len(calls) == 1
