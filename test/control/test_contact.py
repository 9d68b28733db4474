# SPDX-License-Identifier: Apache-2.0
"""Contact, collision and payloads on motions under external torques that are known."""

from dataclasses import replace

import numpy as np
import pytest
from elbow import ELBOW
from rerooted import rerooted

import robot_dynamics as rd
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import inverse_pose
from robot_dynamics.control.contact import NONE, UNKNOWN, ContactDetector, ContactSettings
from robot_dynamics.control.contact_thresholds import ContactThresholds, PairThresholds
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.algorithms.momentum_observer import BANK
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robots import planar_2r

STEP = 1e-3  # s
# Contact above 1.5 * 2 * 0.1 = 0.3 N m, collision above 0.6 N m
THRESHOLDS = ContactThresholds(noise=0.1, level=2.0, learned=600.0)
NO_FRICTION = coulomb_friction(0.0, 0.0)


@pytest.fixture(scope='module')
def arm():
    return rd.Dynamics(planar_2r())


def detector_of(arm, thresholds=THRESHOLDS, friction=NO_FRICTION, **settings):
    observer = MomentumObserver(arm, friction, ObserverSettings(play=1e-5))
    link = arm.model.link_names[-1]
    return observer, ContactDetector(observer, link, thresholds, ContactSettings(**settings))


def at_rest(arm, pushes, detector, observer, q=(-0.9, 0.6), start=0):
    """Return the contacts of an arm that its drives hold under external torques (k, n)."""
    q, qd, found = np.array(q), np.zeros(2), []
    for k, push in enumerate(pushes, start):
        effort = arm.gravity_torque(q) - push
        given = observer.update(STEP * k, q, qd, effort)
        found.append(detector.update(STEP * k, q, qd, effort) if given else NONE)
    return found


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('torque', 'kinds'),
    [(0.28, {'none'}), (0.35, {'none', 'contact'}), (0.9, {'none', 'contact', 'collision'})],
)
def test_torques_above_the_thresholds_are_contact_and_collision(arm, sign, torque, kinds):
    observer, detector = detector_of(arm)
    pushes = np.zeros((300, 2))
    pushes[100:, 1] = sign * torque
    found = at_rest(arm, pushes, detector, observer, q=(sign * -0.9, sign * 0.6))
    assert {one.kind for one in found} == kinds
    assert {one.kind for one in found[:100]} == {'none'}
    if 'contact' in kinds:
        assert found[-1].joint == 1
        assert found[-1].excess == pytest.approx(torque / 0.3, rel=1e-3)


@pytest.mark.parametrize(('torque', 'kinds'), [(0.5, {'none'}), (0.7, {'none', 'contact'})])
def test_the_margin_raises_the_threshold(arm, torque, kinds):
    observer, detector = detector_of(arm, replace(THRESHOLDS, margin=[1.0, 2.0]))
    pushes = np.zeros((300, 2))
    pushes[100:, 1] = torque
    found = at_rest(arm, pushes, detector, observer)
    assert {one.kind for one in found} == kinds
    if 'contact' in kinds:
        assert found[-1].excess == pytest.approx(torque / 0.6, rel=1e-3)


@pytest.mark.parametrize('torque', [0.5, 0.7])
def test_the_threshold_is_higher_where_friction_is_unsettled(arm, torque):
    # At rest sigma^2 = 0.1^2 + 0.2^2 / 2: contact from 0.52 N m on, instead of 0.3.
    observer, detector = detector_of(arm, replace(THRESHOLDS, noise_unsettled=[0.0, 0.2]))
    pushes = np.zeros((300, 2))
    pushes[100:, 1] = torque
    found = at_rest(arm, pushes, detector, observer)
    limit = 1.5 * 2.0 * np.sqrt(0.01 + 0.04 / 2)
    assert (found[-1].kind == 'contact') == (torque > limit)
    # The other joint has the threshold of its noise.
    found = at_rest(arm, pushes[:, ::-1], detector, observer, start=1000)
    assert found[-1].excess == pytest.approx(torque / 0.3, rel=1e-3)


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('pair', [0, 1, 2])
def test_a_pair_of_the_bank_finds_what_is_below_the_prompt_threshold(arm, sign, pair):
    observer, prompt = detector_of(arm)
    off, on = PairThresholds(), PairThresholds(noise=0.02, level=[0.0, 2.0], margin=1.5)
    bank = [on if k == pair else off for k in range(3)]
    link = arm.model.link_names[-1]
    detector = ContactDetector(observer, link, THRESHOLDS, ContactSettings(), bank)
    pushes = np.zeros((1000, 2))
    pushes[100:600, 1] = sign * 0.15  # contact from 0.3 N m on, or from 1.5 * 1.5 * 2 * 0.02 on
    found = at_rest(arm, pushes, detector, observer, q=(sign * -0.9, sign * 0.6))
    felt = np.flatnonzero([one.kind == 'contact' for one in found])
    a = max(BANK[pair])  # at rest the arm shows efforts alone
    t = STEP * np.arange(500)
    behind = 0.15 * (1 - (1 + a * t) * np.exp(-a * t))
    assert felt[0] == pytest.approx(100 + np.argmax(behind > 0.09), abs=4)
    assert found[599].excess == pytest.approx(0.15 / 0.09, rel=1e-2)
    assert found[-1].kind == 'none'
    # A large torque is a collision by the prompt torque alone.
    pushes[100:600, 1] = sign * 0.28
    kinds = {one.kind for one in at_rest(arm, pushes, detector, observer, start=2000)}
    assert kinds == {'none', 'contact'}
    # The other joint does not use the bank.
    pushes = pushes[:, ::-1]
    found = at_rest(arm, pushes, detector, observer, start=4000)
    assert {one.kind for one in found} == {'none'}
    observer.restart()
    assert {one.kind for one in at_rest(arm, pushes, prompt, observer)} == {'none'}


