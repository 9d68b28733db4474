# SPDX-License-Identifier: Apache-2.0
"""Parameter files, read and checked as the nodes do, and those that the package writes; no ROS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import YamlError, nearest, parse_yaml, read_yaml
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.node_parameters import every_name
from robot_dynamics.ros.parameters import ParameterError, snapshot, specs
from robot_dynamics.ros.robot_parameters import MeasuredParameters, RobotParameters

EVERY_NODE = '/**'
STANDARD_ERRORS = '/standard_errors'  # an entry of no node: values of the same names
ORIGIN = '/identification'  # an entry of no node: what the parameters were identified from
WITHOUT_LIST = ('qos_overrides.', 'coupling.')  # of topics; of motors, as `identify` writes them
Table = TypeVar('Table', bound=RobotParameters)


def read_back(text: str, table: type[Table]) -> Table:
    """Return the parameters of a file with one entry; those that the table lacks are omitted.

    Raises:
        RobotDynamicsError: the text is not YAML, or a node rejects a value.
    """
    return _filled(parse_yaml(text), table)


def read_parameters(file: Path, table: type[Table]) -> Table:
    """Return the parameters of a file with an entry /**, or with one entry.

    Raises:
        OSError: the file cannot be read.
        RobotDynamicsError: the file has another form, no node has a parameter, or a node rejects
            a value.
    """
    try:
        return _filled(read_yaml(file), table)
    except RobotDynamicsError as error:
        raise type(error)(f'{file}: {error}') from error


def standard_errors(file: Path, model: RobotModel) -> dict[str, Array]:
    """Return the standard errors (n,) of identified parameters of a file, by name.

    Empty if it has none.

    Raises:
        OSError: the file cannot be read.
        RobotDynamicsError: an error is no number, or there is neither one nor one per joint.
    """
    content = read_yaml(file)
    entry = content.get(STANDARD_ERRORS) if isinstance(content, dict) else None
    if entry is None:
        return {}
    try:
        parameters = _filled({EVERY_NODE: entry}, MeasuredParameters)
        names = [name for name, _ in _flat(entry['ros__parameters']) if name != 'joints']
        return {name: parameters.of_joints(name.replace('.', '__'), model) for name in names}
    except RobotDynamicsError as error:
        raise type(error)(f'{file}: {STANDARD_ERRORS}: {error}') from error


def identified_from(file: Path) -> tuple[str, ...]:
    """Return the names of the recordings that a file of `identify` was fitted to, if it has them.

    Raises:
        OSError: the file cannot be read.
        RobotDynamicsError: the file is not YAML.
    """
    found = _origin(file).get('recordings')
    return tuple(map(str, found)) if isinstance(found, list) else ()


def is_identified(file: Path) -> bool:
    """Return whether a file exists and was written by `identify`."""
    try:
        return bool(_origin(file))
    except (OSError, YamlError):
        return False


def _origin(file: Path) -> dict[str, Any]:
    content = read_yaml(file)
    entry = content.get(ORIGIN) if isinstance(content, dict) else None
    given = entry.get('ros__parameters') if isinstance(entry, dict) else None
    return given if isinstance(given, dict) else {}


def _filled(content: Any, table: type[Table]) -> Table:
    entries = content if isinstance(content, dict) else {}
    name = next(iter(entries)) if len(entries) == 1 else EVERY_NODE
    entry = entries.get(name)
    given = entry.get('ros__parameters') if isinstance(entry, dict) else None
    if not isinstance(given, dict):
        raise ModelError(f'no ros__parameters of {EVERY_NODE}; expected parameters of nodes')
    known, given = specs(table), dict(_flat(given))
    _require_known(given)
    filled: Table = snapshot(table, {name: given[name] for name in known if name in given})
    return filled


def _require_known(names: Iterable[str]) -> None:
    """Raise ParameterError for a name that no node has."""
    known = every_name()
    for name in names:
        if name not in known and not name.startswith(WITHOUT_LIST):
            raise ParameterError(
                f'no node has a parameter {name!r}; the nearest is {nearest(name, known)}'
            )


def check_identified(urdf: bytes, text: str) -> None:
    """Load a URDF with the parameters of an identification, as the nodes do.

    Raises:
        RobotDynamicsError: a node rejects the description or a parameter.
    """
    parameters = read_back(text, MeasuredParameters)
    model, law = parameters.robot(urdf), LAWS[parameters.friction__law]
    # To the nodes a negative coefficient means that of the URDF: none is negative here.
    terms = {term: parameters.of_joints(f'friction__{term}', model) for term in law.terms}
    JointFriction(law, terms, parameters.of_joints('friction__presliding', model))
    for name in ('effort_scale', 'effort_scale_known', 'effort_offset'):
        parameters.of_joints(name, model)


def _flat(tree: dict[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each parameter. An empty group has the value {}."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value
