# SPDX-License-Identifier: Apache-2.0
"""The verb `evaluate`: exit code, figures, curves and picture of a bag."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiers

pytest.importorskip('rosbags')

from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.urdf.loading import load_urdf

CHECKOUT = Path(__file__).resolve().parents[2]
ELBOW, PANDA = (share_file(f'urdf/{name}.urdf') for name in ('planar_2r', 'panda'))
MODEL = load_urdf(ELBOW)
LINK = MODEL.link_names[-1]
RATE, NOISE = 200.0, 0.05


def states(model=MODEL, seed=0):
    rng = np.random.default_rng(seed)
    t, *motion = lively(MODEL, duration=10, rate=RATE, seed=seed)
    tau = torque(model, *motion)
    # Shuffled, and with a joint that the model does not have.
    wide = [np.column_stack([x[:, 1], x[:, 0] * 0, x[:, 0]]) for x in (*motion[:2], tau)]
    wide[2] += NOISE * rng.normal(size=wide[2].shape)
    first, second = MODEL.joint_names
    return samples((second, 'gripper', first), t, *wide)


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Return bags of an arm as described, and of one that carries 0.5 kg more."""
    folder = tmp_path_factory.mktemp('bags')
    described = {'/robot_description': ELBOW.read_text()}
    heavy = MODEL.with_payload(LINK, 0.5)
    return {
        name: write_bag(folder / name, {'/joint_states': run}, descriptions=texts)
        for name, run, texts in (
            ('right', states(), described),
            ('heavy', states(heavy), described),
            ('nameless', states(), {}),
        )
    }


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of the verb."""

    def run(*arguments):
        code = cli.main(['evaluate', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_a_recording_with_its_robot_needs_nothing_else(bags, run):
    code, shown, errors = run(bags['right'])
    assert (code, errors) == (0, '')
    assert shown.startswith(f'{bags["right"]}, /joint_states\nplanar_2r: ')
    assert 'no cause exceeds the noise' in shown


def test_a_missing_payload_is_named_and_can_be_given(bags, run, tmp_path):
    code, shown, _ = run(bags['heavy'], '--json', tmp_path / 'x.json')
    assert code == 0
    assert f'{LINK}: payload missing from the model, 0.' in shown
    figures = json.loads((tmp_path / 'x.json').read_text())
    (cause,) = figures['causes']
    assert (cause['kind'], cause['subject']) == ('load', LINK)
    assert cause['value'][0] == pytest.approx(0.5, abs=5 * cause['standard_deviation'][0])
    assert cause['words'] in shown
    assert cause['conditional_on'] == ['description']
    assert '± of a payload is conditional on the other links' in shown
    code, shown, _ = run(bags['heavy'], '--payload', LINK, 0.5)
    assert 'no cause exceeds the noise' in shown
    code, shown, _ = run(bags['heavy'], '--payload', LINK, 0.25, 0, 0, 0)
    assert f'{LINK}: payload missing from the model, 0.2' in shown


def test_a_csv_file_has_the_figures_of_the_bag(bags, run, tmp_path):
    file, rows = tmp_path / 'run.csv', [sample for sample in states() if len(sample.position)]
    first = rows[0].stamp
    lines = [
        [(one.stamp - first) / 1e9, *one.position, *one.velocity, *one.effort] for one in rows
    ]
    kinds = ('q', 'qd', 'effort')
    head = ','.join(['t', *(f'{kind}_{name}' for kind in kinds for name in rows[0].names)])
    np.savetxt(file, lines, delimiter=',', header=head, fmt='%.17g')
    figures = []
    for number, recording in enumerate((bags['right'], file)):
        result = tmp_path / f'{number}.json'
        code, shown, _ = run(recording, '--robot', ELBOW, '--json', result)
        assert code == 0
        figures.append(json.loads(result.read_text()))
    assert f'{file}, columns time, position, velocity, effort' in shown
    assert figures[0] == figures[1]
    code, _, said = run(file)
    assert code == 2
    assert f'{file} has no robot_description: name a file, --robot FILE' in said
    code, _, said = run(file, '--robot', ELBOW, '--columns', 'time', 'q', 'effort')
    assert code == 2
    assert f'{file}, line 2: 10 columns; the names are of 5' in said


def test_json_has_the_figures_of_the_table(bags, run, tmp_path):
    _, shown, _ = run(bags['right'], '--json', tmp_path / 'x.json')
    figures = json.loads((tmp_path / 'x.json').read_text())
    assert list(figures['joints']) == list(MODEL.joint_names)
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if 'N m' in line}
    for name, joint in figures['joints'].items():
        assert joint['unit'] == 'N m'
        assert float(rows[name][3]) == pytest.approx(joint['rms_effort'], rel=5e-3)
        assert float(rows[name][5]) == pytest.approx(joint['rms_residual'], rel=5e-3)
    assert figures['rate'] == pytest.approx(RATE)
    assert figures['samples'] + sum(figures['left_out'].values()) == 10 * RATE


def test_csv_has_the_curves(bags, run, tmp_path):
    run(bags['right'], '--csv', tmp_path / 'x.csv', '--json', tmp_path / 'x.json')
    head, *rows = csv.reader((tmp_path / 'x.csv').open())
    columns = dict(zip(head, np.array(rows, dtype=float).T, strict=True))
    figures = json.loads((tmp_path / 'x.json').read_text())
    for name, joint in figures['joints'].items():
        effort, model = columns[f'{name} effort'], columns[f'{name} model']
        assert np.allclose(columns[f'{name} residual'], effort - model)
        assert np.isfinite(columns[f'{name} corrected']).all()
        assert np.sqrt(np.mean((effort - model) ** 2)) == pytest.approx(joint['rms_residual'])
        slope = np.gradient(columns[f'{name} position'], columns['t'])[1:-1]
        assert np.allclose(slope, columns[f'{name} velocity'][1:-1], atol=0.01)


def test_the_picture_has_the_curves_of_each_joint(bags, run, tmp_path):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'x.png'
    assert run(bags['heavy'], '--picture', file)[0] == 0
    assert file.read_bytes().startswith(b'\x89PNG')
    from robot_dynamics.core.dynamics import Dynamics
    from robot_dynamics.evaluation import evaluate
    from robot_dynamics.evaluation import evaluation_report as picture
    from robot_dynamics.recordings import by_joint, read_bag

    recording = by_joint(read_bag(bags['heavy']).samples, MODEL.joint_names)
    figure = picture.plot(found := evaluate(Dynamics(MODEL), recording))
    assert len(figure.axes) == 2
    for j, axis in enumerate(figure.axes):
        curves = {line.get_label(): line.get_ydata() for line in axis.lines}
        assert np.array_equal(curves['residual'], found.curves.residual[:, j])
        assert np.array_equal(curves['model with the causes'], found.curves.corrected[:, j])
        assert {'measured effort', 'model'} < curves.keys()


@pytest.mark.parametrize(
    ('limits', 'code', 'message'),
    [
        (['--max-rms', 100], 0, 'PASS'),
        (['--max-rms', 0.5], 1, 'FAIL: joint1 has a residual of '),
        (['--max-rms', 100, 1e-4], 1, 'FAIL: joint2 has a residual of '),
        (['--max-relative', 1], 0, 'PASS'),
        (['--max-relative', 0.001], 1, 'FAIL: joint1 '),
        (['--max-rms', 100, '--max-relative', 0.001], 1, 'FAIL: joint1 '),
        (['--max-rms', 0.5, '--max-relative', 1], 1, 'FAIL: joint1 '),
    ],
)
def test_limits_decide_the_exit_code(bags, run, limits, code, message):
    found, shown, _ = run(bags['heavy'], *limits)
    assert found == code
    assert message in shown.splitlines()[-1] or message in shown
    assert ('FAIL' in shown) == (code == 1)


def test_options_of_the_robot_reach_the_model(bags, run):
    upside_down = ['--gravity', 0, 0, 9.81, '--base-orientation', np.pi, 0, 0]
    assert 'no cause exceeds the noise' in run(bags['right'], *upside_down)[1]
    shown = run(bags['right'], '--coulomb', 1, 0.5)[1]
    assert re.search(r'model overestimates dry friction: joint1 .* N m, joint2 .* N m', shown)
    shown = run(bags['right'], '--viscous', 2, '--rotor-inertia', 0.3)[1]
    assert 'overestimates viscous friction' in shown
    assert 'overestimates rotor inertia' in shown
    shown = run(bags['right'], '--lock', 'joint2=0.1')[1]
    assert 'joint1' in shown
    assert 'joint2' not in shown


@pytest.mark.parametrize(
    ('bag', 'options', 'message'),
    [
        ('nowhere', [], 'nowhere: No such file'),
        ('nameless', [], 'nameless has no robot_description: name a file, --robot FILE'),
        ('right', ['--robot', 'nowhere.urdf'], 'nowhere.urdf: cannot read'),
        ('right', ['--robot', PANDA], 'no joint states of panda_joint1, panda_joint2, '),
        ('right', ['--topic', '/arm'], 'no joint states on /arm; there are /joint_states'),
        ('right', ['--cutoff', 150], '200 samples per second are too few'),
        ('right', ['--payload', LINK], 'expected LINK MASS or LINK MASS X Y Z'),
        ('right', ['--payload', LINK, 'heavy'], '--payload: is heavy; expected a number'),
        ('right', ['--payload', 'hand', 1], "no frame 'hand'"),
        ('right', ['--load-link', 'hand'], "no frame 'hand'"),
        ('right', ['--lock', 'joint9'], "'joint9' is not a moving joint"),
        ('right', ['--max-rms', 1, 2, 3], '--max-rms has 3 values; expected one, or 2'),
        ('right', ['--effort-scale', 1, 2, 3], '--effort-scale has 3 values'),
        ('right', ['--coulomb', 1, 2, 3], '--coulomb has 3 values'),
    ],
)
def test_an_error_is_one_line(bags, run, bag, options, message):
    code, shown, errors = run(bags.get(bag, bag), *options)
    assert (code, shown) == (2, '')
    assert errors.startswith('robot-dynamics: ')
    assert message in errors
    assert errors.count('\n') == 1


@pytest.mark.slow
def test_without_rosbags_the_extra_is_named(bags):
    code = (
        "import sys; sys.modules['rosbags'] = None; "
        f'from robot_dynamics import cli; sys.exit(cli.main(["evaluate", {str(bags["right"])!r}]))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install '.[bags]'" in done.stderr
    assert done.stderr.count('\n') == 1


@pytest.mark.slow
def test_the_verb_works_without_ros(bags):
    code = (
        'import sys; sys.modules.update(rclpy=None, sensor_msgs=None, std_msgs=None); '
        f'from robot_dynamics import cli; sys.exit(cli.main(["evaluate", {str(bags["right"])!r}]))'
    )
    done = subprocess.run([sys.executable, '-c', code], cwd=CHECKOUT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize('kind', ['position', 'velocity', 'effort'])
def test_one_impossible_value_is_omitted_and_named(run, kind, tmp_path):
    recorded = states()
    values = getattr(recorded[700], kind).copy()
    values[2] = 1e30
    recorded[700] = recorded[700]._replace(**{kind: values})
    bag = write_bag(tmp_path / 'run', {'/joint_states': recorded})
    code, shown, errors = run(bag, '--robot', ELBOW)
    assert (code, errors) == (0, '')
    assert f'joint1: {kind} 1e+30, expected at most 1' in shown
    assert '1 with values out of range' in shown
    assert max(map(len, shown.splitlines())) < 200


def test_an_error_names_the_file_and_the_joint(run, tmp_path):
    recorded = [s._replace(position=s.position + np.array([0, 0, 1e30])) for s in states()]
    bag = write_bag(tmp_path / 'run', {'/joint_states': recorded})
    code, shown, errors = run(bag, '--robot', ELBOW)
    assert (code, shown) == (2, '')
    assert f'{bag}: no sample of 2000 can be used: joint1: position 1e+30' in errors


@pytest.mark.parametrize('storage', [*tiers.slow(['mcap']), *tiers.soak(['sqlite3'])])
def test_a_flipped_bit_gives_no_traceback_and_no_wide_table(run, storage, tmp_path):
    described = {'/robot_description': ELBOW.read_text()}
    folder = write_bag(
        tmp_path / 'run',
        {'/joint_states': states()[:400]},
        storage=storage,
        descriptions=described,
    )
    (file,) = (path for path in folder.iterdir() if path.suffix in ('.mcap', '.db3'))
    sound = file.read_bytes()
    rng = np.random.default_rng(0)
    for at, bit in zip(rng.integers(0, len(sound), 40), rng.integers(0, 8, 40), strict=True):
        data = bytearray(sound)
        data[at] ^= 1 << int(bit)
        file.write_bytes(data)
        code, shown, errors = run(file)
        assert code in (0, 2)
        assert errors.count('\n') == (code == 2) or 'warning' in errors.lower()
        assert max(map(len, shown.splitlines()), default=0) < 400
