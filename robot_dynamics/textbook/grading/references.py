# SPDX-License-Identifier: Apache-2.0
"""Robots that functions are compared with: systems in closed form, and models.

A reference also gives the mistakes in its parameters: a length in place of another, an inertia
that is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, parallel_axis, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States, random_states
from robot_dynamics.textbook import closed_forms as systems
from robot_dynamics.textbook.closed_forms.equation_of_motion import EquationOfMotion
from robot_dynamics.textbook.grading.graded_task import MADE, jacobians, task_mistakes, with_task
from robot_dynamics.textbook.grading.graded_terms import (
    Terms,
    terms_of_inverse_dynamics,
    velocity_torque,
)
from robot_dynamics.textbook.grading.student_mistakes import Mistake
from robot_dynamics.urdf.loading import load_urdf

SPONG = 'Spong, Hutchinson and Vidyasagar'
SOURCES: dict[type, str] = {
    systems.VerticalParticle: f'{SPONG}, section 6.1',
    systems.GearedLink: f'{SPONG}, example 6.1',
    systems.ElasticJoint: f'{SPONG}, example 6.2',
    systems.CartesianArm: f'{SPONG}, section 6.4.1',
    systems.PlanarElbow: f'{SPONG}, section 6.4.2',
    systems.RemoteElbow: f'{SPONG}, section 6.4.3',
    systems.FiveBarLinkage: f'{SPONG}, section 6.4.4',
    systems.PointMassArm: 'Lynch and Park, draft, section 9.1.1',
    systems.SliderCrank: 'Uicker, Pennock and Shigley, chapter 12',
}

Robot = EquationOfMotion | RobotModel | Dynamics | str | Path


class Reference(ABC):
    """A robot with known terms."""

    n: int
    text: str  # its name
    source: str  # of its equations
    terms: Terms

    @abstractmethod
    def states(self, count: int, rng: np.random.Generator) -> States:
        """Return random states within the range of the joints."""

    @abstractmethod
    def functions(self) -> dict[str, Callable[..., Array]]:
        """Return functions of q, qd and qdd that are compared directly, by name."""

    def columns(self) -> int:
        """Return the number of columns of the regressor."""
        zero = np.zeros(self.n)
        return int(self.functions()['regressor'](zero, zero, zero).shape[1])

    def groups(self, term: str) -> list[Iterator[Mistake]]:
        """Return groups of mistakes in a term, the simplest first."""
        return [self.mistakes()]

    @abstractmethod
    def mistakes(self) -> Iterator[Mistake]:
        """Yield mistakes in the parameters, such as 'l1 in place of lc1'."""


def reference(robot: Robot) -> Reference:
    """Return the reference of a robot.

    Raises:
        ModelError: `robot` is none of the types of `Robot`, or its URDF is invalid.
    """
    if isinstance(robot, EquationOfMotion):
        return ClosedForm(robot)
    if isinstance(robot, str | Path):
        robot = load_urdf(robot)
    if isinstance(robot, RobotModel):
        robot = Dynamics(robot)
    if isinstance(robot, Dynamics):
        return Model(robot)
    raise ModelError(
        f'robot is {robot!r}; expected a system of robot_dynamics.textbook such as '
        'PlanarElbow(...), a RobotModel, a Dynamics, or the path of a URDF file'
    )


# -- systems in closed form -----------------------------------------------------------------------


class ClosedForm(Reference):
    """A system of the textbooks."""

    def __init__(self, system: EquationOfMotion):
        self.system = system
        self.text = type(system).__name__
        self.source = SOURCES.get(type(system), 'closed form')
        # No system has more than two coordinates.
        self.n = len(system.mass_matrix(np.zeros(2)))
        self.terms = _terms_of_system(system)

    def states(self, count: int, rng: np.random.Generator) -> States:
        """Return random states."""
        return free_states(self.n, count, rng)

    def functions(self) -> dict[str, Callable[..., Array]]:
        """Return the regressor."""
        return {'regressor': self.system.regressor}

    def values(self) -> dict[str, float]:
        """Return the parameters by name; those of a tuple are numbered: m1, m2."""
        return _values_of(self.system)

    def mistakes(self) -> Iterator[Mistake]:
        """Yield systems with one field changed."""
        values = self.values()
        for text, changes in _changes(values):
            # A length of zero may be a divisor: NumPy's numbers give infinity then.
            changed = {name: np.float64(value) for name, value in {**values, **changes}.items()}
            yield Mistake(text, _terms_of_system(_with_values(self.system, changed)))


def free_states(n: int, count: int, rng: np.random.Generator) -> States:
    """Return random states of n joints without limits."""
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, count, n)) * np.array([3.0, 2.0, 3.0])[:, None, None]
    return States(q, qd, qdd)


def _terms_of_system(system: EquationOfMotion) -> Terms:
    return Terms(
        system.mass_matrix,
        lambda q, qd: system.coriolis_matrix(q, qd) @ qd,
        system.gravity_torque,
    )


def _values_of(system: Any) -> dict[str, float]:
    values: dict[str, float] = {}
    for field in fields(system):
        value = getattr(system, field.name)
        if isinstance(value, tuple):
            values |= {f'{field.name}{k}': v for k, v in enumerate(value, start=1)}
        else:
            values[field.name] = value
    return values


def _with_values(system: Any, values: Mapping[str, float]) -> Any:
    """Return the system with other parameters: the inverse of `_values_of`."""
    changes: dict[str, Any] = {}
    for field in fields(system):
        value = getattr(system, field.name)
        changes[field.name] = (
            tuple(values[f'{field.name}{k}'] for k in range(1, len(value) + 1))
            if isinstance(value, tuple)
            else values[field.name]
        )
    return replace(system, **changes)


# Parameters of one kind can take each other's place.
LENGTHS, MASSES, INERTIAS = ('l', 'L', 'c'), ('m', 'M'), ('I', 'J')


def of_kind(values: dict[str, float], letters: tuple[str, ...]) -> list[str]:
    """Return the names of the parameters whose first letter is one of these."""
    return [name for name in values if name.startswith(letters)]


def _changes(values: dict[str, float]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield mistakes in the parameters, as text and changed values."""
    lengths, masses, inertias = (of_kind(values, kind) for kind in (LENGTHS, MASSES, INERTIAS))
    if 'Jm' not in values:
        # r is a length, unless it is a gear ratio.
        lengths += of_kind(values, ('r',))
    if len(inertias) > 1:
        yield 'without the moments of inertia', dict.fromkeys(inertias, 0.0)
    for mass in masses:
        inertia = mass.replace('m', 'I')
        if inertia in inertias:
            yield f'without link {mass[1:]}', {mass: 0.0, inertia: 0.0}
    links = [(f'I{k}', f'm{k}', f'lc{k}') for k in range(1, len(masses) + 1)]
    if len(links) > 1 and all(name in values for link in links for name in link):
        steiners = {I: values[m] * values[c] ** 2 for I, m, c in links}
        about_joints = {I: values[I] + x for I, x in steiners.items()}
        yield 'inertia about the joint in place of the centre of mass, in all links', about_joints
        without = {I: values[I] - x for I, x in steiners.items()}
        yield 'without the parallel-axis theorem in all links', without
    for inertia in inertias:
        for mass in masses:
            for length in lengths:
                steiner = values[mass] * values[length] ** 2
                term = f'{mass} {length}^2 of the parallel-axis theorem'
                yield f'without {term}', {inertia: values[inertia] - steiner}
                yield f'with {term} twice', {inertia: values[inertia] + steiner}
    for kind in (lengths, masses, inertias):
        for name in kind:
            yield f'as if {name} were 0', {name: 0.0}
        for name, other in permutations(kind, 2):
            yield f'{other} in place of {name}', {name: values[other]}
            if name < other:
                yield (
                    f'{name} and {other} interchanged',
                    {name: values[other], other: values[name]},
                )
    for name in (*lengths, *masses, *inertias):
        yield f'{name} / 2 in place of {name}', {name: values[name] / 2}
        yield f'2 {name} in place of {name}', {name: 2 * values[name]}
    if 'r' in values and 'Jm' in values:
        yield 'r in place of r^2 at the inertia of the rotor', {'Jm': values['Jm'] / values['r']}
        yield 'without the gear ratio, r^2, at the inertia of the rotor', {'r': 1.0}


