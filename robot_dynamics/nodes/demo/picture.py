"""The demonstration as a picture: the motion, what it took, and how well it went. No ROS here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.drawing import sheet
from robot_dynamics.nodes.demo.recording import TERMS, Recording
from robot_dynamics.spatial import Array

MANY_JOINTS = 10  # above this their names do not fit into a legend
DOTTED: dict[str, Any] = {'color': 'black', 'linewidth': 0.9, 'linestyle': (0, (1, 5))}
STEPS = 1000  # points of a line
HOLE = 10  # times the usual step: a line does not cross it
FLOOR = 1e-16  # N m, of a logarithmic axis: nothing is more equal than this
SMALL = 1e-8  # rad or m, where the axis of errors begins


def draw(
    file: Path,
    title: str,
    joint_names: tuple[str, ...],
    feedforward: Recording,
    pd_alone: Recording,
) -> None:
    """Write the picture of both runs; the name of the file says in which format.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(12, 10)
    axes = figure.subplot_mosaic(
        [['motion', 'motion'], ['heaviest', 'liveliest'], ['error', 'residual']]
    )
    figure.suptitle(title, fontsize=14, fontweight='bold')
    _motion(axes['motion'], joint_names, feedforward)
    for axis, joint in zip(
        (axes['heaviest'], axes['liveliest']), interesting_joints(feedforward), strict=True
    ):
        _terms(axis, joint_names[joint], joint, feedforward)
    _error(axes['error'], feedforward, pd_alone)
    _residual(axes['residual'], feedforward, pd_alone)
    for axis in axes.values():
        axis.set_xlabel('time [s]')
        axis.margins(x=0)
        axis.grid(alpha=0.3)
        axis.spines[['top', 'right']].set_visible(False)
    figure.savefig(file)


def interesting_joints(recording: Recording) -> tuple[int, int]:
    """Return the joint with the largest torque, and of the others that with most inertia torque.

    A robot of one joint has one twice.
    """
    heaviest = int(np.argmax(np.abs(recording.effort.values).max(axis=0)))
    series = recording.terms['inertia']
    rest = np.abs(series.values).max(axis=0) if len(series) else np.ones(len(recording.q.tail()))
    if len(rest) > 1:
        rest[heaviest] = -1.0
    return heaviest, int(np.argmax(rest))


def _motion(axis: Any, joint_names: tuple[str, ...], recording: Recording) -> None:
    t, q = _thinned(recording.q.t, recording.q.values)
    desired = recording.desired(t).q
    for j, name in enumerate(joint_names):
        axis.plot(t, q[:, j], label=name, linewidth=1.4)
        axis.plot(t, desired[:, j], **DOTTED)
    axis.plot([], [], label='desired', **DOTTED)
    axis.set_title('joint positions with feed-forward, measured and desired')
    axis.set_ylabel('position [rad or m]')
    if len(joint_names) <= MANY_JOINTS:
        axis.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def _terms(axis: Any, name: str, joint: int, recording: Recording) -> None:
    t, effort = _thinned(recording.effort.t, recording.effort.values)
    axis.plot(t, effort[:, joint], color='0.75', linewidth=4, label='applied')
    for term in TERMS:
        series = recording.terms[term]
        if len(series):
            axis.plot(*_thinned(series.t, series.values[:, joint]), linewidth=1.3, label=term)
    axis.set_title(f'torque of {name} by term')
    axis.set_ylabel('torque [N m or N]')
    axis.legend(frameon=False, fontsize=9, ncols=2)


def _error(axis: Any, feedforward: Recording, pd_alone: Recording) -> None:
    for run, label, color in _runs(feedforward, pd_alone):
        worst = np.abs(run.error()).max(axis=1)
        axis.semilogy(*_thinned(run.q.t, np.maximum(worst, SMALL)), color=color, label=label)
    axis.set_title('largest tracking error of all joints')
    axis.set_ylabel('|measured - desired| [rad or m]')
    axis.legend(frameon=False, fontsize=9)


def _residual(axis: Any, feedforward: Recording, pd_alone: Recording) -> None:
    axis.set_title("our torque minus the other engine's, largest of all joints")
    axis.set_ylabel('[N m or N]')
    for run, label, color in _runs(feedforward, pd_alone):
        if len(run.residual):
            worst = np.maximum(np.abs(run.residual.values).max(axis=1), FLOOR)
            axis.semilogy(run.residual.t, worst, '.', markersize=3, color=color, label=label)
    if axis.lines:
        axis.legend(frameon=False, fontsize=9)
    else:
        axis.text(0.5, 0.5, 'none heard', ha='center', transform=axis.transAxes)


def _runs(feedforward: Recording, pd_alone: Recording) -> list[tuple[Recording, str, str]]:
    return [(pd_alone, 'PD alone', 'tab:red'), (feedforward, 'with feed-forward', 'tab:green')]


def _thinned(t: Array, values: Array) -> tuple[Array, Array]:
    """Return at most about STEPS of many points, with holes where nothing was heard."""
    every = max(1, len(t) // STEPS)
    t, values = t[::every], values[::every].astype(float)
    steps = np.diff(t)
    if len(steps):
        values[1:][steps > HOLE * np.median(steps)] = np.nan
    return t, values
