"""The robot of the demonstration: the user's, as far as it can be simulated.

A joint that moves no inertia has no acceleration, so it cannot be simulated: many descriptions
have such joints, casters and fingers drawn without a mass. They are locked, and named.

No ROS here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.urdf import load_urdf, robot_file


@dataclass(frozen=True, eq=False)
class DemoRobot:
    """A robot that can be simulated, and what had to be said about it."""

    path: Path
    arm: Dynamics
    locked: dict[str, float]  # joints that stand still, and where [rad or m]
    remarks: tuple[str, ...]

    @property
    def model(self) -> RobotModel:
        """The robot as data, without the locked joints."""
        return self.arm.model


def demo_robot(path: Path) -> DemoRobot:
    """Return the robot of a URDF or of a bundled one's name, massless joints locked.

    Raises:
        ModelError: the description is refused, or no joint of it moves an inertia.
    """
    path = robot_file(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        model = load_urdf(path)
    remarks = [str(warning.message) for warning in caught]
    massless = model.massless_joints()
    if len(massless) == model.n:
        raise ModelError(f'{path}: no joint moves a mass: there is nothing to simulate')
    locked = {name: _rest(model, name) for name in massless}
    if locked:
        remarks.append(f'locked, since they move no inertia: {", ".join(locked)}')
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = load_urdf(path, locked_joints=locked)
    return DemoRobot(path, Dynamics(model), locked, tuple(remarks))


def _rest(model: RobotModel, joint: str) -> float:
    """Return the position nearest to zero within a joint's limits."""
    j = model.joint_names.index(joint)
    return float(np.clip(0.0, model.lower[j], model.upper[j]))
