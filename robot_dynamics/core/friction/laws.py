# SPDX-License-Identifier: Apache-2.0
"""Friction laws of joints, with and without memory, linear in coefficients that are >= 0.

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.scalars import Scalar, decay, is_zero, maximum, minimum, tanh
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED, sliding_direction

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
            return np.asarray(sliding_direction(np.asarray(qd, dtype=float)))
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
        columns = [
            qd if term == 'viscous' else level_factor(term, qd, tau) * z for term in self.terms
        ]
        return np.stack(columns, axis=-1)


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


def level_factor(term: str, qd: Scalar, tau: Scalar) -> Scalar:
    """Return the factor of a coefficient in the level of dry friction.

    Args:
        term: a key of `TERMS`, not 'viscous'.
        qd: velocity, rad/s or m/s.
        tau: torque of the rigid-body model, N m or N.
    """
    if term == 'load':
        return abs(tau)
    if term == 'stribeck':
        # exp(-x^2),   x = v / v_s
        x = qd / STRIBECK_SPEED
        return decay(x * x)
    return 1.0


def sliding_level(coefficients: Mapping[str, Scalar], qd: Scalar, tau: Scalar) -> Scalar:
    """Return c + k |tau| + s exp(-(v / v_s)^2), the factor of z [N m or N].

    Args:
        coefficients: by term; the viscous one has no effect.
        qd: velocity, rad/s or m/s.
        tau: torque of the rigid-body model, N m or N.
    """
    level = coefficients.get('coulomb', 0.0)
    for term, coefficient in coefficients.items():
        if term not in ('viscous', 'coulomb') and not is_zero(coefficient):
            level = level + coefficient * level_factor(term, qd, tau)
    return level


def law_torque(coefficients: Mapping[str, Scalar], qd: Scalar, tau: Scalar, z: Scalar) -> Scalar:
    """Return b v + (c + k |tau| + s exp(-(v / v_s)^2)) z [N m or N].

    Args:
        coefficients: by term, 'viscous' among them.
        qd: velocity, rad/s or m/s.
        tau: torque of the rigid-body model, N m or N.
        z: direction of sliding.
    """
    return coefficients['viscous'] * qd + sliding_level(coefficients, qd, tau) * z


def after_backlash(y: Scalar, q: Scalar, half_width: Scalar) -> Scalar:
    """Return the position behind a play operator: y, moved as little as keeps it near q.

    Args:
        y: before, rad or m.
        q: position in front of the operator, rad or m.
        half_width: largest |q - y|, rad or m.
    """
    return maximum(minimum(y, q + half_width), q - half_width)


def moved_direction(z: Scalar, dq: Scalar, presliding: Scalar = PRESLIDING) -> Scalar:
    """Return the direction of sliding with memory, after a displacement.

    Args:
        z: before it.
        dq: displacement, rad or m; exact if the joint does not reverse within it.
        presliding: delta, rad or m.
    """
    keep, turn = _transition(dq, presliding)
    return keep * z + turn


def _transition(dq: Scalar, presliding: Scalar) -> tuple[Scalar, Scalar]:
    # z_k = z_{k-1} e + s (1 - e),   e = exp(-|dq| / delta) = (1 - |t|) / (1 + |t|),
    # s (1 - e) = 2 t / (1 + |t|),   t = tanh(dq / 2 delta)
    t = tanh(dq / (2.0 * presliding))
    share = 1.0 / (1.0 + abs(t))
    return (1.0 - abs(t)) * share, 2.0 * t * share
