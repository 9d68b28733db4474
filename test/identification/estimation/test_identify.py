# SPDX-License-Identifier: Apache-2.0
"""Arms with wrong links and unknown friction are identified; figures hold on other motions."""

import re
from dataclasses import replace
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest
import robots
import yaml
from arms_to_identify import load_memory, recorded, wrong
from definite import is_definite
from recorded_runs import lively
from tiers import soak

from robot_dynamics.common.resources import share_file
from robot_dynamics.control import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import LAWS, FrictionLawError
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.identification.estimation.base_parameters import base_parameters
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.excitation_check import (
    LowExcitationError,
    RefusedError,
    require_motion,
)
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.identification_report import text, verdict
from robot_dynamics.identification.estimation.identified_files import node_parameters
from robot_dynamics.identification.estimation.identified_validation import Validation
from robot_dynamics.identification.estimation.observations import observations
from robot_dynamics.recordings import Recording, RecordingError
from robot_dynamics.urdf.loading import load_urdf

RNG = np.random.default_rng
ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
PANDA = load_urdf(share_file('urdf/panda.urdf'), tip_link='panda_link8')
EXACT = {
    **{name: robots.load(name) for name in ('panda', 'ur5', 'kuka_iiwa') if name in robots.NAMES},
    'random tree': random_tree(6, RNG(5), prismatic=0.3, branching=0.4),
}
FIRST = next(iter(EXACT))


@pytest.mark.parametrize('name', EXACT)
def test_exact_arrays_give_the_base_parameters(name):
    true = wrong(EXACT[name])
    q, qd, qdd = RNG(1).uniform(-2, 2, (3, 400, true.n))
    tau = Dynamics(true).inverse_dynamics(q, qd, qdd)
    base = base_parameters(Dynamics(EXACT[name]), np.random.default_rng(0))
    Y = Dynamics(EXACT[name]).regressor(q, qd, qdd)[..., base.columns]
    found = np.linalg.lstsq(Y.reshape(-1, base.number), tau.ravel(), rcond=None)[0]
    expected = base.grouping @ true.inertial_parameters()
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


def floor(found, test, true, arm):
    """Return the residual (n,) that the true model leaves on a recording, by the same filter."""
    actual, law = Dynamics(true), LAWS['coulomb']
    seen = observations(actual, test, found.signals.cutoff)
    theta, rotor = true.inertial_parameters(), true.reflected_inertia
    features = seen.friction_features(law, np.full(true.n, 1e-3), theta, rotor)
    friction = np.column_stack([true.viscous, true.coulomb])
    predicted = seen.Y @ true.inertial_parameters() + true.reflected_inertia * seen.qdd
    predicted = predicted + np.einsum('kjt,jt->kj', features, friction)
    return np.sqrt(((seen.effort - predicted) ** 2).mean(axis=0))


@pytest.mark.slow
def test_a_panda_with_wrong_links_is_predicted_on_another_motion():
    friction = {'viscous': np.full(7, 1.5), 'coulomb': np.array([1, 1, 0.8, 0.8, 0.4, 0.4, 0.3])}
    true = wrong(PANDA, **friction)
    test = recorded(true, seed=2, duration=20.0, rate=1000.0)
    arm = Dynamics(PANDA)
    found = identify(arm, recorded(true, seed=1, duration=40.0, rate=1000.0), test=test)
    v = found.validation
    assert v.verdict == 'better'
    assert (v.after_rms < 1.2 * floor(found, test, true, arm)).all()
    for i in range(7):
        assert is_definite(found.model.inertial(i))
    # z-scores of what the motion determines
    certain = found.inertia.base.determined[: len(found.inertia.base.value)]
    expected = found.inertia.base.grouping[:, :70] @ true.inertial_parameters()
    z = ((found.inertia.base.value - expected) / found.inertia.base.error)[certain]
    assert certain.sum() > 30
    assert np.sqrt((z**2).mean()) < 2
    z = (
        found.friction.coefficients - np.column_stack(list(friction.values()))
    ) / found.friction.error
    assert np.abs(z).max() < 4


