"""What was heard in one run, and what is made of it."""

import json
from array import array

import numpy as np
import pytest

from robot_dynamics.control import Trajectory
from robot_dynamics.nodes.demo import figures, picture
from robot_dynamics.nodes.demo.recording import Piece, Recording
from robot_dynamics.nodes.demo.screen import Screen, figures_now

NUMBERS = (
    'simulated_s',
    'rms_error_feedforward_rad',
    'rms_error_pd_rad',
    'max_error_feedforward_rad',
    'max_error_pd_rad',
    'error_ratio',
    'torque_scale',
    'real_time_factor',
    'state_rate_hz',
    'states_heard',
    'latency_p50_us',
    'latency_p99_us',
    'latency_max_us',
)
PROMISED = {
    'robot',
    'joints',
    'simulated_s',
    'rms_error_feedforward_rad',
    'rms_error_pd_rad',
    'pybullet_residual_rel',
    'real_time_factor',
    'latency_p50_us',
    'latency_p99_us',
}


def doubles(*values):
    return array('d', values)


def test_error_is_measured_minus_desired(recording):
    assert np.allclose(recording.error(), -0.25)
    assert figures.tracking_error(recording) == pytest.approx((0.25, 0.25))
    assert recording.simulated == 1.0


def test_a_later_trajectory_counts_from_its_start(recording):
    recording.pieces.append(Piece(500_000_000, Trajectory(['j'], [0.0], [[0.125]])))
    q = recording.desired(np.array([0.4, 0.5, 0.9])).q[:, 0]
    assert np.allclose(q, [0.4, 0.125, 0.125])


def test_repeated_states_count_once():
    recording = Recording(1)
    for stamp in (0, 0, 1, 1, 0):
        recording.heard_state(stamp, 0, *[doubles(stamp)] * 3)
    assert recording.q.values.tolist() == [[0.0], [1.0]]


def test_it_ends_with_the_motion(recording):
    pieces, recording = recording.pieces, Recording(1, end=2e-9)
    recording.pieces = pieces
    recording.began = 1_000
    for stamp in (0, 1, 2, 3):
        assert recording.complete == (stamp > 2)
        recording.heard_state(stamp, 1_000 + 500 * stamp, *[doubles(stamp)] * 3)
    assert recording.q.values.tolist() == [[0.0], [1.0], [2.0]]
    assert recording.wall_time == pytest.approx(1e-6)
    assert recording.simulated == pytest.approx(2e-9)


def test_it_ends_even_if_the_last_state_is_missed():
    recording = Recording(1, end=2e-9)
    for stamp in (0, 1, 5):
        recording.heard_state(stamp, 0, *[doubles(stamp)] * 3)
    assert recording.complete
    assert recording.q.values.tolist() == [[0.0], [1.0]]


def test_latency_is_from_the_first_publication_of_the_state_answered():
    recording = Recording(1)
    recording.heard_state(7, 1_000, *[doubles(0)] * 3)
    recording.heard_state(7, 5_000, *[doubles(0)] * 3)
    recording.heard_torque(8, 6_000)  # answers nothing that was heard
    recording.heard_torque(7, 9_000)
    recording.heard_torque(7, 99_000)  # a second answer
    assert list(recording.latencies) == pytest.approx([8e-6])


def test_answers_from_before_a_reset_are_left_out():
    recording = Recording(1)
    recording.heard_state(5, 0, *[doubles(0)] * 3)
    for stamp in (4, 9_000, 5, 5):
        recording.heard_answer(recording.residual, stamp, doubles(stamp))
    assert recording.residual.values.tolist() == [[4.0], [5.0]]


def test_figures_of_both_runs(recording):
    runs = (recording, recording)
    assert figures.torque_scale(runs) == 3.0
    assert figures.largest_residual(runs) == 3e-9
    assert figures.latencies_us(runs) == pytest.approx((250.0, 250.0, 250.0))
    assert figures.largest_residual((Recording(1), Recording(1))) is None


def figures_of(**changes):
    numbers = dict.fromkeys(NUMBERS, 1.5)
    words = {'robot': 'r', 'joints': ['j'], 'judge': 'PyBullet', 'verdict': 'PASS'}
    other = {'pybullet_residual_rel': 1e-9, 'verdict_notes': [], 'missed_commands': 0}
    return figures.Figures(**{**numbers, **words, **other, **changes})


def test_json_has_the_promised_keys():
    found = json.loads(json.dumps(figures_of().as_json()))
    assert found.keys() >= PROMISED


def test_the_table_says_what_happened():
    table = dict(
        figures.rows(
            figures_of(
                pybullet_residual_rel=None,
                verdict='NOT COMPARABLE',
                verdict_notes=["PyBullet holds another link 'a'"],
                restarts={'simulator_node': 2, 'dynamics_node': 0},
            )
        )
    )
    assert table['nodes restarted'] == 'simulator_node 2'
    assert table['worst residual while moving'] == 'none heard'
    assert table['verdict'] == "NOT COMPARABLE\nPyBullet holds another link 'a'"


def test_plain_screen(recording, capsys):
    with Screen() as screen:
        screen.begin('run', 1.0)
        for _ in range(3):
            screen.progress(recording)
        screen.table([('a', '1'), ('longer', '2\n3')])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith('run:  1.00 of 1 s   error 2.5e-01 rad  torque   3.0 N m')
    assert shown[0].endswith('residual 3e-09 N m  0.50 x real time')
    assert shown[1:] == ['a       1', 'longer  2', '        3']


def test_figures_now_without_a_judge(recording):
    silent = Recording(1)
    silent.pieces = recording.pieces
    silent.heard_state(0, 0, *[doubles(0)] * 3)
    assert 'residual' not in figures_now(silent)


def test_interesting_joints_are_two():
    recording = Recording(3)
    recording.heard_state(0, 0, doubles(0, 0, 0), doubles(0, 0, 0), doubles(1, -9, 2))
    recording.heard_answer(recording.terms['inertia'], 0, doubles(3, 8, 4))
    assert picture.interesting_joints(recording) == (1, 2)


@pytest.mark.parametrize('heard', [True, False])
def test_picture(recording, tmp_path, heard):
    pytest.importorskip('matplotlib')
    other = recording
    if not heard:
        other = Recording(1)
        other.pieces = recording.pieces
        other.heard_state(0, 0, *[doubles(0)] * 3)
    file = tmp_path / 'demo.png'
    picture.draw(file, 'title', ('j',), recording, other)
    assert file.read_bytes().startswith(b'\x89PNG')
