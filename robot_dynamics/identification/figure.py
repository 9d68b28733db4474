"""The curves as a picture: measured effort, model's torque and residual of every joint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.identification.evaluation import Evaluation
from robot_dynamics.spatial import Array
from robot_dynamics.visualization.figures import sheet

MOST = 4000  # samples drawn


def plot(found: Evaluation, file: str | Path | None = None) -> Any:
    """Draw the torques over time, a row per joint; save them if a file is given.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    curves, n = found.curves, len(found.joint_names)
    figure = sheet(11, 1 + 1.8 * n)
    axes = figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]
    drawn = slice(None, None, -(-len(curves.t) // MOST))
    for j, axis in enumerate(axes):
        for label, values, style in (
            ('measured effort', curves.effort, {'color': 'black', 'linewidth': 1.0}),
            ('model', curves.model, {'color': 'tab:blue', 'linewidth': 1.0}),
            ('residual', curves.residual, {'color': 'tab:red', 'linewidth': 0.8}),
        ):
            axis.plot(*_with_gaps(curves.t[drawn], values[drawn, j]), label=label, **style)
        axis.axhline(0.0, color='grey', linewidth=0.5)
        axis.set_ylabel(f'{found.joint_names[j]}\n[{found.units[j]}]')
        axis.margins(x=0.01)
    axes[0].legend(loc='lower right', bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    axes[0].set_title(f'{found.robot}: efforts below {found.cutoff:g} Hz', loc='left')
    axes[-1].set_xlabel('time [s]')
    if file is not None:
        figure.savefig(file)
    return figure


def _with_gaps(t: Array, x: Array) -> tuple[Array, Array]:
    """Return the curve with NaN between stretches, where no line is to be drawn."""
    steps = np.diff(t)
    cuts = 1 + np.flatnonzero((steps <= 0) | (steps > 1.5 * np.median(steps)))
    return np.insert(t, cuts, np.nan), np.insert(x, cuts, np.nan)
