# SPDX-License-Identifier: Apache-2.0
"""Parameter files that the package writes, checked as the nodes check them; without ROS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from robot_dynamics.friction.coefficients import JointFriction
from robot_dynamics.friction.laws import LAWS
from robot_dynamics.ros.parameters import snapshot, specs
from robot_dynamics.ros.robot_parameters import LiveRobotParameters, RobotParameters
from robot_dynamics.yaml_text import parse_yaml

Table = TypeVar('Table', bound=RobotParameters)


def read_back(text: str, table: type[Table]) -> Table:
    """Return the parameters of a file with one entry; those that the table lacks are omitted.

    Raises:
        RobotDynamicsError: the text is not YAML, or a node rejects a value.
    """
    (entry,) = parse_yaml(text).values()
    known, given = specs(table), dict(_flat(entry['ros__parameters']))
    filled: Table = snapshot(table, {name: given[name] for name in known if name in given})
    return filled


def check_identified(urdf: bytes, text: str) -> None:
    """Load a URDF with the parameters of an identification, as the nodes do.

    Raises:
        RobotDynamicsError: a node rejects the description or a parameter.
    """
    parameters = read_back(text, LiveRobotParameters)
    model, law = parameters.robot(urdf), LAWS[parameters.friction__law]
    # To the nodes a negative coefficient means that of the URDF: none is negative here.
    terms = {term: parameters.of_joints(f'friction__{term}', model) for term in law.terms}
    JointFriction(law, terms, parameters.of_joints('friction__presliding', model))
    for name in ('effort_scale', 'effort_offset'):
        parameters.of_joints(name, model)


def _flat(tree: dict[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield name and value of each parameter."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value
