# SPDX-License-Identifier: Apache-2.0
"""Parts of a node that is activated again: what was received before has no effect.

A node that was active before publishes the same as a new one, for the same inputs. Their stamps
follow those from before at once, so that nothing is too old to count.
"""

import pkgutil
import time
from functools import partial
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from every_node import NODES, node_class
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Vector3, WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics import ros
from robot_dynamics.ros import messages, nodes
from robot_dynamics.ros.joint_state_input import ZEROS
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.payload_estimator import PayloadEstimator

MS = 1_000_000
BEGIN = 700 * MS
STEP, COUNT = 10 * MS, 16  # ns, and number of the states of a run
NAMES = ['shoulder', 'elbow']
START = np.array([0.3, -0.4])
# Published for other reasons than inputs, or with the time of the wall clock.
OTHER_TOPICS = {'rosout', 'parameter_events', 'diagnostics', 'tf_static', 'robot_description'}


class WatchedNode(CalledNode):
    """A node that is called with its inputs, and all that it publishes."""

    def __init__(self, graph, kind, parameters):
        self.node, self.published = graph.start(kind, **parameters), []
        for publisher in self.node.publishers:
            publisher.get_subscription_count = lambda: 1
            publisher.publish = partial(self._take, publisher.topic_name, publisher.msg_type)

    def _take(self, topic, kind, message):
        if topic.rsplit('/', 1)[-1] not in OTHER_TOPICS:
            if not isinstance(message, kind):
                message = deserialize_message(bytes(message), kind)
            self.published.append((topic, repr(message)))

    def give(self, topic, content):
        super().give(topic, content)
        self.published.append(self.node.diagnostics.fault())

    def begin(self):
        """Return what the parts report before the first input."""
        # Reports are of what has happened since the one before, so that of the time before ends.
        self.node.health.report(time.monotonic())
        for part in self.node.parts:
            part.figures()
        latest = self.node.action.latest if hasattr(self.node, 'action') else None
        parts = [part for part in self.node.parts if not isinstance(part, PayloadEstimator)]
        return [[part.status(), part.figures()] for part in parts], latest

    def call(self, service, request):
        (one,) = (one for one in self.node.services if one.srv_name.endswith(f'/{service}'))
        kind = {SetBool.Request: SetBool, Trigger.Request: Trigger}[type(request)]
        response = one.callback(request, kind.Response())
        self.published.append((service, response.success, response.message))

    def answers(self, inputs, begin):
        """Return what is published for a run of states, with inputs amid it and at its end."""
        self.published.clear()
        found = [self.begin()]
        for k in range(COUNT):
            stamp = begin + k * STEP
            if k == COUNT // 2:
                inputs(self, stamp)
            q = START + 0.2 * np.sin([0.3 * k, 0.5 * k])
            qd = np.array([60.0, 100.0]) * np.cos([0.3 * k, 0.5 * k]) * 0.02
            self.give('/joint_states', states(stamp, q, qd, 2 * q))
            found.append([*self.published])
            self.published.clear()
        inputs(self, stamp)
        return found


def states(stamp, q, qd=(), effort=(), names=NAMES):
    message = JointState(name=names, position=q, velocity=qd, effort=effort)
    message.header.stamp = messages.time_message(stamp)
    return message


def nothing(node, stamp):
    """Joint states alone."""


def wrenches(node, stamp):
    message = WrenchStamped()
    message.header.frame_id = 'forearm'
    message.header.stamp = messages.time_message(stamp)
    message.wrench.force = Vector3(x=500.0, z=900.0)
    node.give('/external_wrench', message)
    node.give('/target_wrench', message)


def reference(node, stamp, names=NAMES):
    point = JointTrajectoryPoint(
        positions=[0.3, -0.4], velocities=[0.0] * 2, accelerations=[1.0, -2.0]
    )
    message = JointTrajectory(joint_names=names, points=[point])
    message.header.stamp = messages.time_message(stamp)
    node.give('/reference', message)


def bad_reference(node, stamp):
    reference(node, stamp, ['shoulder', 'other'])


