# SPDX-License-Identifier: Apache-2.0
"""Records of a run, the figures computed from them, and the picture; without nodes."""

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robot_dynamics.cli import demo_client
from robot_dynamics.cli.demo import REPORT, SIMULATION, DemoRobot, summarize
from robot_dynamics.cli.demo_client import REPEAT, TERMS, Requests, Row, Run
from robot_dynamics.cli.demo_figure import draw, interesting_joints
from robot_dynamics.cli.demo_nodes import TIME_STEP
from robot_dynamics.control import Trajectory
from robot_dynamics.control.swing import Swing
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r

STEP = round(1e9 * TIME_STEP)  # ns
LAG = 0.25  # rad, by which the joints are behind
LATENCY = 250_000  # ns


def swing_of(n):
    """Return a swing in which the last joint does not move."""
    return Swing(np.zeros(n), np.arange(n)[::-1], np.ones(n), 1.0)


def record(duration=0.1, residual=True):
    """Return a run of two joints at half of real time, 0.25 rad behind their line."""
    points = [[0.0, 0.0], [1.0, -2.0]]
    line = Trajectory(['joint1', 'joint2'], [0.0, duration], points, interpolation='linear')
    run = Run(line)
    for k in range(round(duration / TIME_STEP) + 1):
        stamp = k * STEP
        sent = 2 * stamp
        q = np.array([1.0, -2.0]) * k * TIME_STEP / duration - LAG
        run.add('states', Row(stamp, sent, [*q, 0.0, 0.0, -3.0, 4.0]))
        run.add('torque', Row(stamp, sent + LATENCY, [0.0, 0.0]))
        run.add('inertia', Row(stamp, sent, [2.0, 1.0]))
        if residual:
            run.add('residual', Row(stamp, sent, [3e-9, -8e-9]))
    return run


def test_repeated_states_and_answers_to_other_runs_are_not_recorded():
    run = Run(Trajectory(['a'], [0.0, 8e-9], [[0.0], [1.0]]))
    run.add('torque', Row(7, 70, [1.0]))  # of the run before: no state yet
    for stamp in (3, 3, 7, 5, 9):
        run.add('states', Row(stamp, 10 * stamp, [stamp, -stamp, 0]))
    run.add('torque', Row(7, 70, [2.0]))
    run.add('torque', Row(8, 70, [3.0]))
    assert run.column('states', 'stamp').tolist() == [3, 7]
    assert run.column('states', 'values').tolist() == [[3, -3, 0], [7, -7, 0]]
    assert run.rows['torque'] == [Row(7, 70, [2.0])]


@pytest.mark.parametrize('late', [0, 1])
def test_a_request_without_a_response_is_sent_again(monkeypatch, late):
    sent, now = [], [0.0]
    monkeypatch.setattr(demo_client, 'time', SimpleNamespace(monotonic=lambda: now[0]))

    def ask():
        sent.append(Future())
        return sent[-1]

    requests = Requests(ask)
    for part, expected in ((0.5, 1), (0.9, 1), (1.1, 2), (1.9, 2)):
        now[0] = part * REPEAT
        assert not requests.answered()
        assert len(sent) == expected
    sent[late].set_result('paused')
    assert requests.answered()
    assert requests.response == 'paused'


def test_error_is_measured_minus_desired():
    assert np.allclose(record().error(), -LAG, rtol=0, atol=1e-12)


def test_latency_is_taken_between_equal_stamps():
    run = record()
    run.rows['torque'].append(Row(run.end + STEP, 0, [0.0, 0.0]))  # of no recorded state
    assert run.latencies() == pytest.approx([LATENCY / 1e9] * len(run.rows['states']))


def test_the_summary_holds_the_figures_of_both_runs(tmp_path):
    robot, motion = DemoRobot('', {}, Dynamics(planar_2r()), {}), swing_of(2)
    report = {'engine': 'PyBullet', 'verdict': 'PASS', 'note 1': 'a', 'other': 'b'}
    reports = {REPORT: report, SIMULATION: {'missed commands': '3'}}
    found = summarize(robot, motion, [record(), record()], reports)
    assert found['rms_error_feedforward_rad'] == pytest.approx(LAG)
    assert found['max_error_pd_rad'] == pytest.approx(LAG)
    assert found['torque_scale'] == 4.0
    assert found['pybullet_residual_rel'] == pytest.approx(2e-9)
    assert found['real_time_factor'] == pytest.approx(0.5)
    assert found['state_rate_hz'] == pytest.approx(500)
    assert found['states_recorded'] == pytest.approx(1.0)
    assert found['latency_p99_us'] == pytest.approx(250)
    assert found['missed_commands'] == 3
    assert found['verdict_notes'] == ['a']
    assert found['still_joints'] == ['joint2']
    late = record()
    late.rows['torque'][3] = Row(3 * STEP, 6 * STEP + 501_000_000, [0.0, 0.0])
    (_, note) = summarize(robot, motion, [record(), late], reports)['verdict_notes']
    assert note.startswith(
        'the machine is too busy for the rate of the demo: a torque came 0.501 s'
    )
    gap = record(duration=1.0)
    gap.rows['inertia'] = [row for row in gap.rows['inertia'] if not 100 < row.stamp / STEP < 800]
    (_, note) = summarize(robot, motion, [record(), gap], reports)['verdict_notes']
    assert note.endswith('dynamics_node published no terms for 0.7 s of the motion')
    lost = record(duration=1.0)
    lost.rows['states'] = [row for row in lost.rows['states'] if row.stamp / STEP < 400]
    figures = summarize(robot, motion, [record(duration=1.0), lost], reports)
    assert figures['simulated_s'] == pytest.approx(2.0)
    assert figures['states_recorded'] == pytest.approx(0.7, abs=1e-3)
    assert figures['real_time_factor'] == pytest.approx(0.5)
    assert figures['verdict_notes'][-1].endswith(
        '0.6 s of the states are missing from the tracking errors'
    )
    silent = [record(residual=False)] * 2
    assert summarize(robot, motion, silent, {})['pybullet_residual_rel'] is None


def test_interesting_joints_are_two():
    line = Trajectory(['a', 'b', 'c'], [0.0, 1.0], np.zeros((2, 3)))
    run = Run(line)
    run.add('states', Row(0, 0, [*np.zeros(6), 1, -9, 2]))
    run.add(TERMS[2], Row(0, 0, [3, 8, 4]))
    assert interesting_joints(run) == (1, 2)


@pytest.mark.parametrize('residual', [True, False])
def test_the_figure_is_drawn(tmp_path, residual):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'demo.png'
    draw(file, 'arm', record(), record(residual=residual))
    assert file.read_bytes().startswith(b'\x89PNG')
