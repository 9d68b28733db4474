# SPDX-License-Identifier: Apache-2.0
"""Observations of a running system: residual of each term, and the likely cause."""

from pathlib import Path

import numpy as np
import pytest
from tiers import soak

from robot_dynamics.control import AccelerationFilter
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.model.states import random_states
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.comparison import EngineChoice, EngineComparison
from robot_dynamics.validation.diagnosis import ENOUGH
from robot_dynamics.validation.engine_report import Verdict
from robot_dynamics.validation.engines import ENGINES, installed
from robot_dynamics.validation.observation import (
    DIAGNOSIS_INTERVAL,
    MotionComparison,
    Observation,
    ObservedState,
    RecentMotion,
    most_distinct,
)

ARM = (Path(__file__).parent / 'arm.urdf').read_text()
SOME_ENGINE = [name for name in ENGINES if installed(name) and name != 'mujoco']


@pytest.fixture
def comparison():
    if not SOME_ENGINE:
        pytest.skip('no other engine is installed')
    model = parse_urdf(ARM)
    states = random_states(model, 5, np.random.default_rng(0))
    comparison = EngineComparison(
        ARM, Dynamics(model), states, engines=EngineChoice(SOME_ENGINE[:1]), source='dynamics_node'
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


@pytest.mark.slow
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


@pytest.mark.slow
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


# -- the motion of the joint states ---------------------------------------------------------------

INERTIA = 'live inertia torque of the observed motion'
EFFORT = 'live effort of the observed motion'
FRICTION = coulomb_friction([4.0, 3.0, 2.0], [2.0, 1.0, 0.5])


def moving(
    comparison,
    *,
    true=None,
    factor=1.0,
    mirror=1.0,
    rate=1000.0,
    cutoff=20.0,
    noise=0.0,
    jitter=0.0,
    push=None,
    seconds=4.0,
):
    """Let the comparison observe an arm in motion ten times a second.

    Args:
        comparison: of the nominal arm.
        true: the arm that moves, which measures its efforts.
        factor: of the accelerations that the dynamics node uses.
        mirror: -1 for the mirrored motion.
        rate: of joint states, Hz.
        cutoff: of the dynamics node's filter, Hz.
        noise: of velocities, rad/s or m/s; of efforts ten times as many N m or N.
        jitter: of the period of the joint states, relative.
        push: (begin, end), s, of an external torque of 30 N m or N at all joints.
    """
    arm = comparison.arm
    true = true or arm
    rng = np.random.default_rng(3)
    periods = rng.uniform(1 - jitter, 1 + jitter, round(seconds * rate)) / rate
    # Stamps since 1970 in whole nanoseconds, as those of messages
    stamps = 1_700_000_000 * 10**9 + np.round(1e9 * np.cumsum(periods)).astype(int)
    t = (stamps - stamps[0])[:, None] / 1e9
    middle, amplitude, w = np.array([[mirror * 0.3, 0, 0.05], [0.8, 0.6, 0.02], [4, 5, 6]])
    q = middle + mirror * amplitude * np.sin(w * t)
    qd = mirror * amplitude * w * np.cos(w * t)
    qdd = -mirror * amplitude * w**2 * np.sin(w * t)
    effort = true.inverse_dynamics(q, qd, qdd) + FRICTION.torque(qd)
    if push is not None:
        effort[(t[:, 0] > push[0]) & (t[:, 0] < push[1])] += 30.0
    qd = qd + rng.normal(0, 1, qd.shape) * noise
    effort = effort + rng.normal(0, 10, effort.shape) * noise
    accelerations = AccelerationFilter(cutoff=cutoff)
    due = 0.1
    for k in range(len(stamps)):
        found = accelerations.update(stamps[k] / 1e9, qd[k])
        if t[k, 0] < due or found is None:
            continue
        due += 0.1
        recent = slice(np.searchsorted(t[:, 0], t[k, 0] - 0.1), k + 1)
        if recent.stop - recent.start < 5:
            continue
        M, g, h = arm.mass_matrix(q[k]), arm.gravity_torque(q[k]), arm.coriolis_torque(q[k], qd[k])
        inertia = M @ (factor * found)
        motion = RecentMotion(t[recent, 0], q[recent], qd[recent], effort[recent])
        comparison.observe(Observation(q[k], qd[k], g, h, inertia, inertia + h + g, M, motion))
    return comparison.report


@pytest.fixture(params=[1.0, *soak([-1.0])], ids=['plain', 'mirrored'])
def mirror(request):
    return request.param


@pytest.fixture
def motions():
    """Return the start of a comparison of motions."""
    if not SOME_ENGINE:
        pytest.skip('no other engine is installed')
    started = []

    def start(effort_tolerance=0.1):
        model = parse_urdf(ARM)
        comparison = EngineComparison(
            ARM,
            Dynamics(model),
            random_states(model, 5, np.random.default_rng(0)),
            engines=EngineChoice(SOME_ENGINE[:1]),
            motions=MotionComparison(model, FRICTION, effort_tolerance),
        )
        started.append(comparison)
        while comparison.report is None:
            comparison.work()
        return comparison

    yield start
    for comparison in started:
        comparison.close()


@pytest.mark.parametrize(
    'disturbed',
    [
        {},
        {'noise': 0.02},
        {'noise': 0.2},
        {'jitter': 0.5},
        {'noise': 0.05, 'jitter': 0.5},
        {'cutoff': 8.0},
        {'cutoff': 200.0, 'noise': 0.05},
        {'rate': 100.0, 'noise': 0.05, 'jitter': 0.3},
        {'push': (2.0, 2.9)},
    ],
    ids=str,
)
def test_a_correct_system_in_motion_passes(motions, mirror, disturbed):
    report = moving(motions(), mirror=mirror, **disturbed)
    assert report.verdict is Verdict.PASS, report
    assert {INERTIA, EFFORT} <= {r.quantity for r in report.residuals}


@pytest.mark.parametrize(
    ('factor', 'noise'), [(-10.0, 0.0), (-10.0, 0.02), (10.0, 0.02), (-1.0, 0.0), (0.0, 0.0)]
)
def test_accelerations_that_do_not_belong_to_the_motion_fail(motions, mirror, factor, noise):
    comparison = motions()
    moving(comparison, mirror=mirror, factor=factor, noise=noise)
    assert live(comparison).keys() == {INERTIA}


@pytest.mark.parametrize('gravity', [(0, 0, 9.81), (0, 0, 0), (0, 0, -1.62), (9.81, 0, 0)])
def test_efforts_under_another_gravity_fail(motions, mirror, gravity):
    comparison = motions()
    true = Dynamics(comparison.arm.model.with_gravity(gravity))
    moving(comparison, mirror=mirror, true=true, noise=0.02)
    assert live(comparison).keys() == {EFFORT}


def test_efforts_are_not_compared_without_a_tolerance(motions):
    comparison = motions(effort_tolerance=0.0)
    report = moving(comparison, true=Dynamics(comparison.arm.model.with_gravity((0, 0, 0))))
    assert report.verdict is Verdict.PASS
    assert EFFORT not in {r.quantity for r in report.residuals}


@pytest.mark.parametrize('noise', [0.0, 0.1])
def test_an_arm_that_brakes_hold_may_have_no_effort(motions, noise):
    """A simulated arm waits for its first command; a real one for the release of its brakes."""
    comparison = motions()
    arm, q = comparison.arm, np.array([0.7, 0.5, 0.05])
    g, rest, rng = arm.gravity_torque(q), np.zeros(3), np.random.default_rng(0)
    for _ in range(30):
        still = np.zeros((50, 3))
        motion = RecentMotion(
            np.arange(50) / 1e3, q + still, still, noise * rng.normal(size=(50, 3))
        )
        comparison.observe(Observation(q, rest, g, rest, rest, g, arm.mass_matrix(q), motion))
    assert live(comparison) == {}


def test_a_joint_at_its_stop_may_have_any_effort(motions):
    """The arm rests on the stop of its elbow, without torque of the motors there."""
    comparison = motions()
    arm = comparison.arm
    stop = np.array([0.7, arm.model.upper[1] + 1e-3, 0.05])
    g, rest = arm.gravity_torque(stop), np.zeros((50, 3))
    for supported in ([1, 0, 1], [-1, 0, 1]):
        motion = RecentMotion(np.arange(50) / 1e3, rest + stop, rest, rest + g * supported)
        for _ in range(30):
            comparison.observe(
                Observation(stop, rest[0], g, rest[0], rest[0], g, arm.mass_matrix(stop), motion)
            )
        # The shoulder is at no stop.
        assert live(comparison) == ({} if supported[0] > 0 else {EFFORT: 'shoulder'})
