# SPDX-License-Identifier: Apache-2.0
"""A reference of position servos as text, curves and figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robot_dynamics.common.reporting.figures import draw_limits, joint_panels, save
from robot_dynamics.common.reporting.tables import aligned, write_curves
from robot_dynamics.identification.excitation.excitation_report import clearance_lines
from robot_dynamics.identification.excitation.servo_reference import (
    HIGHEST,
    LOWEST,
    ServoExcitation,
)

HEAD = ('joint', 'range', 'speed', 'largest step')


def text(found: ServoExcitation) -> str:
    """Return a summary: ranges, and how much of the velocity limits is used."""
    model, limits, t = found.arm.model, found.limits, found.times
    speed = np.abs(np.diff(found.q, axis=0)).max(axis=0) / (t[1] - t[0]) / limits.velocity
    way = (
        f'{found.approach:.3g} s from the given posture to the start'
        if found.start is not None
        else f'{found.approach:.3g} s for the way from the present posture to the start, which is '
        'not checked (--start)'
    )
    rows = [
        (
            name,
            f'{q.min():.2f} ... {q.max():.2f}',
            f'{100 * speed[j]:.0f} %',
            f'{2 * found.amplitude[j]:.2f}',
        )
        for j, (name, q) in enumerate(zip(model.joint_names, found.q.T, strict=True))
    ]
    lines = [
        f'{model.name}: {t[-1] - t[0]:g} s of positions at {1 / (t[1] - t[0]):g} Hz: chirp from '
        f'{LOWEST:g} to {HIGHEST:g} Hz, steps, slow ramps, rests; {way}',
        '',
        *aligned([HEAD, *rows], '<>'),
        '',
        'steps and ramps begin and end at once: accelerations are those that the drives can give',
    ]
    clearance = clearance_lines(found.closest, found.unchecked, ' in these ranges')
    return '\n'.join([*lines, *clearance])


def write_csv(found: ServoExcitation, file: Path) -> None:
    """Write time and commanded positions."""
    trajectory = found.trajectory()
    curves = {'command': trajectory.points[0].round(9)}
    write_curves(file, trajectory.joint_names, trajectory.times.round(9), curves)


def plot(found: ServoExcitation, file: Path) -> None:
    """Draw the reference of each joint with its limits. Raises MatplotlibMissing."""
    figure, axes = joint_panels(found.arm.model.joint_names, 8, 1.3, columns=1)
    axes.flat[0].set_title('position [rad or m]')
    for j, panel in enumerate(axes.flat):
        panel.plot(found.times, found.q[:, j], linewidth=1)
        draw_limits(panel, found.limits.lower[j], found.limits.upper[j])
    save(figure, file)
