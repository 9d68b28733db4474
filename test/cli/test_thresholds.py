# SPDX-License-Identifier: Apache-2.0
"""The verb `thresholds`: what it writes is what an observer needs, and what the node accepts."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from tiers import slow

from robot_dynamics import cli
from robot_dynamics.cli.thresholds import comment
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.control import Reference, VelocityFilter
from robot_dynamics.control.contact import ContactDetector
from robot_dynamics.control.contact_thresholds import (
    FAST_POLES,
    SLOW_POLES,
    ContactThresholds,
    Learned,
)
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.ros.observer_parameters import ObserverParameters
from robot_dynamics.ros.parameter_files import read_parameters
from robot_dynamics.simulation import Actuators, HardwareProfile, Sensors, record_tracking

ELBOW = share_file('urdf/planar_2r.urdf')
MODEL = planar_2r()
NOISE, GAIN, OFFSET = 0.2, 1.25, 0.3
PER_MOMENTUM = 'noise_per_momentum'
PROFILE = HardwareProfile(
    Sensors(
        position_resolution=1e-6,
        velocity='differentiated',
        velocity_cutoff=100.0,
        effort_noise=NOISE,
        effort_bandwidth=30.0,
        effort_offset=OFFSET / GAIN,
        latency=1e-3,
    ),
    Actuators(gain=GAIN),
)
STAMPS_JITTER = replace(PROFILE, sensors=replace(PROFILE.sensors, jitter=4e-4))


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of `thresholds`."""

    def run(*arguments):
        code = cli.main(['thresholds', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def recorded(tmp_path, profile, sign=1.0, seconds=31.0):
    """Write a recording of free motion as CSV, and the parameters of its drives."""
    t = np.arange(0.0, seconds, 1e-3)[:, None]
    rate = np.array([2.1, 3.3])
    angle = rate * t
    q = sign * 0.6 * (1 - np.cos(angle))  # from rest
    qd, qdd = sign * 0.6 * rate * np.sin(angle), sign * 0.6 * rate**2 * np.cos(angle)
    (one,) = record_tracking(Dynamics(MODEL), Reference(q, qd, qdd), profile, seeds=(4,))
    head = [
        't',
        *(f'{kind}_{name}' for kind in ('q', 'qd', 'effort') for name in MODEL.joint_names),
    ]
    file, params = tmp_path / 'free.csv', tmp_path / 'drives.yaml'
    np.savetxt(
        file,
        np.column_stack([one.t, one.q, one.qd, one.effort]),
        delimiter=',',
        header=','.join(head),
        fmt='%.17g',
    )
    drives = {'effort_scale': [GAIN], 'effort_offset': [OFFSET], 'effort_delay': 1e-3}
    drives['velocity_lag'] = 3.1e-3
    params.write_text(yaml.safe_dump({'/**': {'ros__parameters': drives}}))
    return file, params


@pytest.mark.slow
@pytest.mark.parametrize('sign', [1.0, *slow([-1.0])])
def test_the_file_has_the_thresholds_and_the_drives(tmp_path, run, sign):
    bag, params = recorded(tmp_path, PROFILE, sign)
    output = tmp_path / 'observer.yaml'
    code, shown, said = run(bag, '--robot', ELBOW, '--params', params, '--output', output)
    assert code == 0, said
    assert 'learned from 31 s of free motion' in shown
    assert 'learn for 9.5 more minutes' in shown
    assert 'provisional' in shown
    assert 'in 31 s, ' in shown.split('thresholds of the others: ')[1].splitlines()[0]
    assert f'written: {output}' in shown
    assert list(yaml.safe_load(output.read_text())) == ['/**/momentum_observer_node']
    parameters = read_parameters(output, ObserverParameters)
    thresholds = parameters.contact_thresholds(MODEL)
    # White noise below 30 Hz, behind the poles, and nothing else
    assert (np.asarray(thresholds.noise) > 0.2 * NOISE).all()
    assert (np.asarray(thresholds.noise) < 2 * GAIN * NOISE).all()
    assert (np.asarray(thresholds.level) > 2).all()
    # 15 blocks of 2 s
    assert (np.asarray(thresholds.margin) >= 1 + 3 / np.sqrt(16)).all()
    assert parameters.joints == MODEL.joint_names
    assert parameters.effort_scale == (GAIN, GAIN)
    assert parameters.effort_offset == (OFFSET, OFFSET)
    assert (parameters.effort_delay, parameters.velocity_lag) == (1e-3, 3.1e-3)
    assert parameters.observer_settings(MODEL).effort_lead == pytest.approx(2.1e-3)
    assert parameters.detection.contact_factor == 1.5
    assert not parameters.thresholds.forced


@pytest.mark.slow
def test_jitter_of_stamps_chooses_the_slower_poles(tmp_path, run):
    quiet = replace(STAMPS_JITTER, sensors=replace(STAMPS_JITTER.sensors, effort_noise=0.01))
    bag, params = recorded(tmp_path, quiet, seconds=12.0)
    code, shown, said = run(bag, '--robot', ELBOW, '--params', params, '--force')
    assert code == 0, said
    # It has applied what it would advise.
    assert 'slower poles along the momentum suppress it' in shown
    assert 'expected' not in shown
    (entry,) = yaml.safe_load(shown).values()
    assert entry['ros__parameters']['observer.poles'] == FAST_POLES
    assert entry['ros__parameters']['observer.poles_along_momentum'] == SLOW_POLES
    assert entry['ros__parameters']['detection.contact_factor'] == 1.5


def test_options_of_the_robot_are_written(tmp_path, run):
    bag, params = recorded(tmp_path, PROFILE, seconds=2.5)
    tip = MODEL.link_names[-1]
    gravity = '--gravity', '0', '0', '-9'
    options = (*gravity, '--tip-link', tip, '--payload', tip, '0.1', '--coulomb', '0.2', '0.3')
    code, shown, said = run(
        bag,
        '--robot',
        ELBOW,
        '--params',
        params,
        '--force',
        *options,
    )
    assert code == 0, said
    (entry,) = yaml.safe_load(shown).values()
    written = entry['ros__parameters']
    assert written['gravity'] == [0.0, 0.0, -9.0]
    assert (written['payload.link'], written['payload.mass']) == (tip, 0.1)
    assert written['friction.coulomb'] == [0.2, 0.3]
    assert written['tip_link'] == tip


def test_a_recording_that_is_too_short_writes_no_file_and_forced_ones_are_marked(tmp_path, run):
    bag, params = recorded(tmp_path, PROFILE, seconds=2.5)
    output = tmp_path / 'observer.yaml'
    arguments = bag, '--robot', ELBOW, '--params', params, '--output', output
    code, shown, said = run(*arguments)
    assert (code, shown) == (2, '')
    assert f'{bag}: 2.5 s of joint states; expected 30 or more; --force writes its' in said
    assert not output.exists()
    code, _, said = run(*arguments, '--force')
    assert code == 0
    assert 'rejected, overridden by --force: 2.5 s' in said
    parameters = read_parameters(output, ObserverParameters)
    assert parameters.thresholds.forced
    assert (np.asarray(parameters.contact_thresholds(MODEL).level) > 0).all()


def test_a_recording_without_motion_is_rejected(tmp_path, run):
    file = tmp_path / 'none.csv'
    file.write_text(
        't,q_joint1,q_joint2,qd_joint1,qd_joint2,effort_joint1,effort_joint2\n0,0,0,0,0,1,1\n'
    )
    code, _, said = run(file, '--robot', ELBOW)
    assert code == 2
    assert str(file) in said


def test_the_name_of_a_joint_ends_no_comment():
    thresholds = ContactThresholds(learned=700.0, level=np.ones(2))
    learned = Learned(thresholds, 1.2, 0.1, (0,), False, np.array([0.0, 2.0]))
    names = ('left\n/**: {}', 'right\r; kp: 3\u2028\x85')
    text = comment(learned, names, 1.5)
    assert '"left\\n/**: {}": move them' in text
    assert all(line.startswith('# ') for line in text.splitlines())
    assert yaml.safe_load(f'{text}\nkp: 1\n') == {'kp': 1}


# Other settings of the file, and one that alone changes what is learned.
SETTINGS = [
    ({}, 'effort_scale', [1.25, 0.5]),
    ({}, 'effort_offset', [0.5, -0.3]),
    ({}, 'velocity_lag', 0.004),
    ({'velocity_lag': 0.004}, 'effort_delay', 0.004),
    ({}, 'effort_gravity_compensated', True),
    ({}, 'friction.viscous', [0.5, 0.2]),
    ({}, 'friction.coulomb', [0.5, 0.2]),
    ({'friction.coulomb': [0.5, 0.2]}, 'friction.law', 'coulomb_memory'),
    ({'friction.law': 'load'}, 'friction.load', [0.3]),
    ({'friction.law': 'stribeck'}, 'friction.stribeck', [0.4, 0.2]),
    ({'friction.law': 'coulomb_memory', 'friction.coulomb': [0.5]}, 'friction.presliding', [0.5]),
    ({}, 'rotor_inertia', [0.3, 0.1]),
    ({}, 'gravity', [0.0, 1.0, -5.0]),
    ({}, 'base_orientation', [1.0, 0.0, 0.0]),
]


@pytest.fixture(scope='module')
def simple(tmp_path_factory):
    """Return a recording of free motion, and what is learned with the defaults."""
    t = np.arange(0.0, 2.5, 4e-3)[:, None]
    rate = np.array([2.1, 3.3])
    q, qd = 0.6 * np.sin(rate * t), 0.6 * rate * np.cos(rate * t)
    tau = Dynamics(MODEL).inverse_dynamics(q, qd, -(rate**2) * q)
    tau = tau + 0.1 * np.random.default_rng(0).normal(size=tau.shape)
    names = [f'{kind}_{name}' for kind in ('q', 'qd', 'torque') for name in MODEL.joint_names]
    file = tmp_path_factory.mktemp('free') / 'free.csv'
    rows, head = np.column_stack([t, q, qd, tau]), ','.join(['t', *names])
    np.savetxt(file, rows, delimiter=',', header=head, comments='', fmt='%.17g')
    return file


def learned(text):
    (entry,) = yaml.safe_load(text).values()
    return {k: v for k, v in entry['ros__parameters'].items() if k.startswith('thresholds')}


@pytest.mark.parametrize(('others', 'name', 'value'), SETTINGS, ids=lambda x: str(x)[:30])
def test_each_setting_alone_is_in_what_is_learned_and_in_what_is_written(
    tmp_path, run, simple, others, name, value
):
    shown = []
    for k, settings in enumerate((others, others | {name: value})):
        (tmp_path / f'{k}.yaml').write_text(parameters_text(settings))
        params = '--params', tmp_path / f'{k}.yaml'
        code, text, said = run(simple, '--robot', ELBOW, '--force', *params)
        assert code == 0, said
        shown.append(text)
    assert learned(shown[0]) != learned(shown[1])
    written = tmp_path / 'written.yaml'
    written.write_text(shown[1])
    assert run(simple, '--robot', ELBOW, '--force', '--params', written)[1] == shown[1]


def written_motion(file, push=0.0, velocities=True, seconds=32.0, noise=0.02):
    """Write a recording of free motion, pushed for 0.2 s after 7 s, as CSV."""
    t = np.arange(0.0, seconds, 4e-3)[:, None]
    rate = np.array([2.1, 3.3])
    q, qd = 0.6 * np.sin(rate * t), 0.6 * rate * np.cos(rate * t)
    tau = Dynamics(MODEL).inverse_dynamics(q, qd, -(rate**2) * q)
    tau = tau + noise * np.random.default_rng(0).normal(size=tau.shape)
    tau -= push * ((t >= 7.0) & (t < 7.2)) * [0.0, 1.0]
    kinds = {'q': q, 'qd': qd, 'torque': tau} if velocities else {'q': q, 'torque': tau}
    names = ['t', *(f'{kind}_{name}' for kind in kinds for name in MODEL.joint_names)]
    rows = np.column_stack([t, *kinds.values()])
    np.savetxt(file, rows, delimiter=',', header=','.join(names), comments='', fmt='%.17g')
    return file


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_largest_torques_are_listed_and_an_interval_is_left_out_only_if_asked(
    tmp_path, run, sign
):
    free, pushed = (written_motion(tmp_path / f'{push}.csv', sign * push) for push in (0.0, 3.0))
    robot = '--robot', ELBOW, '--efforts', 'torques'
    _, clean, _ = run(free, *robot)
    _, touched, _ = run(pushed, *robot)
    # Largest first: the push, with its joint and its time.
    first = touched.split('largest torques, N m or N: ')[1].split(',')[0].split()
    assert first[0] == MODEL.joint_names[1]
    assert float(first[1]) == pytest.approx(3.0, rel=0.1)
    assert 7.0 <= float(first[3]) <= 7.2
    # Never left out by itself.
    level, with_push = (np.array(learned(x)['thresholds.level'])[1] for x in (clean, touched))
    assert with_push > 2 * level
    _, excluded, _ = run(pushed, *robot, '--exclude', '6.99:7.3')
    assert np.array(learned(excluded)['thresholds.level'])[1] == pytest.approx(level, rel=0.3)
    assert 'learned from 32 s' in excluded


def test_what_is_left_out_does_not_count_as_learned(tmp_path, run):
    file = written_motion(tmp_path / 'free.csv')
    robot = '--robot', ELBOW, '--efforts', 'torques'
    code, _, said = run(file, *robot, '--exclude', '0:1', '--exclude', '3:5.5')
    assert code == 2
    assert '28.5 s of joint states; expected 30 or more' in said
    code, _, said = run(file, *robot, '--exclude', '40:50')
    assert code == 2
    assert '--exclude 40:50 has no sample; expected times within 0 to 31.996 s' in said


def in_other_units(file, columns, factor):
    """Multiply columns of a recording by a factor."""
    head = file.read_text().splitlines()[0]
    rows = np.loadtxt(file, delimiter=',', skiprows=1)
    rows[:, columns] *= factor
    np.savetxt(file, rows, delimiter=',', header=head, comments='', fmt='%.17g')


def test_thresholds_beyond_the_effort_limit_are_named(tmp_path, run):
    """Efforts 20 times those of the model: exit code 0, and no contact would ever be found."""
    file = written_motion(tmp_path / 'free.csv')
    robot = '--robot', ELBOW, '--efforts', 'torques'
    assert 'effort limit' not in run(file, *robot)[1]
    in_other_units(file, slice(5, 7), 20.0)
    shoulder, elbow = MODEL.joint_names
    limits = f'larger than the effort limit of {shoulder} 80, {elbow} 40: a contact there may not'
    assert limits in run(file, *robot)[1]


@pytest.mark.parametrize(
    ('columns', 'said'),
    [(slice(1, 3), 'positions in degrees'), (slice(3, 5), 'velocities in degrees/s')],
)
def test_recordings_in_degrees_are_rejected(tmp_path, run, columns, said):
    file = written_motion(tmp_path / 'free.csv')
    in_other_units(file, columns, 180 / np.pi)
    code, _, error = run(file, '--robot', ELBOW, '--efforts', 'torques', '--force')
    assert code == 2
    assert f'{said}?' in error


def test_if_nothing_is_left_the_message_says_why(tmp_path, run):
    file = written_motion(tmp_path / 'free.csv')
    robot = '--robot', ELBOW, '--efforts', 'torques'
    code, _, said = run(file, *robot, '--exclude', '0:20', '--exclude', '20:50')
    assert code == 2
    assert '--exclude leaves no sample' in said
    head, *lines = file.read_text().splitlines()
    seldom = tmp_path / 'seldom.csv'
    for interval, every in ((0.1, 25), (0.06, 15)):
        seldom.write_text('\n'.join([head, *lines[::every]]))
        code, _, said = run(seldom, *robot)
        assert code == 2
        assert f'intervals of {interval:g} s between samples; expected at most 0.05' in said
    # Only part of a recording
    seldom.write_text('\n'.join([head, *lines[:2000], *lines[2000::25]]))
    code, _, said = run(seldom, *robot)
    assert code == 2
    assert '8.0 s of joint states; expected 30 or more' in said
    assert '239 intervals between samples are longer than 0.05 s' in said


@pytest.mark.parametrize('word', ['5', '5:4', ':', '1:x', '2:2', 'nan:3'])
def test_no_interval_is_rejected(run, word):
    with pytest.raises(SystemExit):
        run('free.csv', '--exclude', word)


def test_velocities_that_are_missing_are_derived_as_the_node_derives_them(tmp_path, run):
    """The velocities of the node's filter, recorded, give the same thresholds."""
    file = written_motion(tmp_path / 'free.csv', velocities=False)
    robot = '--robot', ELBOW, '--efforts', 'torques'
    code, shown, said = run(file, *robot)
    assert code == 0, said
    (entry,) = yaml.safe_load(shown).values()
    written = entry['ros__parameters']
    assert written['missing_velocity'] == 'differentiate'
    # Half a sample and the low-pass
    lag = 2e-3 + 1 / (2 * np.pi * written['velocity_cutoff'])
    assert written['velocity_lag'] == pytest.approx(lag, rel=1e-3)
    rows = np.loadtxt(file, delimiter=',', skiprows=1)
    derive = VelocityFilter(cutoff=written['velocity_cutoff'])
    qd = np.array([derive.update(row[0], row[1:3]) for row in rows[:, :3]][1:])
    names = [f'{kind}_{name}' for kind in ('q', 'qd', 'torque') for name in MODEL.joint_names]
    both, params = tmp_path / 'both.csv', tmp_path / 'lag.yaml'
    table = np.column_stack([rows[1:, :3], qd, rows[1:, 3:]])
    np.savetxt(
        both, table, delimiter=',', header=','.join(['t', *names]), comments='', fmt='%.17g'
    )
    params.write_text(parameters_text({'velocity_lag': written['velocity_lag']}))
    _, recorded_ones, _ = run(both, *robot, '--params', params)
    assert learned(recorded_ones) == learned(shown)
    # Without the lag they are worse.
    _, without, _ = run(both, *robot)
    size, late = (
        np.hypot(*(np.array(learned(x)[f'thresholds.{k}']) for k in ('noise', PER_MOMENTUM)))
        for x in (shown, without)
    )
    assert (size < 0.7 * late).all()
    (tmp_path / 'written.yaml').write_text(shown)
    again = run(file, *robot, '--params', tmp_path / 'written.yaml')[1]
    assert yaml.safe_load(again) == yaml.safe_load(shown)


@pytest.mark.parametrize('lag', [0.0, *slow([0.04])])
def test_the_smallest_step_is_felt_whenever_it_begins_in_the_stated_time(tmp_path, run, lag):
    """A lag of the velocities, for which efforts are delayed, is part of that time."""
    file, params = written_motion(tmp_path / 'free.csv', noise=0.2), tmp_path / 'params.yaml'
    params.write_text(parameters_text({'velocity_lag': lag}, '/**'))
    robot = '--robot', ELBOW, '--efforts', 'torques', '--params', params
    _, shown, _ = run(file, *robot)
    stated = shown.split('motion), N m or N: ')[1].splitlines()[0].split(', ')
    smallest = [float(one.split()[1]) for one in stated]
    after = stated[0].split()[4]
    (tmp_path / 'observer.yaml').write_text(shown)
    parameters = read_parameters(tmp_path / 'observer.yaml', ObserverParameters)
    rows = np.loadtxt(file, delimiter=',', skiprows=1)
    found = []
    for begin in range(600, len(rows) - 300, 487):
        for joint, step in enumerate(smallest):
            observer = MomentumObserver(
                Dynamics(MODEL), parameters.friction(MODEL), parameters.observer_settings(MODEL)
            )
            detector = ContactDetector(
                observer, MODEL.link_names[-1], parameters.contact_thresholds(MODEL)
            )
            for k in range(begin - 100, begin + 60):
                t, q, qd, effort = rows[k, 0], rows[k, 1:3], rows[k, 3:5], rows[k, 5:].copy()
                effort[joint] -= step * (k >= begin)
                kind = 'none'
                if observer.update(t, q, qd, effort):
                    kind = detector.update(t, q, qd, effort).kind
                if kind != 'none':
                    assert k >= begin
                    found.append(1e3 * (t - rows[begin, 0]))
                    break
            else:
                pytest.fail(f'joint {joint} at {rows[begin, 0]}')
    # Efforts act until their stamp: the first interval belongs to the step.
    assert max(found) <= float(after)
