# SPDX-License-Identifier: Apache-2.0
"""Step of a servo joint: against an adaptive solver, its limits, and laws of dry friction."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.identification.servo import drive_step as module
from robot_dynamics.identification.servo import trajectories as lanes
from robot_dynamics.identification.servo.drive_step import drive_step
from robot_dynamics.identification.servo.trajectories import Trajectories, each, shared

LAG, ARMATURE, COULOMB, KP, LIMIT = 0.07, 0.003, 0.012, 9.0, 0.2
J = 0.02
RATIOS = np.array([LAG, ARMATURE, COULOMB, KP, LIMIT, 0.0])


def motions(ratios, drive, load, h=1e-3, start=(0.0, 0.0)):
    """Return positions and velocities (m, steps + 1)."""
    many = Trajectories(
        np.array(start), each(drive), shared(np.full(drive.shape[1], J)), each(load), ratios, h
    )
    return many.q(), many.qd()


@pytest.mark.parametrize('limit', [0.05, 1e6])
def test_motion_without_dry_friction_is_that_of_an_adaptive_solver(limit):
    def u(t):
        return 0.3 * np.sin(9 * t)

    def rate(t, x):
        torque = np.clip(KP * (u(t) - x[0]), -KP * limit, KP * limit)
        return [x[1], (torque - KP * LAG * x[1] - 0.4) / (J + KP * ARMATURE)]

    exact = solve_ivp(rate, (0, 2), [0.1, 0], max_step=1e-3, rtol=1e-10, atol=1e-12)
    ratios = np.array([[LAG, ARMATURE, 0.0, KP, limit, 0.0]])
    errors = []
    for h in (2e-3, 1e-3):
        k = round(2 / h)
        drive = u((np.arange(k) + 0.5) * h)[None]
        q, _ = motions(ratios, drive, np.full((1, k), 0.4), h, (0.1, 0.0))
        errors.append(abs(q[0, -1] - exact.y[0, -1]))
    # Second order where nothing saturates; at least first where the limit begins and ends.
    assert errors[0] < 2e-4
    assert errors[1] < errors[0] / (3 if limit > 1 else 1.5) + 1e-7


@pytest.mark.parametrize('sign', [1, -1])
def test_joint_rests_until_the_drive_exceeds_dry_friction(sign):
    k = 1500
    drive = sign * np.stack([np.full(k, 0.99 * COULOMB), np.full(k, 1.5 * COULOMB)])
    q, qd = motions(np.stack([RATIOS, RATIOS]), drive, np.zeros((2, k)))
    assert not q[0].any()
    # It stops within the friction of its command, and rests.
    assert sign * q[1, -1] > 0.5 * COULOMB * (1 - 1e-9)
    assert abs(drive[1, -1] - q[1, -1]) < COULOMB
    assert qd[1, -1] == 0.0


def test_saturated_joint_has_the_speed_of_its_limit():
    # D qd = tmax - fc, as damping is outside of the limit
    q, qd = motions(RATIOS[None], np.full((1, 3000), 100.0), np.zeros((1, 3000)))
    assert qd[0, -1] == pytest.approx((LIMIT - COULOMB) / LAG, rel=1e-9)
    assert q[0, -1] < 100


def test_velocity_is_a_continuous_function_of_the_parameters():
    state, h = [0.1, 0.3], 2e-3
    limits = np.linspace(0.0, 0.4, 2001)
    after = drive_step(state, 0.35, J, 0.1, [LAG, ARMATURE, COULOMB, KP, limits, 0.0], h)[1]
    # h kp / (J + A) bounds the slope by the limit
    assert np.abs(np.diff(after)).max() < 1.01 * h / (J / KP + ARMATURE) * np.diff(limits)[0]


def test_stribeck_friction_vanishes_with_speed():
    k = 2000
    more = np.array([[LAG, ARMATURE, COULOMB, KP, 1e6, COULOMB]])
    drive = np.full((1, k), 1.9 * COULOMB)
    q, _ = motions(more, drive, np.zeros((1, k)))
    assert not q.any()  # fc + fs holds it
    _, fast = motions(more, np.full((1, k), 1e3), np.zeros((1, k)))
    _, plain = motions(more * [1, 1, 1, 1, 1, 0], np.full((1, k), 1e3), np.zeros((1, k)))
    assert fast[0, -1] == pytest.approx(plain[0, -1], rel=1e-9)


def test_lanes_are_the_same_with_and_without_machine_code(monkeypatch):
    rng = np.random.default_rng(1)
    m, k = 11, 60
    ratios = RATIOS * rng.uniform(0.5, 2.0, (m, 6))
    drive, load = rng.normal(size=(2, m, k)) * 0.3
    fast = motions(ratios, drive, load)
    program = module.step_program.__wrapped__
    with monkeypatch.context() as patch:
        patch.setattr(
            module, 'compile_program', lambda *a, **k: compile_program(*a, **k, backend='python')
        )
        slow_programs = {flag: program(flag) for flag in (False, True)}
        patch.setattr(lanes, 'step_program', slow_programs.__getitem__)
        slow = motions(ratios, drive, load)
    for a, b in zip(fast, slow, strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-12)
