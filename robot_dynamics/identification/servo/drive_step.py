# SPDX-License-Identifier: Apache-2.0
"""Equation of motion of one servo joint, divided by kp, and its time step.

    (J + A) qdd + L = clip(kp (u - q) + kd ud + tau_ff, +-tmax) - D qd - (fc + fs s(qd)) sgn(qd)

J is the inertia of the arm about the joint, L all other torques of the arm, u the delayed command.
D outside the clip is viscous friction and back-EMF. Divided by kp, the motion depends on the
ratios D/kp, A/kp, fc/kp, tmax/kp, and on kp only by J/kp and L/kp.

A step is the trapezoidal rule in q, D and kp, and implicit in dry friction. Its velocity is a
Lipschitz function of the parameters, so differences between simulations are derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from robot_dynamics.codegen.calls import CompiledFunction, compile_program
from robot_dynamics.common.scalars import Scalar, is_zero, maximum, minimum
from robot_dynamics.core.friction.laws import level_factor

# Entries of the input of the program that a simulation keeps.
RATIOS = ('lag', 'armature', 'coulomb', 'stiffness', 'limit', 'stribeck')


def drive_step(
    state: Sequence[Scalar],
    drive: Scalar,
    inertia: Scalar,
    load: Scalar,
    ratios: Sequence[Scalar],
    h: Scalar,
) -> list[Scalar]:
    """Return position and velocity after a time step.

    Args:
        state: position and velocity, rad and rad/s, or m and m/s.
        drive: mean over the step of u + (kd ud + tau_ff) / kp, rad or m.
        inertia: J, kg m^2 or kg.
        load: L, N m or N.
        ratios: D/kp [s], A/kp [s^2], fc/kp [rad or m], kp [N m/rad or N/m], tmax/kp and fs/kp.
        h: the step, s.
    """
    q, v = state
    lag, armature, coulomb, kp, limit, stribeck = ratios
    I = inertia / kp + armature
    f = coulomb
    if not is_zero(stribeck):
        f = f + stribeck * level_factor('stribeck', v, 0.0)
    # I (v' - v) = h (drive - q - h (v + v') / 4) - h D (v + v') / 2 - h L - h f sgn v'
    kept = I * v - h * (0.5 * lag * v + load / kp)
    damped = I + 0.5 * h * lag
    linear = _slid(kept + h * (drive - q - 0.25 * h * v), damped + 0.25 * h * h, h * f)
    # v' grows with the torque of the drive: the torque min(max(x, -t), t) gives the velocity that
    # x gives, not below that of -t and not above that of t.
    least = _slid(kept - h * limit, damped, h * f)
    most = _slid(kept + h * limit, damped, h * f)
    after = minimum(maximum(linear, least), most)
    return [q + 0.5 * h * (v + after), after]


def _slid(momentum: Scalar, inertia: Scalar, impulse: Scalar) -> Scalar:
    """Return the velocity that momentum leaves after dry friction of at most this impulse."""
    return (momentum - minimum(maximum(momentum, -impulse), impulse)) / inertia


@functools.cache
def step_program(stribeck: bool) -> CompiledFunction:
    """Return the program of `drive_step`; without Stribeck friction it takes less time."""

    def step(
        state: Sequence[Scalar],
        drive: Sequence[Scalar],
        inertia: Sequence[Scalar],
        load: Sequence[Scalar],
        ratios: Sequence[Scalar],
        time_step: Sequence[Scalar],
    ) -> list[Scalar]:
        kept = [*ratios[:-1], ratios[-1] if stribeck else 0.0]
        return drive_step(state, drive[0], inertia[0], load[0], kept, time_step[0])

    sizes = {
        'state': 2,
        'drive': 1,
        'inertia': 1,
        'load': 1,
        'ratios': len(RATIOS),
        'time_step': 1,
    }
    return compile_program(step, sizes, name='drive_step', outputs=['state'])
