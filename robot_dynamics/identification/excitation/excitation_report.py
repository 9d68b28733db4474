# SPDX-License-Identifier: Apache-2.0
"""An excitation as text, JSON, curves and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.reporting.figures import draw_limits, joint_panels, save
from robot_dynamics.common.reporting.tables import aligned, write_curves
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.identification.excitation.excitation import Excitation

SAMPLES = 100  # per second, of text and JSON
HEAD = ('joint', 'range', 'speed', 'acceleration', 'effort')


def text(found: Excitation) -> str:
    """Return a summary: how much of each limit is used, and what the motion is worth."""
    period = found.motion.period
    lines = [
        f'{found.arm.model.name}: {found.repeats} periods of {period:g} s, '
        f'{len(found.motion.sine)} harmonics; ramps of {found.ramp:.3g} s; {_approach(found)}',
        '',
        *aligned([HEAD, *_use_of_limits(found)], '<>'),
        _usable(found),
        '',
        *_worth(found),
    ]
    return '\n'.join([*lines, *clearance_lines(found.closest, found.unchecked)])


def clearance_lines(
    closest: tuple[float, str, str] | None,
    unchecked: Sequence[tuple[str, str]],
    where: str = '',
) -> list[str]:
    """Return the lines about the clearance of links.

    Args:
        closest: distance [m] and both links, None if not checked.
        unchecked: links whose distance was not checked.
        where: the postures, if not those of the motion.
    """
    lines = []
    if closest is not None:
        distance, a, b = closest
        lines.append(f'closest links{where}: {a} and {b}, {distance:.3f} m')
    if unchecked:
        pairs = ', '.join(f'{a} and {b}' for a, b in unchecked)
        lines.append(f'distances not checked, close in many postures: {pairs}')
    return lines


def _approach(found: Excitation) -> str:
    if found.start is not None:
        return f'{found.approach:.3g} s from the given posture to the start'
    return (
        f'{found.approach:.3g} s for the way from the present posture to the start, which is '
        'not checked (--start)'
    )


def _use_of_limits(found: Excitation) -> list[tuple[str, ...]]:
    """Return the rows of the table with the head HEAD."""
    motion, used = _sampled(found, SAMPLES)[1], used_limits(found)
    return [
        (
            name,
            f'{x.min():.2f} ... {x.max():.2f}',
            *(f'{100 * share[j]:.0f} %' for share in used.values()),
        )
        for j, (name, x) in enumerate(zip(found.joint_names, motion.q.T, strict=True))
    ]


def _usable(found: Excitation) -> str:
    """Return which shares of the described limits are the limits of this motion."""
    model, limits = found.arm.model, found.limits
    parts = []
    for name, own, usable in (
        ('speed', model.velocity_limit, limits.velocity),
        ('effort', model.effort_limit, limits.effort),
    ):
        share = usable / own  # 0 where the description has no limit
        low, high = (f'{100 * x:.3g}' for x in (share.min(), share.max()))
        parts.append(f'{low if low == high else f"{low} to {high}"} % of the {name} limits')
    return f'shares of the usable limits: {" and ".join(parts)} of the description'


def used_limits(found: Excitation) -> dict[str, Array]:
    """Return the largest velocity, acceleration and effort (n,) relative to the usable ones."""
    _, motion, tau = _sampled(found, SAMPLES)
    limits = found.limits
    quantities = {
        'velocity': (motion.qd, limits.velocity),
        'acceleration': (motion.qdd, limits.acceleration),
        'effort': (tau, limits.effort),
    }
    return {name: (np.abs(x) / limit).max(axis=0) for name, (x, limit) in quantities.items()}


def _sampled(found: Excitation, rate: float) -> tuple[Array, Reference, Array]:
    """Return times (m,), motion and efforts of the motors (m, n) without the way to the start."""
    t = np.linspace(found.approach, found.duration, 1 + round(rate * found.duration))
    motion = found.sample(t)
    return t, motion, found.arm.motor_torque(*motion)


def _worth(found: Excitation) -> list[str]:
    random = found.random_conditions
    return [
        f'standard errors of the base parameters, minimised: {found.relative_error:.2g} of those '
        'of the median random motion within the same limits (geometric mean)',
        f'condition number of the base regressor: {found.condition:.3g} (random motions: '
        f'{random.min():.3g} to {random.max():.3g}, median {np.median(random):.3g})',
    ]


def as_json(found: Excitation) -> dict[str, Any]:
    """Return the figures for JSON."""
    used = used_limits(found)
    return {
        'robot': found.arm.model.name,
        'period': found.motion.period,
        'harmonics': len(found.motion.sine),
        'repeats': found.repeats,
        'duration': found.duration,
        'joints': [
            {'name': name, **{f'used_{quantity}': share[j] for quantity, share in used.items()}}
            for j, name in enumerate(found.joint_names)
        ],
        'relative_error': found.relative_error,
        'condition': found.condition,
        'random_conditions': found.random_conditions,
        'closest': None
        if found.closest is None
        else dict(zip(('distance', 'link', 'other'), found.closest, strict=True)),
        'unchecked': [list(pair) for pair in found.unchecked],
    }


def write_csv(found: Excitation, file: Path, rate: float = 100.0) -> None:
    """Write time, positions, velocities, accelerations and efforts, friction included.

    Args:
        found: the excitation.
        file: the file.
        rate: of the rows, Hz.
    """
    trajectory = found.trajectory(rate)
    rows = trajectory.at_waypoints()
    tau = found.arm.motor_torque(*rows)
    kinds = ('position', 'velocity', 'acceleration', 'effort')
    curves = {kind: x.round(9) for kind, x in zip(kinds, (*rows, tau), strict=True)}
    write_curves(file, trajectory.joint_names, trajectory.times.round(9), curves)


def plot(found: Excitation, file: Path) -> None:
    """Draw position, velocity and effort of each joint with their limits.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    limits = found.limits
    t, motion, tau = _sampled(found, 50)
    figure, axes = joint_panels(found.joint_names, 12, 1.3, columns=3)
    panels: tuple[tuple[str, Array, Array, Array], ...] = (
        ('position [rad or m]', motion.q, limits.lower, limits.upper),
        ('velocity [1/s]', motion.qd, -limits.velocity, limits.velocity),
        ('effort [N m or N]', tau, -limits.effort, limits.effort),
    )
    for column, (title, x, low, high) in zip(axes.T, panels, strict=True):
        column[0].set_title(title)
        for j, panel in enumerate(column):
            panel.plot(t, x[:, j], linewidth=1)
            draw_limits(panel, low[j], high[j])
    save(figure, file)