@pytest.mark.slow
def test_the_identified_mass_matrix_is_positive_definite_everywhere():
    true = wrong(PANDA, size=0.4, viscous=1.0, coulomb=1.0)
    found = identify(Dynamics(PANDA), recorded(true, duration=12.0, rate=250.0))
    q = RNG(0).uniform(PANDA.lower, PANDA.upper, (100_000, 7))
    arm = Dynamics(found.model.with_actuation(rotor_inertia=0.0))
    least = [np.linalg.eigvalsh(M).min() for M in np.split(arm.mass_matrix(q), 20)]
    assert min(least) > 0


def test_rotors_offsets_and_given_scales():
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3, rotor_inertia=np.array([0.0, 0.2]))
    one = recorded(true, noise=0.002)
    scale = np.array([2.0, -0.5])
    one = replace(one, effort=(one.effort + np.array([0.4, -0.2])) / scale)
    found = identify(Dynamics(ELBOW), one, effort_scale=scale)
    assert found.drives.effort_scale == pytest.approx(scale)
    assert found.drives.rotor_inertia[1] == pytest.approx(0.2, abs=4 * found.drives.rotor_error[1])
    assert found.drives.offset == pytest.approx(
        [0.4, -0.2], abs=4 * found.drives.offset_error.max()
    )
    assert found.validation.after_rms == pytest.approx(
        0, abs=0.02 * found.validation.effort_rms[1]
    )


def test_link_side_efforts_have_no_rotors():
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3)
    found = identify(Dynamics(ELBOW), recorded(true), efforts='link-side')
    assert (found.drives.rotor_inertia == 0).all()
    assert found.validation.verdict == 'better'
    assert not any('rotor' in name for name in found.inertia.base.names)


def test_efforts_without_gravity():
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3)
    one = recorded(true, noise=0.002)
    one = replace(one, effort=one.effort - Dynamics(true).gravity_torque(one.q))
    found = identify(Dynamics(ELBOW), one, effort_gravity_compensated=True)
    assert found.validation.ratio < 0.05


@pytest.mark.parametrize('delay', [0.0, 0.006, -0.003])
def test_a_delay_of_the_efforts_is_found(delay):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.003)
    late = [np.interp(one.t - delay, one.t, column) for column in one.effort.T]
    found = identify(Dynamics(ELBOW), replace(one, effort=np.column_stack(late)))
    assert found.signals.delay.value == pytest.approx(
        delay, abs=max(4 * found.signals.delay.error, 2e-4)
    )
    assert found.signals.delay.applied == (delay != 0)


@pytest.mark.parametrize('delay', [0.04, *soak([-0.04, 0.0])])
def test_a_given_delay_is_removed_as_it_is(delay):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.003)
    found = identify(Dynamics(ELBOW), one, delay=delay)
    assert found.signals.delay.removed == delay
    parameters = yaml.safe_load(node_parameters(found))['/**']['ros__parameters']
    assert parameters['effort_delay'] == delay
    word = 'later' if delay > 0 else 'earlier'
    said = f'efforts 40 ms {word} than the motion: removed, as given'
    assert (said in text(found)) == bool(delay)
    with pytest.raises(RecordingError, match=r'the delay is 0.2 s; expected at most 0.1 s'):
        identify(Dynamics(ELBOW), one, delay=0.2)


