# SPDX-License-Identifier: Apache-2.0
"""Torque of a law at every state: friction with memory, moving bases, and one cycle of control."""

from collections import Counter

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control import Gains, Switches, feedforward, gravity_only
from robot_dynamics.control.arm_on_moving_base import ArmOnMovingBase
from robot_dynamics.control.control_cycle import ControlCycle
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.law_torque import LawSettings, LawTorque
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.control.transitions import at_rest
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robots import planar_2r

ARM = rd.Dynamics(planar_2r())
Q, STILL, MS = np.array([0.3, -0.5]), np.zeros(2), 1_000_000
NONE = coulomb_friction(0.0, 0.0)
MEMORY = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.array([2.0, 1.0])}, np.array(0.01))


def law_torque(law=feedforward, friction=MEMORY, share=0.0, **switches):
    settings = LawSettings(law, Gains(), Switches(**switches), np.zeros(2), share)
    return LawTorque(settings, friction)


def torque(law, q=Q, qd=STILL, reference=None):
    state = JointReading(0, q, qd, None)
    return law.torque(ARM, state, at_rest(Q) if reference is None else reference)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_memory_follows_the_reference_and_ends_with_a_restart(sign):
    law = law_torque()
    torque(law)
    slid = torque(law, reference=at_rest(Q + sign * 0.5))
    np.testing.assert_allclose(slid - ARM.gravity_torque(Q), sign * np.array([2.0, 1.0]))
    law.adjust(law.settings, MEMORY)
    again = torque(law, reference=at_rest(Q + sign * 0.5))
    np.testing.assert_array_equal(again, slid)
    law.restart()
    np.testing.assert_allclose(torque(law), ARM.gravity_torque(Q))


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_memory_follows_an_arm_that_is_led(sign):
    law = law_torque(gravity_only, share=0.5)
    torque(law)
    q = Q + sign * 0.5
    expected = ARM.gravity_torque(q) + sign * 0.5 * np.array([2.0, 1.0])
    np.testing.assert_allclose(torque(law, q), expected)


def test_a_robot_that_compensates_gravity_itself_gets_what_its_base_adds():
    base = ArmOnMovingBase(ARM)
    base.motion = rd.BaseMotion(np.zeros(3), np.zeros(3), np.array([1.0, 2.0, 12.0])).array()
    added = base.gravity_torque(Q) - ARM.gravity_torque(Q)
    law = law_torque(friction=NONE, gravity=False)
    state = JointReading(0, Q, STILL, None)
    np.testing.assert_allclose(law.torque(base, state, at_rest(Q)), added)
    np.testing.assert_allclose(law.gravity(base, Q), added)
    np.testing.assert_array_equal(law.gravity(ARM, Q), 0.0)
    whole = law_torque(friction=NONE)
    np.testing.assert_allclose(whole.gravity(base, Q), base.gravity_torque(Q))


def test_a_reference_that_is_placed_has_a_soft_start_and_no_memory():
    law = law_torque()
    gate = TorqueGate(Limits(np.full(2, np.inf), np.full(2, np.inf), 0.02), Counter())
    cycle = ControlCycle(ReferenceFollower(ARM.model, np.full(2, 0.1), 0.1), law, gate)

    def answer(k, q, restarted=False):
        state = JointReading(k * MS, q, STILL, None, restarted)
        reference, _ = cycle.reference(state)
        return cycle.limited(state.stamp, law.torque(ARM, state, reference))

    for k in range(40):
        held = answer(k, Q)
    np.testing.assert_allclose(held, ARM.gravity_torque(Q))
    far = Q + 0.5
    np.testing.assert_array_equal(answer(10, far, restarted=True), held)  # from the last torque
    for k in range(11, 50):
        tau = answer(k, far)
    np.testing.assert_allclose(tau, ARM.gravity_torque(far))  # without friction of the step
    assert cycle.limited(51 * MS, np.array([np.nan, 0.0])) is None
