# SPDX-License-Identifier: Apache-2.0
"""The verb `trajectory`: figures, exit codes, slowed files, and errors in one line."""

import json
from pathlib import Path

import numpy as np
import pin_model
import pytest

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.urdf.loading import load_urdf

ELBOW = share_file('urdf/planar_2r.urdf')
MOTION = Path(__file__).parent / 'elbow_motion.yaml'


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of the verb."""

    def run(*arguments):
        code = cli.main(['trajectory', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def torques(file, speed=1.0):
    """Return torques (1001, 2) along the motion of a file at a share of its speed."""
    model = load_urdf(ELBOW)
    motion = read_trajectory(file)
    q, qd, qdd = motion.sample(np.linspace(0.0, motion.duration, 1001))
    qd, qdd = speed * qd, speed**2 * qdd
    other = pin_model.PinRobot(model)
    tau = np.array([other.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)])
    return tau + model.viscous * qd + model.coulomb * np.tanh(qd / 1e-2)


def test_a_feasible_motion_has_exit_code_0_and_its_margin(run, tmp_path):
    file, picture = tmp_path / 'out.json', tmp_path / 'out.png'
    tau = torques(MOTION)
    limit = 1.25 * np.abs(tau).max()
    code, shown, _ = run(
        MOTION, '--robot', ELBOW, '--effort', limit, '--json', file, '--picture', picture
    )
    assert code == 0
    assert 'feasible: 20 % of the effort limits is unused' in shown
    figures = json.loads(file.read_text())
    assert figures['feasible'] is True
    assert figures['margin'] == pytest.approx(0.2, abs=1e-4)
    assert abs(figures['torque']) == pytest.approx(np.abs(tau).max(), rel=1e-4)
    assert figures['joint'] == 'joint1'
    assert figures['time'] == pytest.approx(2.0 * np.abs(tau[:, 0]).argmax() / 1000, abs=5e-3)
    assert figures['joints'][0]['velocity_limit'] == 10.0
    assert picture.read_bytes().startswith(b'\x89PNG')


def test_an_infeasible_motion_is_written_slower_within_the_limits(run, tmp_path):
    slowed, again = tmp_path / 'slowed.yaml', tmp_path / 'again.yaml'
    largest = [np.abs(torques(MOTION, speed)).max() for speed in (0.0, 1.0)]
    limits = ('--robot', ELBOW, '--effort', np.mean(largest))
    code, shown, _ = run(MOTION, *limits, '--slow-down', slowed)
    assert code == 1
    assert "infeasible: joint 'joint1' needs " in shown
    assert 'largest feasible speed: ' in shown
    assert (np.abs(torques(slowed)) <= limits[-1]).all()
    assert read_trajectory(slowed).duration > 2.0
    code, shown, _ = run(slowed, *limits, '--slow-down', again)
    assert code == 0
    assert again.read_text() == slowed.read_text()


def test_the_fastest_motion_is_written_with_what_bounds_it(run, tmp_path):
    fastest, again, figures = (tmp_path / name for name in ('fast.yaml', 'again.yaml', 'out.json'))
    limit = 1.3 * np.abs(torques(MOTION)).max()
    limits = ('--robot', ELBOW, '--effort', limit)
    code, shown, _ = run(MOTION, *limits, '--fastest', fastest, '--json', figures)
    assert code == 0
    written = json.loads(figures.read_text())['fastest']
    assert f'{fastest}: {written["duration"]:.6g} s instead of 2 s' in shown
    assert read_trajectory(fastest).duration == pytest.approx(written['duration'], rel=1e-9)
    sections = written['sections']
    assert [x['start'] for x in sections[1:]] == [x['end'] for x in sections[:-1]]
    assert sections[-1]['end'] == pytest.approx(written['duration'])
    longest = max(sections, key=lambda x: x['end'] - x['start'])
    assert (longest['limit'], longest['joint']) == ('effort', 'joint1')
    assert 0.8 < longest['share'] <= 1.0
    assert longest['joint'] in shown
    # By Pinocchio: within the limit, and near it
    assert 0.93 * limit < np.abs(torques(fastest)).max() <= limit
    # It stays the fastest.
    run(fastest, *limits, '--fastest', again)
    durations = [read_trajectory(file).duration for file in (fastest, again)]
    assert durations[1] == pytest.approx(durations[0], rel=0.01)


def test_gravity_alone_writes_nothing(run, tmp_path):
    slowed = tmp_path / 'slowed.yaml'
    code, shown, _ = run(MOTION, '--robot', ELBOW, '--effort', 0.01, '--slow-down', slowed)
    assert code == 1
    assert 'no speed is feasible: joint ' in shown
    assert 'against gravity alone' in shown
    assert not slowed.exists()


def test_positions_beyond_a_limit_are_infeasible_at_any_speed(run, tmp_path):
    file, slowed = tmp_path / 'far.yaml', tmp_path / 'slowed.yaml'
    panda = load_urdf('panda')
    points = [[0.0] * 3 + [-1.0] + [0.0, 1.0, 0.0], [9.0] + [0.0] * 2 + [-1.0] + [0.0, 1.0, 0.0]]
    lines = [f'joint_names: {list(panda.joint_names)}', 'points:']
    for t, q in enumerate(points):
        lines += [f'- positions: {q}', f'  time_from_start: {{sec: {9 * t}}}']
    file.write_text('\n'.join(lines))
    code, shown, _ = run(file, '--robot', 'panda', '--slow-down', slowed)
    assert code == 1
    assert "infeasible: joint 'panda_joint1' goes up to 9" in shown
    assert 'is not written' in shown
    assert not slowed.exists()


@pytest.mark.parametrize(
    ('option', 'wider', 'narrower'),
    [('--velocity', 100.0, 1e-3), ('--effort', 1e6, 1.0), ('--effort-margin', 0.0, 0.98)],
)
def test_options_narrow_the_limits_of_the_description_and_never_widen_them(
    run, tmp_path, option, wider, narrower
):
    shown, limits = [], []
    for k, words in enumerate(([], [option, wider], [option, narrower])):
        file = tmp_path / f'{k}.json'
        code, text, _ = run(MOTION, '--robot', ELBOW, '--json', file, *words)
        figures = json.loads(file.read_text())
        shown.append((code, text))
        limits.append([(joint['limit'], joint['velocity_limit']) for joint in figures['joints']])
    assert shown[1] == shown[0]
    assert limits[1] == limits[0]
    assert shown[2][0] == 1
    assert (np.array(limits[2]) <= limits[0]).all()
    assert limits[2] != limits[0]


def waypoints(file, speed):
    """Write four points of positions alone, joined at a speed in the first joint of the Panda."""
    names = load_urdf('panda').joint_names
    lines = [f'joint_names: {json.dumps(names)}', 'points:']
    for k in range(4):
        q = [0.5 * speed * (k % 2), 0.8, 0.0, -1.0, 0.0, 1.2, 0.0]
        time = f'{{sec: {k // 2}, nanosec: {500_000_000 * (k % 2)}}}'
        lines += [f'- positions: {q}', f'  time_from_start: {time}']
    file.write_text('\n'.join(lines))
    return file


@pytest.mark.parametrize('side', [1, -1])
def test_positions_alone_are_joined_smoothly_and_their_corners_named_where_lines_are_requested(
    run, tmp_path, side
):
    slow, fast = (waypoints(tmp_path / f'{v}.yaml', side * v) for v in (0.3, 2.0))
    file, slowed = tmp_path / 'out.json', tmp_path / 'slowed.yaml'
    code, shown, _ = run(slow, '--robot', 'panda')
    assert (code, 'corner' in shown) == (0, False)
    code, shown, _ = run(slow, '--robot', 'panda', '--interpolation', 'linear')
    assert code == 0
    assert shown.count('corner: point') == 4
    linear = ('--robot', 'panda', '--interpolation', 'linear', '--json', file)
    code, shown, _ = run(fast, *linear, '--slow-down', slowed)
    assert code == 1
    assert (
        "infeasible: point 1, at 0.5 s, is a corner: the velocity of joint 'panda_joint1' steps "
        f'by {-4 * side} rad/s' in shown
    )
    assert 'add velocities' in shown
    assert f'{slowed} is not written: not slowed down: point ' in shown
    assert not slowed.exists()
    corners = json.loads(file.read_text())['corners']
    assert [(corner['point'], corner['joint']) for corner in corners] == [
        (k, 'panda_joint1') for k in range(4)
    ]
    assert [corner['step'] for corner in corners] == pytest.approx(
        [side * step for step in (2, -4, 4, -2)]
    )
    # A longer time allows what a shorter one does not.
    assert run(fast, *linear, '--corner-time', 0.2, '--slow-down', slowed)[0] == 0
    assert slowed.exists()
    # It takes lines at their largest speed as well; the file is one of lines.
    assert run(fast, *linear, '--corner-time', 0.2, '--velocity', 1.5, '--slow-down', slowed)[0]
    assert run(slowed, *linear, '--corner-time', 0.2, '--velocity', 1.5)[0] == 0
    assert read_trajectory(slowed, 'linear').waypoint(1).qd is None


def test_payload_and_margin_count(run):
    code, _, _ = run(MOTION, '--robot', ELBOW, '--effort', 60)
    assert code == 0
    code, _, _ = run(MOTION, '--robot', ELBOW, '--effort', 60, '--payload', 'link2', 50)
    assert code == 1
    code, _, _ = run(MOTION, '--robot', ELBOW, '--effort', 60, '--effort-margin', 0.9)
    assert code == 1


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', 'expected the keys joint_names and points'),
        ('[1, 2', 'is not YAML'),
        ('a: 2020-99-99', 'expected the keys joint_names and points'),
        ('joint_names: [joint1, joint2]\npoints: 3', 'points is 3; expected a list'),
        ('joint_names: [1, 2]\npoints: []', 'joint_names is [1, 2]; expected strings'),
        ('joint_names: [joint1, joint2]\npoints: []', 'has no points'),
        ('joint_names: [joint1, joint2]\npoints: [5]', 'point 0 is 5'),
        ('joint_names: [joint1, joint2]\npoints: [{positions: [0, 0]}]', 'time_from_start of'),
        (
            'joint_names: [joint1, joint2]\n'
            'points: [{positions: [0, 0], time_from_start: {sec: x}}]',
            'expected integers sec and nanosec',
        ),
        (
            'joint_names: [joint1, joint2]\n'
            'points: [{positions: [0, .nan], time_from_start: {sec: 0}}]',
            "joint 'joint2', is nan; it must be finite",
        ),
        (
            'joint_names: [joint1, joint2]\npoints: [{positions: [0], time_from_start: {sec: 0}}]',
            'has 1 values for 2 joints',
        ),
        (
            'joint_names: [joint1]\npoints: [{positions: [0], time_from_start: {sec: 0}}]',
            "lacks joint 'joint2'",
        ),
    ],
)
def test_a_bad_file_is_one_line_with_exit_code_2(text, said, run, tmp_path):
    file = tmp_path / 'bad.yaml'
    file.write_text(text)
    code, shown, error = run(file, '--robot', ELBOW)
    assert (code, shown) == (2, '')
    assert said in error
    assert error.count('\n') == 1


def test_other_bad_input_is_one_line_with_exit_code_2(run, tmp_path):
    binary = tmp_path / 'binary'
    binary.write_bytes(bytes(range(128, 256)))
    for words, said in (
        ((tmp_path / 'none.yaml', '--robot', ELBOW), 'none.yaml'),
        ((binary, '--robot', ELBOW), 'is not YAML'),
        ((MOTION, '--robot', tmp_path / 'none.urdf'), 'none.urdf'),
        ((MOTION, '--robot', ELBOW, '--effort', 1, 2, 3), '--effort has 3 values'),
    ):
        code, shown, error = run(*words)
        assert (code, shown) == (2, '')
        assert said in error
        assert error.count('\n') == 1


def test_the_second_message_of_an_echo_is_ignored(run, tmp_path):
    file = tmp_path / 'echo.yaml'
    file.write_text(f'{MOTION.read_text()}---\n')
    assert run(file, '--robot', ELBOW)[0] == 0