def test_contact_ends_within_the_torques_of_free_motion(arm):
    observer, detector = detector_of(arm)
    pushes = np.zeros((600, 2))
    pushes[100:300, 0], pushes[300:500, 0] = 0.35, 0.25  # below contact, above 2 * 0.1 N m
    kinds = [one.kind for one in at_rest(arm, pushes, detector, observer)]
    assert kinds[299] == kinds[499] == 'contact'
    assert kinds[-1] == 'none'
    # 0.25 N m alone are no contact.
    assert {one.kind for one in at_rest(arm, pushes[300:500], detector, observer, start=600)} == {
        'none'
    }


def test_without_thresholds_contact_is_unknown(arm):
    observer, detector = detector_of(arm, ContactThresholds())
    assert detector.contact is UNKNOWN
    found = at_rest(arm, np.full((200, 2), 50.0), detector, observer)
    assert {one.kind for one in found[1:]} == {'unknown'}


def test_a_joint_without_a_threshold_leaves_the_others_theirs(arm):
    observer, detector = detector_of(arm, ContactThresholds(noise=0.1, level=[0.0, 2.0]))
    pushes = np.zeros((400, 2))
    pushes[100:, 0], pushes[200:, 1] = 50.0, 0.9
    kinds = [one.kind for one in at_rest(arm, pushes, detector, observer)]
    assert set(kinds[:200]) == {'none'}
    assert kinds[-1] == 'collision'


def test_after_a_restart_contact_is_unknown_until_the_next_update(arm):
    observer, detector = detector_of(arm)
    at_rest(arm, np.full((200, 2), 0.9), detector, observer)
    detector.restart()
    assert detector.contact is UNKNOWN


def test_what_unknown_friction_may_hold_is_no_contact(arm):
    friction = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.array(1.0)}, np.array(5e-4))
    pushes = np.zeros((300, 2))
    pushes[50:, 0] = 2.0  # the friction of the joint, and twice its error
    observer, detector = detector_of(arm, friction=friction)
    assert {one.kind for one in at_rest(arm, pushes, detector, observer)} == {'none'}
    # Once the joint has moved, its friction is known.
    for k, q in enumerate(np.linspace(0.0, 0.1, 100)):
        state = STEP * (300 + k), np.array([q - 0.9, q + 0.6]), np.zeros(2)
        observer.update(*state, arm.gravity_torque(state[1]) + 1.0)
        detector.restart()
    at, known = (-0.8, 0.7), np.full((300, 2), -1.0)  # the efforts overcome the friction
    known[50:, 0] += 0.5
    found = at_rest(arm, known, detector, observer, q=at, start=400)
    assert {one.kind for one in found[:50]} == {'none'}
    assert found[-1].kind == 'contact'


def swinging(arm, loaded, at, count, sign=1.0):
    """Return states of an arm that moves, and is another one from a sample on."""
    t = STEP * np.arange(count)[:, None]
    rate = np.array([2.0, 3.1])
    q = sign * (np.array([-0.8, 0.5]) + 0.4 * np.sin(rate * t))
    qd, qdd = sign * 0.4 * rate * np.cos(rate * t), -sign * 0.4 * rate**2 * np.sin(rate * t)
    effort = arm.inverse_dynamics(q, qd, qdd)
    effort[at:] = loaded.inverse_dynamics(q, qd, qdd)[at:]
    return t[:, 0], q, qd, effort


