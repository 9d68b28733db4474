# SPDX-License-Identifier: Apache-2.0
"""The verb `identify`: files, verdict, and exit codes."""

import errno
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
import yaml

pytest.importorskip('rosbags')

from arms_to_identify import recorded, wrong
from elbow import ELBOW
from recorded_runs import samples, write_bag

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation import identification_page
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.urdf.loading import load_urdf, parse_urdf

PANDA = share_file('urdf/panda.urdf')
CHAIN = {'tip_link': 'panda_link8'}
MODEL = load_urdf(PANDA, **CHAIN)
TRUE = wrong(MODEL, viscous=1.0, coulomb=0.6)
ALLOWED = re.compile(r'<(inertial|origin|mass|inertia|dynamics)\b|</inertial>|^\s+i[xyz]{2}=')


def bag(folder, recording, urdf=None):
    states = samples(
        recording.joint_names, recording.t, recording.q, recording.qd, recording.effort
    )
    texts = {} if urdf is None else {'/robot_description': urdf}
    return write_bag(folder, {'/joint_states': states}, descriptions=texts)


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags')
    urdf = PANDA.read_text()
    still = recorded(MODEL, duration=8.0, rate=100.0)
    still = replace(still, q=0 * still.q, qd=0 * still.qd)
    return {
        'fit': bag(folder / 'fit', recorded(TRUE, 1, rate=200.0), urdf),
        'test': bag(folder / 'test', recorded(TRUE, 2, duration=8.0, rate=200.0)),
        'other': bag(folder / 'other', recorded(MODEL, 3, duration=8.0, rate=200.0)),
        'still': bag(folder / 'still', still, urdf),
    }


