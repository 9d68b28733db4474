# SPDX-License-Identifier: Apache-2.0
"""Possible causes of a residual: directions in the space of a model's errors, and their limits.

Each hypothesis has one or more unknowns, the directions in which they change the errors of the
model (the columns of `cause_columns`), and the prior standard deviations of the unknowns. Several
describe the same body: all ten parameters of its inertia, its mass alone, mass and tensor in
proportion; and one scale describes all joints at once.

A cause is physically possible if friction, rotor inertia and mass of the corrected model are not
negative, the centre of mass is within reach of the link, and gravity has its magnitude on Earth
and another direction, or is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.evaluation.cause_columns import (
    BODIES,
    DELAY,
    GRAVITY,
    OF_JOINTS,
    OF_TORQUE,
    PER_BODY,
    Comparison,
)
from robot_dynamics.evaluation.search_numbers import (
    CERTAIN,
    LIMITS,
    PRICES,
    PRIORS,
    SMALL,
)

INEXACT_IN = ('dry friction', 'viscous friction', 'rotor inertia', 'scale')


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A possible cause; k unknowns.

    Attributes:
        kind: of OF_JOINTS, 'load', 'inertia', 'gravity' or 'delay'.
        place: the joint or link; empty for the whole robot.
        directions: (k, 6 n + P) changes of the columns' unknowns, those of joints by kind.
        prior: (k,) standard deviations of the unknowns.
        joint, body: indices, or -1.
        price: in log probability: how much a cause must explain.
        small: an error that every joint or link may have, no cause.
    """

    kind: str
    place: str
    directions: Array
    prior: Array
    joint: int = -1
    body: int = -1
    price: float = PRICES.cause
    small: bool = False


