# SPDX-License-Identifier: Apache-2.0
"""Comparison with reference engines: real robots, awkward ones, missing and crashing engines."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import robots
from tiers import soak

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.states import States, random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation import comparison
from robot_dynamics.validation.comparison import (
    EngineChoice,
    EngineComparison,
    compared,
    our_results,
    validate,
)
from robot_dynamics.validation.engine_report import (
    JOINT_QUANTITIES,
    QUANTITIES,
    Report,
    Residual,
    Verdict,
    residual,
)
from robot_dynamics.validation.engines import ENGINES, installed, title
from robot_dynamics.validation.engines.original_text import with_payload
from robot_dynamics.validation.engines.process import EngineCrashed
from robot_dynamics.validation.engines.reference_engine import ReferenceEngine, our_joint_frames
from robot_dynamics.validation.observation import Observation

ARM = (Path(__file__).parent / 'arm.urdf').read_text()
SOME_ENGINE = [name for name in ENGINES if installed(name) and name != 'mujoco']

needs = {
    name: pytest.mark.skipif(not installed(name), reason=f'{title(name)} is not installed')
    for name in ENGINES
}
needs_some = pytest.mark.skipif(not SOME_ENGINE, reason='no other engine is installed')


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


@pytest.mark.slow
@pytest.mark.parametrize('other', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('name', ['kuka_iiwa', 'panda', 'ur5', 'double_pendulum'])
def test_the_other_engines_agree_to_rounding(name, other):
    if not installed(other):
        pytest.skip(f'{title(other)} is not installed')
    report = validate(
        robots.path(name).read_bytes(), model=robots.load(name), tolerance=1e-13, engines=[other]
    )
    assert report.verdict is Verdict.PASS, report


def test_tensors_that_pybullet_replaces_by_zero_are_reported(pybullet):
    text, model = robots.path('xarm6').read_bytes(), robots.load('xarm6')
    report = validate(text, model=model, engines=[pybullet])
    assert report.verdict is Verdict.NOT_COMPARABLE
    assert report.exit_code == 3
    assert len(report.notes) == 2
    for note, link in zip(report.notes, ('link2', 'link3'), strict=True):
        assert f"PyBullet changes link '{link}': inertia" in note
        assert '(0, 0, 0)' in note


def test_the_next_engine_is_used_where_pybullet_changes_the_robot(pybullet):
    if not installed('pinocchio'):
        pytest.skip('Pinocchio is not installed')
    report = validate(robots.path('xarm6').read_bytes(), model=robots.load('xarm6'))
    assert report.verdict is Verdict.PASS
    assert report.engine.startswith('Pinocchio')
    assert any('link2' in note for note in report.notes)


# -- a robot with special cases ----------------------------------------------------------------


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
        # MuJoCo rejects massless links; this one moves with its parent.
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
    with ReferenceEngine(pybullet, ARM, parse_urdf(ARM)) as reference:
        assert reference.differences == ()


@pytest.mark.parametrize('wrong', [*soak(['mass', 'com', 'placement']), 'inertia_com', 'gravity'])
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
    # The engine uses the gravity of the model: only the robot can differ.
    expected = Verdict.PASS if wrong == 'gravity' else Verdict.FAIL
    assert report.verdict is expected, report
    assert report.exit_code == (expected is Verdict.FAIL)


def test_the_joint_of_the_largest_difference_is_named(pybullet):
    true = robots.load('kuka_iiwa')
    heavier = true.with_payload(true.body_names[-1], 0.5)
    arm = Dynamics(heavier)
    states = random_states(heavier, 20, np.random.default_rng(0))
    with ReferenceEngine(pybullet, robots.path('kuka_iiwa').read_bytes(), heavier) as engine:
        ours, reference = our_results(arm, states), engine.results(states)
    gravity = compared(ours, reference, heavier.joint_names)[2]
    difference = np.abs(ours.g - reference.g).max(axis=0)
    assert gravity.quantity == 'gravity torque'
    assert gravity.joint == heavier.joint_names[int(np.argmax(difference))]
    assert gravity.error == difference.max()
    assert gravity.relative == pytest.approx(difference.max() / np.abs(ours.g).max())


def test_given_states_are_compared_and_nan_fails():
    states = States(*np.random.default_rng(0).uniform(-1, 1, (3, 7, 3)))
    engines = [name for name in ENGINES if installed(name)]
    report = validate(ARM, states=states, engines=engines[:1])
    assert report.states == 7
    found = residual('x', np.array([[0.0, np.nan]]), np.zeros((1, 2)), ('a', 'b'))
    assert found.joint == 'b'
    assert not found.relative <= 1e300
    # It counts as the largest in any order.
    other = residual('y', np.ones((1, 2)), np.zeros((1, 2)), ('a', 'b'))
    for pair in ((found, other), (other, found)):
        assert replace(report, residuals=pair).largest is found


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'states': 0}, ShapeError, 'states is 0; expected at least 1'),
        (
            {'states': States(*np.zeros((3, 2, 4)))},
            ShapeError,
            r'q of the states has shape \(2, 4',
        ),
        ({'states': States(*np.zeros((3, 0, 3)))}, ShapeError, r'k at least 1'),
        ({'engines': ['bullet']}, ValueError, "no engine 'bullet'; it must be one of pybullet, m"),
        ({'additional_engines': ['drake']}, ValueError, "no engine 'drake'"),
    ],
)
def test_wrong_arguments_are_rejected(options, error, message):
    with pytest.raises(error, match=message):
        validate(ARM, **options)


# -- links of grams, joints in another order --------------------------------------------------

# Three fingers, ordered as no engine orders them: alphabetically a 3-cycle, not its own inverse.
# Centimetres and grams; one axis is reversed, one finger mimics another with opposite sign.
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
    with ReferenceEngine(engine, SMALL, model) as reference:
        states = random_states(model, 20, np.random.default_rng(0))
        found = compared(our_results(Dynamics(model), states), reference.results(states), 'cab')
        differences = reference.differences
    if engine == 'pybullet':
        # PyBullet diagonalizes tensors to an absolute accuracy, which is coarse for these.
        assert all('inertia with the diagonal' in sentence for sentence in differences)
        assert max(r.relative for r in found) < 1e-3
    else:
        assert differences == ()
        assert max(r.relative for r in found) < 1e-12


class FakeProcess:
    """An engine process with given inertias of the robot."""

    def __init__(self, model, **inertials):
        joints = [(name, name) for name in model.body_names]
        frames = dict(zip(('axes', 'origins', 'masses'), our_joint_frames(model), strict=True))
        self.reply = {'version': 'X 1', 'joints': joints, 'inertials': inertials, **frames}
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
def test_inertias_are_compared_relative_to_their_size(monkeypatch, scale, wrong, named):
    """A tensor of 1e-7 kg m^2 that differs by one percent counts as a changed robot."""
    m, c, I = 0.3 * scale, np.array([0.02, -0.05, 0.1]), 0.01 * scale
    text = f"""<robot name="r"><link name="a"/><link name="b"><inertial>
    <origin xyz="0.02 -0.05 0.1"/><mass value="{m}"/><inertia ixx="{I}" ixy="0" ixz="0"
    iyy="{1.5 * I}" iyz="0" izz="{1.2 * I}"/></inertial></link>
    <joint name="b" type="continuous"><parent link="a"/><child link="b"/>
    <limit effort="1" velocity="1"/></joint></robot>"""
    model = parse_urdf(text)
    tensor = np.diag([I, 1.5 * I, 1.2 * I]) * wrong.get('tensor', 1)
    held = Inertial(m * wrong.get('mass', 1), c * wrong.get('com', 1), tensor)
    process = FakeProcess(model, b=held)
    name = 'robot_dynamics.validation.engines.reference_engine.EngineProcess'
    monkeypatch.setattr(name, lambda *_, **__: process)
    with ReferenceEngine('mujoco', text, model) as reference:
        assert len(reference.differences) == named


def test_a_term_that_is_zero_but_for_rounding_agrees(engine):
    """One joint has no Coriolis torque; an engine that subtracts torques leaves their rounding."""
    links = ''.join(
        f'<link name="{name}"><inertial><origin xyz="0.1 0 0.2"/><mass value="1"/><inertia '
        'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>'
        for name in 'ab'
    )
    text = f"""<robot name="pendulum">{links}<joint name="j" type="revolute"><parent link="a"/>
    <child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="50" velocity="2"/>
    </joint></robot>"""
    found = validate(text, engines=(engine,))
    assert found.verdict is Verdict.PASS, found
    coriolis = next(r for r in found.residuals if r.quantity == 'Coriolis torque')
    assert coriolis.error < 1e-12


@needs_some
def test_each_term_is_compared_at_random_states():
    found = validate(ARM, states=5, engines=SOME_ENGINE[:1])
    assert tuple(r.quantity for r in found.residuals) == QUANTITIES + JOINT_QUANTITIES
    assert found.cause == ''


@needs_some
def test_a_failure_at_random_states_is_explained():
    model = parse_urdf(ARM)
    wrong = replace(model, mass=model.mass * [1, 1.25, 1, 1])
    found = validate(ARM, model=wrong, states=15, engines=SOME_ENGINE[:1])
    assert found.verdict is Verdict.FAIL
    # The engine uses the mass of the URDF.
    assert f'are those of another link {model.body_names[1]!r}: ' in found.cause
    assert f'{model.mass[1]:.6g} kg instead of {wrong.mass[1]:.6g} kg' in found.cause
    assert 'likely cause: the torques of ' in str(found)


# -- additional engines ---------------------------------------------------------------------------


def report_of(engine, verdict):
    return Report(verdict, 'arm', engine, (Residual('mass matrix', 'elbow', 0.1, 0.2),), 5, 1e-6)


PASS, FAIL, CHANGED, NONE = (
    report_of('PyBullet', Verdict.PASS),
    report_of('MuJoCo', Verdict.FAIL),
    report_of('', Verdict.NOT_COMPARABLE),
    report_of('', Verdict.NO_ENGINE),
)


@pytest.mark.parametrize(
    ('first', 'additional', 'verdict'),
    [
        (PASS, [PASS], Verdict.PASS),
        (PASS, [FAIL], Verdict.FAIL),
        (FAIL, [PASS, PASS], Verdict.FAIL),
        (FAIL, [FAIL], Verdict.FAIL),
        (CHANGED, [PASS], Verdict.PASS),
        (NONE, [CHANGED], Verdict.NO_ENGINE),
        (PASS, [CHANGED, NONE], Verdict.PASS),
    ],
)
def test_one_engine_that_differs_is_a_fail(first, additional, verdict):
    together = first.with_additional(additional)
    assert together.verdict is verdict
    assert together.exit_code == {Verdict.PASS: 0, Verdict.FAIL: 1}.get(verdict, 3)
    assert str(together).count('additional engine: ') == len(additional)


def test_the_engines_that_differ_are_named():
    (note,) = FAIL.with_additional([PASS]).notes
    assert note == 'engines that agree with this package: PyBullet; that differ: MuJoCo'
    assert not FAIL.with_additional([FAIL]).notes
    assert not PASS.with_additional([PASS]).notes


class FakeEngine:
    """A reference engine with the results of a robot; the torques of `wrong` engines differ."""

    wrong, crashing, open, in_second_batch = (), [], [], False

    def __init__(self, engine, urdf, model, **_):
        self.name, self.version, self.differences, self.pid = engine, f'{engine} 1', (), 77
        self.arm, self.notes = Dynamics(model), ()
        self.joint_frames, self.body_joints = our_joint_frames(model), model.body_names
        self.open.append(engine)
        self.batches = 0

    def results(self, states):
        self.batches += 1
        if self.name in self.crashing and self.batches > self.in_second_batch:
            self.crashing.remove(self.name)
            raise EngineCrashed(f'{self.name} ended')
        found = our_results(self.arm, states)
        return found._replace(tau=found.tau + 1.0) if self.name in self.wrong else found

    def close(self):
        self.open.remove(self.name)


@pytest.fixture
def fake_engines(monkeypatch):
    monkeypatch.setattr(comparison, 'ReferenceEngine', FakeEngine)
    monkeypatch.setattr(FakeEngine, 'wrong', ('pinocchio',))
    monkeypatch.setattr(FakeEngine, 'crashing', ['mujoco'])
    monkeypatch.setattr(FakeEngine, 'open', [])


def test_after_a_crash_within_the_states_all_are_compared_again_and_once(
    fake_engines, monkeypatch
):
    monkeypatch.setattr(FakeEngine, 'in_second_batch', True)
    arm = Dynamics(parse_urdf(ARM))
    states = random_states(arm.model, 12, np.random.default_rng(0))
    engines = EngineComparison(ARM, arm, states, engines=EngineChoice(['mujoco']))
    while engines.report is None:
        engines.work()
    assert (engines.report.verdict, engines.restarts) == (Verdict.PASS, 1)
    assert engines.report.states == 12
    engines.close()


def test_engines_are_compared_one_after_the_other_and_the_reference_stays(fake_engines):
    model = parse_urdf(ARM)
    states = random_states(model, 12, np.random.default_rng(0))
    engines = EngineComparison(
        ARM,
        Dynamics(model),
        states,
        engines=EngineChoice(['pybullet'], ['mujoco', 'pinocchio']),
    )
    begun = []
    while engines.report is None:
        engines.work()
        assert len(FakeEngine.open) <= 2
        begun += [name for name in FakeEngine.open if name not in begun]
    assert begun == ['pybullet', 'mujoco', 'pinocchio']
    assert FakeEngine.open == ['pybullet']
    assert engines.report.verdict is Verdict.FAIL
    assert [r.verdict for r in engines.report.additional] == [Verdict.PASS, Verdict.FAIL]
    assert (engines.restarts, engines.last_error) == (1, 'mujoco ended')
    assert engines.engine_pid == 77
    q = states.q[0]
    rest = Observation(q, None, engines.arm.gravity_torque(q), None, None, None, None)
    assert np.abs(engines.observe(rest)).max() < 1e-12
    assert engines.observed == 1
    # A live observation that agrees does not hide the additional engine that differs.
    assert engines.report.verdict is Verdict.FAIL
    engines.close()
    assert FakeEngine.open == []


@needs['pybullet']
@needs['mujoco']
@needs['pinocchio']
def test_three_engines_agree_on_a_real_robot():
    found = validate(
        robots.path('kuka_iiwa').read_bytes(),
        model=robots.load('kuka_iiwa'),
        states=10,
        tolerance=1e-9,
        engines=['pybullet'],
        additional_engines=['mujoco', 'pinocchio'],
    )
    assert found.verdict is Verdict.PASS, found
    assert [r.verdict for r in found.additional] == [Verdict.PASS] * 2
    assert found.engine.startswith('PyBullet')
    assert [r.engine.split()[0] for r in found.additional] == ['MuJoCo', 'Pinocchio']


@needs['pybullet']
@needs['pinocchio']
def test_an_additional_engine_decides_where_the_reference_is_not_comparable():
    found = validate(
        robots.path('xarm6').read_bytes(),
        model=robots.load('xarm6'),
        states=5,
        engines=['pybullet'],
        additional_engines=['pinocchio'],
    )
    assert found.verdict is Verdict.PASS
    assert "PyBullet changes link 'link2'" in str(found)
    assert 'which is physically inconsistent: principal moments' in str(found)


@needs['pybullet']
def test_pybullet_is_not_used_beyond_the_joints_it_supports():
    assert validate(chain(128), states=2, engines=['pybullet']).verdict is Verdict.PASS
    found = validate(chain(129), states=2, engines=['pybullet'])
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert '129 moving joints; PyBullet computes correct torques for at most 128' in found.notes[0]


def chain(n):
    links = ''.join(
        f'<link name="l{i}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>'
        f'<joint name="j{i}" type="revolute"><parent link="l{i - 1}"/><child link="l{i}"/>'
        '<origin xyz="0.01 0 0" rpy="0.3 0 0"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="2"/></joint>'
        for i in range(1, n + 1)
    )
    return f'<robot name="chain"><link name="l0"/>{links}</robot>'


# -- missing and crashing engines --------------------------------------------------------------


def test_without_any_engine_nothing_is_compared(tmp_path, monkeypatch):
    for package in ('pybullet', 'mujoco', 'pinocchio'):
        (tmp_path / f'{package}.py').write_text(f'raise ImportError("No module {package}")')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    report = validate(ARM)
    assert report.verdict is Verdict.NO_ENGINE
    assert report.exit_code == 3
    assert report.notes[0] == 'no PyBullet: No module pybullet'
    assert 'pip install mujoco' in report.notes[-1]
    assert 'NO ENGINE: arm' in str(report)


def test_engines_leave_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # MuJoCo rejects this one and writes a log file.
    validate(robots.path('xarm6').read_bytes(), model=robots.load('xarm6'))
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_crashes_twice_is_replaced(tmp_path, monkeypatch):
    if not installed('pinocchio'):
        pytest.skip('Pinocchio is not installed')
    (tmp_path / 'pybullet.py').write_text('import os; os.abort()')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    report = validate(ARM, engines=['pybullet', 'pinocchio'])
    assert report.verdict is Verdict.PASS
    assert report.notes == ('PyBullet ended: signal 6',)


def test_the_report_as_text(pybullet):
    report = validate(ARM, engines=[pybullet], states=5)
    assert str(report).startswith('PASS: arm against PyBullet 3')
    assert '5 states, largest difference in ' in str(report)
    assert 'tolerance 1e-06' in str(report)
