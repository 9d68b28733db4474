# SPDX-License-Identifier: Apache-2.0
"""Velocities with friction and stops: their optimality, for random matrices."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.impulses import sticking, without_memory
from robot_dynamics.simulation import converged
from robot_dynamics.simulation.converged import inverse, solved_by_arrays
from robot_dynamics.simulation.joint_models.stops import Pads
from robot_dynamics.simulation.steps.contacts import responses


class Contact(NamedTuple):
    """Balance of momentum of n joints over a step, with friction and stops."""

    H: np.ndarray
    b: np.ndarray  # momentum without friction and stops
    dry: np.ndarray  # largest impulses of friction
    lower: np.ndarray  # least velocities
    upper: np.ndarray


def random_contact(rng, n, spread=1.0):
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-spread, 0.0, n)
    lower = np.where(rng.random(n) < 0.3, -np.abs(rng.normal(size=n)) * rng.integers(2), -np.inf)
    upper = np.where(rng.random(n) < 0.3, np.abs(rng.normal(size=n)) * rng.integers(2), np.inf)
    dry = np.abs(rng.normal(size=n)) * rng.choice([0.0, 0.1, 1.0, 10.0])
    return Contact(A @ A.T + 1e-2 * np.eye(n), 3 * rng.normal(size=n), dry, lower, upper)


def mirrored(contact):
    """Return the contact of the opposite motion."""
    return Contact(contact.H, -contact.b, contact.dry, -contact.upper, -contact.lower)


def stick_slip(d, yd):
    return lambda s, m: sticking(s, m, d, yd)


def smooth(d, yd):
    return lambda s, m: without_memory(s, m, d)


def solution(contact, friction=stick_slip, start=0.0, pads=None):
    """Return velocities and impulses at the end of a step from velocities `start`."""
    H, b, dry, lower, upper = contact
    W = inverse(H)
    law = responses(friction(dry, np.full(len(b), start)), (lower, upper), pads)
    return solved_by_arrays(W, W @ b, law)


def end_velocity(contact):
    return solution(contact).v


def violation(contact, v):
    """Return the violation of the laws of each joint (n,) that starts at rest, as an impulse."""
    H, b, dry, lower, upper = contact
    # The impulse of friction and stops: H v = b - taken
    taken = b - H @ v
    least = np.where(v > 0, dry, -dry)
    most = np.where(v < 0, -dry, dry)
    # Stops push away from themselves.
    least = np.where(v == lower, -np.inf, least)
    most = np.where(v == upper, np.inf, most)
    return np.maximum(np.maximum(least - taken, taken - most), 0.0)


def test_the_opposite_motion_has_opposite_velocities():
    rng = np.random.default_rng(8)
    for _ in range(100):
        contact = random_contact(rng, 5)
        assert end_velocity(mirrored(contact)) == pytest.approx(
            -end_velocity(contact), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize('seed', range(20))
def test_friction_and_stops_satisfy_their_laws(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n = int(rng.integers(1, 9))
        contact = random_contact(rng, n)
        v = end_velocity(contact)
        assert ((contact.lower <= v) & (v <= contact.upper)).all()
        scale = np.abs(contact.b).max() + contact.dry.max()
        assert violation(contact, v).max() <= 1e-9 * scale


def test_the_velocities_minimize_the_function():
    rng = np.random.default_rng(5)
    for _ in range(10):
        contact = random_contact(rng, 3)
        H, b, dry, lower, upper = contact

        def cost(v, H=H, b=b, dry=dry):
            return 0.5 * v @ H @ v - b @ v + dry @ np.abs(v)

        v = end_velocity(contact)
        found = minimize(
            cost,
            np.clip(np.ones(3), lower, upper),
            method='Nelder-Mead',
            bounds=list(zip(lower, upper, strict=True)),
            options={'xatol': 1e-10, 'fatol': 1e-14, 'maxiter': 20_000, 'maxfev': 20_000},
        )
        assert cost(v) <= found.fun + 1e-12


def test_sweeps_over_the_joints_find_the_same_velocities():
    rng = np.random.default_rng(6)
    for _ in range(20):
        contact = random_contact(rng, 4, spread=0.3)
        v, W = end_velocity(contact), inverse(contact.H)
        law = responses(stick_slip(contact.dry, 0 * v), (contact.lower, contact.upper))
        s = converged._swept(W, W @ contact.b, law, W @ contact.b, 500)
        assert law(s, 1 / W.diagonal()).v == pytest.approx(v, rel=1e-4, abs=1e-4)


def test_contact_only_dissipates():
    rng = np.random.default_rng(7)
    for _ in range(200):
        contact = random_contact(rng, 6)
        free = np.linalg.solve(contact.H, contact.b)
        v = end_velocity(contact)
        assert v @ contact.H @ v <= free @ contact.H @ free * (1 + 1e-12)


@pytest.mark.parametrize('mirror', [1.0, -1.0])
@pytest.mark.parametrize('friction', [stick_slip, smooth])
def test_impulses_balance_and_are_those_of_the_law_for_any_inertia(friction, mirror):
    """H v + p = b, with friction of at most its level, for a step of any size."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        n, h = int(rng.integers(1, 9)), 10 ** rng.uniform(-4.0, -1.0)
        A, scale = rng.normal(size=(n, n)), 10 ** rng.uniform(-2.5, 0.0, n)
        H = scale * (A @ A.T + 0.1 * np.eye(n)) * scale[:, None]
        start = 10 ** rng.uniform(-3.0, 1.0) * rng.normal()
        b = H @ np.full(n, start) + h * 10 ** rng.uniform(-1.0, 2.0) * rng.normal(size=n)
        dry = h * 10 ** rng.uniform(-2.0, 1.5) * rng.random(n)
        free = np.full(n, np.inf)
        v, p, _, _ = solution(
            Contact(H, mirror * b, dry, -free, free), friction, start=mirror * start
        )
        assert (np.abs(p) <= dry * (1 + 1e-9)).all()
        np.testing.assert_allclose(H @ v + p, mirror * b, rtol=0, atol=1e-8 * np.abs(b).max())
        if friction is smooth:
            np.testing.assert_allclose(p, dry * np.tanh(v / COULOMB_SPEED), atol=1e-4 * dry.max())


@pytest.mark.parametrize('friction', [stick_slip, smooth])
def test_spring_stops_add_their_force_beyond_their_edges(friction):
    rng, pressed = np.random.default_rng(3), 0
    for _ in range(200):
        contact = random_contact(rng, 5)
        free = np.full(5, np.inf)
        contact = contact._replace(lower=-free, upper=free)
        pads = Pads(10.0 ** rng.uniform(-2, 3, 5), -rng.random(5), rng.random(5))
        v, p, _, _ = solution(contact, friction, pads=pads)
        spring = pads.s * (np.minimum(v - pads.lower, 0.0) + np.maximum(v - pads.upper, 0.0))
        rounding = 1e-9 * np.abs(p).max()
        assert (np.abs(p - spring) <= contact.dry * (1 + 1e-9) + rounding).all()
        sliding = np.abs(v) > 20 * COULOMB_SPEED
        np.testing.assert_allclose(
            (p - spring)[sliding], (contact.dry * np.sign(v))[sliding], rtol=0, atol=rounding
        )
        pressed += int((spring != 0).sum())
    assert pressed > 200
