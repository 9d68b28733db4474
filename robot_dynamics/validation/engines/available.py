"""The engines that can judge: where they live, what they can do, in order of preference."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any, Protocol

from robot_dynamics.model.inertia import Inertial
from robot_dynamics.spatial import Array


class Engine(Protocol):
    """One robot, held by another implementation of rigid-body dynamics."""

    version: str  # the engine's name and version

    def __init__(self, urdf: str, gravity: list[float]):
        """Load a bare URDF with a fixed base; raises RuntimeError if the engine refuses it."""

    def joints(self) -> list[tuple[str, str]]:
        """Return (joint, the link it moves) of each coordinate, in the engine's order."""

    def inertials(self) -> dict[str, Inertial]:
        """Return what the engine holds of the links, as far as it can tell."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Any:
        """Return the torques of one state, in the engine's order."""

    def mass_matrix(self, q: Array) -> Any:
        """Return M(q), in the engine's order."""


# name: (the distribution's module, our module, its class, how people call it)
_ENGINES = {
    'pybullet': ('pybullet', 'pybullet_engine', 'PyBulletEngine', 'PyBullet'),
    'mujoco': ('mujoco', 'mujoco_engine', 'MuJoCoEngine', 'MuJoCo'),
    'pinocchio': ('pinocchio', 'pinocchio_engine', 'PinocchioEngine', 'Pinocchio'),
}

ENGINES = tuple(_ENGINES)


def title(name: str) -> str:
    """Return the engine's name as people write it. Raises ValueError if it is none."""
    if name not in _ENGINES:
        raise ValueError(f'no engine {name!r}; it must be one of {", ".join(ENGINES)}')
    return _ENGINES[name][3]


def installed(name: str) -> bool:
    """Say whether an engine is there, without importing it."""
    return importlib.util.find_spec(_ENGINES[name][0]) is not None


def load(name: str, urdf: str, gravity: list[float]) -> Engine:
    """Return the engine with a robot; call it in a worker process only.

    Raises:
        ImportError: the engine is not installed.
        RuntimeError: the engine refuses the robot.
    """
    _, module, kind, _ = _ENGINES[name]
    engine: Engine = getattr(import_module(f'robot_dynamics.validation.engines.{module}'), kind)(
        urdf, gravity
    )
    return engine