# -- models ---------------------------------------------------------------------------------------


class Model(Reference):
    """A robot model, with the compiled functions of `Dynamics`."""

    def __init__(self, arm: Dynamics):
        self.arm = arm
        self.text = f'robot {arm.model.name!r}'
        self.source = 'Dynamics of the model'
        self.n = arm.model.n
        self.terms = Terms(arm.mass_matrix, arm.coriolis_torque, arm.gravity_torque)

    def states(self, count: int, rng: np.random.Generator) -> States:
        """Return random states within the limits of the joints."""
        return random_states(self.arm.model, count, rng)

    def set_task(self, frame: str, directions: Sequence[int]) -> None:
        """Add Lambda and eta at a frame to the terms."""
        self.jacobians = jacobians(self.arm, frame, directions)
        self.terms = with_task(self.terms, self.jacobians[''])

    def groups(self, term: str) -> list[Iterator[Mistake]]:
        """Return groups of mistakes in a term, the simplest first."""
        if term in MADE:
            return task_mistakes(self.terms, term, self.jacobians, self.mistakes())
        return super().groups(term)

    def functions(self) -> dict[str, Callable[..., Array]]:
        """Return friction and the regressor."""
        return {
            'friction_torque': lambda q, qd, qdd: self.arm.friction_torque(qd),
            'regressor': self.arm.regressor,
        }

    def mistakes(self) -> Iterator[Mistake]:
        """Yield robots with wrong inertia of one body or of all, of a rotor, wrong gravity.

        And with wrong rotations of all inertia tensors, or of all centres of mass.
        """
        model = self.arm.model
        right = np.array([to_parameters(model.inertial(i)) for i in range(model.nb)])
        for text, wrong in BODY_MISTAKES.items():
            changed = np.array([wrong(model.inertial(i)) for i in range(model.nb)])
            if model.nb > 1:
                yield self._mistake(f'all links {text}', changed)
            for i, name in enumerate(model.body_names):
                one = right.copy()
                one[i] = changed[i]
                yield self._mistake(f'link {name!r} {text}', one)
        rotors = model.reflected_inertia
        if rotors.any():
            yield self._mistake('without the inertia of the rotors', right, 0 * rotors)
        for letter, axis in zip('xyz', np.eye(3), strict=True):
            for sign, direction in (('', axis), ('-', -axis)):
                gravity = float(np.linalg.norm(model.gravity)) * direction
                turned = self.arm.with_gravity(gravity)
                yield Mistake(
                    f'gravity along {sign}{letter}', self.terms._replace(g=turned.gravity_torque)
                )

        for text, (of_inertia, of_com) in ROTATIONS.items():
            yield Mistake(text, _with_rotations(model, of_inertia, of_com))

    def _mistake(self, text: str, parameters: Array, rotors: Array | None = None) -> Mistake:
        pi = parameters.ravel()
        B = self.arm.model.reflected_inertia if rotors is None else rotors
        regressor = self.arm.regressor
        tau: Callable[..., Array] = lambda q, qd, qdd: regressor(q, qd, qdd) @ pi + B * qdd  # noqa: E731
        return Mistake(text, terms_of_inverse_dynamics(tau, self.n))


