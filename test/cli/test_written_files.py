# SPDX-License-Identifier: Apache-2.0
"""Files that verbs write: names of strangers in them, errors of the disk, and what comes first."""

import errno
import html
import json
import os

import matplotlib
import pytest
import yaml

from robot_dynamics import cli
from robot_dynamics.common.reporting import figures
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.textbook.derivation.derivation import derive
from robot_dynamics.urdf.loading import load_urdf

ELBOW = share_file('urdf/planar_2r.urdf')
# What matplotlib takes for a formula or leaves out of a legend, and what ends a line or a string.
NAMES = {
    'joint1': r'$\frac$',
    'joint2': '_hidden$',
    'planar_2r': 'a&#10;kp: 1e6&#10;&quot;&quot;&quot;\\&#10;import nothing $$',
}


@pytest.fixture
def strange(tmp_path):
    """Return the description of an arm with such names."""
    text = ELBOW.read_text()
    for name, other in NAMES.items():
        text = text.replace(f'"{name}"', f'"{other}"')
    file = tmp_path / 'strange.urdf'
    file.write_text(text)
    return file


@pytest.fixture
def motion(tmp_path):
    """Return a trajectory of its joints."""
    file = tmp_path / 'motion.yaml'
    names = json.dumps([NAMES['joint1'], NAMES['joint2']])
    points = ', '.join(
        f'{{positions: [{q}, 0.0], time_from_start: {{sec: {t}}}}}' for t, q in ((0, 0), (9, 0.1))
    )
    file.write_text(f'joint_names: {names}\npoints: [{points}]\n')
    return file


PICTURES = {
    'check': 'check {robot}',
    'simulate': 'simulate {robot} --duration 0.01',
    'compare': 'compare {robot} --states 2',
    'monte-carlo': 'monte-carlo {robot} --samples 20 --payload 0.1',
    'trajectory': 'trajectory {motion} --robot {robot}',
}
DRAWN = {'simulate': tuple(NAMES), 'trajectory': ('joint1', 'joint2')}


@pytest.mark.parametrize('verb', PICTURES)
def test_names_are_drawn_as_they_are(strange, motion, tmp_path, verb):
    out = tmp_path / 'out.svg'
    words = PICTURES[verb].format(robot=strange, motion=motion).split()
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        assert cli.main([*words, '--picture', str(out)]) == 0
    drawn = html.unescape(out.read_text())
    for name in DRAWN.get(verb, ('planar_2r',)):
        for line in html.unescape(NAMES[name]).splitlines():
            assert line in drawn


def test_an_animation_of_an_arm_with_such_names(strange, tmp_path):
    out = tmp_path / 'out.gif'
    arguments = ['simulate', str(strange), '--duration', '0.1', '--animate', str(out)]
    assert cli.main(arguments) == 0
    assert out.read_bytes().startswith(b'GIF')
    assert {path.name for path in tmp_path.iterdir()} == {'strange.urdf', 'out.gif'}


def test_a_name_is_no_part_of_derived_code():
    name = html.unescape(NAMES['planar_2r'])
    model = planar_2r((0.7, 0.5), (0.3, 0.25))
    object.__setattr__(model, 'name', name)
    derived = derive(model)
    module = compile(derived.python(), 'derived', 'exec')
    shown = module.co_consts[0].split(',')[0]
    assert shown.startswith('a_kp_ 1e6')
    assert not set('"\\\n:$') & set(shown)
    assert all(instruction != 'nothing' for instruction in module.co_names)
    first, second = derived.latex().splitlines()[:2]
    assert first.startswith('% a_kp_ 1e6')
    assert second == r'\begin{align*}'


# -- errors of the disk -------------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    """Let every write end as on a full disk."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, 'fsync', full)


OUTPUTS = [
    ('check', '{elbow}', '--json'),
    ('check', '{elbow}', '--fix'),
    ('check', '{elbow}', '--picture'),
    ('simulate', '{elbow}', '--duration', '0.01', '--csv'),
    ('simulate', '{elbow}', '--duration', '0.01', '--animate'),
]
SUFFIXES = {'--picture': '.png', '--animate': '.gif'}


@pytest.mark.parametrize('words', OUTPUTS, ids=' '.join)
@pytest.mark.usefixtures('full_disk')
def test_an_error_of_the_disk_names_file_and_option(tmp_path, capsys, words):
    *_, option = words
    file = tmp_path / f'out{SUFFIXES.get(option, "")}'
    file.write_text('old')
    assert cli.main([word.format(elbow=ELBOW) for word in words] + [str(file)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [f'robot-dynamics: {option} {file}: No space left on device']
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == 'old'


@pytest.mark.parametrize('words', ['--json={}', '--js={}', '--strict --json {}'])
@pytest.mark.usefixtures('full_disk')
def test_the_option_is_named_however_it_was_given(tmp_path, capsys, words):
    file = tmp_path / 'out'
    assert cli.main(['check', str(ELBOW), *words.format(file).split()]) == 2
    assert capsys.readouterr().err == (f'robot-dynamics: --json {file}: No space left on device\n')


def test_gains_that_the_node_rejects_are_not_printed(capsys):
    assert cli.main(['gains', str(ELBOW), '--rate', '1e6', '--frequency', '1e5']) == 2
    shown, error = capsys.readouterr()
    assert shown == ''
    assert 'robot-dynamics: kp is ' in error
    assert 'it must be a finite number in [0, 1e+09]' in error


def test_a_missing_robot_is_named_with_its_option(motion, tmp_path, capsys):
    missing = tmp_path / 'missing.urdf'
    assert cli.main(['trajectory', str(motion), '--robot', str(missing)]) == 2
    assert capsys.readouterr().err == (
        f'robot-dynamics: --robot {missing}: cannot read the file: No such file or directory\n'
    )


def test_a_missing_input_is_named_without_an_option_that_was_not_given(tmp_path, capsys):
    missing = tmp_path / 'missing.yaml'
    assert cli.main(['trajectory', str(missing), '--robot', str(ELBOW)]) == 2
    assert capsys.readouterr().err == f'robot-dynamics: {missing}: No such file or directory\n'


@pytest.mark.parametrize('verb', ['check', 'trajectory'])
def test_results_are_written_before_pictures(strange, motion, tmp_path, monkeypatch, verb):
    def broken(*_):
        raise RuntimeError('no picture')

    monkeypatch.setattr(figures, 'write_file', broken)
    out, picture = tmp_path / 'out', tmp_path / 'out.png'
    words = {
        'check': ('check', strange, '--fix', out),
        'trajectory': ('trajectory', motion, '--robot', strange, '--slow-down', out),
    }[verb]
    with pytest.raises(RuntimeError):
        cli.main([*map(str, words), '--picture', str(picture)])
    written = {
        'check': lambda: load_urdf(out).joint_names,
        'trajectory': lambda: tuple(yaml.safe_load(out.read_text())['joint_names']),
    }[verb]()
    assert written == (NAMES['joint1'], NAMES['joint2'])
    assert not picture.exists()


def test_numbers_that_are_not_finite_are_null_in_json(tmp_path):
    write_json(tmp_path / 'a.json', {'a': [1.5, float('nan'), float('inf')], 'b': 'NaN'})
    assert json.loads((tmp_path / 'a.json').read_text()) == {'a': [1.5, None, None], 'b': 'NaN'}
