"""What the launch files compute from the robot. No ROS here."""

from __future__ import annotations

import warnings
from pathlib import Path

from robot_dynamics.control import pd_gains
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf import load_urdf, urdf_text
from robot_dynamics.validation.states import random_postures
from robot_dynamics.visualization import link_frames


def root_link(file: str | Path) -> str:
    """Return the root link of a .urdf or .xacro file. Raises ModelError, which says why not."""
    return link_frames(urdf_text(file)).root


def feedback_gains(file: str | Path, time_step: float) -> dict[str, list[float] | float]:
    """Return kp, kd and expected_rate for a robot whose torque is held over a time step.

    They are those of the demonstration, for postures all over the robot's range.

    Args:
        file: its .urdf or .xacro file.
        time_step: s.

    Raises:
        ModelError: the description is refused, or a joint moves no mass.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # the nodes say it
        model = load_urdf(file)
    try:
        gains = pd_gains(Dynamics(model), random_postures(model), time_step)
    except ModelError as error:
        raise ModelError(f'{file}: {error}') from error
    return {
        'kp': gains.kp.tolist(),
        'kd': gains.kd.tolist(),
        'expected_rate': 1 / time_step,
    }
