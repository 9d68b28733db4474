# SPDX-License-Identifier: Apache-2.0
"""Figure of the demonstration: motion, torques by term, tracking error, residual."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.demo_client import TERMS, Run
from robot_dynamics.common.reporting.figures import plain, save, sheet
from robot_dynamics.common.spatial import Array

MAX_LEGEND = 10  # joints whose names fit into a legend
DOTTED: dict[str, Any] = {'color': 'black', 'linewidth': 0.9, 'linestyle': (0, (1, 5))}
POINTS = 1000  # of a line
# Label and colour of each run.
LOOK = (
    ('PD alone', 'tab:red'),
    ('with feed-forward', 'tab:green'),
    ('realistic arm, PD alone', 'tab:orange'),
    ('realistic arm, with feed-forward', 'tab:blue'),
)
SMALL_ERROR, SMALL_TORQUE = 1e-8, 1e-16  # rad or m, N m or N; ends of the logarithmic axes


def draw(file: Path, robot: str, feedforward: Run, pd_alone: Run, *realistic: Run) -> None:
    """Write the figure of both runs; the suffix of the file chooses the format.

    The errors of both runs with a realistic arm are added, if there are any.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(12, 10)
    axes = figure.subplot_mosaic(
        [['motion', 'motion'], ['heaviest', 'liveliest'], ['error', 'residual']]
    )
    title = f'{plain(robot)}: feed-forward torque and PD alone'
    figure.suptitle(title, fontsize=14, fontweight='bold')
    draw_motion(axes['motion'], feedforward)
    for place, joint in zip(
        ('heaviest', 'liveliest'), interesting_joints(feedforward), strict=True
    ):
        draw_terms(axes[place], joint, feedforward)
    draw_errors(axes['error'], (pd_alone, feedforward, *reversed(realistic)))
    draw_residuals(axes['residual'], (pd_alone, feedforward))
    for name, axis in axes.items():
        axis.set_xlabel('time [s]')
        axis.margins(x=0)
        axis.set_xlim(0.0, feedforward.trajectory.duration)
        axis.grid(alpha=0.3)
        if axis.get_yscale() == 'log':
            axis.set_xlabel(
                'time [s]\nvertical axis logarithmic: a factor of ten from line to line'
            )
            axis.yaxis.set_major_locator(decades())
        axis.spines[['top', 'right']].set_visible(False)
        if name != 'motion' and axis.lines:
            axis.legend(frameon=False, fontsize=9, ncols=2)
    save(figure, file)


def interesting_joints(run: Run) -> tuple[int, int]:
    """Return the joint with the largest torque, and of the others that with most inertia torque.

    A robot of one joint has one twice.
    """
    heaviest = int(np.argmax(np.abs(run.state(2)).max(axis=0)))
    inertia = run.column('inertia', 'values') if run.rows['inertia'] else run.state(2)
    rest = np.abs(inertia).max(axis=0)
    if len(rest) > 1:
        rest[heaviest] = -1.0
    return heaviest, int(np.argmax(rest))


def draw_motion(axis: Any, run: Run) -> None:
    """Draw measured and desired positions."""
    t, q = decimated(run.times('states'), run.state(0))
    names = run.trajectory.joint_names
    measured = axis.plot(t, q, linewidth=1.4)
    desired = axis.plot(t, run.trajectory.sample(t).q, **DOTTED)
    axis.set_title('joint positions with feed-forward, measured and desired')
    axis.set_ylabel('position [rad or m]')
    if len(names) <= MAX_LEGEND:
        axis.legend(
            [*measured, desired[0]],
            [*map(plain, names), 'desired'],
            loc='center left',
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=9,
        )


def draw_terms(axis: Any, joint: int, run: Run) -> None:
    """Draw the applied torque of one joint and its terms."""
    t, effort = decimated(run.times('states'), run.state(2)[:, joint])
    axis.plot(t, effort, color='0.75', linewidth=4, label='applied')
    for term in TERMS:
        if run.rows[term]:
            values = run.column(term, 'values')[:, joint]
            axis.plot(*decimated(run.times(term), values), linewidth=1.3, label=term)
    axis.set_title(f'torque of {plain(run.trajectory.joint_names[joint])} by term')
    axis.set_ylabel('torque [N m or N]')


def draw_errors(axis: Any, runs: Sequence[Run]) -> None:
    """Draw the tracking errors of runs, in the order of `LOOK`."""
    for run, (label, color) in zip(runs, LOOK, strict=False):
        error = largest(run.error(), SMALL_ERROR)
        axis.semilogy(*decimated(run.times('states'), error), color=color, label=label)
    axis.set_title('largest tracking error of all joints')
    axis.set_ylabel('|measured - desired| [rad or m]')


def draw_residuals(axis: Any, runs: Sequence[Run]) -> None:
    """Draw the differences to the reference engine of runs, in the order of `LOOK`."""
    for run, (label, color) in zip(runs, LOOK, strict=False):
        if run.rows['residual']:
            residual = largest(run.column('residual', 'values'), SMALL_TORQUE)
            points = {'linestyle': '', 'marker': '.', 'markersize': 3, 'color': color}
            axis.semilogy(run.times('residual'), residual, label=label, **points)
    axis.set_title('torque minus that of the reference engine, largest of all joints')
    axis.set_ylabel('[N m or N]')


def decades() -> Any:
    """Return a locator with a tick, and so a grid line, at each power of ten."""
    from matplotlib.ticker import LogLocator

    return LogLocator(numticks=99)


def largest(values: Array, floor: float) -> Array:
    """Return the largest magnitude in each row (k,), at least `floor`."""
    row: Array = np.abs(values).max(axis=1)
    return np.maximum(row, floor)


def decimated(t: Array, values: Array) -> tuple[Array, Array]:
    """Return at most about POINTS of many points."""
    every = max(1, len(t) // POINTS)
    return t[::every], values[::every]
