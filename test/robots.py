# SPDX-License-Identifier: Apache-2.0
"""Real robots for the tests: URDF files that packages on PyPI ship, found by a short name."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import warnings
from pathlib import Path

import pytest

from robot_dynamics.common.errors import InertialWarning
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.loading import load_urdf

_DESCRIPTIONS = {
    'panda': 'panda_description/urdf/panda.urdf',
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'tiago': 'tiago_description/robots/tiago.urdf',
    'talos_left_arm': 'talos_data/robots/talos_left_arm.urdf',
    'double_pendulum': 'double_pendulum_description/urdf/double_pendulum.urdf',
    'talos_reduced': 'talos_data/robots/talos_reduced.urdf',
}
_PYBULLET = {'kuka_iiwa': 'kuka_iiwa/model.urdf', 'xarm6': 'xarm/xarm6_robot.urdf'}

# The robots every algorithm is compared on; two of them come with pybullet, which not every
# platform has. `talos_reduced` is for measuring speed.
NAMES = (
    'panda',
    'ur5',
    'tiago',
    'talos_left_arm',
    'double_pendulum',
    *(_PYBULLET if importlib.util.find_spec('pybullet_data') else ()),
)


def example_robot_data() -> Path:
    """Return the folder of example-robot-data, which installs outside importable packages."""
    files = importlib.metadata.files('example-robot-data') or []
    for file in files:
        if file.as_posix().endswith(_DESCRIPTIONS['panda']):
            return Path(str(file.locate())).resolve().parents[2]
    raise FileNotFoundError('example-robot-data is installed without its robots')


def pybullet_data() -> Path:
    """Return the folder of pybullet_data, which comes with pybullet; not imported to find it.

    A test that asks for it is skipped where pybullet has no wheel, as with Python 3.12 and newer.
    """
    spec = importlib.util.find_spec('pybullet_data')
    if spec is None or spec.origin is None:
        pytest.skip('pybullet_data, which comes with pybullet, is not installed')
    return Path(spec.origin).parent


def path(name: str) -> Path:
    """Return the URDF file of one of NAMES, or of 'talos_reduced'."""
    if name in _PYBULLET:
        return pybullet_data() / _PYBULLET[name]
    return example_robot_data() / _DESCRIPTIONS[name]


def load(name: str, **options: object) -> RobotModel:
    """Return the model of one of NAMES, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', InertialWarning)
        warnings.simplefilter('ignore', UserWarning)
        return load_urdf(path(name), **options)
