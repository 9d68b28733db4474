# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3, WrenchStamped
from rclpy.parameter import Parameter
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import (
    MATRICES,
    TORQUES,
    DynamicsNode,
    DynamicsParameters,
    equation_terms,
)
from robot_dynamics.ros.parameters import snapshot

MS = 1_000_000
NAMES = ['elbow', 'gripper', 'shoulder']  # neither the model's order nor its joints alone


def joint_state(stamp, q, qd=None, effort=None, names=NAMES):
    """Return a message for q, qd, effort in the model's order: shoulder, elbow."""

    def shuffled(values):
        return [] if values is None else [float(values[1]), 9.0, float(values[0])]

    message = JointState(
        name=names, position=shuffled(q), velocity=shuffled(qd), effort=shuffled(effort)
    )
    message.header.stamp = messages.time_message(stamp)
    return message


class Ears:
    """Everything the node publishes, by topic and stamp."""

    def __init__(self, graph, name='dynamics_node'):
        self.torques = {topic: graph.listen(JointState, f'{name}/{topic}') for topic in TORQUES}
        self.matrices = {
            topic: graph.listen(Float64MultiArray, f'{name}/{topic}') for topic in MATRICES
        }

    def torque(self, topic, stamp):
        for message in self.torques[topic]:
            if messages.nanoseconds(message.header.stamp) == stamp:
                assert message.name == ['shoulder', 'elbow']
                assert message.header.frame_id == 'base'
                assert len(message.position) == len(message.velocity) == 0
                return np.array(message.effort)
        return None

    def matrix(self, topic, stamp):
        for message in self.matrices[topic]:
            if messages.matrix_stamp(message) == stamp:
                assert messages.matrix_joints(message) == (('shoulder', 'elbow'), 'base')
                return messages.matrix(message)
        return None

    def received(self, stamp):
        found = {topic for topic in TORQUES if self.torque(topic, stamp) is not None}
        return found | {topic for topic in MATRICES if self.matrix(topic, stamp) is not None}


@pytest.fixture
def start(graph):
    def start(**parameters):
        node = graph.start(DynamicsNode, **parameters)
        outputs = Ears(graph)
        return node, outputs, graph.publisher(JointState, 'joint_states')

    return start


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-12)


def test_every_term_of_a_state(graph, start, elbow):
    _, outputs, states = start()
    rng = np.random.default_rng(0)
    q, qd, effort = rng.uniform(-1, 1, (3, 2))
    # Two samples with a constant acceleration: the filter starts with the exact quotient.
    qdd = np.array([3.0, -2.0])
    states.publish(joint_state(50 * MS, q, qd - 1e-3 * qdd, effort))
    states.publish(joint_state(51 * MS, q, qd, effort))
    graph.until(lambda: outputs.torque('effort_residual', 51 * MS) is not None, 'the terms')
    M, C, _ = elbow.terms(q, qd)
    close(outputs.matrix('mass_matrix', 51 * MS), M)
    close(outputs.matrix('coriolis_matrix', 51 * MS), C)
    close(outputs.torque('gravity_torque', 51 * MS), elbow.gravity_torque(q))
    close(outputs.torque('coriolis_torque', 51 * MS), elbow.coriolis_torque(q, qd))
    close(outputs.torque('friction_torque', 51 * MS), elbow.friction_torque(qd))
    np.testing.assert_allclose(outputs.torque('inertia_torque', 51 * MS), M @ qdd, rtol=1e-9)
    tau = elbow.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(outputs.torque('inverse_dynamics_torque', 51 * MS), tau, rtol=1e-9)
    residual = effort - tau - elbow.friction_torque(qd)
    np.testing.assert_allclose(outputs.torque('effort_residual', 51 * MS), residual, rtol=1e-8)
    # The first state has no acceleration yet, and no wrench was ever received.
    needs_acceleration = {'inertia_torque', 'inverse_dynamics_torque', 'effort_residual'}
    everything = {*TORQUES, *MATRICES} - {'external_torque'}
    assert outputs.received(50 * MS) == everything - needs_acceleration
    assert outputs.received(51 * MS) == everything


def test_without_an_acceleration_source_nothing_is_made_up(graph, start):
    _, outputs, states = start(acceleration_source='none')
    for k in range(3):
        states.publish(joint_state(k * MS, [0.1, 0.2], [0.3, 0.4], [1.0, 2.0]))
    graph.until(lambda: outputs.torque('friction_torque', 2 * MS) is not None, 'the last state')
    assert not outputs.torques['inertia_torque']
    assert not outputs.torques['inverse_dynamics_torque']
    assert not outputs.torques['effort_residual']