@pytest.mark.slow
@pytest.mark.parametrize('lag', [*soak([0.005]), -0.005])
def test_velocities_that_lag_or_lead_are_aligned(lag):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.003)
    coarse = 2 * np.pi / 2**12
    one = replace(one, q=coarse * np.round(one.q / coarse))
    late = [np.interp(one.t - lag, one.t, column) for column in one.qd.T]
    found = identify(Dynamics(ELBOW), replace(one, qd=np.column_stack(late)))
    assert found.signals.velocity_lag == pytest.approx(lag, rel=0.05)
    assert yaml.safe_load(node_parameters(found))['/**']['ros__parameters'][
        'velocity_lag'
    ] == pytest.approx(lag, rel=0.05)
    word = 'later' if lag > 0 else 'earlier'
    assert re.search(rf'velocities [\d.]+ ms {word} than the positions', text(found))
    same = identify(Dynamics(ELBOW), one)
    assert abs(same.signals.velocity_lag) < 3e-4
    assert found.validation.after_rms == pytest.approx(same.validation.after_rms, rel=0.2)


@pytest.mark.slow
def test_velocities_noisier_than_the_derivative_of_the_positions_are_not_used():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.02)
    found = identify(Dynamics(ELBOW), one)
    assert any('derivatives of the positions' in note for note in found.signals.notes)
    without = identify(Dynamics(ELBOW), replace(one, qd=None), cutoff=found.signals.cutoff)
    assert found.inertia.theta == pytest.approx(without.inertia.theta)


@pytest.mark.parametrize('factor', [1.8, *soak([1 / 1.8, 1.0])])
@pytest.mark.parametrize('model', [ELBOW, *soak([PANDA])], ids=['elbow', 'panda'])
def test_efforts_of_another_scale_in_some_joints_are_named(model, factor):
    true = wrong(model, 1, 0.05, viscous=0.4, coulomb=0.3, rotor_inertia=0.1)
    one = recorded(true, duration=16.0, rate=100.0, noise=0.003)
    other = {ELBOW.n: [0], PANDA.n: [1, 3]}[model.n]
    scale = np.where(np.isin(np.arange(model.n), other), factor, 1.0)
    found = identify(Dynamics(model), replace(one, effort=scale * one.effort))
    notes = [note for note in found.signals.notes if 'relative to the torques' in note]
    named = re.findall(r'(\w+) (\d+\.\d+) ± ', ' '.join(notes))
    assert [name for name, _ in named] == [model.joint_names[j] for j in other if factor != 1.0]
    assert all(float(value) == pytest.approx(factor, rel=0.2) for _, value in named)


def periodic(periods, ramp=0.0, period=8.0, rate=200.0):
    """Return t, q, qd, qdd of a periodic motion of two joints, with ramps of its amplitude."""
    w = 2 * np.pi / period
    t = np.arange(round((periods * period + 2 * ramp) * rate)) / rate
    k, size = np.array([[1, 2], [3, 5]]), np.array([[0.8, 0.4], [0.3, 0.35]])
    angle = w * k[:, None, :] * (t - ramp)[:, None]
    q, qd, qdd = (
        (size[:, None] * (w * k[:, None]) ** i * f(angle)).sum(axis=0)
        for i, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))
    )
    if ramp:
        u = np.clip(np.minimum(t, t[-1] - t) / ramp, 0, 1)
        a = (u**3 * (10 - 15 * u + 6 * u**2))[:, None]
        ad, add = np.gradient(a, t, axis=0), np.gradient(np.gradient(a, t, axis=0), t, axis=0)
        q, qd, qdd = a * q, a * qd + ad * q, a * qdd + 2 * ad * qd + add * q
    return t, q, qd, qdd


def test_repeated_periods_are_averaged():
    rate = 200.0
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), motion=periodic(5))
    found = identify(Dynamics(ELBOW), one)
    assert found.signals.periods is not None
    assert found.signals.periods.number == 4  # between the ends, where the filter has transients
    assert found.signals.periods.period == pytest.approx(8.0, rel=1e-4)
    # White noise below the cut-off frequency, of that below half the sample rate.
    noise = 0.01 * one.effort.std(axis=0) * np.sqrt(found.signals.cutoff / (rate / 2))
    assert found.signals.periods.spread == pytest.approx(noise, rel=0.2)
    assert found.validation.verdict == 'better'
    other = identify(Dynamics(ELBOW), recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3)))
    assert other.signals.periods is None


