# SPDX-License-Identifier: Apache-2.0
"""Several robots in one graph, each node a process of its own, separated by namespaces."""

import contextlib
import copy
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

import urdf_text
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

import robot_dynamics
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.urdf.loading import parse_urdf

pytestmark = pytest.mark.processes

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
PATIENCE = 20.0  # s, for a node to end


@contextlib.contextmanager
def running(namespace, node, *arguments, **parameters):
    """Run a node in a namespace; it has to end well."""
    given = [f'{name}:={value}' for name, value in parameters.items()]
    ros = ['-r', f'__ns:={namespace}', *(x for text in given for x in ('-p', text)), *arguments]
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.ros.executables', node, '--ros-args', *ros],
        env={**os.environ, 'PYTHONPATH': PACKAGE},
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


class Ear:
    """Outputs of one arm's nodes, by stamp."""

    def __init__(self, graph, namespace, states='joint_states'):
        self.graph, self.namespace = graph, namespace
        self.states, self.gravity = {}, {}
        for topic, received in (
            (states, self.states),
            ('dynamics_node/gravity_torque', self.gravity),
        ):
            topic = topic if topic.startswith('/') else f'{namespace}/{topic}'
            graph.probe.create_subscription(JointState, topic, self._into(received), 100)

    @staticmethod
    def _into(received):
        return lambda m: received.update({messages.nanoseconds(m.header.stamp): copy.deepcopy(m)})

    def wait(self, count):
        """Wait for so many more states with answers; return their stamps."""
        self.states.clear(), self.gravity.clear()
        self.graph.until(
            lambda: len(self.states.keys() & self.gravity.keys()) >= count,
            f'{count} answers in {self.namespace}',
        )
        return sorted(self.states.keys() & self.gravity.keys())

    def check(self, arm, count=20):
        """Assert that the torques published here are those of this arm and of no other."""
        for stamp in self.wait(count):
            state, gravity = self.states[stamp], self.gravity[stamp]
            assert tuple(gravity.name) == arm.model.joint_names
            q = [state.position[state.name.index(name)] for name in arm.model.joint_names]
            expected = arm.gravity_torque(q)
            np.testing.assert_allclose(gravity.effort, expected, rtol=1e-12, atol=1e-12)


# -- two arms -------------------------------------------------------------------------------------

# The same joint names and other bodies: states of the other arm would go unnoticed otherwise.
LIGHT = urdf_text.chain(*['<axis xyz="0 1 0"/>' + urdf_text.LIMIT] * 2)
HEAVY = urdf_text.chain(*['<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>' + urdf_text.LIMIT] * 3)


@pytest.fixture
def files(tmp_path):
    def file(text):
        path = tmp_path / f'{len(list(tmp_path.iterdir()))}.urdf'
        path.write_text(text)
        return str(path)

    return file


def simulated(namespace, file):
    """Return the nodes of a simulated arm."""
    torque = ('-r', '~/feedforward_torque:=joint_effort')
    robot = {'robot_description_file': file}
    return [
        running(namespace, 'simulator_node', real_time_factor=0.2, publish_every=4, **robot),
        running(namespace, 'feedforward_node', *torque, **robot),
        running(namespace, 'dynamics_node', **robot),
    ]


@pytest.mark.slow
def test_two_arms_side_by_side(graph, files):
    arms = {'/left': LIGHT, '/right': HEAVY}
    with contextlib.ExitStack() as stack:
        for namespace, text in arms.items():
            for node in simulated(namespace, files(text)):
                stack.enter_context(node)
        outputs = {namespace: Ear(graph, namespace) for namespace in arms}
        for namespace, text in arms.items():
            outputs[namespace].check(Dynamics(parse_urdf(text)))
        # The right arm goes back to the start; the left one does not notice.
        while outputs['/right'].wait(1)[-1] < 200_000_000:  # ns; less would be a late state
            pass
        left, right = (outputs[namespace].wait(1)[-1] for namespace in arms)
        assert graph.call(Trigger, '/right/simulator_node/reset').success
        assert min(outputs['/right'].wait(1)) < right
        assert min(outputs['/left'].wait(1)) > left


