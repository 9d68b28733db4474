# SPDX-License-Identifier: Apache-2.0
"""Rules of axes and limits of joints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.description import Description, Joint
from robot_dynamics.check.findings import Fault, short
from robot_dynamics.check.structure_rules import axis_is_zero
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.common.spatial import Array

AXIS_TOLERANCE = 1e-3  # of the norm
MAX_ANGLE = 4 * np.pi  # rad, above the range of multi-turn joints
MAX_DEGREES = 800.0
FASTEST = 60.0  # rad/s that a velocity in degrees may stand for
DEGREE = np.pi / 180
SIMILAR = 4.0  # factor between the velocities of the joints of a robot
ROUND_DEGREES = 1e-3  # difference from a multiple of half a degree, of twice the number
ANGLE_ROUNDING = 6e-4  # rad
MIN_DIGITS = 3  # of a limit whose digits may be transposed
SYMMETRY = 1e-3  # rad or m
MOSTLY, MIN_RANGES = 0.75, 3  # share of joints with symmetric limits, of at least so many


class _Bound(NamedTuple):
    """Largest plausible limit."""

    most: float
    unit: str
    ratio: float = np.inf  # to the median of the other joints
    suspicious: float = np.inf  # less is plausible at any ratio


ROTATION = {
    'effort': _Bound(1e4, 'N m', 100.0, 500.0),
    'velocity': _Bound(100.0, 'rad/s', 8.0, 30.0),
}
TRANSLATION = {'effort': _Bound(1e6, 'N', 100.0, 500.0), 'velocity': _Bound(20.0, 'm/s')}


def direction(joint: Joint) -> Array:
    """Return the axis (3,) of a joint: as written if that is a unit vector, else normalized."""
    norm = float(np.linalg.norm(joint.axis))
    return joint.axis / norm if abs(norm - 1) > AXIS_TOLERANCE else joint.axis


def axis_findings(robot: Description) -> Iterator[Fault]:
    """Yield axes without direction, and axes that are no unit vectors."""
    for joint in robot.joints.values():
        if axis_is_zero(joint):
            message = 'its axis is 0 0 0; expected a unit vector'
            yield Fault('error', 'axis-zero', joint.name, message, tag='joint')
        elif joint.moves:
            unit = direction(joint)
            if unit is not joint.axis:
                norm = np.linalg.norm(joint.axis)
                message = f'its axis {short(joint.axis)} has length {norm:.4g}; expected 1'
                repair = (Repair('axis/@xyz', joint.axis.tolist(), unit.tolist()),)
                yield Fault(
                    'warning', 'axis-not-unit', joint.name, message, repair, 'joint', proved=True
                )


def limit_findings(
    robot: Description, twins: Mapping[str, tuple[float, float]]
) -> Iterator[Fault]:
    """Yield limits of zero, of absurd size, in degrees, and without a range.

    Args:
        robot: the description.
        twins: position limits by joint, as those of the mirrored twin say.
    """
    yield from _empty(robot, twins)
    driven = [j for j in robot.joints.values() if j.moves and j.has_limit and not j.mimic]
    for joint in driven:
        others = [other for other in driven if other is not joint and other.type == joint.type]
        for key in ('effort', 'velocity'):
            yield from _size(joint, key, [getattr(other, key) for other in others])
    for joint in robot.joints.values():
        if joint.type == 'revolute' and joint.has_limit:
            yield from _angles(joint)
        if joint.type in ('revolute', 'prismatic') and _transposed(joint):
            message = _transposed_digits(joint)
            yield Fault('info', 'limit-digits', joint.name, message, tag='joint')


def _transposed(joint: Joint) -> bool:
    """Return whether the limits are opposite but for two neighbouring digits."""
    if not joint.lower < 0 < joint.upper:
        return False
    low, high = (f'{abs(end):.12g}' for end in (joint.lower, joint.upper))
    apart = [k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b]
    digits = len(low.replace('.', '').lstrip('0'))
    if len(low) != len(high) or len(apart) != 2 or digits < MIN_DIGITS:
        return False
    i, k = apart
    beside = k - i == 1 or low[i + 1 : k] == '.'
    return beside and low[i] == high[k] and low[k] == high[i]


def _transposed_digits(joint: Joint) -> str:
    """Return that two digits are transposed, and which of the two limits is a round angle."""
    low, high = (f'{end:.12g}' for end in (joint.lower, joint.upper))
    message = f'limits {low} and {high} have the same digits, two of them transposed'
    for end in (joint.lower, joint.upper) if joint.type == 'revolute' else ():
        if _is_round_angle(end) and not _is_round_angle(joint.lower + joint.upper - end):
            message += f'; {end:.12g} rad are {round(end / DEGREE)} degrees'
    return message


def _is_round_angle(angle: float) -> bool:
    """Return whether an angle [rad] is a multiple of 5 degrees, to three digits."""
    steps = angle / (5 * DEGREE)
    return abs(steps - round(steps)) * 5 * DEGREE < ANGLE_ROUNDING


def _empty(robot: Description, twins: Mapping[str, tuple[float, float]]) -> Iterator[Fault]:
    """Yield position limits that are equal; the range is that of the twin, or symmetric."""
    limited = [j for j in robot.joints.values() if j.type in ('revolute', 'prismatic')]
    ranges = [(j.lower, j.upper) for j in limited if j.lower < j.upper]
    symmetric = sum(abs(low + high) < SYMMETRY for low, high in ranges) / max(len(ranges), 1)
    for joint in limited:
        if joint.lower != joint.upper or joint.mimic:
            continue
        value = joint.lower
        ends = twins.get(joint.name, (np.nan, np.nan))
        if not np.isclose(value, ends, atol=SYMMETRY).any():
            ends = (-abs(value), abs(value))
            if symmetric < MOSTLY or len(ranges) < MIN_RANGES or value == 0:
                ends = (value, value)
        repair = tuple(
            Repair(f'limit/@{key}', value, end)
            for key, end in zip(('lower', 'upper'), ends, strict=True)
            if abs(end - value) > SYMMETRY
        )
        expected = 'a range' if not repair else f'{ends[0]:.4g} to {ends[1]:.4g}'
        message = f'lower and upper limit are both {value:.4g}; expected {expected}'
        proved = joint.name in twins and np.allclose(ends, twins[joint.name], atol=SYMMETRY)
        yield Fault('warning', 'limit-empty', joint.name, message, repair, 'joint', proved=proved)


def _size(joint: Joint, key: str, others: list[float]) -> Iterator[Fault]:
    """Yield a limit of effort or velocity that is 0, in degrees, or too large."""
    value: float = getattr(joint, key)
    rotates = joint.type != 'prismatic'
    bound = (ROTATION if rotates else TRANSLATION)[key]
    median = np.median([other for other in others if other > 0] or [np.inf])
    alone = value > max(bound.ratio * median, bound.suspicious)
    if value == 0:
        message = f'{key} limit is 0; expected that of the motor'
        yield Fault('warning', 'limit-zero', joint.name, message, tag='joint')
    elif value > bound.most or alone:
        meant = value * DEGREE
        usual = [v for v in others if 0 < v <= bound.most]
        near = not usual or 1 / SIMILAR < meant / np.median(usual) < SIMILAR
        degrees = key == 'velocity' and rotates and meant <= FASTEST and near
        if degrees and not _is_power_of_ten(value):
            message = f'velocity limit {value:.4g} is in degrees; expected {meant:.4g} rad/s'
            repair = (Repair('limit/@velocity', value, meant),)
            proved = value > bound.most and bool(usual)
            yield Fault(
                'warning', 'limit-degrees', joint.name, message, repair, 'joint', proved=proved
            )
        else:
            expected = f'expected at most {bound.most:g}'
            if alone:
                expected = f'{value / median:.3g} times the median of the other joints'
            message = f'{key} limit is {value:.4g} {bound.unit}; {expected}'
            yield Fault('warning', 'limit-absurd', joint.name, message, tag='joint')


def _is_power_of_ten(value: float) -> bool:
    """Return whether a number is 1 and zeros, as placeholders are."""
    return float(f'1e{np.log10(value):.0f}') == value


def _angles(joint: Joint) -> Iterator[Fault]:
    """Yield position limits in degrees: one beyond several turns as radians, not as degrees."""
    ends = {key: float(np.nan_to_num(getattr(joint, key))) for key in ('lower', 'upper')}
    largest = max(map(abs, ends.values()))
    if largest <= MAX_ANGLE:
        return
    shown = f'position limits are {ends["lower"]:.4g} to {ends["upper"]:.4g}'
    if largest > MAX_DEGREES:
        message = f'{shown} rad; expected at most {MAX_ANGLE:.4g}'
        yield Fault('warning', 'limit-absurd', joint.name, message, tag='joint')
        return
    meant = {key: value * DEGREE for key, value in ends.items()}
    other = min(ends, key=lambda key: abs(ends[key]))
    # One end in radians beside one in degrees: of similar size once that is converted.
    mixed = {**meant, other: ends[other]}
    similar = 0.5 * largest * DEGREE < abs(ends[other]) < min(2 * largest * DEGREE, 2 * np.pi)
    if similar and mixed['lower'] < mixed['upper']:
        meant = mixed
    repair = tuple(
        Repair(f'limit/@{key}', ends[key], meant[key]) for key in ends if meant[key] != ends[key]
    )
    message = f'{shown}, in degrees; expected {meant["lower"]:.4g} to {meant["upper"]:.4g} rad'
    # Numbers of degrees are chosen: 170, not 174.533.
    halves = [2 * ends[key] for key in ends if meant[key] != ends[key]]
    proved = all(abs(half - round(half)) < ROUND_DEGREES for half in halves)
    yield Fault('warning', 'limit-degrees', joint.name, message, repair, 'joint', proved=proved)
