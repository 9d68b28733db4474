# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from tiers import soak

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState
from simulator_view import START, SimulatorView
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.parameters import ParameterError
from robot_dynamics.ros.serialization import JointStateWriter, MatrixWriter
from robot_dynamics.validation.engines import ENGINES, installed

MS = 1_000_000
NAMES = ('shoulder', 'elbow')
SOME_ENGINE = [name for name in ENGINES if installed(name)]

pytestmark = [
    pytest.mark.processes,  # an engine runs in one
    pytest.mark.skipif(not SOME_ENGINE, reason='no other engine is installed'),
]


class Ears:
    """Outputs of the validator: residuals, and reports as (level, sentence, values)."""

    def __init__(self, graph):
        self.graph = graph
        self.residuals = graph.listen(JointState, 'pybullet_validator_node/residual')
        self._reports = graph.listen(
            DiagnosticArray, 'pybullet_validator_node/report', qos.LATCHED
        )

    @property
    def report(self):
        status = self._reports[-1].status[0]
        return status.level, status.message, {item.key: item.value for item in status.values}

    def verdict(self, word):
        self.graph.until(
            lambda: self._reports and self.report[1].startswith(word), f'the verdict {word}'
        )
        return self.report


@pytest.fixture
def start(graph):
    def start(**parameters):
        settings = {'random_states': 12, 'check_rate': 50.0, **parameters}
        node = graph.start(PyBulletValidatorNode, **settings)
        return node, Ears(graph)

    return start


class Arm:
    """Joint states of an arm in motion, one per call, and time that can be set."""

    def __init__(self, graph):
        self.stamp = 0
        self._out = graph.publisher(JointState, 'joint_states')
        self._writer = JointStateWriter(NAMES, 'base', ('position', 'velocity'))
        self._rng = np.random.default_rng(0)

    def move(self):
        self.stamp += 10 * MS
        t = self.stamp / 1e9
        q, qd = np.sin([3 * t, 5 * t]), [3, 5] * np.cos([3 * t, 5 * t])
        self._out.publish(self._writer.fill(self.stamp, q, qd))
        return q, qd


def move_until(graph, arm, condition, what):
    def moved():
        arm.move()
        graph.drain(0.01)
        return condition()

    graph.until(moved, what)


def test_random_states_pass_and_a_late_subscriber_receives_the_verdict(graph, start):
    _, outputs = start()
    level, sentence, values = outputs.verdict('PASS')
    assert level == DiagnosticStatus.OK
    assert sentence.startswith('PASS: elbow against ')
    assert values['random states'] == '12'
    assert values['verdict'] == 'PASS'
    late = Ears(graph)
    assert late.verdict('PASS')[0] == DiagnosticStatus.OK


def test_live_states_of_the_dynamics_node_are_checked(graph, start):
    graph.start(DynamicsNode)
    _, outputs = start()
    outputs.verdict('PASS')
    arm = Arm(graph)
    move_until(graph, arm, lambda: len(outputs.residuals) >= 5, 'residuals')
    for message in outputs.residuals:
        assert tuple(message.name) == NAMES
        assert message.header.frame_id == 'base'
        assert messages.nanoseconds(message.header.stamp) % (10 * MS) == 0
        assert np.abs(message.effort).max() < 1e-9
    graph.until(lambda: 'live torque' in outputs.report[2], 'a report with live torques')
    assert 'live mass matrix' in outputs.report[2]
    assert outputs.report[0] == DiagnosticStatus.OK


class Impostor:
    """A dynamics node whose words can be chosen."""

    def __init__(self, graph, elbow, lie):
        self.elbow, self.lie = elbow, np.array(lie)
        self._gravity = graph.publisher(JointState, 'dynamics_node/gravity_torque')
        self._coriolis = graph.publisher(JointState, 'dynamics_node/coriolis_torque')
        self._matrix = graph.publisher(Float64MultiArray, 'dynamics_node/mass_matrix')
        self._writer = JointStateWriter(NAMES, 'base', ('effort',))
        self._matrix_writer = MatrixWriter(2)

    def publish_terms(self, stamp, q, qd):
        M, C, g = self.elbow.terms(q, qd)
        self._matrix.publish(self._matrix_writer.fill(stamp, M))
        self._coriolis.publish(self._writer.fill(stamp, C @ qd))
        self._gravity.publish(self._writer.fill(stamp, g + self.lie))


