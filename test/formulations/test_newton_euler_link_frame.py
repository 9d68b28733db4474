# SPDX-License-Identifier: Apache-2.0
"""The recursion of the planar elbow by hand: Spong, Hutchinson and Vidyasagar, section 6.7."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.model.contact import contact
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.formulations import newton_euler_link_frame as link_frame

L1, LC1, LC2, M1, M2, I1, I2, G = 0.7, 0.3, 0.25, 3.1, 1.7, 0.12, 0.05, 9.81


@pytest.fixture
def elbow():
    return planar_2r(lengths=(L1, 0.5), com=(LC1, LC2), masses=(M1, M2), inertias=(I1, I2))


def by_hand(q, qd, qdd):
    """Return a_c, a_e, f and tau of both links in their own frames, (6.164)-(6.180)."""
    (q1, q2), (w1, w2), (al1, al2) = q, np.cumsum(qd), np.cumsum(qdd)
    s1, c1, s2, c2 = np.sin(q1), np.cos(q1), np.sin(q2), np.cos(q2)
    # The weight per kilogram, in frames 1 and 2, as it pulls.
    g1 = -G * np.array([s1, c1])
    g2 = -G * np.array([np.sin(q1 + q2), np.cos(q1 + q2)])

    a_c1 = np.array([-LC1 * w1**2, LC1 * al1])
    a_e1 = np.array([-L1 * w1**2, L1 * al1])
    # a_e1 turned into frame 2, plus the motion about joint 2
    a_e1_in_2 = np.array([c2 * a_e1[0] + s2 * a_e1[1], -s2 * a_e1[0] + c2 * a_e1[1]])
    a_c2 = a_e1_in_2 + np.array([-LC2 * w2**2, LC2 * al2])

    f2 = M2 * (a_c2 - g2)
    f2_in_1 = np.array([c2 * f2[0] - s2 * f2[1], s2 * f2[0] + c2 * f2[1]])
    f1 = M1 * (a_c1 - g1) + f2_in_1
    tau2 = I2 * al2 + LC2 * f2[1]
    tau1 = tau2 + I1 * al1 + LC1 * M1 * (a_c1 - g1)[1] + L1 * f2_in_1[1]
    return {
        'a_c': [a_c1, a_c2], 'a_e': a_e1_in_2, 'f': [f1, f2], 'tau': [tau1, tau2], 'g': [g1, g2]
    }  # fmt: skip


def test_elbow_recursion_by_hand(elbow):
    for q, qd, qdd in np.random.default_rng(0).uniform(-3, 3, (20, 3, 2)):
        hand = by_hand(q, qd, qdd)
        motions = link_frame.forward_equations(elbow, q, qd, qdd)
        forces, moments = link_frame.backward_equations(elbow, motions, contact(elbow, None))
        for i, (motion, force, moment) in enumerate(zip(motions, forces, moments, strict=True)):
            # Our accelerations are less gravity.
            np.testing.assert_allclose(motion.a_com[:2] + hand['g'][i], hand['a_c'][i], atol=1e-13)
            np.testing.assert_allclose(motion.w, [0, 0, np.sum(qd[: i + 1])], atol=1e-15)
            np.testing.assert_allclose(motion.wd, [0, 0, np.sum(qdd[: i + 1])], atol=1e-15)
            np.testing.assert_allclose(force[:2], hand['f'][i], atol=1e-12)
            assert moment[2] == pytest.approx(hand['tau'][i], abs=1e-12)
        np.testing.assert_allclose(motions[1].a[:2] + hand['g'][1], hand['a_e'], atol=1e-13)
        tau = link_frame.inverse_dynamics(elbow, q, qd, qdd)
        np.testing.assert_allclose(tau, hand['tau'], atol=1e-12)


def test_viscous_damping_is_an_option(robot, at):
    b = np.linspace(0.1, 2.0, robot.n)
    damped = link_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd, viscous=b)
    free = link_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd)
    np.testing.assert_allclose(damped - free, b * at.qd, atol=1e-13 * np.abs(free).max() + 1e-14)
    with pytest.raises(ShapeError, match=r'viscous has shape'):
        link_frame.inverse_dynamics(robot, at.q, at.qd, at.qdd, viscous=np.ones(robot.n + 1))