def test_ramps_are_not_averaged():
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3)
    test = recorded(true, 2)
    found = identify(Dynamics(ELBOW), recorded(true, motion=periodic(4, ramp=0.7)), test=test)
    assert found.signals.periods.number == 4
    assert (found.validation.after_rms < 1.2 * floor(found, test, true, Dynamics(ELBOW))).all()


@pytest.mark.slow
def test_drift_of_friction_is_reported():
    true = wrong(ELBOW, viscous=0.4, coulomb=0.5)
    one = recorded(true, noise=0.002, duration=60.0, rate=200.0)
    friction = Dynamics(true).friction_torque(one.qd)
    warm = one.effort - 0.3 * (one.t / one.t[-1])[:, None] * friction
    found = identify(Dynamics(ELBOW), replace(one, effort=warm), test=one)
    assert found.drift.significant.all()
    # relative to the mean, 0.85 of the cold friction
    assert found.drift.friction == pytest.approx(-0.3 / 0.85, abs=0.05)
    steady = identify(Dynamics(ELBOW), one)
    assert not steady.drift.significant.any()


@pytest.mark.slow
def test_a_joint_at_rest_keeps_its_friction():
    t, q, qd, qdd = lively(PANDA, 15.0, 250.0, 1)
    q[:, 6], qd[:, 6], qdd[:, 6] = 0.3, 0.0, 0.0
    one = recorded(wrong(PANDA, viscous=1.0, coulomb=0.5), motion=(t, q, qd, qdd))
    found = identify(Dynamics(PANDA), one)
    assert found.drives.excited.tolist() == [True] * 6 + [False]
    assert found.model.viscous[6] == PANDA.viscous[6]
    assert found.model.coulomb[6] == PANDA.coulomb[6]
    assert found.validation.verdict == 'better'


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (
            lambda r: replace(r, q=0 * r.q + 0.3, qd=0 * r.qd),
            r'2 of 2 joints do not move.*--lock joint1=0.3 joint2=0.3',
        ),
        (lambda r: shortened(r, 2.0), r'the joints move for 1.* s; expected at least 2 s'),
    ],
    ids=['at rest', 'short'],
)
def test_too_little_excitation_is_rejected(change, reason):
    one = change(recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3)))
    with pytest.raises(LowExcitationError, match=f'(?=.*record a motion of all joints){reason}'):
        identify(Dynamics(ELBOW), one)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda r: replace(r, effort=-r.effort), 'opposite sign.*--effort-scale -1'),
        (
            lambda r: replace(r, effort=RNG(0).normal(size=r.q.shape)),
            r'efforts do not follow from the motion.*10. % of joint1',
        ),
    ],
    ids=['sign', 'noise'],
)
def test_efforts_of_another_motion_or_sign_are_rejected(change, reason):
    one = change(recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3)))
    with pytest.raises(RecordingError, match=reason):
        identify(Dynamics(ELBOW), one)


