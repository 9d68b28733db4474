# SPDX-License-Identifier: Apache-2.0
"""An excitation as text, curves and figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robot_dynamics.common.reporting.figures import draw_limits, joint_panels, save
from robot_dynamics.common.reporting.tables import aligned, write_curves
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.excitation.excitation import Excitation


def text(arm: Dynamics, found: Excitation) -> str:
    """Return a summary: how much of each limit is used, and what the motion is worth."""
    period, limits = found.motion.period, found.limits
    way = (
        f'{found.approach:.3g} s from the given posture to the start'
        if found.start is not None
        else f'{found.approach:.3g} s for the way from the present posture to the start, which is '
        'not checked (--start)'
    )
    lines = [
        f'{arm.model.name}: {found.repeats} periods of {period:g} s, '
        f'{len(found.motion.sine)} harmonics; ramps of {found.ramp:.3g} s; {way}',
        '',
    ]
    t = np.linspace(found.approach, found.duration, 1 + round(100 * found.duration))
    q, qd, qdd = found.sample(t)
    tau = arm.motor_torque(q, qd, qdd)
    shares = [
        np.abs(x) / limit
        for x, limit in ((qd, limits.velocity), (qdd, limits.acceleration), (tau, limits.effort))
    ]
    rows = [
        (
            name,
            f'{x.min():.2f} ... {x.max():.2f}',
            *(f'{100 * u[:, j].max():.0f} %' for u in shares),
        )
        for j, (name, x) in enumerate(zip(found.joint_names, q.T, strict=True))
    ]
    lines += aligned([('joint', 'range', 'speed', 'acceleration', 'effort'), *rows], '<>')
    random = found.random_conditions
    lines += [
        '',
        f'standard errors of the base parameters, minimised: {found.relative_error:.2g} of those '
        'of the median random motion within the same limits (geometric mean)',
        f'condition number of the base regressor: {found.condition:.3g} (random motions: '
        f'{random.min():.3g} to {random.max():.3g}, median {np.median(random):.3g})',
    ]
    if found.closest is not None:
        distance, a, b = found.closest
        lines.append(f'closest links: {a} and {b}, {distance:.3f} m')
    if found.unchecked:
        pairs = ', '.join(f'{a} and {b}' for a, b in found.unchecked)
        lines.append(f'distances not checked, close in many postures: {pairs}')
    return '\n'.join(lines)


def write_csv(arm: Dynamics, trajectory: Trajectory, file: Path) -> None:
    """Write time, positions, velocities, accelerations and efforts, friction included."""
    rows = trajectory.at_waypoints()
    tau = arm.motor_torque(*rows)
    kinds = ('position', 'velocity', 'acceleration', 'effort')
    curves = {kind: x.round(9) for kind, x in zip(kinds, (*rows, tau), strict=True)}
    write_curves(file, trajectory.joint_names, trajectory.times.round(9), curves)


def plot(arm: Dynamics, found: Excitation, file: Path) -> None:
    """Draw position, velocity and effort of each joint with their limits.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    limits = found.limits
    t = np.linspace(found.approach, found.duration, 1 + round(50 * found.duration))
    q, qd, qdd = found.sample(t)
    tau = arm.motor_torque(q, qd, qdd)
    figure, axes = joint_panels(found.joint_names, 12, 1.3, columns=3)
    panels: tuple[tuple[str, Array, Array, Array], ...] = (
        ('position [rad or m]', q, limits.lower, limits.upper),
        ('velocity [1/s]', qd, -limits.velocity, limits.velocity),
        ('effort [N m or N]', tau, -limits.effort, limits.effort),
    )
    for column, (title, x, low, high) in zip(axes.T, panels, strict=True):
        column[0].set_title(title)
        for j, panel in enumerate(column):
            panel.plot(t, x[:, j], linewidth=1)
            draw_limits(panel, low[j], high[j])
    save(figure, file)
