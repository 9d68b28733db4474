# SPDX-License-Identifier: Apache-2.0
"""Planes and spheres that a simulated arm touches at points of its links.

    table = Plane((0, 0, 0.2), (0, 0, 1), Material(stiffness=1e5, damping=300.0, friction=0.3))
    tip = TouchPoint('panda_hand', (0, 0, 0.1034))
    Simulator(arm, environment=Environment({'table': table}, {'tip': tip}))

Coordinates are those of the base link. A point at the depth x in a body is pushed out by a spring
and a damper, which never pull, and slowed down by friction:

    f_n = max(0, k x + d xd),    f_t = -mu f_n v_t / max(|v_t|, v_0).

Over a step from x to x', with a = max(x, 0) and b = max(x', 0), the mean normal force is

    f_n = max(0, k/2 (b^2 - a^2) / (x' - x) + d (b - a) / h).

Its first term does the work of the spring's energy k/2 x^2 on a point that moves straight, and to
O(h^2) on others; the second one dissipates. v_t is the velocity at the end of the step. The forces
are found together with the step that they act in, for any integrator, joint model and stiffness.
A step resolves a contact whose frequency sqrt(k / m) is below 1 / h; a faster one oscillates from
step to step, within bounds.

Limits: a point at rest under a tangential force creeps, at less than v_0; a fast point may pass
a small sphere within a step; only points touch, not edges or surfaces.

Source: the mean force is a discrete gradient, Gonzalez, "Time integration and discrete Hamiltonian
systems" (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.settings import checked, setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import YamlError, is_number, read_yaml, require_known
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation.errors import SimulationDiverged

# Error of the contact forces, relative to the largest, with a part for the rounding of depths.
CONVERGED, ROUNDING = 1e-8, 1e-14  # m
ROUNDS = 100  # of the solution, at most
CLOSER = 0.1  # part of the error that a change back to Newton's method needs
TINY = 1e-300


@dataclass(frozen=True)
class Material:
    """Law of the contact with a body."""

    stiffness: float = setting(1e5, 'Stiffness', 'N/m', (0.0, 1e9), positive=True)
    damping: float = setting(0.0, 'Damping', 'N s/m', (0.0, 1e9))
    friction: float = setting(0.0, 'Coefficient of friction', '', (0.0, 100.0))
    slip_speed: float = setting(
        1e-3, 'Tangential speed from which on friction is full', 'm/s', (0.0, 10.0), positive=True
    )

    def __post_init__(self) -> None:
        checked(self, 0)


@dataclass(frozen=True)
class Plane:
    """A half-space. Raises ModelError unless point and normal are (3,) and the latter not zero."""

    point: ArrayLike  # (3,) on its surface, m
    normal: ArrayLike  # (3,) outward, of any length
    material: Material = Material()

    def __post_init__(self) -> None:
        point, normal = _vector('point', self.point), _vector('normal', self.normal)
        if not normal.any():
            raise ModelError('normal is 0 0 0; expected a direction')
        # As tuples they are copies, and compared by their numbers.
        object.__setattr__(self, 'point', tuple(point.tolist()))
        object.__setattr__(self, 'normal', tuple(normal.tolist()))

    def depth(self, p: Array) -> Array:
        """Return the depths (m,) of points p (m, 3), negative outside."""
        return np.asarray((self.point - p) @ self._unit)

    def outward(self, p: Array, _after: Array) -> Array:
        """Return n (m, 3) with n . (p' - p) = x - x' for motions of points from p to p'."""
        return np.broadcast_to(self._unit, p.shape)

    @made_once
    def _unit(self) -> Array:
        n = _vector('normal', self.normal)
        return np.asarray(n / np.linalg.norm(n))


@dataclass(frozen=True)
class Sphere:
    """A ball. Raises ModelError unless the centre is (3,) and the radius positive."""

    centre: ArrayLike  # (3,) m
    radius: float  # m
    material: Material = Material()

    def __post_init__(self) -> None:
        object.__setattr__(self, 'centre', tuple(_vector('centre', self.centre).tolist()))
        if not (is_number(self.radius) and 0 < self.radius < np.inf):
            raise ModelError(f'radius is {self.radius!r} m; expected a positive number')

    def depth(self, p: Array) -> Array:
        """Return the depths (m,) of points p (m, 3), negative outside."""
        return np.asarray(self.radius - np.linalg.norm(p - self.centre, axis=1))

    def outward(self, p: Array, after: Array) -> Array:
        """Return n (m, 3) with n . (p' - p) = x - x' for motions of points from p to p'."""
        r, end = p - self.centre, after - self.centre
        # r'^2 - r^2 = (r' - r) . (r' + r)
        length = np.linalg.norm(r, axis=1) + np.linalg.norm(end, axis=1)
        return np.asarray((r + end) / np.maximum(length, TINY)[:, None])


@dataclass(frozen=True)
class TouchPoint:
    """A point of a link, or of a frame, that touches bodies."""

    link: str
    point: ArrayLike = (0.0, 0.0, 0.0)  # (3,) in the frame of the link, m

    def __post_init__(self) -> None:
        if not isinstance(self.link, str):
            raise ModelError(f'link is {self.link!r}; expected the name of a link or frame')
        object.__setattr__(self, 'point', tuple(_vector('point', self.point).tolist()))


@dataclass(frozen=True)
class Environment:
    """Bodies, and the points that touch them, by name."""

    bodies: Mapping[str, Plane | Sphere]
    touch_points: Mapping[str, TouchPoint]


def _vector(name: str, value: Any) -> Array:
    """Return a vector (3,). Raises ModelError."""
    numbers = isinstance(value, (list, tuple, np.ndarray)) and all(
        is_number(x) or isinstance(x, np.number) for x in value
    )
    if not numbers or len(value) != 3 or not np.isfinite(value).all():
        raise ModelError(f'{name} is {value!r}; expected 3 finite numbers')
    return np.array(value, dtype=float)


# -- file -----------------------------------------------------------------------------------------

SECTIONS: dict[str, Any] = {'planes': Plane, 'spheres': Sphere, 'touch_points': TouchPoint}


def load_environment(file: str | Path) -> Environment:
    """Return the environment of a YAML file.

    Its sections are planes, spheres and touch_points. Each has entries by name, with the
    attributes of `Plane` and `Material`, `Sphere` and `Material`, or `TouchPoint`.

    Raises:
        ModelError: the file cannot be read, or is invalid; the message names file and entry.
    """
    try:
        return _environment(read_yaml(file))
    except OSError as error:
        raise ModelError(f'{file}: {error.strerror}') from error
    except (YamlError, ModelError) as error:
        raise ModelError(f'{file}: {error}') from error


def _environment(content: Any) -> Environment:
    require_known('the file', content, SECTIONS)
    planes, spheres, points = (
        {name: _entry(f'{section}: {name}', kind, entry) for name, entry in entries.items()}
        for (section, kind), entries in zip(
            SECTIONS.items(), (_mapping(key, content.get(key)) for key in SECTIONS), strict=True
        )
    )
    if twice := [name for name in planes if name in spheres]:
        raise ModelError(f'{twice[0]!r} is a plane and a sphere; expected each name once')
    if not points or not (planes or spheres):
        raise ModelError('expected at least one of touch_points, and one of planes or spheres')
    return Environment({**planes, **spheres}, points)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ModelError(f'{name} is {value!r}; expected entries by name')
    return value


def _entry(name: str, kind: Any, entry: Any) -> Any:
    """Return an object of a kind. Raises ModelError, which names the entry."""
    own = [item.name for item in fields(kind) if item.name != 'material']
    material = [item.name for item in fields(Material)] if kind is not TouchPoint else []
    require_known(name, entry, [*own, *material])
    required = [item.name for item in fields(kind) if item.default is MISSING]
    if missing := [key for key in required if key not in entry]:
        raise ModelError(f'{name} has no {missing[0]}')
    for key in material:
        if not is_number(entry.get(key, 0.0)):
            raise ModelError(f'{name}: {key} is {entry[key]!r}; expected a number')
    try:
        given = {key: entry[key] for key in own if key in entry}
        if material:
            given['material'] = Material(**{key: entry[key] for key in material if key in entry})
        return kind(**given)
    except ModelError as error:
        raise ModelError(f'{name}: {error}') from error


# -- contact of one arm -------------------------------------------------------------------------


class ContactForces(NamedTuple):
    """Mean forces over a step on m touch points, and how they depend on its end."""

    forces: Array  # (m, 3) N
    by_position: Array  # (m, 3, 3) -df/dp', N/m
    by_velocity: Array  # (m, 3, 3) -df/dv', N s/m
    by_secant: Array  # (m, 3, 3) the same with constant friction per speed


class PointContacts:
    """Touch points of an arm in an environment."""

    def __init__(self, arm: Dynamics, environment: Environment):
        """Compile the kinematics of the touch points.

        Raises:
            FrameNotFound: the link of a touch point does not exist.
        """
        self.number = len(environment.touch_points)
        self._bodies = tuple(environment.bodies.values())
        self.stiffness = max((body.material.stiffness for body in self._bodies), default=0.0)
        points = environment.touch_points.values()
        self._at = [
            (
                arm.frame_program('forward_kinematics', one.link).call,
                arm.frame_program('jacobian', one.link).call,
                np.array(one.point, dtype=float),
            )
            for one in points
        ]

    def positions(self, q: Array) -> Array:
        """Return the touch points (m, 3), m."""
        T = np.array([pose(q) for pose, _, _ in self._at])
        c = np.array([point for _, _, point in self._at])
        return np.asarray((T[:, :3, :3] @ c[:, :, None])[:, :, 0] + T[:, :3, 3])

    def jacobian(self, q: Array) -> Array:
        """Return dp/dq (3m, n)."""
        rows = []
        for pose, jacobian, point in self._at:
            J, r = jacobian(q), pose(q)[:3, :3] @ point
            # v = v_o + w x r
            rows.append(J[3:] + np.cross(J[:3], r, axis=0))
        return np.concatenate(rows)

    def energy(self, q: Array) -> float:
        """Return the energy of the springs, J."""
        p = self.positions(q)
        # 1/2 k x^2
        return 0.5 * sum(
            body.material.stiffness * float((np.maximum(body.depth(p), 0.0) ** 2).sum())
            for body in self._bodies
        )

    def touched(self, p: Array) -> bool:
        """Return whether one of the points (m, 3) is in a body."""
        return any(bool((body.depth(p) > 0).any()) for body in self._bodies)

    def over_step(self, p: Array, after: Array, v: Array, h: float) -> ContactForces:
        """Return the forces over a step of h seconds.

        Args:
            p: (m, 3) points at its start, m.
            after: (m, 3) at its end.
            v: (m, 3) their velocities there, m/s.
            h: s.
        """
        total = ContactForces(np.zeros_like(p), *np.zeros((3, len(p), 3, 3)))
        for body in self._bodies:
            x, end = body.depth(p), body.depth(after)
            if (np.maximum(x, end) > 0).any():
                n = body.outward(p, after)
                total = ContactForces(
                    *map(np.add, total, _over_step(body.material, x, end, n, v, h))
                )
        return total


def _over_step(
    material: Material, x: Array, end: Array, n: Array, v: Array, h: float
) -> ContactForces:
    """Return the forces of one body on points whose depths were x (m,) and become `end`."""
    k, d, mu = material.stiffness, material.damping, material.friction
    a, b, change = np.maximum(x, 0.0), np.maximum(end, 0.0), end - x
    # (b - a) / (x' - x): share of the motion that is in the body
    share = np.divide(b - a, change, out=(end > 0).astype(float), where=change != 0)
    spring = k / 2 * (a + b) * share
    normal = np.maximum(spring + d / h * (b - a), 0.0)
    # d spring / dx' = (k b - spring) / (x' - x)
    crossing = np.divide(k * b - spring, change, out=np.zeros(len(x)), where=change != 0)
    slope = np.where(share == 1.0, k / 2, crossing) + d / h * (end > 0)
    slope *= normal > 0
    along = v - n * _dot(n, v)[:, None]
    speed = np.maximum(np.linalg.norm(along, axis=1), material.slip_speed)
    drag = mu * normal / speed
    direction = n - (mu / speed)[:, None] * along
    secant = drag[:, None, None] * (np.eye(3) - n[:, :, None] * n[:, None, :])
    t = np.where(speed > material.slip_speed, along.T / speed, 0.0).T
    return ContactForces(
        normal[:, None] * n - drag[:, None] * along,
        slope[:, None, None] * direction[:, :, None] * n[:, None, :],
        secant - drag[:, None, None] * t[:, :, None] * t[:, None, :],
        secant,
    )


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a * b).sum(axis=1))


