# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np

from robot_dynamics.core.algorithms import gravity_torque, gravity_torque_derivative, rnea


def test_agrees_with_pinocchio(robot, relative):
    for q, _, _ in robot.states:
        theirs = robot.pin.gravity_torque(q)
        # Where gravity does nothing, what is left is rounding of the weights.
        scale = 1e-3 * 9.81 * robot.model.mass.sum()
        assert relative(gravity_torque(robot.tree, q.tolist()), theirs, scale) < 1e-12


def test_gravity_is_an_input_that_torques_are_linear_in(robot, relative):
    q = robot.states[0][0]
    unit = [
        gravity_torque(replace(robot.tree, gravity=[float(x) for x in e]), q) for e in np.eye(3)
    ]
    g = np.array([1.0, -2.0, 3.0])
    whole = gravity_torque(replace(robot.tree, gravity=g.tolist()), q)
    scale = 1e-3 * 9.81 * robot.model.mass.sum()
    assert relative(g @ np.array(unit), whole, scale) < 1e-12


def test_without_gravity_an_arm_at_rest_needs_no_torque(robot):
    q = robot.states[0][0]
    tree = replace(robot.tree, gravity=(0.0, 0.0, 0.0))
    assert np.all(np.array(rnea(tree, q, 0 * q, 0 * q)) == 0.0)


def test_derivative_is_the_complex_step_derivative(robot, relative):
    q = robot.states[0][0]
    steps = [gravity_torque(robot.tree, q + 1e-30j * e) for e in np.eye(len(q))]
    by_q = np.transpose(np.imag(steps) / 1e-30)
    ours = gravity_torque_derivative(robot.tree, q.tolist())
    size = np.abs(robot.pin.gravity_torque(q)).max()
    assert relative(ours, by_q, size) < 1e-13


def test_derivative_agrees_with_pinocchio(robot, relative):
    for q, *_ in robot.states:
        at_rest = np.zeros(len(q))
        theirs, _ = robot.pin.derivatives(q, at_rest, at_rest)
        size = np.abs(robot.pin.gravity_torque(q)).max()
        assert relative(gravity_torque_derivative(robot.tree, q.tolist()), theirs, size) < 1e-11