@pytest.fixture(scope='module')
def written(bags, tmp_path_factory):
    """Return the folder of the files of one run."""
    folder = tmp_path_factory.mktemp('out')
    files = [f'--{k}={folder / v}' for k, v in (('output', 'a.urdf'), ('json', 'a.json'))]
    arguments = ['identify', bags['fit'], '--robot', PANDA, '--tip-link', 'panda_link8', *files]
    arguments += ['--test', bags['test'], '--report', folder / 'a.html']
    assert cli.main([str(word) for word in arguments]) == 0
    return folder


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of the verb."""

    def run(*arguments):
        code = cli.main(['identify', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.mark.slow
def test_only_inertials_and_dynamics_change(written):
    before, after = PANDA.read_text().splitlines(), (written / 'a.urdf').read_text().splitlines()
    comments = [line for line in after if 'robot_dynamics' in line]
    assert 'parameters="a.yaml" missing="rotor_inertia up to' in comments[0]
    assert 'inertias and friction are from recordings' in comments[1]
    after = [line for line in after if line not in comments]
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) > 20
    for a, b in changed:
        assert ALLOWED.search(a), a
        assert ALLOWED.search(b), b
    old, new = (ElementTree.fromstring('\n'.join(lines)) for lines in (before, after))
    for robot in (old, new):
        for link in robot.iter('link'):
            for element in link.findall('inertial'):
                link.remove(element)
        for joint in robot.iter('joint'):
            for element in joint.findall('dynamics'):
                joint.remove(element)
    assert ElementTree.tostring(old) == ElementTree.tostring(new)


def test_the_parameters_name_what_they_are_from_and_each_reader_what_it_lacks(
    written, bags, capsys, monkeypatch
):
    from robot_dynamics.ros.parameter_files import identified_from

    urdf, params = written / 'a.urdf', written / 'a.yaml'
    origin = yaml.safe_load(params.read_text())['/identification']['ros__parameters']
    assert origin['recordings'] == ['fit'] == list(identified_from(params))
    assert origin['effort_delay_error'] > 0
    assert origin['effort_delay_applied'] is False
    assert abs(origin['effort_delay']) < 5 * origin['effort_delay_error']
    lacks = 'identified with rotor_inertia up to'
    for verb, options in (
        ('terms', []),
        ('evaluate', ['--params', params]),
        ('evaluate', []),
        ('thresholds', ['--params', params, '--force', '--efforts', 'torques']),
    ):
        bag = [] if verb == 'terms' else [bags['fit']]
        if verb == 'thresholds':  # the recording that was fitted, under another path
            monkeypatch.chdir(bags['fit'])
            bag = ['.']
        robot = [urdf] if verb == 'terms' else ['--robot', urdf]
        tip = [] if options else ['--tip-link', 'panda_link8'] if bag else []
        assert cli.main([str(word) for word in (verb, *bag, *robot, *tip, *options)]) in (0, 1)
        shown, said = capsys.readouterr()
        assert (lacks in said) == (not options), said
        if verb == 'thresholds':
            assert '# model identified from fit\n# a recording of this name was fitted' in shown


@pytest.mark.slow
def test_urdf_and_parameters_are_the_identified_arm(written):
    figures = json.loads((written / 'a.json').read_text())
    model = load_urdf(written / 'a.urdf', **CHAIN, strict_inertials=True)
    parameters = yaml.safe_load((written / 'a.yaml').read_text())['/**']['ros__parameters']
    assert parameters['joints'] == list(MODEL.joint_names)
    assert parameters['tip_link'] == 'panda_link8'
    assert 'locked_joints' not in parameters
    assert parameters['effort_scale_known'] == [True] * 7
    assert all(joint['effort_scale_known'] for joint in figures['joints'])
    for j, joint in enumerate(figures['joints']):
        assert joint['name'] == MODEL.joint_names[j]
        assert model.viscous[j] == pytest.approx(joint['viscous'], rel=1e-8)
        assert model.coulomb[j] == pytest.approx(joint['coulomb'], rel=1e-8)
        assert parameters['friction']['coulomb'][j] == pytest.approx(joint['coulomb'], rel=1e-8)
        assert parameters['rotor_inertia'][j] == pytest.approx(joint['rotor_inertia'], abs=1e-9)
    # The model of the files predicts the torques of the true arm.
    full = model.with_actuation(rotor_inertia=np.array(parameters['rotor_inertia']))
    one = recorded(TRUE, 5, duration=5.0, rate=100.0, noise=0.0)
    qdd = np.gradient(one.qd, one.t, axis=0)

    def error(model):
        arm = Dynamics(model)
        tau = arm.inverse_dynamics(one.q, one.qd, qdd) + arm.friction_torque(one.qd)
        return np.sqrt(((one.effort - tau)[5:-5] ** 2).mean(axis=0))

    offset = np.array(parameters['effort_offset'])
    assert np.abs(offset).max() < 0.2
    assert (error(full) < 0.1 * error(MODEL) + np.abs(offset)).all()


def test_pinocchio_reads_the_urdf_and_agrees(written):
    pin = pytest.importorskip('pinocchio')
    model = load_urdf(written / 'a.urdf', **CHAIN)
    other = pin.buildModelFromUrdf(str(written / 'a.urdf'))
    fingers = [i for i in range(1, other.njoints) if 'finger' in other.names[i]]
    other = pin.buildReducedModel(other, fingers, pin.neutral(other))
    arm, rng = Dynamics(model), np.random.default_rng(0)
    for _ in range(20):
        q, qd, qdd = rng.uniform(-2, 2, (3, 7))
        tau = pin.rnea(other, other.createData(), q, qd, qdd)
        assert arm.inverse_dynamics(q, qd, qdd) == pytest.approx(tau, rel=1e-9, abs=1e-9)


def test_json_has_the_documented_keys(written):
    figures = json.loads((written / 'a.json').read_text())
    keys = {'name', 'viscous', 'coulomb', 'offset', 'rotor_inertia', 'effort_scale'}
    assert all(keys <= set(joint) for joint in figures['joints'])
    assert {'name', 'effort_rms', 'before_rms', 'after_rms'} <= set(figures['test'][0])
    assert all(one['after_rms'] < one['before_rms'] for one in figures['test'])
    assert figures['excitation']['condition'] > 1
    assert figures['base_parameters'][0]['standard_error'] > 0
    assert figures['friction_law']['name'] == 'coulomb'
    assert 'tanh(v/0.01)' in figures['friction_law']['formula']
    assert figures['verdict'] == 'better'
    assert figures['assumed_scale_error'] == 0.02


def test_the_report_is_one_file_with_the_verdict_first(written):
    page = (written / 'a.html').read_text()
    body = page[page.index('<body>') :]
    assert body.index('better: on the test recording') < body.index('<table>')
    assert 'data:image/png;base64,' in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert all(name in page for name in MODEL.joint_names)


@pytest.mark.slow
def test_steps_are_shown_and_the_verdict_comes_first(bags, run):
    code, shown, said = run(bags['fit'], '--tip-link', 'panda_link8')
    assert code == 0
    assert shown.splitlines()[1].startswith('better: on the last third of the recording')
    assert 'convex problem 1' in said


@pytest.mark.slow
def test_a_worse_model_is_not_written_unless_forced(bags, run, tmp_path):
    file = tmp_path / 'x.urdf'
    # The test recording is of the arm as described.
    arguments = (bags['fit'], '--tip-link', 'panda_link8', '--test', bags['other'])
    code, shown, _ = run(*arguments, '--output', file)
    assert code == 1
    assert shown.splitlines()[1].startswith('worse: ')
    assert f'{file} is not written: the model is worse' in shown
    assert not list(tmp_path.iterdir())
    code, *_ = run(*arguments, '--output', file, '--force', '--lock', 'panda_joint7=0.5')
    assert code == 1
    assert {path.name for path in tmp_path.iterdir()} == {'x.urdf', 'x.yaml'}
    # The options that choose the joints are parameters of the nodes.
    parameters = yaml.safe_load((tmp_path / 'x.yaml').read_text())['/**']['ros__parameters']
    assert parameters['locked_joints'] == ['panda_joint7']
    assert parameters['locked_positions'] == [0.5]
    assert parameters['joints'] == list(MODEL.joint_names[:6])


@pytest.mark.slow
def test_a_refused_recording_is_fitted_by_force(bags, run, tmp_path):
    file, chain = tmp_path / 'x.urdf', ('--tip-link', 'panda_link8')
    code, shown, said = run(bags['still'], *chain, '--output', file, '--force')
    assert 'refused, overridden by --force: 7 of 7 joints do not move enough' in said
    assert 'identified although refused: 7 of 7 joints' in shown
    assert code == int(shown.splitlines()[1].startswith('worse: '))
    assert {path.name for path in tmp_path.iterdir()} == {'x.urdf', 'x.yaml'}


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (['{still}', '--tip-link', 'panda_link8'], '7 of 7 joints do not move enough'),
        (['{fit}', '--robot', 'planar_2r'], 'no joint states of joint1, joint2'),
        (['{fit}', '--tip-link', 'panda_link9'], "tip_link is 'panda_link9'"),
        (['{test}'], 'has no robot_description: name a file'),
        (['/nowhere'], '/nowhere: No such file or directory'),
        (['{fit}', '--robot', '/nowhere.urdf'], '/nowhere.urdf'),
        (['{fit}', '--payload', 'panda_link7', '1', '0', '0', '0'], 'expected both or neither'),
        (['{fit}', '--effort-scale', '1', '2', '--tip-link', 'panda_link8'], 'has 2 values'),
        (
            ['{fit}', '--effort-scale', 'a=2', '--tip-link', 'panda_link8'],
            'scale names a; expected',
        ),
        (
            ['{fit}', '--payload-bag', '{test}', '--payload', 'a', '1', '0'],
            'expected LINK MASS or',
        ),
        (['{test}', '{other}'], 'has no robot_description: name a file'),
        (['{fit}', '--cutoff', '150', '--tip-link', 'panda_link8'], 'too few'),
        (['{fit}', '--tip-link', 'panda_link8', '--test', '{still}x'], 'No such file'),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(bags, run, tmp_path, arguments, reason):
    words = [word.format(**bags) for word in arguments]
    code, _, said = run(*words, '--output', tmp_path / 'x.urdf')
    assert code == 2
    assert reason in said.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_the_output_is_another_file_than_the_description(bags, run, tmp_path):
    copy = tmp_path / 'panda.urdf'
    copy.write_bytes(PANDA.read_bytes())
    code, _, said = run(bags['fit'], '--robot', copy, '--output', copy)
    assert code == 2
    assert 'is the description: expected another file' in said
    code, _, said = run(bags['fit'], '--output', tmp_path / 'x.xml')
    assert code == 2
    assert 'expected a name that ends in .urdf' in said


# -- names of strangers, and results that the nodes reject ------------------------------------

ROBOT = 'a\nkp: 1e6</title><script>'
NAMES = {
    '<robot name="elbow"': 'a&#10;kp: 1e6&lt;/title>&lt;script>',
    '<joint name="shoulder"': r'$\frac$ 1',
    '<joint name="elbow"': '_1e5',
}


@pytest.fixture(scope='module')
def strange(tmp_path_factory):
    """Return a recording of an arm with such names, and its identification."""
    text = ELBOW
    for element, name in NAMES.items():
        text = text.replace(element, f'{element.partition("=")[0]}="{name}"')
    model = parse_urdf(text)
    assert (model.name, *model.joint_names) == (ROBOT, r'$\frac$ 1', '_1e5')
    run = recorded(wrong(model, viscous=1.0, coulomb=0.6), 1, duration=8.0, rate=200.0)
    return bag(tmp_path_factory.mktemp('strange') / 'run', run, text), identify(
        Dynamics(model), run
    )


@pytest.fixture
def identified(strange, monkeypatch, run):
    """Return a function that runs the verb on this result, with other attributes of it."""
    folder, found = strange

    def identified(*options, **changes):
        other = replace(found, **changes)
        monkeypatch.setattr('robot_dynamics.cli.identify.identify', lambda *_, **__: other)
        return run(folder, *options)

    return identified


@pytest.mark.slow
def test_names_of_strangers_are_names_in_every_file(identified, tmp_path):
    urdf, figures, report = (tmp_path / f'a.{suffix}' for suffix in ('urdf', 'json', 'html'))
    assert identified('--output', urdf, '--json', figures, '--report', report)[0] == 0
    content = yaml.safe_load((tmp_path / 'a.yaml').read_text())
    assert list(content) == ['/**', '/standard_errors', '/identification']
    assert 'kp' not in content['/**']['ros__parameters']
    assert content['/**']['ros__parameters']['joints'] == [r'$\frac$ 1', '_1e5']
    assert load_urdf(urdf).name == json.loads(figures.read_text())['robot'] == ROBOT
    html = report.read_text(encoding='utf-8')
    assert html.count('data:image/png') == 1
    assert html.count('&lt;/title&gt;&lt;script&gt;') == 2
    assert '<script' not in html


@pytest.mark.parametrize(
    ('change', 'options', 'code', 'written'),
    [
        (0.5 * np.ones(2), [], 0, True),
        (np.ones(2), [], 0, True),
        (np.array([1.0, 1.01]), [], 0, False),
        (np.array([1.0, 1.01]), ['--force'], 0, True),
        (2 * np.ones(2), [], 1, False),
        (2 * np.ones(2), ['--force'], 1, True),
    ],
    ids=['better', 'no better', 'a joint worse', 'forced', 'worse', 'worse, forced'],
)
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_verdicts_exit_codes_and_files(
    strange, identified, tmp_path, change, options, code, written, sign
):
    v = strange[1].validation
    residual = sign * (v.effort - v.before)
    v = replace(v, before=v.effort - residual, after=v.effort - change * residual)
    done, shown, _ = identified('--output', tmp_path / 'a.urdf', *options, validation=v)
    assert done == code
    # The change is the same in every block of time: its interval has no width.
    assert v.interval == pytest.approx((v.ratio, v.ratio))
    assert bool(list(tmp_path.iterdir())) == written
    assert ('; --force writes it' in shown) == (not written)


@pytest.mark.parametrize(('later', 'written'), [(1.2, True), (1.8, False)])
def test_a_recording_that_is_too_short_cannot_tell(strange, identified, tmp_path, later, written):
    v = strange[1].validation
    change = np.where(v.t - v.t[0] > 4.0, later, 0.9)[:, None]
    v = replace(v, after=v.effort - change * (v.effort - v.before))
    v = replace(
        v,
        **{k: getattr(v, k)[v.t - v.t[0] < 5.0] for k in ('t', 'effort', 'before')},
        after=v.after[v.t - v.t[0] < 5.0],
        moving=v.moving[v.t - v.t[0] < 5.0],
    )
    code, shown, _ = identified('--output', tmp_path / 'a.urdf', validation=v)
    assert code == 3
    assert re.search(
        r'cannot tell: record longer: .* is [\d.]+ % .*; [\d.]+ to [\d.]+ % with', shown
    )
    assert bool(list(tmp_path.iterdir())) == written
    assert ('cannot tell whether the residual is smaller' in shown) == (not written)


@pytest.mark.parametrize(
    ('part', 'field', 'value', 'said'),
    [
        ('friction', 'coefficients', -1e-3, 'viscous'),
        ('drives', 'rotor_inertia', -1e-3, 'rotor_inertia'),
        ('drives', 'offset', np.nan, 'effort_offset'),
        ('drives', 'effort_scale', 1e7, 'effort_scale'),
        ('drives', 'effort_scale', np.ones(3), 'effort_scale'),
        ('drives', 'offset', np.ones(3), 'effort_offset'),
    ],
)
def test_what_a_node_rejects_is_not_written(
    strange, identified, tmp_path, part, field, value, said
):
    file = tmp_path / 'a.urdf'
    whole = getattr(strange[1], part)
    values = value if np.ndim(value) else np.full_like(getattr(whole, field), value)
    code, _, error = identified('--output', file, **{part: whole._replace(**{field: values})})
    assert code == 2
    assert re.search(f'{file} is not written: the nodes reject it: {said} (is|has) ', error)
    assert not list(tmp_path.iterdir())


def test_what_the_loader_rejects_is_not_written(strange, identified, tmp_path):
    model = strange[1].model
    wrong_model = replace(model, coulomb=-model.coulomb)
    code, _, error = identified('--output', tmp_path / 'a.urdf', model=wrong_model)
    assert code == 2
    assert 'a.urdf is not written: the nodes reject it: joint' in error
    assert not list(tmp_path.iterdir())


def test_a_report_that_cannot_be_drawn_comes_after_the_files(identified, tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError('no picture')

    monkeypatch.setattr(identification_page, 'effort_curves', broken)
    with pytest.raises(RuntimeError):
        identified('--output', tmp_path / 'a.urdf', '--report', tmp_path / 'a.html')
    assert {path.name for path in tmp_path.iterdir()} == {'a.urdf', 'a.yaml'}


@pytest.mark.parametrize('at', [1, 2])
def test_a_full_disk_leaves_the_old_pair(identified, tmp_path, monkeypatch, at):
    before = {'a.urdf': 'old urdf', 'a.yaml': 'old yaml'}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    calls, forced = [], os.fsync

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        forced(descriptor)

    monkeypatch.setattr(os, 'fsync', full)
    code, _, error = identified('--output', tmp_path / 'a.urdf')
    assert code == 2
    file = tmp_path / list(before)[at - 1]
    assert error.splitlines()[-1] == (f'robot-dynamics: --output {file}: No space left on device')
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


BRANCH = """
<link name="{0}_link"><inertial><mass value="0.2"/><inertia ixx="0.001" iyy="0.001" izz="0.001"
  ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{0}_link"/>
  <origin xyz="0.1 0 0"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="5"/>
