# SPDX-License-Identifier: Apache-2.0
"""Physics engines that serve as reference: registry, adapters and their processes.

`comparison` takes the first that is installed and loads the robot unchanged. Each adapter maps an
engine to the protocol below; it runs in a process of its own (`process`), and `reference_engine`
converts its results to the joint coordinates of this package.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any, Protocol

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial


class Engine(Protocol):
    """One robot, loaded into another implementation of rigid-body dynamics."""

    version: str  # name and version of the engine

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a reduced URDF with a fixed base; raise RuntimeError if the engine rejects it."""

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, link it moves) of each coordinate, in the engine's order."""

    def inertials(self) -> dict[str, Inertial]:
        """Return the inertias that the engine uses, of the links for which it reports them."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state, in the engine's order."""

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q), in the engine's order."""

    def joint_frames(self, q: Array) -> tuple[Any, Any, Any] | None:
        """Return axes (m, 3) and origins (m, 3) of joints in the base, and masses (m,) they move.

        An origin is that of the link's frame. None where the engine does not report them.
        """


# name: (the distribution's module, adapter module, adapter class, title)
_ENGINES = {
    'pybullet': ('pybullet', 'pybullet_engine', 'PyBulletEngine', 'PyBullet'),
    'mujoco': ('mujoco', 'mujoco_engine', 'MuJoCoEngine', 'MuJoCo'),
    'pinocchio': ('pinocchio', 'pinocchio_engine', 'PinocchioEngine', 'Pinocchio'),
}

ENGINES = tuple(_ENGINES)  # in order of preference


def title(name: str) -> str:
    """Return the engine's name as its authors write it. Raises ValueError for an unknown one."""
    if name not in _ENGINES:
        raise ValueError(f'no engine {name!r}; it must be one of {", ".join(ENGINES)}')
    return _ENGINES[name][3]


def installed(name: str) -> bool:
    """Return whether an engine is installed, without importing it."""
    return importlib.util.find_spec(_ENGINES[name][0]) is not None


def load(name: str, urdf: str, gravity: list[float]) -> Engine:
    """Return the engine with a robot; for worker processes only.

    Raises:
        ImportError: the engine is not installed.
        RuntimeError: the engine rejects the robot.
    """
    _, module, kind, _ = _ENGINES[name]
    engine: Engine = getattr(import_module(f'robot_dynamics.validation.engines.{module}'), kind)(
        urdf, gravity
    )
    return engine
