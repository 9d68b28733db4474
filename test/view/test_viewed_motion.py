# SPDX-License-Identifier: Apache-2.0
"""Recordings and live joint states as motions."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_runs import lively, samples, torque

from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.recordings import by_joint
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.view.session import Session
from robot_dynamics.view.state import External, ViewError, ViewState
from robot_dynamics.view.viewed_motion import Follow, Playback

LINK = 'panda_link8'


@pytest.fixture(scope='module')
def arm():
    return Dynamics(load_urdf('panda'))


@pytest.fixture(scope='module')
def recorded(arm):
    model = arm.model
    t, q, qd, qdd = lively(model, duration=6.0, rate=250.0)
    tau = torque(model, q, qd, qdd)
    return by_joint(samples(model.joint_names, t, q, qd, tau), model.joint_names)


def test_a_recording_plays_in_its_time_and_its_torques_agree(arm, recorded):
    playback = Playback(recorded)
    state = playback.advance(arm, ViewState.initial(arm.model), 1.0)
    first = state.q
    assert playback.time == 0.0
    assert playback.advance(arm, state, 1.0) is state  # not playing, nothing new
    playback.toggle()
    playback.speed = 2.0
    state = playback.advance(arm, state, 1.0)
    assert playback.time == 2.0
    assert np.abs(state.q - first).max() > 0.01
    tau = arm.inverse_dynamics(state.q, state.qd, state.qdd) + arm.friction_torque(state.qd)
    assert np.abs(tau - state.measured).max() < 0.02 * np.abs(tau).max()


def test_the_time_ends_with_the_recording_and_play_begins_again(arm, recorded):
    playback = Playback(recorded)
    playback.toggle()
    state = playback.advance(arm, ViewState.initial(arm.model), 1000.0)
    assert (playback.time, playback.playing) == (playback.duration, False)
    assert playback.advance(arm, state, 1.0) is state
    playback.toggle()
    assert (playback.time, playback.playing) == (0.0, True)


def test_a_time_is_sought_within_the_recording(arm, recorded):
    playback = Playback(recorded)
    playback.seek(3.0)
    state = playback.advance(arm, ViewState.initial(arm.model), 0.0)
    again = Playback(recorded)
    again.toggle()
    np.testing.assert_array_equal(state.q, again.advance(arm, ViewState.initial(arm.model), 3.0).q)
    for wrong in (-1.0, 1e9, 'x', float('nan')):
        with pytest.raises(ViewError, match=r'time \[s\] is .*; expected'):
            playback.seek(wrong)


def test_the_gravity_torque_is_added_to_efforts_without_it(arm, recorded):
    initial = ViewState.initial(arm.model)
    plain = Playback(recorded).advance(arm, initial, 0.0)
    compensated = Playback(recorded, gravity_compensated=True).advance(arm, initial, 0.0)
    np.testing.assert_allclose(
        compensated.measured - plain.measured, arm.gravity_torque(plain.q), atol=1e-12
    )


class Source:
    """Joint states, payload and external torques that a test gives."""

    reading = load = estimated = true = None

    def newest(self):
        return self.reading

    def payload(self):
        return self.load

    def external(self):
        return self.estimated, self.true


def test_the_newest_joint_state_is_followed(arm):
    source, initial = Source(), ViewState.initial(arm.model)
    follow = Follow(source, scale=2.0)
    assert follow.advance(arm, initial, 0.1) is initial
    assert follow.advance(arm, initial, 2.0) is not initial  # the silence is shown
    assert follow.silence == 2.1
    q, qd = np.full(7, 0.1), np.full(7, 0.2)
    source.reading = JointReading(10_000_000, q, qd, np.arange(7.0))
    state = follow.advance(arm, initial, 0.1)
    assert follow.silence == 0.0
    np.testing.assert_array_equal(state.q, q)
    np.testing.assert_array_equal(state.qd, qd)
    np.testing.assert_array_equal(state.measured, 2 * np.arange(7.0))
    assert not state.qdd.any()
    assert follow.advance(arm, state, 0.1) is state
    # 0.1 rad/s in 0.1 s
    source.reading = JointReading(110_000_000, q, qd + 0.1, None)
    state = follow.advance(arm, state, 0.1)
    np.testing.assert_allclose(state.qdd, 1.0, rtol=0.1)
    assert state.measured is None
    source.reading = JointReading(210_000_000, q, None, None)
    assert not follow.advance(arm, state, 0.1).qd.any()


@pytest.mark.parametrize(
    'stamps', [(50, 40, 41, 42), (50, 0, 1, 2), (50, 50, 50, 50), (0, 0, 0, 0)]
)
def test_stamps_that_go_back_or_stay_do_not_freeze_the_view(arm, stamps):
    source, state = Source(), ViewState.initial(arm.model)
    follow = Follow(source)
    for k, stamp in enumerate(stamps):
        q = np.full(7, 0.1 + 0.01 * k)
        source.reading = JointReading(stamp * 1_000_000_000, q, np.zeros(7), None)
        state = follow.advance(arm, state, 2.0)
        np.testing.assert_array_equal(state.q, q)
        assert np.isfinite(state.qdd).all()
        assert follow.silence == 0.0


def test_the_payload_of_the_topic_is_carried_until_another_is_set(arm):
    source = Source()
    source.load = (LINK, 2.0, (0.0, 0.0, 0.1))
    follow = Follow(source)
    state = follow.advance(arm, ViewState.initial(arm.model), 0.1)
    assert (state.load.link, state.load.mass, state.load.com) == source.load
    by_hand = replace(state, load=replace(state.load, mass=1.0))
    assert follow.advance(arm, by_hand, 0.1) is by_hand
    source.load = ('nowhere', 2.0, (0.0, 0.0, 0.1))
    with pytest.raises(ViewError, match="'nowhere' does not move"):
        follow.advance(arm, state, 0.1)
    # One that the page does not offer
    source.load = (LINK, 12.5, (0.0, 0.0, -1.5))
    state = follow.advance(arm, state, 0.1)
    assert (state.load.link, state.load.mass, state.load.com) == source.load


def test_a_rejected_payload_does_not_end_a_live_view(arm):
    source, session = Source(), Session(arm, ViewState.initial(arm.model))
    session.start(Follow(source))
    source.load = ('nowhere', 2.0, (0.0, 0.0, 0.1))
    with pytest.raises(ViewError, match="'nowhere' does not move"):
        session.advance(0.1)
    q = np.full(7, 0.1)
    source.reading = JointReading(10_000_000, q, None, None)
    session.advance(0.1)
    np.testing.assert_array_equal(session.state.q, q)


def test_external_torques_come_with_the_joint_states_and_go_with_their_source(arm):
    source, state = Source(), ViewState.initial(arm.model)
    follow = Follow(source)
    source.estimated = External(np.arange(7.0), LINK, np.arange(6.0), 'contact')
    source.reading = JointReading(0, np.full(7, 0.1), None, None)
    state = follow.advance(arm, state, 0.1)
    assert (state.estimated, state.true) == (source.estimated, None)
    source.true = replace(source.estimated, text='push')
    source.estimated = None
    source.reading = JointReading(1, np.full(7, 0.2), None, None)
    state = follow.advance(arm, state, 0.1)
    assert (state.estimated, state.true) == (None, source.true)


def test_a_wrench_on_a_frame_that_the_robot_lacks_is_reported_once(arm):
    source, session = Source(), Session(arm, ViewState.initial(arm.model))
    session.start(Follow(source))
    source.estimated = External(np.zeros(7), 'nowhere', np.zeros(6), 'none')
    source.reading = JointReading(0, np.full(7, 0.1), None, None)
    with pytest.raises(ViewError, match="no frame 'nowhere' in the robot"):
        session.advance(0.1)
    session.advance(0.1)
    np.testing.assert_array_equal(session.state.q, source.reading.q)
    assert session.state.estimated is None
