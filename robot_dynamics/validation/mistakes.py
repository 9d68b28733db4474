"""Modelling mistakes, and the torques that each of them would produce.

Torques are linear in gravity, in the inertial parameters of each link, in friction coefficients
and rotor inertias. The difference r between reported torques and ours, over several states, is
fitted by

    r = Y x,        Y known, x the mistake,

for one kind of mistake after another. Mistakes that are not linear are tried as they are: the
robots of `misreadings`, reversed joint axes, joints in another order. A shifted joint origin is
found by Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.regressor import regressor
from robot_dynamics.algorithms.rnea import rnea
from robot_dynamics.kinematics import body_poses, com_jacobians
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.inertia import to_parameters
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import States
from robot_dynamics.spatial import Array
from robot_dynamics.validation.misreadings import joint_of, reversed_axes

EXPLAINED = 1e-3  # part of the difference that an explanation may leave unexplained
ROUNDING = 1e-9  # relative to the torques; a smaller difference is rounding
EVIDENCE = 2  # independent equations per unknown, at least
TENSOR_ONLY = slice(4, 10)  # of the ten parameters of a link
PROBE = 0.1  # m, shift of a joint's origin from which its polynomial is computed
NEWTON_STEPS = 20

Torques = Callable[[States], Array]  # (k, n) of k states


class Explanation(NamedTuple):
    """A mistake, and the torques of our model with it."""

    kind: str
    text: str  # the kind with its numbers
    torque: Array  # (k, n) at the states of the diagnosis
    torques: Torques  # at any other states
    supported: bool = True  # the states give enough equations for its unknowns
    single: bool = True  # a mistake in one place, not in every link
    exact: bool = False  # of values of the URDF, without unknowns


def torques(model: RobotModel, states: States) -> Array:
    """Return the torques (k, n) of a robot, without compilation."""
    return by_state(rnea(canonical_tree(model), *by_joint(states)), states)


def explanations(
    model: RobotModel,
    states: States,
    reported: Array,
    ours: Array,
    tolerance: float,
    count: int,
    misread: Mapping[str, RobotModel],
) -> Iterator[Explanation]:
    """Yield mistakes, the simplest first; one that includes another that fits is omitted.

    Args:
        model: the robot as it should be.
        states: k states.
        reported: (k, n) torques, N m or N.
        ours: (k, n) torques of the model.
        tolerance: largest difference of a fit, N m or N.
        count: number of independent states.
        misread: robots to try, by the mistake they contain.
    """
    r = reported - ours

    def fitting(found: Explanation) -> bool:
        return bool(np.abs(reported - found.torque).max() <= tolerance)

    yield from gravity(model, states, r, ours, count)
    yield from joint_order(model, reported, ours)
    for mistake, robot in misread.items():
        yield other_robot(mistake, robot, states)._replace(exact=True)
    for mistake, robot in reversed_axes(model):
        yield other_robot(mistake, robot, states)
    yield from shifted_origins(model, states, r, ours, count, tolerance)
    yield from per_joint(model, states, r, ours, count)
    yield from links(model, states, r, ours, count, fitting)


# -- kinds --------------------------------------------------------------------------------------


def gravity(
    model: RobotModel, states: States, r: Array, ours: Array, count: int
) -> Iterator[Explanation]:
    """Yield the gravity vector that fits a difference r (k, n) best."""
    Y = np.array([gravity_columns(model, q) for q in states.q])
    x, explained = _fitted(Y, r)
    found = model.gravity + x
    found = np.where(np.abs(found) < 1e-6 * np.abs(x).max(), 0.0, found)
    robot = model.with_gravity(found)
    yield Explanation(
        'gravity',
        f'gravity {vector(found)} m/s^2 instead of {vector(model.gravity)}{_seen(Y)}',
        ours + explained,
        partial(torques, robot),
        _supported(Y, count),
    )


def gravity_columns(model: RobotModel, q: Array) -> Array:
    """Return G (n, 3) with the gravity torque G g."""
    # U = -sum m_i g . r_i,   dU/dq = -sum m_i J_i^T g
    poses = body_poses(model, q)
    pull = sum(m * J[3:] for m, J in zip(model.mass, com_jacobians(model, poses), strict=True))
    return np.asarray(-(pull @ model.S).T)


def joint_order(model: RobotModel, reported: Array, ours: Array) -> Iterator[Explanation]:
    """Yield the order of joints in which our torques are nearest to the reported ones."""
    distance = np.abs(reported[:, :, None] - ours[:, None, :]).max(axis=0)
    nearest = distance.argmin(axis=1)
    if sorted(nearest) == list(range(model.n)):
        names = ', '.join(model.joint_names[j] for j in nearest)
        yield Explanation(
            'the joints in another order',
            f'the joints in another order ({names})',
            ours[:, nearest],
            lambda states: torques(model, states)[:, nearest],
        )


def other_robot(mistake: str, robot: RobotModel, states: States) -> Explanation:
    """Return the torques of a robot with a mistake as an explanation."""
    return Explanation(mistake, mistake, torques(robot, states), partial(torques, robot))


def shifted_origins(
    model: RobotModel, states: States, r: Array, ours: Array, count: int, tolerance: float
) -> Iterator[Explanation]:
    """Yield for each joint the shift of its origin in the parent link that fits r best."""
    differing = np.abs(r).max(axis=0) > tolerance
    for i in range(model.nb):
        if differing[_unaffected(model, i)].any():
            continue  # on another branch of the tree
        # Positions are linear in the shift d, energies of second degree, and so are the torques:
        # r(d) = L d + d^T H d / 2, known from its values at a few shifts.
        L, H = _polynomial(model, i, states, ours)
        if not L.any():
            continue  # mounted on the base: torques do not depend on its place
        d = np.zeros(3)
        for _ in range(NEWTON_STEPS):
            slope = L + H @ d
            missing = r - (L + H @ d / 2) @ d
            flat = slope.reshape(r.size, 3)
            d = d + np.linalg.lstsq(flat, missing.ravel(), rcond=ROUNDING)[0]
        kind = f'a shifted origin of {joint_of(model, i)}'
        robot = shifted(model, i, d)
        yield Explanation(
            kind,
            f'{kind}, by {vector(d)} m in its parent link{_seen(L)}',
            ours + (L + H @ d / 2) @ d,
            partial(torques, robot),
            _supported(L, count),
        )


def shifted(model: RobotModel, i: int, d: Array) -> RobotModel:
    """Return the robot whose body i is mounted d (3,) [m] further, in the axes of its parent."""
    placement = model.placement.copy()
    placement[i, :3, 3] += d
    return replace(model, placement=placement)


def per_joint(
    model: RobotModel, states: States, r: Array, ours: Array, count: int
) -> Iterator[Explanation]:
    """Yield mistakes with unknowns of their own for each joint."""
    kinds: dict[str, tuple[str, Callable[[States, Array], list[Array]]]] = {
        'torques multiplied': (' by {}', lambda states, tau: [tau]),
        'a constant torque added': (', {} N m or N', lambda states, tau: [np.ones_like(tau)]),
        'rotor inertia added': (', {} kg m^2 or kg', lambda states, tau: [states.qdd]),
        'friction added': (
            ', viscous {} N m s/rad or N s/m, dry {} N m or N',
            lambda states, tau: [states.qd, np.sign(states.qd)],
        ),
    }
    # The same number for all, so that none is preferred for its fewer unknowns.
    unknowns = max(len(features(states, ours)) for _, features in kinds.values())
    for kind, (numbers, features) in kinds.items():
        Y = np.stack(features(states, ours), axis=-1)
        x = np.array([np.linalg.lstsq(Y[:, j], r[:, j], rcond=None)[0] for j in range(model.n)]).T

        def at(states: States, x: Array = x, features: Any = features) -> Array:
            tau = torques(model, states)
            return np.asarray(tau + np.sum(x[:, None] * np.stack(features(states, tau)), axis=0))

        shown = x + 1 if 'multiplied' in kind else x
        yield Explanation(
            kind,
            kind + numbers.format(*(each(row) for row in shown)),
            at(states),
            at,
            count >= EVIDENCE * unknowns,
        )


def links(
    model: RobotModel,
    states: States,
    r: Array,
    ours: Array,
    count: int,
    fitting: Callable[[Explanation], bool],
) -> Iterator[Explanation]:
    """Yield wrong inertias: of one link, or the tensors of all."""

    def explanation(
        kind: str, Y: Array, x: Array, bodies: Any, supported: bool, detail: str = ''
    ) -> Explanation:
        def at(states: States) -> Array:
            Y = columns(model, states)[:, :, bodies, -size:]
            return np.asarray(torques(model, states) + Y.reshape(*Y.shape[:2], -1) @ x)

        size = len(x) if isinstance(bodies, int) else 6
        return Explanation(
            kind, kind + detail, ours + Y @ x, at, supported, isinstance(bodies, int)
        )

    Y = columns(model, states)
    found = []
    for i, name in enumerate(model.body_names):
        # A tensor alone has fewer unknowns than the link; it is supported where the link is.
        supported = _supported(Y[:, :, i], count)
        x, _ = _fitted(Y[:, :, i, TENSOR_ONLY], r)
        tensor = explanation(
            f'another inertia tensor of link {name!r}', Y[:, :, i, TENSOR_ONLY], x, i, supported
        )
        if fitting(tensor):
            found.append(tensor)
            continue
        x, _ = _fitted(Y[:, :, i], r)
        change = _link_change(model, i, x, _mass_determined(Y[:, :, i]))
        found.append(
            explanation(f'another link {name!r}', Y[:, :, i], x, i, supported, f': {change}')
        )
    yield from found
    # Where several links fit alone, their tensors fit as well.
    if sum(map(fitting, found)) != 1:
        tensors = Y[..., TENSOR_ONLY].reshape(*r.shape, -1)
        x, _ = _fitted(tensors, r)
        yield explanation(
            'other inertia tensors with the same masses and centres of mass, as where tensors '
            'come from collision shapes',
            tensors,
            x,
            slice(None),
            _supported(tensors, count),
        )


# -- helpers ------------------------------------------------------------------------------------


def by_joint(states: States) -> list[list[Array]]:
    """Return q, qd and qdd of k states as one array (k,) per joint, as algorithms need it."""
    return [list(array.T) for array in states]


def by_state(scalars: Any, states: States) -> Array:
    """Return nested lists of scalars or arrays (k,) as one array (k, ...)."""
    if isinstance(scalars, list | tuple):
        return np.stack([by_state(item, states) for item in scalars], axis=1)
    return np.broadcast_to(np.asarray(scalars, dtype=float), len(states.q))


def columns(model: RobotModel, states: States) -> Array:
    """Return the regressor Y (k, n, nb, 10)."""
    Y = by_state(regressor(canonical_tree(model), *by_joint(states)), states)
    return Y.reshape(*states.q.shape, model.nb, 10)


def _unaffected(model: RobotModel, i: int) -> Array:
    """Return the mask (n,) of coordinates whose torques do not depend on where body i is mounted.

    They move no body between the base and i, and none that i carries.
    """
    along = np.array([i in model.support(b) for b in range(model.nb)])
    along[model.support(i)] = True
    return np.asarray(~(model.S[along] != 0).any(axis=0))


def _polynomial(model: RobotModel, i: int, states: States, ours: Array) -> tuple[Array, Array]:
    """Return L (k, n, 3) and H (k, n, 3, 3) of the torques' polynomial in a shift of body i."""

    def change(d: Array) -> Array:
        return torques(shifted(model, i, d), states) - ours

    steps = PROBE * np.eye(3)
    ahead, behind = ([change(sign * step) for step in steps] for sign in (1, -1))
    L, H = np.zeros((*ours.shape, 3)), np.zeros((*ours.shape, 3, 3))
    for a in range(3):
        L[..., a] = (ahead[a] - behind[a]) / (2 * PROBE)
        H[..., a, a] = (ahead[a] + behind[a]) / PROBE**2
        for b in range(a):
            both = change(steps[a] + steps[b])
            H[..., a, b] = H[..., b, a] = (both - ahead[a] - ahead[b]) / PROBE**2
    # Coefficients within the rounding of the torques are zero.
    size = ROUNDING * np.abs(ours).max() / PROBE
    return np.where(np.abs(L) > size, L, 0.0), np.where(np.abs(H) > size / PROBE, H, 0.0)