# State = step(outside (n,)) of joint torques of the environment
OutsideStep = Callable[[Array], State]


class TouchingStep(NamedTuple):
    """A step in which the arm may touch bodies."""

    state: State  # after it
    torque: Array  # (n,) of the contacts on the joints, N m or N
    forces: Array  # (m, 3) on the touch points, N


def touching_step(
    contacts: PointContacts,
    start: State,
    F: Array,
    mobility: Callable[[], Array],
    step: OutsideStep,
    h: float,
) -> TouchingStep:
    """Return a step under the contact forces that belong to it.

    Args:
        contacts: of the arm.
        start: of the links, (n,) each.
        F: (m, 3) a guess of the forces on the touch points: those of the step before.
        mobility: returns M^-1 (n, n) of the links.
        step: the step under joint torques (n,) of the contacts.
        h: its length, s.

    Raises:
        SimulationDiverged: no forces are found that belong to the step.
    """
    n, p = len(start.q), contacts.positions(start.q)
    if not F.any():
        free = _free_step(contacts, p, n, step)
        if free is not None:
            return TouchingStep(free, np.zeros(n), F)
    J = contacts.jacobian(start.q + h / 2 * start.qd)
    A = J @ mobility() @ J.T  # velocities per impulse
    last = limit = np.inf
    v = change = np.zeros(0)
    for _ in range(ROUNDS):
        torque = J.T @ F.ravel()
        state, before = step(torque), v
        v = J @ state.qd[:n]
        if change.any():
            # Broyden's update: joint models reduce the mobility.
            A = A + np.outer((v - before) / h - A @ change, change) / (change @ change)
        law = contacts.over_step(p, contacts.positions(state.q[:n]), v.reshape(-1, 3), h)
        error = (law.forces - F).ravel()
        size = float(np.abs(error).max())
        if size <= CONVERGED * np.abs(law.forces).max() + ROUNDING * contacts.stiffness:
            return TouchingStep(state, torque, law.forces)
        # Newton's method may cycle between directions of friction. Constant friction per speed
        # converges slowly, but always.
        if last < limit and size >= last:
            limit = CLOSER * last
        last = size
        friction = law.by_velocity if size < limit else law.by_secant
        # p' and v' change by h/2 A and A per impulse h F.
        B = _block_diagonal(h / 2 * law.by_position + friction)
        change = np.linalg.solve(np.eye(F.size) + h * B @ A, error)
        F = F + change.reshape(F.shape)
    raise SimulationDiverged(
        f'contact forces of a step of {h:g} s are not found: they differ by '
        f'{size:.2g} N after {ROUNDS} rounds; expected a shorter step, less '
        'stiffness or a higher slip_speed'
    )


def _free_step(contacts: PointContacts, p: Array, n: int, step: OutsideStep) -> State | None:
    """Return the state of n joints after a step from points p (m, 3); None if one is touched."""
    state = step(np.zeros(n))
    if contacts.touched(p) or contacts.touched(contacts.positions(state.q[:n])):
        return None
    return state


def _block_diagonal(blocks: Array) -> Array:
    m = len(blocks)
    result = np.zeros((m, 3, m, 3))
    result[np.arange(m), :, np.arange(m), :] = blocks
    return result.reshape(3 * m, 3 * m)
