# SPDX-License-Identifier: Apache-2.0
"""A run of learning is used only if it is free motion; nothing of it disarms the detection."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.contact import NONE, UNKNOWN, Contact
from robot_dynamics.control.contact_thresholds import ContactThresholds
from robot_dynamics.control.momentum_observer import ObserverSettings
from robot_dynamics.control.threshold_learning import ThresholdLearning

STEP = 0.01  # s
NAMES = ('shoulder', 'elbow')
BEFORE = ContactThresholds(
    np.array([0.1, 0.2]), np.array([0.0, 0.3]), np.array([3.0, 4.0]), noise_unsettled=[0.5, 0.6]
)
FRICTION = SimpleNamespace(law=SimpleNamespace(memory=True), coefficients={'coulomb': 0.1})


def observed(r, known=(True, True)):
    state = SimpleNamespace(p=np.ones(2), along=0.1 * np.asarray(r), across=np.asarray(r))
    return SimpleNamespace(
        prompt_torque=np.asarray(r),
        bank_torques=np.zeros((3, 2)),
        unsettled=np.full(2, 0.5),
        state=state,
        settings=ObserverSettings(),
        friction=FRICTION,
        friction_known=np.array(known),
    )


def swings(t, rate=1.0, sign=1.0):
    return sign * np.array([0.5, -0.3]) * np.sin(rate * t + np.array([0.0, 1.0]))


class Run:
    """A run of learning, given samples by the second."""

    def __init__(self, **given):
        self.learning = ThresholdLearning(2, collision_excess=2.0, **given)
        self.t, self.q, self.rng = 0.0, np.zeros(2), np.random.default_rng(0)

    def go(self, seconds, path=swings, contact=NONE, **given):
        for _ in range(round(seconds / STEP)):
            self.t += STEP
            self.q[:] = path(self.t)  # a buffer of the caller
            self.learning.add(self.t, self.q, observed(self.rng.normal(size=2), **given), contact)
        return self

    @property
    def why(self):
        return self.learning.rejection(NAMES)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_half_a_minute_of_free_motion_is_enough_and_less_is_not(sign):
    run = Run().go(29.9, lambda t: swings(t, sign=sign))
    assert run.why == '29.9 s of joint states; expected 30 or more'
    assert run.go(0.2, lambda t: swings(t, sign=sign)).why == ''
    assert (np.asarray(run.learning.learned().thresholds.level) > 0).all()


def test_a_run_without_samples_has_no_thresholds():
    assert Run().why == (
        '0.0 s of joint states; expected 30 or more; 0 motions; expected 3 or more'
    )


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_motions_are_those_of_the_arm_between_rests_and_turns(sign):
    for path, count in (
        (lambda t: np.zeros(2), 0),
        (lambda t: 1e-3 * np.sin(5 * t) * np.ones(2), 0),  # flicker
        (lambda t: sign * np.array([0.1, 0.2]) * t, 1),
        # one joint after the other, 0.1 rad/s for 3 s each
        (lambda t: sign * 0.1 * np.array([min(t, 3), min(max(t - 4, 0), 3)]), 2),
        # all in one direction, with rests
        (lambda t: sign * (0.3 * (t // 3) + 0.1 * min(t % 3, 2)) * np.ones(2), 4),
        (lambda t: sign * np.array([np.cos(t), np.sin(t)]), 8),  # quarters of a circle
    ):
        assert Run().go(12.0, path).learning.motions == pytest.approx(count, abs=count > 2)


@pytest.mark.parametrize('kind', ['collision', 'payload', 'possible payload'])
def test_a_collision_rejects_the_run_whatever_it_is_called(kind):
    run = Run(before=BEFORE).go(20.0).go(0.1, contact=Contact(kind, 1, 7.0)).go(20.0)
    assert 'a collision, elbow 7.00 after 20.0 s' in run.why
    assert run.learning.collision.joint == 1


def test_a_contact_is_listed_and_does_not_reject():
    run = Run(before=BEFORE)
    for k, excess in enumerate((1.2, 1.9, 1.1, 1.4)):
        run.go(10.0).go(0.05, contact=Contact('contact', k % 2, excess))
        run.go(0.05, contact=Contact('contact', k % 2, 1.0))
    assert run.why == ''
    text = run.learning.events(NAMES)
    assert '4 contacts by the thresholds before' in text
    assert text.endswith(
        'elbow 1.90 after 20.1 s, elbow 1.40 after 40.3 s, shoulder 1.20 after 10.0 s'
    )


def test_without_thresholds_before_there_are_no_events():
    run = Run().go(40.0, contact=UNKNOWN)
    assert (run.why, run.learning.events(NAMES)) == ('', '')


def test_a_joint_that_was_not_learned_keeps_its_threshold():
    learned = Run(before=BEFORE).go(40.0, known=(True, False)).learning.learned()
    new = learned.thresholds
    assert (new.noise[1], new.noise_per_momentum[1], new.level[1]) == (0.2, 0.3, 4.0)
    assert new.noise_unsettled[1] == 0.6
    assert new.noise[0] != 0.1
    assert (learned.missing, learned.kept) == ((), (1,))
    assert 'thresholds of elbow as before: move them' in learned.text(NAMES, 1.5)
    alone = Run().go(40.0, known=(True, False)).learning.learned()
    assert (alone.missing, alone.kept, alone.thresholds.level[1]) == ((1,), (), 0.0)


@pytest.mark.parametrize('jump', [-20.0, 30.0], ids=['back', 'gap'])
def test_a_jump_of_the_clock_adds_neither_time_nor_motions(jump):
    run = Run().go(25.0)
    seconds, motions = run.learning.seconds, run.learning.motions
    run.t += jump
    run.go(2 * STEP, lambda t: swings(t) + 1.0)
    assert run.learning.seconds == pytest.approx(seconds + STEP)
    assert run.learning.motions == motions
    assert 'of joint states' in run.why