def test_accelerations_from_a_reference(graph, start, elbow):
    node, outputs, states = start(acceleration_source='reference')
    references = graph.publisher(JointTrajectory, 'reference')
    message = JointTrajectory(
        joint_names=['elbow', 'shoulder'],
        points=[JointTrajectoryPoint(positions=[0.0, 0.0], velocities=[0.0, 0.0])],
    )
    message.header.stamp = messages.time_message(1000 * MS)
    references.publish(message)
    graph.until(lambda: node.health.counts['reference rejected'] == 1, 'the refusal')
    message.points[0].accelerations = [2.0, 1.0]
    references.publish(message)
    graph.until(lambda: node.reference is not None, 'the reference')
    q, qd = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    for stamp in (1050 * MS, 1101 * MS):
        states.publish(joint_state(stamp, q, qd))
    graph.until(lambda: outputs.torque('gravity_torque', 1101 * MS) is not None, 'the answers')
    close(outputs.torque('inertia_torque', 1050 * MS), elbow.mass_matrix(q) @ [1.0, 2.0])
    assert outputs.torque('inertia_torque', 1101 * MS) is None  # the reference is too old


def test_measured_effort_is_scaled_and_gravity_put_back(graph, start, elbow):
    _, outputs, states = start(effort_scale=[2.0, 3.0], effort_gravity_compensated=True)
    q, still = np.array([0.4, -0.3]), np.zeros(2)
    for k in (1, 2):
        states.publish(joint_state(k * MS, q, still, [0.5, 0.25]))
    graph.until(lambda: outputs.torque('effort_residual', 2 * MS) is not None, 'the residual')
    close(outputs.torque('effort_residual', 2 * MS), [1.0, 0.75])


def test_an_external_wrench_in_the_links_own_axes(graph, start, elbow):
    node, outputs, states = start()
    wrenches = graph.publisher(WrenchStamped, 'external_wrench')
    message = WrenchStamped()
    message.header.frame_id = 'forearm'
    message.header.stamp = messages.time_message(10 * MS)
    # 10 N along the forearm's z axis, at the elbow: no lever at the elbow, 0.5 m at the shoulder.
    message.wrench.force = Vector3(z=10.0)
    wrenches.publish(message)
    graph.until(lambda: node.wrench.newest is not None, 'the wrench')
    q, still = np.array([0.3, 0.0]), np.zeros(2)
    tau = elbow.gravity_torque(q) - [-5.0, 0.0]
    for stamp in (11 * MS, 12 * MS, 111 * MS):
        states.publish(joint_state(stamp, q, still, tau))
    graph.until(lambda: outputs.torque('effort_residual', 111 * MS) is not None, 'the residual')
    close(outputs.torque('external_torque', 12 * MS), [-5.0, 0.0])
    close(outputs.torque('effort_residual', 12 * MS), [0, 0])
    assert outputs.torque('external_torque', 111 * MS) is None  # it is too old to be believed
    for frame, force in (('hand', 1.0), ('forearm', float('nan'))):
        message.header.frame_id, message.wrench.force.z = frame, force
        wrenches.publish(message)
    graph.until(lambda: node.health.counts['external wrench rejected'] == 2, 'two refusals')


