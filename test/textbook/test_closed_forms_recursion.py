# SPDX-License-Identifier: Apache-2.0
"""Newton–Euler formulations against every vector of the hand-written recursion of the elbow."""

import numpy as np
import pytest

from robot_dynamics.core.model.contact import Contact
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.formulations import newton_euler_base_frame, newton_euler_link_frame
from robot_dynamics.textbook.closed_forms import PlanarElbow, PlanarElbowRecursion

ROUNDING = 1e-12
ELBOW = PlanarElbow(l1=0.7, lc1=0.3, lc2=0.25, m1=3.1, m2=1.7, I1=0.12, I2=0.05)
RECURSION = PlanarElbowRecursion(ELBOW)
MODEL = planar_2r((0.7, 0.5), (0.3, 0.25), (3.1, 1.7), (0.12, 0.05))
FREE = Contact(-1, np.zeros(3), np.zeros(3), np.zeros(3))
STATES = np.random.default_rng(5).uniform(-3, 3, (12, 3, 2))


def assert_equal(value, expected):
    assert np.abs(value - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


def planar(v):
    """Return the components in the plane of a vector that lies in it."""
    assert v[2] == 0
    return v[:2]


def along_z(v):
    assert_equal(v[:2], np.zeros(2))
    return v[2]


@pytest.mark.parametrize('state', STATES)
def test_same_torques_as_lagrange(state):
    assert_equal(RECURSION.inverse_dynamics(*state), ELBOW.inverse_dynamics(*state))


@pytest.mark.parametrize('state', STATES)
def test_forward_recursion_in_link_frames(state):
    by_hand = RECURSION.steps(*state)
    link1, link2 = newton_euler_link_frame.forward_equations(MODEL, *state)
    assert_equal(along_z(link1.w), by_hand.w1)
    assert_equal(along_z(link2.w), by_hand.w2)
    assert_equal(along_z(link1.wd), by_hand.alpha1)
    assert_equal(along_z(link2.wd), by_hand.alpha2)
    # The accelerations of the formulation include -g; those of the book are true ones.
    assert_equal(planar(link1.a_com) + by_hand.g1, by_hand.a_c1)
    assert_equal(planar(link2.a_com) + by_hand.g2, by_hand.a_c2)
    end1_in_2 = planar(link2.a) + by_hand.g2
    assert_equal(link2.R_pi[:2, :2] @ end1_in_2, by_hand.a_e1)


@pytest.mark.parametrize('state', STATES)
def test_backward_recursion_in_link_frames(state):
    by_hand = RECURSION.steps(*state)
    motions = newton_euler_link_frame.forward_equations(MODEL, *state)
    (f1, f2), (tau1, tau2) = newton_euler_link_frame.backward_equations(MODEL, motions, FREE)
    assert_equal(planar(f1), by_hand.f1)
    assert_equal(planar(f2), by_hand.f2)
    assert_equal(along_z(tau1), by_hand.tau1)
    assert_equal(along_z(tau2), by_hand.tau2)


@pytest.mark.parametrize('state', STATES)
def test_recursion_in_the_base_frame(state):
    by_hand = RECURSION.steps(*state)
    motions = newton_euler_base_frame.forward_equations(MODEL, *state)
    forces, moments = newton_euler_base_frame.backward_equations(MODEL, motions, FREE)
    R_01, R_02 = (link.R[:2, :2] for link in motions)
    assert_equal(planar(motions[0].a), R_01 @ (by_hand.a_c1 - by_hand.g1))
    assert_equal(planar(motions[1].a), R_02 @ (by_hand.a_c2 - by_hand.g2))
    assert_equal(planar(motions[1].vd), R_01 @ (by_hand.a_e1 - by_hand.g1))
    assert_equal(planar(forces[0]), R_01 @ by_hand.f1)
    assert_equal(planar(forces[1]), R_02 @ by_hand.f2)
    assert_equal([along_z(n) for n in moments], np.array([by_hand.tau1, by_hand.tau2]))


def test_torques_at_rest_are_those_of_the_weight():
    """At rest, tau2 is the second link's weight at its centre of mass, f1 all weight."""
    rest = np.zeros(2)
    steps = RECURSION.steps(rest, rest, rest)
    assert steps.tau2 == pytest.approx(1.7 * 9.81 * 0.25, rel=1e-15)
    assert_equal(steps.f1, np.array([0.0, (3.1 + 1.7) * 9.81]))
