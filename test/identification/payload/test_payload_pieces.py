# SPDX-License-Identifier: Apache-2.0
"""Torques of a unit payload, and times at rest."""

import numpy as np
import pytest
import robots
from arms_to_identify import recorded

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.identification.payload.payload_pieces import (
    Carrier,
    MeasuredEfforts,
    pieces_of,
)
from robot_dynamics.recordings.drives import AS_DESCRIBED

UR5 = robots.load('ur5')


@pytest.mark.parametrize('link', ['tool0', 'forearm_link'])
def test_a_payload_has_the_torques_of_its_parameters(link):
    arm, com = Dynamics(UR5), np.array([0.1, -0.05, 0.2])
    carrier = Carrier.of(arm, link)
    tensor = np.diag([0.02, 0.03, 0.025])
    loaded = Dynamics(UR5.with_payload(link, 1.5, com, tensor))
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 20, 6))
    torque = loaded.inverse_dynamics(q, qd, qdd) - arm.inverse_dynamics(q, qd, qdd)
    unit = carrier.unit_torques(arm.regressor(q, qd, qdd))
    assert unit @ to_parameters(Inertial(1.5, com, tensor)) == pytest.approx(torque, abs=1e-10)


def test_a_motion_of_the_model_leaves_no_efforts():
    one = recorded(UR5, noise=0.0, duration=5.0)
    carrier = Carrier.of(Dynamics(UR5), 'tool0')
    (piece,) = pieces_of(carrier, one, MeasuredEfforts(None, False, None, AS_DESCRIBED))
    size = np.abs(one.effort).max()
    assert np.abs(piece.excess).max() < 0.05 * size
    assert piece.seconds_in_motion == pytest.approx(5.0, rel=0.05)
    assert piece.postures() == []