def trajectory(node, stamp):
    """A motion that the arm, which moves otherwise, leaves beyond its tolerance."""
    way = [START, START + 0.1]
    points = [JointTrajectoryPoint(positions=list(q), velocities=[0.0] * 2) for q in way]
    points[1].time_from_start.nanosec = 200 * MS
    node.give('/joint_trajectory', JointTrajectory(joint_names=NAMES, points=points))


def pose(node, stamp, w=1.0):
    message = PoseStamped()
    message.header.stamp = messages.time_message(stamp)
    message.pose.position = Point(x=0.4, y=0.05, z=-0.1)
    message.pose.orientation = Quaternion(w=w)
    node.give('/target_pose', message)


def bad_pose(node, stamp):
    pose(node, stamp, w=0.0)


def contact(kind):
    def give(node, stamp):
        values = [KeyValue(key='joint', value='elbow'), KeyValue(key='reason', value='a test')]
        status = DiagnosticStatus(message=kind, values=values)
        message = DiagnosticArray(status=[status])
        message.header.stamp = messages.time_message(stamp)
        node.give('/momentum_observer_node/contact', message)

    give.__name__ = kind
    return give


def collision(node, stamp):
    """One that ends the motion, and at the end of a run is acknowledged and goes on."""
    node.call('enable', SetBool.Request(data=True))
    contact('collision')(node, stamp)


