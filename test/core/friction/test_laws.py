# SPDX-License-Identifier: Apache-2.0
"""Laws of friction: identities, dissipation, memory, and rejected values."""

import numpy as np
import pytest

from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.coulomb import joint_friction, sliding_direction
from robot_dynamics.core.friction.laws import (
    LAWS,
    PRESLIDING,
    FrictionLawError,
    friction_law,
    moved_direction,
)
from robot_dynamics.core.friction.memory import FrictionWithOffset, tracked

TAU = np.array([3.0, -8.0])


def some_friction(name, **changes):
    law = LAWS[name]
    values = {term: np.array([0.4, 1.1]) * (i + 1) for i, term in enumerate(law.terms)}
    return JointFriction(law, values, **changes)


@pytest.mark.parametrize('name', LAWS)
def test_torque_is_the_features_times_the_coefficients(name):
    friction, rng = some_friction(name), np.random.default_rng(1)
    qd, z = rng.normal(size=(2, 50, 2))
    features = friction.law.features(qd, TAU, z)
    coefficients = np.stack([friction.coefficients[term] for term in friction.law.terms], axis=-1)
    expected = (features * coefficients).sum(axis=-1)
    assert friction.torque(qd, TAU, z) == pytest.approx(expected, rel=1e-14)


def test_the_default_law_is_that_of_the_model():
    qd = np.linspace(-0.1, 0.1, 41)[:, None] * np.ones(2)
    friction = some_friction('coulomb')
    b, c = friction.coefficients['viscous'], friction.coefficients['coulomb']
    assert friction.torque(qd, 0.0) == pytest.approx(joint_friction(b, c, qd), rel=1e-14)


@pytest.mark.parametrize('name', [name for name, law in LAWS.items() if not law.memory])
def test_friction_without_memory_dissipates_in_every_state(name):
    rng = np.random.default_rng(2)
    qd, tau = 10.0 ** rng.uniform(-6, 1, (2, 400, 2)) * rng.choice([-1, 1], (2, 400, 2))
    assert (some_friction(name).torque(qd, tau) * qd >= 0).all()


@pytest.mark.parametrize('amplitude', [1e-5, 5e-4, 0.1])
@pytest.mark.parametrize('name', [name for name, law in LAWS.items() if law.memory])
def test_friction_with_memory_dissipates_in_closed_paths(name, amplitude):
    # Two periods: the first ends the transient of z.
    t = np.linspace(0, 4 * np.pi, 20001)
    q = amplitude * np.column_stack([np.sin(t), np.sin(t) + 0.6 * np.sin(3 * t)])
    friction = some_friction(name)
    z = friction.law.sliding_direction(q, np.gradient(q, t, axis=0))
    force = friction.torque(np.zeros_like(q), TAU, z)
    last = slice(10000, None)
    middle = (force[last][1:] + force[last][:-1]) / 2
    work = (middle * np.diff(q[last], axis=0)).sum(axis=0)
    assert (work > 0).all()
    # Far beyond the pre-sliding length the loss is that of Coulomb friction over the path.
    if amplitude > 100 * PRESLIDING:
        travel = np.abs(np.diff(q[last], axis=0)).sum(axis=0)
        assert work == pytest.approx(friction.sliding_level(0.0, TAU) * travel, rel=0.05)


def test_memory_is_kept_at_standstill_and_lost_over_the_presliding_length():
    forwards = moved_direction(0.0, 1.0)
    assert forwards == pytest.approx(1.0, abs=1e-12)
    assert moved_direction(forwards, 0.0) == forwards
    # After a reversal by delta ln 2, z is 0.
    assert moved_direction(forwards, -PRESLIDING * np.log(2)) == pytest.approx(0.0, abs=1e-12)


def test_a_displacement_equals_its_parts():
    parts = np.full((1000, 1), 2e-6)
    q = np.cumsum(np.vstack([[[0.3]], parts]), axis=0)
    along = LAWS['coulomb_memory'].sliding_direction(q, np.zeros_like(q))
    assert along[-1, 0] == pytest.approx(moved_direction(0.0, 2e-3), rel=1e-9)


def test_memory_of_moving_joints_is_the_sign_of_the_velocity():
    t = np.linspace(0, 3, 3001)
    q, qd = np.sin(2 * t)[:, None], 2 * np.cos(2 * t)[:, None]
    moving = np.abs(qd[:, 0]) > 0.2
    z = LAWS['load_memory'].sliding_direction(q, qd)
    assert z[moving][20:] == pytest.approx(sliding_direction(qd)[moving][20:], abs=0.02)


