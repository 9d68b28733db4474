# SPDX-License-Identifier: Apache-2.0
"""Control laws of an arm on a moving base, against their equations and the fixed base."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control import LAWS, Gains, Reference, Switches
from robot_dynamics.control.arm_on_moving_base import ArmOnMovingBase
from robot_dynamics.core.model.robots import random_tree

BASE = np.array([0.5, -1.0, 0.7, 2.0, -3.0, 4.0, 1.5, -2.0, 9.0])
KP, KD = np.array([5.0, 6.0, 7.0]), np.array([0.7, 0.6, 0.5])
RNG = np.random.default_rng(8)
Q, QD, Q_D, QD_D, QDD_D = RNG.uniform(-1.0, 1.0, (5, 3))
REFERENCE, GAINS = Reference(Q_D, QD_D, QDD_D), Gains(KP, KD)


@pytest.fixture(scope='module')
def arm():
    model = random_tree(3, np.random.default_rng(3), prismatic=0.0)
    return rd.Dynamics(model.with_actuation(viscous=0.3, coulomb=0.2))


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_laws_have_gravity_and_coriolis_torque_of_the_motion(arm, sign):
    on_base, base = ArmOnMovingBase(arm), BASE * np.array([sign] * 6 + [1.0] * 3)
    on_base.motion = base
    M, C, g = arm.on_moving_base().terms(Q, QD, base)
    friction, e, ed = arm.friction_torque(QD_D), Q_D - Q, QD_D - QD
    expected = {
        'feedforward': M @ QDD_D + C @ QD + g + friction + KP * e + KD * ed,
        'pd_plus': M @ QDD_D + C @ QD_D + g + friction + KP * e + KD * ed,
        'computed_torque': M @ (QDD_D + KP * e + KD * ed) + C @ QD + g + friction,
        'gravity_only': g - KD * QD,
    }
    for name, tau in expected.items():
        found = LAWS[name](on_base, REFERENCE, Q, QD, gains=GAINS).tau
        np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
    # Springs and dampers do not depend on the base
    moving, fixed = (
        LAWS['joint_impedance'](one, REFERENCE, Q, QD, gains=GAINS) for one in (on_base, arm)
    )
    np.testing.assert_allclose(moving.feedback, fixed.feedback, rtol=1e-9)
    np.testing.assert_allclose(moving.gravity, g, rtol=1e-12)
    np.testing.assert_allclose(moving.coriolis, C @ QD_D, rtol=1e-10)


@pytest.mark.parametrize('law', LAWS)
def test_at_rest_laws_are_those_of_the_fixed_base(arm, law):
    switches = Switches(friction=False)
    found, expected = (
        LAWS[law](one, REFERENCE, Q, QD, switches, GAINS).tau
        for one in (ArmOnMovingBase(arm), arm)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
