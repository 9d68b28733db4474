"""Records of a run, the figures computed from them, and the picture; without nodes."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robot_dynamics.cli.demo import TIME_STEP, DemoRobot, summarize
from robot_dynamics.cli.demo_client import TERMS, Run, Series
from robot_dynamics.cli.demo_figure import draw, interesting_joints
from robot_dynamics.control import Trajectory
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robots import planar_2r

STEP = round(1e9 * TIME_STEP)  # ns
START = 5 * STEP
LAG = 0.25  # rad, by which the joints are behind
LATENCY = 250_000  # ns


def record(duration=0.1, residual=True):
    """Return a run of two joints at half of real time, 0.25 rad behind their line."""
    line = Trajectory(['joint1', 'joint2'], [0.0, duration], [[0.0, 0.0], [1.0, -2.0]])
    run = Run(line, START)
    for k in range(round(duration / TIME_STEP) + 1):
        stamp = START + k * STEP
        sent = 2 * stamp
        q = np.array([1.0, -2.0]) * k * TIME_STEP / duration - LAG
        run.states.append(stamp, sent, [*q, 0.0, 0.0, -3.0, 4.0])
        run.answers['torque'].append(stamp, sent + LATENCY, [0.0, 0.0])
        run.answers['inertia'].append(stamp, sent, [2.0, 1.0])
        if residual:
            run.answers['residual'].append(stamp, sent, [3e-9, -8e-9])
    return run


def test_rows_that_are_not_newer_are_not_appended():
    series = Series(2)
    for stamp in (3, 3, 7, 5, 9):
        series.append(stamp, 10 * stamp, [stamp, -stamp])
    assert series.stamps.tolist() == [3, 7, 9]
    assert series.rows.tolist() == [[3, -3], [7, -7], [9, -9]]
    assert series.last.tolist() == [9, -9]


def test_error_is_measured_minus_desired():
    run = record()
    assert np.allclose(run.error(), -LAG, rtol=0, atol=1e-12)
    t, error = run.now()
    assert t == pytest.approx(0.1)
    assert error == pytest.approx(LAG)


def test_latency_is_taken_between_equal_stamps():
    run = record()
    run.answers['torque'].append(run.states.newest + STEP, 0, [0.0, 0.0])  # of no recorded state
    assert run.latencies() == pytest.approx([LATENCY / 1e9] * len(run.states))


def test_the_summary_holds_the_figures_of_both_runs(tmp_path):
    robot = DemoRobot(tmp_path, Dynamics(planar_2r()), {}, ())
    report = {'engine': 'PyBullet', 'verdict': 'PASS', 'note 1': 'a', 'other': 'b'}
    found = summarize(robot, [], [record(), record()], report, {'missed commands': '3'})
    assert found['rms_error_feedforward_rad'] == pytest.approx(LAG)
    assert found['max_error_pd_rad'] == pytest.approx(LAG)
    assert found['torque_scale'] == 4.0
    assert found['pybullet_residual_rel'] == pytest.approx(2e-9)
    assert found['real_time_factor'] == pytest.approx(0.5)
    assert found['state_rate_hz'] == pytest.approx(500)
    assert found['states_heard'] == pytest.approx(1.0)
    assert found['latency_p99_us'] == pytest.approx(250)
    assert found['missed_commands'] == 3
    assert found['verdict_notes'] == ['a']
    silent = [record(residual=False)] * 2
    assert summarize(robot, [], silent, {}, {})['pybullet_residual_rel'] is None


def test_interesting_joints_are_two():
    line = Trajectory(['a', 'b', 'c'], [0.0, 1.0], np.zeros((2, 3)))
    run = Run(line, 0)
    run.states.append(0, 0, [*np.zeros(6), 1, -9, 2])
    run.answers[TERMS[2]].append(0, 0, [3, 8, 4])
    assert interesting_joints(run) == (1, 2)


@pytest.mark.parametrize('residual', [True, False])
def test_the_figure_is_drawn(tmp_path, residual):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'demo.png'
    draw(file, 'arm', record(), record(residual=residual))
    assert file.read_bytes().startswith(b'\x89PNG')
