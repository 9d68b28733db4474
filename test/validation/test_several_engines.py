"""Second judges, and what a running system says: each term for itself, and why it differs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import robots

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.states import random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.comparison import (
    DIAGNOSIS_INTERVAL,
    ENOUGH,
    Examiner,
    Meaning,
    Observation,
    spread,
)
from robot_dynamics.validation.engines.available import ENGINES, installed, title
from robot_dynamics.validation.engines.check import validate
from robot_dynamics.validation.report import QUANTITIES, Report, Residual, Verdict
from robot_dynamics.validation.several_engines import Jury

ARM = (Path(__file__).parent / 'arm.urdf').read_text()
SOME_ENGINE = [name for name in ENGINES if installed(name) and name != 'mujoco']

needs = {
    name: pytest.mark.skipif(not installed(name), reason=f'{title(name)} is not installed')
    for name in ENGINES
}
needs_some = pytest.mark.skipif(not SOME_ENGINE, reason='no other engine is installed')


# -- second judges --------------------------------------------------------------------------------


def report(engine, verdict):
    return Report(verdict, 'arm', engine, (Residual('mass matrix', 'elbow', 0.1, 0.2),), 5, 1e-6)


PASS, FAIL, ODD, NONE = (
    report('PyBullet', Verdict.PASS),
    report('MuJoCo', Verdict.FAIL),
    report('', Verdict.NOT_COMPARABLE),
    report('', Verdict.NO_ENGINE),
)


@pytest.mark.parametrize(
    ('first', 'second', 'verdict'),
    [
        (PASS, [PASS], Verdict.PASS),
        (PASS, [FAIL], Verdict.FAIL),
        (FAIL, [PASS, PASS], Verdict.FAIL),
        (FAIL, [FAIL], Verdict.FAIL),
        (ODD, [PASS], Verdict.PASS),
        (NONE, [ODD], Verdict.NO_ENGINE),
        (PASS, [ODD, NONE], Verdict.PASS),
    ],
)
def test_one_judge_that_disagrees_is_enough(first, second, verdict):
    together = first.with_opinions(second)
    assert together.verdict is verdict
    assert together.exit_code == (verdict is Verdict.FAIL)
    assert str(together).count('second opinion: ') == len(second)


def test_who_stands_alone_is_said():
    (note,) = FAIL.with_opinions([PASS]).notes
    assert note == 'PyBullet and this package agree: MuJoCo stands alone'
    assert not FAIL.with_opinions([FAIL]).notes
    assert not PASS.with_opinions([PASS]).notes


class Stub:
    """An examiner that needs some steps of work."""

    def __init__(self, found, steps):
        self._found, self._steps, self.report = found, steps, None
        self.closed, self.restarts, self.misfortune, self.observed = 0, 0, '', 0
        self.engine_pid = 77

    def work(self):
        self._steps -= 1
        if self._steps == 0:
            self.report = self._found

    def observe(self, seen):
        self.observed += 1
        return seen

    def close(self):
        self.closed += 1


def test_judges_work_one_after_the_other_and_the_first_stays():
    first, second, third = stubs = Stub(PASS, 3), Stub(PASS, 2), Stub(FAIL, 1)
    jury = Jury(first, [second, third])
    for _ in range(6):
        assert jury.report is None
        jury.work()
    assert jury.report.verdict is Verdict.FAIL
    assert jury.report.opinions == (PASS, FAIL)
    assert [stub.closed for stub in stubs] == [0, 1, 1]
    assert jury.observe('seen') == 'seen'
    assert (jury.observed, jury.engine_pid, jury.restarts, jury.misfortune) == (1, 77, 0, '')
    second.restarts, second.misfortune = 1, 'PyBullet died'
    assert (jury.restarts, jury.misfortune) == (1, 'PyBullet died')
    jury.close()
    assert first.closed == 1


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
        second_judges=['mujoco', 'pinocchio'],
    )
    assert found.verdict is Verdict.PASS, found
    assert [r.verdict for r in found.opinions] == [Verdict.PASS] * 2
    assert found.engine.startswith('PyBullet')
    assert [r.engine.split()[0] for r in found.opinions] == ['MuJoCo', 'Pinocchio']


@needs['pybullet']
@needs['pinocchio']
def test_a_second_judge_decides_where_the_first_cannot():
    found = validate(
        robots.path('xarm6').read_bytes(),
        model=robots.load('xarm6'),
        states=5,
        engines=['pybullet'],
        second_judges=['pinocchio'],
    )
    assert found.verdict is Verdict.PASS
    assert "PyBullet holds another link 'link2'" in str(found)
    assert 'which no body can have: principal moments' in str(found)


@needs['pybullet']
def test_pybullet_is_refused_where_it_would_be_wrong_without_a_word():
    assert validate(chain(128), states=2, engines=['pybullet']).verdict is Verdict.PASS
    found = validate(chain(129), states=2, engines=['pybullet'])
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert 'it computes with at most 128 moving joints; this robot has 129' in found.notes[0]


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


# -- terms and causes -----------------------------------------------------------------------------


@needs_some
def test_each_term_is_judged_over_random_states():
    found = validate(ARM, states=5, engines=SOME_ENGINE[:1])
    assert tuple(r.quantity for r in found.residuals) == QUANTITIES
    assert found.cause == ''


@needs_some
def test_a_failure_over_random_states_is_explained():
    model = parse_urdf(ARM)
    wrong = replace(model, mass=model.mass * [1, 1.25, 1, 1])
    found = validate(ARM, model=wrong, states=15, engines=SOME_ENGINE[:1])
    assert found.verdict is Verdict.FAIL
    # to the engine, the link has the mass that is written
    assert f'are those of another link {model.body_names[1]!r}: ' in found.cause
    assert f'{model.mass[1]:.6g} kg instead of {wrong.mass[1]:.6g} kg' in found.cause
    assert 'likely cause: the torques of ' in str(found)


@pytest.fixture
def examiner():
    if not SOME_ENGINE:
        pytest.skip('no other engine is installed')
    model = parse_urdf(ARM)
    states = random_states(model, 5, np.random.default_rng(0))
    examiner = Examiner(ARM, Dynamics(model), states, engines=SOME_ENGINE[:1], who='dynamics_node')
    while examiner.report is None:
        examiner.work()
    yield examiner
    examiner.close()


def observations(arm, count=12, seed=1, **lies):
    """Yield what a system would say in motion, each term changed by what is added to it."""
    rng = np.random.default_rng(seed)
    for q, qd, qdd in zip(*random_states(arm.model, count, rng), strict=True):
        said = {
            'gravity': arm.gravity_torque(q),
            'coriolis': arm.coriolis_torque(q, qd),
            'M': arm.mass_matrix(q),
            'inertia': arm.mass_matrix(q) @ qdd,
            'inverse_dynamics': arm.inverse_dynamics(q, qd, qdd),
        }
        yield Observation(q, qd, **{name: said[name] + lies.get(name, 0.0) for name in said})


def live(examiner):
    """Return the live quantities that are beyond the tolerance, and where."""
    return {
        r.quantity: r.joint
        for r in examiner.report.residuals
        if r.quantity.startswith('live') and not r.relative <= examiner.report.tolerance
    }


def test_a_true_system_passes_in_every_term(examiner):
    for seen in observations(examiner.arm):
        assert np.abs(examiner.observe(seen)).max() < 1e-9
    names = {r.quantity for r in examiner.report.residuals if r.quantity.startswith('live')}
    assert names == {
        'live torque',
        'live gravity torque',
        'live Coriolis torque',
        'live inertia torque',
        'live mass matrix',
    }
    assert live(examiner) == {}
    assert examiner.report.verdict is Verdict.PASS


LIE = np.array([0.0, 0.3, 0.0])


@pytest.mark.parametrize(
    ('term', 'quantity'),
    [
        ('gravity', 'live gravity torque'),
        ('coriolis', 'live Coriolis torque'),
        ('inverse_dynamics', 'live torque'),
    ],
)
def test_a_false_term_is_named_alone_with_its_joint(examiner, term, quantity):
    for seen in observations(examiner.arm, **{term: LIE}):
        examiner.observe(seen)
    assert live(examiner) == {quantity: 'elbow'}
    assert examiner.report.verdict is Verdict.FAIL


def test_a_false_mass_matrix_is_named(examiner):
    for seen in observations(examiner.arm, M=np.diag(LIE)):
        examiner.observe(seen)
    assert live(examiner)['live mass matrix'] == 'elbow'


def test_a_system_with_another_gravity_is_explained(examiner):
    others = Dynamics(parse_urdf(ARM, gravity=(0.0, 0.0, 9.81)))
    for k, seen in enumerate(observations(others)):
        examiner.observe(seen)
        assert bool(examiner.report.cause) == (k >= 2)
    assert examiner.report.cause == (
        'the torques of dynamics_node are those of gravity (0, 0, 9.81) m/s^2 instead of '
        '(0, 0, -9.81)'
    )
    assert live(examiner).keys() == {'live torque', 'live gravity torque'}


def test_a_cause_is_replaced_when_the_system_starts_anew_with_another_mistake(examiner):
    model = examiner.arm.model
    for seen in observations(Dynamics(model.with_gravity((0.0, 0.0, 9.81)))):
        examiner.observe(seen)
    assert 'those of gravity (0, 0, 9.81)' in examiner.report.cause
    loaded = Dynamics(model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    for k, seen in enumerate(observations(loaded, seed=2)):
        examiner.observe(seen)
        assert 'gravity' not in examiner.report.cause, k
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in examiner.report.cause
    # A third one, after many observations of the second.
    for seen in observations(loaded, 30, seed=3):
        examiner.observe(seen)
    for seen in observations(Dynamics(model.with_gravity((0.0, -9.81, 0.0))), seed=4):
        examiner.observe(seen)
    assert 'those of gravity (0, -9.81, 0)' in examiner.report.cause


def test_a_mistake_that_nothing_explains_hides_no_later_one(examiner):
    rng = np.random.default_rng(5)
    for seen in observations(examiner.arm, 150):
        torque = seen.inverse_dynamics + rng.normal(size=3)
        examiner.observe(seen._replace(inverse_dynamics=torque))
    assert examiner.report.cause == ''
    others = Dynamics(examiner.arm.model.with_gravity((0.0, 0.0, 9.81)))
    for seen in observations(others, DIAGNOSIS_INTERVAL + 2 * ENOUGH, seed=2):
        examiner.observe(seen)
    assert 'those of gravity (0, 0, 9.81)' in examiner.report.cause


def test_a_cause_stays_while_the_system_is_at_rest(examiner):
    others = Dynamics(examiner.arm.model.with_gravity((0.0, 0.0, 9.81)))
    for seen in observations(others):
        examiner.observe(seen)
    found = examiner.report.cause
    assert 'those of gravity (0, 0, 9.81)' in found
    (still,) = observations(others, 1, seed=7)
    for _ in range(20):
        examiner.observe(still)
    assert examiner.report.cause == found


def test_states_that_are_alike_are_no_evidence_until_others_come(examiner):
    others = Dynamics(examiner.arm.model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    (still,) = observations(others, 1)
    for _ in range(20):
        examiner.observe(still)
    assert examiner.report.cause.startswith('cannot tell from these states: the torques of dyn')
    for seen in observations(others, 30, seed=2):
        examiner.observe(seen)
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in examiner.report.cause


def test_of_many_observations_those_farthest_apart_are_kept():
    rest = np.zeros(2)
    seen = [
        Meaning(np.array([x, 0.0]), rest, rest, np.array([k, 0.0]))
        for k, x in enumerate([*range(ENOUGH - 1), 0.25, 0.0])
    ]
    kept = spread(seen[:-1])
    assert len(kept) == ENOUGH
    # Of the two that are alike the newer one stays.
    assert [x.said[0] for x in spread([*kept, seen[-1]])] == list(range(1, ENOUGH + 1))


def test_a_system_with_an_unknown_payload_is_explained(examiner):
    others = Dynamics(examiner.arm.model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    for seen in observations(others):
        examiner.observe(seen)
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in examiner.report.cause


def test_a_system_with_a_careless_reader_is_explained(examiner):
    text = ARM.replace('rpy="0.3 -0.2 0.9"', '')
    for seen in observations(Dynamics(parse_urdf(text))):
        examiner.observe(seen)
    assert examiner.report.cause.endswith('without the rpy of <inertial>') or (
        "tensor of link 'upper'" in examiner.report.cause
    )


def test_what_nothing_simple_explains_stays_unexplained(examiner):
    rng = np.random.default_rng(5)
    for seen in observations(examiner.arm):
        examiner.observe(
            seen._replace(inverse_dynamics=seen.inverse_dynamics + rng.normal(size=3))
        )
    assert examiner.report.verdict is Verdict.FAIL
    assert examiner.report.cause == ''
