# SPDX-License-Identifier: Apache-2.0
"""The observer on motions under external torques that are known."""

import numpy as np
import pytest
from tiers import soak

import robot_dynamics as rd
from robot_dynamics.common.errors import ModelError
from robot_dynamics.control.momentum_observer import MomentumObserver, ObserverSettings
from robot_dynamics.core.algorithms.momentum_observer import BANK, SETTLED
from robot_dynamics.core.friction.coefficients import JointFriction, coulomb_friction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robots import planar_2r

STEP = 1e-3  # s
STAMPS = STEP * np.arange(401)
GRASPED = 200  # number of the state when a payload is grasped
PUSH = np.array([2.0, -0.7])  # N m
NONE = coulomb_friction(0.0, 0.0)


@pytest.fixture(scope='module')
def arm():
    return rd.Dynamics(planar_2r())


def motion(arm, push, sign=1.0, fine=4, payload=None):
    """Return states at STAMPS under efforts that vary, with a constant torque from outside."""
    q, qd, effort = np.zeros((3, len(STAMPS), arm.model.n))
    q[0] = sign * np.array([-1.6, 0.3])
    for k in range(len(STAMPS) - 1):
        effort[k + 1] = sign * np.sin([0.03 * k, 0.05 * k + 1.0])
        carrying = arm if payload is None or k < GRASPED else payload
        tau = np.tile(effort[k + 1] + push, (fine, 1))
        path = carrying.rollout(q[k], qd[k], tau, time_step=STEP / fine, integrator='rk4')
        q[k + 1], qd[k + 1] = path.q[-1], path.qd[-1]
    return q, qd, effort


def observed(observer, q, qd, effort, stamps=STAMPS):
    """Return the external torque (k, n) after every state; zero where there is none."""
    found = []
    for state in zip(stamps, q, qd, effort, strict=True):
        observer.update(*state)
        found.append(observer.external_torque)
    return np.array(found)


@pytest.mark.parametrize('poles', [150.0, 300.0])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_answers_a_constant_torque_as_two_poles_do(arm, sign, poles):
    # However fast the poles by which contact is found, and however the momentum turns
    states = motion(arm, sign * PUSH, sign)
    found = observed(MomentumObserver(arm, NONE, ObserverSettings(poles=poles)), *states)
    # tau (1 - (1 + b t) e^(-b t))
    bt = 150.0 * STAMPS[:, None]
    expected = sign * PUSH * (1 - (1 + bt) * np.exp(-bt))
    assert np.abs(found - expected).max() < 1e-5 * np.abs(PUSH).max()


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_each_pair_of_the_bank_answers_as_its_two_poles_do(arm, sign):
    states = motion(arm, sign * PUSH, sign)
    observer, found = MomentumObserver(arm, NONE, ObserverSettings()), []
    for state in zip(STAMPS, *states, strict=True):
        observer.update(*state)
        found.append(observer.bank_torques)
    found = np.array(found)
    size = np.abs(PUSH).max()
    for k, (a, b) in enumerate(BANK):
        if a == b:
            bt = b * STAMPS[:, None]
            expected = sign * PUSH * (1 - (1 + bt) * np.exp(-bt))
            assert np.abs(found[:, k] - expected).max() < 1e-5 * size


def test_the_poles_of_the_momentum_and_of_the_rest_are_those_of_the_bank(arm):
    """Of a pair with a > b, the sum of both parts, each behind its own poles."""
    q, qd, effort = motion(arm, PUSH)
    observer, parts = MomentumObserver(arm, NONE, ObserverSettings()), []
    before = None
    for state in zip(STAMPS, q, qd, effort, strict=True):
        observer.update(*state)
        now = observer.state
        if before is not None:
            d = (now.p - before.p) / STEP, -(now.u + before.u) / 2 - state[-1]
            parts.append((*d, observer.bank_torques[0]))
        before = now
    rate, rest, found = np.moveaxis(np.array(parts), 1, 0)
    a, b = BANK[0]
    # Each sample of a part acts as a pulse of length h on two poles.
    t = STEP * np.arange(len(rate) + 1)
    expected = 0.0
    for x, pole in ((rest, a), (rate, b)):
        weight = np.diff(1 - (1 + pole * t) * np.exp(-pole * t))
        expected = (
            expected
            + np.array([np.convolve(x[:, j], weight)[: len(x)] for j in range(x.shape[1])]).T
        )
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(rate).max())


