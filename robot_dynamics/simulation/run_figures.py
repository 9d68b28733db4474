# SPDX-License-Identifier: Apache-2.0
"""Picture and animation of a simulated motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.files import replacing
from robot_dynamics.common.reporting.figures import animation_writer, plain, save, sheet
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.joint_values import units_of
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.visualization.robot_figure import (
    draw_skeleton,
    equal_axes,
    extent,
    move_skeleton,
    skeleton,
)
from robot_dynamics.simulation.run import Run

FRAMES_PER_SECOND = 25
ANIMATION_RESOLUTION = 80  # dots per inch


def plot_run(run: Run, arm: Dynamics, file: str | Path | None = None) -> Any:
    """Draw positions, velocities and torques of a motion, a curve per joint, and its energy.

    Args:
        run: the motion.
        arm: the robot, with the gravity and the payload of the simulation.
        file: to save the figure.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    names = arm.model.joint_names
    figure = sheet(10, 9)
    panels = figure.subplots(4, 1, sharex=True)
    for panel, (label, values) in zip(panels, _curves(run, arm.model), strict=False):
        for j, name in enumerate(names):
            panel.plot(run.t, values[:, j], linewidth=1.2, label=plain(name))
        panel.set_ylabel(label)
    for label, energy in _energies(run, arm).items():
        panels[3].plot(run.t, energy, linewidth=1.2, label=label)
    panels[3].set_ylabel('energy [J]')
    for panel in panels:
        panel.grid(alpha=0.25)
        panel.margins(x=0.01)
    for panel in (panels[0], panels[3]):
        panel.legend(loc='center left', bbox_to_anchor=(1, 0.5), frameon=False)
    panels[0].set_title(plain(arm.model.name))
    panels[-1].set_xlabel('time [s]')
    return save(figure, file)


def animate_run(
    run: Run,
    arm: Dynamics,
    file: str | Path,
    *,
    frames_per_second: int = FRAMES_PER_SECOND,
) -> None:
    """Write a motion as an animation in real time: the robot, its positions and its energy.

    Args:
        run: the motion.
        arm: the robot, with the gravity and the payload of the simulation.
        file: its name ends in .gif, or in .mp4 where ffmpeg is installed.
        frames_per_second: of the animation; GIF players show 50 at most.

    Raises:
        MatplotlibMissing: it is not installed.
        AnimationFormatError: another suffix, or MP4 without ffmpeg.
        ValueError: frames_per_second is less than 1.
    """
    if frames_per_second < 1:
        raise ValueError(f'frames_per_second is {frames_per_second}; expected 1 or more')
    writer = animation_writer(Path(file), frames_per_second)
    rows = _frames(run.t, frames_per_second)
    figure = sheet(10, 5)
    left, right = figure.subfigures(1, 2)
    scene = left.add_subplot(projection='3d')
    shapes = [skeleton(arm.model, run.q[k]) for k in rows]
    lines = draw_skeleton(scene, arm.model, shapes[0])
    (trace,) = scene.plot(*shapes[0].tip[:, None], color='tab:red', linewidth=1)
    equal_axes(scene, extent(arm.model, run.q[rows]))
    cursors = _draw_curves(right, run, arm)
    scene.set_title(plain(arm.model.name))
    # The layout of the first frame is that of all.
    figure.draw_without_rendering()
    figure.set_layout_engine('none')
    tips = np.array([shape.tip for shape in shapes])
    with replacing(file) as new, writer.saving(figure, new.name, ANIMATION_RESOLUTION):
        for i, k in enumerate(rows):
            move_skeleton(lines, shapes[i])
            trace.set_data_3d(*tips[: i + 1].T)
            scene.set_title(f'{plain(arm.model.name)}, {run.t[k]:.2f} s')
            for cursor in cursors:
                cursor.set_xdata([run.t[k], run.t[k]])
            writer.grab_frame()


def _draw_curves(figure: Any, run: Run, arm: Dynamics) -> list[Any]:
    """Draw positions and energies; return the lines that mark the time."""
    panels = figure.subplots(2, 1, sharex=True)
    label, positions = _curves(run, arm.model)[0]
    panels[0].plot(run.t, positions, linewidth=1.2, label=[*map(plain, arm.model.joint_names)])
    panels[0].set_ylabel(label)
    for name, energy in _energies(run, arm).items():
        panels[1].plot(run.t, energy, linewidth=1.2, label=name)
    panels[1].set(ylabel='energy [J]', xlabel='time [s]')
    for panel in panels:
        panel.grid(alpha=0.25)
        panel.margins(x=0.01)
        panel.legend(loc='center left', bbox_to_anchor=(1, 0.5), frameon=False, fontsize='small')
    return [panel.axvline(run.t[0], color='black', linewidth=0.8) for panel in panels]


def _frames(t: Array, frames_per_second: int) -> list[int]:
    """Return the rows of a motion that are nearest to the times of the frames."""
    times = np.arange(t[0], t[-1] + 0.5 / frames_per_second, 1 / frames_per_second)
    after = np.searchsorted(t, times).clip(1, len(t) - 1) if len(t) > 1 else np.zeros(1, int)
    nearer = after - (times - t[after - 1] < t[after] - times) if len(t) > 1 else after
    return [int(k) for k in nearer]


def _curves(run: Run, model: RobotModel) -> list[tuple[str, Array]]:
    """Return positions, velocities and torques with their labels."""
    angles_first = np.sort(model.angular)[::-1]
    units = [dict.fromkeys(units_of(angles_first, unit)) for unit in ('rad', 'rad/s', 'N m')]
    labels = ('position', 'velocity', 'effort')
    return [
        (f'{label} [{" or ".join(unit)}]', values)
        for label, unit, values in zip(labels, units, (run.q, run.qd, run.effort), strict=True)
    ]


def _energies(run: Run, arm: Dynamics) -> dict[str, Array]:
    """Return the kinetic energy, the change of the potential energy, and their sum, J."""
    kinetic = np.asarray(arm.kinetic_energy(run.q, run.qd))
    potential = np.asarray(arm.potential_energy(run.q))
    change = potential - potential[0]
    return {'kinetic': kinetic, 'potential, from start': change, 'sum': kinetic + change}