def test_a_wrong_torque_fails_and_is_shown_as_it_is(graph, start, elbow):
    _, outputs = start()
    outputs.verdict('PASS')
    arm, impostor = Arm(graph), Impostor(graph, elbow, [0.0, 0.25])

    def spoken():
        q, qd = arm.move()
        impostor.publish_terms(arm.stamp, q, qd)
        graph.drain(0.01)
        return outputs.residuals

    graph.until(spoken, 'a residual')
    np.testing.assert_allclose(outputs.residuals[-1].effort, [0.0, 0.25], atol=1e-9)
    level, sentence, values = outputs.verdict('FAIL')
    assert level == DiagnosticStatus.ERROR
    assert 'live torque' in sentence
    assert "at joint 'elbow'" in sentence
    assert values['verdict'] == 'FAIL'


def test_a_dynamics_node_with_another_gravity_is_explained(graph, start):
    graph.start(DynamicsNode, gravity=[0.0, 0.0, 9.81])
    _, outputs = start()
    outputs.verdict('PASS')
    arm = Arm(graph)
    move_until(
        graph,
        arm,
        lambda: 'are those of' in outputs.report[2].get('likely cause', ''),
        'an explanation',
    )
    _, sentence, values = outputs.verdict('FAIL')
    assert 'live' in sentence
    assert values['likely cause'] == (
        'the torques of dynamics_node are those of gravity (0, 0, 9.81) m/s^2 instead of '
        # The arm moves in a plane.
        '(0, 0, -9.81), as far as these torques depend on it'
    )
    for term in ('torque', 'gravity torque', 'Coriolis torque', 'mass matrix'):
        assert f'live {term}' in values


# -- the motion of a simulated arm ----------------------------------------------------------------

INERTIA = 'live inertia torque of the observed motion'
EFFORT = 'live effort of the observed motion'


@pytest.fixture(params=[1.0, *soak([-1.0])], ids=['plain', 'mirrored'])
def swing(graph, start, request):
    """Return the start of an arm that swings under gravity, without torque, and its validator."""

    def swing(**simulator):
        _, outputs = start()
        outputs.verdict('PASS')
        begin = [request.param * x for x in START]
        settings = {'initial_positions': begin, 'on_command_timeout': 'zero', **simulator}
        view = SimulatorView(graph, **settings)
        view.command([0.0, 0.0])
        return outputs

    return swing


@pytest.mark.slow
@pytest.mark.parametrize(
    'disturbed',
    [
        *soak([{}]),
        {
            'sensors__position_resolution': [1e-5],
            'sensors__velocity_noise': [0.02],
            'sensors__effort_noise': [0.2],
            'sensors__latency': 2e-3,
            'sensors__jitter': 5e-4,
        },
    ],
    ids=['exact', 'noise'],
)
def test_a_correct_arm_in_motion_passes(graph, swing, disturbed):
    graph.start(DynamicsNode)
    outputs = swing(**disturbed)
    graph.until(lambda: {INERTIA, EFFORT} <= set(outputs.report[2]), 'the compared motion')
    graph.drain(2.0)
    assert outputs.report[0] == DiagnosticStatus.OK, outputs.report


@pytest.mark.slow
@pytest.mark.parametrize('gravity', [[0.0, 0.0, 9.81], [0.0, 0.0, 0.0]], ids=['up', 'none'])
def test_a_simulator_with_another_gravity_fails(graph, swing, gravity):
    graph.start(DynamicsNode)
    # Without gravity it swings all the same.
    outputs = swing(gravity=gravity, initial_velocities=[1.0, -2.0])
    _, sentence, _ = outputs.verdict('FAIL')
    assert EFFORT in sentence