def _fitted(Y: Array, r: Array) -> tuple[Array, Array]:
    """Return x (p,), the least squares of Y (k, n, p) x = r (k, n), and Y x."""
    x = np.linalg.lstsq(Y.reshape(r.size, -1), r.ravel(), rcond=None)[0]
    return x, np.asarray(Y @ x)


def _supported(Y: Array, count: int) -> bool:
    """Return whether `count` independent states determine x in a fit by Y (k, n, p) x.

    Joints on which x has no effect do not count.
    """
    rows = np.count_nonzero(Y.any(axis=(0, 2)))
    rank = np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]))
    return bool(rows * count >= EVIDENCE * rank)


def _seen(Y: Array) -> str:
    """Return a remark on a vector (3,) that Y (k, n, 3) determines only in part."""
    complete = np.linalg.matrix_rank(Y.reshape(-1, 3), ROUNDING * np.abs(Y).max()) == 3
    return '' if complete else ', as far as these torques depend on it'


def _mass_determined(Y: Array) -> bool:
    """Return whether Y (k, n, 10) determines the mass and the first moments of a link."""
    flat = Y.reshape(-1, 10)
    rank = np.linalg.matrix_rank(flat)
    return all(
        np.linalg.matrix_rank(np.delete(flat, k, axis=1)) < rank for k in range(TENSOR_ONLY.start)
    )


def _link_change(model: RobotModel, i: int, change: Array, mass_determined: bool) -> str:
    """Return a description of a link after a change of its ten parameters."""
    if not mass_determined:
        return 'its mass or its centre of mass'
    before = model.inertial(i)
    mass, *moment = (to_parameters(before) + change)[: TENSOR_ONLY.start]
    if abs(mass) <= EXPLAINED * before.mass:
        return f'without its {before.mass:.6g} kg'
    return (
        f'{mass:.6g} kg instead of {before.mass:.6g} kg, centre '
        f'{vector(np.array(moment) / mass)} instead of {vector(before.com)} m'
    )


def each(values: Array) -> str:
    """Return the values of the joints as text, one number if all are equal."""
    numbers = vector(values)[1:-1].split(', ')
    return numbers[0] if len(set(numbers)) == 1 else vector(values)


def vector(values: Array) -> str:
    """Return values as text, to four digits."""
    rounded = [float(f'{value:.4g}') for value in values]
    # Values far below the largest are rounding.
    largest = max(map(abs, rounded), default=0.0)
    return f'({", ".join(f"{0.0 if abs(v) < 1e-6 * largest else v:g}" for v in rounded)})'
