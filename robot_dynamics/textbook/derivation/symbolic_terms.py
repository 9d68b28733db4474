# SPDX-License-Identifier: Apache-2.0
"""M, Christoffel symbols and gravity torque of a robot, with letters for its parameters.

Euler and Lagrange's equations by Jacobians of the centres of mass, in polynomials of the cosines
and sines of the joint angles. Each number of the model that is not zero gets a letter, except the
directions of axes and frames.

Source: Spong, Hutchinson and Vidyasagar, section 6.3, (6.51)-(6.68).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.textbook.derivation.trigonometric_sums import (
    Angle,
    Number,
    TrigonometricSum,
    added,
    from_products,
    partial,
)

NEGLIGIBLE = 1e-12  # m, kg, kg m^2, and entries of rotations; smaller is zero
SIMPLE = 12  # largest denominator of numbers that are taken for exact


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model."""

    kind: str  # 'm' mass, 'l' length, 'c' centre of mass, 'I' inertia, 'B' rotor inertia,
    # 'g' gravity, 'd' position of a prismatic joint
    body: int  # counted from 1, 0 for gravity; of a rotor, the joint
    place: str  # entry of a vector or tensor: 'x', 'yz'; '' where one letter is enough
    value: float


class SymbolicTerms(NamedTuple):
    """The terms of the equation of motion as sums of cosines and sines."""

    parameters: tuple[Parameter, ...]  # of the exponents, in their order
    M: list[list[TrigonometricSum]]  # (n, n)
    Gamma: list[list[list[TrigonometricSum]]]  # (n, n, n), C_ij = sum_k Gamma_ijk qd_k
    g: list[TrigonometricSum]  # (n,)


# A number of the model, or the letter for it.
Slot = Parameter | Number


class Body(NamedTuple):
    """A body with letters."""

    mass: Slot
    com: list[Slot]  # (3,)
    inertia: list[list[Slot]]  # (3, 3), about the centre of mass
    origin: list[Slot]  # (3,) of its joint, in its parent


def symbolic_terms(
    model: RobotModel, *, numbers: bool, progress: Callable[[str], None]
) -> SymbolicTerms:
    """Return the terms of a robot.

    Args:
        model: the robot.
        numbers: whether parameters are numbers instead of letters.
        progress: receives the name of each step before it begins.
    """
    progress('kinetic and potential energy')
    bodies = [_body(model, i, numbers) for i in range(model.nb)]
    gravity = _letter('g', 0, '', float(np.linalg.norm(model.gravity)), numbers)
    rotors = [
        _letter('B', j + 1, '', float(x), numbers) for j, x in enumerate(model.reflected_inertia)
    ]
    positions = {
        i: Parameter('d', i + 1, '', 0.0) for i in range(model.nb) if not model.revolute[i]
    }
    slots = [slot for body in bodies for slot in _slots(body)] + [gravity, *rotors]
    letters = [s for s in slots if isinstance(s, Parameter)] + list(positions.values())
    parameters = tuple(dict.fromkeys(letters))
    ring = _Ring(model, parameters, _is_exact(model, slots))
    inertia, potential = _energies(model, bodies, gravity, positions, ring)
    progress('inertia matrix')
    M_body = [[ring.sum_of(entry) for entry in row] for row in inertia]
    S = [[exact(x) for x in row] for row in model.S.tolist()]
    M = _in_coordinates(M_body, S, model.n)
    for j, rotor in enumerate(rotors):
        M[j][j] = added((1, M[j][j]), (1, ring.sum_of(ring.element(rotor))))
    slides = [{parameters.index(d): S[i][j] for i, d in positions.items()} for j in range(model.n)]
    progress('gravity torque')
    P = ring.sum_of(potential)
    g = [partial(P, j, slides[j]) for j in range(model.n)]
    progress('Christoffel symbols')
    return SymbolicTerms(parameters, M, _christoffel(M, slides), g)


def exact(x: float) -> Number:
    """Return a fraction for a simple number, zero for a negligible one, others as they are."""
    if abs(x) < NEGLIGIBLE:
        return Fraction(0)
    simple = Fraction(x).limit_denominator(SIMPLE)
    return simple if abs(float(simple) - x) < NEGLIGIBLE else x


def number_expression(x: Number) -> Any:
    """Return a number as a SymPy expression."""
    import sympy

    if isinstance(x, Fraction):
        return sympy.Rational(x.numerator, x.denominator)
    return sympy.Float(x) if x != round(x) or abs(x) > 1e6 else sympy.Integer(round(x))


# -- letters ------------------------------------------------------------------------------------