def test_the_bank_begins_anew_and_goes_on_with_the_observer(arm):
    q, qd, effort = motion(arm, PUSH)
    observer, fresh = (MomentumObserver(arm, NONE, ObserverSettings()) for _ in range(2))
    stamps = STAMPS + 1.0 * (np.arange(len(STAMPS)) >= 60)
    observed(observer, q, qd, effort, stamps)
    observed(fresh, q[60:], qd[60:], effort[60:], stamps[60:])
    np.testing.assert_array_equal(observer.bank_torques, fresh.bank_torques)
    assert observer.bank_torques.any()
    fresh.restart()
    assert not fresh.bank_torques.any()
    fresh.continue_from(observer)
    np.testing.assert_array_equal(observer.bank_torques, fresh.bank_torques)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_joint_is_unsettled_after_a_reversal_until_it_has_slid_on(arm, sign):
    observer = MomentumObserver(arm, NONE, ObserverSettings())
    # The first joint slides by 0.2 rad, turns back by as much, and rests; the second one rests.
    slides = np.repeat([1.0, -1.0, 0.0], [201, 200, 20])
    q, found = np.zeros(2), []
    for k, direction in enumerate(slides):
        qd = np.array([sign * direction, 0.0])
        q = q + STEP * qd
        if observer.update(STEP * k, q, qd, np.zeros(2)):
            found.append(observer.unsettled)
    first, second = np.array(found).T
    assert (second == 0.5).all()
    assert first[199] < 0.01
    # (1 - s z) / 2, z = 1 - 2 (1 - e^(-x / SETTLED)) after x rad in the other direction
    x = STEP * np.arange(1, 201)
    np.testing.assert_allclose(first[200:400], np.exp(-x / SETTLED), atol=0.01)
    assert (first[400:] == 0.5).all()
    observer.restart()
    assert (observer.unsettled == 0).all()


def test_sees_nothing_in_free_motion(arm):
    found = observed(MomentumObserver(arm, NONE, ObserverSettings()), *motion(arm, 0.0))
    assert np.abs(found).max() < 1e-5 * np.abs(arm.gravity_torque(np.zeros(2))).max()


def torso(t):
    """Return the motion (9,) of a torso that turns about all axes, and accelerates."""
    rates = np.array([7.0, 4.4, 5.7])
    w, wd = [0.5, 0.6, 0.8] * np.sin(rates * t), [3.5, 2.64, 4.56] * np.cos(rates * t)
    return np.concatenate([w, wd, [0.0, 0.0, 9.81] + 1.5 * np.sin(rates[::-1] * t)])


@pytest.fixture(scope='module')
def panda():
    return rd.Dynamics(rd.load_urdf('panda')).without_friction()