</joint></robot>"""


@pytest.mark.parametrize(
    ('missing', 'tip'),
    [
        (['finger', 'head'], '--tip-link forearm'),
        (['shoulder', 'finger', 'head'], '--tip-link forearm --lock shoulder'),
        (['finger'], None),
    ],
)
def test_options_that_leave_out_joints_are_named_and_work(run, tmp_path, missing, tip):
    text = ELBOW
    for joint, parent in (('finger', 'forearm'), ('head', 'base')):
        text = text.replace('</robot>', BRANCH.format(joint, parent))
    urdf = tmp_path / 'branched.urdf'
    urdf.write_text(text)
    listed = [name for name in load_urdf(urdf).joint_names if name in missing]
    one = recorded(load_urdf(urdf, locked_joints=dict.fromkeys(missing, 0.0)), duration=1.0)
    states = samples(one.joint_names, one.t, one.q, one.qd, one.effort)
    folder = write_bag(tmp_path / 'run', {'/joint_states': states})
    code, _, said = run(folder, '--robot', urdf)
    assert code == 2
    found = re.search(r'expected (--.*) \(JOINT=X where', said.splitlines()[-1])[1].split(' or ')
    assert found == [*([tip] if tip else []), f'--lock {" ".join(listed)}']
    for words in found:
        _, _, said = run(folder, '--robot', urdf, *words.split())
        assert 'expected at least 2 s' in said


def test_several_recordings_and_scales_of_some_joints_are_arguments(strange, run, monkeypatch):
    given = {}

    def kept(_, recordings, **options):
        given.update(options, recordings=recordings)
        return strange[1]

    monkeypatch.setattr('robot_dynamics.cli.identify.identify', kept)
    folder = strange[0]
    payload = ['--payload-bag', folder, '--payload', 'forearm', '1.5']
    code, shown, _ = run(folder, folder, '--effort-scale', '_1e5=0.5', *payload)
    assert code == 0
    assert shown.startswith(2 * f'{folder}, /joint_states\n')
    first, second = given['recordings']
    np.testing.assert_array_equal(first.q, second.q)
    assert given['effort_scale'] == {'_1e5': 0.5}
    assert (given['payload'].link, given['payload'].mass) == ('forearm', 1.5)
    assert given['payload'].com is None
    run(folder, *payload, '0', '0.1', '0', '--effort-scale', '2', '3')
    np.testing.assert_array_equal(given['payload'].com, [0.0, 0.1, 0.0])
    np.testing.assert_array_equal(given['effort_scale'], [2.0, 3.0])
