"""Friction laws of joints, linear in coefficients that are not negative.

    friction = b v  +  (c + k |tau| + s exp(-(v / v_s)^2)) z
               viscous  coulomb load  stribeck

    z = tanh(v / v_0)                                              without memory
    z_k = s_k + (z_{k-1} - s_k) exp(-|dq_k| / delta), s_k = sgn dq_k   with memory

tau is the torque of the rigid-body model that the drive transmits: M qdd + C qd + g, rotors
included. The direction z of sliding lies within [-1, 1]. With memory it keeps its last value at
standstill and reverses over the pre-sliding length delta of travel.

Friction v >= 0 without memory, for every state: it dissipates. With memory it dissipates in every
closed path of a joint under constant load; a change of the load while z is kept may exchange the
energy of the deflection, at most (c + k |tau| + s) delta / 2.

Sources: Dahl, "A solid friction model", Aerospace Corporation TOR-0158 (1968), here with exponent
1, integrated exactly over a step in which the joint does not reverse; Stribeck's curve in the form
of Armstrong-Hélouvry, Dupont and Canudas de Wit, "A survey of models, analysis tools and
compensation methods for the control of machines with friction", Automatica 30(7), 1994;
load-dependent Coulomb friction: Hamon, Gautier and Garrec, "Dynamic identification of robots with
a dry friction model depending on load and velocity", IROS 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.friction.coefficients import FrictionModel, coefficients
from robot_dynamics.friction.coulomb import COULOMB_SPEED
from robot_dynamics.spatial import Array

STRIBECK_SPEED = 0.1  # v_s, rad/s or m/s
PRESLIDING = 5e-4  # delta, rad or m

# Terms of the laws: the part of the formula, and the unit of the coefficient of an angle.
TERMS = {
    'viscous': ('viscous v', 'N m s/rad'),
    'coulomb': ('coulomb z', 'N m'),
    'load': ('load |tau| z', '1'),
    'stribeck': (f'stribeck exp(-(v/{STRIBECK_SPEED:g})^2) z', 'N m'),
}


class FrictionLawError(RobotDynamicsError, ValueError):
    """A friction law is unknown, or its coefficients are not valid."""


@dataclass(frozen=True)
class FrictionLaw:
    """A friction law without its coefficients.

    Attributes:
        name: a key of LAWS.
        terms: keys of TERMS, in the order of the features.
        memory: whether z keeps its value at standstill.
    """

    name: str
    terms: tuple[str, ...]
    memory: bool

    @property
    def formula(self) -> str:
        """The law in one line, with its smoothing."""
        z = (
            'z_k = s + (z_(k-1) - s) exp(-|dq|/presliding), s = sign(dq)'
            if self.memory
            else f'z = tanh(v/{COULOMB_SPEED:g})'
        )
        return f'{" + ".join(TERMS[term][0] for term in self.terms)}; {z}'

    def sliding_direction(
        self, q: ArrayLike, qd: ArrayLike, presliding: ArrayLike = PRESLIDING
    ) -> Array:
        """Return z (k, n) along a motion without gaps.

        Args:
            q: (k, n) positions in the order of time, rad or m; noise longer than the pre-sliding
                length erases the memory.
            qd: (k, n) velocities.
            presliding: delta, one number or (n,), rad or m.

        Returns:
            z, within [-1, 1]; with memory it starts at 0.

        Raises:
            FrictionLawError: a pre-sliding length is not positive.
        """
        if not self.memory:
            return sliding_direction(qd)
        delta = np.asarray(presliding)
        if not (delta > 0).all():
            raise FrictionLawError(f'presliding is {delta}; it must be positive')
        dq = np.diff(np.asarray(q, dtype=float), axis=0, prepend=np.asarray(q)[:1])
        z = np.zeros_like(dq)
        keep, turn = _transition(dq, delta)
        for k in range(1, len(z)):
            z[k] = keep[k] * z[k - 1] + turn[k]
        return z

    def features(self, qd: ArrayLike, tau: ArrayLike, z: ArrayLike) -> Array:
        """Return the factor (..., n, terms) of each coefficient.

        Args:
            qd: (..., n) velocities, rad/s or m/s.
            tau: (..., n) torque of the rigid-body model, N m or N.
            z: (..., n) direction of sliding.
        """
        qd, tau, z = np.broadcast_arrays(
            *(np.asarray(value, dtype=float) for value in (qd, tau, z))
        )
        columns = {
            'viscous': qd,
            'coulomb': z,
            'load': np.abs(tau) * z,
            'stribeck': np.exp(-((qd / STRIBECK_SPEED) ** 2)) * z,
        }
        return np.stack([columns[term] for term in self.terms], axis=-1)


LAWS = {
    law.name: law
    for law in (
        FrictionLaw('coulomb', ('viscous', 'coulomb'), memory=False),
        FrictionLaw('load', ('viscous', 'coulomb', 'load'), memory=False),
        FrictionLaw('stribeck', ('viscous', 'coulomb', 'stribeck'), memory=False),
        FrictionLaw('coulomb_memory', ('viscous', 'coulomb'), memory=True),
        FrictionLaw('load_memory', ('viscous', 'coulomb', 'load'), memory=True),
    )
}


def friction_law(name: str) -> FrictionLaw:
    """Return a law by its name. Raises FrictionLawError if there is none of this name."""
    if name not in LAWS:
        raise FrictionLawError(f'friction law {name!r} is unknown; expected {", ".join(LAWS)}')
    return LAWS[name]


def sliding_direction(qd: ArrayLike) -> Array:
    """Return z = tanh(v / v_0) (..., n), the direction of sliding without memory."""
    return np.asarray(np.tanh(np.asarray(qd, dtype=float) * (1 / COULOMB_SPEED)))


def moved_direction(z: ArrayLike, dq: ArrayLike, presliding: ArrayLike = PRESLIDING) -> Array:
    """Return the direction of sliding (..., n) with memory, after a displacement.

    Args:
        z: (..., n) before it.
        dq: (..., n) displacement, rad or m; exact if the joint does not reverse within it.
        presliding: delta, one number or (n,), rad or m.
    """
    keep, turn = _transition(np.asarray(dq, dtype=float), presliding)
    return np.asarray(keep * z + turn)


def _transition(dq: Array, presliding: ArrayLike) -> tuple[Array, Array]:
    # z_k = z_{k-1} e + s (1 - e),  e = exp(-|dq| / delta)
    keep = np.exp(-np.abs(dq) / presliding)
    return keep, np.sign(dq) * (1 - keep)


@dataclass(frozen=True, eq=False)
class JointFriction:
    """A friction law with the coefficients of n joints.

    Attributes:
        law: the law.
        coefficients: by term, (n,) or one number each; a term without one is zero.
        presliding: delta of the laws with memory, (n,) or one number, rad or m.

    Raises:
        FrictionLawError: a coefficient that the law does not have, negative or not finite; a
            pre-sliding length that is not positive.
    """

    law: FrictionLaw
    coefficients: Mapping[str, Array]
    presliding: Array = field(default_factory=lambda: np.array(PRESLIDING))

    def __post_init__(self) -> None:
        if unknown := [term for term in self.coefficients if term not in self.law.terms]:
            raise FrictionLawError(
                f'friction law {self.law.name!r} has no coefficient {unknown[0]!r}; expected '
                f'{", ".join(self.law.terms)}'
            )
        try:
            values = {
                term: coefficients(term, self.coefficients.get(term, np.zeros(())))
                for term in self.law.terms
            }
            presliding = coefficients('presliding', self.presliding)
        except ValueError as error:
            raise FrictionLawError(str(error)) from error
        if not presliding.all():
            raise FrictionLawError(f'presliding is {presliding}; it must be positive')
        object.__setattr__(self, 'coefficients', values)
        object.__setattr__(self, 'presliding', presliding)

    @property
    def uses_load(self) -> bool:
        """Whether friction depends on the torque that the drives transmit."""
        return 'load' in self.law.terms

    def move(self, q: Array) -> None:
        """Without memory nothing changes; `tracked` has it."""

    def torque(self, qd: ArrayLike, tau: ArrayLike = 0.0, z: ArrayLike | None = None) -> Array:
        """Return the torque (..., n) that overcomes friction [N m or N].

        Args:
            qd: (..., n) velocities, rad/s or m/s.
            tau: (..., n) torque of the rigid-body model.
            z: (..., n) direction of sliding, of `moved_direction`; that without memory if omitted.
        """
        if z is None:
            z = sliding_direction(qd)
        # b v + (c + k |tau| + s exp(-(v / v_s)^2)) z
        return np.asarray(
            self.coefficients['viscous'] * np.asarray(qd) + self.sliding_level(qd, tau) * z
        )

    def sliding_level(self, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Return c + k |tau| + s exp(-(v / v_s)^2) (..., n), the factor of z [N m or N]."""
        qd, tau = np.broadcast_arrays(np.asarray(qd, dtype=float), np.asarray(tau, dtype=float))
        features = self.law.features(qd, tau, np.ones_like(qd))
        level = np.zeros_like(qd)
        for i, term in enumerate(self.law.terms):
            if term != 'viscous':
                level = level + self.coefficients[term] * features[..., i]
        return level

    def moved_direction(self, z: ArrayLike, dq: ArrayLike) -> Array:
        """Return z (..., n) with memory after a displacement dq (..., n): see the function."""
        return moved_direction(z, dq, self.presliding)


