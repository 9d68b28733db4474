"""Picture of a motion: positions and velocities over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation.run import Run
from robot_dynamics.visualization.figures import sheet


def plot(run: Run, model: RobotModel, file: str | Path | None = None) -> Any:
    """Draw a motion, a curve per joint; save it if a file is given.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(10, 6)
    axes = figure.subplots(2, 1, sharex=True)
    rows = (
        ('position [rad or m]', run.q),
        ('velocity [rad/s or m/s]', run.qd),
    )
    for axis, (label, values) in zip(axes, rows, strict=True):
        axis.plot(run.t, values, linewidth=1.2)
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
        axis.margins(x=0.01)
    axes[0].set_title(model.name)
    axes[0].legend(model.joint_names, loc='center left', bbox_to_anchor=(1, 0.5), frameon=False)
    axes[-1].set_xlabel('time [s]')
    if file is not None:
        figure.savefig(file)
    return figure