def test_a_test_recording_without_motion_is_rejected():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3))
    with pytest.raises(LowExcitationError, match='test recording: the joints move for'):
        identify(Dynamics(ELBOW), one, test=shortened(one, 2.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ('change', 'joints'),
    [
        (lambda r: replace(r, q=0 * r.q, qd=0 * r.qd), 'panda_joint1'),
        (lambda r: replace(r, q=r.q * (np.arange(7) == 1), qd=r.qd * (np.arange(7) == 1)), '6 of'),
        pytest.param(
            lambda r: replace(r, effort=r.effort[:, [2, 4, 3, 6, 5, 0, 1]]),
            '% of panda_joint7',
            marks=pytest.mark.soak,
        ),
        pytest.param(
            lambda r: replace(r, effort=np.roll(r.effort, len(r.t) // 5, axis=0)),
            'the times of',
            marks=pytest.mark.soak,
        ),
        pytest.param(
            lambda r: permuted(r, [2, 4, 3, 6, 5, 0, 1]),
            'in another order.*joint6 as panda_joint1',
            marks=pytest.mark.slow,
        ),
    ],
    ids=['at rest', 'one joint', 'permuted efforts', 'another time', 'permuted joints'],
)
@pytest.mark.parametrize('sign', [1.0, *soak([-1.0])])
def test_refusals_name_the_reason_and_can_be_overridden(change, joints, sign):
    r = recorded(wrong(PANDA, viscous=1.0, coulomb=0.6), duration=10.0, rate=200.0)
    one = change(replace(r, q=sign * r.q, qd=sign * r.qd, effort=sign * r.effort))
    limits = np.sort([sign * PANDA.lower, sign * PANDA.upper], axis=0)
    arm = Dynamics(replace(PANDA, axis=sign * PANDA.axis, lower=limits[0], upper=limits[1]))
    with pytest.raises(RefusedError, match=rf'{joints}.*record a motion of all joints'):
        identify(arm, one)
    reasons = []
    found = identify(arm, one, refuse=reasons.append)
    assert re.search(joints, str(reasons[0]))
    for reason in reasons:
        assert f'identified although refused: {reason}' in text(found)


def test_few_determined_parameters_are_a_note():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), rate=200.0)
    slow = np.repeat(RNG(0).normal(size=one.q.shape), 40, axis=0)[: len(one.t)]
    found = identify(
        Dynamics(ELBOW), replace(one, effort=one.effort + 0.7 * one.effort.std(axis=0) * slow)
    )
    assert found.inertia.base.determined.sum() < 0.3 * len(found.inertia.base.value)
    assert found.validation.verdict == 'better'


@pytest.mark.slow
@pytest.mark.parametrize('name', [FIRST, *soak(name for name in EXACT if name != FIRST)])
@pytest.mark.parametrize('size', [0.15, *soak([0.5])])
def test_only_another_order_of_joints_is_refused(name, size):
    true = wrong(EXACT[name], seed=3, size=size, viscous=1.0, coulomb=0.6)
    r, arm, rng = recorded(true, 2, rate=100.0), Dynamics(EXACT[name]), RNG(7)
    require_motion(arm, observations(arm, r, 5.0), r.joint_names)
    for _ in range(3):
        order = rng.permutation(true.n)
        with pytest.raises(RefusedError, match='appear to be in another order'):
            require_motion(arm, observations(arm, permuted(r, order), 5.0), r.joint_names)


def permuted(one, order):
    return replace(one, q=one.q[:, order], qd=one.qd[:, order], effort=one.effort[:, order])


def shortened(one, duration):
    rows = one.t < duration
    return replace(one, t=one.t[rows], q=one.q[rows], qd=one.qd[rows], effort=one.effort[rows])


def test_rejected_arguments():
    arm, one = Dynamics(ELBOW), recorded(ELBOW, duration=3.0)
    with pytest.raises(RecordingError, match="efforts is 'volts'; expected torques, currents"):
        identify(arm, one, efforts='volts')
    with pytest.raises(FrictionLawError, match="'dry' is unknown"):
        identify(arm, one, friction='dry')
    load = PayloadRecording(one, ELBOW.link_names[-1], 1.0)
    with pytest.raises(RecordingError, match='a payload fixes the scale of currents'):
        identify(arm, one, payload=load)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize(
    ('after', 'sentence'),
    [
        ((0.1, 0.1), 'better: on the test recording the residual is 10 %'),
        (
            (0.01, 1.3),
            'better on the whole, worse on joint2: on the test recording the residual is 11.4 %',
        ),
        ((0.99, 1.0), 'no better: on the test recording the residual is 99.5 %'),
        ((0.8, 1.25), 'no better: on the test recording .*; larger on joint2'),
        ((1.2, 1.3), 'worse: on the test recording the residual is 125 %.*; larger on joint1, jo'),
    ],
)
def test_the_verdict_is_a_sentence_without_contradiction(after, sentence, side):
    t = np.arange(100) / 10
    effort = side * np.column_stack([np.sin(t), np.cos(t)])
    validation = Validation(
        'test', 'SI', t, effort, 0 * effort, (1 - np.array(after)) * effort, t > 0, np.zeros(2)
    )
    found = SimpleNamespace(validation=validation, model=ELBOW)
    assert re.match(sentence, verdict(found))


# -- currents ---------------------------------------------------------------------------------

UR5 = robots.load('ur5')
GAIN = np.array([13.0, 13.0, 13.0, 9.0, 9.0, 9.0])  # N m/A
FRICTION = load_memory(
    [12.0, 12.0, 8.0, 2.0, 2.0, 2.0], [6.0, 8.0, 5.0, 2.0, 1.5, 1.2], [0.12] * 3 + [0.1] * 3
)
ROTORS = np.array([1.0, 1.0, 0.6, 0.15, 0.15, 0.15])
WITHIN = replace(UR5, lower=np.full(6, -3.0), upper=np.full(6, 3.0))


def currents(true, seed, motion=None):
    """Return a recording of motor currents at 100 Hz: every tenth sample of a finer one."""
    motion = lively(WITHIN, 50.0, 1000.0, seed) if motion is None else motion
    one = recorded(true, seed, motion=motion, noise=0.0, friction=FRICTION)
    rng, rows = RNG(seed), slice(None, None, 10)
    effort = one.effort[rows] / GAIN
    effort = effort + 0.02 * effort.std(axis=0) * rng.normal(size=effort.shape) + 0.02
    resolution = 2 * np.pi / 2**17
    q = resolution * np.round(one.q[rows] / resolution)
    qd = one.qd[rows] + 0.002 * rng.normal(size=q.shape)
    return Recording(one.joint_names, one.t[rows], q, qd, effort)


def point_to_point():
    points = np.repeat(RNG(5).uniform(-1.5, 1.5, (12, 6)), 2, axis=0)
    times, rest = np.cumsum(np.tile([2.5, 1.2], 12)) - 2.5, np.zeros_like(points)
    t = np.arange(0, times[-1], 1e-3)
    return t, *Trajectory(UR5.joint_names, times, points, rest, rest).sample(t)


def least_squares_of_each_joint(cutoff, fitted, test):
    """Return the residual (n,) of each joint's own least squares, viscous and Coulomb friction."""
    arm, law = Dynamics(UR5), LAWS['coulomb']
    seen = [observations(arm, one, cutoff) for one in (fitted, test)]
    features = [s.friction_features(law, np.full(6, 1e-3), s.Y[0, 0], np.zeros(6)) for s in seen]
    result = np.empty(6)
    for j in range(6):
        A, B = (
            np.column_stack([s.Y[:, j], s.qdd[:, j], phi[:, j], np.ones(len(s.t))])
            for s, phi in zip(seen, features, strict=True)
        )
        size = np.linalg.norm(A, axis=0) + 1e-12
        x = np.linalg.lstsq(A / size, seen[0].effort[:, j], rcond=1e-8)[0] / size
        result[j] = np.sqrt(((seen[1].effort[:, j] - B @ x) ** 2).mean())
    return result


@pytest.fixture(scope='module')
def ur5():
    return wrong(UR5, seed=3, rotor_inertia=ROTORS)


@pytest.fixture(scope='module')
def fitted(ur5):
    return currents(ur5, 1)


@pytest.mark.parametrize(
    ('motion', 'allowed'),
    [
        pytest.param(None, 0.6, id='Fourier', marks=pytest.mark.soak),
        pytest.param(point_to_point, 0.7, id='point to point', marks=pytest.mark.slow),
    ],
)
def test_currents_are_predicted_better_than_by_each_joint_alone(ur5, fitted, motion, allowed):
    test = currents(ur5, 2, None if motion is None else motion())
    found = identify(Dynamics(UR5), fitted, test=test, efforts='currents', friction='auto')
    assert found.friction.law.name == 'load_memory'
    assert found.friction.presliding == pytest.approx(np.full(6, 3e-4))
    assert not found.drives.scale_known.any()
    assert found.validation.unit == 'as recorded'
    alone = least_squares_of_each_joint(found.signals.cutoff, fitted, test)
    ratio = found.validation.after_rms / alone
    assert np.exp(np.log(ratio).mean()) < allowed
    assert ratio.max() < 0.9


@pytest.mark.slow
def test_a_payload_fixes_the_scale_of_currents(ur5, fitted):
    com = np.array([0.02, 0.0, 0.06])
    loaded = currents(ur5.with_payload('tool0', 3.0, com), 7)
    found = identify(
        Dynamics(UR5),
        fitted,
        efforts='currents',
        friction='load_memory',
        payload=PayloadRecording(loaded, 'tool0', 3.0, com),
    )
    assert found.drives.scale_known.all()
    assert found.drives.effort_scale == pytest.approx(GAIN, rel=0.03)
    assert found.validation.unit == 'SI'
    assert found.validation.verdict == 'better'


@pytest.fixture(scope='module')
def known_elbow():
    """Return recordings of currents of an elbow: to fit, to test, and with a payload."""
    true = wrong(ELBOW, viscous=0.4, coulomb=0.3, rotor_inertia=0.05)
    loaded = true.with_payload(*ELBOW_PAYLOAD)
    recordings = recorded(true, 1), recorded(true, 2), recorded(loaded, 3)
    return [replace(one, effort=one.effort / [2.0, 0.5] + 0.1) for one in recordings]


ELBOW_PAYLOAD = (ELBOW.link_names[-1], 1.5, (0.3, 0.0, 0.0))


@pytest.fixture(scope='module')
def plain(known_elbow):
    return identified_currents(known_elbow, np.ones(2))


def identified_currents(recordings, factors):
    one, test, loaded = (replace(x, effort=x.effort * factors) for x in recordings)
    payload = PayloadRecording(loaded, *ELBOW_PAYLOAD)
    return identify(Dynamics(ELBOW), one, efforts='currents', test=test, payload=payload)


@pytest.mark.slow
@pytest.mark.parametrize(
    'factors', [*soak([(-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (20.0, 1.0)]), (-1.0, 0.05)]
)
def test_a_motor_that_counts_negative_or_in_another_unit_changes_its_scale_alone(
    known_elbow, plain, factors
):
    assert plain.drives.effort_scale == pytest.approx([2.0, 0.5], rel=0.03)
    found, factors = identified_currents(known_elbow, factors), np.array(factors)
    # Sizes of different units have rounding of their own.
    relative = 1e-6 if (np.abs(factors) == 1).all() else 1e-3
    assert found.drives.effort_scale == pytest.approx(
        plain.drives.effort_scale / factors, rel=relative
    )
    errors = plain.drives.scale_error / np.abs(factors)
    assert found.drives.scale_error == pytest.approx(errors, rel=relative)
    for name in (
        'inertia.theta', 'inertia.error', 'friction.coefficients', 'friction.error',
        'drives.offset', 'drives.offset_error', 'drives.rotor_inertia', 'drives.rotor_error',
        'drives.scale_known', 'signals.cutoff',
    ):  # fmt: skip
        expected = attrgetter(name)(plain)
        close = pytest.approx(expected, rel=relative, abs=relative * np.abs(expected).max())
        assert attrgetter(name)(found) == close, name
    for name in ('before', 'after', 'effort', 'noise'):
        expected = getattr(plain.validation, name)
        close = pytest.approx(expected, abs=relative * np.abs(expected).max())
        assert getattr(found.validation, name) == close, name
    assert found.drift.friction == pytest.approx(plain.drift.friction, rel=1e-2)