def tracked(friction: FrictionModel, before: FrictionModel | None = None) -> FrictionModel:
    """Return friction that follows a motion, if it has memory.

    Args:
        friction: of the joints.
        before: the result for other coefficients, whose motion goes on.
    """
    if isinstance(friction, JointFriction) and friction.law.memory:
        return TrackedFriction(friction, before)
    return friction


class TrackedFriction:
    """Friction of joints along one motion: with memory, if the law has it.

    `move` is called with the positions of each step; `torque` then uses the direction of sliding
    that they have led to.
    """

    def __init__(self, friction: JointFriction, before: FrictionModel | None = None):
        """Begin without a direction, or with that of the motion before."""
        self._friction = friction
        self._q: Array | None = None
        self._z: Array | None = None
        if isinstance(before, TrackedFriction):
            self._q, self._z = before._q, before._z

    @property
    def coefficients(self) -> Mapping[str, Array]:
        """Coefficients by name."""
        return self._friction.coefficients

    @property
    def uses_load(self) -> bool:
        """Whether friction depends on the torque that the drives transmit."""
        return self._friction.uses_load

    def move(self, q: Array) -> None:
        """Take the positions (n,) of the next step, rad or m."""
        if self._q is None or self._z is None:
            self._z = np.zeros_like(q)
        else:
            self._z = self._friction.moved_direction(self._z, q - self._q)
        self._q = np.array(q)

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (n,) that overcomes friction: see `JointFriction.torque`."""
        return self._friction.torque(qd, tau, self._z)
