"""Rules of axes and limits of joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.urdf_check.description import Description, Joint
from robot_dynamics.urdf_check.findings import Finding, Repair, short
from robot_dynamics.urdf_check.structure_rules import axis_is_zero

AXIS_TOLERANCE = 1e-3  # of the norm
MAX_EFFORT = {True: 1e4, False: 1e6}  # N m of a revolute joint, N of a prismatic one
MAX_VELOCITY = {True: 100.0, False: 20.0}  # rad/s, m/s
# Times the median of the other joints; less than these is not suspicious.
EFFORT_RATIO, MIN_SUSPICIOUS_EFFORT = 100.0, 500.0
VELOCITY_RATIO, MIN_SUSPICIOUS_VELOCITY = 8.0, 30.0
MAX_ANGLE = 4 * np.pi  # rad, above the range of multi-turn joints
MAX_DEGREES = 800.0
FASTEST = 60.0  # rad/s that a velocity in degrees may stand for
DEGREE = np.pi / 180


def axis_findings(robot: Description) -> Iterator[Finding]:
    """Yield axes without direction, and axes that are no unit vectors."""
    for joint in robot.joints.values():
        if axis_is_zero(joint):
            message = 'its axis is 0 0 0; expected a unit vector'
            yield Finding('error', 'axis-zero', joint.name, message, tag='joint')
        elif joint.moves and joint.axis is not None:
            norm = float(np.linalg.norm(joint.axis))
            if abs(norm - 1) > AXIS_TOLERANCE:
                unit = (joint.axis / norm).tolist()
                message = f'its axis {short(joint.axis)} has length {norm:.4g}; expected 1'
                repair = (Repair('axis/@xyz', joint.axis.tolist(), unit),)
                yield Finding('warning', 'axis-not-unit', joint.name, message, repair, 'joint')


def limit_findings(robot: Description) -> Iterator[Finding]:
    """Yield limits of zero, of absurd size, and in degrees."""
    driven = [j for j in robot.joints.values() if j.moves and j.has_limit and not j.mimic]
    for joint in driven:
        others = [other for other in driven if other is not joint and other.type == joint.type]
        yield from _zeros(joint)
        yield from _effort(joint, others)
        yield from _velocity(joint, others)
    for joint in robot.joints.values():
        if joint.type == 'revolute' and joint.has_limit:
            yield from _angles(joint)


def _zeros(joint: Joint) -> Iterator[Finding]:
    for key in ('effort', 'velocity'):
        if getattr(joint, key) == 0:
            message = f'{key} limit is 0; expected that of the motor'
            yield Finding('warning', 'limit-zero', joint.name, message, tag='joint')


def _effort(joint: Joint, others: list[Joint]) -> Iterator[Finding]:
    rotates = joint.type != 'prismatic'
    median = np.median([other.effort for other in others if other.effort] or [np.inf])
    effort = joint.effort or 0.0
    alone = effort > max(EFFORT_RATIO * median, MIN_SUSPICIOUS_EFFORT)
    if effort > MAX_EFFORT[rotates] or alone:
        unit = 'N m' if rotates else 'N'
        message = f'effort limit is {effort:.4g} {unit}; expected at most {MAX_EFFORT[rotates]:g}'
        if alone:
            message = (
                f'effort limit is {effort:.4g} {unit}, {effort / median:.3g} times the median'
            )
        yield Finding('warning', 'limit-absurd', joint.name, message, tag='joint')


def _velocity(joint: Joint, others: list[Joint]) -> Iterator[Finding]:
    rotates = joint.type != 'prismatic'
    median = np.median([other.velocity for other in others if other.velocity] or [np.inf])
    velocity = joint.velocity or 0.0
    alone = rotates and velocity > max(VELOCITY_RATIO * median, MIN_SUSPICIOUS_VELOCITY)
    if velocity <= MAX_VELOCITY[rotates] and not alone:
        return
    placeholder = f'{velocity:.0e}'.startswith('1e') and float(f'{velocity:.0e}') == velocity
    if rotates and velocity * DEGREE <= FASTEST and not placeholder:
        meant = velocity * DEGREE
        message = f'velocity limit {velocity:.4g} is in degrees; expected {meant:.4g} rad/s'
        repair = (Repair('limit/@velocity', velocity, meant),)
        yield Finding('warning', 'limit-degrees', joint.name, message, repair, 'joint')
    else:
        unit = 'rad/s' if rotates else 'm/s'
        message = (
            f'velocity limit is {velocity:.4g} {unit}; expected at most {MAX_VELOCITY[rotates]:g}'
        )
        yield Finding('warning', 'limit-absurd', joint.name, message, tag='joint')


def _angles(joint: Joint) -> Iterator[Finding]:
    """Yield position limits in degrees: one beyond several turns as radians, not as degrees."""
    ends = {'lower': joint.lower or 0.0, 'upper': joint.upper or 0.0}
    largest = max(map(abs, ends.values()))
    if largest <= MAX_ANGLE:
        return
    shown = f'position limits are {ends["lower"]:.4g} to {ends["upper"]:.4g}'
    if largest > MAX_DEGREES:
        message = f'{shown} rad; expected at most {MAX_ANGLE:.4g}'
        yield Finding('warning', 'limit-absurd', joint.name, message, tag='joint')
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
    yield Finding('warning', 'limit-degrees', joint.name, message, repair, 'joint')
