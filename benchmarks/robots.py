# SPDX-License-Identifier: Apache-2.0
"""Robots: real ones from packages on PyPI, and generated chains of any length.

Each is one URDF text that all libraries read, reduced to links, inertials and joints. Mimic tags
are removed, because not every library supports them: the two fingers of panda are two joints.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from robot_dynamics.common.errors import InertialWarning
from robot_dynamics.common.made_once import made_once
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import bare_urdf

# Paths in example-robot-data and in pybullet_data, which comes with PyBullet.
DESCRIPTIONS = {
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'panda': 'panda_description/urdf/panda.urdf',
    'talos_reduced': 'talos_data/robots/talos_reduced.urdf',
    'tiago': 'tiago_description/robots/tiago.urdf',
}
PYBULLET_DATA = {'kuka_iiwa': 'kuka_iiwa/model.urdf'}

DEFAULT = ('ur5', 'kuka_iiwa', 'panda', 'talos_reduced', 'chain12', 'chain30', 'chain100')
QUICK = ('kuka_iiwa', 'ur5', 'chain12')

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
SEED = 0


class RobotMissing(Exception):  # noqa: N818  (the name is sufficient)
    """The description of a robot is not installed, or its name is unknown."""


@dataclass(frozen=True)
class Robot:
    """A robot of the benchmark."""

    name: str
    urdf: str

    @made_once
    def model(self) -> RobotModel:
        """The robot as read by this package."""
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', InertialWarning)
            warnings.simplefilter('ignore', UserWarning)
            return parse_urdf(self.urdf)


def find(name: str) -> Robot:
    """Return a robot by its name, by `chainN`, or by the path of a URDF file.

    Raises:
        RobotMissing: no robot or file has this name.
    """
    chain = re.fullmatch(r'chain(\d+)', name)
    if chain:
        return Robot(name, chain_urdf(int(chain[1])))
    if name in DESCRIPTIONS:
        path = _example_robot_data() / DESCRIPTIONS[name]
    elif name in PYBULLET_DATA:
        path = _pybullet_data() / PYBULLET_DATA[name]
    else:
        path = Path(name)
    if not path.is_file():
        known = ', '.join((*DESCRIPTIONS, *PYBULLET_DATA))
        raise RobotMissing(f'no robot {name!r}: expected {known}, chainN or the path of a URDF')
    return Robot(path.stem if path == Path(name) else name, bare_urdf(path.read_bytes()))


def chain_urdf(n: int) -> str:
    """Return a chain of n revolute joints without right angles, the same for equal n."""
    model = random_tree(n, np.random.default_rng(SEED), branching=0.0, prismatic=0.0)
    robot = ElementTree.Element('robot', name=f'chain{n}')
    ElementTree.SubElement(robot, 'link', name='base')
    for i in range(n):
        link = ElementTree.SubElement(robot, 'link', name=f'link{i + 1}')
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'origin', xyz=_words(model.com[i]))
        ElementTree.SubElement(inertial, 'mass', value=_words(model.mass[i]))
        upper = model.inertia_com[i][np.triu_indices(3)]
        tensor = {key: _words(value) for key, value in zip(TENSOR, upper, strict=True)}
        ElementTree.SubElement(inertial, 'inertia', tensor)
        _joint(robot, i, model)
    # PyBullet reads lines of up to 8,191 characters and breaks longer ones.
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _joint(robot: ElementTree.Element, i: int, model: RobotModel) -> None:
    joint = ElementTree.SubElement(robot, 'joint', name=f'joint{i + 1}', type='revolute')
    ElementTree.SubElement(joint, 'parent', link=f'link{i}' if i else 'base')
    ElementTree.SubElement(joint, 'child', link=f'link{i + 1}')
    T_pi = model.placement[i]
    rpy = Rotation.from_matrix(T_pi[:3, :3].copy()).as_euler('xyz')  # SciPy 1.13 writes in it
    ElementTree.SubElement(joint, 'origin', xyz=_words(T_pi[:3, 3]), rpy=_words(rpy))
    ElementTree.SubElement(joint, 'axis', xyz=_words(model.axis[i]))
    ElementTree.SubElement(joint, 'limit', lower='-3', upper='3', effort='1000', velocity='10')


def _words(values: ArrayLike) -> str:
    """Return numbers as text that is read back to the same bits."""
    return ' '.join(repr(float(value)) for value in np.atleast_1d(values))


def _example_robot_data() -> Path:
    """Return the folder of example-robot-data, which is outside importable packages."""
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        raise RobotMissing('example-robot-data is not installed') from None
    for file in files:
        if file.as_posix().endswith(DESCRIPTIONS['panda']):
            return Path(str(file.locate())).resolve().parents[2]
    raise RobotMissing('example-robot-data is installed without its robots')


def _pybullet_data() -> Path:
    """Return the folder of pybullet_data, without importing it."""
    spec = importlib.util.find_spec('pybullet_data')
    if spec is None or spec.origin is None:
        raise RobotMissing('pybullet_data is not installed; it comes with pybullet')
    return Path(spec.origin).parent
