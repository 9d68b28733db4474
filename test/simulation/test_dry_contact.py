"""Velocities with sticking and stops: their optimality, for random matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize

from robot_dynamics.simulation.steps import dry_contact
from robot_dynamics.simulation.steps.dry_contact import Contact, end_velocity


def random_contact(rng, n, spread=1.0):
    A = rng.normal(size=(n, n)) * 10 ** rng.uniform(-spread, 0.0, n)
    lower = np.where(rng.random(n) < 0.3, -np.abs(rng.normal(size=n)) * rng.integers(2), -np.inf)
    upper = np.where(rng.random(n) < 0.3, np.abs(rng.normal(size=n)) * rng.integers(2), np.inf)
    dry = np.abs(rng.normal(size=n)) * rng.choice([0.0, 0.1, 1.0, 10.0])
    return Contact(A @ A.T + 1e-2 * np.eye(n), 3 * rng.normal(size=n), dry, lower, upper)


def mirrored(contact):
    """Return the contact of the opposite motion."""
    return Contact(contact.H, -contact.b, contact.dry, -contact.upper, -contact.lower)


def violation(contact, v):
    """Return the violation of the laws of each joint (n,), as an impulse."""
    H, b, dry, lower, upper = contact
    # The impulse of friction and stops: H v = b - taken
    taken = b - H @ v
    least = np.where(v > 0, dry, -dry)
    most = np.where(v < 0, -dry, dry)
    # Stops push away from themselves.
    least = np.where(v == lower, -np.inf, least)
    most = np.where(v == upper, np.inf, most)
    return np.maximum(np.maximum(least - taken, taken - most), 0.0)


@pytest.mark.parametrize('rounds', [0, dry_contact.ROUNDS])
def test_the_opposite_motion_has_opposite_velocities(monkeypatch, rounds):
    monkeypatch.setattr(dry_contact, 'ROUNDS', rounds)
    rng = np.random.default_rng(8)
    for _ in range(100):
        contact, guess = random_contact(rng, 5), rng.normal(size=5)
        v, opposite = end_velocity(contact, guess), end_velocity(mirrored(contact), -guess)
        assert opposite == pytest.approx(-v, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize('seed', range(20))
def test_friction_and_stops_satisfy_their_laws(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n = int(rng.integers(1, 9))
        contact = random_contact(rng, n)
        v = end_velocity(contact, rng.normal(size=n))
        assert ((contact.lower <= v) & (v <= contact.upper)).all()
        scale = np.abs(contact.b).max() + contact.dry.max()
        assert violation(contact, v).max() <= 1e-11 * scale


def test_the_velocities_minimize_the_function():
    rng = np.random.default_rng(5)
    for _ in range(10):
        contact = random_contact(rng, 3)
        H, b, dry, lower, upper = contact

        def cost(v, H=H, b=b, dry=dry):
            return 0.5 * v @ H @ v - b @ v + dry @ np.abs(v)

        v = end_velocity(contact, np.zeros(3))
        found = minimize(
            cost,
            np.clip(np.ones(3), lower, upper),
            method='Nelder-Mead',
            bounds=list(zip(lower, upper, strict=True)),
            options={'xatol': 1e-10, 'fatol': 1e-14, 'maxiter': 20_000, 'maxfev': 20_000},
        )
        assert cost(v) <= found.fun + 1e-12


def test_the_descent_finds_the_same_velocities(monkeypatch):
    rng = np.random.default_rng(6)
    cases = [(random_contact(rng, 5), rng.normal(size=5)) for _ in range(200)]
    cases += [(mirrored(contact), -guess) for contact, guess in cases]
    quick = [end_velocity(*case) for case in cases]
    monkeypatch.setattr(dry_contact, 'ROUNDS', 0)
    for (contact, guess), v in zip(cases, quick, strict=True):
        slow = end_velocity(contact, guess)
        assert violation(contact, slow).max() <= 1e-11 * (
            np.abs(contact.b).max() + contact.dry.max()
        )
        assert slow == pytest.approx(v, rel=1e-8, abs=1e-9)


def test_contact_only_dissipates():
    rng = np.random.default_rng(7)
    for _ in range(200):
        contact = random_contact(rng, 6)
        free = np.linalg.solve(contact.H, contact.b)
        v = end_velocity(contact, free)
        assert v @ contact.H @ v <= free @ contact.H @ free * (1 + 1e-12)
