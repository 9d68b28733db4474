"""Options that several verbs have, and what they stand for."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics.errors import ShapeError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Ask for the robot."""
    parser.add_argument('robot', type=Path, help='path of a .urdf or .xacro file')


def add_state(parser: argparse.ArgumentParser) -> None:
    """Ask for a state."""
    for name, what in (('q', 'positions, rad or m'), ('qd', 'velocities')):
        parser.add_argument(
            f'--{name}', type=float, nargs='+', metavar='X', help=f'{what}, one per joint (zeros)'
        )


def positive(text: str) -> float:
    """Refuse a number that is not positive."""
    value = float(text)
    if not (np.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f'{text} is not a positive number')
    return value


def new_file(text: str) -> Path:
    """Refuse a file that could not be written, before all the work is done."""
    file = Path(text)
    if not file.parent.is_dir() or file.is_dir():
        raise argparse.ArgumentTypeError(f'{text} cannot be written: no such folder')
    return file


def state(model: RobotModel, options: argparse.Namespace) -> tuple[Array, Array]:
    """Return q and qd (n,) of the options. Raises ShapeError if there are not n of them."""
    return _vector(model, 'q', options.q), _vector(model, 'qd', options.qd)


def _vector(model: RobotModel, name: str, values: list[float] | None) -> Array:
    """Return n values, zeros if there are none. Raises ShapeError if there are not n."""
    if values is None:
        return np.zeros(model.n)
    if len(values) != model.n:
        raise ShapeError(
            f'--{name} has {len(values)} values; {model.name!r} has {model.n} joints: '
            f'{", ".join(model.joint_names)}'
        )
    return np.array(values)
