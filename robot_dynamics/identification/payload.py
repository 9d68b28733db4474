"""Mass, centre of mass and inertia of a payload, from a recording of the arm that carries it.

The torques that the model without the payload leaves are linear in its ten parameters. From a
motion they are fitted together with viscous friction, dry friction and an offset of each joint; if
the efforts of joints are certainly larger or smaller than those of the model by a factor, with
these factors as well. The errors are those of the jackknife: blocks of time are left out one after
the other, so that coloured noise and friction that follows another law count as well.

At rest dry friction hides any torque up to its level. From postures alone the result is therefore
not an estimate with a standard error, but the bounds of all payloads that the dry friction of the
model admits.

Sources: Atkeson, An and Hollerbach, "Estimation of inertial parameters of manipulator loads and
links", Int. J. Robotics Research 5(3), 1986; Efron and Stein, "The jackknife estimate of
variance", Annals of Statistics 9(3), 1981.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification.payload_bounds import bounds, least_excess
from robot_dynamics.identification.pseudo_inertia import from_pseudo_inertia, to_pseudo_inertia
from robot_dynamics.identification.recording import STANDING, Recording, RecordingError
from robot_dynamics.identification.smoothing import Stretch, cutoff_of, low_pass, smooth
from robot_dynamics.model.inertia import second_moment
from robot_dynamics.spatial import Array

FRICTION = ('estimated', 'model')  # fitted with the payload, or that of the model
ENOUGH_MOTION = 4.0  # s in which a joint moves: less is a recording of postures
ENOUGH_SAMPLES = 200  # of a moving joint: fewer determine no friction
BLOCKS = 24  # of time, left out one after the other
DENSE = 16  # samples per period of the cut-off frequency
LARGEST = 0.05  # a factor that is certainly larger is an error of the model
WEIGHTINGS = 3
FRICTIONAL, SCALED = 3, 4  # features of a joint: friction and offset, and the model's torque
CERTAIN = 3.0  # standard errors, and
CHANGE = 0.5  # part of the change of a payload by factors that counts as a standard error
LARGE = 0.005  # : a factor between efforts and model that differs from 1 by more is fitted
FLOOR = 1e-4  # of the effort: lowest standard deviation of a residual
RANK = 1e-5  # relative, of scaled columns: combinations below are not determined
ROUNDING = 1e-12  # relative: a column that is smaller is zero
LOOSE = 1e-3  # part of a parameter in a combination that is not determined
STILL = 0.5  # s at rest: a posture
APART = 0.05  # rad or m: postures that differ by less are one
NOISE = 3.0  # standard deviations of noise that bounds include


class Payload(NamedTuple):
    """A payload; values that the recording does not determine have infinite errors.

    From a motion, errors are standard deviations. From postures, they are half the width of the
    bounds.
    """

    link: str
    mass: float  # kg
    com: Array  # (3,) m, frame of the link
    inertia: Array  # (3, 3) kg m^2 about the centre of mass, axes of the link
    mass_error: float
    com_error: Array  # (3,)
    inertia_error: Array  # (3, 3)
    postures: int  # at rest; 0: from a motion
    seconds: float  # that were used
    residual: Array  # (n,) root mean square of the unexplained effort, N m or N
    notes: tuple[str, ...] = ()

    @property
    def determined(self) -> bool:
        """Whether the mass is certain by three errors."""
        return bool(self.mass > 3 * self.mass_error)

    @property
    def known_inertia(self) -> Array:
        """The tensor (3, 3), or zeros if it is not determined or physically inconsistent."""
        known = (
            np.isfinite(self.inertia_error).all()
            and np.linalg.eigvalsh(second_moment(self.inertia))[0] >= 0
        )
        return self.inertia if known else np.zeros((3, 3))


class PayloadError(RecordingError):
    """A recording does not determine a payload."""


def estimate_payload(
    arm: Dynamics,
    recording: Recording,
    link: str,
    *,
    friction: str = 'estimated',
    effort_scale: ArrayLike = 1.0,
    effort_gravity_compensated: bool = False,
    cutoff: float | None = None,
) -> Payload:
    """Return the payload that an arm carried on a link.

    Args:
        arm: the model without the payload; the errors assume that it is right.
        recording: of the same joints in the same order, as `by_joint` makes it.
        link: that carries the payload.
        friction: 'estimated' with the payload, in addition to that of the model, with an offset
            of each joint, and a factor of its efforts if one is certain; or 'model'. At rest it
            is that of the model.
        effort_scale: recorded effort times this is N m or N, one for all joints or (n,).
        effort_gravity_compensated: the recorded effort does not include the gravity torque of the
            model.
        cutoff: Hz, of the low-pass; by default where the spectrum of the motion ends.

    Raises:
        PayloadError: the link does not move, or there are fewer than two postures.
        RecordingError: other joints, or too few samples.
        FrameNotFound: no such link.
        ValueError: friction is neither 'estimated' nor 'model'.
    """
    if friction not in FRICTION:
        raise ValueError(f'friction is {friction!r}; expected one of {", ".join(FRICTION)}')
    if recording.joint_names != arm.model.joint_names:
        raise RecordingError(
            f'the recording is of {", ".join(recording.joint_names)}, the model of '
            f'{", ".join(arm.model.joint_names)}: give its joint names to by_joint'
        )
    k = arm.model.frame_index(link)
    body = int(arm.model.frame_body[k])
    if body < 0:
        raise PayloadError(f'link {link!r} is fixed to the base; expected a link that moves')
    to_body = _parameter_map(arm.model.frame_placement[k])
    scale = np.broadcast_to(np.asarray(effort_scale, dtype=float), (arm.model.n,))
    stretches = smooth(recording, cutoff_of(recording) if cutoff is None else cutoff)
    pieces = [
        _Piece(arm, s, body, to_body, scale, effort_gravity_compensated) for s in stretches[0]
    ]
    if sum(piece.seconds_in_motion for piece in pieces) >= ENOUGH_MOTION:
        return _from_motion(link, pieces, arm.model.joint_names, friction == 'estimated')
    return _from_postures(link, pieces, arm.model.coulomb)


class _Piece:
    """Efforts that the model leaves over one stretch, and the torques of a unit payload."""

    def __init__(
        self, arm: Dynamics, s: Stretch, body: int, to_body: Array, scale: Array, compensated: bool
    ):
        self._arm, self._s, self._to_body = arm, s, to_body
        self._own = slice(10 * body, 10 * body + 10)
        model = arm.inverse_dynamics(s.q, s.qd, s.qdd) + arm.friction_torque(s.qd)
        known = arm.gravity_torque(s.q) if compensated else 0.0
        self.model = model
        self.excess = scale * s.effort + known - model  # (k, n)
        self.moving = np.abs(s.qd) > STANDING
        self.seconds_in_motion = float(self.moving.any(axis=1).sum()) * s.step

    def of_payload(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torques (k, n, 10) of unit parameters of the payload, frame of its link."""
        return np.asarray(self._arm.regressor(q, qd, qdd)[..., self._own] @ self._to_body)

    def rows(self) -> tuple[Array, Array, Array, Array]:
        """Return effort (k, n), columns (k, n, 10), features (k, n, 4) and moving (k, n).

        All pass the low-pass; thinned to what it needs, without the ends.
        """
        s = self._s
        stride = max(1, int(1 / (DENSE * s.cutoff * s.step)))
        dry = np.tanh(s.qd / COULOMB_SPEED)
        features = np.stack([s.qd, dry, np.ones_like(s.qd), self.model], axis=2)
        Y = self.of_payload(*(x[::stride] for x in (s.q, s.qd, s.qdd)))
        kept = slice(-(-s.inner.start // stride), s.inner.stop // stride)
        return (
            low_pass(self.excess, s.cutoff, s.step)[::stride][kept],
            low_pass(Y, s.cutoff, stride * s.step)[kept],
            low_pass(features, s.cutoff, s.step)[::stride][kept],
            self.moving[::stride][kept],
        )

    def postures(self) -> list[tuple[Array, Array, Array]]:
        """Return mean positions, efforts and their standard errors (n,) of each time at rest."""
        s, still = self._s, np.asarray(~self.moving.any(axis=1))
        found = []
        runs: list[Array] = np.split(np.arange(len(still)), np.flatnonzero(np.diff(still)) + 1)
        for run in runs:
            if still[run[0]] and len(run) * s.step >= STILL:
                error = self.excess[run].std(axis=0) / np.sqrt(len(run))
                found.append((s.q[run].mean(axis=0), self.excess[run].mean(axis=0), error))
        return found


# -- from a motion --------------------------------------------------------------------------


class _Fit(NamedTuple):
    """Least squares of ten payload parameters, then `own` nuisances of each joint."""

    theta: Array  # (P,)
    left_out: Array  # (BLOCKS, P) without one block of time each
    free: Array  # (P, f) directions that are not determined
    residual: Array  # (n,) root mean square

    def value(self) -> Array:
        """Return m, c and the tensor about c (10,)."""
        return _values(self.theta)

    def error(self) -> Array:
        """Return their standard errors (10,), infinite where they are not determined."""
        error = _jackknife(np.array([_values(theta) for theta in self.left_out]))
        error[_undetermined(self.free[:10])] = np.inf
        return error

    def doubtful_scales(self) -> list[tuple[int, float, float]]:
        """Return joint, scale and error of drives whose efforts are certainly scaled."""
        scale = self.theta[10:].reshape(-1, SCALED)[:, -1]
        error = _jackknife(self.left_out[:, 10:].reshape(len(self.left_out), -1, SCALED)[..., -1])
        return [
            (int(j), float(1 + scale[j]), float(error[j]))
            for j in np.flatnonzero(np.abs(scale) > np.maximum(CERTAIN * error, LARGE))
        ]


def _from_motion(
    link: str, pieces: list[_Piece], names: tuple[str, ...], with_friction: bool
) -> Payload:
    """Return the payload by least squares, its errors by leaving out blocks of time."""
    parts = [piece.rows() for piece in pieces]
    rows = tuple(np.concatenate(x) for x in zip(*parts, strict=True))
    plain = fit = _fit(rows, FRICTIONAL if with_friction else 0)
    scaled, notes = None, []
    if with_friction:
        scaled = _fit(rows, SCALED)
        doubtful = scaled.doubtful_scales()
        if any(abs(k - 1) > LARGEST + CERTAIN * error for _, k, error in doubtful):
            notes.append(
                f'the efforts differ from those of the model by more than {100 * LARGEST:.0f} %: '
                'it has other errors than the payload, which the errors stated here do not '
                'include; `robot-dynamics evaluate` names them, `identify` corrects them'
            )
        elif doubtful:
            fit = scaled
            factors = ', '.join(f'{names[j]} {k:.3f} ± {error:.1g}' for j, k, error in doubtful)
            notes.append(f'efforts differ from those of the model by factors, fitted: {factors}')
    value, error = fit.value(), fit.error()
    if fit is scaled:
        # Efforts that need factors are not exact otherwise, either: the change of the payload by
        # the factors bounds what such errors do to it.
        error = np.hypot(error, CHANGE * np.abs(value - plain.value()))
    return Payload(
        link,
        *_parts(value),
        *_parts(error),
        postures=0,
        seconds=sum(piece.seconds_in_motion for piece in pieces),
        residual=fit.residual,
        notes=(*notes, *_remarks(value, error)),
    )


def _fit(rows_of_all: tuple[Array, ...], own: int) -> _Fit:
    """Fit the payload and the first `own` features of each joint to rows as of `_Piece.rows`."""
    effort, Y, features, moving = rows_of_all
    moving = moving & (moving.sum(axis=0) >= ENOUGH_SAMPLES)
    if not moving.any():
        raise PayloadError(
            f'no joint moves in {ENOUGH_SAMPLES} samples; move the arm for {ENOUGH_MOTION:g} s'
        )
    n, blocks = effort.shape[1], np.array_split(np.arange(len(effort)), BLOCKS)
    sigma = np.ones(n)
    for _ in range(WEIGHTINGS):
        A = np.zeros((BLOCKS, 10 + own * n, 10 + own * n))
        b = np.zeros((BLOCKS, 10 + own * n))
        for j in range(n):
            at = [*range(10), *range(10 + own * j, 10 + own * (j + 1))]
            X = np.hstack([Y[:, j], features[:, j, :own]]) / sigma[j]
            for k, block in enumerate(blocks):
                rows = block[moving[block, j]]
                A[np.ix_([k], at, at)] += X[rows].T @ X[rows]
                b[k, at] += X[rows].T @ (effort[rows, j] / sigma[j])
        theta, free = _solution(A.sum(axis=0), b.sum(axis=0))
        nuisances = theta[10:].reshape(n, own)
        known = np.einsum('kjf,jf->kj', features[..., :own], nuisances)
        rest = effort - Y @ theta[:10] - known
        residual = np.sqrt((rest**2 * moving).sum(axis=0) / np.maximum(moving.sum(axis=0), 1))
        sigma = np.maximum(residual, FLOOR * np.abs(effort).max()) + 1e-12
    left_out = [_solution(A.sum(0) - A[k], b.sum(0) - b[k])[0] for k in range(BLOCKS)]
    return _Fit(theta, np.array(left_out), free, residual)


def _jackknife(left_out: Array) -> Array:
    """Return standard errors (...) from values (BLOCKS, ...) without one block each."""
    spread = left_out - left_out.mean(axis=0)
    return np.asarray(_few(BLOCKS) * np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0)))