def _letter(kind: str, body: int, place: str, value: float, numbers: bool) -> Slot:
    number = exact(value)
    return number if numbers or number == 0 else Parameter(kind, body, place, value)


def _vector(kind: str, body: int, value: Array, numbers: bool, name: str = '') -> list[Slot]:
    """Return letters for the entries of a vector, one without axis if one entry is not zero."""
    alone = np.count_nonzero(np.abs(value) > NEGLIGIBLE) == 1
    places = [name if alone else name + axis for axis in 'xyz']
    return [
        _letter(kind, body, place, float(x), numbers)
        for place, x in zip(places, value, strict=True)
    ]


def _body(model: RobotModel, i: int, numbers: bool) -> Body:
    end = _end(model, i)
    com = model.com[i]
    # A centre of mass at the end of a link has the letter of the link's length.
    at_end = end is not None and np.allclose(com, end, rtol=0, atol=NEGLIGIBLE)
    p = int(model.parent[i])
    siblings = [k for k in range(model.nb) if model.parent[k] == p]
    name = str(i + 1) if len(siblings) > 1 else ''
    # Where the first joint is mounted has no effect on the terms.
    at = np.zeros(3) if p < 0 else model.placement[i, :3, 3]
    tensor = model.inertia_com[i]
    return Body(
        _letter('m', i + 1, '', float(model.mass[i]), numbers),
        _vector('l' if at_end else 'c', i + 1, com, numbers),
        [
            [
                _letter('I', i + 1, ''.join(sorted(a + b)), float(tensor[j, k]), numbers)
                for k, b in enumerate('xyz')
            ]
            for j, a in enumerate('xyz')
        ],
        _vector('l', p + 1, at, numbers, name),
    )


def _end(model: RobotModel, i: int) -> Array | None:
    """Return where a link ends: at its only child, or at its farthest frame; else None."""
    children = [k for k in range(model.nb) if model.parent[k] == i]
    if len(children) == 1:
        return np.asarray(model.placement[children[0], :3, 3])
    frames = [
        np.asarray(place[:3, 3])
        for place, body in zip(model.frame_placement, model.frame_body, strict=True)
        if body == i and not children
    ]
    return max(frames, key=lambda p: float(np.linalg.norm(p)), default=None)


def _slots(body: Body) -> list[Slot]:
    return [body.mass, *body.origin, *body.com, *(slot for row in body.inertia for slot in row)]


def _is_exact(model: RobotModel, slots: list[Slot]) -> bool:
    """Return whether all numbers are fractions."""
    rotations = [*model.axis.ravel(), *model.placement[:, :3, :3].ravel(), *model.S.ravel()]
    numbers = [s for s in slots if not isinstance(s, Parameter)]
    return all(isinstance(x, Fraction) for x in [*map(exact, rotations), *numbers])


# -- polynomials --------------------------------------------------------------------------------


class _Ring:
    """Polynomials of cosines and sines of the revolute joints, and of the parameters."""

    def __init__(self, model: RobotModel, parameters: tuple[Parameter, ...], is_exact: bool):
        from sympy import QQ, RR
        from sympy.polys.rings import ring

        turning = [i for i in range(model.nb) if model.revolute[i]]
        names = [f'{f}{i}' for i in turning for f in ('c', 's')]
        names += [f'p{k}' for k in range(len(parameters))]
        self._domain = QQ if is_exact else RR
        self.ring, *generators = ring(names, self._domain)
        self._cosines = {i: generators[2 * k : 2 * k + 2] for k, i in enumerate(turning)}
        self._letters = dict(zip(parameters, generators[2 * len(turning) :], strict=True))
        self._n = model.n
        self._angles = [
            Angle(tuple(exact(x) for x in model.S[i].tolist()), float(model.s0[i]))
            for i in turning
        ]

    def element(self, slot: Slot) -> Any:
        """Return a number or a letter as a polynomial."""
        if isinstance(slot, Parameter):
            return self._letters[slot]
        if isinstance(slot, Fraction):
            return self.ring(self._domain(slot.numerator) / self._domain(slot.denominator))
        return self.ring(self._domain(slot))

    def array(self, slots: Any) -> Array:
        """Return an array of polynomials."""
        return np.asarray(np.vectorize(self.element, otypes=[object])(np.array(slots, object)))

    def constants(self, values: Array) -> Array:
        """Return numbers as an array of polynomials, simple ones exactly."""
        return self.array(np.vectorize(exact, otypes=[object])(values))

    def rotation(self, i: int, axis: Array) -> Array:
        """Return the rotation (3, 3) of a revolute joint: Rodrigues' formula."""
        c, s = self._cosines[i]
        a = self.constants(axis)
        cross = self.constants(
            np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        )
        one = self.constants(np.eye(3))
        return np.asarray(one * c + cross * s + np.outer(a, a) * (1 - c))

    def sum_of(self, polynomial: Any) -> TrigonometricSum:
        """Return a polynomial as a sum of cosines and sines of the coordinates."""
        terms = [(tuple(e), self._number(c)) for e, c in polynomial.terms()]
        return from_products(terms, self._angles, self._n)

    def _number(self, c: Any) -> Number:
        if hasattr(c, 'numerator') and not isinstance(c, float):
            return Fraction(int(c.numerator), int(c.denominator))
        return float(c)


