# SPDX-License-Identifier: Apache-2.0
"""The shared state and its motions."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation import InelasticStop, JointModels, Simulator
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import ViewError, ViewState
from robot_dynamics.view.viewed_motion import TIME_STEP, Fall

LINK = 'panda_link8'


@pytest.fixture(scope='module')
def arm():
    return Dynamics(load_urdf('panda'))


@pytest.fixture
def session(arm):
    return Session(arm, ViewState.initial(arm.model))


def test_a_change_is_announced_and_shown(session):
    session.wait(0.0)
    assert not session.wait(0.0)
    session.update(lambda state: state.with_joint('position', 0, 1.0))
    assert session.wait(0.0)
    state, scene = session.scene()
    assert state.q[0] == 1.0
    np.testing.assert_allclose(
        scene.torques.gravity, session.arm.gravity_torque(state.q), atol=1e-12
    )


def test_a_rejected_change_leaves_the_state(session):
    before = session.state
    with pytest.raises(ViewError):
        session.update(lambda state: state.with_joint('position', 0, 100.0))
    assert session.state is before


def test_the_dynamics_carry_the_payload_of_the_state(session, arm):
    session.update(lambda state: state.with_payload(LINK, 3.0, (0.0, 0.0, 0.1)))
    other = Dynamics(arm.model.with_payload(LINK, 3.0, [0.0, 0.0, 0.1]))
    q = session.state.q
    np.testing.assert_allclose(
        session.arm.gravity_torque(q), other.gravity_torque(q), rtol=1e-12, atol=1e-12
    )
    session.update(lambda state: state.with_payload(LINK, 0.0, (0.0, 0.0, 0.1)))
    np.testing.assert_allclose(session.arm.gravity_torque(q), arm.gravity_torque(q), atol=1e-12)


def test_a_fall_is_the_simulation_from_the_present_posture(session, arm):
    q = session.state.q + 0.3 * (-1.0) ** np.arange(7)  # not in a plane
    session.update(lambda state: replace(state, q=q))
    session.start(Fall())
    for _ in range(10):
        session.advance(0.02)
    simulator = Simulator(
        arm,
        q=q,
        time_step=TIME_STEP,
        integrator='semi_implicit_euler',
        joint_models=JointModels(stops=InelasticStop()),
    )
    for _ in range(200):
        simulator.step(np.zeros(7))
    np.testing.assert_allclose(session.state.q, simulator.q, atol=1e-12)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_terms_of_a_fall_belong_to_one_instant(sign):
    """Without motors the terms of a joint that moves add up to zero; a stop holds the others."""
    model = load_urdf('panda')
    mirrored = replace(model, axis=sign * model.axis)
    if sign < 0:
        mirrored = replace(mirrored, lower=-model.upper, upper=-model.lower)
    session = Session(Dynamics(mirrored), ViewState.initial(mirrored))
    session.update(lambda state: state.with_force(LINK, (5.0, -10.0, 0.0)))
    session.start(Fall())
    rested = False
    for _ in range(40):
        session.advance(1 / 30)
        state, scene = session.scene()
        scale = max(np.abs(term).max() for term in scene.torques)
        moves = state.qd != 0
        np.testing.assert_allclose(scene.torques.motor[moves], 0, rtol=0, atol=1e-12 * scale)
        at_stop = (state.q <= mirrored.lower + 1e-9) | (state.q >= mirrored.upper - 1e-9)
        assert np.all(moves | at_stop)
        np.testing.assert_array_equal(state.qdd[~moves], 0)
        rested |= not moves.all()
    assert rested


def test_a_payload_or_a_force_changes_a_fall(session, arm):
    def fallen(change):
        session.update(lambda _: ViewState.initial(arm.model))
        session.start(Fall())
        session.advance(0.05)
        session.update(change)
        for _ in range(4):
            session.advance(0.05)
        return session.state.q

    plain = fallen(lambda state: state)
    loaded = fallen(lambda state: state.with_payload(LINK, 5.0, (0.0, 0.0, 0.1)))
    pushed = fallen(lambda state: state.with_force(LINK, (0.0, 200.0, 0.0)))
    assert np.abs(loaded - plain).max() > 1e-3
    assert np.abs(pushed - plain).max() > 1e-2


def test_a_long_pause_is_not_simulated_at_once(session, arm):
    session.start(Fall())
    session.advance(3600.0)
    once = session.state.q
    session.update(lambda _: ViewState.initial(arm.model))
    session.start(Fall())
    session.advance(0.1)
    np.testing.assert_array_equal(once, session.state.q)


class _Failing:
    def advance(self, arm, state, seconds):
        raise RobotDynamicsError('the motion failed')


def test_a_motion_that_fails_has_ended(session):
    session.start(_Failing())
    with pytest.raises(RobotDynamicsError, match='the motion failed'):
        session.advance(0.1)
    assert session.motion is None
    session.advance(0.1)


def test_gravity_and_payload_are_inputs_of_the_same_programs(session):
    session.update(lambda state: state.with_gravity((1.0, 2.0, 3.0)))
    first = session.arm.programs
    session.update(lambda state: replace(state, q=state.q + 0.01))
    assert session.arm.programs is first
