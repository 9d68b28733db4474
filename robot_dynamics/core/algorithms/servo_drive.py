# SPDX-License-Identifier: Apache-2.0
"""Rotors and position servos that are inputs of a compiled step.

A servo whose position is that of the middle of a step of semi-implicit Euler, q + h/4 (v' - v), is
a torque of the start and h^2/4 kp of rotor inertia; beyond its limit it is the limit alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from robot_dynamics.common.scalars import Scalar, maximum, minimum
from robot_dynamics.core.algorithms.vectors import Vector
from robot_dynamics.core.model.canonical import CanonicalTree

SERVO_INPUTS = ('kp', 'torque_limit')  # of a compiled step
EDGE = 1e9  # per N m or N: within 1e-9 below its limit a torque passes from free to limited


def with_drives(
    tree: CanonicalTree, q: Vector, tau: Vector, given: Mapping[str, Sequence[Scalar]], h: Scalar
) -> tuple[CanonicalTree, Vector]:
    """Return tree and torques of a step of h [s], with rotors and servos that are given.

    Args:
        tree: the robot.
        q: (n) positions.
        tau: (n) torques; with servos kp u + kd w + t.
        given: (n) `rotor_inertia`, and both of `SERVO_INPUTS`, or not.
        h: the step, s.
    """
    if 'rotor_inertia' in given:
        tree = replace(tree, reflected_inertia=tuple(given['rotor_inertia']))
    if 'kp' not in given:
        return tree, tau
    return servo_drive(tree, q, tau, given['kp'], given['torque_limit'], h)


def servo_drive(
    tree: CanonicalTree,
    q: Vector,
    target: Vector,
    kp: Sequence[Scalar],
    limit: Sequence[Scalar],
    h: Scalar,
) -> tuple[CanonicalTree, list[Scalar]]:
    """Return tree and torques (n) with which a step of semi-implicit Euler has servos.

    Args:
        tree: the robot.
        q: (n) positions.
        target: (n) kp u + kd w + t.
        kp: (n) stiffness.
        limit: (n) of the torques, N m or N.
        h: the step, s.
    """
    # tau = clip(T - k q, tau_max),   B' = B + h^2/4 k where it is not clipped
    tau, rotors = [], []
    for T, x, k, most, B in zip(target, q, kp, limit, tree.reflected_inertia, strict=True):
        raw = T - k * x
        tau.append(minimum(maximum(raw, -most), most))
        free = minimum(maximum((most - maximum(raw, -raw)) * EDGE, 0.0), 1.0)
        rotors.append(B + free * (h * h * k / 4))
    return replace(tree, reflected_inertia=tuple(rotors)), tau