def moved_by_torso(panda, push):
    """Return states, efforts and motions of the base; `push` (7,) acts in the second half."""
    moving, h = panda.on_moving_base(), STEP / 2
    step = moving.simulation_step('rk4', 'none')
    target, kp, kd = np.array([0.3, 0.2, -0.3, -1.5, 0.2, 1.4, 0.1]), 60.0, 15.0
    q, qd = np.zeros((2, 801, 7))
    effort, base = np.zeros((801, 7)), np.array([torso(k * STEP) for k in range(801)])
    q[0] = target
    for k in range(800):
        # Holds the posture badly: joints move by some rad/s
        wanted = target + 0.3 * np.sin(6.0 * k * STEP + np.arange(7))
        effort[k + 1] = moving.bias_torque(q[k], qd[k], base[k]) + panda.mass_matrix(q[k]) @ (
            kp * (wanted - q[k]) - kd * qd[k]
        )
        state, outer = (q[k], qd[k]), effort[k + 1] + push * (k >= 400)
        for half in (0.25, 0.75):
            state = step(*state, outer, [h], torso((k + half) * STEP))
        q[k + 1], qd[k + 1] = state
    return q, qd, effort, base


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_on_a_moving_base_finds_contact_without_angular_acceleration(panda, sign):
    q, qd, effort, base = moved_by_torso(panda, sign * 5.0 * np.eye(7)[1])
    base[:, 3:6] = 0.0
    observers = [
        MomentumObserver(panda, NONE, settings, moving_base=True)
        for settings in (
            ObserverSettings(),
            ObserverSettings(poles=300.0, poles_along_momentum=60.0),
        )
    ]
    fixed, found, unaware = MomentumObserver(panda, NONE, ObserverSettings()), [], []
    for state in zip(STEP * np.arange(801), q, qd, effort, base, strict=True):
        for observer in observers:
            observer.update(*state)
        fixed.update(*state[:-1])
        found.append([[each.external_torque, each.prompt_torque] for each in observers])
        unaware.append(fixed.external_torque)
    found = np.array(found)
    # The part along the momentum of the joints is small too, where its poles are slower
    assert np.abs(found[:401]).max() < 5e-4
    assert np.abs(found[500:, 0] - sign * 5.0 * np.eye(7)[1]).max() < 1e-3
    assert np.abs(unaware[:401]).max() > 5.0


def test_on_a_moving_base_at_rest_is_as_on_a_fixed_one(panda):
    q, qd, effort = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 50, 7))
    fixed = MomentumObserver(panda, NONE, ObserverSettings())
    moving = MomentumObserver(panda, NONE, ObserverSettings(), moving_base=True)
    at_rest = rd.BaseMotion.at_rest().array()
    for k in range(50):
        fixed.update(k * STEP, q[k], qd[k], effort[k])
        moving.update(k * STEP, q[k], qd[k], effort[k], at_rest)
        size = 1.0 + np.abs(fixed.external_torque).max()
        for name in ('external_torque', 'prompt_torque'):
            ours, theirs = getattr(moving, name), getattr(fixed, name)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * size)


def test_the_motion_of_the_base_is_given_if_it_moves_alone(panda):
    state = 0.0, np.zeros(7), np.zeros(7), np.zeros(7)
    with pytest.raises(ValueError, match=r'base is None .* expected'):
        MomentumObserver(panda, NONE, ObserverSettings(), moving_base=True).update(*state)
    with pytest.raises(ValueError, match=r'base is \[.* expected'):
        MomentumObserver(panda, NONE, ObserverSettings()).update(*state, torso(0.0))


def test_any_interval_between_states_is_taken(arm):
    q, qd, effort = motion(arm, PUSH)
    kept = np.flatnonzero(np.random.default_rng(0).random(len(q)) < 0.6)
    # The mean of the efforts over each interval
    sums = np.cumsum(effort, axis=0)[kept]
    mean = np.diff(sums, axis=0, prepend=sums[:1]) / np.diff(kept, prepend=kept[0] - 1)[:, None]
    observer = MomentumObserver(arm, NONE, ObserverSettings())
    found = observed(observer, q[kept], qd[kept], mean, STAMPS[kept])
    bt = 150.0 * (STAMPS[kept] - STAMPS[kept[0]])[:, None]
    expected = PUSH * (1 - (1 + bt) * np.exp(-bt))
    assert np.abs(found - expected).max() < 1e-3 * np.abs(PUSH).max()


def test_a_modelled_payload_gives_no_spike(arm):
    loaded = arm.with_payload('link2', 1.5, [0.1, 0.0, 0.0])
    q, qd, effort = motion(arm, 0.0, payload=loaded)
    modelled, unmodelled = (MomentumObserver(arm, NONE, ObserverSettings()) for _ in range(2))
    found = []
    for k, (t, *state) in enumerate(zip(STAMPS, q, qd, effort, strict=True)):
        if k == GRASPED + 1:
            modelled.use(loaded)
        modelled.update(t, *state)
        unmodelled.update(t, *state)
        found.append((modelled.external_torque, unmodelled.external_torque))
    largest = np.abs(found).max(axis=(0, 2))
    assert largest[0] < 1e-4 * largest[1]


