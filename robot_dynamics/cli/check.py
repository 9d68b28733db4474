"""The verb `check`: contents and faults of a robot description."""

from __future__ import annotations

import argparse

import numpy as np

from robot_dynamics.cli.options import add_robot
from robot_dynamics.cli.output import concise_warnings, print_table
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.urdf.loading import load_urdf


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    add_robot(parser)
    parser.add_argument('--strict', action='store_true', help='reject non-physical inertias')


def check(options: argparse.Namespace) -> int:
    """Print joints, limits and masses of a robot description, with warnings about its faults."""
    with concise_warnings():
        model = load_urdf(options.robot, strict_inertials=options.strict)
    print(f'{model.name}: {model.n} joints, {model.nb} moving bodies of {model.mass.sum():.4g} kg')
    limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
    numbers = np.stack([*limits, model.viscous, model.coulomb], axis=1)
    print_table(
        ('joint', 'kind', 'lower', 'upper', 'velocity', 'effort', 'viscous', 'dry friction'),
        [
            (name, kind, *map(_short, row))
            for name, kind, row in zip(model.joint_names, _kinds(model), numbers, strict=True)
        ],
    )
    parents = [model.body_names[parent] if parent >= 0 else 'base' for parent in model.parent]
    bodies = zip(model.body_names, parents, model.mass, model.com, strict=True)
    print_table(
        ('moving body', 'parent', 'mass', 'centre of mass'),
        [(name, at, _short(mass), ' '.join(map(_short, com))) for name, at, mass, com in bodies],
    )
    return 0


def _kinds(model: RobotModel) -> list[str]:
    """Return the joint type of each coordinate, as in a URDF."""
    rotates = model.angular
    limited = np.isfinite(model.lower) | np.isfinite(model.upper)
    return [
        'prismatic' if not rotation else 'revolute' if limit else 'continuous'
        for rotation, limit in zip(rotates, limited, strict=True)
    ]


def _short(number: float) -> str:
    return f'{number:.4g}'
