"""Observations of a running system: residual of each term, and the likely cause."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.states import random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.comparison import EngineComparison
from robot_dynamics.validation.diagnosis import ENOUGH
from robot_dynamics.validation.engines import ENGINES, installed
from robot_dynamics.validation.observation import (
    DIAGNOSIS_INTERVAL,
    Observation,
    ObservedState,
    most_distinct,
)
from robot_dynamics.validation.report import Verdict

ARM = (Path(__file__).parent / 'arm.urdf').read_text()
SOME_ENGINE = [name for name in ENGINES if installed(name) and name != 'mujoco']


@pytest.fixture
def comparison():
    if not SOME_ENGINE:
        pytest.skip('no other engine is installed')
    model = parse_urdf(ARM)
    states = random_states(model, 5, np.random.default_rng(0))
    comparison = EngineComparison(
        ARM, Dynamics(model), states, engines=SOME_ENGINE[:1], source='dynamics_node'
    )
    while comparison.report is None:
        comparison.work()
    yield comparison
    comparison.close()


def observations(arm, count=12, seed=1, **errors):
    """Yield the observations of a system in motion, with errors added to its terms."""
    rng = np.random.default_rng(seed)
    for q, qd, qdd in zip(*random_states(arm.model, count, rng), strict=True):
        terms = {
            'gravity': arm.gravity_torque(q),
            'coriolis': arm.coriolis_torque(q, qd),
            'M': arm.mass_matrix(q),
            'inertia': arm.mass_matrix(q) @ qdd,
            'inverse_dynamics': arm.inverse_dynamics(q, qd, qdd),
        }
        yield Observation(q, qd, **{name: terms[name] + errors.get(name, 0.0) for name in terms})


def live(comparison):
    """Return the joints of the live quantities beyond the tolerance."""
    return {
        r.quantity: r.joint
        for r in comparison.report.residuals
        if r.quantity.startswith('live') and not r.relative <= comparison.report.tolerance
    }


def test_a_correct_system_passes_in_every_term(comparison):
    for seen in observations(comparison.arm):
        assert np.abs(comparison.observe(seen)).max() < 1e-9
    names = {r.quantity for r in comparison.report.residuals if r.quantity.startswith('live')}
    assert names == {
        'live torque',
        'live gravity torque',
        'live Coriolis torque',
        'live inertia torque',
        'live mass matrix',
    }
    assert live(comparison) == {}
    assert comparison.report.verdict is Verdict.PASS


ERROR = np.array([0.0, 0.3, 0.0])


@pytest.mark.parametrize(
    ('term', 'quantity'),
    [
        ('gravity', 'live gravity torque'),
        ('coriolis', 'live Coriolis torque'),
        ('inverse_dynamics', 'live torque'),
    ],
)
def test_a_wrong_term_alone_is_named_with_its_joint(comparison, term, quantity):
    for seen in observations(comparison.arm, **{term: ERROR}):
        comparison.observe(seen)
    assert live(comparison) == {quantity: 'elbow'}
    assert comparison.report.verdict is Verdict.FAIL


def test_a_wrong_mass_matrix_is_named(comparison):
    for seen in observations(comparison.arm, M=np.diag(ERROR)):
        comparison.observe(seen)
    assert live(comparison)['live mass matrix'] == 'elbow'


def test_a_system_with_another_gravity_is_explained(comparison):
    others = Dynamics(parse_urdf(ARM, gravity=(0.0, 0.0, 9.81)))
    for k, seen in enumerate(observations(others)):
        comparison.observe(seen)
        assert bool(comparison.report.cause) == (k >= 2)
    assert comparison.report.cause == (
        'the torques of dynamics_node are those of gravity (0, 0, 9.81) m/s^2 instead of '
        '(0, 0, -9.81)'
    )
    assert live(comparison).keys() == {'live torque', 'live gravity torque'}


def test_a_cause_is_replaced_when_the_system_restarts_with_another_mistake(comparison):
    model = comparison.arm.model
    for seen in observations(Dynamics(model.with_gravity((0.0, 0.0, 9.81)))):
        comparison.observe(seen)
    assert 'those of gravity (0, 0, 9.81)' in comparison.report.cause
    loaded = Dynamics(model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    for k, seen in enumerate(observations(loaded, seed=2)):
        comparison.observe(seen)
        assert 'gravity' not in comparison.report.cause, k
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in comparison.report.cause
    # A third mistake, after many observations of the second.
    for seen in observations(loaded, 30, seed=3):
        comparison.observe(seen)
    for seen in observations(Dynamics(model.with_gravity((0.0, -9.81, 0.0))), seed=4):
        comparison.observe(seen)
    assert 'those of gravity (0, -9.81, 0)' in comparison.report.cause


def test_an_unexplained_difference_does_not_hide_a_later_mistake(comparison):
    rng = np.random.default_rng(5)
    for seen in observations(comparison.arm, 150):
        torque = seen.inverse_dynamics + rng.normal(size=3)
        comparison.observe(seen._replace(inverse_dynamics=torque))
    assert comparison.report.cause == ''
    others = Dynamics(comparison.arm.model.with_gravity((0.0, 0.0, 9.81)))
    for seen in observations(others, DIAGNOSIS_INTERVAL + 2 * ENOUGH, seed=2):
        comparison.observe(seen)
    assert 'those of gravity (0, 0, 9.81)' in comparison.report.cause


def test_a_cause_is_kept_while_the_system_is_at_rest(comparison):
    others = Dynamics(comparison.arm.model.with_gravity((0.0, 0.0, 9.81)))
    for seen in observations(others):
        comparison.observe(seen)
    found = comparison.report.cause
    assert 'those of gravity (0, 0, 9.81)' in found
    (still,) = observations(others, 1, seed=7)
    for _ in range(20):
        comparison.observe(still)
    assert comparison.report.cause == found


def test_equal_states_are_ambiguous_until_others_are_observed(comparison):
    others = Dynamics(comparison.arm.model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    (still,) = observations(others, 1)
    for _ in range(20):
        comparison.observe(still)
    assert comparison.report.cause.startswith('ambiguous in these states: the torques of dyn')
    for seen in observations(others, 30, seed=2):
        comparison.observe(seen)
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in comparison.report.cause


def test_the_most_distinct_observations_are_kept():
    rest = np.zeros(2)
    seen = [
        ObservedState(np.array([x, 0.0]), rest, rest, np.array([k, 0.0]))
        for k, x in enumerate([*range(ENOUGH - 1), 0.25, 0.0])
    ]
    kept = most_distinct(seen[:-1])
    assert len(kept) == ENOUGH
    # The newer one of the two nearest is kept.
    assert [x.torque[0] for x in most_distinct([*kept, seen[-1]])] == list(range(1, ENOUGH + 1))


def test_a_system_with_an_unknown_payload_is_explained(comparison):
    others = Dynamics(comparison.arm.model.with_payload('fore', 0.7, (0.0, 0.05, 0.1)))
    for seen in observations(others):
        comparison.observe(seen)
    assert "are those of another link 'fore': 2.2 kg instead of 1.5 kg" in comparison.report.cause


def test_a_system_that_misreads_the_urdf_is_explained(comparison):
    text = ARM.replace('rpy="0.3 -0.2 0.9"', '')
    for seen in observations(Dynamics(parse_urdf(text))):
        comparison.observe(seen)
    assert "another inertia tensor of link 'upper'" in comparison.report.cause


def test_a_system_with_a_shifted_joint_origin_is_explained(comparison):
    shifted = ARM.replace('xyz="0 0 0.6" rpy="0 0.4 0"', 'xyz="0.02 0 0.63" rpy="0 0.4 0"')
    assert shifted != ARM
    for seen in observations(Dynamics(parse_urdf(shifted))):
        comparison.observe(seen)
    assert comparison.report.cause == (
        "the torques of dynamics_node are those of a shifted origin of joint 'elbow', "
        'by (0.02, 0, 0.03) m in its parent link, as far as these torques depend on it'
    )


def test_random_differences_have_no_cause(comparison):
    rng = np.random.default_rng(5)
    for seen in observations(comparison.arm):
        comparison.observe(
            seen._replace(inverse_dynamics=seen.inverse_dynamics + rng.normal(size=3))
        )
    assert comparison.report.verdict is Verdict.FAIL
    assert comparison.report.cause == ''
