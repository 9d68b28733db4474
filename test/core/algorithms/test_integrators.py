# SPDX-License-Identifier: Apache-2.0
"""The order of each integrator by slope, and its behaviour on an oscillator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics.core.algorithms.integrators import (
    INTEGRATORS,
    explicit_euler,
    rk4,
    semi_implicit_euler,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree

ORDER = {'explicit_euler': 1, 'semi_implicit_euler': 1, 'rk4': 4}
STEPS = {1: (2000, 4000, 8000), 4: (40, 80, 160)}  # in half a second


def test_every_integrator_has_an_order():
    assert ORDER.keys() == INTEGRATORS.keys()


@pytest.fixture(scope='module')
def falling():
    """Return dynamics, start and end of half a second of free motion of an arm with friction."""
    rng = np.random.default_rng(5)
    model = random_tree(4, rng).with_actuation(viscous=0.3)
    arm = Dynamics(model)
    q, qd = rng.uniform(-1.0, 1.0, (2, 4))

    def a(q, qd):
        return arm.forward_dynamics(q, qd, -arm.friction_torque(qd))

    def rate(_, y):
        return np.concatenate([y[4:], a(y[:4], y[4:])])

    end = solve_ivp(rate, (0, 0.5), np.concatenate([q, qd]), 'DOP853', rtol=1e-13, atol=1e-13)
    return a, q, qd, end.y[:, -1]


@pytest.mark.parametrize('name', INTEGRATORS)
def test_the_error_falls_with_the_order(falling, name):
    a, q0, qd0, exact = falling
    errors = []
    for steps in STEPS[ORDER[name]]:
        q, qd = q0, qd0
        for _ in range(steps):
            q, qd = INTEGRATORS[name].step(a, q, qd, 0.5 / steps)
        errors.append(np.abs(np.concatenate([q, qd]) - exact).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert slopes == pytest.approx(ORDER[name], abs=0.1)
    if ORDER[name] >= 4:
        # Fine steps reach the reference itself.
        q, qd = q0, qd0
        for _ in range(2000):
            q, qd = INTEGRATORS[name].step(a, q, qd, 0.5 / 2000)
        assert np.abs(np.concatenate([q, qd]) - exact).max() < 1e-9


def oscillator_energy(integrator, h, steps):
    q, qd = np.ones(1), np.zeros(1)
    energies = []
    for _ in range(steps):
        q, qd = integrator(lambda q, qd: -q, q, qd, h)
        energies.append(float(q @ q + qd @ qd))
    return np.array(energies)


def test_energy_of_an_oscillator_behaves_as_tabulated():
    # explicit Euler: (1 + h^2) per step, exactly
    grown = oscillator_energy(explicit_euler, 0.01, 1000)
    assert grown[-1] == pytest.approx((1 + 1e-4) ** 1000, rel=1e-12)
    # semi-implicit Euler: q^2 + v^2 - h q v is conserved, so the energy stays within h
    bounded = oscillator_energy(semi_implicit_euler, 0.01, 100_000)
    assert np.abs(bounded - 1).max() < 0.0101
    # rk4: |amplification|^2 = 1 - h^6/72 + h^8/576, exactly
    h = 0.1
    damped = oscillator_energy(rk4, h, 1000)
    assert damped[-1] == pytest.approx((1 - h**6 / 72 + h**8 / 576) ** 1000, rel=1e-12)