def _few(blocks: int) -> float:
    """Return the factor of errors after which three of them cover what those of many blocks do."""
    from scipy.stats import norm, t

    return float(t.ppf(norm.cdf(3), blocks - 1) / 3)


def _solution(A: Array, b: Array) -> tuple[Array, Array]:
    """Return the least squares of normal equations, and the free directions (P, f)."""
    size = np.sqrt(A.diagonal())
    size = np.where(size > ROUNDING * size.max(), size, np.inf)
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    kept = values > RANK**2
    x = vectors[:, kept] @ ((vectors[:, kept].T @ (b / size)) / values[kept])
    return x / size, vectors[:, ~kept]


def _undetermined(free: Array) -> Array:
    """Return which of m, c and the tensor (10,) change along free directions (10, f)."""
    loose = np.asarray((np.abs(free) > LOOSE).any(axis=1))
    loose[1:4] |= loose[0]
    loose[4:] |= loose[:4].any()
    return loose


def _values(theta: Array) -> Array:
    """Return m, c and the tensor about c (10,) of the parameters m, m c and tensor."""
    m, h = theta[0], theta[1:4]
    c = h / m if m != 0 else np.zeros(3)
    about_c = m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *c, *(theta[4:10] - about_c[np.triu_indices(3)])])


def _parts(values: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of mass (3,) and tensor (3, 3) of ten values."""
    tensor = np.zeros((3, 3))
    upper = np.triu_indices(3)
    tensor[upper] = tensor.T[upper] = values[4:]
    return float(values[0]), values[1:4], tensor


# -- from postures --------------------------------------------------------------------------


def _from_postures(link: str, pieces: list[_Piece], coulomb: Array) -> Payload:
    """Return the middle of the bounds that dry friction sets, and half their width."""
    found = [(piece, *posture) for piece in pieces for posture in piece.postures()]
    different: list[Array] = []
    for _, q, *_ in found:
        if all(np.abs(q - other).max() > APART for other in different):
            different.append(q)
    if len(different) < 2:
        raise PayloadError(
            f'the arm stands in {len(different)} posture{"s" * (len(different) != 1)}, at least '
            f'{STILL:g} s each, and moves for less than {ENOUGH_MOTION:g} s; expected a motion, '
            'or two postures that turn the payload to gravity differently'
        )
    rest = np.zeros(len(coulomb))
    X = np.concatenate([piece.of_payload(q, rest, rest)[:, :4] for piece, q, *_ in found])
    y, noise = (np.concatenate([row[k] for row in found]) for k in (2, 3))
    level = np.tile(coulomb, len(found))
    slack = np.where(coulomb.any(), level, 1.0)  # without dry friction: N m or N
    margin = level + NOISE * noise
    more = least_excess(X, y, margin, slack)
    low, high = bounds(X, y, margin + (1 + 1e-6) * more * slack + 1e-9)
    middle = np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
    notes = []
    if more > 1e-6:
        amount = f'{100 * more:.0f} % more' if coulomb.any() else f'{more:.3g} N m or N of'
        notes.append(f'the efforts need {amount} dry friction than the model has')
    if not coulomb.any():
        notes.append('the model has no dry friction: the bounds hold without it only (--coulomb)')
    residual = (y - X @ np.array([middle[0], *(middle[0] * middle[1:])])).reshape(-1, len(coulomb))
    free = np.full(10, np.inf)
    free[:4] = (high - low) / 2
    return Payload(
        link,
        *_parts(np.concatenate([middle, np.zeros(6)])),
        *_parts(free),
        postures=len(different),
        seconds=0.0,
        residual=np.sqrt((residual**2).mean(axis=0)),
        notes=tuple(notes),
    )


# -- results --------------------------------------------------------------------------------


def _remarks(value: Array, error: Array) -> list[str]:
    notes = []
    if not value[0] > 3 * error[0]:
        notes.append('the mass does not differ from zero by three standard errors')
    tensor = _parts(value)[2]
    if np.isfinite(error).all() and np.linalg.eigvalsh(second_moment(tensor))[0] < 0:
        notes.append('the inertia is not physically consistent: it is not determined')
    return notes


def _parameter_map(T: Array) -> Array:
    """Return the map (10, 10) of the parameters of a body from one frame, of pose T, to another.

    The pseudo-inertia transforms by J' = T J T^T.
    """
    return np.stack(
        [from_pseudo_inertia(T @ to_pseudo_inertia(unit) @ T.T) for unit in np.eye(10)], axis=1
    )
