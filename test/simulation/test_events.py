# SPDX-License-Identifier: Apache-2.0
"""Steps in which a joint comes to rest, reverses or meets a stop: their order and their limits."""

from dataclasses import replace

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import INTEGRATORS, InelasticStop, JointModels, Simulator

STICKING = JointModels(friction='stick_slip')
ACCURATE = ['rk4', 'implicit_midpoint', 'discrete_gradient']


def end(arm, q, qd, tau, h, steps, integrator, joint_models):
    simulator = Simulator(
        arm, q=q, qd=qd, time_step=h / steps, integrator=integrator, joint_models=joint_models
    )
    for _ in range(steps):
        simulator.step(tau)
    return np.concatenate([simulator.q, simulator.qd])


def order(errors):
    """Return the order of errors at steps of which each is half the one before."""
    return np.log2(errors[0] / errors[-1]) / (len(errors) - 1)


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('integrator', ACCURATE)
@pytest.mark.parametrize('push', [(-40.0, -5.0), (40.0, -5.0), (-0.8, -0.1)])
def test_a_step_in_which_a_joint_reverses_or_stops_is_of_second_order(push, integrator, side):
    arm = Dynamics(planar_2r().with_actuation(coulomb=[1.0, 0.5], viscous=0.1))
    q, tau = side * np.array([0.3, -0.4]), side * np.array(push)
    tau += arm.gravity_torque(q)
    errors = []
    for h in (8e-3, 4e-3, 2e-3):
        # The first joint comes to rest after 0.4 h.
        slides = np.array([-np.sign(push[0]), -1.0]) * side
        force = tau - arm.model.coulomb * slides - 0.1 * side * np.array([0.0, -1.0])
        qd = side * np.array([0.0, -1.0])
        qd[0] = -0.4 * h * arm.forward_dynamics(q, qd, force)[0]
        best = end(arm, q, qd, tau, h, 64, 'rk4', STICKING)
        errors.append(np.abs(end(arm, q, qd, tau, h, 1, integrator, STICKING) - best).max())
    assert order(errors) > 1.6
    assert errors[-1] < 2e-5


@pytest.mark.slow
@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize(
    ('integrator', 'push', 'bound'),
    [
        ('rk4', 60.0, 1e-9),
        ('implicit_midpoint', 60.0, 2e-5),
        # It stays at the stop, whose force is held over the steps.
        ('rk4', -2.0, 2e-5),
        ('implicit_midpoint', -2.0, 4e-5),
    ],
)
def test_an_inelastic_impact_is_of_second_order(integrator, push, bound, side):
    lower, upper = np.array([-0.5, -10.0]), np.array([10.0, 10.0])
    model = planar_2r()
    limits = (lower, upper) if side > 0 else (-upper, -lower)
    # Gravity is mirrored, too.
    arm = Dynamics(replace(model, lower=limits[0], upper=limits[1]).with_gravity((0.0, 0.0, 0.0)))
    q, qd, tau = side * np.array([[-0.3, -0.4], [-5.0, 3.0], [push, 20.0]])
    stops = JointModels(stops=InelasticStop())
    best = end(arm, q, qd, tau, 0.2, 3200, 'rk4', stops)
    # It has left the stop, or rests there.
    assert side * best[0] > -0.5 if push > 0 else side * best[0] == -0.5
    errors = [
        np.abs(end(arm, q, qd, tau, 0.2, k, integrator, stops) - best).max()
        for k in (50, 100, 200)
    ]
    assert order(errors) > 1.8
    assert errors[-1] < bound


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_a_joint_pulled_at_less_than_its_friction_keeps_its_bits(integrator, side):
    arm = Dynamics(rd.load_urdf('panda'))
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5])
    tau = arm.gravity_torque(q) + side * 0.88 * arm.model.coulomb
    simulator = Simulator(arm, q=q, integrator=integrator, joint_models=STICKING)
    for _ in range(200 if integrator in ACCURATE[1:] else 1000):
        simulator.step(tau)
    assert np.array_equal(simulator.q, q)
    assert not simulator.qd.any()


def held_friction(motion, monkeypatch):
    """Return a list to which every step of the integrator appends its impulses and velocities."""
    steps, held = [], motion._held_step

    def record(y, yd, force, h, slowed):
        steps.append((slowed.p, slowed.v, h))
        return held(y, yd, force, h, slowed)

    monkeypatch.setattr(motion, '_held_step', record)
    return steps


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('friction', ['smooth', 'stick_slip'])
@pytest.mark.parametrize('integrator', INTEGRATORS)
def test_dry_friction_exceeds_its_level_in_no_step(integrator, friction, side, monkeypatch):
    arm = Dynamics(rd.load_urdf('panda'))
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5])
    simulator = Simulator(
        arm, q=q, integrator=integrator, joint_models=JointModels(friction=friction)
    )
    steps = held_friction(simulator._motion, monkeypatch)
    rng = np.random.default_rng(0)
    for _ in range(100):
        push = arm.model.coulomb * rng.choice([-4.0, -0.9, 0.0, 0.9, 4.0, 40.0], 7)
        simulator.step(arm.gravity_torque(simulator.q) + side * push)
    # Steps in which every joint slides need no solution.
    assert len(steps) > 10
    for p, v, h in steps:
        assert (np.abs(p) <= h * arm.model.coulomb * (1 + 1e-9)).all()
        if friction == 'smooth':
            assert (p * v >= 0).all()


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('h', [1e-3, 4e-3])
def test_a_mass_on_a_belt_sticks_and_slips_as_by_hand(h, side):
    """m v' = k (V t - x) - F sgn v: from slip to slip, with a spring that is held over a step."""
    # One joint of inertia 1 under a torque that ramps up: it breaks loose where the ramp passes F.
    model = planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)).with_gravity((0.0, 0.0, 0.0))
    arm = Dynamics(model.with_actuation(coulomb=2.0, rotor_inertia=1.0))
    simulator = Simulator(arm, time_step=h, joint_models=STICKING)
    x, v = 0.0, 0.0
    for k in range(round(4.0 / h)):
        tau = 3.0 * np.sin(2.0 * k * h)
        simulator.step([side * tau, 0.0])
        # Exactly, under constant torque: up to the instant of rest, and from there.
        left = h
        if v != 0.0:
            a = tau - 2.0 * np.sign(v)
            rest = -v / a if a * v < 0 else np.inf
            if rest <= left:
                x, v, left = x + v * rest / 2, 0.0, left - rest
            else:
                x, v, left = x + v * left + a * left**2 / 2, v + a * left, 0.0
        if left > 0.0:
            a = np.sign(tau) * max(abs(tau) - 2.0, 0.0)
            x, v = x + v * left + a * left**2 / 2, v + a * left
        assert simulator.qd[0] == pytest.approx(side * v, abs=1e-12)
        assert simulator.q[0] == pytest.approx(side * x, abs=1e-12)
    assert abs(x) > 0.05