def test_accelerations_of_the_dynamics_node_that_are_multiplied_fail(graph, swing, monkeypatch):
    right = DynamicsNode._acceleration

    def wrong(node, state):
        qdd = right(node, state)
        return None if qdd is None else -10 * qdd

    monkeypatch.setattr(DynamicsNode, '_acceleration', wrong)
    graph.start(DynamicsNode)
    outputs = swing()
    _, sentence, _ = outputs.verdict('FAIL')
    assert INERTIA in sentence


@pytest.mark.slow
def test_reset_starts_the_comparison_anew(graph, start):
    wrong = graph.start(DynamicsNode, gravity=[0.0, 0.0, 9.81])
    _, outputs = start()
    outputs.verdict('PASS')
    arm = Arm(graph)
    move_until(graph, arm, lambda: outputs.report[2].get('likely cause'), 'an explanation')
    # Started anew with another mistake: the cause is that one's.
    graph.stop(wrong)
    wrong = graph.start(DynamicsNode, gravity=[4.0, 0.0, -9.81])
    move_until(
        graph,
        arm,
        lambda: 'gravity (4, 0, -9.81)' in outputs.report[2].get('likely cause', ''),
        'the other explanation',
    )
    # Started anew and right: the largest differences stay in the report until the reset.
    graph.stop(wrong)
    graph.start(DynamicsNode)
    outputs.residuals.clear()
    move_until(graph, arm, lambda: len(outputs.residuals) >= 5, 'residuals')
    assert outputs.verdict('FAIL')[2]['likely cause']
    answer = graph.call(Trigger, 'pybullet_validator_node/reset')
    assert answer.success
    assert answer.message == 'the comparison starts anew with random states'
    values = outputs.verdict('PASS')[2]
    assert 'likely cause' not in values
    outputs.residuals.clear()
    move_until(graph, arm, lambda: len(outputs.residuals) >= 5, 'residuals')
    assert outputs.report[1].startswith('PASS')


def test_reset_without_a_robot_is_rejected(graph):
    graph.start(PyBulletValidatorNode, description='')
    answer = graph.call(Trigger, 'pybullet_validator_node/reset')
    assert not answer.success
    assert answer.message.startswith('nothing to reset: the node is ')


def test_additional_engines_are_compared_as_well(start):
    _, outputs = start(engines=SOME_ENGINE[:1], additional_engines=SOME_ENGINE[-1:])
    values = outputs.verdict('PASS')[2]
    assert values['additional engine 1'].startswith('PASS: elbow against ')


def test_invalid_messages_are_rejected_and_counted(graph, start, elbow):
    node, outputs = start()
    outputs.verdict('PASS')
    arm, impostor = Arm(graph), Impostor(graph, elbow, [np.nan, 0.0])

    def rejected():
        q, qd = arm.move()
        impostor.publish_terms(arm.stamp, q, qd)
        graph.drain(0.01)
        return node.health.counts['live state rejected']

    graph.until(rejected, 'a refusal')
    matrix = graph.publisher(Float64MultiArray, 'dynamics_node/mass_matrix')
    before = node.health.counts['live state rejected']

    def refused_too():
        matrix.publish(Float64MultiArray(data=[1.0, 2.0]))
        graph.drain(0.01)
        return node.health.counts['live state rejected'] > before

    graph.until(refused_too, 'another')
    assert not outputs.residuals
    assert outputs.report[0] == DiagnosticStatus.OK


def test_time_may_start_again(graph, start):
    graph.start(DynamicsNode)
    _, outputs = start()
    outputs.verdict('PASS')
    arm = Arm(graph)
    arm.stamp = 100_000 * MS
    move_until(graph, arm, lambda: outputs.residuals, 'a residual')
    arm.stamp = 0
    move_until(
        graph,
        arm,
        lambda: outputs.residuals[-1].header.stamp.sec < 50,
        'a residual after the reset',
    )


