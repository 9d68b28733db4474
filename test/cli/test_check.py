# SPDX-License-Identifier: Apache-2.0
"""The verb `check`: output, exit codes, JSON, repaired files and pictures."""

import json
import re

import pytest
import robots

from robot_dynamics import cli
from robot_dynamics.check.examination import examine
from robot_dynamics.check.findings import KINDS, SEVERITIES
from robot_dynamics.check.picture import draw
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf

trimesh = pytest.importorskip('trimesh')

PANDA = share_file('urdf/panda.urdf')


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of `check`."""

    def run(*arguments):
        code = cli.main(['check', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def slow_panda(tmp_path):
    """Return a Panda whose velocity limits are in degrees, and a mass in grams."""
    text = PANDA.read_text()
    for wrong, right in (('124.6', '2.175'), ('124.6', '2.1750')):
        text = text.replace(f'velocity="{right}"', f'velocity="{wrong}"')
    file = tmp_path / 'panda.urdf'
    file.write_text(text)
    assert text != PANDA.read_text()
    return file


def test_warnings_fail_only_when_strict(run, slow_panda):
    code, output, errors = run(slow_panda)
    assert (code, errors) == (0, '')
    assert 'WARNING limit-degrees (plausibility): ' + KINDS['limit-degrees'].why in output
    assert run(slow_panda, '--strict')[0] == 1
    assert run(PANDA, '--strict')[0] == 0


def test_findings_are_written_as_json(run, slow_panda, tmp_path):
    file = tmp_path / 'findings.json'
    assert run(slow_panda, '--json', file)[0] == 0
    findings = json.loads(file.read_text())['findings']
    assert {'limit-degrees'} <= {finding['kind'] for finding in findings}
    for finding in findings:
        assert finding['severity'] in SEVERITIES
        assert finding['kind'] in KINDS
        assert isinstance(finding['subject'], str)
        assert isinstance(finding['words'], str)
        for repair in finding['repair'] or []:
            assert set(repair) == {'attribute', 'from', 'to'}
            assert repair['attribute'] == 'limit/@velocity'
            assert type(repair['from']) is float
            assert repair['to'] == pytest.approx(2.175, rel=1e-3)


def test_repairs_are_written_and_chosen_by_kind(run, slow_panda, tmp_path):
    out = tmp_path / 'out.urdf'
    _, output, _ = run(slow_panda, '--fix', out, '--only', 'mass-unit')
    assert out.read_bytes() == slow_panda.read_bytes()
    assert 'with 0 repairs' in output
    run(slow_panda, '--fix', out)
    assert load_urdf(out).velocity_limit == pytest.approx(load_urdf(PANDA).velocity_limit, 1e-3)
    assert run(out, '--strict')[0] == 0
    code, _, errors = run(slow_panda, '--only', 'mass-unit')
    assert code == 2
    assert errors.count('\n') == 1


def test_fix_prints_what_it_changes_of_the_gravity_torques(run, tmp_path):
    text = PANDA.read_text()
    heavy = text.replace('<mass value="3.228604"/>', '<mass value="3228.604"/>')
    assert heavy != text
    file, out = tmp_path / 'heavy.urdf', tmp_path / 'out.urdf'
    file.write_text(heavy)
    _, output, _ = run(file, '--fix', out, '--only', 'mass-unit', '--reference', PANDA)
    assert 'gravity torques before and after' in output
    rows = [line.split() for line in output[output.index('gravity torques') :].splitlines()]
    (second,) = (row for row in rows if row and row[0] == 'panda_joint2')
    changed = [float(word) for word in second[1:] if word != '->']
    before, after = (load_urdf(robot) for robot in (file, out))
    for share, old, new in zip((0.25, 0.5, 0.75), changed[::2], changed[1::2], strict=True):
        q = before.lower + share * (before.upper - before.lower)
        for model, printed in ((before, old), (after, new)):
            assert printed == pytest.approx(Dynamics(model).gravity_torque(q)[1], rel=1e-3)


def test_nothing_to_repair_is_said(run, tmp_path):
    _, output, _ = run(PANDA, '--fix', tmp_path / 'out.urdf')
    assert 'nothing to repair' in output
    assert 'gravity torques before' not in output
    assert (tmp_path / 'out.urdf').read_bytes() == PANDA.read_bytes()


def test_the_weight_is_compared_with_the_data_sheet(run):
    assert 'WARNING weight' not in run(PANDA, '--weight', '18')[1]
    code, output, _ = run(PANDA, '--weight', '9', '--strict')
    assert code == 1
    assert 'WARNING weight' in output
    assert 'the data sheet has 9 kg' in output


def test_a_repair_that_the_loader_rejects_is_not_written(run, slow_panda, tmp_path, monkeypatch):
    def negative(text, _):
        return text.replace(b'velocity="124.6"', b'velocity="-1"')

    monkeypatch.setattr('robot_dynamics.check.examination.edited', negative)
    code, _, errors = run(slow_panda, '--fix', tmp_path / 'out.urdf')
    assert code == 2
    assert 'velocity' in errors
    assert not (tmp_path / 'out.urdf').exists()


def test_a_xacro_file_is_expanded_with_a_notice(run, tmp_path):
    file, out = tmp_path / 'arm.xacro', tmp_path / 'out.urdf'
    head = '<robot name="panda" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    text = PANDA.read_text()
    start = text.index('<robot')
    rest = text[text.index('>', start) + 1 :]
    file.write_text(head + '<xacro:property name="x" value="1"/>' + rest)
    code, output, _ = run(file, '--fix', out)
    assert code == 0
    assert 'that the xacro or MJCF file becomes' in output
    assert 'the URDF made from it' in output
    assert load_urdf(out).joint_names == load_urdf(PANDA).joint_names


@pytest.mark.slow
def test_an_inconsistent_tensor_is_an_error_and_repaired(run, tmp_path):
    out = tmp_path / 'out.urdf'
    path = robots.path('xarm6')
    code, output, _ = run(path, '--fix', out, '--package-path', path.parent)
    assert code == 1
    assert 'products of inertia of opposite sign explains it' in output
    assert run(out, '--package-path', path.parent)[0] == 0


def test_a_text_that_is_no_robot_is_a_finding(run, tmp_path):
    wrong, out = tmp_path / 'wrong.urdf', tmp_path / 'out.urdf'
    for text in ('', '<robot', '<model/>', '<!DOCTYPE a><robot/>', '<robot>' + 'x' * 10_000_001):
        wrong.write_text(text)
        code, output, errors = run(wrong, '--fix', out, '--json', tmp_path / 'out.json')
        assert (code, errors) == (1, '')
        assert output.startswith('ERROR rejected')
        assert 'not written; there is no robot to repair' in output
        assert not out.exists()
        assert json.loads((tmp_path / 'out.json').read_text())['findings'][0]['kind'] == 'rejected'
    assert run(tmp_path / 'nowhere.urdf')[0] == 2
    code, _, errors = run(PANDA, '--reference', wrong)
    assert (code, errors.count('\n')) == (2, 1)
    assert str(wrong) in errors


def test_what_other_programs_read_differently_is_found(run, tmp_path):
    file, out = tmp_path / 'panda.urdf', tmp_path / 'out.urdf'
    broken = re.sub(r'(<mass value="[\d.]+)"', r'\1\n"', PANDA.read_text(), count=1)
    file.write_text(re.sub(r'ixy="[^"]*"', '', broken, count=1))
    code, output, _ = run(file, '--portable', '--fix', out)
    assert code == 0
    assert 'white space behind a number of value: urdfdom drops the <inertial>' in output
    assert '<inertia> has no ixy: urdfdom drops the tensor, and keeps the mass' in output
    assert 'ixy="0.0"' in out.read_text()
    assert 'not-portable' not in run(file)[1]
    assert 'WARNING not-portable' not in run(PANDA, '--portable')[1]


def test_a_broken_tree_is_reported_without_a_table(run, tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text('<robot name="r"><link name="a"/><link name="b"/></robot>')
    code, output, errors = run(file)
    assert (code, errors) == (1, '')
    assert output.startswith('ERROR several-roots')
    code, _, errors = run(file, '--picture', tmp_path / 'a.png')
    assert code == 2
    assert 'cannot be drawn' in errors


def test_a_picture_is_drawn(run, tmp_path):
    picture = tmp_path / 'panda.png'
    assert run(PANDA, '--picture', picture)[0] == 0
    assert picture.read_bytes()[:4] == b'\x89PNG'


def test_meshes_are_found_in_the_ament_index(run, tmp_path, monkeypatch):
    package = tmp_path / 'install' / 'share' / 'arm_meshes'
    package.mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(package / 'a.stl')
    file = tmp_path / 'work' / 'robot.urdf'
    file.parent.mkdir()
    mesh = '<geometry><mesh filename="package://arm_meshes/a.stl"/></geometry>'
    text = PANDA.read_text().replace(
        '<link name="panda_link0">', f'<link name="panda_link0"><visual>{mesh}</visual>'
    )
    file.write_text(text)
    assert 'mesh-unresolved' in run(file)[1]
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'install'))
    assert 'mesh-unresolved' not in run(file)[1]


def test_the_legend_of_a_picture_names_what_is_drawn(tmp_path):
    text = PANDA.read_text()
    bare = re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.DOTALL)
    grams = re.sub(
        r'(<mass value=")([\d.]+)', lambda m: f'{m[1]}{1e3 * float(m[2])}', text, count=3
    )
    boxes, warnings = 'bounding box of the geometry', 'inertia, warnings'
    for number, (content, boxed, faulty) in enumerate(
        ((text, True, False), (bare, False, False), (grams, True, True))
    ):
        file = tmp_path / f'{number}.urdf'
        file.write_text(content)
        figure = draw(examine(file))
        labels = {label.get_text() for label in figure.axes[0].get_legend().get_texts()}
        assert labels >= {'from joint to joint', 'inertia, no warning'}
        assert (boxes in labels) == boxed
        assert (warnings in labels) == faulty
        assert 'inertia, errors' not in labels


def test_a_repair_is_written_without_rounding_errors(run, tmp_path):
    grams, out = tmp_path / 'grams.urdf', tmp_path / 'out.urdf'
    text = PANDA.read_text()
    assert 1225.9461 * 1e-3 != 1.2259461
    grams.write_text(text.replace('value="1.225946"', 'value="1225.9461"'))
    run(grams, '--fix', out)
    assert out.read_text() == text.replace('value="1.225946"', 'value="1.2259461"')
