# SPDX-License-Identifier: Apache-2.0
"""What momentum_observer_node publishes for joint states under torques that are known."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.nodes.momentum_observer_node import NOT_LEARNED, MomentumObserverNode

NAMES = ['shoulder', 'elbow']
STEP = SECOND // 1000
THRESHOLDS = {'thresholds__noise': [0.1], 'thresholds__level': [2.0]}
Q = np.array([0.3, -0.4])


class Observing:
    """A node that is given joint states, and what it publishes."""

    def __init__(self, graph, **parameters):
        smooth = {'friction__viscous': [0.0], 'friction__coulomb': [0.0]}
        self.node = graph.start(MomentumObserverNode, **{**smooth, **parameters})
        self.arm, self.stamp = self.node.arm, 10 * SECOND
        self.torques, self.wrenches, self.contacts = [], [], []
        self.node.torques_out = SimpleNamespace(publish=self._take_torque)
        self.node.wrenches_out = SimpleNamespace(
            publish=lambda m: self.wrenches.append(messages.wrench(m.wrench))
        )
        self.node.contacts_out = SimpleNamespace(
            publish=lambda m: self.contacts.append(m.status[0])
        )

    def _take_torque(self, data):
        self.torques.append(np.array(deserialize_message(data, JointState).effort))

    @property
    def kinds(self):
        """Kinds of contact; that of the first state, after which nothing is known, is left out."""
        assert self.contacts[0].message == 'unknown'
        return {one.message for one in self.contacts[1:]}

    def give(self, q, qd, effort, step=STEP):
        self.stamp += step
        state = JointState(
            name=NAMES, position=list(q), velocity=list(qd), effort=list(map(float, effort))
        )
        state.header.stamp = messages.time_message(self.stamp)
        for subscription in self.node.subscriptions:
            if subscription.topic_name == '/joint_states':
                subscription.callback(serialize_message(state))

    def rest(self, count, push=(0.0, 0.0), q=Q, arm=None, **given):
        for _ in range(count):
            self.give(q, np.zeros(2), (arm or self.arm).gravity_torque(q) - push, **given)

    def swing(self, count, start=0, step=STEP, push=(0.0, 0.0)):
        """Give states of a free motion, or of one under a push."""
        t = step / SECOND * np.arange(start, start + count)[:, None]
        rate = np.array([3.0, 4.0])
        q, qd = Q + 0.5 * np.sin(rate * t), 0.5 * rate * np.cos(rate * t)
        tau = self.arm.inverse_dynamics(q, qd, -0.5 * rate**2 * np.sin(rate * t))
        for state in zip(q, qd, tau - push, strict=True):
            self.give(*state, step=step)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_torque_wrench_and_contact_of_a_force(graph, sign):
    observing = Observing(graph, contact_frame='forearm', contact_model='force', **THRESHOLDS)
    arm, q = observing.arm, sign * Q
    observing.rest(100, q=q)
    assert observing.kinds == {'none'}
    # In the plane of the arm, in the axes of the frame
    J = arm.jacobian(q, 'forearm')[3:]
    force = sign * 4.0 * J[:, 0]
    push = J.T @ force
    observing.rest(300, push, q=q)
    np.testing.assert_allclose(observing.torques[-1], push, atol=1e-6 * np.abs(push).max())
    R = arm.forward_kinematics(q, 'forearm')[:3, :3]
    explained = J.T @ (R @ observing.wrenches[-1][3:])
    assert np.abs(explained - push).max() < 0.02 * np.abs(push).max()
    assert np.abs(observing.wrenches[-1][:3]).max() == 0.0
    last = observing.contacts[-1]
    assert last.message != 'none'
    assert 'contact' in {one.message for one in observing.contacts}
    figures = {value.key: value.value for value in last.values}
    assert figures['joint'] == NAMES[int(np.argmax(np.abs(push)))]
    assert float(figures['excess']) > 1
    assert figures['force not felt along']  # across the plane
    observing.rest(300, q=q)
    assert observing.contacts[-1].message == 'none'


def reason(contact):
    return next((pair.value for pair in contact.values if pair.key == 'reason'), '')


def test_without_thresholds_contact_is_unknown_and_there_is_a_warning(graph):
    observing = Observing(graph)
    observing.rest(300, push=(5.0, 5.0))
    assert observing.kinds == {'unknown'}
    assert len(observing.contacts) == 3  # 10 a second
    assert observing.contacts[-1].level == health.WARN
    assert reason(observing.contacts[-1]) == NOT_LEARNED
    assert observing.node.status() == (health.WARN, NOT_LEARNED)
    observing.rest(2)
    assert observing.node.set_parameters_atomically(
        [
            rclpy_parameter('thresholds.noise', [0.1]),
            rclpy_parameter('thresholds.level', [2.0, 0.0]),
        ]
    ).successful
    assert observing.node.status() == (
        health.WARN,
        'no thresholds of contact for elbow: move them while learning',
    )


@pytest.mark.parametrize('missing', ['effort', 'velocity'])
def test_contact_is_unknown_while_efforts_or_velocities_are_missing(graph, missing):
    observing = Observing(graph, **THRESHOLDS)
    observing.rest(100, push=(5.0, 5.0))
    assert observing.contacts[-1].message == 'collision'
    given = ([], [0.0, 0.0]) if missing == 'velocity' else ([0.0, 0.0], [])
    for _ in range(50):  # observer.max_gap
        observing.give(Q, *given)
    assert observing.contacts[-1].message == 'collision'
    for _ in range(200):
        observing.give(Q, *given)
    assert observing.contacts[-1].message == 'unknown'
    assert missing[:-1] in reason(observing.contacts[-1])
    observing.rest(100, push=(5.0, 5.0))
    assert observing.contacts[-1].message == 'collision'
    assert len(observing.contacts) < 20


@pytest.mark.parametrize('step', [0, -STEP // 2], ids=['repeated', 'late'])
def test_states_with_stamps_of_the_past_are_ignored(graph, step):
    observing = Observing(graph, **THRESHOLDS)
    observing.swing(300)
    last = observing.stamp
    observing.give(Q + 1.0, np.array([3.0, -2.0]), np.array([50.0, -40.0]), step=step)
    observing.stamp = last
    observing.swing(300, start=300)
    assert len(observing.torques) == 599
    assert np.abs(observing.torques).max() < 0.05
    assert observing.kinds == {'none'}


@pytest.mark.parametrize('jump', [-5 * SECOND, 2 * SECOND], ids=['reset', 'gap'])
def test_after_a_reset_or_a_gap_there_is_no_spike(graph, jump):
    observing = Observing(graph, **THRESHOLDS)
    observing.swing(300)
    observing.stamp += jump
    observing.swing(300, start=900)  # meanwhile the arm has moved
    assert len(observing.torques) == 598
    assert observing.node.health.counts['gap between joint states'] == (jump > 0)
    assert np.abs(observing.torques).max() < 0.05
    assert [one.message for one in observing.contacts].count('unknown') == 2
    assert observing.kinds == {'unknown', 'none'}


def test_a_modelled_payload_gives_no_spike_and_an_unmodelled_one_is_named(graph):
    observing = Observing(graph, payload__link='forearm', **THRESHOLDS)
    node, arm = observing.node, observing.arm
    observing.swing(300)
    results = node.set_parameters_atomically(
        [rclpy_parameter('payload.mass', 1.5), rclpy_parameter('payload.com', [0.1, 0.0, 0.0])]
    )
    assert results.successful
    observing.arm = node.arm
    observing.swing(300, start=300)
    assert np.abs(observing.torques).max() < 0.05
    assert observing.kinds == {'none'}
    # The arm still carries it, but the load that the node is given is zero.
    assert node.set_parameters_atomically([rclpy_parameter('payload.mass', 0.0)]).successful
    observing.swing(1000, start=600)
    last = observing.contacts[-1]
    assert last.message == 'payload'
    figures = {v.key: v.value for v in last.values}
    assert float(figures['mass [kg]']) == pytest.approx(1.5, rel=0.1)
    assert figures['conditional on'] == 'description'
    assert node.arm is not arm


def rclpy_parameter(name, value):
    from rclpy.parameter import Parameter

    return Parameter(name, value=value)


class Learning(Observing):
    """A node that learns at 50 Hz."""

    STEP = 20 * STEP

    def learn(self, on):
        (one,) = (one for one in self.node.services if one.srv_name.endswith('/learn'))
        return one.callback(SetBool.Request(data=on), SetBool.Response())

    def move(self, seconds, push=(0.0, 0.0), noise=0.05):
        """Give states of a free motion with noise of the efforts."""
        count = round(seconds * SECOND / self.STEP)
        start = getattr(self, 'moved', 0)
        self.moved = start + count
        noise = noise * np.random.default_rng(start).normal(size=(count, 2))
        self.swing(count, start, self.STEP, np.asarray(push) + noise)

    @property
    def thresholds(self):
        return self.node.parameters.thresholds


def test_thresholds_are_learned_from_free_motion(graph):
    observing = Learning(graph)
    observing.move(40.0)
    assert not observing.learn(False).success
    assert observing.learn(True).success
    observing.move(31.0)
    answer = observing.learn(False)
    assert answer.success, answer.message
    assert 'learned from 31 s' in answer.message
    assert 'learn for 9.5 more minutes' in answer.message
    assert 'none in 31 s, fewer than 348 an hour (95 %)' in answer.message
    figures = observing.node.figures()
    assert figures['thresholds'] == 'provisional, learned from 31 s'
    assert (np.asarray(observing.thresholds.margin) > 1.5).all()
    # Times are those of the run, also of one that begins late.
    times = answer.message.split('largest torques, N m or N: ')[1].split(';')[0].split(', ')
    assert all(0 <= float(one.split()[-2]) <= 31 for one in times)
    assert (np.asarray(observing.thresholds.level) > 1).all()
    assert observing.node.status() is None
    observing.move(1.0)
    assert observing.contacts[-1].message == 'none'
    observing.move(1.0, push=(0.0, 60.0))
    assert observing.contacts[-1].message == 'collision'
    assert not observing.learn(False).success  # once


@pytest.mark.slow
def test_two_minutes_give_a_bank_and_half_a_minute_removes_it(graph):
    observing = Learning(graph)
    observing.learn(True)
    observing.move(125.0)
    assert observing.learn(False).success
    slow = observing.node.parameters.slow_thresholds
    medium = observing.node.parameters.medium_thresholds
    # White noise of the efforts at 50 Hz: slow poles let least of it through. Behind the medium
    # ones, the errors of the motion of the first joint are large enough that they gain no tenth.
    assert (np.asarray(medium.level) > 1).all()
    assert slow.level[1] > 1
    assert (np.asarray(slow.noise) < 0.7 * np.asarray(observing.thresholds.noise)).all()
    # A torque that the prompt poles miss
    push = 3 * np.asarray(slow.noise)[1] * slow.level[1] * slow.margin[1]
    observing.move(1.0, push=(0.0, push))
    assert observing.contacts[-1].message == 'contact'
    observing.learn(True)
    observing.move(31.0)
    assert observing.learn(False).success
    assert not np.any(observing.node.parameters.slow_thresholds.level)


def test_thresholds_in_force_stay_in_force_while_learning(graph):
    observing = Learning(graph, **THRESHOLDS)
    node, before = observing.node, observing.thresholds
    observing.move(1.0)
    observing.learn(True)
    observing.move(32.0, push=(0.0, 0.35))  # above 1.5 * 2 * 0.1 N m
    assert 'contact' in observing.kinds
    assert node.condition() == (health.OK, 'learning for 32 s')
    observing.move(1.0, push=(0.0, 60.0))
    assert observing.contacts[-1].message == 'collision'
    assert node.status() == (
        health.WARN,
        'a collision while learning: the run will be rejected',
    )
    observing.move(1.0)
    answer = observing.learn(False)
    assert not answer.success
    assert 'a collision, elbow' in answer.message
    assert observing.thresholds == before
    observing.move(1.0, push=(0.0, 60.0))
    assert observing.contacts[-1].message == 'collision'


@pytest.mark.slow
def test_a_contact_while_learning_is_listed_and_empty_thresholds_start_afresh(graph):
    observing = Learning(graph, **THRESHOLDS)
    observing.learn(True)
    observing.move(32.0, push=(0.0, 0.35))
    answer = observing.learn(False)
    assert answer.success
    assert 'contacts by the thresholds before, the largest: elbow 1.' in answer.message
    assert observing.node.set_parameters_atomically(
        [rclpy_parameter('thresholds.level', [0.0])]
    ).successful
    observing.learn(True)
    observing.move(32.0, push=(0.0, 60.0))
    answer = observing.learn(False)
    assert answer.success
    assert 'by the thresholds before' not in answer.message


def test_a_run_without_states_is_rejected_and_without_thresholds_contact_stays_unknown(graph):
    observing = Learning(graph)
    assert observing.learn(True).success
    answer = observing.learn(False)
    assert not answer.success
    assert '0.0 s of joint states; expected 30 or more' in answer.message
    observing.learn(True)
    observing.move(5.0, push=(0.0, 60.0))
    assert observing.kinds == {'unknown'}
    assert observing.node.status() == (health.WARN, NOT_LEARNED)
    assert not observing.learn(False).success
    assert not np.any(observing.thresholds.level)


@pytest.mark.parametrize('why', ['timeout', 'deactivated', 'parameter', 'second call'])
def test_a_run_that_is_over_is_discarded(graph, why):
    observing = Learning(graph, learn_timeout=32.0, **THRESHOLDS)
    node, before = observing.node, observing.thresholds
    observing.learn(True)
    observing.move(31.0)
    if why == 'timeout':
        observing.move(2.0)
    elif why == 'deactivated':
        node.trigger_deactivate()
        node.trigger_activate()
    elif why == 'parameter':
        node.set_parameters_atomically([rclpy_parameter('observer.poles', 100.0)])
    else:
        assert '31 s are discarded' in observing.learn(True).message
    observing.move(1.0)
    assert not observing.learn(False).success
    assert observing.thresholds == before
    assert node.health.counts['learning discarded'] == 1


@pytest.mark.parametrize('jump', [-5 * SECOND, 2 * SECOND], ids=['reset', 'gap'])
def test_a_run_continues_over_a_jump_of_the_clock(graph, jump):
    observing = Learning(graph)
    observing.move(40.0)
    observing.learn(True)
    observing.move(16.0)
    observing.stamp += jump
    observing.move(16.0)
    answer = observing.learn(False)
    assert answer.success, answer.message
    assert 'learned from 32 s' in answer.message
    # Their times are those of the run: of no clock.
    times = answer.message.split('largest torques, N m or N: ')[1].split(';')[0].split(', ')
    assert all(0 <= float(one.split()[-2]) <= 34 for one in times), times
    observing.move(1.0)
    observing.move(1.0, push=(0.0, 1.0))
    assert observing.contacts[-1].message == 'collision'


def test_thresholds_of_a_rejected_recording_are_a_warning(graph):
    observing = Learning(graph, thresholds__forced=True, **THRESHOLDS)
    level, message = observing.node.status()
    assert (level, 'thresholds.forced' in message) == (health.WARN, True)
    observing.learn(True)
    observing.move(31.0)
    assert observing.learn(False).success
    assert observing.node.status() is None


def test_efforts_are_those_of_the_parameters(graph):
    observing = Observing(
        graph, effort_scale=[2.0, 0.5], effort_offset=[0.3, -0.2], effort_gravity_compensated=True
    )
    push = np.array([0.4, 0.7])
    for _ in range(400):
        # scale * effort - offset = -push
        observing.give(Q, np.zeros(2), (np.array([0.3, -0.2]) - push) / [2.0, 0.5])
    np.testing.assert_allclose(observing.torques[-1], push, atol=1e-9)


def test_states_without_efforts_are_counted(graph):
    observing = Observing(graph)
    observing.rest(50)
    observing.give(Q, np.zeros(2), [])
    assert observing.node.health.counts['joint state without effort'] == 1
    observing.rest(50)
    assert len(observing.torques) == 99  # also over the state without efforts
    assert np.abs(observing.torques).max() < 1e-6


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_velocities_that_are_missing_are_counted_or_differentiated(graph, sign):
    observing = Observing(graph)
    push = sign * np.array([0.4, -0.7])
    for _ in range(400):
        observing.give(sign * Q, [], observing.arm.gravity_torque(sign * Q) - push)
    assert observing.node.health.counts['joint state without velocity'] == 400
    assert not observing.torques
    assert observing.node.set_parameters_atomically(
        [rclpy_parameter('missing_velocity', 'differentiate')]
    ).successful
    for _ in range(400):
        observing.give(sign * Q, [], observing.arm.gravity_torque(sign * Q) - push)
    np.testing.assert_allclose(observing.torques[-1], push, atol=1e-9)


@pytest.mark.slow
def test_the_payload_of_the_last_states_is_estimated_on_request(graph):
    observing = Observing(graph, payload__link='forearm', diagnostics_period=60.0)
    node = observing.node
    topic, name = (f'{node.get_name()}/{x}' for x in ('payload_estimate', 'estimate_payload'))
    estimates = graph.listen(InertiaStamped, topic, qos.LATCHED)
    assert 'expected 4 s' in graph.call(Trigger, name).message
    observing.arm = node.arm.with_payload('forearm', 1.5, [0.1, 0.0, 0.0])
    observing.swing(4500)
    assert graph.call(Trigger, name).success
    graph.until(lambda: estimates, 'the estimate')
    assert estimates[-1].inertia.m == pytest.approx(1.5, rel=0.01)
    assert node.parameters.payload__mass == 0.0


@pytest.mark.parametrize(
    ('delay', 'lag', 'lead'),
    [
        (-2e-3, 0.0, 2e-3),
        (0.0, 2e-3, 2e-3),
        (3e-3, 5e-3, 2e-3),
        (3e-3, 0.0, -3e-3),
        (0.0, -1e-3, -1e-3),
    ],
)
def test_identified_delays_are_used_with_their_signs(graph, delay, lag, lead):
    observing = Observing(graph, effort_delay=delay, velocity_lag=lag, **THRESHOLDS)
    node = observing.node
    assert node.observer.settings.effort_lead == pytest.approx(lead)
    assert node.status() is None
    # Each effort comes so much later than its motion.
    t = 1e-3 * np.arange(400)[:, None]
    rate = np.array([3.0, 4.0])
    q, qd = (0.5 * np.sin(rate * t), 0.5 * rate * np.cos(rate * t))
    then = t + lead
    acted = observing.arm.inverse_dynamics(
        0.5 * np.sin(rate * then),
        0.5 * rate * np.cos(rate * then),
        -0.5 * rate**2 * np.sin(rate * then),
    )
    for state in zip(q, qd, acted, strict=True):
        observing.give(*state)
    assert np.abs(observing.torques[100:]).max() < 0.02 * np.abs(acted).max()
    assert node.health.counts['gap between joint states'] == 0


def test_efforts_far_from_the_motion_are_rejected(graph):
    with pytest.raises(RobotDynamicsError, match='must differ by at most'):
        graph.start(MomentumObserverNode, effort_delay=0.5)


@pytest.mark.parametrize(
    ('wrong', 'reason'),
    [
        ({'contact_frame': 'nowhere'}, "no frame 'nowhere'"),
        ({'thresholds__noise': [0.1, 0.1, 0.1]}, 'thresholds.noise has 3 values'),
    ],
)
def test_what_does_not_fit_the_robot_is_rejected(graph, wrong, reason):
    with pytest.raises(RobotDynamicsError, match=reason):
        graph.start(MomentumObserverNode, **wrong)


SETTINGS = {
    'effort_scale': [2.0, -0.5],
    'effort_offset': [6.0, -4.0],
    'effort_gravity_compensated': True,
    'friction.coulomb': [6.0, 4.0],
    'friction.viscous': [4.0, 3.0],
    'gravity': [9.0, 0.0, -3.0],
    'base_orientation': [0.0, 1.0, 0.0],
    'payload.mass': 3.0,
}


@pytest.mark.parametrize('name', SETTINGS)
def test_each_setting_alone_decides_about_torque_wrench_and_contact(graph, name):
    """Efforts of a free motion by the law of the settings: without this one there is contact."""
    for right in (True, False):
        observing = Observing(graph, payload__link='forearm', **THRESHOLDS)
        node, value = observing.node, SETTINGS[name]
        changes = [rclpy_parameter(name, value)]
        if right:
            assert node.set_parameters_atomically(changes).successful
            given, arm = node.parameters, node.arm
            scale, offset = given.effort_scale, given.effort_offset
            friction = given.friction(arm.model)
        t = 1e-3 * np.arange(250)[:, None]
        rate = np.array([3.0, 4.0])
        q, qd = Q + 0.5 * np.sin(rate * t), 0.5 * rate * np.cos(rate * t)
        tau = arm.inverse_dynamics(q, qd, -0.5 * rate**2 * np.sin(rate * t)) + friction.torque(qd)
        if name == 'effort_gravity_compensated':
            tau = tau - arm.gravity_torque(q)
        for state in zip(q, qd, (tau + offset) / scale, strict=True):
            observing.give(*state)
        torque, wrench = (np.abs(x[100:]).max() for x in (observing.torques, observing.wrenches))
        assert (torque < 0.5) == (wrench < 1.0) == (observing.kinds == {'none'}) == right