@pytest.mark.parametrize('jump', [0.0, -0.5, 10.0], ids=['repeated', 'backward', 'gap'])
def test_begins_anew_where_stamps_are_repeated_go_back_or_leave_a_gap(arm, jump):
    q, qd, effort = motion(arm, PUSH)
    observer = MomentumObserver(arm, NONE, ObserverSettings())
    observed(observer, q[:200], qd[:200], effort[:200], STAMPS[:200])
    after = STAMPS[199] + jump
    assert not observer.update(after, q[200], qd[200], effort[200])
    assert not observer.external_torque.any()
    # No memory of the time before: the next states are those of an observer that begins here.
    other = MomentumObserver(arm, NONE, ObserverSettings())
    rest = q[200:], qd[200:], effort[200:]
    stamps = after + STAMPS[200:] - STAMPS[200]
    np.testing.assert_array_equal(
        observed(observer, *(x[1:] for x in rest), stamps[1:]),
        observed(other, *rest, stamps)[1:],
    )


def test_slower_poles_along_the_momentum_suppress_errors_of_stamps(arm):
    q, qd, effort = motion(arm, 0.0)
    # Positions are those up to 0.2 ms from their stamps, velocities are their differences.
    away = np.random.default_rng(1).uniform(-2e-4, 2e-4, (len(q), 1))
    q = q + away * qd
    qd = np.gradient(q, STEP, axis=0)
    rms = {}
    for along in (150.0, 40.0):
        settings = ObserverSettings(poles_along_momentum=along)
        observer, found = MomentumObserver(arm, NONE, settings), []
        for state in zip(STAMPS, q, qd, effort, strict=True):
            observer.update(*state)
            found.append(observer.prompt_torque)
        found = np.array(found)
        rms[along] = np.sqrt((found[50:] ** 2).mean(axis=0))
    assert (rms[40.0] < 0.5 * rms[150.0]).all()


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('sign', [1.0, *soak([-1.0])])
def test_friction_of_the_law_is_no_external_torque(arm, law, sign):
    values = {'viscous': 0.3, 'coulomb': 0.4, 'load': 0.05, 'stribeck': 0.2}
    of_law = {term: np.array(values[term]) for term in LAWS[law].terms}
    friction = JointFriction(LAWS[law], of_law, np.array(1e-2))
    without, own = (
        MomentumObserver(arm, f, ObserverSettings(play=1e-9)) for f in (NONE, friction)
    )
    # The arm moves freely; its drives exert the friction in addition.
    q, qd, effort = motion(arm, 0.0, sign)
    z = LAWS[law].sliding_direction(q, qd, 1e-2)
    driven = effort.copy()
    for k in range(1, len(q)):
        at, tau = (k - 1, k), effort[k]
        for _ in range(60):  # the load is the effort, friction included
            tau = effort[k] + np.mean([friction.torque(qd[i], tau, z[i]) for i in at], axis=0)
        driven[k] = tau
    error, unmodelled = observed(own, q, qd, driven), observed(without, q, qd, driven)
    assert np.abs(error).max() < 0.02 * np.abs(unmodelled).max()


def test_a_joint_at_rest_feels_what_its_friction_does_not_hold(arm):
    friction = JointFriction(LAWS['coulomb_memory'], {'coulomb': np.array(0.5)}, np.array(1e-3))
    observer = MomentumObserver(arm, friction, ObserverSettings(play=1e-5))
    still = np.zeros(2)
    g = arm.gravity_torque(still)
    # Sliding forwards until the direction is known, then at rest on the same side:
    for k, q in enumerate(np.linspace(0.0, 0.02, 41)):
        observer.update(STEP * k, np.full(2, q), still, g)
    # the flicker of the encoder does not change it
    for k in range(41, 400):
        q = np.full(2, 0.02 + (-1) ** k * 0.9e-5)
        observer.update(STEP * k, q, still, arm.gravity_torque(q) + 0.5)
    assert np.abs(observer.external_torque).max() < 1e-3


