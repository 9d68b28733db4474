# SPDX-License-Identifier: Apache-2.0
"""References of position servos: within limits, apart from links, and worth a recording."""

import csv
import io
import re

import numpy as np
import pytest

from robot_dynamics import Dynamics, cli, parse_urdf
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.limits import violations
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.identification import ExcitationError, excite_servo, limits_of
from robot_dynamics.identification.excitation.capsules import capsules_of
from robot_dynamics.identification.excitation.clearance import clearance
from robot_dynamics.identification.excitation.servo_reference import SHARES
from robot_dynamics.recordings import read_commands
from robot_dynamics.simulation import PerStep, Servo, simulate_batch
from robot_dynamics.urdf.loading import load_urdf

PANDA = share_file('urdf/panda.urdf')


def wheels(number):
    """Return independent wheels without gravity, with the limits of an SO-101."""
    parts = ['<robot name="wheels"><link name="base"/>']
    for k in range(number):
        parts.append(
            f'<link name="w{k}"><inertial><mass value="0.01"/><inertia ixx="1e-6" iyy="1e-6" '
            f'izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" '
            f'type="revolute"><parent link="base"/><child link="w{k}"/><axis xyz="0 0 1"/>'
            f'<limit lower="-1.7" upper="1.7" velocity="10" effort="10"/></joint>'
        )
    return parse_urdf(''.join([*parts, '</robot>']))


def test_forty_seconds_determine_every_ratio_of_a_servo():
    # Each wheel differs in one quantity: differences are derivatives of the position by it.
    truth = {'D': 0.6, 'a': 0.028, 'fc': 0.1, 'tmax': 3.25, 'delay': 0.015}
    steps = {'D': 6e-4, 'a': 3e-5, 'fc': 1e-3, 'tmax': 3e-3, 'delay': 1e-4}
    rows = np.array([list(truth.values())] * 6)
    rows[1:] += np.diag(list(steps.values()))
    D, a, fc, tmax, delay = rows.T
    model = wheels(6).with_actuation(rotor_inertia=a, coulomb=fc)
    one = Dynamics(wheels(1))
    for seed in range(2):
        found = excite_servo(one, limits_of(one.model), rate=50.0, seed=seed)
        u = np.repeat(found.q, 10, axis=0)  # steps of 2 ms
        run = simulate_batch(
            Dynamics(model),
            np.full((1, 6), u[0, 0]),
            np.zeros(6),
            PerStep(np.repeat(u, 6, axis=1)),
            steps=len(u),
            time_step=2e-3,
            servo=Servo(8.9, D, delay, tmax),
            record_every=10,
        )
        q = run.q[0]
        J = (q[:, 1:] - q[:, :1]) / list(steps.values())
        noise = 2 * np.pi / 4096 / np.sqrt(12)  # of an encoder of 12 bits
        error = noise * np.sqrt(np.linalg.inv(J.T @ J).diagonal()) / list(truth.values())
        error = dict(zip(truth, error, strict=True))
        # Relative standard errors: a third of what an identification is to reach.
        assert error['D'] < 1e-3, error
        assert max(error['a'], error['fc'], error['tmax']) < 3.3e-3, error
        assert error['delay'] * truth['delay'] < 0.17e-3, error


def test_positions_and_velocities_keep_their_limits_and_rests_are_there():
    model = load_urdf(PANDA)
    arm, limits = Dynamics(model), limits_of(model)
    found = excite_servo(arm, limits, seed=3)
    trajectory = found.trajectory()
    assert violations(trajectory, model) == []
    assert (found.q >= limits.lower).all()
    assert (found.q <= limits.upper).all()
    speed = np.abs(np.diff(found.q, axis=0)) * 100
    assert (speed <= limits.velocity * (1 + 1e-9)).all()
    assert (speed.max(axis=0) >= 0.99 * limits.velocity).all()
    still = (speed == 0).mean(axis=0)
    assert (still > 0.1).all()
    assert np.allclose(found.q[[0, -1]], found.centre)
    assert found.times[-1] - found.approach == pytest.approx(40.0)
    again = excite_servo(arm, limits, seed=3)
    assert np.array_equal(again.q, found.q)
    assert not np.array_equal(excite_servo(arm, limits, seed=4).q, found.q)


@pytest.mark.parametrize(
    'narrow', [{}, {'velocity': 0.05}, {'velocity': 0.3}, {'acceleration': 0.1}]
)
def test_chirps_of_slow_joints_keep_their_limits(narrow):
    model = load_urdf(PANDA)
    limits = limits_of(model, **narrow)
    found = excite_servo(Dynamics(model), limits, rate=200.0)
    t = found.times - found.approach
    v = np.diff(found.q, axis=0) * 200
    a = np.diff(v, axis=0) * 200
    before = t < (SHARES['rest'] + SHARES['chirp']) * 40
    assert (np.abs(v) <= limits.velocity * (1 + 1e-9)).all()
    assert (np.abs(a[before[2:]]) <= limits.acceleration * (1 + 1e-9)).all()
    assert (np.abs(a[before[2:]]).max(axis=0) > 0.5 * limits.acceleration).all()