# -- one robot of two arms ----------------------------------------------------------------------

# Two shoulders on one body; the left arm comes first in the tree.
ARM = '<origin xyz="0 {y} 0.5"/><axis xyz="0 1 0"/>' + urdf_text.LIMIT
ELBOW = '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>' + urdf_text.LIMIT
DUAL = urdf_text.robot(
    urdf_text.link('torso'),
    *(
        part
        for side, y in (('left', 0.2), ('right', -0.2))
        for part in (
            urdf_text.link(f'{side}_upper_arm'),
            urdf_text.link(f'{side}_hand'),
            urdf_text.joint(f'{side}_shoulder', 'torso', f'{side}_upper_arm', ARM.format(y=y)),
            urdf_text.joint(f'{side}_elbow', f'{side}_upper_arm', f'{side}_hand', ELBOW),
        )
    ),
)
LEFT, RIGHT = ('left_shoulder', 'left_elbow'), ('right_shoulder', 'right_elbow')


@pytest.mark.slow
def test_one_robot_of_two_arms_in_two_namespaces(graph, files):
    """One driver publishes all joints; each namespace answers for its own arm."""
    robot = {'robot_description_file': files(DUAL)}
    subscribes = ('-r', 'joint_states:=/joint_states')
    with (
        running('/left', 'dynamics_node', *subscribes, tip_link='left_hand', **robot),
        running(
            '/right',
            'dynamics_node',
            *subscribes,
            locked_joints='[left_shoulder, left_elbow]',
            joints='[right_elbow, right_shoulder]',
            effort_scale='[2.0, 3.0]',
            **robot,
        ),
    ):
        outputs = {arm: Ear(graph, arm, '/joint_states') for arm in ('/left', '/right')}
        residuals = graph.listen(JointState, '/right/dynamics_node/effort_residual')
        driver = graph.publisher(JointState, '/joint_states')
        graph.until(lambda: driver.get_subscription_count() == 4, 'both arms')
        names = [LEFT[1], RIGHT[0], LEFT[0], RIGHT[1]]  # as a driver might
        message, sent = JointState(name=names, effort=[1.0, 5.0, 1.0, 7.0]), [0]

        def is_complete(ear):
            sent[0] += 1
            position, velocity = np.sin(0.01 * sent[0] + np.arange(4)), np.zeros(4)
            message.position, message.velocity = position.tolist(), velocity.tolist()
            message.header.stamp = messages.time_message(sent[0] * 1_000_000)
            driver.publish(message)
            return len(ear.states.keys() & ear.gravity.keys()) >= 10

        whole = Dynamics(parse_urdf(DUAL))
        for ear, own in zip(outputs.values(), (LEFT, RIGHT), strict=True):
            graph.until(lambda ear=ear: is_complete(ear), f'answers in {ear.namespace}')
            columns = [whole.model.joint_names.index(name) for name in own]
            for stamp in ear.states.keys() & ear.gravity.keys():
                state, gravity = ear.states[stamp], ear.gravity[stamp]
                assert tuple(gravity.name) == own
                q = [state.position[names.index(name)] for name in whole.model.joint_names]
                # On a torso that stands still, no arm feels the other.
                expected = whole.gravity_torque(q)[columns]
                np.testing.assert_allclose(gravity.effort, expected, rtol=1e-12, atol=1e-12)
        assert_scaled_by_the_order_of_joints(graph, residuals, outputs['/right'], whole)


def assert_scaled_by_the_order_of_joints(graph, residuals, ear, whole):
    """The scales are given as elbow, shoulder; the model has the shoulder first."""
    residual = {messages.nanoseconds(m.header.stamp): m.effort for m in residuals}
    graph.until(lambda: residual.keys() & ear.states.keys(), 'a residual and its state')
    stamp = max(residual.keys() & ear.states.keys())
    state = ear.states[stamp]
    q = [state.position[state.name.index(name)] for name in whole.model.joint_names]
    measured = np.array([3.0 * 5.0, 2.0 * 7.0])
    # No velocity and no acceleration: what is left is gravity.
    np.testing.assert_allclose(residual[stamp], measured - whole.gravity_torque(q)[2:], atol=1e-9)
