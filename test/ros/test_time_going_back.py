# SPDX-License-Identifier: Apache-2.0
"""Time that goes back, for everything that keeps a stamp.

After a reset, the answers to a run of inputs are those without the inputs before it. Late inputs
among them change nothing.
"""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode, rows
from geometry_msgs.msg import Vector3, WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import AccelerationFilter, VelocityFilter
from robot_dynamics.control.joint_reading import (
    JointReading,
    JointStateReader,
    StampRateLimit,
)
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.torque_limiting import Limits, TorqueGate
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.pybullet_validator_parts.term_input import TermInput
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import Follow

MS = 1_000_000
NAMES = ['shoulder', 'elbow']
COUNT = 12
TIMEOUT = 0.1  # s


def run(begin, sign=1.0):
    """Return stamps [ns] and states of a motion."""
    t = np.arange(COUNT) * 1e-3
    q = sign * np.array([0.3, -0.4]) + sign * np.outer(np.sin(9 * t), [0.2, 0.1])
    qd = sign * np.outer(9 * np.cos(9 * t), [0.2, 0.1])
    return [(begin + k * MS, q[k], qd[k]) for k in range(COUNT)]


BEFORE, AFTER = run(5000 * MS, sign=-1.0), run(700 * MS)


def message(stamp, q, qd):
    state = JointState(name=NAMES, position=q, velocity=qd, effort=2 * q)
    state.header.stamp = messages.time_message(stamp)
    return state


# -- the library, each part by its own call ------------------------------------------------------


def accelerations(model):
    filtered = AccelerationFilter()
    return lambda stamp, q, qd: filtered.update(stamp / SECOND, qd)


def velocities(model):
    filtered = VelocityFilter()
    return lambda stamp, q, qd: filtered.update(stamp / SECOND, q)


def rates(model):
    limit = StampRateLimit(300.0)
    return lambda stamp, q, qd: limit.is_due(stamp)


def readings(model):
    reader = JointStateReader(model, TIMEOUT, VelocityFilter())
    return lambda stamp, q, qd: reader.read(message(stamp, q, qd), stamp)[:4]


def estimated(model):
    reader = JointStateReader(model, TIMEOUT, VelocityFilter())
    return lambda stamp, q, qd: reader.read(message(stamp, q, ()), stamp)[:4]


def gate(model):
    """Changes of the torque toward one that is far away."""
    opened = TorqueGate(Limits(np.full(2, np.inf), np.full(2, 100.0), 0.0), Counter())

    def change(stamp, q, qd):
        before = opened.last.copy()
        return np.round(opened(stamp, np.full(2, 1e3)) - before, 12)

    return change


def reference(model):
    follower = ReferenceFollower(model, np.full(2, 0.1), TIMEOUT)
    reader = JointStateReader(model, TIMEOUT)
    return lambda stamp, q, qd: follower.reference(reader.read(message(stamp, q, qd), stamp))[0]


class Source:
    reading = None

    def newest(self):
        return self.reading

    def payload(self):
        return None

    def external(self):
        return None, None


def view(model):
    source = Source()
    follow, arm, state = Follow(source), Dynamics(model), ViewState.initial(model)

    def shown(stamp, q, qd):
        source.reading = JointReading(stamp, q, qd, None)
        found = follow.advance(arm, state, 0.1)
        return found.q, found.qd, found.qdd

    return shown


PARTS = [accelerations, velocities, rates, readings, estimated, gate, reference, view]


@pytest.mark.parametrize('part', PARTS, ids=lambda part: part.__name__)
def test_after_a_reset_a_part_answers_as_if_it_had_just_begun(elbow, part):
    fresh, used = part(elbow.model), part(elbow.model)
    expected = [rows(fresh(*state)) for state in AFTER]
    for state in BEFORE:
        used(*state)
    assert [rows(used(*state)) for state in AFTER] == expected


# -- the nodes, whole ---------------------------------------------------------------------------


def wrench(stamp):
    pushed = WrenchStamped()
    pushed.header.frame_id = 'forearm'
    pushed.header.stamp = messages.time_message(stamp)
    pushed.wrench.force = Vector3(x=1.0, z=5.0)
    return pushed


def accelerated(stamp):
    point = JointTrajectoryPoint(
        positions=[0.0] * 2, velocities=[0.0] * 2, accelerations=[1.0, -2.0]
    )
    wanted = JointTrajectory(joint_names=NAMES, points=[point])
    wanted.header.stamp = messages.time_message(stamp)
    return wanted


def answers(called, states):
    return [called.answer(message(*state)) for state in states]


LATE = [1, 15, 99]  # ms


def with_late(states, late):
    """Return states, each but the first followed by a late one of another posture."""
    for stamp, q, qd in states:
        yield stamp, q, qd
        yield stamp - late * MS, -q, -qd


