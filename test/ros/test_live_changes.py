# SPDX-License-Identifier: Apache-2.0
"""Parameters that may change while a node is active: from then on it answers as one begun so."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from elbow import ELBOW
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Vector3, WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.parameters import specs

MS = 1_000_000
NAMES = ['shoulder', 'elbow']
BEGIN = 700 * MS
START = np.array([0.3, -0.4])


def state(stamp, q, qd=(), effort=()):
    message = JointState(name=NAMES, position=q, velocity=qd, effort=effort)
    message.header.stamp = messages.time_message(stamp)
    return message


def moving(speed=9.0):
    """Return stamps [ns], q and qd of an arm that swings."""
    t = np.arange(12) * 1e-3
    q = START + np.outer(np.sin(speed * t), [0.2, 0.1])
    qd = np.outer(speed * np.cos(speed * t), [0.2, 0.1])
    return [(BEGIN + k * MS, *row) for k, row in enumerate(zip(q, qd, strict=True))]


def points(stamp, positions, times, velocities=None, names=NAMES):
    message = JointTrajectory(joint_names=names)
    message.header.stamp = messages.time_message(stamp)
    for k, (q, t) in enumerate(zip(positions, times, strict=True)):
        qd = [] if velocities is None else [float(v) for v in velocities[k]]
        point = JointTrajectoryPoint(positions=[float(p) for p in q], velocities=qd)
        point.time_from_start = messages.duration_message(t)
        message.points.append(point)
    return message


# -- inputs, and the answers to them -----------------------------------------------------------


def swing(called):
    """A swinging arm with a wrench on it, and one late state."""
    pushed = WrenchStamped()
    pushed.header.frame_id = 'forearm'
    pushed.header.stamp = messages.time_message(BEGIN)
    pushed.wrench.force = Vector3(x=1.0, z=5.0)
    called.give('/external_wrench', pushed)
    states = moving()
    states.insert(8, (states[7][0] - 15 * MS, *states[7][1:]))
    return [called.answer(state(*one, effort=2 * one[1])) for one in states]


def leaning(called):
    """An arm on a base that leans and turns faster, whose sensor stops."""
    found = []
    for k in range(40):
        stamp = BEGIN + 5 * k * MS
        if k < 20:
            sensor = Imu(linear_acceleration=Vector3(x=3.0, z=9.3))
            sensor.angular_velocity.y = 0.05 * k
            sensor.orientation = Quaternion(y=-0.15, w=0.98869)
            sensor.header.frame_id, sensor.header.stamp = 'base', messages.time_message(stamp)
            called.give('/base_motion/imu', sensor)
        found.append(called.answer(state(stamp, START, np.zeros(2))))
    return found


def creep(called):
    """An arm that moves slowly."""
    return [called.answer(state(*one)) for one in moving(0.1)]


def positions(called):
    """A swinging arm that measures no velocities."""
    return [called.answer(state(stamp, q)) for stamp, q, _ in moving()]


def followed(called, trajectory, away=0.05):
    """An arm that stays near its start and moves a little, given a trajectory."""
    found = []
    for k in range(60):
        q = START + away * np.array([1, -1]) + 1e-3 * np.sin(0.3 * k) * np.array([1, -2])
        found.append(called.answer(state(BEGIN + 2 * k * MS, q, [0.02, -0.03])))
        if k == 1:
            called.give('/joint_trajectory', trajectory)
    return found


def trajectory(called):
    """A motion whose points have velocities."""
    ends = START, START + np.array([0.02, 0.03])
    return followed(called, points(0, ends, (0.0, 0.06), np.zeros((2, 2))))


def corners(called):
    """A motion by four points without velocities."""
    way = START + np.outer([0.0, 1.0, 0.5, 2.0], [0.01, 0.012])
    return followed(called, points(0, way, (0.0, 0.02, 0.04, 0.07)), away=0.0)


def struck(called):
    """A motion during which an arm without gains leaves its path, and collides."""
    status = DiagnosticStatus(message='collision')
    found = trajectory(called)[:1]
    called.give('/momentum_observer_node/contact', DiagnosticArray(status=[status]))
    for k in range(60, 90):
        q = START + 1e-3 * k * np.array([1, -2])
        found.append(called.answer(state(BEGIN + 2 * k * MS, q, [0.5, -1.0])))
    return found


def partial(called):
    """A motion of one joint alone."""
    way = [[START[1]], [START[1] - 0.03]]
    return followed(called, points(0, way, (0.0, 0.06), np.zeros((2, 1)), names=['elbow']))


def stream(called):
    """References with velocities, 20 ms apart, of an arm that moves."""
    found = []
    for k in range(60):
        stamp = BEGIN + 2 * k * MS
        if k % 10 == 1:
            q, qd = START + 1e-4 * k * np.array([1, -2]), 0.05 * np.array([1, -2])
            called.give('/reference', points(stamp, [q], [0.0], [qd]))
        found.append(called.answer(state(stamp, START, np.zeros(2))))
    return found


def chunks(called):
    """Points without times."""
    way = START + np.outer(np.arange(5), [0.01, -0.01])
    return followed(called, points(0, way, np.zeros(5)), away=0.0)


def poses(called):
    """Poses 5 cm and 0.5 rad from the forearm of an arm that moves a little."""
    found = []
    message = PoseStamped()
    message.pose.position = Point(x=0.4, y=0.05, z=-0.1)
    message.pose.orientation = Quaternion(w=1.0)
    for k in range(60):
        q = START + 5e-3 * np.sin(0.3 * k) * np.array([1, -2])
        found.append(called.answer(state(BEGIN + 2 * k * MS, q, [0.2, -0.3])))
        called.give('/target_pose', message)
    return found


def pressed(called):
    """Wrenches of the forearm beyond every bound."""
    found = []
    for k in range(60):
        found.append(called.answer(state(BEGIN + 2 * k * MS, START, np.zeros(2))))
        pressed = WrenchStamped()
        pressed.header.frame_id = 'forearm'
        pressed.wrench.force = Vector3(x=1e4 * (k % 2), z=1e4 * (k % 2))
        pressed.wrench.torque = Vector3(y=1e4 * (1 - k % 2))
        called.give('/target_wrench', pressed)
    return found


# -- the parameters -------------------------------------------------------------------------------

TENSOR = [0.05, 0.0, 0.0, 0.06, 0.0, 0.07]
LOADED = {'payload.link': 'forearm', 'payload.mass': 2.0, 'payload.com': [0.1, 0.0, 0.02]}
ROBOT = [
    ({}, 'gravity', [1.0, 0.0, -5.0]),
    ({}, 'base_orientation', [0.0, 0.5, 0.0]),
    (LOADED, 'payload.mass', 3.0),
    (LOADED, 'payload.com', [0.3, 0.1, 0.0]),
    ({}, 'friction.viscous', [0.7, 0.1]),
    ({}, 'friction.coulomb', [0.7, 0.1]),
    ({'friction.load': [0.2], 'friction.stribeck': [0.3]}, 'friction.law', 'load'),
    ({'friction.law': 'load'}, 'friction.load', [0.3, 0.1]),
    ({}, 'effort_offset', [1.0, -2.0]),
    ({}, 'input_timeout', 0.005),
]
PD = {'kp': [50.0], 'kd': [2.0], 'max_torque_rate': [0.0], 'ramp_time': 0.0}
BY_HAND = {'control_law': 'gravity_only', 'friction.coulomb': [0.4]}
SPRING = {'control_law': 'cartesian_impedance', 'impedance.frame': 'forearm'}
UNLIMITED = SPRING | {'description': ELBOW.replace('effort="', 'effort="0" was="')}
ON_BASE = {'base_motion.source': 'imu'}
LINES = {'interpolation': 'linear', 'on_infeasible': 'slow_down'}
UNITS = {'command_unit': 'effort', 'max_command': [2.0], 'effort_scale': [1.0]}
MOTIONS = [
    (trajectory, {}, 'control_law', 'computed_torque'),
    (trajectory, {}, 'control_law', 'pd_plus'),
    (trajectory, {}, 'control_law', 'gravity_only'),
    (trajectory, BY_HAND, 'control_law', 'feedforward'),
    (trajectory, {}, 'compensate_gravity', False),
    (trajectory, {}, 'compensate_coriolis', False),
    (trajectory, {}, 'compensate_inertia', False),
    (trajectory, {}, 'compensate_friction', False),
    (trajectory, {'control_law': 'joint_impedance'}, 'damping_ratio', [0.1, 1.0]),
    (poses, {'impedance.frame': 'forearm'}, 'control_law', 'cartesian_impedance'),
    (poses, SPRING, 'impedance.translational_stiffness', [50.0]),
    (poses, SPRING, 'impedance.rotational_stiffness', [1.0, 2.0, 3.0]),
    (poses, SPRING, 'impedance.damping_ratio', 0.1),
    (poses, SPRING, 'impedance.posture_stiffness', [30.0, 100.0]),
    (poses, SPRING, 'impedance.posture_damping', 1.0),
    (poses, SPRING, 'impedance.max_velocity', [0.01, 0.001]),
    (poses, SPRING, 'impedance.max_acceleration', [0.1, 0.1]),
    (poses, SPRING, 'impedance.max_distance', [0.01, 1e-3]),
    (trajectory, {}, 'kp', [70.0, 30.0]),
    (trajectory, {}, 'kd', [7.0, 3.0]),
    (swing, BY_HAND, 'lead_friction', 0.5),
    (trajectory, {}, 'start_tolerance', [0.01]),
    (stream, {}, 'reference_window', 0.05),
    (stream, {}, 'reference_prediction', 0.0),
    (chunks, {}, 'policy_frequency', 100.0),
    (partial, {}, 'allow_partial_joints_goal', False),
    (trajectory, {}, 'constraints.trajectory', [0.02]),
    (trajectory, {'constraints.goal_time': 0.01}, 'constraints.goal', [0.01]),
    (trajectory, {'constraints.goal': [0.01]}, 'constraints.goal_time', 0.01),
    (trajectory, {'constraints.goal_time': 0.01}, 'constraints.stopped_velocity_tolerance', 0.01),
    (trajectory, {}, 'speed_scale', 0.5),
    (trajectory, {}, 'torque_limit_scale', 0.1),
    (struck, {}, 'on_collision', 'hold'),
    (struck, {}, 'on_collision', 'gravity_only'),
    (trajectory, {'torque_limit_scale': 0.15}, 'on_infeasible', 'reject'),
    (trajectory, {'torque_limit_scale': 0.15}, 'on_infeasible', 'slow_down'),
    (corners, {}, 'interpolation', 'linear'),
    (corners, LINES, 'corner_time', 1e-3),
    (trajectory, {'max_torque_rate': [-1.0]}, 'max_torque_rate', [9.0, 3.0]),
    (trajectory, {}, 'max_torque_step', [0.2, 0.05]),
    (trajectory, {}, 'ramp_time', 0.05),
    (pressed, UNLIMITED, 'max_target_force', 10.0),
    (pressed, UNLIMITED, 'max_target_torque', 2.0),
    (trajectory, {}, 'max_command', [3.0, 0.5]),
    (trajectory, UNITS, 'effort_scale', [0.5, -0.2]),
    (positions, {}, 'missing_velocity', 'differentiate'),
    (positions, {'missing_velocity': 'differentiate'}, 'velocity_cutoff', 5.0),
]
LEANING = [
    (ON_BASE, 'base_motion.low_pass', 2.0),
    (ON_BASE, 'base_motion.age_limit', 0.02),
    (ON_BASE, 'base_motion.fallback', 'gravity'),
]
CASES = [
    *((DynamicsNode, swing, *case) for case in ROBOT),
    *((DynamicsNode, leaning, *case) for case in LEANING),
    *((FeedforwardNode, leaning, PD | others, *case) for others, *case in LEANING),
    (DynamicsNode, swing, LOADED, 'payload.inertia', TENSOR),
    (DynamicsNode, swing, {}, 'effort_scale', [2.0, -3.0]),
    (DynamicsNode, creep, {'friction.law': 'stribeck'}, 'friction.stribeck', [0.3, 0.1]),
    (DynamicsNode, swing, {'friction.law': 'coulomb_memory'}, 'friction.presliding', [0.1]),
    (DynamicsNode, positions, {}, 'missing_velocity', 'differentiate'),
    (DynamicsNode, positions, {'missing_velocity': 'differentiate'}, 'velocity_cutoff', 5.0),
    (DynamicsNode, swing, {}, 'publish_rate', 300.0),
    (DynamicsNode, swing, {}, 'acceleration_cutoff', 2.0),
    (DynamicsNode, swing, {}, 'effort_gravity_compensated', True),
    *((FeedforwardNode, trajectory, PD | others, *case) for others, *case in ROBOT[:-1]),
    (FeedforwardNode, swing, PD, 'input_timeout', 0.005),
    *((FeedforwardNode, inputs, PD | others, *case) for inputs, others, *case in MOTIONS),
]
# Not seen in the answer to a state, or only while another link carries the payload or contacts are
# missing.
OTHERS = {
    DynamicsNode: {'payload.link', 'diagnostics_period', 'payload_window', 'effort_scale_known'},
    FeedforwardNode: {
        'contact_timeout',
        'on_contact_lost',
        'effort_scale_known',
        'payload.link',
        'payload.inertia',
        'friction.stribeck',
        'friction.presliding',
        'diagnostics_period',
        'expected_rate',
        'state_publish_rate',
        'silence_timeout',
        'on_timeout',
        'on_deactivate',
    },
}


def identity(value):
    return getattr(value, '__name__', None) or (value if isinstance(value, str) else '')


@pytest.fixture(scope='module')
def unchanged():
    """Return what collects the answers of nodes of which no parameter changes."""
    return {}


@pytest.mark.slow
@pytest.mark.parametrize(('node_class', 'inputs', 'others', 'name', 'value'), CASES, ids=identity)
def test_a_change_has_the_effect_of_a_start_with_the_value(
    graph, unchanged, node_class, inputs, others, name, value
):
    begun = CalledNode(graph, node_class, **others | {name: value})
    changed = CalledNode(graph, node_class, **others)
    (result,) = changed.node.set_parameters([Parameter(name, value=value)])
    assert result.successful, result.reason
    expected = inputs(begun)
    assert inputs(changed) == expected
    same = node_class, inputs, repr(others)
    if same not in unchanged:
        unchanged[same] = inputs(CalledNode(graph, node_class, **others))
    assert unchanged[same] != expected


@pytest.mark.parametrize('node_class', OTHERS)
def test_every_parameter_that_may_change_is_changed(node_class):
    live = {name for name, spec in specs(node_class.table).items() if spec.live}
    changed = {name for kind, _, _, name, _ in CASES if kind is node_class}
    assert live == changed | OTHERS[node_class]