@dataclass(frozen=True, eq=False)
class Cause:
    """An error of the model; positive if the model underestimates.

    Attributes:
        kind: of OF_JOINTS, 'gravity', 'delay', 'load', 'inertia' of a link, or 'centre of mass'
            of a load without a certain mass.
        place: the joint or link; empty for the whole robot.
        value: in the units of `cause_columns`; of a load m and c, of a centre of mass m c.
        error: standard deviations of these.
        joint: of the largest torque.
        size: N m or N there, root mean square.
        alternatives: causes that explain the residual nearly as well.
    """

    kind: str
    place: str
    value: Array
    error: Array
    joint: str
    size: float
    alternatives: tuple[Cause, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class Findings:
    """Causes of residuals.

    Attributes:
        searched: whether causes were searched: joints moved enough, below the cut-off frequency.
        doubtful: whether causes were dropped as physically impossible, or invalid in some block
            of the recording.
        causes: errors of the model, ordered by the share of the residual they explain.
        unexplained: (n,) root mean square of the residual without the causes, N m or N.
        delay: of the efforts against the motion, s, and its standard deviation.
        undetermined: kinds and joints of errors of 5 % of the effort that would not be found.
    """

    searched: bool
    doubtful: bool
    causes: tuple[Cause, ...]
    unexplained: Array
    delay: tuple[float, float]
    undetermined: tuple[tuple[str, str], ...]


def hypotheses(compared: Comparison, determined: Array) -> list[Hypothesis]:
    """Return the possible causes.

    Args:
        compared: efforts and model.
        determined: (6, n) bool: the motion excites this cause of this joint.
    """
    arm, columns = compared.arm, compared.columns
    names, n = arm.model.joint_names, arm.model.n
    own = len(OF_JOINTS) * n
    size = np.sqrt((columns.of_joints**2).mean(axis=1))
    # As much torque as the joint has.
    of_torque = np.isin(OF_JOINTS, OF_TORQUE)[:, None]
    prior = compared.effort / np.where(size > 0, np.where(of_torque, 1.0, size), np.inf)
    prior[OF_JOINTS.index('scale')] = PRIORS.scale
    unit = np.eye(own + len(columns.of_robot))
    at = {kind: k * n for k, kind in enumerate(OF_JOINTS)}
    found = [
        Hypothesis(kind, names[j], unit[[at[kind] + j]], prior[[k], j], joint=j)
        for k, kind in enumerate(OF_JOINTS)
        for j in range(n)
        if determined[k, j] and prior[k, j] > 0
    ]
    together = unit[at['scale'] : at['scale'] + n] * determined[-1][:, None]
    found.append(Hypothesis('scale', '', together.sum(axis=0)[None], np.array([PRIORS.scale])))
    of_robot = unit[own:]
    found.append(Hypothesis('delay', '', of_robot[[DELAY]], np.array([PRIORS.delay])))
    if columns.of_robot[GRAVITY].any():
        found += _of_gravity(arm.model.gravity, of_robot[GRAVITY])
    return [
        *found,
        *_of_bodies(arm.model, int(arm.tree.frame(compared.link).body), of_robot[BODIES]),
    ]


def _of_gravity(gravity: Array, unit: Array) -> Iterator[Hypothesis]:
    yield Hypothesis('gravity', '', unit, np.full(3, PRIORS.gravity))
    if gravity.any():
        # Two directions across gravity, and one along it.
        across = np.linalg.svd(gravity[None])[2][[1, 2, 0]]
        yield Hypothesis(
            'gravity', '', across @ unit, np.array([PRIORS.gravity, PRIORS.gravity, PRIORS.longer])
        )
        yield Hypothesis('gravity', '', -gravity[None] @ unit, np.ones(1))


def inexact(found: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return the small errors that every joint has: gain, friction and inertia of its drive.

    Args:
        found: the possible causes.
    """
    small = []
    for h in found:
        if h.joint >= 0 and h.kind in INEXACT_IN:
            of_effort = 1.0 if h.kind == 'scale' else h.prior
            prior = SMALL.of_effort * np.broadcast_to(of_effort, 1)
            small.append(replace(h, prior=prior, price=0.0, small=True))
    return small


def inexact_links(found: Sequence[Hypothesis], share: float) -> list[Hypothesis]:
    """Return small errors of the inertias of all links.

    Args:
        found: the possible causes.
        share: of their priors.
    """
    whole = [h for h in found if h.body >= 0 and len(h.prior) == PER_BODY]
    return [replace(h, prior=share * h.prior, price=0.0, small=True) for h in whole]


def exclusive(found: Sequence[Hypothesis]) -> Array:
    """Return a mask (G, G) of hypotheses that describe the same thing, themselves included."""

    def same(a: Hypothesis, b: Hypothesis) -> bool:
        if a.small or b.small:
            return a is b
        if a.body >= 0 or b.body >= 0:
            return a.body == b.body
        return a.kind == b.kind and (a.place == b.place or not (a.place and b.place))

    return np.array([[same(a, b) for b in found] for a in found])


def _of_bodies(model: RobotModel, loaded: int, unit: Array) -> Iterator[Hypothesis]:
    typical = float(model.mass.mean())
    for i, name in enumerate(model.body_names):
        here = unit[PER_BODY * i : PER_BODY * (i + 1)]
        m = max(typical, float(model.mass[i]))
        length = max(PRIORS.length, _extent(model, i))
        prior = m * np.array([1.0] + 3 * [length] + 6 * [length**2])
        if i == loaded:
            yield Hypothesis('load', name, here, prior, body=i)
        else:
            yield Hypothesis(
                'inertia', name, here, prior, body=i, price=PRICES.cause + PRICES.of_link
            )
        if i != loaded and model.mass[i] > 0:
            whole, point = (
                to_parameters(Inertial(float(model.mass[i]), model.com[i], tensor))
                for tensor in (model.inertia_com[i], np.zeros((3, 3)))
            )
            for part in (whole, point):
                yield Hypothesis(
                    'inertia', name, (part @ here)[None], np.array([PRIORS.of_mass]), body=i
                )


def possible(model: RobotModel, h: Hypothesis, value: Array, covariance: Array) -> bool:
    """Return whether a cause is physically possible, within its standard deviations.

    Args:
        model: the model.
        h: the hypothesis.
        value: (k,) of its unknowns.
        covariance: (k, k) of these.
    """
    error = CERTAIN * np.sqrt(covariance.diagonal())
    if h.kind == 'Stribeck friction':
        return bool(value[0] > 0)
    if h.joint >= 0 and (has := _of_model(model, h)) is not None:
        return bool(has + value[0] > -error[0])
    if h.kind == 'scale':  # of either sign, but not zero
        return bool(abs(1 + value[0]) > error[0])
    if h.kind == 'gravity':
        if len(value) == 1:  # the share of gravity that is absent
            return bool(abs(value[0] - 1) < LIMITS.no_gravity)
        T = _to_base(model, h)
        return _gravity_possible(model, value @ T, T.T @ covariance @ T)
    if h.body >= 0:
        return _inertia_possible(model, h, value, covariance)
    return True


def within_limits(model: RobotModel, h: Hypothesis, value: Array, covariance: Array) -> Array:
    """Return the nearest value that is physically possible, if noise moved it beyond."""
    if h.joint >= 0 and (has := _of_model(model, h)) is not None:
        return np.maximum(value, -has)
    if h.kind == 'gravity' and len(value) == 3:
        T = _to_base(model, h)
        gravity = model.gravity + value @ T
        size = float(np.linalg.norm(gravity))
        allowed = np.clip(size, *_magnitudes(model))
        n = T @ gravity / size
        return np.asarray(value + covariance @ n * (allowed - size) / (n @ covariance @ n))
    return value


def _of_model(model: RobotModel, h: Hypothesis) -> float | None:
    has = {
        'dry friction': model.coulomb,
        'viscous friction': model.viscous,
        'rotor inertia': model.reflected_inertia,
    }
    return float(has[h.kind][h.joint]) if h.kind in has else None


def _to_base(model: RobotModel, h: Hypothesis) -> Array:
    """Return the changes of gravity (k, 3) by the unknowns, in the base frame."""
    own = len(OF_JOINTS) * model.n
    return np.asarray(h.directions[:, own:][:, GRAVITY])


def _magnitudes(model: RobotModel) -> tuple[float, float]:
    """Return the smallest and largest magnitude of gravity, which may be that of the model."""
    size = float(np.linalg.norm(model.gravity))
    return min(size, LIMITS.earth[0]), max(size, LIMITS.earth[1])


def _gravity_possible(model: RobotModel, value: Array, covariance: Array) -> bool:
    gravity, assumed = model.gravity + value, model.gravity
    size, before = float(np.linalg.norm(gravity)), float(np.linalg.norm(assumed))
    n = gravity / size
    error = CERTAIN * float(np.sqrt(n @ covariance @ n))
    low, high = LIMITS.earth
    usual = low - error < size < high + error or abs(size - before) < error
    if not usual or before == 0:
        return usual
    angle = np.arccos(np.clip(n @ assumed / before, -1, 1))
    return bool(angle > LIMITS.least_tilt)


def _inertia_possible(model: RobotModel, h: Hypothesis, value: Array, covariance: Array) -> bool:
    m = float(model.mass[h.body])
    if len(value) == 1:
        return bool(1 + value[0] > 0)
    more = m + float(value[0])
    if more <= 0:
        return False
    com = (m * model.com[h.body] + value[1:4]) / more
    error = CERTAIN * float(np.sqrt(covariance.diagonal()[1:4].max())) / more
    return bool(np.linalg.norm(com) < _reach(model, h) + error)


def _reach(model: RobotModel, h: Hypothesis) -> float:
    """Return the largest distance of a centre of mass from the body's frame, m."""
    return _extent(model, h.body) + (LIMITS.load_reach if h.kind == 'load' else LIMITS.reach)


def _extent(model: RobotModel, i: int) -> float:
    """Return the largest distance from a body's frame to its joints, frames and centre, m."""
    points = [
        model.com[i],
        *model.placement[model.parent == i, :3, 3],
        *model.frame_placement[model.frame_body == i, :3, 3],
    ]
    return max(float(np.linalg.norm(point)) for point in points)


def cause(
    model: RobotModel, link: str, h: Hypothesis, x: Array, covariance: Array, torque: Array
) -> Cause:
    """Return a cause from the values of a hypothesis.

    Args:
        model: the model.
        link: of a possible payload.
        h: the hypothesis.
        x: (k,) values of its unknowns.
        covariance: (k, k) of these.
        torque: (G, n) of the cause.
    """
    size = rms(torque)
    j = int(np.argmax(size))
    largest = model.joint_names[j], float(size[j])
    kind, place, value, error = h.kind, h.place, x, np.sqrt(covariance.diagonal())
    if h.kind == 'gravity':
        T = _to_base(model, h)
        value, error = x @ T, np.sqrt((T.T @ covariance @ T).diagonal())
    elif h.kind == 'load':
        return Cause(*_load(model, link, h, x, covariance), *largest)
    elif h.kind == 'inertia' and len(x) == 1:
        direction = h.directions[0][h.directions.shape[1] - PER_BODY * model.nb :]
        here = direction[PER_BODY * h.body : PER_BODY * (h.body + 1)]
        value, error = x * here, error * np.abs(here)
    return Cause(kind, place, value, error, *largest)


def _load(
    model: RobotModel, link: str, h: Hypothesis, x: Array, covariance: Array
) -> tuple[str, str, Array, Array]:
    """Return kind, place, value and error of a wrong inertia of the loaded body."""
    k = model.frame_index(link)
    R, p = model.frame_placement[k, :3, :3], model.frame_placement[k, :3, 3]
    # In the frame of the link: m, and m c.
    to_link = np.zeros((4, len(x)))
    to_link[0, 0] = 1.0
    to_link[1:, 0], to_link[1:, 1:4] = -R.T @ p, R.T
    value, C = to_link @ x, to_link @ covariance @ to_link.T
    error = np.sqrt(C.diagonal())
    m, moment = value[0], value[1:]
    if abs(m) > CERTAIN * error[0]:
        # c = (m c) / m
        by = np.column_stack([-moment / m**2, np.eye(3) / m])
        errors = np.sqrt((by @ C @ by.T).diagonal())
        return 'load', link, np.array([m, *(moment / m)]), np.array([error[0], *errors])
    if (np.abs(moment) > CERTAIN * error[1:]).any():
        return 'centre of mass', link, moment, error[1:]
    error = np.sqrt(covariance.diagonal())
    if (np.abs(x[1:4]) > CERTAIN * error[1:4]).any():
        return 'centre of mass', h.place, x[1:4], error[1:4]
    return 'inertia', h.place, x, error
