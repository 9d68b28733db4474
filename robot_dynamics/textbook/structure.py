"""Which terms of a robot's equations are absent, whatever its posture and motion.

Kinematic design decides which joints couple: those on different branches never do, parallel and
crossing axes remove single terms, an axis along gravity needs no holding torque. Such zeros are
found here by looking at random states: an entry that vanishes in all of them is structural, since
the terms are analytic functions and vanish at random only if they vanish everywhere.

Source: 002, section 2, the list of reasons for zero coefficients D_ij, h_ikm and c_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.spatial import Array

STATES = 12
ROUNDING = 1e-12  # relative to the largest entry


class StructuralZeros(NamedTuple):
    """True where a term is absent."""

    M: Array  # (n, n) inertia of joint j felt at joint i
    C: Array  # (n, n) Coriolis matrix
    g: Array  # (n,) gravity torque


def structural_zeros(arm: Any, rng: np.random.Generator) -> StructuralZeros:
    """Return which entries of M, C and g are always zero.

    Args:
        arm: a Dynamics, or a formulation held by `identities.Bound`.
        rng: source of the states.
    """
    model = arm.model
    states = rng.uniform(-np.pi, np.pi, (STATES, 2, model.n))
    M = np.array([arm.mass_matrix(q) for q, _ in states])
    C = np.array([arm.coriolis_matrix(q, qd) for q, qd in states])
    g = np.array([arm.gravity_torque(q) for q, _ in states])
    # Rounding is that of the terms that cancel: inertias for M and C, weights for g.
    inertia = np.abs(M).max()
    weight = model.mass.sum() * np.linalg.norm(model.gravity)
    return StructuralZeros(_absent(M, inertia), _absent(C, inertia), _absent(g, weight))


def _absent(samples: Array, size: float) -> Array:
    return np.asarray(np.all(np.abs(samples) <= ROUNDING * size, axis=0))
