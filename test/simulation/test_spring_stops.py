# SPDX-License-Identifier: Apache-2.0
"""The step of order 1 with friction and spring stops at its end: rounds, and balance."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.simulation import (
    JointModels,
    Simulator,
    SpringDamperStop,
    converged,
)

SPRINGS = SpringDamperStop(stiffness=1e4, damping=100.0)


@pytest.mark.parametrize('name', ['ur5', 'talos_left_arm'])
def test_spring_stops_with_friction_need_few_rounds_on_a_light_wrist(name, monkeypatch):
    calls, solve = [0], converged.dgesv

    def counted(*args):
        calls[-1] += 1
        return solve(*args)

    monkeypatch.setattr(converged, 'dgesv', counted)
    model = robots.load(name).with_actuation(viscous=0.5, coulomb=1.0)
    n = model.n
    model = replace(model, lower=np.full(n, -0.3), upper=np.full(n, 0.3))
    arm = Dynamics(model)
    lightest = arm.mass_matrix(np.zeros(n)).diagonal().min()
    # Friction is stiff for the lightest joint.
    assert 5 * lightest < 1e-3 * 1.0 / 0.01
    rng = np.random.default_rng(4)
    joint_models = JointModels(stops=SPRINGS)
    simulator = Simulator(arm, qd=2 * rng.normal(size=n), joint_models=joint_models)
    for _ in range(600):
        calls.append(0)
        simulator.step(4 * rng.normal(size=n))
    calls = np.array(calls[1:])
    assert (calls > 0).sum() > 50
    assert calls.max() <= 12
    assert calls[calls > 0].mean() < 6


def test_friction_at_a_spring_stop_is_that_of_the_end_of_the_step():
    rng = np.random.default_rng(6)
    n, h = 4, 1e-3
    model = random_tree(n, rng).with_actuation(viscous=0.3, coulomb=[5.0, 1.0, 3.0, 2.0])
    model = replace(model, lower=np.full(n, -np.inf), upper=[0.05, np.inf, np.inf, np.inf])
    arm = Dynamics(model)
    simulator = Simulator(
        arm,
        qd=[2.0, -1.0, 0.1, 0.02],
        joint_models=JointModels(stops=SPRINGS),
        integrator='semi_implicit_euler',
        time_step=h,
    )
    pressed = 0
    for _ in range(300):
        q, qd = simulator.q, simulator.qd
        tau = 5 * rng.normal(size=n)
        simulator.step(tau)
        if q[0] <= 0.05:
            continue
        pressed += 1
        # M (v' - v) = h (tau - C v - g - friction(v')) away from the stop
        v = simulator.qd
        momentum = arm.mass_matrix(q) @ (v - qd)
        impulse = h * (tau - arm.bias_torque(q, qd) - arm.friction_torque(v))
        left = impulse - momentum
        assert np.abs(left[1:]).max() < 1e-9
        depth = simulator.q[0] - 0.05
        assert -left[0] == pytest.approx(0.0, abs=1e-9) or left[0] == pytest.approx(
            h * max(0.0, 1e4 * depth + 100.0 * v[0]), abs=1e-9
        )
    assert pressed > 30
