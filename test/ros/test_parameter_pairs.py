# SPDX-License-Identifier: Apache-2.0
"""Parameters that act together: order, scale, offset and limit of the drives; law and memory."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MS, Q, Robot, close
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from simulator_view import START, SimulatorView
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros import messages
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters, timeout_warnings
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.ros.parameters import ParameterError, snapshot

NAMES = ('shoulder', 'elbow')
# Of shoulder and elbow: all different, so that an exchange of joints or of operations shows.
SCALE = {'shoulder': 0.5, 'elbow': -0.02}
OFFSET = {'shoulder': 1.5, 'elbow': -0.7}
STILL = np.zeros(2)

orders = pytest.mark.parametrize('order', [NAMES, NAMES[::-1]], ids=' '.join)
mirrored = pytest.mark.parametrize('sign', [1, -1])


def listed(values, order, sign=1):
    return [sign * values[name] for name in order]


def array(values, sign=1):
    return np.array(listed(values, NAMES, sign))


# -- order, scale, offset and limit -------------------------------------------------------------


@orders
@mirrored
@pytest.mark.parametrize(
    'limit', [{'shoulder': 1e3, 'elbow': 1e3}, {'shoulder': 6.0, 'elbow': 50.0}], ids=['', 'low']
)
def test_commands_have_the_order_the_unit_and_the_limit_of_the_drives(
    graph, elbow, order, sign, limit
):
    robot = Robot(
        graph,
        joints=list(order),
        gravity=[0.0, 0.0, -9.81 * sign],
        publish_commands=True,
        command_unit='effort',
        effort_scale=listed(SCALE, order),
        effort_offset=listed(OFFSET, order, sign),
        max_command=listed(limit, order),
    )
    commands = graph.listen(Float64MultiArray, 'effort_controller/commands')
    q = np.array([0.3, -0.2])
    # g is proportional to gravity.
    wanted = sign * (elbow.gravity_torque(q) + array(OFFSET))
    most = array(limit) * np.abs(array(SCALE))
    assert (np.abs(wanted) > most).all() == (limit['shoulder'] == 6.0)
    robot.torque(0, q)
    tau = robot.torque(MS, q)
    graph.until(lambda: len(commands) > 1, 'the command')
    close(tau, np.clip(wanted, -most, most))
    found = dict(zip(order, commands[-1].data, strict=True))
    close(array(found), tau / array(SCALE))
    assert all(abs(found[name]) <= limit[name] * (1 + 1e-12) for name in NAMES)


@orders
def test_a_limit_of_commands_in_torque_is_one_of_torques(graph, elbow, order):
    limit = {'shoulder': 3.0, 'elbow': 0.25}
    robot = Robot(
        graph,
        joints=list(order),
        publish_commands=True,
        effort_scale=listed(SCALE, order),  # of the measured efforts alone
        max_command=listed(limit, order),
    )
    wanted = elbow.gravity_torque(Q)
    assert (np.abs(wanted) > array(limit)).all()
    close(robot.torque(0), np.clip(wanted, -array(limit), array(limit)))


@pytest.mark.parametrize('most', [[0.0], [5.0, 0.0], [0.0, 5.0]])
def test_commands_in_the_unit_of_the_drives_need_a_limit(graph, most):
    with pytest.raises(ParameterError, match='with command_unit effort it must be positive'):
        graph.start(FeedforwardNode, command_unit='effort', max_command=most)
    graph.start(FeedforwardNode, max_command=most)


@mirrored
@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize(
    ('node', 'options'),
    [(FeedforwardNode, {'command_unit': 'effort', 'max_command': [9.0]}), (SimulatorNode, {})],
)
def test_a_scale_of_less_than_a_thousandth_is_rejected(graph, node, options, joint, sign):
    scale = [1.0, 1.0]
    scale[joint] = sign * 9.99e-4
    with pytest.raises(ParameterError, match=r'effort_scale is .* must be at least 0\.001'):
        graph.start(node, effort_scale=scale, **options)
    scale[joint] = sign * 1e-3
    graph.start(node, effort_scale=scale, **options)


@pytest.mark.parametrize('choice', ['stop', 'hold', 'gravity'])
@pytest.mark.parametrize('published', [False, True])
def test_commands_that_end_at_a_timeout_are_warned_of(graph, capfd, choice, published):
    values = {'on_timeout': choice, 'publish_commands': published}
    warned = published and choice == 'stop'
    assert bool(timeout_warnings(snapshot(FeedforwardParameters, values))) == warned
    graph.start(FeedforwardNode, kp=[1.0], **values)
    assert ('on_timeout is stop' in capfd.readouterr().err) == warned


@orders
@mirrored
def test_at_rest_scaled_efforts_less_the_offset_leave_no_residual(graph, elbow, order, sign):
    graph.start(
        DynamicsNode,
        joints=list(order),
        gravity=[0.0, 0.0, -9.81 * sign],
        effort_scale=listed(SCALE, order),
        effort_offset=listed(OFFSET, order, sign),
    )
    residuals = graph.listen(JointState, 'dynamics_node/effort_residual')
    states = graph.publisher(JointState, 'joint_states')
    torque = sign * (elbow.gravity_torque(Q) + array(OFFSET))
    effort = torque / array(SCALE) + np.array([0.0, 1.0])  # one unit of the elbow's drive
    for k in range(2):  # two give an acceleration
        message = JointState(name=NAMES, position=Q, velocity=STILL, effort=effort)
        message.header.stamp = messages.time_message((k + 1) * MS)
        states.publish(message)
    graph.until(lambda: residuals, 'the residual')
    close(np.array(residuals[-1].effort), np.array([0.0, SCALE['elbow']]))


@orders
@mirrored
def test_a_simulated_arm_takes_commands_in_order_and_reports_efforts_in_their_unit(
    graph, order, sign
):
    view = SimulatorView(
        graph,
        commands='effort_controller/commands',
        start_paused=True,
        joints=list(order),
        initial_positions=listed(dict(zip(NAMES, START, strict=True)), order),
        effort_scale=listed(SCALE, order),
    )
    torque = {'shoulder': sign * 2.0, 'elbow': sign * 0.5}
    view.commands.publish(Float64MultiArray(data=listed(torque, order)))
    graph.until(lambda: view.node.loop.commanded, 'the command')
    before = view.node.loop.stamp
    assert view.call('step').success
    state = view.state(after=before)
    assert tuple(state.name) == NAMES
    close(np.array(state.effort), array(torque) / array(SCALE))


# -- law and memory of the friction -------------------------------------------------------------

COULOMB, VISCOUS, PRESLIDING = np.array([0.4, 0.1]), np.array([0.05, 0.2]), np.array([0.02, 0.05])
DAMPING, LEAD = 0.5, 0.6


@mirrored
@pytest.mark.parametrize('law', ['feedforward', 'pd_plus', 'computed_torque', 'gravity_only'])
@pytest.mark.parametrize('friction', ['coulomb', 'coulomb_memory'])
def test_memory_is_that_of_the_motion_whose_friction_a_law_compensates(
    graph, elbow, law, friction, sign
):
    robot = Robot(
        graph,
        control_law=law,
        kd=[DAMPING],
        lead_friction=LEAD,
        friction__law=friction,
        friction__coulomb=COULOMB.tolist(),
        friction__viscous=VISCOUS.tolist(),
        friction__presliding=PRESLIDING.tolist(),
    )
    travel = sign * np.array([0.03, -0.01])
    robot.torque(0)
    for k in range(1, 4):
        q = Q + travel * k / 3
        tau = robot.torque(k * MS, q)
    # At standstill friction with memory keeps the direction of the travel, other friction is zero:
    # z = s (1 - exp(-|travel| / presliding)). The reference, at rest, has not moved.
    z = np.sign(travel) * (1 - np.exp(-np.abs(travel) / PRESLIDING))
    led = law == 'gravity_only' and friction == 'coulomb_memory'
    close(tau, elbow.gravity_torque(q) + led * LEAD * COULOMB * z)


@pytest.mark.parametrize(
    'node', [DynamicsNode, MomentumObserverNode, FeedforwardNode, PyBulletValidatorNode]
)
@pytest.mark.parametrize(
    ('known', 'named'), [([False], 'all joints'), ([True, False], 'shoulder')]
)
def test_nodes_that_answer_in_torques_reject_a_scale_that_is_not_identifiable(
    graph, node, known, named
):
    options = {'joints': ['elbow', 'shoulder'], 'effort_scale': [2.0, 0.5]}
    with pytest.raises(ParameterError, match=f'effort_scale_known is false for {named}: efforts'):
        graph.start(node, effort_scale_known=known, **options)
    if node in (DynamicsNode, MomentumObserverNode):
        running = graph.start(node, effort_scale_known=[True, True], **options)
        (result,) = running.set_parameters([Parameter('effort_scale_known', value=known)])
        assert not result.successful
        assert named in result.reason


def test_nodes_in_the_unit_of_the_drives_take_such_a_scale_and_measure_no_torque(graph):
    known = {'effort_scale': [2.0, 0.5], 'effort_scale_known': [True, False]}
    simulator = graph.start(SimulatorNode, **known)
    assert simulator.active
    graph.stop(simulator)
    units = {'command_unit': 'effort', 'max_command': [2.0], 'publish_commands': True}
    node = graph.start(FeedforwardNode, state_publish_rate=0.0, **units, **known)
    measured = graph.listen(JointState, 'feedforward_node/measured_state')
    state = JointState(name=['shoulder', 'elbow'], position=[0.1, 0.2], velocity=[0.0, 0.0])
    state.effort = [0.5, 1.0]
    state.header.stamp = messages.time_message(1)
    graph.publisher(JointState, 'joint_states').publish(state)
    graph.until(lambda: measured, 'the state')
    np.testing.assert_array_equal(measured[-1].effort, [1.0, np.nan])
    node.set_parameters([Parameter('effort_scale_known', value=[True])])
    measured.clear()
    state.header.stamp = messages.time_message(10**9)
    graph.publisher(JointState, 'joint_states').publish(state)
    graph.until(lambda: measured, 'the other state')
    assert list(measured[-1].effort) == [1.0, 0.5]
