"""Velocities after a step with sticking, slipping and stops.

Dry friction takes any value up to F_s that keeps a joint at rest; an inelastic stop any value that
halts it. Neither is a function of the state, so no integrator can evaluate it. The velocities v at
the end of the step are nevertheless unique: they minimize

    1/2 v^T H v - b^T v + sum_j d_j |v_j|,    lower <= v <= upper,

whose optimality conditions are the balance of momentum, Coulomb's law and the law of the stop,

    H v = b - p - r,    p_j = d_j sgn(v_j), or |p_j| <= d_j at v_j = 0,    r_j v_j >= 0 at a bound.

H is the mass matrix (with stiff terms taken at the end of the step), b the momentum of the joints
without dry friction and stops, d_j = h F_s the largest impulse of friction in a step.
p . v >= 0 and r . v >= 0: both dissipate energy, for any motion of the other joints.

Each joint is on one of four pieces: moving up, moving down, stuck at 0, or held at a bound. On
given pieces v solves linear equations, and v in turn determines the pieces; two or three rounds
converge. If the rounds cycle, a descent follows that reduces the function with every move and
therefore never returns to the same pieces.

Sources: Moreau, "Unilateral contact and dry friction in finite freedom dynamics" (1988);
Hintermueller, Ito and Kunisch, "The primal-dual active set strategy as a semismooth Newton
method", SIAM J. Optim. 13 (2003).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from robot_dynamics.spatial import Array

ROUNDS = 8
DESCENTS = 500


class Contact(NamedTuple):
    """Balance of momentum over a step, with dry friction and stops."""

    H: Array  # (n, n) symmetric and positive definite
    b: Array  # (n,) momentum without dry friction and stops
    dry: Array  # (n,) largest impulses of dry friction
    lower: Array  # (n,) least velocities
    upper: Array  # (n,) largest velocities


class Pieces(NamedTuple):
    """Piece of each joint on its friction law and between its stops."""

    pinned: list[bool]  # stuck, or held at a bound
    value: list[float]  # the velocity there; 0 where it is free
    sign: list[float]  # of a free joint's motion, 0 where it is pinned


def end_velocity(contact: Contact, v: Array) -> Array:
    """Return the velocities (n,) at the end of the step, from a guess."""
    return settled(contact, v)[0]


def settled(contact: Contact, v: Array) -> tuple[Array, Pieces]:
    """Return the velocities (n,) at the end of the step, from a guess, and their pieces."""
    pieces = pieces_at(contact, v)
    for _ in range(ROUNDS):
        v = velocity_on(pieces, contact)
        before, pieces = pieces, wanted_pieces(contact, v)
        if pieces == before:
            return v, pieces
    v = descended(contact, np.clip(v, contact.lower, contact.upper))
    return v, pieces_at(contact, v)


def wanted_pieces(contact: Contact, v: Array) -> Pieces:
    """Return the piece of each joint for given velocities v of the others."""
    H, b, dry, lower, upper = contact
    m = H.diagonal()
    # The velocity that balances the joint alone, without dry friction and stops.
    alone = v + (b - H @ v) / m
    pieces = Pieces([], [], [])
    for z, d, low, high in zip(*(x.tolist() for x in (alone, dry / m, lower, upper)), strict=True):
        wanted = z - d if z > d else z + d if z < -d else 0.0
        held = min(max(wanted, low), high)
        pinned = held != wanted or (held == 0.0 and d > 0.0)
        pieces.pinned.append(pinned)
        pieces.value.append(held if pinned else 0.0)
        pieces.sign.append(0.0 if pinned else float(wanted > 0) - float(wanted < 0))
    return pieces


def pieces_at(contact: Contact, v: Array) -> Pieces:
    """Return the piece of each joint at velocities v."""
    pinned = (v == contact.lower) | (v == contact.upper) | ((v == 0.0) & (contact.dry > 0.0))
    sign = np.where(pinned, 0.0, np.sign(v))
    return Pieces(pinned.tolist(), np.where(pinned, v, 0.0).tolist(), sign.tolist())


def velocity_on(pieces: Pieces, contact: Contact) -> Array:
    """Return the velocities (n,) if each joint stays on its piece."""
    H, b = contact.H, contact.b - contact.dry * pieces.sign
    if any(pieces.pinned):
        # H_ff v_f = b_f - d_f sgn(v_f) - H_fp v_p,    v_p as given
        value, free = np.array(pieces.value), 1.0 - np.array(pieces.pinned)
        b = free * (b - H @ value) + value
        H = H * free * free[:, None]
        H.reshape(-1)[:: len(b) + 1] += 1.0 - free
    return np.asarray(dposv(H, b)[1])


def descended(contact: Contact, v: Array) -> Array:
    """Return the velocities (n,) by descent from a feasible guess."""
    _, _, dry, lower, upper = contact
    for _ in range(DESCENTS):
        v = _each_alone(contact, v)
        pieces = pieces_at(contact, v)
        pinned, sign = np.array(pieces.pinned), np.array(pieces.sign)
        # To the minimum on these pieces, but not beyond the end of any.
        move = velocity_on(pieces, contact) - v
        bottom = np.where((sign > 0) & (dry > 0), 0.0, lower)
        top = np.where((sign < 0) & (dry > 0), 0.0, upper)
        moving = ~pinned & (move != 0.0)
        end = np.where(move > 0, top, bottom)
        share = np.divide(end - v, move, out=np.full(len(v), np.inf), where=moving)
        j = int(np.argmin(share))
        v = v + min(float(share[j]), 1.0) * move
        if share[j] < 1.0:
            v[j] = end[j]
        elif wanted_pieces(contact, v) == pieces:
            break
    return v


def _each_alone(contact: Contact, v: Array) -> Array:
    """Return v after minimizing over each joint in turn."""
    H, b, dry, lower, upper = contact
    v = v.copy()
    for j, m in enumerate(H.diagonal()):
        z = v[j] + (b[j] - H[j] @ v) / m
        slowed = np.sign(z) * max(abs(z) - dry[j] / m, 0.0)
        v[j] = min(max(slowed, lower[j]), upper[j])
    return v