def elbow_alone(node, stamp):
    node.give('/joint_states', states(stamp + MS // 2, [0.7], [0.1], [1.0], ['elbow']))


def positions(node, stamp):
    """States without velocities."""
    for k in range(5):
        q = START + 0.01 * k * np.array([1.0, -2.0])
        node.give('/joint_states', states(stamp + (k - 4) * MS // 8, q))


def without_stamps(node, stamp):
    for _ in range(ZEROS + 2):
        node.give('/joint_states', states(0, START, np.zeros(2)))


def pushed(node, stamp):
    """Efforts of a collision."""
    for k in range(1, 8):
        effort = node.node.arm.gravity_torque(START) - [30.0, 20.0]
        node.give('/joint_states', states(stamp + (k - 8) * MS // 10, START, [0, 0], effort))


def learn(node, stamp):
    """Learning ends at the begin of an input, and is begun by it."""
    node.call('learn', SetBool.Request(data=False))
    node.call('learn', SetBool.Request(data=True))


def estimate(node, stamp):
    node.call('estimate_payload', Trigger.Request())


def efforts_at_rest(node, stamp):
    """Four postures, with efforts of drives that count in the other direction."""
    for k in range(4 * 60):
        rests = k % 60 >= 5
        q = START + (k // 60) * np.array([0.4, 0.3])
        effort = -node.node.arm.gravity_torque(q)
        speed = np.zeros(2) if rests else np.array([0.5, 0.5])
        node.give('/joint_states', states(stamp + (k - 240) * 10 * MS, q, speed, effort))


def disable(node, stamp):
    node.call('enable', SetBool.Request(data=False))
    node.call('enable', SetBool.Request(data=True))
    node.call('stop', Trigger.Request())


QUIET = {'on_deactivate': 'zero', 'silence_timeout': 30.0, 'state_publish_rate': 20.0}
HARD = QUIET | {'max_torque_rate': [0.0], 'ramp_time': 0.0, 'kp': [50.0], 'kd': [2.0]}
SOFT = QUIET | {'max_torque_rate': [100.0], 'ramp_time': 0.3, 'kp': [50.0]}
MEMORY = {'friction__law': 'coulomb_memory', 'friction__coulomb': [0.4]}
SPRING = HARD | {'control_law': 'cartesian_impedance', 'impedance__frame': 'forearm'}
TOUCH = {'thresholds__noise': [0.1], 'thresholds__level': [2.0]}
GUARDED = HARD | {'on_collision': 'hold', 'contact_timeout': 0.05}
STRICT = HARD | {'constraints__trajectory': [0.02]}
CASES = [
    ('dynamics_node', MEMORY, nothing),
    ('dynamics_node', {'publish_rate': 20.0}, wrenches),
    ('dynamics_node', {'acceleration_source': 'reference'}, reference),
    ('dynamics_node', {'missing_velocity': 'differentiate'}, positions),
    ('dynamics_node', {}, efforts_at_rest),
    ('dynamics_node', {'payload_window': 100.0}, estimate),
    ('feedforward_node', SOFT | MEMORY, nothing),
    ('feedforward_node', HARD | MEMORY | {'control_law': 'gravity_only'}, nothing),
    ('feedforward_node', HARD, without_stamps),
    ('feedforward_node', HARD, bad_reference),
    ('feedforward_node', HARD, reference),
    ('feedforward_node', STRICT, trajectory),
    ('feedforward_node', HARD, disable),
    ('feedforward_node', GUARDED, collision),
    ('feedforward_node', GUARDED, contact('unknown')),
    ('feedforward_node', SPRING, wrenches),
    ('feedforward_node', SPRING, pose),
    ('feedforward_node', SPRING, bad_pose),
    ('momentum_observer_node', TOUCH | MEMORY, nothing),
    ('momentum_observer_node', TOUCH, pushed),
    ('momentum_observer_node', TOUCH, learn),
    ('momentum_observer_node', {'publish_rate': 20.0}, estimate),
    ('markers_node', {}, nothing),
    ('state_publisher_node', {}, elbow_alone),
]
# Its states come by its own clock.
OTHER_NODES = {'simulator_node', 'pybullet_validator_node'}


def identity(value):
    return getattr(value, '__name__', None) or (value if isinstance(value, str) else '')


@pytest.mark.parametrize(('name', 'parameters', 'inputs'), CASES, ids=identity)
def test_inputs_before_an_activation_have_no_effect_after_it(
    graph, monkeypatch, name, parameters, inputs
):
    kind = node_class(name, monkeypatch)
    new, used = (WatchedNode(graph, kind, parameters) for _ in range(2))
    expected = new.answers(inputs, BEGIN)
    used.answers(inputs, BEGIN - COUNT * STEP)
    used.node.trigger_deactivate()
    used.node.trigger_activate()
    for found, wanted in zip(used.answers(inputs, BEGIN), expected, strict=True):
        assert found == wanted
    assert any(expected)


def simulated(node):
    """Return what a simulator publishes, with a command and a wrench after some steps."""
    found, now = [], 100.0
    node.node.clock = lambda: now
    node.node.trigger_deactivate()
    node.node.trigger_activate()
    node.published.clear()
    for k in range(40):
        now += 1e-3
        if k == 20:
            command = JointState(name=NAMES, effort=[3.0, -2.0])
            node.give('/joint_effort', command)
            wrenches(node, 0)
        node.node._on_tick()
        found.append([*node.published])
        node.published.clear()
    return found


@pytest.mark.parametrize('parameters', [{}, {'friction__law': 'coulomb_memory'}], ids=str)
def test_a_simulator_that_is_activated_again_begins_at_its_start(graph, monkeypatch, parameters):
    """Without the command and the wrench from before."""
    kind = node_class('simulator_node', monkeypatch)
    given = parameters | {'initial_positions': [0.3, -0.4], 'wall_stamps': False}
    node = WatchedNode(graph, kind, given)
    expected = simulated(node)
    assert expected[0][0] != expected[-1][0]
    assert simulated(node) == expected


def test_every_node_and_part_that_begins_anew_is_activated_again(graph, monkeypatch):
    """A part with a state of its own is that of a node above."""
    for package in (ros, nodes):
        for module in pkgutil.iter_modules(package.__path__, f'{package.__name__}.'):
            import_module(module.name)
    kinds = [Part]
    for kind in kinds:
        kinds += kind.__subclasses__()
    hooks = {'restart', 'activate', 'deactivate'}
    kinds = {
        kind
        for kind in kinds[1:]
        if hooks & vars(kind).keys() and kind.__module__.startswith('robot_dynamics.')
    }
    parts = {
        type(part)
        for name in NODES.keys() - {'pybullet_validator_node'}
        for part in graph.start(node_class(name, monkeypatch)).parts
    }
    assert kinds <= parts
    assert {name for name, *_ in CASES} | OTHER_NODES == NODES.keys()
