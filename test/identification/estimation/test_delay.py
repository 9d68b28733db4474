# SPDX-License-Identifier: Apache-2.0
"""Delays of efforts beside friction by load and speed, of a wrong description, and elasticity."""

from dataclasses import replace

import numpy as np
import pytest
import robots
import tiers
from arms_to_identify import load_memory, recorded, wrong
from recorded_runs import lively
from scipy.interpolate import CubicSpline

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.identification import identify
from robot_dynamics.identification.estimation import delay as delays
from robot_dynamics.identification.estimation import stages
from robot_dynamics.identification.estimation.delay import LONG, MECHANICAL, confirmed
from robot_dynamics.recordings.recording import Recording

UR5 = replace(robots.load('ur5'), lower=np.full(6, -3.0), upper=np.full(6, 3.0))
VISCOUS, COULOMB = np.array([12.0, 12, 8, 2, 2, 2]), np.array([6.0, 8, 5, 2, 1.5, 1.2])
LOAD = np.array([0.12, 0.12, 0.12, 0.1, 0.1, 0.1])
ROTORS = np.array([1.0, 1.0, 0.6, 0.15, 0.15, 0.15])
STIFFNESS = np.array([2e4, 2e4, 1.5e4, 4e3, 4e3, 4e3])  # N m/rad: resonances at 11 Hz and above


class FoundError(Exception):
    """The delay is known: nothing more is identified."""


def of_variants(take, model, recording, monkeypatch):
    """Return `take` of the problems that `identify` takes the delay from, without its fits."""
    found = []

    def stop(variants):
        found.append(take(variants))
        raise FoundError

    with monkeypatch.context() as patch:
        patch.setattr(stages, 'delay_of', stop)
        with pytest.raises(FoundError):
            identify(Dynamics(model), recording, test=recording)
    return found[0]


def delay_of(*of):
    return of_variants(stages.delay_of, *of)


def problem_of(*of):
    return of_variants(lambda variants: next(iter(variants)), *of)


def late(recording, delay):
    t = recording.t
    shifted = [np.interp(t - delay, t, column) for column in recording.effort.T]
    return replace(recording, effort=np.column_stack(shifted))


def elastic(model, seed, friction, *, behind, of_link=False):
    """Return a recording of an arm with springs, its motors moved so that its links are lively.

        theta = q + tau_spring / STIFFNESS
        effort = tau_spring + ROTORS thetadd + friction of the motor

    Args:
        model: the links.
        seed: of motion and noise.
        friction: of the motors, or behind the springs.
        behind: friction acts on the links.
        of_link: positions and velocities are measured there.
    """
    t, q, qd, qdd = lively(model, 30.0, 250.0, seed)
    spring = Dynamics(model).inverse_dynamics(q, qd, qdd)

    def torque_of_friction(q, qd, load):
        z = friction.law.sliding_direction(q, qd, friction.presliding)
        return friction.torque(qd, load, z)

    if behind:
        spring = spring + torque_of_friction(q, qd, spring)
    bent = CubicSpline(t, spring / STIFFNESS)
    motor = q + bent(t), qd + bent(t, 1), qdd + bent(t, 2)
    effort = spring + ROTORS * motor[2]
    if not behind:
        effort = effort + torque_of_friction(*motor[:2], effort)
    rng = np.random.default_rng(1000 + seed)
    seen = (q, qd) if of_link else motor[:2]
    noisy = [x + 0.005 * x.std(axis=0) * rng.normal(size=x.shape) for x in (seen[1], effort)]
    return Recording(model.joint_names, t, seen[0], *noisy)


def rigid(seed, friction):
    true = wrong(UR5, seed=seed, rotor_inertia=ROTORS)
    return recorded(true, seed, duration=30.0, rate=250.0, noise=0.005, friction=friction)


