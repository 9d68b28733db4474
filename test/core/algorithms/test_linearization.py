# SPDX-License-Identifier: Apache-2.0
"""Linear models: against forward dynamics, the step they are the derivative of, and theory."""

import numpy as np
import pytest
from scipy.linalg import expm

from robot_dynamics.core.algorithms.forward_dynamics_derivatives import (
    forward_dynamics_derivatives,
)
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.algorithms.linearization import linearization, step_linearization
from robot_dynamics.core.algorithms.simulation_step import simulation_step
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.robots import planar_2r, random_tree

H = 1e-3
FRICTION = {'none': (0.0, 0.0), 'viscous': (0.4, 0.0), 'dry': (0.4, 0.2)}


def friction_of(tree, choice):
    viscous, coulomb = FRICTION[choice]
    return Friction([viscous] * tree.n, [coulomb] * tree.n)


def differences(function, x, e=1e-4):
    """Return derivatives of a function by differences of the fourth order."""
    columns = [
        (8 * (function(x + e * u) - function(x - e * u))
         - (function(x + 2 * e * u) - function(x - 2 * e * u))) / (12 * e)
        for u in np.eye(len(x))
    ]  # fmt: skip
    return np.transpose(columns)


@pytest.mark.parametrize('friction', ['none', 'viscous'])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_step_is_the_complex_step_derivative(integrator, friction, make_random, relative):
    tree = canonical_tree(make_random(4, largest=6))
    lost, x = friction_of(tree, friction), np.random.default_rng(2).uniform(-1, 1, 3 * tree.n)
    ours = step_linearization(tree, lost, integrator, *np.split(x, 3), H)
    steps = [
        np.concatenate(
            simulation_step(tree, lost, integrator, *np.split(x + 1e-30j * e, 3), H)
        ).imag / 1e-30
        for e in np.eye(3 * tree.n)
    ]  # fmt: skip
    assert relative(np.hstack([*map(np.array, ours)]), np.transpose(steps)) < 1e-12


@pytest.mark.parametrize('mirror', [1.0, -1.0])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_step_with_dry_friction_is_its_derivative(integrator, mirror, relative):
    tree = canonical_tree(random_tree(4, np.random.default_rng(5)))
    lost = friction_of(tree, 'dry')
    x = mirror * np.random.default_rng(6).uniform(-1, 1, 12)
    # Two joints start near standstill, where dry friction varies most.
    x[4:6] *= 0.01

    def end(x):
        state = simulation_step(tree, lost, integrator, *np.split(x, 3), H)
        return np.concatenate(state).astype(float)

    ours = step_linearization(tree, lost, integrator, *np.split(x, 3), H)
    # The step solves for friction to 1e-10.
    theirs = differences(end, x, 1e-5)
    assert relative(np.hstack([*map(np.array, ours)]), theirs) < 1e-6


@pytest.mark.parametrize('friction', FRICTION)
def test_continuous_model_has_the_derivatives_of_forward_dynamics(friction):
    tree = canonical_tree(random_tree(3, np.random.default_rng(1)))
    lost, state = friction_of(tree, friction), np.random.default_rng(2).normal(size=(3, 3))
    A, B = map(np.array, linearization(tree, lost, *state))
    by_q, by_qd, M_inverse = map(np.array, forward_dynamics_derivatives(tree, lost, *state))
    zero = np.zeros((3, 3))
    np.testing.assert_array_equal(A, np.block([[zero, np.eye(3)], [by_q, by_qd]]))
    np.testing.assert_array_equal(B, np.vstack([zero, M_inverse]))


@pytest.mark.parametrize(('integrator', 'order'), [('semi_implicit_euler', 1), ('rk4', 4)])
def test_step_approaches_the_exponential_at_an_equilibrium(integrator, order):
    tree = canonical_tree(planar_2r())
    lost, hanging = friction_of(tree, 'viscous'), [[-np.pi / 2, 0.0], [0.0, 0.0], [0.0, 0.0]]
    A, _ = linearization(tree, lost, *hanging)
    errors = []
    for h in (0.02, 0.01):
        stepped, _ = step_linearization(tree, lost, integrator, *hanging, h)
        errors.append(np.abs(np.array(stepped, dtype=float) - expm(h * np.array(A))).max())
    # The error of one step is of order + 1.
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.2)
