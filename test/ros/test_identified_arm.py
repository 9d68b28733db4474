# SPDX-License-Identifier: Apache-2.0
"""The files of an identification, given to the nodes, are the identified arm."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')
pytest.importorskip('cvxpy', reason='identification needs a convex solver')

from arms_to_identify import recorded, wrong
from elbow import ELBOW
from feedforward_view import MS, Robot, point, trajectory
from sensor_msgs.msg import JointState
from simulator_view import SimulatorView
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.control import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.identification import identify
from robot_dynamics.identification.estimation.identified_files import (
    estimated_links,
    identified_urdf,
    node_parameters,
)
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.urdf.loading import parse_urdf

NAMES = ('shoulder', 'elbow')
ROTORS = [0.06, 0.03]  # kg m^2
OFFSET = np.array([1.5, -0.7])  # N m
SCALE = np.array([0.5, -2.0])  # N m per unit of the drives
COEFFICIENTS = {'viscous': [0.4, 0.2], 'coulomb': [0.6, 0.3], 'load': [0.1, 0.1]}
FRICTION = JointFriction(LAWS['load'], {k: np.array(v) for k, v in COEFFICIENTS.items()})
# From rest to rest, the joints in opposite directions.
REST = [[0.0, 0.0]] * 2
PATH = Trajectory(NAMES, [0.0, 0.8], [[0.1, -0.2], [0.9, -1.4]], REST, REST)
TIMES = (0.1, 0.3, 0.5, 0.7)  # s, on this path


class Files:
    """An arm that was identified, its URDF, and its parameters as keywords."""

    def __init__(self):
        nominal, urdf = parse_urdf(ELBOW), ELBOW.encode()
        self.true = wrong(nominal, rotor_inertia=ROTORS)
        one = recorded(self.true, rate=200.0, noise=0.0, friction=FRICTION)
        one = replace(one, effort=(one.effort + OFFSET) / SCALE)
        self.found = identify(Dynamics(nominal), one, friction='load', effort_scale=SCALE)
        text = identified_urdf(self.found, urdf, estimated_links(nominal, urdf)).decode()
        tree = yaml.safe_load(node_parameters(self.found))['/**']['ros__parameters']
        friction = {f'friction__{name}': value for name, value in tree.pop('friction').items()}
        self.parameters = {'description': text, **tree, **friction}

    def predicted(self, q, qd, qdd):
        """Return the torque of the drives that the identification predicts."""
        found = self.found
        law = JointFriction(
            found.friction.law,
            dict(zip(found.friction.law.terms, found.friction.coefficients.T, strict=True)),
        )
        tau = Dynamics(found.model).inverse_dynamics(q, qd, qdd)
        return tau + law.torque(qd, tau) + found.drives.offset


@pytest.fixture(scope='module')
def files():
    return Files()


@pytest.mark.slow
def test_the_identification_predicts_the_efforts_of_the_arm(files):
    q, qd, qdd = PATH.sample(np.array(TIMES))
    tau = Dynamics(files.true).inverse_dynamics(q, qd, qdd)
    tau = tau + FRICTION.torque(qd, tau) + OFFSET
    assert files.predicted(q, qd, qdd) == pytest.approx(tau, rel=0.01, abs=0.02)
    assert files.found.drives.offset == pytest.approx(OFFSET, abs=0.1)


def test_feedforward_torques_are_those_that_the_identification_predicts(graph, files):
    options = {'publish_commands': True, 'command_unit': 'effort', 'silence_timeout': 30.0}
    options |= {'max_command': [200.0]}
    robot = Robot(graph, **options, **files.parameters)
    commands = graph.listen(Float64MultiArray, 'effort_controller/commands')
    robot.torque(0, *PATH.sample(0.0)[:2])
    ends = [(t, PATH.sample(t)) for t in PATH.times]
    points = [point(t, x.q, accelerations=x.qdd.tolist()) for t, x in ends]
    robot.follow(trajectory(*points, names=NAMES))
    robot.torque(MS, *PATH.sample(0.0)[:2])  # it begins
    for k, t in enumerate(TIMES, start=3):
        q, qd, qdd = PATH.sample(t)
        tau = files.predicted(q, qd, qdd)
        assert robot.torque(MS + round(1e9 * t), q, qd) == pytest.approx(tau, rel=1e-6)
        graph.until(lambda k=k: len(commands) >= k, 'the command')
        assert commands[k - 1].data.tolist() == pytest.approx(list(tau / SCALE), rel=1e-6)
    # For a controller that follows the trajectory itself.
    efforts = [np.array(point.effort) for point in robot.filled[-1].points]
    expected = [files.predicted(*x) for _, x in ends]
    assert np.array(efforts) == pytest.approx(np.array(expected), rel=1e-6)


def test_at_rest_the_offset_is_part_of_the_torque(graph, files):
    robot = Robot(graph, **files.parameters)
    q = np.array([0.3, 0.5])
    tau = Dynamics(files.found.model).gravity_torque(q) + files.found.drives.offset
    assert robot.torque(MS, q, None) == pytest.approx(tau, rel=1e-6)


def test_the_offset_counts_in_the_feasibility_of_a_trajectory(graph, files):
    parameters = files.parameters | {'effort_offset': [60.0, 0.0]}
    robot = Robot(graph, on_infeasible='reject', **parameters)
    q = PATH.sample(0.0).q
    robot.torque(0, q)
    robot.trajectories.publish(trajectory(point(0.0, q), point(9.0, q), names=NAMES))
    tau = Dynamics(files.found.model).gravity_torque(q)[0] + 60
    robot.wait_for_event(f"joint 'shoulder' needs {tau:.6g} N m")


def test_predicted_efforts_leave_no_residual(graph, files):
    node = graph.start(DynamicsNode, acceleration_source='reference', **files.parameters)
    residuals = graph.listen(JointState, 'dynamics_node/effort_residual')
    states = graph.publisher(JointState, 'joint_states')
    references = graph.publisher(JointTrajectory, 'reference')
    q, qd, qdd = PATH.sample(TIMES[0])
    message = trajectory(point(0.0, q, qd.tolist(), accelerations=qdd.tolist()), names=NAMES)
    message.header.stamp = messages.time_message(MS)
    references.publish(message)
    graph.until(lambda: node.reference is not None, 'the reference')
    effort = files.predicted(q, qd, qdd) / SCALE
    state = JointState(name=NAMES, position=q, velocity=qd, effort=effort)
    state.header.stamp = messages.time_message(MS)
    states.publish(state)
    graph.until(lambda: residuals, 'the residual')
    assert np.array(residuals[0].effort) == pytest.approx(np.zeros(2), abs=1e-6)


def test_a_simulated_arm_moves_as_identified_under_the_predicted_torque(graph, files):
    q, qd, qdd = PATH.sample(TIMES[0])
    step = 1e-4
    view = SimulatorView(
        graph,
        start_paused=True,
        time_step=step,
        initial_positions=q.tolist(),
        initial_velocities=qd.tolist(),
        **files.parameters,
    )
    tau = files.predicted(q, qd, qdd)
    view.command(tau)
    graph.until(lambda: view.node.loop.commanded, 'the command')
    velocities = []
    for _ in range(3):
        before = view.node.loop.stamp
        assert view.call('step').success
        velocities.append(np.array(view.state(after=before).velocity))
    # In the first step the load of the friction is not known yet.
    change = (velocities[2] - velocities[1]) / step
    assert change == pytest.approx(qdd, rel=0.01)
    assert list(view.states[-1].effort) == pytest.approx(list(tau / SCALE), rel=1e-9)


@pytest.mark.parametrize(
    ('node', 'options'), [(FeedforwardNode, {'command_unit': 'effort'}), (SimulatorNode, {})]
)
def test_a_scale_of_zero_is_no_unit_of_commands(graph, node, options):
    with pytest.raises(RobotDynamicsError, match=r'effort_scale is \[0.5, 0.0\]; the size of'):
        graph.start(node, effort_scale=[0.5, 0.0], **options)