FRICTION = {
    'short memory': load_memory(VISCOUS, COULOMB, LOAD, 3e-4),
    'long memory': load_memory(VISCOUS, COULOMB, LOAD, 2e-3),
    'load': JointFriction(
        LAWS['load'], {'viscous': VISCOUS, 'coulomb': COULOMB, 'load': LOAD}, np.array(5e-4)
    ),
    'stribeck': JointFriction(
        LAWS['stribeck'],
        {'viscous': VISCOUS, 'coulomb': COULOMB, 'stribeck': 0.3 * COULOMB},
        np.array(5e-4),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ('seed', 'law'), [pytest.param(0, 'short memory', marks=pytest.mark.soak), (1, 'stribeck')]
)
def test_friction_by_load_or_speed_of_a_wrong_description_is_no_delay(seed, law, monkeypatch):
    found = delay_of(UR5, late(rigid(seed, FRICTION[law]), 0.004), monkeypatch)
    assert abs(found.value - 0.004) < 2e-4
    assert found.applied


@pytest.mark.slow
@pytest.mark.parametrize('sign', [1.0, *tiers.soak([-1.0])])
def test_friction_behind_springs_shifts_the_delay_by_less_than_its_error_covers(sign, monkeypatch):
    one = late(elastic(wrong(UR5, seed=1), 1, FRICTION['stribeck'], behind=True), 0.004)
    one = replace(one, q=sign * one.q, qd=sign * one.qd, effort=sign * one.effort)
    described = replace(UR5, axis=sign * UR5.axis, S=sign * UR5.S)
    found = delay_of(described, one, monkeypatch)
    assert MECHANICAL < found.value - 0.004 < 3 * found.error
    assert found.applied


@pytest.mark.parametrize(
    'case',
    [
        *tiers.slow([(0.004, [2], ['stribeck'])]),
        *tiers.soak([(delay, [2, 3], FRICTION) for delay in (0.0, 0.004)]),
    ],
)
def test_delays_of_rigid_and_elastic_arms_are_covered(case, monkeypatch):
    (delay, seeds, laws), z, applied = case, [], []
    for seed in seeds:
        true = wrong(UR5, seed=seed)
        for friction in map(FRICTION.get, laws):
            ones = [rigid(seed, friction), elastic(true, seed, friction, behind=False)]
            ones += [elastic(true, seed, friction, behind=True)]
            ones += [elastic(true, seed, friction, behind=False, of_link=True)]
            for one in ones:
                found = delay_of(UR5, late(one, delay), monkeypatch)
                z.append((found.value - delay) / found.error)
                applied.append(found.applied)
    assert (np.abs(z) < 3).mean() >= 0.95
    assert np.all(np.equal(applied, delay > 0))


@pytest.mark.slow
@pytest.mark.parametrize('sign', [1.0, *tiers.soak([-1.0])])
def test_halves_that_differ_are_part_of_the_error(sign, monkeypatch):
    """Efforts that are late in one half only, as of a clock that was set, have no one delay."""
    one = rigid(1, FRICTION['stribeck'])
    later = late(one, sign * 0.012).effort
    second = one.t[:, None] > one.t.mean()
    found = delay_of(UR5, replace(one, effort=np.where(second, later, one.effort)), monkeypatch)
    assert 0 < sign * found.value < 0.012
    assert found.error > 0.003
    assert not found.applied
    assert found.reason == 'not certain, not removed'


@pytest.mark.slow
@pytest.mark.parametrize('delay', [0.03, *tiers.soak([-0.03])])
def test_long_delays_are_confirmed_by_the_other_half(delay, monkeypatch):
    problem = problem_of(UR5, late(rigid(1, FRICTION['stribeck']), delay), monkeypatch)
    assert confirmed(problem, delay)
    assert not confirmed(problem, -delay)
    # It predicts better than none, but worse than half of it.
    assert not confirmed(problem, 1.9 * delay)


@pytest.mark.slow
@pytest.mark.parametrize('delay', [0.03, *tiers.soak([-0.03, 0.01])])
def test_a_long_delay_is_removed_only_if_it_is_confirmed(delay, monkeypatch):
    one = late(rigid(1, FRICTION['stribeck']), delay)
    monkeypatch.setattr(delays, 'confirmed', lambda *_: False)
    found = delay_of(UR5, one, monkeypatch)
    assert found.value == pytest.approx(delay, abs=5e-4)
    assert found.applied == (abs(delay) < LONG)
    assert ('--delay' in found.reason) == (abs(delay) > LONG)
    monkeypatch.undo()
    assert delay_of(UR5, one, monkeypatch).applied
