# SPDX-License-Identifier: Apache-2.0
"""Processes stopped and killed during a motion, on a loaded machine: the arm is held.

A simulated arm, the feed-forward node and the observer are processes; two more keep the processors
busy. Of every torque that is published: it is finite, within its limits, and changes no faster
than its rate in the time of the stamps.
"""

import signal

import numpy as np
import pytest
import tiers

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from elbow import ELBOW
from live_nodes import kill, line_with, start_node, start_python
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros import messages
from robot_dynamics.urdf.loading import parse_urdf

pytestmark = [pytest.mark.processes, pytest.mark.slow]

NAMES = ['shoulder', 'elbow']
START, GOAL, DURATION = np.array([0.3, -0.4]), np.array([1.3, 0.6]), 3.0
EFFORT = parse_urdf(ELBOW).effort_limit
RATE = EFFORT / 0.1  # N m/s, the default
# rad, during a soft start: 30 rad/s^2 for 50 ms, and for the latencies of a loaded machine; an arm
# that is not held falls by more within 0.2 s.
SAG = 0.15
BUSY = 'while True: pass'
DEEP = QoSProfile(depth=10_000)
FEEDFORWARD = {
    'kp': [60.0, 10.0],  # damped at the delays of a loaded machine
    'kd': [6.0, 0.5],
    'on_collision': 'hold',
    'on_timeout': 'gravity',
    'on_deactivate': 'gravity',
}


def vector(message, field):
    values = dict(zip(message.name, getattr(message, field), strict=True))
    return np.array([values[name] for name in NAMES])


class Cell:
    """Processes of an arm, and what they have published."""

    def __init__(self, graph, urdf):
        self.graph, self.urdf = graph, urdf
        for _ in range(2):
            start_python('-c', BUSY)
        # A state every 4 ms: this test receives all of them as well.
        self.simulator = self.start(
            'simulator_node', initial_positions=START.tolist(), publish_every=4
        )
        self.start_feedforward()
        self.start_observer()
        self.torques = graph.listen(JointState, 'joint_effort', DEEP)
        self.states = graph.listen(JointState, 'joint_states', DEEP)
        self.contacts = graph.listen(DiagnosticArray, 'momentum_observer_node/contact', DEEP)
        self.trajectories = graph.publisher(JointTrajectory, 'joint_trajectory')
        self.wait_for_commands()

    def start(self, name, *options, **parameters):
        parameters['robot_description_file'] = self.urdf
        ros = [x for key, value in parameters.items() for x in ('-p', f'{key}:={value}')]
        process = start_node(name, *ros, *options)
        line_with(process, "robot 'elbow'")
        return process

    def start_feedforward(self):
        remap = ['-r', '~/feedforward_torque:=joint_effort']
        self.feedforward = self.start('feedforward_node', *remap, **FEEDFORWARD)

    def start_observer(self):
        self.observer = self.start('momentum_observer_node')

    def wait_for_commands(self):
        count = len(self.torques)
        self.graph.until(lambda: len(self.torques) > count + 50, 'torques')

    def move(self, goal):
        """Begin a motion, and wait until the arm is in it."""
        point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0, 0.0])
        point.time_from_start.sec = round(DURATION)
        self.trajectories.publish(JointTrajectory(joint_names=NAMES, points=[point]))
        self.graph.until(lambda: np.abs(self.speed).max() > 0.2, 'the motion')

    @property
    def position(self):
        return vector(self.states[-1], 'position')

    @property
    def speed(self):
        return vector(self.states[-1], 'velocity')

    def until_at_rest(self):
        self.graph.until(lambda: np.abs(self.speed).max() < 1e-3, 'rest')
        return self.position

    def check_torques(self, first=0):
        """Check the torques from a message on; those of one process."""
        stamps = [messages.nanoseconds(message.header.stamp) for message in self.torques[first:]]
        taus = np.array([vector(message, 'effort') for message in self.torques[first:]])
        assert len(taus) > 50
        assert np.isfinite(taus).all()
        assert (np.abs(taus) <= EFFORT).all()
        # Messages that were lost on the way to this test had steps as well.
        dt = np.maximum.accumulate(np.maximum(stamps, stamps[0]))
        steps = np.abs(np.diff(taus, axis=0))
        silent = np.diff(dt) == 0  # on_timeout: each 20 ms of the wall clock
        most = RATE * np.where(silent, 0.02, np.diff(dt) * 1e-9)[:, None]
        assert (steps <= most * (1 + 1e-9) + 1e-9).all()

    def check_held(self, q, tolerance):
        """Check that the arm stays within a distance [rad] of a position for a second."""
        begin, first = messages.nanoseconds(self.states[-1].header.stamp), len(self.states)
        self.graph.until(
            lambda: messages.nanoseconds(self.states[-1].header.stamp) > begin + 1_000_000_000,
            'a second',
        )
        path = np.array([vector(message, 'position') for message in self.states[first:]])
        assert np.abs(path - q).max() < tolerance


@pytest.fixture
def cell(graph, tmp_path):
    urdf = tmp_path / 'elbow.urdf'
    urdf.write_text(ELBOW)
    return Cell(graph, urdf)


@pytest.mark.parametrize('fault', ['killed', *tiers.soak(['stopped'])])
def test_the_observer_ends_in_motion_and_the_motion_goes_on(cell, fault):
    cell.move(GOAL)
    if fault == 'stopped':
        cell.observer.send_signal(signal.SIGSTOP)
        cell.graph.drain(1.0)
        cell.observer.send_signal(signal.SIGCONT)
    else:
        kill(cell.observer)
        cell.graph.drain(0.5)
        cell.start_observer()
    cell.graph.until(lambda: np.abs(cell.position - GOAL).max() < 0.02, 'the goal')
    count = len(cell.contacts)
    cell.graph.until(lambda: len(cell.contacts) > count, 'the observer')
    cell.until_at_rest()
    cell.check_held(GOAL, 0.02)
    cell.check_torques()


def test_the_controller_is_stopped_in_motion_and_holds_the_arm_when_it_goes_on(cell):
    cell.move(GOAL)
    cell.feedforward.send_signal(signal.SIGSTOP)
    cell.graph.until(lambda: np.abs(cell.speed).max() < 1e-3, 'the brakes')
    q = cell.position
    cell.check_held(q, 0.01)
    cell.feedforward.send_signal(signal.SIGCONT)
    cell.wait_for_commands()
    cell.check_held(q, SAG)
    cell.check_held(cell.until_at_rest(), 0.02)
    cell.check_torques()
    # It is commanded again.
    cell.move(GOAL)
    cell.graph.until(lambda: np.abs(cell.position - GOAL).max() < 0.02, 'the goal')
    cell.check_torques()


def test_the_controller_is_killed_in_motion_and_its_successor_holds_the_arm(cell):
    cell.move(GOAL)
    kill(cell.feedforward)
    cell.check_torques()
    q = cell.until_at_rest()
    cell.check_held(q, 0.01)
    first = len(cell.torques)
    cell.start_feedforward()
    cell.graph.until(lambda: len(cell.torques) > first + 50, 'the successor')
    # The brakes open at its first torque, which rises in ramp_time.
    cell.check_held(q, SAG)
    cell.check_held(cell.until_at_rest(), 0.02)
    cell.check_torques(first)
