"""The first-order step with friction and stops at its end: balance, and its range."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robots import random_tree
from robot_dynamics.simulation import (
    JointModels,
    Simulator,
    SpringDamperStop,
)
from robot_dynamics.simulation.joint_models.smooth_friction import Friction
from robot_dynamics.simulation.steps import stiff_step
from robot_dynamics.simulation.steps.dry_contact import Contact

SPRINGS = SpringDamperStop(stiffness=1e4, damping=100.0)


class Joints:
    """A body of joints: the velocity of a step depends on their friction alone."""

    def __init__(self, friction):
        self.friction = friction


def random_balance(rng):
    """Return a balance of momentum without stops, its friction, a guess and a step."""
    n = int(rng.integers(1, 9))
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-2.0, 0.0, n)
    H, h = A @ A.T + 1e-6 * np.eye(n), 10 ** rng.uniform(-4.0, -1.0)
    friction = Friction(
        rng.choice([0.0, 0.1, 10.0]) * rng.random(n), 10 ** rng.uniform(-2.0, 1.5) * rng.random(n)
    )
    before = 10 ** rng.uniform(-3.0, 1.0) * rng.normal(size=n)
    b = H @ before + h * 10 ** rng.uniform(-1.0, 2.0) * rng.normal(size=n)
    unlimited = np.full(n, np.inf)
    return Contact(H, b, np.zeros(n), -unlimited, unlimited), friction, before, h


def velocity(contact, friction, guess, h):
    step = stiff_step.StiffStep.__new__(stiff_step.StiffStep)
    step._h, step._sticks = h, False
    return step._velocity(Joints(friction), contact, None, guess)


def residual(contact, friction, v, h):
    """Return the residual of  H v + h friction(v) = b, relative to b."""
    b = contact.b
    return np.abs(contact.H @ v + h * friction.torque(v) - b).max() / np.abs(b).max()


def test_friction_at_the_end_of_a_step_balances_for_any_inertia():
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(300):
        contact, friction, guess, h = random_balance(rng)
        errors.append(residual(contact, friction, velocity(contact, friction, guess, h), h))
    assert np.quantile(errors, 0.99) < 1e-8


def test_secant_iterations_find_the_same_velocity_where_newtons_method_fails(monkeypatch):
    rng = np.random.default_rng(2)
    cases = [random_balance(rng) for _ in range(50)]
    quick = [velocity(*case) for case in cases]
    monkeypatch.setattr(stiff_step, 'NEWTON', 0)
    monkeypatch.setattr(stiff_step, 'MAX_ITERATIONS', 100_000)
    for case, v in zip(cases, quick, strict=True):
        assert velocity(*case) == pytest.approx(v, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize('name', ['ur5', 'talos_left_arm'])
def test_spring_stops_with_friction_need_few_iterations_on_a_light_wrist(name, monkeypatch):
    # The number of contact problems that a step solves.
    calls, against = [0], stiff_step.against

    def counted(*args):
        calls[-1] += 1
        return against(*args)

    monkeypatch.setattr(stiff_step, 'against', counted)
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
    assert calls.max() <= stiff_step.NEWTON
    assert calls[calls > 0].mean() < 8


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
