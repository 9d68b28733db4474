"""Our dynamics against other engines: on real robots, and on one with awkward corners."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import robots

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.model.states import States, random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import with_payload
from robot_dynamics.validation.comparison import compared, our_answers
from robot_dynamics.validation.engines.available import ENGINES, installed, title
from robot_dynamics.validation.engines.check import validate
from robot_dynamics.validation.engines.engine import Judge
from robot_dynamics.validation.report import Verdict, residual

ARM = (Path(__file__).parent / 'arm.urdf').read_text()


@pytest.fixture(params=ENGINES)
def engine(request):
    if not installed(request.param):
        pytest.skip(f'{title(request.param)} is not installed')
    return request.param


@pytest.fixture
def pybullet():
    if not installed('pybullet'):
        pytest.skip('PyBullet is not installed')
    return 'pybullet'


# -- real robots ------------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['kuka_iiwa', 'panda', 'ur5', 'tiago', 'talos_left_arm'])
def test_pybullet_agrees_on_real_robots(name, pybullet):
    report = validate(
        robots.path(name).read_bytes(),
        model=robots.load(name),
        states=50,
        tolerance=1e-9,
        engines=[pybullet],
    )
    assert report.verdict is Verdict.PASS, report
    assert report.engine.startswith('PyBullet 3')
    assert report.states == 50
    assert report.exit_code == 0


@pytest.mark.parametrize('other', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('name', ['kuka_iiwa', 'panda', 'ur5', 'double_pendulum'])
def test_the_other_engines_agree_to_rounding(name, other):
    if not installed(other):
        pytest.skip(f'{title(other)} is not installed')
    report = validate(
        robots.path(name).read_bytes(), model=robots.load(name), tolerance=1e-13, engines=[other]
    )
    assert report.verdict is Verdict.PASS, report


def test_tensors_that_pybullet_zeroes_are_named(pybullet):
    text, model = robots.path('xarm6').read_bytes(), robots.load('xarm6')
    report = validate(text, model=model, engines=[pybullet])
    assert report.verdict is Verdict.NOT_COMPARABLE
    assert report.exit_code == 0
    assert len(report.notes) == 2
    for note, link in zip(report.notes, ('link2', 'link3'), strict=True):
        assert f"PyBullet holds another link '{link}': inertia" in note
        assert '(0, 0, 0)' in note


def test_another_engine_judges_where_pybullet_cannot(pybullet):
    if not installed('pinocchio'):
        pytest.skip('Pinocchio is not installed')
    report = validate(robots.path('xarm6').read_bytes(), model=robots.load('xarm6'))
    assert report.verdict is Verdict.PASS
    assert report.engine.startswith('Pinocchio')
    assert any('link2' in note for note in report.notes)


# -- one awkward robot ------------------------------------------------------------------------


@pytest.mark.parametrize(
    'options',
    [
        {},
        {'gravity': (3.0, -4.0, 5.0)},
        {'locked_joints': {'elbow': 0.7}},
        {'locked_joints': {'grip': 0.05}},
        {'tip_link': 'fore'},
    ],
    ids=['as it is', 'gravity', 'locked', 'mimicked joint locked', 'tip'],
)
def test_mimic_locked_and_fixed_joints_are_mapped(engine, options):
    model = parse_urdf(ARM, **options)
    if engine == 'mujoco':
        # It takes no massless link; ours moves with the one before it.
        text = ARM.replace('<link name="bracket"/>', f'<link name="bracket">{SPECK}</link>')
        model = parse_urdf(text, **options)
    else:
        text = ARM
    report = validate(
        text,
        model=model,
        engines=[engine],
        tolerance=1e-9,
        locked_joints=options.get('locked_joints'),
    )
    assert report.verdict is Verdict.PASS, report


SPECK = """<inertial><mass value="0.01"/>
<inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial>"""


def test_payload_and_rotors_are_part_of_the_comparison(pybullet):
    com, tensor = np.array([0.0, 0.1, 0.05]), np.diag([0.02, 0.03, 0.01])
    model = parse_urdf(ARM).with_payload('finger', 1.2, com, tensor)
    model = model.with_actuation(gear_ratio=[50.0, 80.0, 10.0], rotor_inertia=1e-4)
    text = with_payload(ARM, 'finger', Inertial(1.2, com, tensor))
    report = validate(text, model=model, engines=[pybullet], tolerance=1e-9)
    assert report.verdict is Verdict.PASS, report


def test_a_link_without_inertial_is_massless_for_pybullet_too(pybullet):
    with Judge(pybullet, ARM, parse_urdf(ARM)) as judge:
        assert judge.differences == ()


@pytest.mark.parametrize('wrong', ['mass', 'com', 'inertia_com', 'gravity', 'placement'])
def test_a_wrong_model_fails(engine, wrong):
    text = robots.path('kuka_iiwa').read_bytes()
    true = robots.load('kuka_iiwa')
    value = np.array(getattr(true, wrong))
    if wrong == 'placement':
        value[3, 2, 3] += 1e-3
    elif wrong == 'com':
        value[3] += 1e-3
    else:
        value *= 1.001
    report = validate(text, model=replace(true, **{wrong: value}), engines=[engine])
    # A judge is given the model's gravity: only the robot can be wrong.
    expected = Verdict.PASS if wrong == 'gravity' else Verdict.FAIL
    assert report.verdict is expected, report
    assert report.exit_code == (expected is Verdict.FAIL)


def test_the_worst_joint_is_named_with_its_size(pybullet):
    true = robots.load('kuka_iiwa')
    heavier = true.with_payload(true.body_names[-1], 0.5)
    arm = Dynamics(heavier)
    states = random_states(heavier, 20, np.random.default_rng(0))
    with Judge(pybullet, robots.path('kuka_iiwa').read_bytes(), heavier) as judge:
        ours, theirs = our_answers(arm, states), judge.answers(states)
    gravity = compared(ours, theirs, heavier.joint_names)[2]
    apart = np.abs(ours.g - theirs.g).max(axis=0)
    assert gravity.quantity == 'gravity torque'
    assert gravity.joint == heavier.joint_names[int(np.argmax(apart))]
    assert gravity.error == apart.max()
    assert gravity.relative == pytest.approx(apart.max() / np.abs(ours.g).max())


def test_given_states_are_compared_and_nan_fails():
    states = States(*np.random.default_rng(0).uniform(-1, 1, (3, 7, 3)))
    engines = [name for name in ENGINES if installed(name)]
    report = validate(ARM, states=states, engines=engines[:1])
    assert report.states == 7
    found = residual('x', np.array([[0.0, np.nan]]), np.zeros((1, 2)), ('a', 'b'))
    assert found.joint == 'b'
    assert not found.relative <= 1e300
    # It is the worst there is, wherever it stands.
    other = residual('y', np.ones((1, 2)), np.zeros((1, 2)), ('a', 'b'))
    for pair in ((found, other), (other, found)):
        assert replace(report, residuals=pair).worst is found


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'states': 0}, ShapeError, 'states is 0; at least one is needed to compare in'),
        (
            {'states': States(*np.zeros((3, 2, 4)))},
            ShapeError,
            r'q of the states has shape \(2, 4',
        ),
        ({'states': States(*np.zeros((3, 0, 3)))}, ShapeError, r'k at least 1'),
        ({'engines': ['bullet']}, ValueError, "no engine 'bullet'; it must be one of pybullet, m"),
        ({'second_judges': ['drake']}, ValueError, "no engine 'drake'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        validate(ARM, **options)


# -- links of grams, joints in another order --------------------------------------------------

# Three fingers in an order that no engine has: of the alphabet it is a 3-cycle, not its own
# inverse. Centimetres and grams; one axis points backwards, one finger follows another, reversed.
HAND = """<robot name="hand"><link name="palm"/>{fingers}
<link name="tip">{inertial}</link>
<joint name="d" type="revolute"><parent link="c"/><child link="tip"/>
<origin xyz="0.02 -0.01 0.005" rpy="0.4 -0.3 0.2"/><axis xyz="0 -1 0"/>
<limit lower="-1" upper="0.2" effort="1" velocity="2"/><mimic joint="b" multiplier="-0.7"
offset="0.1"/></joint></robot>"""
GRAMS = """<inertial><origin xyz="0.01 -0.004 0.003" rpy="0.5 -0.2 0.7"/><mass value="0.004"/>
<inertia ixx="2e-7" ixy="2e-8" ixz="-1e-8" iyy="3e-7" iyz="3e-8" izz="2.5e-7"/></inertial>"""
FINGER = """<link name="{0}">{1}</link><joint name="{0}" type="{2}"><parent link="palm"/>
<child link="{0}"/><origin xyz="0.03 {3} -0.01" rpy="{3} 0.6 -0.4"/><axis xyz="{4}"/>
<limit lower="-0.9" upper="0.3" effort="1" velocity="2"/></joint>"""
SMALL = HAND.format(
    inertial=GRAMS,
    fingers=''.join(
        FINGER.format(name, GRAMS.replace('0.004"/>', f'{mass}"/>'), kind, place, axis)
        for name, mass, kind, place, axis in [
            ('c', 0.009, 'revolute', 0.02, '0 -1 0'),
            ('a', 0.004, 'prismatic', -0.03, '0.6 0 -0.8'),
            ('b', 0.007, 'revolute', 0.05, '0 0.6 0.8'),
        ]
    ),
)


def test_a_small_hand_in_another_order_agrees(engine):
    model = parse_urdf(SMALL, gravity=(3.0, -4.0, -5.0))
    assert model.joint_names == ('c', 'a', 'b')
    with Judge(engine, SMALL, model) as judge:
        states = random_states(model, 20, np.random.default_rng(0))
        found = compared(our_answers(Dynamics(model), states), judge.answers(states), 'cab')
        differences = judge.differences
    if engine == 'pybullet':
        # It stops diagonalizing tensors at an absolute size, which is coarse for these.
        assert all('inertia with the diagonal' in sentence for sentence in differences)
        assert max(r.relative for r in found) < 1e-3
    else:
        assert differences == ()
        assert max(r.relative for r in found) < 1e-12


class Holding:
    """An engine process that holds what it is given of the robot."""

    def __init__(self, model, **held):
        joints = [(name, name) for name in model.body_names]
        self.reply = {'version': 'X 1', 'joints': joints, 'inertials': held}
        self.pid = 0

    def request(self, message):
        return self.reply

    def close(self):
        pass


@pytest.mark.parametrize('scale', [1e-6, 1.0, 1e3])
@pytest.mark.parametrize(
    ('wrong', 'named'),
    [
        ({}, False),
        ({'tensor': 1 + 1e-8}, False),
        ({'tensor': 1.01}, True),
        ({'mass': 1.01}, True),
        ({'com': 1.01}, True),
    ],
)
def test_what_an_engine_holds_is_compared_by_its_own_size(monkeypatch, scale, wrong, named):
    """A tensor of 1e-7 kg m^2 that differs by a hundredth excuses other torques of its link."""
    m, c, I = 0.3 * scale, np.array([0.02, -0.05, 0.1]), 0.01 * scale
    text = f"""<robot name="r"><link name="a"/><link name="b"><inertial>
    <origin xyz="0.02 -0.05 0.1"/><mass value="{m}"/><inertia ixx="{I}" ixy="0" ixz="0"
    iyy="{1.5 * I}" iyz="0" izz="{1.2 * I}"/></inertial></link>
    <joint name="b" type="continuous"><parent link="a"/><child link="b"/>
    <limit effort="1" velocity="1"/></joint></robot>"""
    model = parse_urdf(text)
    tensor = np.diag([I, 1.5 * I, 1.2 * I]) * wrong.get('tensor', 1)
    held = (m * wrong.get('mass', 1), (c * wrong.get('com', 1)).tolist(), tensor.tolist())
    process = Holding(model, b=held)
    name = 'robot_dynamics.validation.engines.engine.EngineProcess'
    monkeypatch.setattr(name, lambda *_, **__: process)
    with Judge('mujoco', text, model) as judge:
        assert len(judge.differences) == named


# -- what can go wrong with the judges --------------------------------------------------------


def test_without_any_engine_there_is_no_verdict_and_no_failure(tmp_path, monkeypatch):
    for package in ('pybullet', 'mujoco', 'pinocchio'):
        (tmp_path / f'{package}.py').write_text(f'raise ImportError("No module {package}")')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    report = validate(ARM)
    assert report.verdict is Verdict.NO_ENGINE
    assert report.exit_code == 0
    assert report.notes[0] == 'no PyBullet: No module pybullet'
    assert 'NO ENGINE: arm' in str(report)


def test_engines_leave_nothing_lying_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # MuJoCo refuses this one, and writes a log of its refusals.
    validate(robots.path('xarm6').read_bytes(), model=robots.load('xarm6'))
    assert list(tmp_path.iterdir()) == []


def test_a_judge_that_dies_is_replaced(tmp_path, monkeypatch):
    if not installed('pinocchio'):
        pytest.skip('Pinocchio is not installed')
    (tmp_path / 'pybullet.py').write_text('import os; os.abort()')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    report = validate(ARM, engines=['pybullet', 'pinocchio'])
    assert report.verdict is Verdict.PASS
    assert report.notes == ('PyBullet died: signal 6',)


def test_the_report_reads_as_a_sentence(pybullet):
    report = validate(ARM, engines=[pybullet], states=5)
    assert str(report).startswith('PASS: arm against PyBullet 3')
    assert '5 states, worst ' in str(report)
    assert 'tolerance 1e-06' in str(report)
