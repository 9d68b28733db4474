"""Figure of the demonstration: motion, torques by term, tracking error, residual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.cli.demo_client import TERMS, Run, Series
from robot_dynamics.spatial import Array
from robot_dynamics.visualization.figures import sheet

MAX_LEGEND = 10  # joints whose names fit into a legend
DOTTED: dict[str, Any] = {'color': 'black', 'linewidth': 0.9, 'linestyle': (0, (1, 5))}
POINTS = 1000  # of a line
GAP = 10  # times the usual step: a line does not cross it
FLOOR = 1e-16  # N m, of the logarithmic axis of residuals
SMALL = 1e-8  # rad or m, of the logarithmic axis of errors


def draw(file: Path, robot: str, feedforward: Run, pd_alone: Run) -> None:
    """Write the figure of both runs; the suffix of the file chooses the format.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    names = feedforward.trajectory.joint_names
    figure = sheet(12, 10)
    axes = figure.subplot_mosaic(
        [['motion', 'motion'], ['heaviest', 'liveliest'], ['error', 'residual']]
    )
    figure.suptitle(f'{robot}: feed-forward torque and PD alone', fontsize=14, fontweight='bold')
    draw_motion(axes['motion'], names, feedforward)
    for axis, joint in zip(
        (axes['heaviest'], axes['liveliest']), interesting_joints(feedforward), strict=True
    ):
        draw_terms(axis, names[joint], joint, feedforward)
    runs = [(pd_alone, 'PD alone', 'tab:red'), (feedforward, 'with feed-forward', 'tab:green')]
    draw_errors(axes['error'], runs)
    draw_residuals(axes['residual'], runs)
    for axis in axes.values():
        axis.set_xlabel('time [s]')
        axis.margins(x=0)
        axis.grid(alpha=0.3)
        axis.spines[['top', 'right']].set_visible(False)
    figure.savefig(file)


def interesting_joints(run: Run) -> tuple[int, int]:
    """Return the joint with the largest torque, and of the others that with most inertia torque.

    A robot of one joint has one twice.
    """
    heaviest = int(np.argmax(np.abs(run.state(2)).max(axis=0)))
    inertia = run.answers['inertia']
    rest = np.abs(inertia.rows).max(axis=0) if len(inertia) else np.ones(run.trajectory.n)
    if len(rest) > 1:
        rest[heaviest] = -1.0
    return heaviest, int(np.argmax(rest))


def draw_motion(axis: Any, names: tuple[str, ...], run: Run) -> None:
    """Draw measured and desired positions."""
    t, q = decimated(run.t, run.state(0))
    desired = run.trajectory.sample(t).q
    for j, name in enumerate(names):
        axis.plot(t, q[:, j], label=name, linewidth=1.4)
        axis.plot(t, desired[:, j], **DOTTED)
    axis.plot([], [], label='desired', **DOTTED)
    axis.set_title('joint positions with feed-forward, measured and desired')
    axis.set_ylabel('position [rad or m]')
    if len(names) <= MAX_LEGEND:
        axis.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def draw_terms(axis: Any, name: str, joint: int, run: Run) -> None:
    """Draw the applied torque of one joint and its terms."""
    t, effort = decimated(run.t, run.state(2))
    axis.plot(t, effort[:, joint], color='0.75', linewidth=4, label='applied')
    for term in TERMS:
        if len(run.answers[term]):
            axis.plot(*curve(run, run.answers[term], joint), linewidth=1.3, label=term)
    axis.set_title(f'torque of {name} by term')
    axis.set_ylabel('torque [N m or N]')
    axis.legend(frameon=False, fontsize=9, ncols=2)


def draw_errors(axis: Any, runs: list[tuple[Run, str, str]]) -> None:
    """Draw the largest tracking error of all joints."""
    for run, label, color in runs:
        largest = np.maximum(np.abs(run.error()).max(axis=1), SMALL)
        axis.semilogy(*decimated(run.t, largest), color=color, label=label)
    axis.set_title('largest tracking error of all joints')
    axis.set_ylabel('|measured - desired| [rad or m]')
    axis.legend(frameon=False, fontsize=9)


def draw_residuals(axis: Any, runs: list[tuple[Run, str, str]]) -> None:
    """Draw the difference between dynamics_node and the reference engine."""
    axis.set_title('torque minus that of the reference engine, largest of all joints')
    axis.set_ylabel('[N m or N]')
    for run, label, color in runs:
        residual = run.answers['residual']
        if len(residual):
            t = (residual.stamps - run.start) / 1e9
            largest = np.maximum(np.abs(residual.rows).max(axis=1), FLOOR)
            axis.semilogy(t, largest, '.', markersize=3, color=color, label=label)
    if axis.lines:
        axis.legend(frameon=False, fontsize=9)
    else:
        axis.text(0.5, 0.5, 'none received', ha='center', transform=axis.transAxes)


def curve(run: Run, series: Series, joint: int) -> tuple[Array, Array]:
    """Return times and values of one joint."""
    return decimated((series.stamps - run.start) / 1e9, series.rows[:, joint])


def decimated(t: Array, values: Array) -> tuple[Array, Array]:
    """Return at most about POINTS of many points, NaN where a stream was interrupted."""
    every = max(1, len(t) // POINTS)
    t, values = t[::every], values[::every].astype(float)
    steps = np.diff(t)
    if len(steps):
        values[1:][steps > GAP * np.median(steps)] = np.nan
    return t, values
