# SPDX-License-Identifier: Apache-2.0
"""Vectors of the base-frame recursion against link frames, and the damping of table 1."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.contact import contact
from robot_dynamics.formulations import newton_euler_base_frame as base_frame
from robot_dynamics.formulations import newton_euler_link_frame as link_frame


def test_every_vector_is_that_of_the_link_frame_turned(robot, at):
    ours = base_frame.forward_equations(robot, at.q, at.qd, at.qdd)
    theirs = link_frame.forward_equations(robot, at.q, at.qd, at.qdd)
    touch = contact(robot, at.wrench)
    f, n = base_frame.backward_equations(robot, ours, touch)
    forces, moments = link_frame.backward_equations(robot, theirs, touch)
    size = max(np.abs(x).max() for x in n + f)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for x, y in ((a.w, b.w), (a.wd, b.wd), (a.vd, b.a), (a.a, b.a_com)):
            np.testing.assert_allclose(x, a.R @ y, atol=1e-13 * max(1, np.abs(y).max()))
        np.testing.assert_allclose(f[i], a.R @ forces[i], atol=1e-13 * size)
        np.testing.assert_allclose(n[i], a.R @ moments[i], atol=1e-13 * size)


def test_accelerations_are_second_derivatives(robot, at):
    """The acceleration of each centre of mass, by a complex step through its velocity."""
    motions = base_frame.forward_equations(robot, at.q, at.qd, at.qdd)
    h = 1e-30
    q, qd = at.q + 1j * h * at.qd, at.qd + 1j * h * at.qdd
    jacobians = kin.com_jacobians(robot, kin.body_poses(robot, q))
    for motion, J in zip(motions, jacobians, strict=True):
        a_com = np.imag(J @ (robot.S @ qd))[3:] / h
        np.testing.assert_allclose(motion.a, a_com - robot.gravity, atol=1e-11)


def test_viscous_damping_is_an_option(robot, at):
    b = np.linspace(0.1, 2.0, robot.n)
    damped = base_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd, viscous=b)
    free = base_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    np.testing.assert_allclose(damped - free, b * at.qd, atol=1e-13 * np.abs(free).max() + 1e-14)
    with pytest.raises(ShapeError, match=r'viscous has shape'):
        base_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd, viscous=np.ones(robot.n + 1))
