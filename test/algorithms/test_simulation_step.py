"""Simulation step over scalars: integrators, and friction that only dissipates."""

import numpy as np
import pytest

from robot_dynamics.algorithms import crba, forward_dynamics, friction_torque, rnea
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.simulation_step import (
    Friction,
    braked_acceleration,
    friction_slope,
    simulation_step,
)
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.robots import planar_2r, random_tree

H = 1e-3


@pytest.fixture(scope='module')
def tree():
    return canonical_tree(random_tree(4, np.random.default_rng(2)))


@pytest.fixture(scope='module')
def state():
    return np.random.default_rng(3).normal(size=(3, 4)).tolist()


ROUGH = Friction([0.3, 0.0, 1.0, 0.2], [0.0, 0.5, 2.0, 0.1])
SMOOTH = Friction([0.0] * 4, [0.0] * 4)


# Semi-implicit Euler takes friction at the end of the step: tested below.
@pytest.mark.parametrize(
    ('name', 'friction'),
    [(name, SMOOTH) for name in INTEGRATORS] + [('explicit_euler', ROUGH), ('rk4', ROUGH)],
)
def test_a_step_is_the_integrator_applied_to_forward_dynamics(tree, state, name, friction):
    def a(q, qd):
        driving = np.array(state[2]) - friction_torque(*friction, qd)
        return np.array(forward_dynamics(tree, q.tolist(), qd.tolist(), driving.tolist()))

    expected = INTEGRATORS[name](a, np.array(state[0]), np.array(state[1]), H)
    step = simulation_step(tree, friction, name, *state, H)
    for ours, theirs in zip(step, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


def test_viscous_friction_is_that_of_the_velocity_after_the_step(tree, state):
    q, qd, tau = state
    friction = Friction([0.3, 2.0, 1.0, 50.0], [0.0] * 4)
    qdd = np.array(braked_acceleration(tree, friction, q, qd, tau, H))
    after = np.array(qd) + H * qdd
    # M qdd + C qd + g + friction(qd + h qdd) = tau
    needed = rnea(tree, q, qd, qdd.tolist()) + np.array(friction_torque(*friction, after))
    np.testing.assert_allclose(needed, tau, atol=1e-12 * np.abs(needed).max() + 1e-12)


@pytest.mark.parametrize('speed', [0.0, 1e-200, 1e-12, 1e-7, 1e-3, 0.01, 1.0, 40.0])
def test_slope_times_velocity_is_the_friction(speed):
    for qd in ([speed] * 4, [-speed] * 4):
        slope = np.array(friction_slope(ROUGH, qd))
        np.testing.assert_allclose(slope * qd, friction_torque(*ROUGH, qd), rtol=1e-14)
        # F_v + F_s / v_0 at standstill, less at any speed.
        most = np.array(ROUGH.viscous) + np.array(ROUGH.coulomb) / 1e-2
        assert (slope <= most * (1 + 1e-15)).all()
        if speed < 1e-9:
            np.testing.assert_allclose(slope, most, rtol=1e-14)


def test_friction_of_any_stiffness_takes_energy_and_reverses_nothing():
    tree = canonical_tree(planar_2r().with_gravity([0.0, 0.0, 0.0]))
    for c in (1.0, 1e3, 1e6):
        q, qd = [0.3, 0.5], [2.0, -1.0]
        energies = []
        for _ in range(50):
            M = np.array(crba(tree, q))
            energies.append(0.5 * np.array(qd) @ M @ np.array(qd))
            friction = Friction([0.0] * 2, [c] * 2)
            q, qd = simulation_step(tree, friction, 'semi_implicit_euler', q, qd, [0.0] * 2, H)
        # Moving by h qd changes M a little: what is left of the integrator's own error.
        assert np.diff(energies).max() < 1e-6 * energies[0]
        # The power lost is c |qd| per joint: 3 W at the start for c = 1.
        assert energies[-1] < energies[0] - 0.8 * 3.0 * 49 * H
        if c > 1.0:
            assert energies[-1] < 1e-6