def test_an_engine_that_crashes_is_restarted(graph, start):
    graph.start(DynamicsNode)
    node, outputs = start()
    outputs.verdict('PASS')
    arm = Arm(graph)
    move_until(graph, arm, lambda: outputs.residuals, 'a residual')
    os.kill(node._comparison.engine_pid, signal.SIGKILL)
    move_until(graph, arm, lambda: node.health.counts['engine restarted'], 'a restart')
    outputs.residuals.clear()
    move_until(graph, arm, lambda: len(outputs.residuals) >= 2, 'residuals again')
    assert np.abs(outputs.residuals[-1].effort).max() < 1e-9


def test_a_missing_engine_is_reported_and_the_node_continues(graph, start, tmp_path, monkeypatch):
    for package in ('pybullet', 'mujoco', 'pinocchio'):
        (tmp_path / f'{package}.py').write_text('raise ImportError("not here")')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    node, outputs = start()
    level, _, values = outputs.verdict('NO ENGINE')
    assert level == DiagnosticStatus.WARN
    assert values['note 1'] == 'no PyBullet: not here'
    assert node.failure is None


def test_parameters_of_the_robot_are_those_of_the_comparison(start):
    _, outputs = start(
        gravity=[1.0, 2.0, -9.0],
        base_orientation=[0.3, -0.2, 0.1],
        payload__link='forearm',
        payload__mass=1.5,
        payload__com=[0.1, 0.0, 0.05],
        payload__inertia=[0.02, 0.001, 0.0, 0.03, 0.0, 0.02],
        locked_joints=['shoulder'],
        locked_positions=[0.4],
    )
    assert outputs.verdict('PASS')[0] == DiagnosticStatus.OK


@pytest.mark.slow
def test_rotors_of_the_parameters_are_compared_as_well(graph, start):
    graph.start(DynamicsNode, rotor_inertia=[0.1, 0.05])
    _, outputs = start(rotor_inertia=[0.1, 0.05])
    outputs.verdict('PASS')
    arm = Arm(graph)
    move_until(graph, arm, lambda: len(outputs.residuals) >= 5, 'residuals')
    assert max(np.abs(message.effort).max() for message in outputs.residuals) < 1e-9
    graph.until(lambda: 'live mass matrix' in outputs.report[2], 'a report with matrices')
    assert outputs.report[0] == DiagnosticStatus.OK


def test_an_unknown_engine_is_rejected(graph):
    with pytest.raises(ParameterError, match="engines holds 'physx'; known are pybullet"):
        graph.start(PyBulletValidatorNode, engines=['physx'])
    with pytest.raises(ParameterError, match="additional_engines holds 'physx'"):
        graph.start(PyBulletValidatorNode, additional_engines=['physx'])


@pytest.mark.parametrize('name', ['friction__coulomb', 'effort_scale', 'effort_offset'])
def test_lists_of_another_size_are_rejected(graph, name):
    with pytest.raises(ParameterError, match=name.replace('__', '.')):
        graph.start(PyBulletValidatorNode, **{name: [1.0, 1.0, 1.0]})


def test_the_engine_ends_with_the_node(graph, start):
    node, outputs = start()
    outputs.verdict('PASS')
    pid = node._comparison.engine_pid
    graph.stop(node)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.slow
@pytest.mark.parametrize(('tolerance', 'code'), [('1.0e-6', 0), ('0.0', 1)])
def test_one_shot_ends_with_the_verdict_as_exit_code(elbow_urdf, tmp_path, tolerance, code):
    file = tmp_path / 'elbow.urdf'
    file.write_text(elbow_urdf)
    command = [sys.executable, '-m', 'robot_dynamics.ros.executables']
    command += ['pybullet_validator_node', '--ros-args']
    for setting in (
        'one_shot:=true',
        f'robot_description_file:={file}',
        f'tolerance:={tolerance}',
    ):
        command += ['-p', setting]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr
    assert ('FAIL: elbow' if code else 'PASS: elbow') in ended.stdout + ended.stderr