# -- energies -----------------------------------------------------------------------------------


class _BodyMotion(NamedTuple):
    """Pose of a body in the base frame, and its Jacobians with respect to the bodies' joints."""

    R_w: Array  # (3, 3)
    p_w: Array  # (3,) of its origin
    Jw: Array  # (3, nb) in its axes
    Jv: Array  # (3, nb) of its origin, in its axes


def _energies(
    model: RobotModel,
    bodies: list[Body],
    gravity: Slot,
    positions: dict[int, Parameter],
    ring: _Ring,
) -> tuple[Array, Any]:
    """Return the inertia matrix of the bodies' joints (nb, nb), and the potential energy."""
    nb, zero = model.nb, ring.ring(0)
    M, P = np.full((nb, nb), zero, dtype=object), zero
    norm = float(np.linalg.norm(model.gravity))
    down = ring.constants(model.gravity / norm if norm else model.gravity)
    motions: list[_BodyMotion] = []
    for i, body in enumerate(bodies):
        p = int(model.parent[i])
        position = None if model.revolute[i] else ring.element(positions[i])
        at = _body_motion(model, i, body, position, motions[p] if p >= 0 else None, ring)
        motions.append(at)
        com, m = ring.array(body.com), ring.element(body.mass)
        Jc = at.Jv + _crossed(at.Jw, com)
        M = M + (Jc.T @ Jc) * m + at.Jw.T @ ring.array(body.inertia) @ at.Jw
        # P = -m g^T p
        P = P - m * ring.element(gravity) * (down @ (at.p_w + at.R_w @ com))
    return M, P


def _body_motion(
    model: RobotModel, i: int, body: Body, position: Any, parent: _BodyMotion | None, ring: _Ring
) -> _BodyMotion:
    """Return the motion of body i.

    Args:
        model: the robot.
        i: index of the body.
        body: with letters.
        position: of its joint, if that is prismatic.
        parent: motion of its parent; None: it moves on the base.
        ring: of the polynomials.
    """
    R_pi = ring.constants(model.placement[i, :3, :3])
    axis = ring.constants(model.axis[i])
    arm = ring.array(body.origin)
    if model.revolute[i]:
        R_pi = R_pi @ ring.rotation(i, model.axis[i])
    else:
        arm = arm + R_pi @ axis * position
    if parent is None:
        w = v = np.full((3, model.nb), ring.ring(0), dtype=object)
        R_w, p_w = R_pi, arm
    else:
        w, v = R_pi.T @ parent.Jw, R_pi.T @ (parent.Jv + _crossed(parent.Jw, arm))
        R_w, p_w = parent.R_w @ R_pi, parent.p_w + parent.R_w @ arm
    w, v = w.copy(), v.copy()
    moved = w if model.revolute[i] else v
    moved[:, i] = moved[:, i] + axis
    return _BodyMotion(R_w, p_w, w, v)


def _crossed(w: Array, r: Array) -> Array:
    """Return the columns of w (3, n) times r: w x r."""
    return np.asarray(np.cross(w, r[:, None], axis=0))


def _in_coordinates(
    M: list[list[TrigonometricSum]], S: list[list[Number]], n: int
) -> list[list[TrigonometricSum]]:
    """Return S^T M S."""
    bodies = range(len(M))
    return [
        [added(*((S[a][i] * S[b][j], M[a][b]) for a in bodies for b in bodies)) for j in range(n)]
        for i in range(n)
    ]


def _christoffel(
    M: list[list[TrigonometricSum]], slides: list[dict[int, Number]]
) -> list[list[list[TrigonometricSum]]]:
    """Return Gamma_ijk = 1/2 (dm_ij/dq_k + dm_ik/dq_j - dm_jk/dq_i). (6.63)."""
    n, half = range(len(M)), Fraction(1, 2)
    D = [[[partial(M[i][j], k, slides[k]) for k in n] for j in n] for i in n]
    return [
        [
            [added((half, D[i][j][k]), (half, D[i][k][j]), (-half, D[j][k][i])) for k in n]
            for j in n
        ]
        for i in n
    ]