Rotation = Callable[[Array], Array]  # (3, 3) of that of a link


def _with_rotations(model: RobotModel, of_inertia: Rotation, of_com: Rotation) -> Terms:
    """Return the terms with wrong rotations to the base; h belongs to the wrong M."""

    def jacobian(poses: Array, i: int) -> Array:
        com = poses[i, :3, 3] + of_com(poses[i, :3, :3]) @ model.com[i]
        return kin.point_jacobian(model, poses, i, com) @ model.S

    def M(q: Array) -> Array:
        poses, result = kin.body_poses(model, q), np.diag(model.reflected_inertia)
        for i in range(model.nb):
            R, J = of_inertia(poses[i, :3, :3]), jacobian(poses, i)
            # M = sum_i m_i J_P^T J_P + J_O^T (R_i I_i R_i^T) J_O
            I = R @ model.inertia_com[i] @ R.T
            result = result + model.mass[i] * J[3:].T @ J[3:] + J[:3].T @ I @ J[:3]
        return np.asarray(result)

    def g(q: Array) -> Array:
        poses = kin.body_poses(model, q)
        # g = -sum_i m_i J_P^T g_0
        weights = [model.mass[i] * jacobian(poses, i)[3:].T for i in range(model.nb)]
        return np.asarray(-sum(weights) @ model.gravity)

    return Terms(M, lambda q, qd: velocity_torque(lambda x, v: M(x) @ v, q, qd), g)


def _right(R: Array) -> Array:
    return R


def _transposed(R: Array) -> Array:
    return R.T


def _forgotten(R: Array) -> Array:
    return np.eye(3)


ROTATIONS: dict[str, tuple[Rotation, Rotation]] = {
    'rotation transposed: R^T I R in place of R I R^T': (_transposed, _right),
    'rotation forgotten: I in place of R I R^T': (_forgotten, _right),
    'centres of mass at p + R^T c in place of p + R c': (_right, _transposed),
    'centres of mass at p + c in place of p + R c': (_right, _forgotten),
}


def _parallel_axis_term(body: Inertial) -> Array:
    return to_parameters(Inertial(inertia_com=parallel_axis(body.mass, body.com)))


def _opposite_products(body: Inertial) -> Array:
    flipped = 2 * np.diag(np.diag(body.inertia_com)) - body.inertia_com
    return to_parameters(Inertial(body.mass, body.com, flipped))


# The ten parameters of a body with a mistake.
BODY_MISTAKES: dict[str, Callable[[Inertial], Array]] = {
    'missing': lambda body: np.zeros(10),
    'without moments of inertia about the centre of mass': lambda body: to_parameters(
        Inertial(body.mass, body.com)
    ),
    'without the parallel-axis term': lambda body: to_parameters(body) - _parallel_axis_term(body),
    'with the parallel-axis term twice': lambda body: (
        to_parameters(body) + _parallel_axis_term(body)
    ),
    'with its centre of mass at the joint': lambda body: to_parameters(
        Inertial(body.mass, np.zeros(3), body.inertia_com)
    ),
    'with products of inertia of the opposite sign': _opposite_products,
    'without products of inertia': lambda body: to_parameters(
        Inertial(body.mass, body.com, np.diag(np.diag(body.inertia_com)))
    ),
    'without mass': lambda body: to_parameters(Inertial(0.0, np.zeros(3), body.inertia_com)),
}
