# SPDX-License-Identifier: Apache-2.0
"""Lambda and eta, the inertia and the bias force in task space, and mistakes in them.

F = Lambda dV/dt + eta belongs to a Jacobian J (m, n), V = J qd. With more joints than directions
J^-T is J_bar^T, with J_bar = M^-1 J^T Lambda.

Source: Lynch and Park, draft, (9.97)-(9.99); see `formulations.task_space`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.linalg import pinv

from robot_dynamics.common.spatial import Array, adjoint, pose
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.textbook.grading.graded_terms import Terms, inverse
from robot_dynamics.textbook.grading.student_mistakes import Mistake
from robot_dynamics.validation.identities import derivative

Jacobian = Callable[[Array], Array]  # J (m, n) of q


class TaskState(NamedTuple):
    """What Lambda and eta are made of, in one state."""

    M: Array  # (n, n)
    b: Array  # (n,) = C qd + g
    g: Array  # (n,)
    J: Array  # (m, n)
    rate: Array  # (m,) dJ/dt qd
    Lambda: Array  # (m, m) = (J M^-1 J^T)^-1
    J_bar: Array  # (n, m) = M^-1 J^T Lambda, which is J^-1 if J is square

    @property
    def eta(self) -> Array:
        """J_bar^T b - Lambda dJ/dt qd (m,)."""
        return np.asarray(self.J_bar.T @ self.b - self.Lambda @ self.rate)


Made = Callable[[TaskState], Array]
RIGHT: dict[str, Made] = {'Lambda': attrgetter('Lambda'), 'eta': attrgetter('eta')}


def with_task(
    terms: Terms, J: Jacobian, turning: Jacobian | None = None, made: Mapping[str, Made] = RIGHT
) -> Terms:
    """Return the terms with Lambda and eta.

    Args:
        terms: M, h and g.
        J: the Jacobian.
        turning: the one of dJ/dt, None: J.
        made: how Lambda and eta are made of the state.
    """

    def at(q: Array, qd: Array) -> TaskState:
        M, g, J_q, speed = terms.M(q), terms.g(q), J(q), float(np.abs(qd).sum())
        rate = derivative(lambda t: (turning or J)(q + t * qd) @ qd, speed)
        Lambda = inverse(J_q @ inverse(M) @ J_q.T)
        return TaskState(M, terms.h(q, qd) + g, g, J_q, rate, Lambda, inverse(M) @ J_q.T @ Lambda)

    return terms._replace(
        Lambda=lambda q: made['Lambda'](at(q, 0 * q)), eta=lambda q, qd: made['eta'](at(q, qd))
    )


# What is made of a state by mistake; NaN fits nothing.
MADE: dict[str, dict[str, Made]] = {
    'Lambda': {
        'J M^-1 J^T: the inverse is missing': lambda s: inverse(s.Lambda),
        'J transposed: J M J^T, not J^-T M J^-1': lambda s: s.J @ s.M @ s.J.T,
        'J transposed: J^-1 M J^-T, not J^-T M J^-1': lambda s: turned(s) @ s.M @ turned(s).T,
        'J^+T M J^+, with the pseudo-inverse of J': lambda s: pinv(s.J).T @ s.M @ pinv(s.J),
    },
    'eta': {
        'without the term -Lambda dJ/dt qd': lambda s: s.eta + s.Lambda @ s.rate,
        'sign of the term -Lambda dJ/dt qd': lambda s: s.eta + 2 * s.Lambda @ s.rate,
        'dJ/dt qd without Lambda': lambda s: s.eta + s.Lambda @ s.rate - s.rate,
        'without C qd': lambda s: s.eta - s.J_bar.T @ (s.b - s.g),
        'without g': lambda s: s.eta - s.J_bar.T @ s.g,
        'J (C qd + g), not J^-T (C qd + g)': lambda s: s.eta + (s.J - s.J_bar.T) @ s.b,
        'J transposed: J^-1 (C qd + g)': lambda s: s.eta + (turned(s) - s.J_bar.T) @ s.b,
        'pseudo-inverse of J before C qd + g': lambda s: s.eta + (pinv(s.J) - s.J_bar).T @ s.b,
    },
}


def turned(s: TaskState) -> Array:
    """Return J^-1 (m, n) as if it were J^-T; NaN unless J is square."""
    return s.J_bar if len(s.J) == len(s.M) else s.J * np.nan


def jacobians(arm: Dynamics, frame: str, directions: Sequence[int]) -> dict[str, Jacobian]:
    """Return the Jacobian of a frame, with an empty text, and wrong ones."""

    def of(move: Callable[[Array], Array], name: str = frame) -> Jacobian:
        rows = list(directions)
        return lambda q: (move(arm.forward_kinematics(q, name)) @ arm.jacobian(q, name))[rows]

    return {
        '': of(lambda T: np.eye(6)),
        'in the axes of the frame': of(lambda T: np.kron(np.eye(2), T[:3, :3].T)),
        'of twists at the origin of the base': of(lambda T: adjoint(pose(np.eye(3), T[:3, 3]))),
        'with the linear part first': of(lambda T: np.roll(np.eye(6), 3, axis=0)),
        **{f'of {name}': of(lambda T: np.eye(6), name) for name in arm.model.frame_names},
    }


def task_mistakes(
    terms: Terms, term: str, jacobians: Mapping[str, Jacobian], others: Iterable[Mistake]
) -> list[Iterator[Mistake]]:
    """Return groups of mistakes in Lambda or eta.

    Args:
        terms: the right ones.
        term: 'Lambda' or 'eta'.
        jacobians: the right one, with an empty text, and wrong ones.
        others: mistakes in M, h and g.
    """
    J, wrong = jacobians[''], list(jacobians.items())[1:]
    return [
        (Mistake(t, with_task(terms, J, J, RIGHT | {term: f})) for t, f in MADE[term].items()),
        (Mistake(f'J {t}', with_task(terms, other)) for t, other in wrong),
        (Mistake(f'frames mixed: dJ/dt {t}, unlike J', with_task(terms, J, x)) for t, x in wrong),
        (Mistake(text, with_task(mistaken, J)) for text, mistaken in others),
    ]
