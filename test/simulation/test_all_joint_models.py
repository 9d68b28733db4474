# SPDX-License-Identifier: Apache-2.0
"""All joint models at once: every torque of the equation of motion is accounted for."""

from dataclasses import replace

import numpy as np
import pytest
import robots

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation import (
    INTEGRATORS,
    Actuators,
    Elasticity,
    InelasticStop,
    JointModels,
    Simulator,
    SpringDamperStop,
)

H = 1e-3


def arm_with_everything(elastic):
    model = robots.load('ur5')
    model = replace(
        model,
        lower=np.full(6, -1.2),
        upper=np.full(6, 1.2),
        effort_limit=np.array([100.0, 100.0, 60.0, 10.0, 10.0, 10.0]),
    )
    return Dynamics(
        model.with_actuation(
            rotor_inertia=1e-4 if not elastic else 1e-3,
            gear_ratio=50.0,
            viscous=0.3,
            coulomb=[4.0, 4.0, 3.0, 1.0, 1.0, 0.5],
        )
    )


def run(simulator, seconds, tool):
    """Yield (before, after, effort, J^T F) of every step of an arm in motion."""
    rng = np.random.default_rng(1)
    n = len(simulator.q)
    kinematics = simulator.arm
    for k in range(round(seconds / H)):
        if k == 150:
            simulator.attach(tool, 2.0, [0.0, 0.0, 0.1])
        if k == 350:
            simulator.drop(tool)
        wrench = np.array([0.3, -0.2, 0.1, 5.0, -3.0, 8.0]) * np.sin(0.02 * k)
        outside = 0.5 * rng.normal(size=n)
        pushed = outside + kinematics.wrench_torque(simulator.q, wrench, tool)
        before = simulator.body, simulator.snapshot()
        tau = 60.0 * np.sin(0.01 * k + np.arange(n))
        simulator.step(tau, external=outside, wrenches={tool: wrench})
        yield before, simulator.snapshot(), simulator.effort, pushed


@pytest.mark.parametrize('stops', [InelasticStop(), SpringDamperStop(3e4, 50.0)])
@pytest.mark.parametrize('elastic', [False, True])
def test_momentum_changes_by_the_torques_of_the_equation_of_motion(stops, elastic):
    arm = arm_with_everything(elastic)
    joint_models = JointModels(
        friction='stick_slip',
        actuators=Actuators(delay=2e-3, rate_limit=5e3, velocity_limit=2.0),
        stops=stops,
        elasticity=Elasticity(8e3, 5.0) if elastic else None,
    )
    simulator = Simulator(arm, q=np.full(6, 0.3), joint_models=joint_models)
    model = arm.model
    quiet = stuck = stopped = 0
    for (body, before), after, effort, pushed in run(simulator, 0.6, model.body_names[-1]):
        assert (np.abs(effort) <= model.effort_limit).all()
        middle, v = (before.y + after.y) / 2, (before.yd + after.yd) / 2
        M, C, g = body.terms(middle, v)
        driving = body.force(effort, pushed)
        # tau + J^T F - M qdd - C qd - g = torques of friction, dampers and stops
        taken = driving - M @ (after.yd - before.yd) / H - C @ v - g
        if body.springs is not None:
            taken = taken - body.springs.D @ v
        b, c = body.friction
        at_stop = np.minimum(after.y - body.lower, body.upper - after.y) < 1e-2
        slides = before.yd * after.yd > 0
        rests = (before.yd == 0) & (after.yd == 0)
        # A step in which nothing comes to rest, breaks loose or hits: the error of the integrator.
        if (slides | rests | (c == 0)).all() and not at_stop.any():
            quiet += 1
            slack = 2e-2 * np.abs(g).max() + 1e-2 * np.abs(driving).max()
        else:
            slack = 0.1 * np.abs(taken).max() + 1.0
            if elastic:
                # The change of the spring torques in half a step.
                slack += H / 2 * 8e3 * np.abs(v[:6] - v[6:]).max()
        free = slides & ~at_stop
        assert (np.abs(taken - b * v - c * np.sign(v)) <= slack)[free].all()
        assert (np.abs(taken) <= b * np.abs(v) + c + slack)[~at_stop].all()
        # Stops push inwards.
        assert (np.sign(middle) * taken >= -(c + b * np.abs(v)) - slack)[at_stop].all()
        assert np.array_equal(before.y[rests], after.y[rests])
        stuck += int((rests & ~at_stop).any())
        stopped += int(at_stop.any())
    assert quiet > 50
    assert stuck > 5
    assert stopped > 20


@pytest.mark.parametrize(
    ('name', 'elastic'),
    [
        *((name, False) for name in INTEGRATORS),
        # Explicit Euler adds energy to every spring.
        *((name, True) for name in INTEGRATORS if name != 'explicit_euler'),
    ],
)
def test_an_idle_arm_loses_energy_with_every_integrator(name, elastic):
    arm = arm_with_everything(elastic)
    joint_models = JointModels(
        friction='stick_slip',
        stops=SpringDamperStop(1e4, 20.0),
        elasticity=Elasticity(8e3, 5.0) if elastic else None,
    )
    simulator = Simulator(arm, q=np.full(6, 0.3), joint_models=joint_models, integrator=name)
    energies = [simulator.kinetic_energy() + simulator.potential_energy()]
    peak = 0.0
    for _ in range(500):
        simulator.step(np.zeros(6))
        energies.append(simulator.kinetic_energy() + simulator.potential_energy())
        peak = max(peak, simulator.kinetic_energy())
    # Integrators of order 1 have an error of h^2 per step.
    assert np.diff(energies).max() <= 1e-3 * peak
    assert energies[-1] < energies[0] - 0.5