def test_each_law_states_its_formula():
    for law in LAWS.values():
        assert ('presliding' in law.formula) == law.memory
        assert all(term in law.formula for term in law.terms)


def test_rejections_name_what_is_expected():
    with pytest.raises(FrictionLawError, match="'square' is unknown; expected coulomb, load"):
        friction_law('square')
    law = LAWS['coulomb']
    with pytest.raises(FrictionLawError, match="no coefficient 'load'; expected viscous, coul"):
        JointFriction(law, {'load': np.array(1.0)})
    with pytest.raises(FrictionLawError, match=r'coulomb is .*-1.* finite and not negative'):
        JointFriction(law, {'coulomb': np.array([-1.0])})


@pytest.mark.parametrize('bad', [0.0, -1e-4, np.nan, np.inf])
@pytest.mark.parametrize('name', LAWS)
@pytest.mark.parametrize('place', [(), 0, 1])
def test_one_invalid_presliding_length_is_rejected(name, bad, place):
    presliding = np.full((2,) if place != () else (), PRESLIDING)
    presliding[place] = bad
    with pytest.raises(FrictionLawError, match=r'presliding is .*; it must be'):
        some_friction(name, presliding=presliding)


@pytest.mark.parametrize('bad', [0.0, -1e-4, np.nan])
@pytest.mark.parametrize('j', [0, 1])
def test_one_invalid_presliding_length_of_a_motion_is_rejected(j, bad):
    q = np.zeros((3, 2))
    presliding = np.where(np.arange(2) == j, bad, PRESLIDING)
    with pytest.raises(FrictionLawError, match=r'presliding is .*; it must be positive'):
        LAWS['load_memory'].sliding_direction(q, q, presliding)
    assert not LAWS['load'].sliding_direction(q, q, presliding).any()  # has none


@pytest.mark.parametrize('bad', [-1e-9, np.nan, np.inf])
@pytest.mark.parametrize('j', [0, 1])
@pytest.mark.parametrize('name', LAWS)
def test_one_invalid_coefficient_is_rejected(name, j, bad):
    law = LAWS[name]
    for term in law.terms:
        values = {term: np.ones(2) for term in law.terms}
        values[term][j] = bad
        with pytest.raises(FrictionLawError, match=f'{term} is .* finite and not negative'):
            JointFriction(law, values)


def test_tracked_friction_is_that_of_the_recorded_motion():
    t = np.linspace(0, 4, 801)
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    q[300:500] = q[300]  # at rest
    qd = np.gradient(q, t, axis=0)
    friction = some_friction('load_memory')
    along = tracked(friction)
    z = friction.law.sliding_direction(q, qd)
    for k in range(len(q)):
        along.move(q[k])
        assert along.torque(qd[k], TAU) == pytest.approx(friction.torque(qd[k], TAU, z[k]))
    # Other coefficients continue the motion.
    after = tracked(some_friction('load_memory', presliding=np.array(1e-3)), before=along)
    after.move(q[-1])
    assert after.torque(qd[-1], TAU) == pytest.approx(along.torque(qd[-1], TAU))


def test_friction_without_memory_needs_no_tracking():
    friction = some_friction('load')
    assert tracked(friction) is friction


@pytest.mark.parametrize('law', ['load', 'load_memory'])
@pytest.mark.parametrize('sign', [1, -1])
def test_an_offset_is_added_to_friction_that_depends_on_load_and_on_the_motion(law, sign):
    friction = JointFriction(LAWS[law], {'coulomb': np.array([0.4, 0.2]), 'load': np.array(0.1)})
    offset, tau = sign * np.array([0.7, -0.3]), sign * np.array([5.0, -8.0])
    alone, shifted = tracked(friction), FrictionWithOffset(tracked(friction), offset)
    assert shifted.uses_load
    for q in (np.zeros(2), sign * np.array([1.0, -1.0])):
        alone.move(q)
        shifted.move(q)
    qd = sign * np.array([-0.5, 0.5])  # it turns back: with memory the direction stays
    expected = alone.torque(qd, tau)
    for model in (alone, shifted):
        np.testing.assert_array_equal(model.torque(qd), model.torque(qd, 0.0))
    np.testing.assert_array_equal(shifted.torque(qd, tau), expected + offset)
    # c + k |tau|, in the direction of the motion that it knows
    direction = sign * np.array([1.0, -1.0]) * (1 if law == 'load_memory' else -1)
    np.testing.assert_allclose(expected, direction * [0.9, 1.0], rtol=1e-6)
