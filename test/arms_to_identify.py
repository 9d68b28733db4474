# SPDX-License-Identifier: Apache-2.0
"""Recordings of arms that differ from their description, for the tests of identification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from recorded_runs import lively

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.recordings import Recording


def wrong(model, seed=0, size=0.15, **drives):
    """Return a robot whose links differ from a description by up to +- size."""
    rng = np.random.default_rng(seed)
    factor = 1 + size * rng.uniform(-1, 1, model.nb)
    com = 1 + size * rng.uniform(-1, 1, (model.nb, 1))
    changed = replace(
        model,
        mass=factor * model.mass,
        com=com * model.com,
        inertia_com=factor[:, None, None] * model.inertia_com,
    )
    return changed.with_actuation(**drives) if drives else changed


def recorded(model, seed=1, *, duration=20.0, rate=500.0, noise=0.01, motion=None, friction=None):
    """Return a recording of a robot on a lively motion.

    Args:
        model: what moves.
        seed: of motion and noise.
        duration: s.
        rate: samples per second.
        noise: of velocities and efforts, relative to their standard deviation.
        motion: t, q, qd, qdd instead of the lively one.
        friction: a JointFriction instead of the model's.
    """
    t, q, qd, qdd = lively(model, duration, rate, seed) if motion is None else motion
    arm, rng = Dynamics(model), np.random.default_rng(1000 + seed)
    tau = arm.inverse_dynamics(q, qd, qdd)
    if friction is None:
        tau = tau + arm.friction_torque(qd)
    else:
        z = friction.law.sliding_direction(q, qd, friction.presliding)
        tau = tau + friction.torque(qd, tau, z)

    def noisy(x):
        return x + noise * x.std(axis=0) * rng.normal(size=x.shape)

    return Recording(model.joint_names, t, q, noisy(qd), noisy(tau))


def load_memory(viscous, coulomb, load, presliding=3e-4):
    """Return friction with load and memory."""
    values = {'viscous': viscous, 'coulomb': coulomb, 'load': load}
    coefficients = {term: np.array(value) for term, value in values.items()}
    return JointFriction(LAWS['load_memory'], coefficients, np.array(presliding))
