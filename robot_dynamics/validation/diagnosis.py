"""Causes of torques that differ from ours: the single mistakes whose torques they are.

Torques are linear in gravity, in the inertial parameters of each link, in friction coefficients
and rotor inertias. The difference r between reported torques and ours, over several states, is
fitted by

    r = Y x,        Y known, x the mistake,

for one kind of mistake after another. Mistakes that are not linear are tried as they are: the
robots of `faults`, reversed joint axes, joints in another order; a shifted joint origin is found
by Newton's method.

A fit alone proves little: states that follow one another in a smooth motion are nearly the same
state, and enough unknowns fit anything there. A cause is therefore named as certain only if the
states hold twice as many independent equations as it has unknowns, and if no other kind fits.
Otherwise the causes that fit are listed.
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
from robot_dynamics.model.states import ACCELERATION, FASTEST, States
from robot_dynamics.spatial import Array
from robot_dynamics.validation.faults import joint_of, reversed_axes

ENOUGH = 12  # states that are used
EXPLAINED = 1e-3  # part of the difference that an explanation may leave over
ROUNDING = 1e-9  # part of the torques that is no difference
EVIDENCE = 2  # independent equations per unknown, at least
TENSOR_ONLY = slice(4, 10)  # of the ten parameters of a link
PROBE = 0.1  # m, shift of a joint's origin from which its polynomial is computed
NEWTON_STEPS = 20
LISTED = 4  # causes, where the states cannot tell

Torques = Callable[[States], Array]  # (k, n) of k states


class Explanation(NamedTuple):
    """A mistake, and the torques that it makes of ours."""

    kind: str
    what: str  # the kind with its numbers
    torque: Array  # (k, n) at the states of the diagnosis
    torques: Torques  # at any other states
    supported: bool = True  # the states hold enough equations for its unknowns
    single: bool = True  # a mistake in one place, not in every link
    exact: bool = False  # of values that the URDF has, without any unknown


class Cause(NamedTuple):
    """A single mistake, or several between which the states cannot tell."""

    what: str
    certain: bool
    torques: Torques  # of the mistake, of the first one if there are several

    def sentence(self, source: str) -> str:
        """Return the cause of torques from this source in words."""
        if self.certain:
            return f'the torques of {source} are those of {self.what}'
        return f'cannot tell from these states: the torques of {source} fit {self.what}'


def likely_cause(
    model: RobotModel,
    states: States,
    reported: Array,
    faults: Mapping[str, RobotModel] | None = None,
) -> Cause | None:
    """Return the mistake that explains the reported torques, None if no single one does.

    Args:
        model: the robot as it should be.
        states: (k, n); a few, of different postures and speeds.
        reported: (k, n) torques, N m or N.
        faults: robots to try, by what is wrong with them.
    """
    states = States(*(rows[:ENOUGH] for rows in states))
    reported = reported[:ENOUGH]
    ours = torques(model, states)
    tolerance = allowed(reported, ours)
    if not np.abs(reported - ours).max() > ROUNDING * np.abs(ours).max():
        return None
    if not np.isfinite(tolerance):
        return None
    fits = [
        found
        for found in explanations(model, states, reported, ours, tolerance, faults or {})
        if np.abs(reported - found.torque).max() <= tolerance
    ]
    # No unknown takes by chance a value that makes the torques those of a known fault.
    fits = [found for found in fits if found.exact] or fits
    # Many unknowns that fit whatever the mistake is do not cast doubt on a single one.
    singles = [found for found in fits if found.single or found.supported]
    if len(singles) == 1 and singles[0].supported:
        return Cause(singles[0].what, True, singles[0].torques)
    if not fits:
        return None
    # Numbers mean something only where the states determine them.
    listed = [found.what if found.supported else found.kind for found in fits[:LISTED]]
    if len(fits) > LISTED:
        listed.append('others')
    return Cause(', or '.join(listed), False, fits[0].torques)


def explains(cause: Cause, model: RobotModel, states: States, reported: Array) -> bool:
    """Return whether a cause that was found at other states explains the torques at these."""
    tolerance = allowed(reported, torques(model, states))
    return bool(np.abs(reported - cause.torques(states)).max() <= tolerance)


def allowed(reported: Array, ours: Array) -> float:
    """Return the largest difference [N m or N] that an explanation may leave."""
    return float(
        EXPLAINED * np.abs(reported - ours).max() + ROUNDING * np.abs(ours).max(initial=0.0)
    )


def independent(states: States) -> int:
    """Return how many of the states a smooth function of the state can tell apart.

    It is the rank, to the accuracy of an explanation, of a Gaussian kernel: the number of values
    that such a function can take independently of one another. Neighbouring states of a slow
    motion count for 2 or 3, however many they are.
    """
    eigenvalues = np.linalg.eigvalsh(np.exp(-squared_distances(states) / 2))
    return int((eigenvalues > EXPLAINED**2 * len(eigenvalues)).sum())


def squared_distances(states: States) -> Array:
    """Return how far apart states are (k, k): 1 is one in which torques differ altogether."""
    x = np.hstack([states.q, states.qd / FASTEST, states.qdd / ACCELERATION])
    return np.asarray(((x[:, None] - x[None]) ** 2).sum(axis=-1))


def explanations(
    model: RobotModel,
    states: States,
    reported: Array,
    ours: Array,
    tolerance: float,
    faults: Mapping[str, RobotModel],
) -> Iterator[Explanation]:
    """Yield mistakes, the simplest first; those that contain one that fits are left out."""
    r = reported - ours
    count = independent(states)

    def fitting(found: Explanation) -> bool:
        return bool(np.abs(reported - found.torque).max() <= tolerance)

    yield from gravity(model, states, r, ours, count)
    yield from order(model, reported, ours)
    for what, robot in faults.items():
        yield of_robot(what, robot, states)._replace(exact=True)
    for what, robot in reversed_axes(model):
        yield of_robot(what, robot, states)
    yield from shifted_origins(model, states, r, ours, count, tolerance)
    yield from per_joint(model, states, r, ours, count)
    yield from links(model, states, r, ours, count, fitting)


def torques(model: RobotModel, states: States) -> Array:
    """Return the torques (k, n) of a robot, computed without compiling anything."""
    return by_state(rnea(canonical_tree(model), *by_joint(states)), states)


# -- kinds of mistakes --------------------------------------------------------------------------


def gravity(
    model: RobotModel, states: States, r: Array, ours: Array, count: int
) -> Iterator[Explanation]:
    """Yield the gravity that explains a difference r (k, n) best."""
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


def order(model: RobotModel, reported: Array, ours: Array) -> Iterator[Explanation]:
    """Yield the order of joints in which ours come nearest to the reported torques."""
    apart = np.abs(reported[:, :, None] - ours[:, None, :]).max(axis=0)
    nearest = apart.argmin(axis=1)
    if sorted(nearest) == list(range(model.n)):
        names = ', '.join(model.joint_names[j] for j in nearest)
        yield Explanation(
            'the joints in another order',
            f'the joints in another order ({names})',
            ours[:, nearest],
            lambda states: torques(model, states)[:, nearest],
        )


def of_robot(what: str, robot: RobotModel, states: States) -> Explanation:
    """Return the explanation that the torques are those of another robot."""
    return Explanation(what, what, torques(robot, states), partial(torques, robot))


def shifted_origins(
    model: RobotModel, states: States, r: Array, ours: Array, count: int, tolerance: float
) -> Iterator[Explanation]:
    """Yield for each joint the shift of its origin in the parent link that explains r best."""
    differing = np.abs(r).max(axis=0) > tolerance
    for i in range(model.nb):
        if differing[_unaffected(model, i)].any():
            continue  # on another branch of the tree
        # Positions are linear in the shift d, energies of second degree, and so are the torques:
        # r(d) = L d + d^T H d / 2, known from its values at a few shifts.
        L, H = _polynomial(model, i, states, ours)
        if not L.any():
            continue  # carried by the base: torques do not depend on where
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
    """Yield mistakes that each joint makes by itself."""
    kinds: dict[str, tuple[str, Callable[[States, Array], list[Array]]]] = {
        'torques multiplied': (' by {}', lambda states, tau: [tau]),
        'a constant torque added': (', {} N m or N', lambda states, tau: [np.ones_like(tau)]),
        'rotor inertia added': (', {} kg m^2 or kg', lambda states, tau: [states.qdd]),
        'friction added': (
            ', viscous {} N m s/rad or N s/m, dry {} N m or N',
            lambda states, tau: [states.qd, np.sign(states.qd)],
        ),
    }
    # Counted alike, so that none fits for being the one with fewer.
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
    """Yield other inertias: of one link, or the tensors of all."""

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
        # A tensor alone has fewer unknowns than the link. It is certain where the link is.
        supported = _supported(Y[:, :, i], count)
        x, _ = _fitted(Y[:, :, i, TENSOR_ONLY], r)
        tensor = explanation(
            f'another inertia tensor of link {name!r}', Y[:, :, i, TENSOR_ONLY], x, i, supported
        )
        if fitting(tensor):
            found.append(tensor)
            continue
        x, _ = _fitted(Y[:, :, i], r)
        what = _other_link(model, i, x, _weighed(Y[:, :, i]))
        found.append(
            explanation(f'another link {name!r}', Y[:, :, i], x, i, supported, f': {what}')
        )
    yield from found
    # Where several links fit alone, their tensors fit together.
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
    """Return q, qd and qdd of k states as the algorithms take a batch: per joint an array (k,)."""
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
    # What is rounding beside the torques is no dependence.
    size = ROUNDING * np.abs(ours).max() / PROBE
    return np.where(np.abs(L) > size, L, 0.0), np.where(np.abs(H) > size / PROBE, H, 0.0)


def _fitted(Y: Array, r: Array) -> tuple[Array, Array]:
    """Return x (p,), smallest, with Y (k, n, p) x nearest to r (k, n), and Y x."""
    x = np.linalg.lstsq(Y.reshape(r.size, -1), r.ravel(), rcond=None)[0]
    return x, np.asarray(Y @ x)


def _supported(Y: Array, count: int) -> bool:
    """Return whether a fit of x with Y (k, n, p) x is evidence for `count` independent states.

    Joints on which x has no effect are no evidence for a value of it.
    """
    rows = np.count_nonzero(Y.any(axis=(0, 2)))
    rank = np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]))
    return bool(rows * count >= EVIDENCE * rank)


def _seen(Y: Array) -> str:
    """Return a remark for a vector (3,) that Y (k, n, 3) determines only in part."""
    complete = np.linalg.matrix_rank(Y.reshape(-1, 3), ROUNDING * np.abs(Y).max()) == 3
    return '' if complete else ', as far as these torques depend on it'


def _weighed(Y: Array) -> bool:
    """Say whether torques (k, n, 10) tell the mass of a link, and its centre, from the rest."""
    flat = Y.reshape(-1, 10)
    rank = np.linalg.matrix_rank(flat)
    return all(
        np.linalg.matrix_rank(np.delete(flat, k, axis=1)) < rank for k in range(TENSOR_ONLY.start)
    )


def _other_link(model: RobotModel, i: int, change: Array, weighed: bool) -> str:
    """Return in words what a link becomes by a change of its ten parameters."""
    if not weighed:
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
    """Return numbers of the joints, one if all are the same."""
    words = vector(values)[1:-1].split(', ')
    return words[0] if len(set(words)) == 1 else vector(values)


def vector(values: Array) -> str:
    """Return numbers as people write them."""
    rounded = [float(f'{value:.4g}') for value in values]
    # What is nothing beside the others is rounding.
    largest = max(map(abs, rounded), default=0.0)
    return f'({", ".join(f"{0.0 if abs(v) < 1e-6 * largest else v:g}" for v in rounded)})'
