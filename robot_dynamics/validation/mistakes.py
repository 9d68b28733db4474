# SPDX-License-Identifier: Apache-2.0
"""Modelling mistakes, and the torques that each of them would produce.

Torques are linear in gravity, in the inertial parameters of each link, in friction coefficients
and rotor inertias. The difference r between reported torques and ours, over several states, is
fitted by

    r = Y x,        Y known, x the mistake,

for one kind of mistake after another. `kinematic_mistakes` has those that are not linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.regressor import regressor
from robot_dynamics.core.algorithms.rnea import rnea
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import ACCELERATION, FASTEST, States

EXPLAINED = 1e-3  # part of the difference that an explanation may leave unexplained
ROUNDING = 1e-9  # relative to the torques; a smaller difference is rounding
EVIDENCE = 2  # independent equations per unknown, at least
TENSOR_ONLY = slice(4, 10)  # of the ten parameters of a link

Torques = Callable[[States], Array]  # (k, n) of k states
Columns = Callable[[States], Array]  # Y (k, n, p) of k states
Describe = Callable[[Array, Array], str]  # text after the kind, from x (p,) and Y


class Explanation(NamedTuple):
    """A mistake, and the torques of our model with it."""

    kind: str
    text: str  # the kind with its numbers
    torque: Array  # (k, n) at the states of the difference
    torques: Torques  # at any other states
    supported: bool = True  # the states give enough equations for its unknowns
    single: bool = True  # a mistake in one place, not in every link


@dataclass(frozen=True, eq=False)
class Difference:
    """Reported torques (k, n) [N m or N] at k states, and the model that gives others."""

    model: RobotModel
    states: States
    reported: Array

    @made_once
    def ours(self) -> Array:
        """Torques (k, n) of the model."""
        return torques(self.model, self.states)

    @made_once
    def r(self) -> Array:
        """Reported torques minus ours (k, n)."""
        return self.reported - self.ours

    @made_once
    def tolerance(self) -> float:
        """Largest difference [N m or N] that an explanation may leave unexplained."""
        rounding = ROUNDING * np.abs(self.ours).max(initial=0.0)
        return float(EXPLAINED * np.abs(self.r).max() + rounding)

    @made_once
    def independent_states(self) -> int:
        """Number of states that are not neighbours of one another."""
        return independent(self.states)

    @made_once
    def link_columns(self) -> Array:
        """The regressor Y (k, n, nb, 10) of the model."""
        return link_columns(self.model, self.states)

    def fits(self, found: Explanation) -> bool:
        """Return whether an explanation leaves no more than the tolerance."""
        return bool(np.abs(self.reported - found.torque).max() <= self.tolerance)

    def linear(
        self,
        kind: str,
        columns: Columns,
        describe: Describe,
    ) -> Explanation:
        """Return the explanation x (p,) that fits r = Y x best.

        Args:
            kind: of the mistake.
            columns: returns Y at any states.
            describe: returns the text after the kind, from x and Y.
        """
        Y = columns(self.states)
        x = np.linalg.lstsq(Y.reshape(self.r.size, -1), self.r.ravel(), rcond=None)[0]

        def at(states: States) -> Array:
            return np.asarray(torques(self.model, states) + columns(states) @ x)

        text = kind + describe(x, Y)
        return Explanation(kind, text, self.ours + Y @ x, at, self.supports(Y))

    def supports(self, Y: Array) -> bool:
        """Return whether the states determine x in a fit by Y (k, n, p) x.

        Joints on which x has no effect do not count.
        """
        rows = np.count_nonzero(Y.any(axis=(0, 2)))
        rank = np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]))
        return bool(rows * self.independent_states >= EVIDENCE * rank)


def torques(model: RobotModel, states: States) -> Array:
    """Return the torques (k, n) of a robot, without compilation."""
    return _by_state(rnea(canonical_tree(model), *_by_joint(states)), states)


def link_columns(model: RobotModel, states: States) -> Array:
    """Return the regressor Y (k, n, nb, 10)."""
    Y = _by_state(regressor(canonical_tree(model), *_by_joint(states)), states)
    return Y.reshape(*states.q.shape, model.nb, 10)


def independent(states: States) -> int:
    """Return the number of states at which a smooth function has independent values.

    It is the rank of a Gaussian kernel, to the accuracy of an explanation. Neighbouring states of
    a slow motion count as 2 or 3, however many they are.
    """
    eigenvalues = np.linalg.eigvalsh(np.exp(-squared_distances(states) / 2))
    return int((eigenvalues > EXPLAINED**2 * len(eigenvalues)).sum())


def squared_distances(states: States) -> Array:
    """Return squared distances of states (k, k), scaled so that at 1 torques are unrelated."""
    x = np.hstack([states.q, states.qd / FASTEST, states.qdd / ACCELERATION])
    return np.asarray(((x[:, None] - x[None]) ** 2).sum(axis=-1))


# -- kinds --------------------------------------------------------------------------------------


def gravity(difference: Difference) -> Explanation:
    """Return the gravity vector that fits best."""
    model = difference.model
    none = model.with_gravity(np.zeros(3))

    def columns(states: States) -> Array:
        inertial = torques(none, states)
        pulls = [torques(model.with_gravity(axis), states) - inertial for axis in np.eye(3)]
        return np.stack(pulls, axis=-1)

    def describe(x: Array, Y: Array) -> str:
        found = model.gravity + x
        found = np.where(np.abs(found) < 1e-6 * np.abs(x).max(), 0.0, found)
        usual = vector_text(model.gravity)
        return f' {vector_text(found)} m/s^2 instead of {usual}{undetermined(Y)}'

    return difference.linear('gravity', columns, describe)


# Mistakes with unknowns of their own for each joint: features of the states and our torques
# (k, n), whose coefficients are the unknowns, and the description of the coefficients.
PER_JOINT: dict[str, tuple[str, Callable[[States, Array], list[Array]]]] = {
    'torques multiplied': (' by {}', lambda states, tau: [tau]),
    'a constant torque added': (', {} N m or N', lambda states, tau: [np.ones_like(tau)]),
    'rotor inertia added': (', {} kg m^2 or kg', lambda states, tau: [states.qdd]),
    'friction added': (
        ', viscous {} N m s/rad or N s/m, dry {} N m or N',
        lambda states, tau: [states.qd, np.sign(states.qd)],
    ),
}
UNKNOWNS = 2  # per joint, at most; counted for all, so that none is preferred for fewer


def per_joint(difference: Difference) -> Iterator[Explanation]:
    """Yield the mistakes of PER_JOINT."""
    model, n = difference.model, difference.model.n
    supported = difference.independent_states >= EVIDENCE * UNKNOWNS
    for kind, (numbers, features) in PER_JOINT.items():

        def columns(states: States, features: Any = features) -> Array:
            values = np.stack(features(states, torques(model, states)), axis=-1)
            # Each feature of a joint has an effect on that joint alone.
            return (values[:, :, :, None] * np.eye(n)[:, None]).reshape(*values.shape[:2], -1)

        def describe(x: Array, Y: Array, kind: str = kind, numbers: str = numbers) -> str:
            shown = x + 1 if 'multiplied' in kind else x
            return numbers.format(*(joint_values(row) for row in shown.reshape(-1, n)))

        yield difference.linear(kind, columns, describe)._replace(supported=supported)


def links(difference: Difference) -> Iterator[Explanation]:
    """Yield wrong inertias: of one link, or the tensors of all."""
    model = difference.model

    def inertias(
        kind: str, bodies: Any, parameters: slice, describe: Any = _no_detail
    ) -> Explanation:
        def columns(states: States) -> Array:
            known = states is difference.states
            Y = difference.link_columns if known else link_columns(model, states)
            return Y[:, :, bodies, parameters].reshape(*states.q.shape, -1)

        return difference.linear(kind, columns, describe)

    found = []
    for i, name in enumerate(model.body_names):
        tensor = inertias(f'another inertia tensor of link {name!r}', i, TENSOR_ONLY)
        if difference.fits(tensor):
            # A tensor alone has fewer unknowns than the link; it is supported where the link is.
            supported = difference.supports(difference.link_columns[:, :, i])
            found.append(tensor._replace(supported=supported))
        else:
            change = partial(_link_change, model, i)
            found.append(inertias(f'another link {name!r}', i, slice(10), change))
    yield from found
    # Where several links fit alone, their tensors fit as well.
    if sum(map(difference.fits, found)) != 1:
        kind = (
            'other inertia tensors with the same masses and centres of mass, as where tensors '
            'come from collision shapes'
        )
        yield inertias(kind, slice(None), TENSOR_ONLY)._replace(single=False)


# -- helpers ------------------------------------------------------------------------------------


def _by_joint(states: States) -> list[list[Array]]:
    """Return q, qd and qdd of k states as one array (k,) per joint, as algorithms need it."""
    return [list(array.T) for array in states]


def _by_state(scalars: Any, states: States) -> Array:
    """Return nested lists of scalars or arrays (k,) as one array (k, ...)."""
    if isinstance(scalars, list | tuple):
        return np.stack([_by_state(item, states) for item in scalars], axis=1)
    return np.broadcast_to(np.asarray(scalars, dtype=float), len(states.q))


def undetermined(Y: Array) -> str:
    """Return a remark on a vector (3,) that Y (k, n, 3) determines only in part."""
    complete = np.linalg.matrix_rank(Y.reshape(-1, 3), ROUNDING * np.abs(Y).max()) == 3
    return '' if complete else ', as far as these torques depend on it'


def _no_detail(x: Array, Y: Array) -> str:
    return ''


def _link_change(model: RobotModel, i: int, x: Array, Y: Array) -> str:
    """Return a description of a link after a change x of its ten parameters, fitted by Y."""
    flat = Y.reshape(-1, 10)
    rank = np.linalg.matrix_rank(flat)
    for k in range(TENSOR_ONLY.start):
        if np.linalg.matrix_rank(np.delete(flat, k, axis=1)) == rank:
            return ': its mass or its centre of mass'  # not determined
    before = model.inertial(i)
    mass, *moment = (to_parameters(before) + x)[: TENSOR_ONLY.start]
    if abs(mass) <= EXPLAINED * before.mass:
        return f': without its {before.mass:.6g} kg'
    return (
        f': {mass:.6g} kg instead of {before.mass:.6g} kg, centre '
        f'{vector_text(np.array(moment) / mass)} instead of {vector_text(before.com)} m'
    )


def joint_values(values: Array) -> str:
    """Return the values of the joints as text, one number if all are equal."""
    numbers = vector_text(values)[1:-1].split(', ')
    return numbers[0] if len(set(numbers)) == 1 else vector_text(values)


def vector_text(values: Array) -> str:
    """Return values as text, to four digits."""
    rounded = [float(f'{value:.4g}') for value in values]
    # Values far below the largest are rounding.
    largest = max(map(abs, rounded), default=0.0)
    return f'({", ".join(f"{0.0 if abs(v) < 1e-6 * largest else v:g}" for v in rounded)})'
