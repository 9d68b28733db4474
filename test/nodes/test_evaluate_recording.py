"""What the simulator node records is understood by `robot-dynamics evaluate`, without ROS."""

import re

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('mcap')
pytest.importorskip('rosbags')

from robot_dynamics import cli
from robot_dynamics.control import Trajectory, pd_gains
from robot_dynamics.ros.recordings.run_recorder import RunRecorder
from robot_dynamics.simulation import Simulator
from robot_dynamics.simulation.commands import Place, Plant
from robot_dynamics.simulation.scheduling import Command, LoopOptions, SimulationLoop

STEP = 1e-3  # s
BRAKED, MOVING = 200, 6000  # steps


@pytest.fixture
def recorded(elbow, elbow_urdf, tmp_path):
    """A run that begins with brakes, and then follows a trajectory."""
    plant = Plant(Simulator(elbow, time_step=STEP))
    points = np.array([[0.3, -0.4], [1.0, 0.5], [-0.5, -1.0], [0.8, 0.6], [0.3, -0.4]])
    times, rest = np.linspace(0, 6, len(points)), np.zeros_like(points)
    motion = Trajectory(elbow.model.joint_names, times, points, rest, rest)
    gains = pd_gains(elbow, points, STEP)
    loop = SimulationLoop(plant, Place(points[0], rest[0]), LoopOptions(lockstep=True))
    path = tmp_path / 'run.mcap'
    recorder = RunRecorder(
        path,
        loop,
        elbow_urdf,
        {},
        node='/simulator_node',
        resolve=lambda topic: f'/{topic.split("/")[-1]}',
    )
    for k in range(BRAKED + MOVING):
        if k >= BRAKED:
            d = motion.sample((k - BRAKED) * STEP)
            feedback = gains.kp * (d.q - plant.q) + gains.kd * (d.qd - plant.qd)
            tau = elbow.inverse_dynamics(*d) + elbow.friction_torque(d.qd) + feedback
            loop.command(Command(tau, loop.stamp, 0.0))
            loop.published(0.0)
            loop.step(0.0)
        else:
            loop.step_with_last()
        recorder.seen()
    recorder.close()
    return path


def test_a_recording_of_the_simulator_is_read_and_explained(recorded, capsys):
    assert cli.main(['evaluate', str(recorded), '--max-relative', '0.005']) == 0
    shown = capsys.readouterr().out
    # Commands have efforts too, but no positions: they are no measurement.
    assert shown.startswith(f'{recorded}, /joint_states\nelbow: ')
    # The state at the start, and one for each step while the brakes held.
    assert f'{BRAKED + 1} with all efforts 0: drives off' in shown
    assert 'no cause stands out of the noise' in shown


def test_what_another_description_lacks_is_found(recorded, elbow_urdf, tmp_path, capsys):
    other = tmp_path / 'other.urdf'
    other.write_text(elbow_urdf.replace('friction="0.05"', 'friction="0.35"'))
    assert cli.main(['evaluate', str(recorded), '--robot', str(other)]) == 0
    said = re.search(
        r'shoulder: the model has (\S+) ± \S+ N m too much dry friction', capsys.readouterr().out
    )
    assert float(said[1]) == pytest.approx(0.3, rel=0.01)
