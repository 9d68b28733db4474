# SPDX-License-Identifier: Apache-2.0
"""Efforts of drives with a friction law, offsets and a delay; parameters of identify in verbs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import load_memory, recorded

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.yaml_text import yaml_text
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification import estimate_payload
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.urdf.loading import load_urdf

URDF = share_file('urdf/panda.urdf')
BARE = load_urdf(URDF, tip_link='panda_link8')
ROTORS = np.linspace(0.5, 0.2, 7)
MODEL = BARE.with_actuation(rotor_inertia=ROTORS, viscous=1.0, coulomb=0.6)
LAW = load_memory([1.0] * 7, [0.6] * 7, [0.08] * 7, 1e-3)
OFFSET, DELAY, SCALE = np.linspace(0.4, -0.3, 7), -0.034, 2.0


def run(sign, seed=1, model=MODEL):
    """Return a recording of drives with this friction, delay, offset and scale."""
    one = recorded(model, seed, rate=200.0, friction=LAW, duration=20.0, noise=0.002)
    effort = np.column_stack([np.interp(one.t - DELAY, one.t, x) for x in one.effort.T])
    return replace(one, q=sign * one.q, qd=sign * one.qd, effort=sign * (effort + OFFSET) / SCALE)


def drives(sign):
    return Drives(sign * OFFSET, DELAY, LAW)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_effort_is_that_of_the_law_along_the_motion(sign):
    arm = Dynamics(MODEL)
    t = np.arange(200) / 100
    q = sign * np.sin(t)[:, None] * np.ones(7)
    qd, qdd = np.gradient(q, t, axis=0), -q
    tau = arm.inverse_dynamics(q, qd, qdd)
    z = LAW.law.sliding_direction(q, qd, LAW.presliding)
    expected = tau + qd + (0.6 + 0.08 * np.abs(tau)) * z + sign * OFFSET
    np.testing.assert_allclose(drives(sign).effort(arm, q, qd, qdd), expected, atol=1e-12)
    described = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
    np.testing.assert_array_equal(Drives().effort(arm, q, qd, qdd), described)


@pytest.mark.parametrize('delay', [0.02, -0.02])
def test_aligned_efforts_are_those_of_the_motion(delay):
    one = recorded(BARE, duration=2.0, rate=100.0, noise=0.0)
    twice = replace(
        one,
        t=np.tile(one.t, 2),
        q=np.tile(one.q, (2, 1)),
        effort=np.tile(np.column_stack([np.sin(3 * (one.t - delay))] * 7), (2, 1)),
        qd=None,
    )
    effort = Drives(delay=delay).aligned(twice).effort
    inner = np.abs(np.tile(one.t, 2) - 1.0) < 0.9
    np.testing.assert_allclose(effort[inner, 0], np.sin(3 * np.tile(one.t, 2)[inner]), atol=1e-3)


@pytest.mark.parametrize('lag', [0.02, -0.02])
def test_aligned_velocities_are_those_of_the_positions(lag):
    one = recorded(BARE, duration=2.0, rate=100.0, noise=0.0)
    late = replace(one, qd=np.column_stack([np.sin(3 * (one.t - lag))] * 7))
    found = Drives(velocity_lag=lag).aligned(late)
    inner = np.abs(one.t - 1.0) < 0.9
    np.testing.assert_allclose(found.qd[inner, 0], np.sin(3 * one.t[inner]), atol=1e-3)
    assert found.effort is one.effort


@pytest.mark.slow
def test_a_payload_is_found_with_known_drives():
    loaded = MODEL.with_payload('panda_link8', 1.0, (0.0, 0.0, 0.1))
    one = run(1.0, model=loaded)
    found = estimate_payload(
        Dynamics(MODEL),
        one,
        'panda_link8',
        effort_scale=SCALE,
        drives=drives(1.0),
        friction='model',
    )
    assert found.mass == pytest.approx(1.0, abs=3 * found.mass_error)
    assert found.mass == pytest.approx(1.0, abs=0.05)


# -- the verbs ----------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return a recording in a CSV file, and the parameters of its drives."""
    folder, one = tmp_path_factory.mktemp('drives'), run(1.0)
    head = ','.join(['t', *(f'{k}_{n}' for k in ('q', 'qd', 'tau') for n in one.joint_names)])
    rows = np.hstack([one.t[:, None], one.q, one.qd, one.effort])
    np.savetxt(folder / 'run.csv', rows, delimiter=',', header=head)
    parameters = {
        'tip_link': 'panda_link8',
        'joints': list(BARE.joint_names),
        'friction': {
            'law': 'load_memory',
            **{term: np.ravel(LAW.coefficients[term]).tolist() for term in LAW.law.terms},
            'presliding': [1e-3] * 7,
        },
        'rotor_inertia': ROTORS.tolist(),
        'effort_scale': [SCALE] * 7,
        'effort_offset': OFFSET.tolist(),
        'effort_delay': DELAY,
    }
    (folder / 'run.yaml').write_text(yaml_text({'/**': {'ros__parameters': parameters}}))
    return folder