@pytest.mark.parametrize(
    'wrong', [{'poles': 0.0}, {'poles': np.nan}, {'play': [1e-5]}, {'effort_lead': -1.0}]
)
def test_settings_out_of_range_are_rejected(arm, wrong):
    (name,) = wrong
    with pytest.raises(ModelError, match=name):
        MomentumObserver(arm, NONE, ObserverSettings(**wrong))


def test_efforts_are_delayed_by_a_fraction_of_the_interval(arm):
    q, qd, effort = motion(arm, PUSH)
    early = np.append(effort[1:], effort[-1:], axis=0)  # each effort arrives one state early

    def found(efforts, delay):
        settings = ObserverSettings(effort_lead=delay * STEP)
        return observed(MomentumObserver(arm, NONE, settings), q, qd, efforts)

    exact, none, part, whole = (
        found(effort, 0.0),
        found(early, 0.0),
        found(early, 0.4),
        found(early, 1.0),
    )
    size = np.abs(none - exact).max()
    assert np.abs(whole - exact).max() < 1e-9 * size
    # The external torque is linear in the efforts.
    assert np.abs(part - (0.6 * none + 0.4 * whole))[3:].max() < 1e-2 * size


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('late', [1, 5])
def test_efforts_that_are_later_than_the_motion_delay_the_motion(arm, sign, late):
    """The external torque is that of exact efforts, so many states later."""
    q, qd, effort = motion(arm, PUSH, sign)
    delayed = np.append(np.repeat(effort[:1], late, axis=0), effort[:-late], axis=0)

    def found(efforts, lead):
        observer = MomentumObserver(arm, NONE, ObserverSettings(effort_lead=lead * STEP))
        return observed(observer, q, qd, efforts)

    exact, used, as_it_is = found(effort, 0), found(delayed, -late), found(delayed, 0)
    size = np.abs(as_it_is[late:] - exact[:-late]).max()
    assert np.abs(used[late:] - exact[:-late]).max() < 1e-9 * size
    # Half a state is between, and none is as it is.
    half = found(delayed, -late + 0.5)
    assert 1e-3 * size < np.abs(half[late:] - exact[:-late]).max() < 0.8 * size
    # Nothing is given before the motion that belongs to the first efforts.
    assert not used[: late + 1].any()


def test_efforts_that_are_later_begin_anew_after_a_gap_and_go_on_with_a_payload(arm):
    q, qd, effort = motion(arm, PUSH)
    observer, fresh = (
        MomentumObserver(arm, NONE, ObserverSettings(effort_lead=-2.5 * STEP)) for _ in range(2)
    )
    stamps = STAMPS + 1.0 * (np.arange(len(STAMPS)) >= 60)
    observed(observer, q, qd, effort, stamps)
    observed(fresh, q[60:], qd[60:], effort[60:], stamps[60:])
    np.testing.assert_array_equal(observer.external_torque, fresh.external_torque)
    observer.use(arm.with_payload(arm.model.link_names[-1], 0.0))
    assert observer.update(stamps[-1] + STEP, q[-1], qd[-1], effort[-1])
    other = MomentumObserver(arm, NONE, observer.settings)
    other.continue_from(observer)
    assert other.update(stamps[-1] + 2 * STEP, q[-1], qd[-1], effort[-1])


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
@pytest.mark.parametrize('field', ['qd', 'effort'])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_result_that_is_not_finite_begins_anew(arm, field, sign):
    """As after a gap: from the second state after it the estimate is that of a new observer."""
    q, qd, effort = motion(arm, PUSH)
    observer, fresh = (MomentumObserver(arm, NONE, ObserverSettings()) for _ in range(2))
    {'qd': qd, 'effort': effort}[field][100] = sign * np.array([1e300, 1e308])
    gave = [observer.update(*row) for row in zip(STAMPS, q, qd, effort, strict=True)]
    assert all(gave[1:100])
    assert not all(gave[100:102])
    assert all(gave[103:])
    expected = observed(fresh, q[102:], qd[102:], effort[102:], STAMPS[102:])[-1]
    np.testing.assert_allclose(observer.external_torque, expected, atol=1e-6)
