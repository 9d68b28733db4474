"""Why somebody finds other torques: the simplest single mistake that explains them.

Torques are linear in whatever is most often wrong: in gravity, in the inertial parameters of each
link, in friction coefficients and rotor inertias. So the difference r between the torques somebody
says and ours, over several states, is tried as

    r = Y x,        Y known, x the mistake,

for one kind of mistake after another, those with the fewest numbers first. One that leaves nothing
over is named. Mistakes that are not linear are tried as they are: the robots of `faults`, and
joints in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robot_dynamics.algorithms.regressor import regressor
from robot_dynamics.algorithms.rnea import rnea
from robot_dynamics.kinematics import body_poses, com_jacobians
from robot_dynamics.model.canonical import canonical_tree
from robot_dynamics.model.inertia import to_parameters
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array
from robot_dynamics.validation.states import States

ENOUGH = 12  # states that are looked at
EXPLAINED = 1e-3  # part of the difference that an explanation may leave over
ROUNDING = 1e-9  # part of the torques that is no difference
EVIDENCE = 2  # equations per unknown, at least
TENSOR_ONLY = slice(4, 10)  # of the ten parameters of a link

# In an explanation: what the torques are those of.
Explanations = Iterator[tuple[str, Array]]


def likely_cause(
    model: RobotModel, states: States, said: Array, faults: Mapping[str, RobotModel] | None = None
) -> str:
    """Return what the torques somebody says are those of, '' if that is not clear.

    Args:
        model: the robot as it should be.
        states: where (k, n); a few, of different postures and speeds.
        said: (k, n) the torques somebody says.
        faults: robots to try, by what is wrong with them.
    """
    states = States(*(rows[:ENOUGH] for rows in states))
    said = said[:ENOUGH]
    ours = torques(model, states)
    size = np.abs(said - ours).max()
    noise = ROUNDING * np.abs(ours).max()
    if not np.isfinite(size) or size <= noise:
        return ''
    for what, torque in explanations(model, states, said, ours, faults or {}):
        if np.abs(said - torque).max() <= EXPLAINED * size + noise:
            return what
    return ''


def explanations(
    model: RobotModel, states: States, said: Array, ours: Array, faults: Mapping[str, RobotModel]
) -> Explanations:
    """Yield mistakes and their torques (k, n), the simplest first."""
    yield from gravity(model, states, said - ours, ours)
    yield from order(model, said, ours)
    for what, robot in faults.items():
        yield what, torques(robot, states)
    yield from per_joint(model, states, said - ours, ours)
    yield from links(model, states, said - ours, ours)


def torques(model: RobotModel, states: States) -> Array:
    """Return the torques (k, n) of a robot, computed without compiling anything."""
    tree = canonical_tree(model)
    rows = zip(*(array.tolist() for array in states), strict=True)
    tau = np.array([rnea(tree, *row) for row in rows], dtype=float)
    return np.asarray(tau)


# -- kinds of mistakes --------------------------------------------------------------------------


def gravity(model: RobotModel, states: States, r: Array, ours: Array) -> Explanations:
    """Yield the gravity that explains a difference r (k, n) best."""
    columns = np.array([gravity_columns(model, q) for q in states.q])
    x, explained = _fitted(columns, r)
    if x is not None:
        found = model.gravity + x
        found = np.where(np.abs(found) < 1e-6 * np.abs(x).max(), 0.0, found)
        yield f'gravity {vector(found)} m/s^2 instead of {vector(model.gravity)}', ours + explained


def gravity_columns(model: RobotModel, q: Array) -> Array:
    """Return G (n, 3) with the gravity torque G g."""
    # U = -sum m_i g . r_i,   dU/dq = -sum m_i J_i^T g
    poses = body_poses(model, q)
    pull = sum(m * J[3:] for m, J in zip(model.mass, com_jacobians(model, poses), strict=True))
    return np.asarray(-(pull @ model.S).T)


def order(model: RobotModel, said: Array, ours: Array) -> Explanations:
    """Yield the order of joints in which ours come nearest to what is said."""
    apart = np.abs(said[:, :, None] - ours[:, None, :]).max(axis=0)
    nearest = apart.argmin(axis=1)
    if sorted(nearest) == list(range(model.n)):
        names = ', '.join(model.joint_names[j] for j in nearest)
        yield f'the joints in another order ({names})', ours[:, nearest]


def per_joint(model: RobotModel, states: States, r: Array, ours: Array) -> Explanations:
    """Yield what each joint may do by itself."""
    one, sign = np.ones_like(ours), np.sign(states.qd)
    kinds: dict[str, list[Array]] = {
        'torques multiplied by {}': [ours],
        'a constant torque added, {} N m or N': [one],
        'rotor inertia added, {} kg m^2 or kg': [states.qdd],
        'friction added, viscous {} N m s/rad or N s/m, dry {} N m or N': [states.qd, sign],
    }
    for what, features in kinds.items():
        if len(r) < EVIDENCE * len(features):
            continue
        x, explained = np.zeros((len(features), model.n)), np.zeros_like(r)
        for j in range(model.n):
            Y = np.stack([feature[:, j] for feature in features], axis=-1)
            x[:, j] = np.linalg.lstsq(Y, r[:, j], rcond=None)[0]
            explained[:, j] = Y @ x[:, j]
        if 'multiplied' in what:
            x = x + 1
        yield what.format(*(each(row) for row in x)), ours + explained


def links(model: RobotModel, states: States, r: Array, ours: Array) -> Explanations:
    """Yield other inertias: of one link, or the tensors of all."""
    tree = canonical_tree(model)
    rows = zip(*(array.tolist() for array in states), strict=True)
    Y = np.array([regressor(tree, *row) for row in rows], dtype=float)
    Y = Y.reshape(*r.shape, model.nb, 10)
    for i, name in enumerate(model.body_names):
        x, explained = _fitted(Y[:, :, i, TENSOR_ONLY], r)
        if x is not None:
            yield f'another inertia tensor of link {name!r}', ours + explained
        x, explained = _fitted(Y[:, :, i], r)
        if x is not None:
            what = _other_link(model, i, x, _weighed(Y[:, :, i]))
            yield f'another link {name!r}: {what}', ours + explained
    x, explained = _fitted(Y[..., TENSOR_ONLY].reshape(*r.shape, -1), r)
    if x is not None:
        yield (
            'other inertia tensors with the same masses and centres of mass, as where tensors '
            'come from collision shapes',
            ours + explained,
        )


# -- helpers ------------------------------------------------------------------------------------


def _fitted(Y: Array, r: Array) -> tuple[Array | None, Array]:
    """Return x (p,), smallest, with Y (k, n, p) x nearest to r (k, n), and Y x.

    None for x if a good fit would be no evidence.
    """
    flat = Y.reshape(r.size, -1)
    if r.size < EVIDENCE * np.linalg.matrix_rank(flat):
        return None, np.zeros_like(r)
    x = np.linalg.lstsq(flat, r.ravel(), rcond=None)[0]
    return x, np.asarray(Y @ x)


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
