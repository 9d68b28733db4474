# SPDX-License-Identifier: Apache-2.0
"""Simulation step over scalars: integrators, and friction that only dissipates."""

import numpy as np
import pytest

from robot_dynamics.core.algorithms import crba, forward_dynamics, rnea
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.algorithms.simulation_step import held_friction, simulation_step
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED, Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.robots import planar_2r, random_tree

H = 1e-3


@pytest.fixture(scope='module')
def tree():
    return canonical_tree(random_tree(4, np.random.default_rng(2)))


@pytest.fixture(scope='module')
def state():
    return np.random.default_rng(3).normal(size=(3, 4)).tolist()


ROUGH = Friction([0.3, 0.0, 1.0, 0.2], [0.0, 0.5, 2.0, 0.1])
SMOOTH = Friction([0.0] * 4, [0.0] * 4)


@pytest.mark.parametrize('name', INTEGRATORS)
@pytest.mark.parametrize('friction', [SMOOTH, ROUGH])
def test_a_step_is_the_integrator_with_dry_friction_held(tree, state, name, friction):
    held = np.zeros(4)
    if friction is ROUGH:
        slowed = held_friction(tree, friction.viscous, DryFriction(friction.coulomb), *state, H)
        held = np.array(slowed.p) / H
        if name == 'semi_implicit_euler':  # takes viscous friction at the end, too
            held += np.array(friction.viscous) * slowed.v

    def a(q, qd):
        lost = Friction(friction.viscous, [0.0] * 4).torque(qd)
        if name == 'semi_implicit_euler':
            lost = [0.0] * 4
        driving = np.array(state[2]) - held - lost
        return np.array(forward_dynamics(tree, q.tolist(), qd.tolist(), driving.tolist()))

    expected = INTEGRATORS[name].step(a, np.array(state[0]), np.array(state[1]), H)
    step = simulation_step(tree, friction, name, *state, H)
    for ours, theirs in zip(step, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize('mirror', [1.0, -1.0])
@pytest.mark.parametrize('scale', [0.0, 1e-3, 1.0])
def test_friction_is_that_of_the_velocity_after_the_step(tree, state, scale, mirror):
    q, qd, tau = np.array(state) * mirror
    qd = scale * qd
    friction = Friction([0.3, 2.0, 1.0, 50.0], [0.1, 0.0, 5.0, 0.7])
    after = np.array(
        simulation_step(tree, friction, 'semi_implicit_euler', *map(list, (q, qd, tau)), H).qd
    )
    qdd = (after - qd) / H
    # M qdd + C qd + g + F_v v' + F_s tanh(v' / v_0) = tau
    lost = friction.viscous * after + friction.coulomb * np.tanh(after / COULOMB_SPEED)
    needed = rnea(tree, q.tolist(), qd.tolist(), qdd.tolist()) + lost
    np.testing.assert_allclose(needed, tau, atol=1e-6 * max(friction.coulomb))


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
