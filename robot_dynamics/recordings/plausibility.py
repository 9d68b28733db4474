# SPDX-License-Identifier: Apache-2.0
"""Whether a recording is of the joints of a model, in SI units.

Positions are compared with the limits of the joints, speeds with their velocity limits, and
recorded velocities with the positions: over windows of time, the integral of the velocities is the
displacement. A factor between the two is that of a unit.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import unit_of
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.recordings.recording import Recording, RecordingError

# Positions farther beyond the limits are in another unit: two turns, as encoders without an
# absolute turn are off by whole ones, or ten times the stroke.
TURNS, STROKES = 4 * np.pi, 10.0
ONE_TURN, ONE_STROKE = 2 * np.pi, 1.0  # that a range of motion may exceed that of the limits
TOO_FAST = 10.0  # times the velocity limit: speeds are in another unit
FAST = 0.95  # quantile of the speeds that counts
WINDOW, GAP = 0.2, 0.1  # s, of displacements; between samples within one
TRAVEL = 1e-2  # rad or m, root mean square of displacements that show a velocity
ALIKE = 0.9  # correlation of displacements and integrated velocities, of one motion
OTHER_UNIT = 1.5  # times: a larger factor between the two is that of a unit
# Factors of recorded velocities to derivatives of positions, of angular and linear joints.
FACTORS = {
    True: (
        (np.pi / 180, 'positions in degrees'),
        (180 / np.pi, 'velocities in degrees/s'),
        (30 / np.pi, 'velocities in 1/min'),
    ),
    False: ((1e-3, 'positions in mm'), (1e3, 'velocities in mm/s')),
}


def require_joints(recording: Recording, model: RobotModel) -> None:
    """Check that a recording is of the joints of a model, and in SI units.

    Raises:
        RecordingError: other joints, positions or speeds far beyond the limits of a joint, or
            velocities that differ from the derivative of the positions by a factor.
    """
    names = model.joint_names
    if recording.joint_names != names:
        raise RecordingError(
            f'the recording is of {", ".join(recording.joint_names)}, the model of '
            f'{", ".join(names)}: give its joint names to by_joint'
        )
    allowed = np.where(model.angular, TURNS, STROKES * (model.upper - model.lower))
    for what, rows in (('recorded', recording.q), ('commanded', recording.command)):
        if rows is not None:
            _require_limits(what, rows, allowed, model)
    _require_range(recording, model)
    _require_velocities(recording, model)


def _require_limits(what: str, rows: Array, allowed: Array, model: RobotModel) -> None:
    """Raise RecordingError if positions (k, n) are farther beyond the limits than allowed (n,)."""
    for q in (rows.min(axis=0), rows.max(axis=0)):
        beyond = np.maximum(model.lower - q, q - model.upper)
        for j in np.flatnonzero(beyond > allowed):
            angular = bool(model.angular[j])
            unit, other = unit_of(angular, 'rad'), 'degrees' if angular else 'mm'
            raise RecordingError(
                f'{model.joint_names[j]} is {what} at {q[j]:.4g} {unit}, its limits are '
                f'{model.lower[j]:.4g} to {model.upper[j]:.4g} {unit}: are the positions in '
                f'{other}?'
            )


def _require_range(recording: Recording, model: RobotModel) -> None:
    """Raise RecordingError if a joint moves farther than its limits allow."""
    span = model.upper - model.lower
    more = np.where(model.angular, ONE_TURN, ONE_STROKE * span)
    for j in np.flatnonzero(np.ptp(recording.q, axis=0) > span + more):
        unit, other = ('rad', 'degrees') if model.angular[j] else ('m', 'mm')
        raise RecordingError(
            f'{model.joint_names[j]} moves by {np.ptp(recording.q[:, j]):.4g} {unit}, its limits '
            f'allow {span[j]:.4g} {unit}: are the positions in {other}?'
        )


def _require_velocities(recording: Recording, model: RobotModel) -> None:
    """Raise RecordingError if velocities contradict the positions, or speeds the limits."""
    moved = _displacements(recording)
    if moved is None:
        return
    duration, by_position, by_velocity = moved
    speed = np.quantile(np.abs(by_position) / duration[:, None], FAST, axis=0)
    largest = np.sqrt((by_position**2).mean(axis=0))
    for j in np.flatnonzero(largest > TRAVEL):
        name, angular = model.joint_names[j], bool(model.angular[j])
        if by_velocity is not None and (
            reason := _other_unit(by_position[:, j], by_velocity[:, j], angular)
        ):
            raise RecordingError(f'{name}: {reason}')
        if speed[j] > TOO_FAST * model.velocity_limit[j]:
            unit, other = ('rad/s', 'degrees') if angular else ('m/s', 'mm')
            raise RecordingError(
                f'{name} moves at {speed[j]:.4g} {unit}, its velocity limit is '
                f'{model.velocity_limit[j]:.4g} {unit}: are the positions in {other}?'
            )


def _displacements(recording: Recording) -> tuple[Array, Array, Array | None] | None:
    """Return durations (w,), displacements (w, n) and integrals of the velocities of windows."""
    t, q, qd = recording.t, recording.q, recording.qd
    steps = np.diff(t)
    good = (steps > 0) & (steps <= GAP)
    if not good.any():
        return None
    m = max(1, round(WINDOW / float(np.median(steps[good]))))
    bad = np.concatenate([[0], np.cumsum(~good)])
    first = np.flatnonzero(bad[m:] == bad[:-m])
    if not len(first):
        return None
    if qd is not None:
        areas = np.where(good, steps, 0.0)[:, None] * (qd[1:] + qd[:-1]) / 2
        area = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(areas, axis=0)])
        qd = area[first + m] - area[first]
    return t[first + m] - t[first], q[first + m] - q[first], qd


def _other_unit(x: Array, y: Array, angular: bool) -> str:
    """Return what a factor between two displacements (w,) means, an empty text if it is 1.

    Args:
        x: by positions.
        y: by velocities.
        angular: of an angular joint.
    """
    size = float(np.sqrt((x @ x) * (y @ y)))
    if not size > 0 or abs(x @ y) < ALIKE * size:
        return ''
    factor = float(np.sign(x @ y) * np.sqrt((y @ y) / (x @ x)))
    if 1 / OTHER_UNIT < factor < OTHER_UNIT:
        return ''
    said = f'velocities are {factor:.3g} times the derivative of the positions'
    for known, what in FACTORS[angular]:
        if 1 / OTHER_UNIT < factor / known < OTHER_UNIT:
            return f'{said}: are the {what}?'
    units = 'rad and rad/s' if angular else 'm and m/s'
    return f'{said}; expected {units}, of the same sign'
