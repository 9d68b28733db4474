# SPDX-License-Identifier: Apache-2.0
"""Verbs that read recordings: units of efforts, scales that are unknown, types of parameters."""

import argparse
import re

import numpy as np
import pytest
from arms_to_identify import recorded, wrong

from robot_dynamics import cli
from robot_dynamics.cli import recording_options, view
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.urdf.loading import load_urdf

ELBOW = share_file('urdf/planar_2r.urdf')
MODEL = load_urdf(ELBOW)
LINK = MODEL.link_names[-1]
GAIN = np.array([2.0, 0.5])
SCALE = ['--effort-scale', *map(str, GAIN)]
VERBS = {
    'evaluate': [],
    'payload': ['--link', LINK],
    'thresholds': ['--force'],
    'view': ['--port', '0'],
}


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return recordings of one motion by the word of the header of their efforts."""
    folder = tmp_path_factory.mktemp('runs')
    true = wrong(MODEL, viscous=0.4, coulomb=0.3)
    one, found = recorded(true, 1, duration=12.0, rate=200.0), {}
    for word, scale in (('torque', 1.0), ('effort', 1.0), ('current', GAIN)):
        heads = [f'{name} {kind}' for kind in ('q', 'qd', word) for name in MODEL.joint_names]
        rows = np.column_stack([one.t, one.q, one.qd, one.effort / scale])
        found[word] = folder / f'{word}.csv'
        np.savetxt(found[word], rows, delimiter=',', header=','.join(['t', *heads]), comments='')
    return found


@pytest.fixture
def run(capsys, monkeypatch):
    """Return (exit code, standard output, standard error) of a verb; `view` ends at once."""
    monkeypatch.setattr(view, 'opened', lambda *_: None)
    monkeypatch.setattr(view, 'serve', lambda *_: None)

    def run(verb, file, *words):
        bag = ['--bag', file] if verb == 'view' else [file]
        robot = [ELBOW] if verb == 'view' else ['--robot', ELBOW]
        arguments = [verb, *bag, *robot, *VERBS.get(verb, []), *words]
        try:
            code = cli.main([str(word) for word in arguments])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return run


def params(tmp_path, **entries):
    (tmp_path / 'given.yaml').write_text(parameters_text(entries))
    return ['--params', tmp_path / 'given.yaml']


def figures(shown):
    """Return the lines without those of the files of the recording and of the parameters."""
    lines = [line for line in shown.split('\n') if not line.startswith('model: ')]
    return '\n'.join(lines[1:] if '.csv' in lines[0] else lines)


@pytest.mark.parametrize('verb', VERBS)
def test_currents_are_rejected_by_name_and_are_torques_with_a_scale(files, run, tmp_path, verb):
    if verb == 'view':
        pytest.importorskip('viser')
    code, shown, said = run(verb, files['current'])
    assert (code, shown) == (2, '')
    assert f'efforts of {", ".join(MODEL.joint_names)} are currents of unknown scale' in said
    assert run(verb, files['current'], '--efforts', 'torques')[0] == 2
    assert run(verb, files['effort'], '--efforts', 'currents')[0] == 2
    # A file of an arm in N m states no scale of currents.
    assert run(verb, files['current'], *params(tmp_path, effort_scale=[1.0, 1.0]))[0] == 2
    expected = run(verb, files['torque'])
    assert expected[0] == 0, expected[2]
    given = params(tmp_path, effort_scale=GAIN.tolist())
    for words in (SCALE, given, [*given, '--efforts', 'currents']):
        code, shown, said = run(verb, files['current'], *words)
        assert (code, said) == (0, expected[2])
        if verb != 'thresholds':  # which writes the scale
            assert figures(shown) == figures(expected[1])


@pytest.mark.parametrize('verb', VERBS)
def test_an_unknown_unit_is_remarked_once(files, run, verb):
    if verb == 'view':
        pytest.importorskip('viser')
    code, shown, said = run(verb, files['effort'])
    assert code == 0
    assert (shown + said).count('the efforts have no unit') == 1
    for words in (['--efforts', 'torques'], SCALE):
        code, shown, said = run(verb, files['effort'], *words)
        assert code == 0
        assert 'have no unit' not in shown + said


@pytest.mark.parametrize('verb', VERBS)
@pytest.mark.parametrize(('known', 'named'), [([False], 'all joints'), ([True, False], 'joint2')])
def test_parameters_of_an_unknown_scale_are_rejected(files, run, tmp_path, verb, known, named):
    given = {'joints': list(MODEL.joint_names), 'effort_scale': [2.0, 0.5]}
    words = params(tmp_path, **given, effort_scale_known=known)
    code, shown, said = run(verb, files['current'], *words)
    assert (code, shown) == (2, '')
    assert f'effort_scale_known is false for {named}: efforts' in said


@pytest.mark.slow
def test_an_identification_of_currents_says_so_and_weighs_nothing(files, run, tmp_path):
    pytest.importorskip('cvxpy')
    output = tmp_path / 'found.urdf'
    code, shown, _ = run('identify', files['current'], '--output', output, '--force')
    assert 'the efforts are currents by the header of the file: gains' in shown
    assert 'not identifiable' in shown
    assert 'effort_scale_known: [false, false]' in output.with_suffix('.yaml').read_text()
    for verb in VERBS:
        words = ['--params', output.with_suffix('.yaml')]
        code, shown, said = run(verb, files['current'], *words)
        assert (code, shown) == (2, '')
        assert 'effort_scale_known is false for all joints' in said
    assert run('identify', files['effort'])[1].count('the efforts have no unit') == 1
    # With the scale of every joint the same file is of torques.
    code, shown, said = run('identify', files['current'], *SCALE, '--output', output, '--force')
    assert 'not identifiable' not in shown
    assert 'effort_scale_known: [true, true]' in output.with_suffix('.yaml').read_text()
    assert run('payload', files['current'], '--params', output.with_suffix('.yaml'))[0] == 0


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        (
            'effort_gravity_compensated: "no"',
            "effort_gravity_compensated is 'no'; it must be true or",
        ),
        ('rotor_inertia: [0.1, x]', "rotor_inertia is [0.1, 'x']; it must be a list of numbers"),
        ('effort_delay: soon', "effort_delay is 'soon'; it must be a number"),
        ('joints: 7', 'joints is 7; it must be a list of texts'),
        ('efort_scale: [1.0]', "no node has a parameter 'efort_scale'; the nearest is effort_sc"),
        ('friction: {vicous: [1.0]}', "parameter 'friction.vicous'; the nearest is friction.visc"),
        ('friction: soon', "no node has a parameter 'friction'; the nearest is friction.l"),
        ('friction: {}', "no node has a parameter 'friction'; the nearest is friction.l"),
        ('payload.mass: {}', 'payload.mass is {}; it must be a number'),
    ],
)
def test_parameters_of_another_type_or_name_are_rejected(files, run, tmp_path, text, reason):
    (tmp_path / 'a.yaml').write_text(f'/**: {{ros__parameters: {{{text}}}}}')
    code, shown, said = run('evaluate', files['torque'], '--params', tmp_path / 'a.yaml')
    assert (code, shown) == (2, '')
    assert re.search(re.escape(reason), said.splitlines()[-1]), said


@pytest.mark.slow
def test_files_of_any_node_are_accepted(files, run):
    for name in ('dynamics_node', 'feedforward_node', 'simulator_node', 'momentum_observer_node'):
        words = '--params', share_file(f'config/{name}.yaml')
        assert run('evaluate', files['torque'], *words)[0] == 0


# -- of two files the bad one is named ------------------------------------------------------------

LINES = {
    'no CSV': lambda rows: ['nonsense'],
    'a joint is missing': lambda rows: [row.rsplit(',', 1)[0] for row in rows],
    'no efforts': lambda rows: [rows[0], *(row.rsplit(',', 1)[0] + ',' for row in rows[1:])],
    'few samples': lambda rows: rows[:8],
}
TWO = {
    'identify': ('{}', '{}'),
    'identify --test': ('{}', '--test', '{}'),
    'identify --payload-bag': ('{}', '--payload-bag', '{}', '--payload', LINK, '1'),
    'payload --unloaded': ('{}', '--unloaded', '{}'),
}


@pytest.mark.parametrize('bad', [0, 1])
@pytest.mark.parametrize('lines', LINES)
@pytest.mark.parametrize('words', TWO)
def test_of_two_recordings_the_bad_one_is_named(files, capsys, tmp_path, words, lines, bad):
    word = 'current' if 'payload-bag' in words else 'torque'
    one = [files[word], tmp_path / 'bad.csv'][:: 1 if bad else -1]
    rows = files[word].read_text().splitlines()
    (tmp_path / 'bad.csv').write_text('\n'.join(LINES[lines](rows)) + '\n')
    given = iter(map(str, one))
    arguments = [next(given) if word == '{}' else word for word in TWO[words]]
    verb = words.split()[0]
    code = cli.main([verb, *arguments, '--robot', str(ELBOW), *VERBS.get(verb, [])])
    shown, said = capsys.readouterr()
    assert (code, shown) == (2, '')
    last = said.splitlines()[-1]
    assert str(tmp_path / 'bad.csv') in last
    assert str(files[word]) not in last, last


@pytest.mark.parametrize('verb', VERBS)
def test_of_a_recording_and_its_parameters_the_bad_file_is_named(files, run, tmp_path, verb):
    if verb == 'view':
        pytest.importorskip('viser')
    for text in ('{', 'kp: [1.0]', parameters_text({'effort_scale_known': [False]})):
        (tmp_path / 'given.yaml').write_text(text)
        code, shown, said = run(verb, files['torque'], '--params', tmp_path / 'given.yaml')
        assert (code, shown) == (2, '')
        assert str(tmp_path / 'given.yaml') in said
        assert str(files['torque']) not in said


@pytest.mark.parametrize('verb', [*VERBS, 'identify'])
def test_verbs_that_need_efforts_name_the_one_that_does_not(run, files, tmp_path, verb):
    lines = files['effort'].read_text().splitlines()
    heads = lines[0].split(',')
    kept = [k for k, head in enumerate(heads) if 'effort' not in head]
    file = tmp_path / 'commands.csv'
    rows = [','.join(line.split(',')[k] for k in kept) for line in lines]
    rows[0] = rows[0].replace(' qd', ' command')
    file.write_text('\n'.join(rows))
    code, _, error = run(verb, file)
    assert code not in (0, None)
    assert 'no column of effort' in error
    assert 'identify --efforts none' in error
    options = argparse.ArgumentParser()
    recording_options.add_recording(options)
    recording_options.add_commands(options)
    log = recording_options.recorded_commands(options.parse_args([str(file)]), file)
    (recording,) = log.recordings(MODEL.joint_names)
    assert recording.effort is None
    assert recording.command.shape == recording.q.shape
