# SPDX-License-Identifier: Apache-2.0
"""Nodes on a base that moves: torques of the library, and inputs that are late, wrong or stop."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from elbow import ELBOW
from geometry_msgs.msg import AccelStamped, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

import robot_dynamics as rd
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import quaternion, rotation_rpy
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import FADE
from robot_dynamics.ros import health, messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode

MS = SECOND // 1000
POSITION, RPY = np.array([0.3, -0.2, 0.5]), (0.4, -0.3, 2.0)
ROBOT = ELBOW.replace(
    '<link name="upper_arm">',
    '<link name="imu"/><joint name="mount" type="fixed"><parent link="base"/><child link="imu"/>'
    '<origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.3 2.0"/></joint><link name="upper_arm">',
    1,
)
R_BS = rotation_rpy(*RPY)
R_WB = rotation_rpy(0.2, -0.3, 0.5)
GRAVITY = np.array([0.0, 0.0, -9.81])
Q, QD = np.array([0.3, -0.4]), np.array([0.5, -0.7])
# The base turns at a constant rate and leans
TURN = np.array([0.4, -0.5, 0.6])
BASE = rd.BaseMotion(TURN, np.zeros(3), -R_WB.T @ GRAVITY + [1.0, -0.5, 2.0]).array()
LEVEL = rd.BaseMotion.at_rest().array()
TILT = rd.BaseMotion.at_rest(R_WB).array()


def set_vector(vector, values):
    vector.x, vector.y, vector.z = map(float, values)


def set_rotation(orientation, R):
    o = orientation
    o.x, o.y, o.z, o.w = map(float, quaternion(R))


def imu(stamp, base=BASE, scale=1.0, frame='imu', attitude=R_WB):
    """Return what a sensor on the link `imu` measures of a motion of the base."""
    w, wd, a = np.split(base, 3)
    message = Imu()
    message.header.frame_id, message.header.stamp = frame, messages.time_message(stamp)
    # f = R^T (a + wd x r + w x (w x r))
    f = a + np.cross(wd, POSITION) + np.cross(w, np.cross(w, POSITION))
    set_vector(message.linear_acceleration, scale * R_BS.T @ f)
    set_vector(message.angular_velocity, R_BS.T @ w)
    if attitude is None:
        message.orientation_covariance[0] = -1.0
    else:
        set_rotation(message.orientation, attitude @ R_BS)
    return message


class OnBase:
    """A node that is given messages without the middleware, and its torques."""

    def __init__(self, graph, kind, source='imu', **parameters):
        smooth = {'friction__viscous': [0.0], 'friction__coulomb': [0.0]}
        given = {'base_motion__source': source, **smooth, **parameters}
        self.node = node = graph.start(kind, description=ROBOT, **given)
        self.moving = rd.Dynamics(node.base.model).on_moving_base()
        self.torques = []
        self.contacts = []
        if kind is DynamicsNode:
            node.terms.publish = lambda stamp, terms: self.torques.append(
                {name: values.copy() for name, values in terms.items()}
            )
        elif kind is FeedforwardNode:
            node.torques.publish = lambda stamp, tau: self.torques.append(tau.copy())
        else:
            node.torques_out = SimpleNamespace(publish=self._take)
            node.contacts_out = SimpleNamespace(
                publish=lambda m: self.contacts.append(m.status[0])
            )

    def _take(self, data):
        self.torques.append(np.array(deserialize_message(data, JointState).effort))

    def give(self, topic, message):
        found = [s for s in self.node.subscriptions if s.topic_name == topic]
        for subscription in found:
            subscription.callback(serialize_message(message))
        assert found, topic

    def sense(self, stamp, *args, **kwargs):
        self.give('/base_motion/imu', imu(stamp, *args, **kwargs))

    def torque(self, stamp, q=Q, qd=QD, effort=(0.0, 0.0)):
        """Return what is published for a joint state."""
        state = JointState(name=['shoulder', 'elbow'], position=list(q), velocity=list(qd))
        state.effort = list(map(float, effort))
        state.header.stamp = messages.time_message(stamp)
        count = len(self.torques)
        self.give('/joint_states', state)
        return self.torques[-1] if len(self.torques) > count else None

    @property
    def base(self):
        return self.node.base_motion

    def counts(self):
        return self.node.health.counts


def close(found, expected, atol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def begun(graph, kind=DynamicsNode, source='imu', **parameters):
    """Return a node whose base is known at 1 s."""
    one = OnBase(graph, kind, source, **parameters)
    for k in range(-10, 1):
        one.sense(SECOND + 5 * k * MS)
    return one


# -- torques --------------------------------------------------------------------------------


def test_dynamics_node_has_the_terms_of_the_moving_base(graph):
    one = begun(graph, acceleration_source='differentiate', payload__link='forearm')
    one.torque(SECOND - MS)
    found = one.torque(SECOND)
    M, C, g = one.moving.terms(Q, QD, BASE)
    close(found['mass_matrix'], M)
    close(found['coriolis_matrix'], C)
    close(found['gravity_torque'], g)
    close(found['coriolis_torque'], C @ QD)
    close(found['inverse_dynamics_torque'], one.moving.inverse_dynamics(Q, QD, 0 * Q, BASE))
    assert np.abs(g - one.node.arm.gravity_torque(Q)).max() > 0.5
    assert np.abs(C @ QD - one.node.arm.coriolis_torque(Q, QD)).max() > 1e-3
    assert one.base.figures() == {'base motion': 'imu'}
    assert one.base.status() is None
    # A payload that comes while the node is active
    assert one.node.set_parameters([Parameter('payload.mass', value=0.5)])[0].successful
    loaded = one.node.arm.on_moving_base()
    close(one.torque(SECOND + MS)['gravity_torque'], loaded.gravity_torque(Q, BASE))


@pytest.mark.parametrize('law', ['feedforward', 'pd_plus', 'computed_torque', 'joint_impedance'])
def test_feedforward_node_compensates_the_moving_base(graph, law):
    gains = {'kp': [0.0], 'kd': [0.0], 'ramp_time': 0.0, 'max_torque_rate': [0.0]}
    one = begun(graph, FeedforwardNode, control_law=law, **gains)
    one.torque(SECOND - MS, qd=np.zeros(2))
    tau = one.torque(SECOND)
    g, C = one.moving.gravity_torque(Q, BASE), one.moving.coriolis_matrix(Q, QD, BASE)
    # Held at rest: C multiplies the desired velocity, zero, under the last two
    close(tau, g + C @ QD * (law in ('feedforward', 'computed_torque')), 1e-8)


def test_a_robot_that_compensates_gravity_is_given_what_the_motion_adds(graph):
    gains = {'ramp_time': 0.0, 'max_torque_rate': [0.0], 'compensate_gravity': False}
    one = begun(graph, FeedforwardNode, control_law='gravity_only', **gains)
    arm = one.node.arm
    one.torque(SECOND - MS)
    expected = one.moving.gravity_torque(Q, BASE) - arm.gravity_torque(Q)
    close(one.torque(SECOND), expected)
    close(one.node.law.gravity(one.node.watch.last), expected)
    measured = begun(graph, DynamicsNode, effort_gravity_compensated=True)
    effort = one.moving.bias_torque(Q, QD, BASE) - arm.gravity_torque(Q)
    measured.torque(SECOND - MS, effort=effort)
    close(measured.torque(SECOND, effort=effort)['effort_residual'], 0.0)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_momentum_observer_node_finds_the_push_alone(graph, sign):
    thresholds = {'thresholds__noise': [0.1], 'thresholds__level': [2.0]}
    one, push = begun(graph, MomentumObserverNode, **thresholds), sign * np.array([0.0, 2.0])
    found = []
    for k in range(300):
        stamp = SECOND + k * MS
        if k % 5 == 0:
            one.sense(stamp)
        effort = one.moving.gravity_torque(Q, BASE) - push * (k >= 100)
        found.append(one.torque(stamp, qd=np.zeros(2), effort=effort))
    assert np.abs(found[1:100]).max() < 1e-8
    close(found[-1], push, 1e-3)
    kinds = [contact.message for contact in one.contacts]
    assert kinds[:2] == ['unknown', 'none']
    assert 'collision' in kinds
    # Without the motion it is not known what the environment does
    for k in range(300, 400):
        one.torque(SECOND + k * MS, qd=np.zeros(2), effort=effort)
    assert one.contacts[-1].message == 'unknown'
    reasons = {pair.key: pair.value for pair in one.contacts[-1].values}
    assert 'base_motion/imu: the last motion is' in reasons['reason']


def test_a_motion_that_returns_is_no_contact(graph):
    """Meanwhile the observer takes the motion of the base for a push."""
    thresholds = {'thresholds__noise': [0.1], 'thresholds__level': [2.0]}
    one, found = begun(graph, MomentumObserverNode, **thresholds), []
    effort = one.moving.gravity_torque(Q, BASE)
    for k in range(1500):
        stamp = SECOND + k * MS
        if k % 5 == 0 and (k < 100 or k > 500):
            one.sense(stamp)
        torque = one.torque(stamp, qd=np.zeros(2), effort=effort)
        found.append(np.zeros(2) if torque is None else torque)
    assert np.abs(found[450]).max() > 0.3
    close(found[-1], 0.0, 1e-8)
    kinds = [contact.message for contact in one.contacts]
    assert set(kinds) == {'none', 'unknown'}
    assert kinds[-1] == 'none'
    assert 'gap between joint states' not in one.counts()


def test_odometry_and_commands_give_the_same_torque(graph):
    one = OnBase(graph, DynamicsNode, 'odometry')
    v = np.cross(TURN, POSITION)  # of a base that turns about its origin, leaning
    still = rd.BaseMotion(TURN, np.zeros(3), -R_WB.T @ GRAVITY).array()
    for k in range(3):
        message = Odometry(child_frame_id='imu')
        message.header.frame_id = 'odom'
        message.header.stamp = messages.time_message(SECOND + k * MS)
        set_rotation(message.pose.pose.orientation, R_WB @ R_BS)
        set_vector(message.twist.twist.linear, R_BS.T @ v)
        set_vector(message.twist.twist.angular, R_BS.T @ TURN)
        one.give('/base_motion/odometry', message)
    found = one.torque(SECOND + 2 * MS)
    close(found['gravity_torque'], one.moving.gravity_torque(Q, still))

    one, base = OnBase(graph, DynamicsNode, 'command'), BASE + np.eye(9)[3:6].T @ [1, 2, 3]
    w, wd, a = np.split(base, 3)
    accel, twist = AccelStamped(), TwistStamped()
    for message in (accel, twist):
        message.header.frame_id, message.header.stamp = 'imu', messages.time_message(SECOND)
    f = a + np.cross(wd, POSITION) + np.cross(w, np.cross(w, POSITION))
    set_vector(accel.accel.linear, R_BS.T @ f)
    set_vector(accel.accel.angular, R_BS.T @ wd)
    set_vector(twist.twist.angular, R_BS.T @ w)
    one.give('/base_motion/accel', accel)
    one.give('/base_motion/twist', twist)
    found = one.torque(SECOND)  # without delay
    close(found['gravity_torque'], one.moving.gravity_torque(Q, base))


def test_a_fixed_base_has_no_topics_and_the_same_torques(graph):
    one = OnBase(graph, DynamicsNode, 'none')
    assert not [s for s in one.node.subscriptions if 'base_motion' in s.topic_name]
    found = one.torque(SECOND)
    np.testing.assert_array_equal(found['gravity_torque'], one.node.arm.gravity_torque(Q))
    assert one.base.figures() == {}


def test_an_imu_reaches_the_node_by_its_topic(graph):
    one = OnBase(graph, DynamicsNode)
    sensors, states = (
        graph.publisher(kind, topic)
        for kind, topic in ((Imu, 'base_motion/imu'), (JointState, 'joint_states'))
    )
    state = JointState(name=['shoulder', 'elbow'], position=list(Q), velocity=list(QD))
    expected, stamps = (
        one.moving.gravity_torque(Q, BASE),
        iter(range(SECOND, 100 * SECOND, 10 * MS)),
    )

    def is_used():
        stamp = next(stamps)
        sensors.publish(imu(stamp))
        state.header.stamp = messages.time_message(stamp)
        states.publish(state)
        graph.drain(0.01)
        found = one.torques[-1]['gravity_torque'] if one.torques else np.zeros(2)
        return np.abs(found - expected).max() < 1e-9

    graph.until(is_used, 'the torque on the moving base')


@pytest.mark.parametrize('enabled', [True, False])
def test_a_missing_motion_is_a_warning_also_without_torques(graph, enabled):
    one = OnBase(graph, FeedforwardNode, start_enabled=enabled)
    one.torque(SECOND)
    fault = one.node.diagnostics.fault()
    assert fault == (
        health.WARN,
        'base_motion/imu: no motion has been received; fallback: gravity',
    )


# -- rejected -------------------------------------------------------------------------------

WRONG = [
    ({'scale': 0.0}, 'acceleration at rest is 0 m/s^2; expected 9.81: it is without gravity'),
    ({'scale': 1 / 9.81}, 'it is in multiples of g'),
    ({'frame': 'forearm'}, "frame_id is 'forearm', which moves relative to the base; expected a"),
    ({'frame': ''}, "frame_id is ''; expected a link of the robot that is fixed to its base"),
    ({'frame': 'other_imu'}, "frame_id is 'other_imu'; expected a link"),
    ({'attitude': rotation_rpy(np.pi, 0, 0)}, 'REP 103'),
    ({'base': np.full(9, np.nan)}, 'angular velocity is (nan, nan, nan) rad/s; expected finite'),
]


@pytest.mark.parametrize(('wrong', 'why'), WRONG, ids=[why[-20:] for _, why in WRONG])
def test_a_sensor_that_cannot_be_used_is_rejected_with_a_reason(graph, wrong, why):
    one = OnBase(graph, DynamicsNode)
    torques = []
    for k in range(200):
        one.sense(SECOND + 5 * k * MS, **{'base': LEVEL, 'attitude': np.eye(3), **wrong})
        torques.append(one.torque(SECOND + 5 * k * MS)['gravity_torque'])
    level, reason = one.base.status()
    assert level == health.WARN
    assert reason.startswith('base_motion/imu: ')
    assert reason.endswith('; fallback: gravity')
    assert why in reason
    assert one.counts()['base_motion/imu rejected'] > 90
    assert one.node.diagnostics.fault() == (level, reason)
    # The fixed base, throughout
    close(torques, np.tile(one.node.arm.gravity_torque(Q), (200, 1)))


@pytest.mark.parametrize('field', ['angular_velocity', 'linear_acceleration'])
def test_a_sensor_without_a_quantity_is_rejected(graph, field):
    one, message = OnBase(graph, DynamicsNode), imu(SECOND)
    getattr(message, f'{field}_covariance')[0] = -1.0
    one.give('/base_motion/imu', message)
    one.torque(SECOND)
    assert f'the sensor does not measure {field}' in one.base.status()[1]
    one.base.restart()
    message = imu(SECOND)
    message.orientation.w = message.orientation.x = 0.0
    one.give('/base_motion/imu', message)
    one.torque(SECOND)
    assert 'the quaternion of the orientation has the norm' in one.base.status()[1]


def test_a_sensor_mounted_otherwise_than_in_the_urdf_is_rejected(graph):
    """It would turn gravity round: a fixed base is nearer."""
    one, torques = OnBase(graph, DynamicsNode), []
    for k in range(200):
        one.sense(SECOND + 5 * k * MS, base=-LEVEL, attitude=rotation_rpy(np.pi, 0, 0))
        torques.append(one.torque(SECOND + 5 * k * MS)['gravity_torque'])
    assert 'base_orientation and the pose of the sensor in the URDF' in one.base.status()[1]
    close(torques, np.tile(one.node.arm.gravity_torque(Q), (200, 1)))
    # An arm that hangs
    ceiling = OnBase(graph, DynamicsNode, base_orientation=[np.pi, 0.0, 0.0])
    for k in range(3):
        ceiling.sense(SECOND + 5 * k * MS, base=-LEVEL, attitude=rotation_rpy(np.pi, 0, 0))
    ceiling.torque(SECOND + 10 * MS)
    assert ceiling.base.status() is None


def test_a_command_without_its_twist_says_so(graph):
    one = OnBase(graph, DynamicsNode, 'command')
    accel = AccelStamped()
    accel.header.frame_id = 'base'
    set_vector(accel.accel.linear, [0.0, 0.0, 9.81])
    for k in range(3):
        accel.header.stamp = messages.time_message(SECOND + 5 * k * MS)
        one.give('/base_motion/accel', accel)
        one.torque(SECOND + 5 * k * MS)
    assert 'no angular velocity belongs to the accelerations' in one.base.status()[1]


# -- late, stopping, going back -------------------------------------------------------------


@pytest.mark.parametrize(
    ('attitude', 'fallback', 'rest', 'name'),
    [
        (R_WB, 'tilt', TILT, 'tilt'),
        (R_WB, 'gravity', LEVEL, 'gravity'),
        (None, 'tilt', LEVEL, 'gravity'),
    ],
)
def test_a_sensor_that_stops_fades_to_the_fallback_and_returns(
    graph, attitude, fallback, rest, name
):
    one = OnBase(graph, DynamicsNode, base_motion__fallback=fallback)
    torques = []

    def run(milliseconds, sensing):
        for k in milliseconds:
            if sensing and k % 5 == 0:
                one.sense(SECOND + k * MS, attitude=attitude)
            torques.append(one.torque(SECOND + k * MS)['gravity_torque'])

    one.sense(SECOND - 5 * MS, attitude=attitude)
    run(range(100), sensing=True)
    expected = one.moving.gravity_torque(Q, BASE)
    close(torques, np.tile(expected, (100, 1)))
    run(range(100, 400), sensing=False)
    at_rest = one.moving.gravity_torque(Q, rest)
    close(torques[-1], at_rest)
    level, reason = one.base.status()
    assert level == health.WARN
    assert 'older than the joint state; expected at most 0.05 s (base_motion.age_limit)' in reason
    assert reason.endswith(f'fallback: {name}')
    assert one.base.figures() == {'base motion': name}
    assert one.counts()['base motion lost'] == 1
    run(range(400, 800), sensing=True)
    assert one.base.status() is None
    close(torques[-1], expected)
    # Gravity is linear in the motion but for the rotation: no step beyond that of the fade
    largest = 1.5 * np.abs(at_rest - expected).max() * 1e-3 / FADE
    assert np.abs(np.diff(torques, axis=0)).max() < largest + 0.01


def test_each_wrong_stamp_is_named(graph):
    one = begun(graph)
    one.torque(SECOND)
    one.sense(SECOND - 2 * MS)
    assert one.counts()['base_motion/imu rejected'] == 1
    assert one.base.status() is None  # the last one still holds
    one.torque(SECOND + 60 * MS)
    assert 's before the last one; expected later ones' in one.base.status()[1]
    one = begun(graph)
    for k in range(3):
        one.sense(100 * SECOND + k * MS)
    one.torque(SECOND)
    assert (
        'the last motion is 99 s ahead of the joint states: another clock' in one.base.status()[1]
    )
    one.torque(200 * SECOND)
    assert 'the last motion is 100 s older than the joint state' in one.base.status()[1]
    for k in range(3):
        one.sense(SECOND + k * 60 * MS)
    one.torque(200 * SECOND)
    assert '0.06 s apart; expected at most 0.05 s (base_motion.age_limit)' in one.base.status()[1]


@pytest.mark.parametrize('kind', [DynamicsNode, FeedforwardNode])
def test_torques_of_a_disturbed_sensor_have_no_jump(graph, kind):
    """Late, set back, ahead and silent in turn, while the base stays as it is."""
    led = {'control_law': 'gravity_only', 'ramp_time': 0.0, 'max_torque_rate': [0.0]}
    one, stamp = begun(graph, kind, **({} if kind is DynamicsNode else led)), SECOND
    torques = []
    for offset in (0, -2 * MS, -SECOND // 10, 0, 100 * SECOND, 0, -100 * SECOND, None, 0):
        for k in range(300):
            stamp += MS
            if offset is not None and k % 5 == 0:
                one.sense(stamp + offset)
            found = one.torque(stamp)
            torques.append(found['gravity_torque'] if kind is DynamicsNode else found)
    close(torques[-1], one.moving.gravity_torque(Q, BASE))
    difference = np.abs(one.moving.gravity_torque(Q, BASE) - one.moving.gravity_torque(Q, TILT))
    assert np.abs(np.diff(torques, axis=0)).max() < 2.0 * difference.max() * 1e-3 / FADE


def test_a_reset_of_the_time_begins_anew(graph):
    one = begun(graph)
    close(one.torque(SECOND)['gravity_torque'], one.moving.gravity_torque(Q, BASE))
    one.torque(0)  # the joint states alone
    assert 'no motion has been received' in one.base.status()[1]
    for k in range(300):
        one.sense(k * MS)
        found = one.torque(k * MS)
    close(found['gravity_torque'], one.moving.gravity_torque(Q, BASE))


# -- what a moving base does not have -------------------------------------------------------


def test_an_impedance_at_a_frame_is_rejected_with_the_reason(graph):
    given = {'impedance__frame': 'forearm', 'autostart': False, 'base_motion__source': 'imu'}
    node = graph.start(
        FeedforwardNode, description=ROBOT, control_law='cartesian_impedance', **given
    )
    with pytest.raises(RobotDynamicsError, match='source is imu; the spring of a'):
        node.configure_and_activate()
    other = begun(graph, FeedforwardNode, impedance__frame='forearm').node
    (result,) = other.set_parameters([Parameter('control_law', value='cartesian_impedance')])
    assert 'base_motion.source none' in result.reason


def test_payloads_are_estimated_on_a_fixed_base(graph):
    begun(graph)
    answer = graph.call(Trigger, 'dynamics_node/estimate_payload')
    assert not answer.success
    assert answer.message == 'base_motion.source is imu; payloads are estimated on a fixed base'


def test_low_pass_age_limit_and_fallback_are_live_and_the_source_is_not(graph):
    one = begun(graph, base_motion__age_limit=0.5)
    one.torque(SECOND + 400 * MS)
    assert one.base.status() is None
    values = {'age_limit': 0.1, 'low_pass': 40.0, 'fallback': 'gravity'}
    for name, value in values.items():
        (result,) = one.node.set_parameters([Parameter(f'base_motion.{name}', value=value)])
        assert result.successful, result.reason
    one.torque(SECOND + 401 * MS)
    assert 'expected at most 0.1 s' in one.base.status()[1]
    assert one.base.status()[1].endswith('fallback: gravity')
    (result,) = one.node.set_parameters([Parameter('base_motion.source', value='none')])
    assert not result.successful