HARD = {'max_torque_rate': [0.0], 'ramp_time': 0.0, 'kp': [50.0], 'kd': [2.0]}
MEMORY = {'friction__law': 'coulomb_memory', 'friction__coulomb': [0.4]}
NODES = [
    (DynamicsNode, MEMORY),
    (DynamicsNode, {'friction__law': 'load_memory', 'friction__load': [0.1]}),
    (DynamicsNode, {'publish_rate': 300.0, 'acceleration_source': 'reference'}),
    (FeedforwardNode, HARD),
    (FeedforwardNode, HARD | MEMORY),
    (FeedforwardNode, HARD | MEMORY | {'control_law': 'gravity_only', 'lead_friction': 0.5}),
]


@pytest.fixture(params=NODES, ids=lambda given: ' '.join([given[0].__name__, *given[1]]))
def called(graph, request):
    node_class, parameters = request.param
    return CalledNode(graph, node_class, **parameters)


def test_after_a_reset_a_node_answers_as_if_it_had_just_begun(called):
    expected = answers(called, AFTER)
    assert any(expected)
    called.begin_anew()
    # Both are near the second run, whose time comes before that of the first one.
    called.give('/external_wrench', wrench(AFTER[0][0]))
    called.give('/reference', accelerated(AFTER[0][0]))
    answers(called, BEFORE)
    assert answers(called, AFTER) == expected


@pytest.mark.parametrize('node_class', [DynamicsNode, FeedforwardNode])
@pytest.mark.parametrize('first', NAMES)
def test_a_node_activated_again_needs_new_values_of_all_joints(graph, node_class, first):
    called = CalledNode(graph, node_class)
    (stamp, q, qd), other = AFTER[0], AFTER[1][0]

    def of(name, stamp):
        j = NAMES.index(name)
        alone = JointState(name=[name], position=q[[j]], velocity=qd[[j]])
        alone.header.stamp = messages.time_message(stamp)
        return alone

    second = NAMES[1 - NAMES.index(first)]
    assert not called.answer(of(first, stamp))
    called.node.trigger_deactivate()
    called.node.trigger_activate()
    assert not called.answer(of(second, other))
    assert called.answer(of(first, other))


@pytest.mark.slow
@pytest.mark.parametrize('late', LATE)
def test_late_states_change_nothing(called, late):
    expected = answers(called, AFTER)
    called.begin_anew()
    found = answers(called, with_late(AFTER, late))
    assert found[::2] == expected
    assert not any(found[1::2])
    assert called.node.health.counts['joint state rejected'] == COUNT


def test_terms_are_matched_with_states_across_late_ones_and_a_reset(graph, elbow):
    owner = graph.start(PyBulletValidatorNode, autostart=False)  # it reads no terms itself
    terms = TermInput(owner, 'dynamics_node')
    states = graph.publisher(JointState, 'joint_states')
    gravity = graph.publisher(JointState, 'dynamics_node/gravity_torque')
    graph.until(lambda: states.get_subscription_count() == 2, 'the input of terms')
    try:
        terms.use(elbow)
        # Late by 10 ms, then a reset by 4.3 s.
        for stamp, q, qd, counts in (
            (*BEFORE[0], 1),
            (BEFORE[1][0] - 10 * MS, *BEFORE[1][1:], 0),
            (*BEFORE[2], 1),
            (*AFTER[0], 1),
        ):
            states.publish(message(stamp, q, qd))
            torque = JointState(name=NAMES, effort=q)
            torque.header.stamp = messages.time_message(stamp)
            gravity.publish(torque)
            found = []
            rejected = owner.health.counts['live state rejected']

            def taken(found=found, rejected=rejected):
                found += [terms.newest()]
                return found[-1] or owner.health.counts['live state rejected'] > rejected

            graph.until(taken, 'the terms')
            if counts:
                assert found[-1][0] == stamp
                np.testing.assert_array_equal(found[-1][1].gravity, q)
            else:
                assert owner.health.counts['live state rejected'] == rejected + 1
    finally:
        terms.close()


def test_a_simulation_in_lock_step_that_is_reset_early_continues(graph):
    """Its first states are late, and it waits for the answer to them."""
    simulator = graph.start(SimulatorNode, lockstep=True, real_time_factor=0.1)
    feedforward = ('feedforward_node/feedforward_torque', 'joint_effort')
    graph.start(FeedforwardNode, remap=[':='.join(feedforward)], kp=[50.0], kd=[2.0])
    graph.until(lambda: simulator.loop.steps > 10, 'steps')
    time = simulator.loop.time
    assert time < TIMEOUT  # else the reset is no late state
    assert graph.call(Trigger, 'simulator_node/reset').success
    assert simulator.loop.time < time
    graph.until(lambda: simulator.loop.time > time + 0.01, 'time going on')
