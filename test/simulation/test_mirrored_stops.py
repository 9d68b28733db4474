# SPDX-License-Identifier: Apache-2.0
"""Stops on both sides: robots whose joints turn the other way move the same, joint by joint."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.simulation import InelasticStop, JointModels, Simulator, SpringDamperStop
from robot_dynamics.simulation.steps.contacts import Contacts

STEP, COUNT = 1e-3, 150
STOPS = {'inelastic': InelasticStop(), 'spring-damper': SpringDamperStop(2e4, 30.0)}
LOWER, UPPER = np.array([-0.5, -0.3, -0.4]), np.array([0.6, 0.25, 0.35])
# The first joint is beyond its lower stop, and pressed outward; the others meet theirs.
START, SPEED = np.array([-0.7, 0.1, 0.0]), np.array([0.0, 2.0, -3.0])
PRESS = np.array([-40.0, 0.0, 0.0])
# Which joints turn the other way.
REVERSED = ([-1, 1, 1], [1, -1, 1], [-1, -1, -1])
MODEL = random_tree(3, np.random.default_rng(4), branching=0.0)
CASES = [
    ('inelastic', 'semi_implicit_euler', {'friction': 'smooth'}),
    ('inelastic', 'rk4', {'friction': 'smooth'}),
    ('inelastic', 'rk4', {'friction': 'stick_slip'}),
    ('spring-damper', 'rk4', {'friction': 'stick_slip'}),
]


def named(case):
    return ' '.join([*case[:2], *case[2].values()])


def reversed_limits(signs, lower=LOWER, upper=UPPER):
    """Return the limits of coordinates of which some have the other sign."""
    ends = np.sort(signs * np.array([lower, upper]), axis=0)
    return {'lower': ends[0], 'upper': ends[1]}


def moved(stop, integrator, options, signs=(1, 1, 1), press=PRESS):
    """Return positions and velocities (k, n) of the robot, by the signs of the first one."""
    signs = np.array(signs)
    model = replace(MODEL, axis=signs[:, None] * MODEL.axis, **reversed_limits(signs))
    arm = Dynamics(model.with_actuation(coulomb=0.3), backend='python')
    simulator = Simulator(
        arm,
        q=signs * START,
        qd=signs * SPEED,
        time_step=STEP,
        joint_models=JointModels(stops=STOPS[stop], **options),
        integrator=integrator,
    )
    rows = [(simulator.q, simulator.qd)]
    for _ in range(COUNT):
        simulator.step(signs * press)
        rows.append((simulator.q, simulator.qd))
    q, qd = np.array(rows).swapaxes(0, 1) * signs
    return q, qd


@pytest.mark.parametrize('case', CASES, ids=named)
def test_joints_that_turn_the_other_way_move_the_same(case):
    q, qd = moved(*case)
    assert (np.abs(q[:, 1:] - np.clip(q, LOWER, UPPER)[:, 1:]).max() == 0) == (
        case[0] == 'inelastic'
    )
    for joint in (1, 2):  # they meet their stops
        assert ((q[:, joint] <= LOWER[joint]) | (q[:, joint] >= UPPER[joint])).any()
    for signs in REVERSED:
        other, speed = moved(*case, signs)
        np.testing.assert_allclose(other, q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(speed, qd, rtol=0, atol=1e-6 * np.abs(qd).max())


@pytest.mark.parametrize('press', [PRESS, 0.0 * PRESS, -PRESS], ids=['out', '', 'in'])
@pytest.mark.parametrize('signs', [[1, 1, 1], [-1, 1, 1], [1, -1, -1]], ids=str)
def test_a_joint_beyond_its_stop_returns_by_steps_of_its_velocity(signs, press):
    """It goes no farther, and does not jump while other joints meet their stops."""
    for stop, integrator, options in CASES[:3]:
        q, qd = moved(stop, integrator, options, signs, press)
        steps = np.diff(q[:, 0])
        assert steps.min() >= 0
        speed = np.maximum(np.abs(qd[1:, 0]), np.abs(qd[:-1, 0]))
        # An impact within the step changes the velocity.
        fastest = np.maximum(speed, np.abs(np.diff(qd[:, 0])))
        assert (steps <= 1.01 * STEP * fastest + 1e-15).all()
        if (press == PRESS).all():
            assert (q[:, 0] < LOWER[0]).all()
        if (press == -PRESS).all():
            assert q[-1, 0] > LOWER[0]


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('case', CASES[:3], ids=named)
def test_a_joint_meets_its_stop_alike_while_another_one_is_beyond(case, side):
    """Of an arm whose joints are decoupled, each moves as if it were alone."""
    stop, integrator, options = case
    model = planar_2r(masses=(0.0, 0.0), inertias=(0.0, 0.0)).with_gravity((0.0, 0.0, 0.0))
    model = replace(model, lower=np.full(2, -0.2), upper=np.full(2, 0.2))
    arm = Dynamics(model.with_actuation(rotor_inertia=1.0, coulomb=0.5), backend='python')
    ends = []
    for first in (0.0, 0.3, -0.3):
        simulator = Simulator(
            arm,
            q=[first, 0.19 * side],
            qd=[0.0, 1.0 * side],
            joint_models=JointModels(stops=STOPS[stop], **options),
            integrator=integrator,
        )
        rows = []
        for k in range(60):
            simulator.step([0.0, side * (5.0 if k < 30 else -5.0)])
            rows.append([simulator.q[1], simulator.qd[1]])
        ends.append(rows)
    np.testing.assert_allclose(ends[1:], np.array(ends[:1]).repeat(2, axis=0), rtol=0, atol=1e-12)
    assert max(side * q for q, _ in ends[0]) >= 0.2


def contacts(limits, coulomb):
    body = SimpleNamespace(friction=SimpleNamespace(coulomb=coulomb), **limits)
    return Contacts(body, JointModels(stops=InelasticStop(), friction='stick_slip'))


def test_answers_for_opposite_positions_are_opposite():
    """For joints before, at and beyond either stop, each joint on its own side."""
    rng, counted = np.random.default_rng(0), 0
    for _ in range(300):
        signs = rng.choice([-1.0, 1.0], 3)
        lower = rng.uniform(-1.0, 0.5, 3)  # ranges with or without zero
        upper = lower + rng.uniform(0.1, 1.0, 3)
        share = rng.choice([0.5, 0.9, 1.0, 1.0 + 1e-9, 1.4], 3)  # of the range
        y = np.where(rng.random(3) < 0.5, upper, lower)
        y = np.where(share == 1.0, y, lower + upper - y + share * (2 * y - lower - upper))
        v = rng.choice([0.0, 1.0, -1.0, 40.0, -300.0], 3) * rng.uniform(0.5, 1.0, 3)
        one = contacts({'lower': lower, 'upper': upper}, np.ones(3))
        other = contacts(reversed_limits(signs, lower, upper), np.ones(3))
        after = y + STEP * v
        assert other.at_stop(signs * y) == one.at_stop(y)
        past = one.past(y, after)
        np.testing.assert_array_equal(other.past(signs * y, signs * after), past)
        np.testing.assert_array_equal(other.overshoot(signs * y), one.overshoot(y))
        for low, high, found in (
            (*one.held_velocities(y), other.held_velocities(signs * y)),
            (*one.velocities(y, STEP), other.velocities(signs * y, STEP)),
        ):
            ends = np.where(signs > 0, (low, high), (-high, -low))
            np.testing.assert_array_equal(found, ends)
        v = np.clip(v, low, high)  # those at stops end there
        np.testing.assert_array_equal(
            other.reached(signs * y, signs * v, signs * (y + STEP * v), STEP),
            signs * one.reached(y, v, y + STEP * v, STEP),
        )
        if past.any():
            counted += 1
            met = one.met(after, past)
            np.testing.assert_array_equal(other.met(signs * after, past), signs * met)
            # The farthest of those that have passed is at its stop.
            j = int(np.argmax(np.where(past, one.overshoot(after), -1.0)))
            assert met[j] == np.clip(after[j], lower[j], upper[j])
            assert (np.delete(met, j) == np.delete(after, j)).all()
    assert counted > 50
