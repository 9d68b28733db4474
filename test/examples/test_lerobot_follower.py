# SPDX-License-Identifier: Apache-2.0
"""The example for LeRobot: its methods, on a stand-in for a follower and its bus."""

import math
import runpy
import time
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.core.model.robots import planar_2r

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / 'examples' / 'lerobot_follower.py'))
ARM = rd.Dynamics(planar_2r())
JOINTS = ARM.model.joint_names
KP, KD = [300.0, 120.0], [25.0, 8.0]
START = np.array([0.4, -0.6])
# Names of the interface, of lerobot's class Robot
INTERFACE = (
    *('observation_features', 'action_features', 'is_connected', 'is_calibrated', 'connect'),
    *('calibrate', 'configure', 'get_observation', 'send_action', 'disconnect', 'name'),
)


class Bus:
    """A bus with an arm in MIT mode, and a gripper."""

    def __init__(self):
        self.motors = dict.fromkeys((*reversed(JOINTS), 'gripper'))
        self.q, self.qd, self.commands = START.copy(), np.zeros(2), {}
        self.lost, self.fails, self.full = (), None, None

    def sync_read_all_states(self):
        if self.fails:
            raise self.fails
        rows = zip(JOINTS, self.q, self.qd, strict=True)
        return {
            name: {'position': math.degrees(q), 'velocity': math.degrees(qd), 'torque': 0.0}
            for name, q, qd in rows
            if name not in self.lost
        }

    def _mit_control_batch(self, commands):
        if self.full:
            raise self.full
        self.commands = commands

    def move(self, duration, step=5e-4):
        rows = np.array([self.commands[name] for name in JOINTS]).T
        kp, kd, tau = rows[0], rows[1], rows[4]
        for _ in range(round(duration / step)):
            torque = kp * (np.radians(rows[2]) - self.q) + kd * (np.radians(rows[3]) - self.qd)
            qdd = ARM.forward_dynamics(self.q, self.qd, torque + tau, friction='none')
            self.qd = self.qd + step * qdd
            self.q = self.q + step * self.qd


class Follower:
    """A follower with the interface of LeRobot."""

    is_calibrated = True

    def __init__(self):
        self.bus, self.is_connected, self.sent = Bus(), False, {}
        self.observation_features = {f'{name}.pos': float for name in self.bus.motors}

    def connect(self, calibrate=True):
        self.is_connected = True

    def disconnect(self):
        self.is_connected = False

    def get_observation(self):
        return {f'{k}.pos': v['position'] for k, v in self.bus.sync_read_all_states().items()}

    def send_action(self, action):
        self.sent = action
        return action


@pytest.fixture
def follower():
    inner = Follower()
    return inner, EXAMPLE['ModelFollower'](inner, ARM, KP, KD)


def run(inner, model, cycles, period=0.005, begin=0):
    for k in range(begin, begin + cycles):
        command = model.cycle(period * k)
        inner.bus.move(period)
    return command


def degrees(q):
    return {f'{name}.pos': math.degrees(x) for name, x in zip(JOINTS, q, strict=True)}


def test_it_has_the_methods_of_a_robot(follower):
    _, model = follower
    for name in INTERFACE:
        assert hasattr(model, name)
    assert set(model.action_features) == {'gripper.pos', *degrees(START)}


def test_actions_in_degrees_are_followed(follower):
    inner, model = follower
    run(inner, model, 200)
    assert np.abs(inner.bus.q - START).max() < 2e-3
    goal = START + np.array([0.06, -0.05])
    for k in range(30):  # 30 Hz, of a loop at 200 Hz
        action = degrees(START + (goal - START) * min(k / 15, 1.0)) | {'gripper.pos': -10.0}
        assert model.send_action(action) == action
        run(inner, model, 7, begin=200 + 7 * k)
    run(inner, model, 100, begin=410)
    assert not model.loop.fault
    assert np.abs(inner.bus.q - goal).max() < 2e-3
    assert inner.sent == {'gripper.pos': -10.0}
    assert set(inner.bus.commands) == set(JOINTS)


def test_an_action_of_one_joint_leaves_the_other(follower):
    inner, model = follower
    run(inner, model, 200)
    name = JOINTS[1]
    for k in range(10):
        model.send_action({f'{name}.pos': math.degrees(START[1] + 0.004 * min(k, 6))})
        run(inner, model, 7, begin=200 + 7 * k)
    run(inner, model, 100, begin=270)
    assert np.abs(inner.bus.q - START - [0.0, 0.024]).max() < 2e-3


def test_velocities_and_torques_of_an_action_are_not_used(follower):
    inner, model = follower
    run(inner, model, 10)
    more = {f'{name}.{kind}': 30.0 for name in JOINTS for kind in ('vel', 'torque')}
    model.send_action(degrees(START) | more)
    run(inner, model, 50, begin=10)
    assert not model.loop.fault
    assert not inner.sent


class BusError(Exception):
    """An error of a driver that is no OSError."""


@pytest.mark.parametrize('loss', ['a motor', 'the bus', 'the driver', 'NaN'])
def test_drives_are_damped_when_states_are_lost(follower, loss):
    inner, model = follower
    run(inner, model, 50)
    if loss == 'a motor':
        inner.bus.lost = (JOINTS[0],)
    elif loss.startswith('the '):
        inner.bus.fails = {'the bus': ConnectionError('off'), 'the driver': BusError('off')}[loss]
    else:
        model.send_action({f'{JOINTS[0]}.pos': math.nan})
    model.cycle(0.25)
    for j, name in enumerate(JOINTS):
        kp, kd, _, speed, tau = inner.bus.commands[name]
        assert (kp, kd, speed, tau) == (0.0, KD[j], 0.0, 0.0)
    inner.bus.lost, inner.bus.fails = (), None
    model.cycle(0.255)
    assert inner.bus.commands[JOINTS[0]][0] == 0.0
    model.restart()
    model.cycle(0.26)
    assert inner.bus.commands[JOINTS[0]][0] == KP[0]


@pytest.mark.parametrize('error', [OSError('no buffer space'), BusError('off')])
def test_drives_are_damped_after_a_command_that_was_not_sent(follower, error):
    inner, model = follower
    run(inner, model, 50)
    inner.bus.full = error
    model.cycle(0.25)
    assert 'was not sent' in model.loop.fault
    inner.bus.full = None
    model.cycle(0.255)
    for j, name in enumerate(JOINTS):
        kp, kd, _, speed, tau = inner.bus.commands[name]
        assert (kp, kd, speed, tau) == (0.0, KD[j], 0.0, 0.0)


def test_a_thread_commands_the_drives_while_connected(follower):
    inner, model = follower
    model.connect()
    assert model.is_connected
    end = time.monotonic() + 10
    while not inner.bus.commands and time.monotonic() < end:
        time.sleep(0.005)
    assert model.get_observation()
    model.disconnect()
    assert not model.is_connected
    inner.bus.commands = {}
    time.sleep(0.02)
    assert not inner.bus.commands


def test_joints_without_a_motor_are_named():
    inner = Follower()
    del inner.bus.motors[JOINTS[0]]
    with pytest.raises(ValueError, match=f'the arm has the joints {JOINTS[0]}; expected'):
        EXAMPLE['ModelFollower'](inner, ARM, KP, KD)