@pytest.mark.parametrize(('duration', 'velocity'), [(10.0, 10.0), (10.0, 0.2), (40.0, 0.01)])
def test_each_joint_moves_in_each_part(duration, velocity):
    model = load_urdf(PANDA)
    found = excite_servo(
        Dynamics(model), limits_of(model, velocity=velocity), duration=duration, rate=50.0
    )
    begin, t = 0.0, found.times - found.approach
    for name, share in SHARES.items():
        end = begin + share * duration
        moved = np.ptp(found.q[(t >= begin) & (t < end)], axis=0)
        assert (moved > 0).all() == (name != 'rest')
        begin = end


def test_links_keep_their_distance_in_every_posture_of_the_ranges():
    model = load_urdf(PANDA)
    arm = Dynamics(model)
    capsules, _ = capsules_of(PANDA.read_text(), [PANDA.parent])
    kept = clearance(arm, capsules, distance=0.05, floor=0.3, floor_links=['panda_link8'])
    found = excite_servo(arm, limits_of(model), clearance=kept, seed=1)
    rng = np.random.default_rng(9)
    postures = found.centre + found.amplitude * rng.uniform(-1, 1, (2000, 7))
    height = arm.forward_kinematics(postures, 'panda_link8')[:, 2, 3]
    assert height.min() > 0.3 - 0.01  # random postures are no proof
    assert kept.lack(arm, found.q)[0] <= 0
    too_far = clearance(arm, capsules, floor=3.0, floor_links=['panda_link8'])
    with pytest.raises(ExcitationError, match=r'no ranges of 0\.1 .* keep the height of panda_'):
        excite_servo(arm, limits_of(model), clearance=too_far)


def test_a_way_from_the_given_start_is_checked_and_slow():
    model = load_urdf(PANDA)
    arm = Dynamics(model)
    start = np.array([1.0, 0.3, 0.2, -1.0, 0.1, 1.5, 0.3])
    found = excite_servo(arm, limits_of(model), start=start)
    trajectory = found.trajectory()
    assert np.array_equal(trajectory.points[0][0], start)
    assert trajectory.times[0] == 0
    step = np.diff(trajectory.times)
    assert np.allclose(step, 0.01, atol=1e-9)
    way = trajectory.times[:-1] < found.approach - 0.02
    speed = np.abs(np.diff(trajectory.points[0], axis=0))[way] / 0.01
    assert (speed <= 0.21 * limits_of(model).velocity).all()


def test_short_or_coarse_references_are_rejected():
    arm = Dynamics(wheels(1))
    for more in ({'duration': 5.0}, {'rate': 20.0}):
        with pytest.raises(ExcitationError, match='needs 10 s and 40 Hz or more'):
            excite_servo(arm, limits_of(arm.model), **more)


def run(capsys, *arguments):
    code = cli.main(['excite', *map(str, arguments)])
    return code, *capsys.readouterr()


def test_the_verb_writes_a_reference_in_each_format(capsys, tmp_path):
    pytest.importorskip('matplotlib')
    files = [tmp_path / name for name in ('motion.yaml', 'motion.csv', 'motion.png')]
    options = zip(('--output', '--csv', '--picture'), files, strict=True)
    code, out, _ = run(
        capsys,
        PANDA,
        '--servo',
        '--duration',
        20,
        '--rate',
        50,
        *(x for pair in options for x in pair),
    )
    assert code == 0
    assert '20 s of positions at 50 Hz: chirp from 0.1 to 4 Hz, steps, slow ramps' in out
    trajectory = read_trajectory(files[0], 'linear')
    with files[1].open() as file:
        table = list(csv.reader(file))
    assert table[0][:2] == ['t', 'panda_joint1 command']
    assert np.allclose(np.array(table[1:], float)[:, 1:], trajectory.points[0], atol=1e-8)
    assert files[2].stat().st_size > 1000
    # Beside measured positions these columns are those of a recording.
    head, rows = table[0], np.array(table[1:], float)
    names = load_urdf(PANDA).joint_names
    both = io.StringIO()
    writer = csv.writer(both)
    writer.writerow([*head, *(f'{name} position' for name in names)])
    writer.writerows(np.column_stack([rows, rows[:, 1:] + 0.01]).tolist())
    recorded = tmp_path / 'recorded.csv'
    recorded.write_text(both.getvalue())
    (recording,) = read_commands(recorded).recordings(names)
    assert np.allclose(recording.command - recording.q, -0.01)


def test_options_of_the_other_motion_are_rejected(capsys):
    for words, why in (
        (('--servo', '--period', 5), '--period is not an option with --servo'),
        (('--duration', 30), '--duration is not an option without --servo'),
    ):
        code, _, error = run(capsys, PANDA, *words)
        assert code != 0
        assert why in error


def test_effort_limits_are_not_needed(capsys, tmp_path):
    robot = tmp_path / 'arm.urdf'
    robot.write_text(re.sub(r' effort="[^"]*"', ' effort="0"', PANDA.read_text()))
    assert np.isinf(load_urdf(robot).effort_limit).all()
    code, _, error = run(capsys, robot, '--servo', '--duration', 10)
    assert code == 0, error