@pytest.mark.parametrize('sign', [1, -1])
def test_each_component_of_an_external_wrench_does_its_work(graph, start, elbow, sign):
    node, outputs, states = start()
    message = WrenchStamped()
    message.header.frame_id = 'forearm'
    message.header.stamp = messages.time_message(10 * MS)
    moment, force = sign * np.array([1.0, 2.0, 3.0]), sign * np.array([40.0, 50.0, 60.0])
    message.wrench.torque = Vector3(**dict(zip('xyz', moment, strict=True)))
    message.wrench.force = Vector3(**dict(zip('xyz', force, strict=True)))
    graph.publisher(WrenchStamped, 'external_wrench').publish(message)
    graph.until(lambda: node.wrench.newest is not None, 'the wrench')
    q, step = sign * np.array([0.3, 0.8]), 1e-6
    states.publish(joint_state(11 * MS, q))
    states.publish(joint_state(12 * MS, q, np.zeros(2)))
    graph.until(lambda: outputs.torque('external_torque', 12 * MS) is not None, 'the torque')
    # tau dq = F . displacement, in the axes of the link.
    work = []
    for dq in step * np.eye(2):
        before, after = (elbow.forward_kinematics(q + s * dq, 'forearm') for s in (-0.5, 0.5))
        R = elbow.forward_kinematics(q, 'forearm')[:3, :3]
        turned = R.T @ (after[:3, :3] @ before[:3, :3].T) @ R
        turn = np.array([turned[2, 1], turned[0, 2], turned[1, 0]])
        shift = R.T @ (after[:3, 3] - before[:3, 3])
        work.append((moment @ turn + force @ shift) / step)
    for stamp in (11 * MS, 12 * MS):
        np.testing.assert_allclose(outputs.torque('external_torque', stamp), work, rtol=1e-8)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_wrench_and_a_reference_of_the_time_before_a_reset_never_act(graph, start, sign):
    node, outputs, states = start(acceleration_source='reference')
    wrenches = graph.publisher(WrenchStamped, 'external_wrench')
    references = graph.publisher(JointTrajectory, 'reference')
    q, qd = [0.1, 0.2], [0.3, 0.4]

    def send(stamp):
        """Publish a wrench and a reference."""
        message = WrenchStamped()
        message.header.frame_id = 'forearm'
        message.header.stamp = messages.time_message(stamp)
        message.wrench.force = Vector3(z=10.0 * sign)
        wrenches.publish(message)
        point = JointTrajectoryPoint(
            positions=[0.0] * 2, velocities=[0.0] * 2, accelerations=[1.0 * sign, 2.0]
        )
        reference = JointTrajectory(joint_names=['shoulder', 'elbow'], points=[point])
        reference.header.stamp = messages.time_message(stamp)
        references.publish(reference)
        graph.until(lambda: node.wrench.newest and node.reference, 'both')

    def terms(stamp):
        states.publish(joint_state(stamp, q, qd))
        graph.until(lambda: outputs.torque('gravity_torque', stamp) is not None, 'an answer')
        graph.drain(0.05)  # the others follow it
        return outputs.received(stamp) & {'external_torque', 'inertia_torque'}

    send(1000 * MS)
    assert terms(1000 * MS) == {'external_torque', 'inertia_torque'}
    for stamp in (1, 500, 901, 1001, 1099):  # ms: time comes again
        assert terms(stamp * MS) == set(), stamp
    send(1100 * MS)
    assert terms(1101 * MS) == {'external_torque', 'inertia_torque'}
    assert terms(1202 * MS) == set()  # too old
    send(1400 * MS)
    assert terms(1299 * MS) == set()  # of another time
    assert terms(1300 * MS) == {'external_torque', 'inertia_torque'}


def test_without_velocity_gravity_and_mass_matrix_are_still_right(graph, start, elbow):
    node, outputs, states = start()
    q = np.array([0.1, 0.2])
    states.publish(joint_state(1 * MS, q))
    states.publish(joint_state(2 * MS, q, [0.0, np.nan]))
    graph.until(lambda: outputs.torque('gravity_torque', 2 * MS) is not None, 'gravity')
    for stamp in (1 * MS, 2 * MS):
        close(outputs.torque('gravity_torque', stamp), elbow.gravity_torque(q))
        close(outputs.matrix('mass_matrix', stamp), elbow.mass_matrix(q))
        assert outputs.received(stamp) == {'gravity_torque', 'mass_matrix'}
    assert node.health.counts['joint state without velocity'] == 2


@pytest.mark.parametrize(
    'bad',
    [
        JointState(name=['shoulder', 'elbow'], position=[0.0, float('nan')]),
        JointState(name=['shoulder', 'elbow'], position=[0.0, float('inf')]),
        JointState(name=['shoulder', 'elbow'], position=[0.0]),
        JointState(name=['shoulder', 'elbow'], position=[0.0, 0.0], velocity=[0.0]),
        JointState(name=['shoulder', 'shoulder'], position=[0.0, 0.0]),
    ],
    ids=['nan', 'inf', 'short', 'short velocity', 'twice'],
)
def test_broken_input_is_counted_and_gives_no_output(graph, start, bad):
    node, outputs, states = start()
    bad.header.stamp = messages.time_message(5 * MS)
    states.publish(bad)
    graph.until(lambda: node.health.counts['joint state rejected'] == 1, 'the refusal')
    states.publish(joint_state(6 * MS, [0.0, 0.0], [0.0, 0.0]))
    graph.until(lambda: outputs.torque('gravity_torque', 6 * MS) is not None, 'the next state')
    assert outputs.received(5 * MS) == set()


