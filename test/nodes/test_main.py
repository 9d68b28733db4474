"""The nodes as processes: how they start, and how they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import robot_dynamics

pytest.importorskip('rclpy')

PACKAGE = str(Path(robot_dynamics.__file__).parents[1])
NODES = ['dynamics_node', 'feedforward_node', 'simulator_node', 'pybullet_validator_node']
DEADLINE = 30.0  # s


def start(node, *arguments):
    return subprocess.Popen(
        [sys.executable, '-m', f'robot_dynamics.nodes.{node}', '--ros-args', *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join([PACKAGE, os.environ.get('PYTHONPATH', '')]),
            'PYTHONUNBUFFERED': '1',
            'RCUTILS_LOGGING_USE_STDOUT': '1',
        },
    )


def line_with(process, text):
    """Return the first line that contains the text."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return line
    raise AssertionError(f'{text!r} is not in\n{"".join(lines)}')


@pytest.fixture
def robot_file(tmp_path, elbow_urdf):
    path = tmp_path / 'elbow.urdf'
    path.write_text(elbow_urdf)
    return f'robot_description_file:={path}'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('node', NODES)
def test_a_signal_ends_a_node_cleanly(node, number, robot_file):
    process = start(node, '-p', robot_file)
    line_with(process, "robot 'elbow', joints shoulder, elbow")
    process.send_signal(number)
    rest, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert 'Traceback' not in rest


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_that_still_waits_for_its_robot(number):
    process = start('dynamics_node')
    line_with(process, 'waiting for /robot_description')
    process.send_signal(number)
    rest, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert 'Traceback' not in rest


@pytest.mark.parametrize(
    ('arguments', 'why'),
    [
        (['-p', 'description_timeout:=0.2'], 'no robot_description on /robot_description'),
        (['-p', 'robot_description:=\'<robot name="x"/>\''], "robot 'x' has no link"),
        (['-p', 'robot_description:=hello'], 'not well-formed XML'),
        (['-p', 'robot_description_file:=/no/such.urdf'], '/no/such.urdf'),
        (['-p', 'time_step:=-1.0'], 'time_step'),
        (['-p', 'time_step:=fast'], 'time_step'),
        (['-p', 'integrator:=magic'], 'integrator is'),
        (['--params-file', '/no/such.yaml'], '/no/such.yaml'),
        (['-r', 'nonsense'], 'nonsense'),
    ],
)
def test_what_cannot_start_says_why_in_one_line_and_exits_with_1(arguments, why):
    process = start('simulator_node', *arguments)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    errors = [line for line in output.splitlines() if 'ERROR' in line and '[rcl]' not in line]
    assert len(errors) == 1, output
    assert why in errors[0]
    assert 'Traceback' not in output


def test_a_killed_node_is_replaced_and_the_others_go_on(robot_file):
    """A new controller finds the arm in its brakes; a new arm finds a controller that waits."""
    options = ('lockstep:=true', 'command_timeout:=0.2', 'real_time_factor:=0.0', robot_file)
    arguments = {
        'simulator_node': [argument for option in options for argument in ('-p', option)],
        'feedforward_node': ['-p', robot_file, '-r', '~/feedforward_torque:=joint_effort'],
    }
    running = {}
    try:
        for name in ('simulator_node', 'feedforward_node', 'feedforward_node', 'simulator_node'):
            if name in running:
                running[name].kill()
                running[name].communicate()
            running[name] = start(name, *arguments[name])
            line_with(running[name], "robot 'elbow'")
            if len(running) == 2:
                assert moved_on(0.05)
        assert all(process.poll() is None for process in running.values())
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


def test_without_the_events_executor_there_is_another(monkeypatch):
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor

    from robot_dynamics.nodes._main import new_executor

    monkeypatch.setitem(sys.modules, 'rclpy.experimental', None)
    context = Context()
    context.init()
    executor = new_executor(context)
    assert isinstance(executor, SingleThreadedExecutor)
    executor.shutdown()
    context.try_shutdown()


def moved_on(seconds):
    """Return whether simulated time goes on by this much without a missed command."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    context, times = Context(), []
    rclpy.init(context=context)
    node = rclpy.create_node('witness', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    node.create_subscription(
        JointState,
        'joint_states',
        # A braked arm supplies no effort: only steps with a controller count.
        lambda m: (
            times.append(m.header.stamp.sec + m.header.stamp.nanosec * 1e-9)
            if any(m.effort)
            else None
        ),
        100,
    )
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end and not (times and times[-1] - times[0] > seconds):
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    return bool(times) and times[-1] - times[0] > seconds
