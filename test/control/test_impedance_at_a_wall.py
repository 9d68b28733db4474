# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance of a realistic arm that meets a stiff wall: where it settles, and where not.

Latency, velocity filter and drive lag are those of the hardware profile; the delay of the drives
is added to them.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import tiers

import robot_dynamics as rd
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.impedance import CartesianImpedance, Impedance, PoseReference
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation import (
    Environment,
    JointModels,
    Material,
    Plane,
    Simulator,
    TouchPoint,
    load_profile,
)
from robot_dynamics.simulation.sensors import Sensing

pytestmark = pytest.mark.slow

PROFILE = replace(
    load_profile(share_file('config/realistic_panda.yaml')), model_error=(0.005, 0.01)
)
TOOL = 'panda_link8'
POSTURE = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785])
STEP, SPEED, FREE, FORCE = 1e-3, 0.1, 0.02, 20.0  # s, m/s, m before the wall, N at the end
DOWN, AHEAD = (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)


@pytest.fixture(scope='module')
def arms():
    """Return the model of the controller, and the arm, whose links and friction are off it."""
    model = rd.Dynamics(rd.load_urdf('panda'))
    return model, rd.Dynamics(PROFILE.actual(model.model, 0))


class Pressed(NamedTuple):
    """The last 0.3 s at the wall, N."""

    force: float  # mean
    spring: float  # mean of K (x_d - x) along the wall's normal
    ripple: float  # half the difference of largest and smallest force


def pressed(arms, stiffness, damping_ratio, delay, direction):
    """Return what remains after two seconds of a target that goes to FORCE / K behind the wall."""
    model, true = arms
    law, direction = CartesianImpedance(model, TOOL), np.array(direction)
    start = model.forward_kinematics(POSTURE, TOOL)
    wall = Plane(start[:3, 3] + FREE * direction, -direction, Material(stiffness=1e5))
    drives = replace(PROFILE.drives, delay=delay)
    simulator = Simulator(
        true,
        q=POSTURE,
        time_step=STEP,
        joint_models=JointModels(PROFILE.friction, drives),
        environment=Environment({'wall': wall}, {'tool': TouchPoint(TOOL)}),
    )
    sensing = Sensing(model.model, PROFILE.sensors, STEP, (0,))
    springs = Impedance(stiffness, stiffness / 20, damping_ratio)
    # Without memory: at rest on the wall, the friction of the way there would press as well.
    friction = FrictionSettings().of(model.model)
    forces, stretches = [], []
    for k in range(2000):
        way = min(SPEED * k * STEP, FREE + FORCE / stiffness)
        moving = SPEED * (way == SPEED * k * STEP)
        T, V = start.copy(), np.append(np.zeros(3), moving * direction)
        T[:3, 3] += way * direction
        true_state = (x[None] for x in (simulator.q, simulator.qd, simulator.effort))
        q, qd, _ = (x[0] for x in sensing.read(*true_state))
        target = PoseReference(T, V)
        tau = law.torque(q, qd, target, springs, friction=friction).tau
        simulator.step(tau / np.asarray(drives.gain))
        x = model.forward_kinematics(simulator.q, TOOL)[:3, 3]
        forces.append(-simulator.contact_forces[0] @ direction)
        stretches.append((T[:3, 3] - x) @ direction)
    last = np.array(forces[-300:])
    return Pressed(last.mean(), stiffness * np.mean(stretches[-300:]), np.ptp(last) / 2)


@pytest.mark.parametrize('direction', [DOWN, AHEAD], ids=['down', 'ahead'])
@pytest.mark.parametrize(
    ('delay', 'stiffness', 'damping_ratio'),
    [
        (0.0, 2500, 0.7),
        (2e-3, 1200, 0.4),
        *tiers.soak_rows([(0.0, 600, 0.7), (0.0, 2500, 1.0), (2e-3, 600, 1.0)]),
    ],
)
def test_the_arm_settles_at_the_force_of_its_spring(
    arms, delay, stiffness, damping_ratio, direction
):
    found = pressed(arms, stiffness, damping_ratio, delay, direction)
    allowed = 0.05 * found.spring + 1.0
    assert found.force == pytest.approx(found.spring, abs=allowed)
    assert found.ripple < allowed


def test_more_stiffness_under_delay_bounces(arms):
    assert pressed(arms, 2500, 1.0, 2e-3, DOWN).ripple > 10
