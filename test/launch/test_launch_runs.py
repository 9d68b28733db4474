# SPDX-License-Identifier: Apache-2.0
"""A launch file run as a whole, where `launch` and the package are installed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from domains import default_environment, use_free_domain

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS 2 distribution only')

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from waiting import wait_until

from robot_dynamics.common.resources import share_file
from robot_dynamics.ros import qos
from robot_dynamics.ros.launching import feedback_gains
from robot_dynamics.ros.middleware import VARIABLES, quick_discovery

pytestmark = pytest.mark.processes

PATIENCE = 60.0  # s
PANDA = share_file('urdf/panda.urdf')
NODES = {'dynamics_node', 'feedforward_node', 'simulator_node', 'markers_node'}
PROGRAM = """
import json, sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService(noninteractive=True)
source = PythonLaunchDescriptionSource(sys.argv[1])
include = IncludeLaunchDescription(source, launch_arguments=json.loads(sys.argv[2]))
service.include_launch_description(LaunchDescription([include]))
sys.exit(service.run())
"""


@pytest.fixture(autouse=True)
def _installed():
    try:
        prefix = Path(get_package_prefix('robot_dynamics'))
    except (PackageNotFoundError, OSError) as error:
        pytest.skip(f'launch finds an installed package only: {error}')
    if not (prefix / 'lib' / 'robot_dynamics' / 'dynamics_node').exists():
        pytest.skip(f'launch finds nodes only where colcon puts them; {prefix} has none there')


@pytest.fixture
def domain():
    return use_free_domain()


@pytest.fixture
def launched(domain):
    """Start the simulation in a namespace; SIGINT ends it with exit code 0."""
    arguments = {
        'namespace': 'cell',
        'frame_prefix': 'left/',
        'rviz': 'false',
        'validate': 'false',
        'markers': 'true',
        'state_publisher': 'none',
        'real_time_factor': '0.1',
    }
    file = str(share_file('launch/simulation.launch.py'))
    process = subprocess.Popen(
        [sys.executable, '-c', PROGRAM, file, json.dumps(list(arguments.items()))],
        env={**default_environment(), 'ROS_DOMAIN_ID': domain},
        start_new_session=True,
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def probe(domain):
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node('probe', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def until(condition, what):
        wait_until(condition, what, PATIENCE, lambda: executor.spin_once(timeout_sec=0.1))

    node.until = until
    yield node
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


def environments(process):
    """Yield the environment of each process that a process has started."""
    for listed in Path(f'/proc/{process.pid}/task').glob('*/children'):
        for child in listed.read_text().split():
            entries = Path(f'/proc/{child}/environ').read_text().split('\0')
            yield dict(entry.split('=', 1) for entry in entries if '=' in entry)


def test_the_simulation_runs_in_its_namespace_with_gains_of_its_robot(
    launched, probe, monkeypatch
):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    discovery = quick_discovery()
    description = probe.create_publisher(String, '/cell/robot_description', qos.LATCHED)
    description.publish(String(data=PANDA.read_text()))
    torques = []
    topic = '/cell/dynamics_node/gravity_torque'
    probe.create_subscription(JointState, topic, torques.append, qos.STREAM_OUT)

    def all_there():
        there = set(probe.get_node_names_and_namespaces())
        return there >= {(name, '/cell') for name in NODES}

    probe.until(all_there, 'the nodes')
    client = probe.create_client(GetParameters, '/cell/feedforward_node/get_parameters')
    probe.until(client.service_is_ready, 'the parameters')
    future = client.call_async(GetParameters.Request(names=['kp', 'kd', 'use_sim_time']))
    probe.until(future.done, 'an answer')
    kp, kd, use_sim_time = future.result().values
    gains = feedback_gains(PANDA, 1e-3)
    assert list(kp.double_array_value) == pytest.approx(gains['kp'])
    assert list(kd.double_array_value) == pytest.approx(gains['kd'])
    assert use_sim_time.bool_value
    probe.until(lambda: torques, 'the arm to be simulated')
    assert torques[0].header.frame_id == 'left/panda_link0'
    markers = dict(probe.get_subscriber_names_and_types_by_node('markers_node', '/cell'))
    assert '/cell/dynamics_node/payload' in markers
    started = list(environments(launched))
    assert len(started) >= len(NODES)
    assert all(environment.items() >= discovery.items() for environment in started)
    assert launched.poll() is None
