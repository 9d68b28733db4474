# SPDX-License-Identifier: Apache-2.0
"""Retiming in a process: the results of the library, its errors, and how the process ends."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control.retiming import retime
from robot_dynamics.control.retiming_process import RetimingProcess
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.friction.memory import FrictionWithOffset
from robot_dynamics.core.model.robots import planar_2r

LIMIT = np.array([90.0, 30.0])  # N m


@pytest.fixture
def process():
    process = RetimingProcess()
    yield process
    process.close()


@pytest.fixture(scope='module')
def arm():
    return Dynamics(replace(planar_2r(), velocity_limit=np.full(2, 3.0)))


def motion(arm, end=0.8):
    q = [[0.1, -0.2], [0.3, 0.4], [end, 0.1]]
    return Trajectory(arm.model.joint_names, [0.0, 1.0, 2.0], q)


def same(actual, desired):
    np.testing.assert_array_equal(actual.times, desired.times)
    np.testing.assert_array_equal(actual.points, desired.points)


def test_the_results_are_those_of_the_library_for_each_robot_and_friction(process, arm):
    loaded = arm.with_payload(arm.model.body_names[-1], 1.5, [0.1, 0.0, 0.0])
    friction = FrictionWithOffset(coulomb_friction(0.4, 0.7), np.array([1.0, -0.5]))
    for robot in (arm, loaded, loaded, arm):
        start = motion(robot).points[0, 0] - 0.05
        found = process.retime(robot, motion(robot), LIMIT, friction, start)
        same(found, retime(robot, motion(robot), LIMIT, friction=friction, start=start))
    pid = process.pid
    process.warm(arm, friction)
    assert process.pid == pid


def test_errors_are_those_of_the_library_and_the_process_goes_on(process, arm):
    friction, none = coulomb_friction(0.1, 0.1), np.full(2, 1e-3)
    with pytest.raises(TrajectoryError, match='against gravity and friction in the posture'):
        process.retime(arm, motion(arm), none, friction)
    pid = process.pid
    same(
        process.retime(arm, motion(arm), LIMIT, friction),
        retime(arm, motion(arm), LIMIT, friction=friction),
    )
    assert process.pid == pid


def test_an_error_of_the_program_ends_the_process_and_the_next_request_starts_another(
    process, arm, capfd
):
    with pytest.raises(TrajectoryError, match='the retiming process ended: exit code 1'):
        process.retime(arm, motion(arm), LIMIT, 'no friction')
    assert 'AttributeError' in capfd.readouterr().err
    assert process.pid is None
    assert process.retime(arm, motion(arm), LIMIT, coulomb_friction(0.1, 0.1)).duration < 2.0
    # One that ended between two requests is replaced as well.
    before = process.pid
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert process.retime(arm, motion(arm), LIMIT, coulomb_friction(0.1, 0.1)).duration < 2.0
    pid = process.pid
    assert pid != before
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    process.close()
    assert not Path(f'/proc/{pid}').exists()