def test_no_output_before_every_joint_was_received_and_after_one_is_too_old(graph, start):
    _, outputs, states = start()
    one = JointState(name=['shoulder'], position=[0.1], velocity=[0.0])
    both = joint_state(20 * MS, [0.1, 0.2], [0.0, 0.0])
    for stamp, message in ((10, one), (20, both), (120, one), (121, one), (130, both)):
        message.header.stamp = messages.time_message(stamp * MS)
        states.publish(message)
    graph.until(lambda: outputs.torque('gravity_torque', 130 * MS) is not None, 'the last state')
    stamps = [m.header.stamp.nanosec // MS for m in outputs.torques['gravity_torque']]
    assert stamps == [20, 120, 130]


def test_the_log_names_the_joints_without_which_there_is_no_output(graph, start, capfd):
    _, outputs, states = start(diagnostics_period=0.1)
    logged = []

    def is_logged():
        one = JointState(name=['shoulder'], position=[0.1], velocity=[0.0])
        one.header.stamp = messages.time_message(len(logged) * MS)
        states.publish(one)
        logged.append(capfd.readouterr().err)
        return 'joint_states without elbow' in ''.join(logged)

    graph.until(is_logged, 'the warning')
    assert not outputs.torques['gravity_torque']


def test_one_kind_of_refusal_does_not_silence_another(graph, start, capfd):
    node, _, states = start()
    wrenches = graph.publisher(WrenchStamped, 'external_wrench')
    for _ in range(2):
        states.publish(JointState(name=['elbow', 'shoulder'], position=[0.0, float('nan')]))
    graph.until(lambda: node.health.counts['joint state rejected'] == 2, 'two refusals')
    wrench = WrenchStamped()
    wrench.header.frame_id = 'hand'
    wrenches.publish(wrench)
    graph.until(lambda: node.health.counts['external wrench rejected'], 'the refusal')
    log = capfd.readouterr().err
    assert log.count('joint state rejected') == 1
    assert 'shoulder = nan' in log
    assert "external wrench rejected: no frame 'hand'" in log


@pytest.mark.filterwarnings('ignore:overflow')
def test_nothing_that_is_not_finite_is_published(graph, start):
    node, outputs, states = start(effort_scale=[10.0])
    for k in range(3):  # the residual needs an acceleration
        states.publish(joint_state((k + 1) * MS, [0.1, 0.2], [0.1, 0.2], [1e308, 1e308]))
    graph.until(lambda: node.health.counts['not finite, not published'], 'an overflow')
    graph.until(lambda: outputs.torque('gravity_torque', 1 * MS) is not None, 'gravity')
    for received in (*outputs.torques.values(), *outputs.matrices.values()):
        for message in received:
            values = message.effort if isinstance(message, JointState) else message.data
            assert np.isfinite(values).all()


def test_best_effort_and_reliable_drivers_both_match(graph):
    graph.start(DynamicsNode)
    received = graph.listen(JointState, 'dynamics_node/gravity_torque')
    for stamp, profile in ((1 * MS, qos.JOINT_STATES_IN), (2 * MS, qos.STREAM_OUT)):
        states = graph.publisher(JointState, 'joint_states', profile)
        states.publish(joint_state(stamp, [0.0, 0.0], [0.0, 0.0]))
        graph.until(lambda: received and received[-1].header.stamp.nanosec == stamp, 'an answer')  # noqa: B023


def test_the_user_may_ask_for_reliable_joint_states(graph):
    node = graph.start(
        DynamicsNode,
        **{'qos_overrides./joint_states.subscription.reliability': 'reliable'},
    )
    (info,) = node.get_subscriptions_info_by_topic('/joint_states')
    assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def test_two_robots_side_by_side(graph):
    left = graph.start(DynamicsNode, remap=['__ns:=/left'])
    graph.start(DynamicsNode, remap=['__ns:=/right'], gravity=[0.0, 0.0, 0.0])
    assert left.get_fully_qualified_name() == '/left/dynamics_node'
    received = {
        side: graph.listen(JointState, f'/{side}/dynamics_node/gravity_torque')
        for side in ('left', 'right')
    }
    for side in received:
        states = graph.publisher(JointState, f'/{side}/joint_states')
        states.publish(joint_state(1 * MS, [0.0, 0.0], [0.0, 0.0]))
    graph.until(lambda: all(received.values()), 'both answers')
    assert abs(received['left'][0].effort[0]) > 5
    assert list(received['right'][0].effort) == [0, 0]


def test_diagnostics(graph, elbow):
    graph.start(DynamicsNode, diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: reports, 'a report')
    status = reports[-1].status[0]
    assert status.level == DiagnosticStatus.WARN
    assert 'no joint_states' in status.message
    states = graph.publisher(JointState, 'joint_states')
    node_says = {}

    def has_status(level, message):
        states.publish(joint_state(states.count, [0.0, 0.0], [0.0, 0.0]))
        states.count += MS
        status = reports[-1].status[0]
        node_says.update({value.key: value.value for value in status.values})
        return status.level == level and message in status.message

    states.count = 0
    graph.until(lambda: has_status(DiagnosticStatus.OK, 'running'), 'OK')
    assert node_says['model'] == elbow.model.fingerprint()[:12]
    assert float(node_says['input rate [Hz]']) > 0
    assert float(node_says['latency p50 [us]']) > 0
    assert float(node_says['latency p99 [us]']) >= float(node_says['latency p50 [us]'])
    assert float(node_says['last input [s ago]']) < 5
    assert node_says['lifecycle'] == 'active'
    states.publish(JointState(name=['elbow'], position=[float('nan')]))
    graph.until(lambda: has_status(DiagnosticStatus.WARN, 'joint state rejected: 1'), 'a warning')
    assert reports[-1].status[0].name == '/dynamics_node: health'
    assert reports[-1].status[0].hardware_id == 'elbow'


def test_publish_rate_thins_the_answers_by_the_stamps(graph, start):
    _, outputs, states = start(publish_rate=250.0)
    q, qd = [0.1, 0.2], [0.3, 0.4]
    for k in range(201, 210):
        states.publish(joint_state(k * MS, q, qd))
    graph.until(lambda: outputs.torque('gravity_torque', 209 * MS) is not None, 'the last answer')
    answered = [k for k in range(210) if outputs.torque('gravity_torque', k * MS) is not None]
    assert answered == [201, 205, 209]
    # After a reset of the simulated time the next state counts again.
    states.publish(joint_state(2 * MS, q, qd))
    graph.until(lambda: outputs.torque('gravity_torque', 2 * MS) is not None, 'an answer')


def test_friction_of_a_law_follows_the_load(elbow):
    parameters = snapshot(
        DynamicsParameters,
        {
            'friction.law': 'load',
            'friction.viscous': [0.0],
            'friction.coulomb': [0.5],
            'friction.load': [0.1],
        },
    )
    q, qd, qdd = np.array([0.3, -0.4]), np.array([1.0, -1.0]), np.array([2.0, 3.0])
    terms = equation_terms(elbow, parameters.friction(elbow.model), q, qd, qdd)
    level = 0.5 + 0.1 * np.abs(elbow.inverse_dynamics(q, qd, qdd))
    close(terms['friction_torque'], level * np.sign(qd))


def test_rotor_inertia_is_part_of_the_mass_matrix(elbow, elbow_urdf):
    with_rotors = snapshot(DynamicsParameters, {'rotor_inertia': [0.2]}).robot(elbow_urdf)
    assert with_rotors.reflected_inertia.tolist() == [0.2, 0.2]


@pytest.mark.parametrize('sign', [1, -1])
def test_efforts_at_rest_name_the_setting_that_fits(graph, start, elbow, sign):
    node, outputs, states = start(effort_scale=[2.0], diagnostics_period=0.1)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    advice = 'they exclude gravity; set effort_gravity_compensated to true'

    def advised():
        if not node.health.inputs:  # which would be the WARN
            states.publish(joint_state(stamp, q, still))
            graph.drain(0.05)
        return reports and advice in reports[-1].status[0].message

    stamp, still = 0, np.zeros(2)
    for k in range(6):  # the shoulder alone carries much of the weight
        q = sign * np.array([0.3 + 0.1 * k, 0.4 - 0.2 * k])
        friction = 0.02 * (-1) ** k * np.array([1.0, -1.0])
        for qd in (*[still + 0.1] * 2, *[still] * 7):
            stamp += 90 * MS
            states.publish(joint_state(stamp, q, qd, friction / 2.0))
            arrived = stamp
            graph.until(
                lambda arrived=arrived: outputs.torque('gravity_torque', arrived) is not None,
                'the state',
            )
    graph.until(advised, 'the advice')
    assert reports[-1].status[0].level == DiagnosticStatus.WARN
    node.set_parameters([Parameter('effort_gravity_compensated', value=True)])
    graph.until(lambda: not advised(), 'no advice')
    # The postures are kept; a node that is activated again begins anew.
    node.set_parameters([Parameter('effort_gravity_compensated', value=False)])
    graph.until(advised, 'the advice')
    node.trigger_deactivate()
    node.trigger_activate()
    assert node.status() is None
    graph.until(lambda: not advised(), 'no advice')