def test_a_payload_is_in_the_frame_of_its_link():
    """The forearm in its joint's frame, and in another one fixed to it."""
    text = rerooted(ELBOW, np.random.default_rng(4)).decode()
    arms = [rd.Dynamics(rd.parse_urdf(one)) for one in (ELBOW, text)]
    com, found = np.array([0.1, 0.0, -0.05]), []
    loaded = arms[0].with_payload('forearm', 0.7, com)
    for arm in arms:
        observer = MomentumObserver(arm, NO_FRICTION, ObserverSettings())
        detector = ContactDetector(observer, 'forearm', THRESHOLDS)
        for state in zip(*swinging(arms[0], loaded, 100, 900), strict=True):
            contact = detector.update(*state) if observer.update(*state) else NONE
        assert contact.kind == 'payload'
        found.append(contact.payload)
    one, other = (arm.model.frame_placement[arm.model.frame_index('forearm')] for arm in arms)
    T = inverse_pose(one) @ other
    assert found[1].mass == pytest.approx(found[0].mass, rel=1e-2)
    difference = T[:3, :3] @ found[1].com + T[:3, 3] - found[0].com
    # In the plane of the motion, which is about y
    assert np.abs(difference[[0, 2]]).max() < 5e-3
    assert np.abs(found[0].com - com)[[0, 2]].max() < 0.03


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_an_unmodelled_payload_is_named_in_motion(arm, sign):
    observer, detector = detector_of(arm)
    link, com = arm.model.link_names[-1], np.array([0.1, -0.05, 0.0])
    loaded = arm.with_payload(link, 0.7, com)
    found = []
    for state in zip(*swinging(arm, loaded, 300, 1300, sign), strict=True):
        given = observer.update(*state)
        found.append(detector.update(*state) if given else NONE)
    assert {one.kind for one in found[:300]} == {'none'}
    last = found[-1]
    assert last.kind == 'payload'
    assert last.payload.mass == pytest.approx(0.7, rel=0.05)
    # In the plane of the motion
    assert np.abs(last.payload.com - com)[:2].max() < 0.03


@pytest.mark.parametrize('moved', [False, True])
def test_a_payload_is_found_on_a_moving_base_and_its_motion_is_none(arm, moved):
    """A base that leans and brakes; the arm stays fixed to it."""
    moving, loaded = (
        one.on_moving_base() for one in (arm, arm.with_payload('link2', 0.7, [0.1, -0.05, 0.0]))
    )
    observer = MomentumObserver(arm, NO_FRICTION, ObserverSettings(play=1e-5), moving_base=True)
    detector, found = ContactDetector(observer, 'link2', THRESHOLDS), []
    for k, (t, q, qd, _) in enumerate(zip(*swinging(arm, arm, 0, 1300), strict=True)):
        rate = np.array([2.0, 3.1])
        qdd = -0.4 * rate**2 * np.sin(rate * t)
        w, wd = np.array([[0.3], [0.3 * 4.0]]) * np.array([[np.sin(4.0 * t)], [np.cos(4.0 * t)]])
        base = np.array([0.0, 0.0, *w, 0.0, 0.0, *wd, 2.0 * np.sin(5.0 * t), -9.5, 1.0])
        effort = (loaded if moved and k >= 300 else moving).inverse_dynamics(q, qd, qdd, base)
        given = observer.update(t, q, qd, effort, base)
        found.append(detector.update(t, q, qd, effort, base) if given else NONE)
    assert {one.kind for one in found[:300]} == {'none'}
    if moved:
        assert found[-1].kind == 'payload'
        assert found[-1].payload.mass == pytest.approx(0.7, rel=0.05)
    else:
        assert {one.kind for one in found} == {'none'}


def test_the_same_at_rest_is_like_a_payload(arm):
    observer, detector = detector_of(arm)
    q = np.array([-0.9, 0.6])
    loaded = arm.with_payload(arm.model.link_names[-1], 0.7, [0.1, -0.05, 0.0])
    pushes = np.zeros((800, 2))
    pushes[200:] = arm.gravity_torque(q) - loaded.gravity_torque(q)
    found = at_rest(arm, pushes, detector, observer, q)
    assert found[-1].kind == 'possible payload'


def test_a_second_contact_after_a_motion_has_not_moved(arm):
    observer, detector = detector_of(arm)
    q = np.array([-0.9, 0.6])
    loaded = arm.with_payload(arm.model.link_names[-1], 0.7, [0.1, -0.05, 0.0])
    push, free = arm.gravity_torque(q) - loaded.gravity_torque(q), np.zeros((200, 2))
    first = at_rest(arm, np.concatenate([free, free + push, free]), detector, observer, q + 0.3)
    assert first[399].joint >= 0 > first[-1].joint
    second = at_rest(arm, np.concatenate([free, *[free + push] * 3]), detector, observer, q, 600)
    assert second[-1].kind == 'possible payload'


def test_a_push_in_motion_is_no_payload(arm):
    observer, detector = detector_of(arm)
    t, q, qd, effort = swinging(arm, arm, 0, 1300)
    J = arm.jacobian(q, arm.model.link_names[-1])
    effort[300:] -= np.einsum('kij,i->kj', J, [0, 0, 0, -6.0, 3.0, 0.0])[300:]
    kinds = set()
    for state in zip(t, q, qd, effort, strict=True):
        given = observer.update(*state)
        kinds.add((detector.update(*state) if given else NONE).kind)
    assert 'contact' in kinds
    assert not kinds & {'payload', 'possible payload'}


@pytest.mark.parametrize(
    ('wrong', 'name'),
    [(ContactSettings(contact_factor=0.5), 'contact_factor'), (None, 'noise')],
)
def test_settings_out_of_range_are_rejected(arm, wrong, name):
    observer, _ = detector_of(arm)
    thresholds = THRESHOLDS if wrong else replace(THRESHOLDS, noise=[0.1, 0.1, 0.1])
    with pytest.raises(ModelError, match=name):
        ContactDetector(observer, 'link2', thresholds, wrong or ContactSettings())
