# SPDX-License-Identifier: Apache-2.0
"""A bag of a simulated robot is explained by `robot-dynamics evaluate`."""

import re

import numpy as np
import pytest

pytest.importorskip('rosbags')

from recorded_runs import samples, write_bag

from robot_dynamics import cli
from robot_dynamics.control import Trajectory, pd_gains
from robot_dynamics.simulation import Simulator
from robot_dynamics.simulation.plant import Plant, SetState
from robot_dynamics.simulation.scheduling import LoopOptions, ReceivedCommand, SimulationLoop

STEP = 1e-3  # s
BRAKED, MOVING = 200, 6000  # steps


@pytest.fixture
def recorded(elbow, elbow_urdf, tmp_path):
    """A bag that begins with brakes, and then follows a trajectory."""
    plant = Plant(Simulator(elbow, time_step=STEP))
    points = np.array([[0.3, -0.4], [1.0, 0.5], [-0.5, -1.0], [0.8, 0.6], [0.3, -0.4]])
    times, rest = np.linspace(0, 6, len(points)), np.zeros_like(points)
    motion = Trajectory(elbow.model.joint_names, times, points, rest, rest)
    gains = pd_gains(elbow, points, STEP)
    loop = SimulationLoop(plant, SetState(points[0], rest[0]), LoopOptions(lockstep=True))
    rows = [(0.0, plant.q, plant.qd, plant.effort)]
    for k in range(BRAKED + MOVING):
        if k >= BRAKED:
            d = motion.sample((k - BRAKED) * STEP)
            feedback = gains.kp * (d.q - plant.q) + gains.kd * (d.qd - plant.qd)
            tau = elbow.inverse_dynamics(*d) + elbow.friction_torque(d.qd) + feedback
            loop.command(ReceivedCommand(tau, loop.stamp, 0.0))
            loop.state_published(0.0)
            loop.step(0.0)
        else:
            loop.step_with_last()
        rows.append((loop.time, plant.q, plant.qd, plant.effort))
    names = elbow.model.joint_names
    states = samples(names, *(np.array(column) for column in zip(*rows, strict=True)))
    return write_bag(
        tmp_path / 'run',
        {'/joint_states': states, '/joint_effort': commands(states)},
        descriptions={'/robot_description': elbow_urdf},
    )


def commands(states):
    """Return commands: they have efforts, but no positions."""
    empty = np.zeros(0)
    return [state._replace(position=empty, velocity=empty) for state in states]


def test_a_bag_of_the_simulator_is_explained(recorded, capsys):
    assert cli.main(['evaluate', str(recorded), '--max-relative', '0.005']) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f'{recorded}, /joint_states\nelbow: ')
    # The state at the start, and one for each step while the brakes held.
    assert f'{BRAKED + 1} with all efforts 0: drives off' in shown
    assert 'no cause exceeds the noise' in shown


@pytest.mark.slow
def test_friction_that_another_description_lacks_is_found(recorded, elbow_urdf, tmp_path, capsys):
    other = tmp_path / 'other.urdf'
    other.write_text(elbow_urdf.replace('friction="0.05"', 'friction="0.35"'))
    assert cli.main(['evaluate', str(recorded), '--robot', str(other)]) == 0
    said = re.search(
        r'shoulder: the model overestimates dry friction by (\S+) ± ', capsys.readouterr().out
    )
    assert float(said[1]) == pytest.approx(0.3, rel=0.01)
