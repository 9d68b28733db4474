"""Velocities after a step with implicit friction: momentum balance and convergence."""

import numpy as np
import pytest

from robot_dynamics.algorithms import crba, friction_torque, rnea
from robot_dynamics.algorithms.implicit_friction import braked_velocity
from robot_dynamics.algorithms.simulation_step import Friction, friction_slope
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.robots import random_tree

H = 1e-3


@pytest.mark.parametrize('coulomb', [0.0, 0.5, 50.0, 5000.0])
@pytest.mark.parametrize('speed', [1e-6, 1e-2, 1.0])
def test_momentum_is_lost_by_the_friction_of_the_velocities_at_the_end(coulomb, speed):
    tree = canonical_tree(random_tree(4, np.random.default_rng(2)))
    friction = Friction([0.3, 0.0, 1.0, 200.0], [coulomb, 0.0, coulomb, coulomb])
    q, qd, tau = np.random.default_rng(3).normal(size=(3, 4))
    qd = speed * qd
    v = qd.tolist()
    for _ in range(100):
        v, before, lost = braked_velocity(
            tree,
            lambda v: friction_slope(friction, v),
            q.tolist(),
            qd.tolist(),
            tau.tolist(),
            v,
            H,
        )
    assert v == pytest.approx(before, rel=1e-9, abs=1e-15)
    assert lost == pytest.approx(friction_torque(*friction, v), rel=1e-9, abs=1e-12)
    # M (v' - v) / h + C v + g + friction(v') = tau
    M = np.array(crba(tree, q.tolist()))
    bias = np.array(rnea(tree, q.tolist(), qd.tolist(), [0.0] * 4))
    balance = M @ (np.array(v) - qd) / H + bias + np.array(lost)
    assert balance == pytest.approx(tau, rel=1e-8, abs=1e-9)