@pytest.mark.slow
def test_evaluate_with_the_parameters_blames_none_of_their_values(files, capsys):
    words = ['evaluate', files / 'run.csv', '--robot', URDF]
    assert cli.main([*map(str, words), '--params', str(files / 'run.yaml')]) == 0
    shown = capsys.readouterr().out
    assert 'no cause exceeds the noise' in shown
    assert 'delay of the efforts' not in shown
    assert cli.main([*map(str, words), '--tip-link', 'panda_link8', '--effort-scale', '2']) == 0
    assert 'rotor inertia' in capsys.readouterr().out


@pytest.mark.slow
def test_options_replace_parameters(files, capsys):
    words = ['evaluate', files / 'run.csv', '--robot', URDF, '--params', files / 'run.yaml']
    assert cli.main([*map(str, words), '--rotor-inertia', '0']) == 0
    assert 'underestimates rotor inertia' in capsys.readouterr().out
    assert cli.main([*map(str, words), '--effort-scale', '1.8']) == 0
    assert 'multiply effort_scale by 1.11' in capsys.readouterr().out


def test_payload_takes_the_parameters(files, capsys):
    words = ['payload', files / 'run.csv', '--robot', URDF, '--params', files / 'run.yaml']
    assert cli.main([*map(str, words), '--link', 'panda_link8', '--friction', 'model']) == 0
    assert 'mass: ' in (shown := capsys.readouterr().out)
    assert 'as an option of the other verbs' not in shown


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('a: b', 'no ros__parameters of /**; expected parameters of nodes'),
        ('[1]', 'no ros__parameters of /**'),
        ('{a: {ros__parameters: {}}, b: {ros__parameters: {}}}', 'no ros__parameters of /**'),
        ('/**: {ros__parameters: {effort_delay: 9.0}}', 'effort_delay is 9.0; it must be'),
        ('/**: {ros__parameters: {friction: {law: x}}}', "friction.law is 'x'; it must be"),
        ('/**: {ros__parameters: {effort_scale: [1.0, 2.0]}}', 'effort_scale has 2 values'),
    ],
)
def test_wrong_parameters_are_one_sentence(files, tmp_path, capsys, text, reason):
    (tmp_path / 'x.yaml').write_text(text)
    words = ['evaluate', files / 'run.csv', '--robot', URDF, '--params', tmp_path / 'x.yaml']
    try:
        code = cli.main([*map(str, words), '--tip-link', 'panda_link8'])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert reason in capsys.readouterr().err.splitlines()[-1]


def test_trajectory_takes_friction_and_offset_of_the_parameters(files, tmp_path):
    motion = {
        'joint_names': list(BARE.joint_names),
        'points': [
            {'positions': [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0], 'time_from_start': {'sec': s}}
            if s == 0
            else {'positions': [0.5, 0.5, 0.5, -1.0, 0.5, 1.0, 0.5], 'time_from_start': {'sec': s}}
            for s in (0, 2)
        ],
    }
    (tmp_path / 'motion.yaml').write_text(yaml_text(motion))
    words = ['trajectory', str(tmp_path / 'motion.yaml'), '--robot', str(URDF)]
    words += ['--tip-link', 'panda_link8', '--json', str(tmp_path / 'x.json')]
    peaks = []
    for more in ([], ['--params', str(files / 'run.yaml')]):
        cli.main([*words, *more])
        joint = json.loads((tmp_path / 'x.json').read_text())['joints'][0]
        peaks.append((abs(joint['torque']), joint['limit']))
    assert peaks[1][0] > peaks[0][0] + 0.5
    assert peaks[1][1] == pytest.approx(peaks[0][1] - abs(OFFSET[0]))
