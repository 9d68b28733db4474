# SPDX-License-Identifier: Apache-2.0
"""Parameter tables: declaration on a node, ranges, and a typed snapshot of the values.

A table is a frozen dataclass whose fields are made by `parameter(...)`. It gives the ROS
descriptors, the validation of values at start and at run time, and the object that the node reads.
A double underscore in the name of a field stands for the dot in the name of the parameter. A field
made by `group(...)` holds settings of the library, whose declarations are those of `settings`.
Parameters are read-only, except those marked `live`, which may change while the node is active,
and those of the description, which may change while it is unconfigured. A derived table may have
`LIVE`, with which the names of further parameters that are live begin. ROS is imported by the
functions that declare: tables and values are checked without it, too.
"""

from __future__ import annotations

import math
import reprlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError, ShapeError
from robot_dynamics.common.settings import Setting, settings_of
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import is_number, nearest
from robot_dynamics.core.model import joint_values

if TYPE_CHECKING:
    from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult

LARGEST_INTEGER = 2**63 - 1


class Type(NamedTuple):
    """Type of a parameter: whether a value has it, and its name for one value and for several."""

    fits: Callable[[Any], bool]
    names: tuple[str, str]


# By the type of the default. As in YAML, an integer is a number, and a boolean is none.
TYPES = {
    bool: Type(lambda x: isinstance(x, bool), ('true or false', 'true or false')),
    int: Type(lambda x: type(x) is int, ('an integer', 'integers')),
    float: Type(is_number, ('a number', 'numbers')),
    str: Type(lambda x: isinstance(x, str), ('a text', 'texts')),
}


class ParameterError(RobotDynamicsError, ValueError):
    """A parameter has an invalid value; the message has its name, the value and valid ones."""


@dataclass(frozen=True)
class Spec:
    """Default, description and limits of a parameter."""

    default: Any
    description: str
    bounds: tuple[float, float] = (-math.inf, math.inf)  # of each value
    smallest: float = 0.0  # smallest positive value, if 0 means off
    size: int | None = None  # of an array; None: any
    choices: tuple[str, ...] = ()
    live: bool = False
    description_of_robot: bool = False  # may change while the node is unconfigured


def parameter(default: Any, description: str, *bounds: Any, **limits: Any) -> Any:
    """Return a dataclass field for a parameter; the arguments are those of Spec."""
    spec = Spec(default, description, *bounds, **limits)
    return field(default=_held(default), metadata={'spec': spec})


def group(kind: type, *without: str, **defaults: Any) -> Any:
    """Return a dataclass field for the settings of a dataclass, as parameters with its prefix.

    Args:
        kind: a dataclass of `settings`.
        without: names of settings that are no parameters of the group.
        defaults: of parameters, where they are not those of the settings.
    """
    specs = {
        name: replace(_spec(one), **({'default': defaults[name]} if name in defaults else {}))
        for name, one in settings_of(kind).items()
        if name not in without
    }
    initial = {name: _held(spec.default) for name, spec in specs.items()}
    return field(default_factory=lambda: kind(**initial), metadata={'group': specs})


def parameter_of(kind: type, name: str, **properties: Any) -> Any:
    """Return a dataclass field for the parameter of a setting.

    Args:
        kind: a dataclass of `settings`.
        name: of the setting.
        properties: of Spec, where they are not those of the setting.
    """
    spec = replace(_spec(settings_of(kind)[name]), **properties)
    return field(default=_held(spec.default), metadata={'spec': spec})


def _spec(one: Setting) -> Spec:
    """Return the parameter of a setting: 0 is no limit, and values of joints are a list."""
    low, high = one.bounds
    default = 0.0 if one.is_limit else -1.0 if one.none else one.default
    return Spec(
        [default] if one.per_joint else default,
        one.description,
        (-high if one.none else low, high),
        one.smallest,
        choices=one.choices,
    )


def parameter_values(prefix: str, settings: Any) -> dict[str, Any]:
    """Return settings as parameters: lists for joints, 0 for no limit; None is left out."""
    found = {}
    for name, one in settings_of(settings).items():
        value = getattr(settings, name)
        if one.per_joint and value is not None:
            row = np.atleast_1d(np.asarray(value, dtype=float))
            value = np.where(np.isposinf(row), 0.0, row).tolist()
        if value is not None:
            found[f'{prefix}.{name}'] = value
    return found


def ros_name(attribute: str) -> str:
    """Return the name of the parameter in a field of a table."""
    return attribute.replace('__', '.')


def specs(table: type) -> dict[str, Spec]:
    """Return the table's parameters by their ROS names."""
    live = getattr(table, 'LIVE', ())
    found = {name: spec for name, _, spec in _declared(table)}
    return {
        name: replace(spec, live=True) if name.startswith(live) else spec
        for name, spec in found.items()
    }


def values(parameters: Any) -> dict[str, Any]:
    """Return the values of a filled table by ROS parameter name."""
    return {
        name: reduce(getattr, path, parameters) for name, path, _ in _declared(type(parameters))
    }


def _declared(table: type) -> Iterator[tuple[str, tuple[str, ...], Spec]]:
    """Yield ROS name, attributes that lead to the value, and spec of each parameter."""
    for item in fields(table):
        if 'group' in item.metadata:
            for key, spec in item.metadata['group'].items():
                yield f'{item.name}.{key}', (item.name, key), spec
        else:
            yield ros_name(item.name), (item.name,), item.metadata['spec']


def changed(before: Any, after: Any) -> set[str]:
    """Return the ROS names of the parameters in which two filled tables differ."""
    old, new = values(before), values(after)
    return {name for name in new if new[name] != old[name]}


def given(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a list; [''] means none, as ROS cannot type an empty list."""
    return tuple(name for name in names if name)


# -- values ---------------------------------------------------------------------------------


def snapshot(table: type, given_values: Mapping[str, Any]) -> Any:
    """Return the table filled with values by ROS name; others keep their defaults.

    Raises:
        ParameterError: an unknown name, or a value of another type, out of range or not finite.
    """
    known = specs(table)
    for name, value in given_values.items():
        if name not in known:
            raise ParameterError(
                f'no parameter {name!r}, the nearest is {nearest(name, known)}; there are '
                f'{", ".join(known)}'
            )
        _check(name, value, known[name])
    alone: dict[str, Any] = {}
    grouped: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, (first, *key), _ in _declared(table):
        if name in given_values:
            target = grouped[first] if key else alone
            target[key[0] if key else first] = _held(given_values[name])
    filled = table()
    groups = {name: replace(getattr(filled, name), **group) for name, group in grouped.items()}
    return replace(filled, **alone, **groups)


def _held(value: Any) -> Any:
    return tuple(value) if _is_list(value) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, array, np.ndarray))


def _check_type(name: str, value: Any, default: Any) -> None:
    """Raise ParameterError unless a value has the type of the default of its parameter."""
    of_list = _is_list(default)
    fits, (one, several) = TYPES[type(default[0] if of_list else default)]
    if of_list == _is_list(value) and all(map(fits, value if of_list else [value])):
        return
    expected = f'a list of {several}' if of_list else one
    raise ParameterError(f'{name} is {reprlib.repr(value)}; it must be {expected}')


def _check(name: str, value: Any, spec: Spec) -> None:
    _check_type(name, value, spec.default)
    if spec.choices and value not in spec.choices:
        raise ParameterError(f'{name} is {value!r}; it must be {" or ".join(spec.choices)}')
    items = list(value) if _is_list(value) else [value]
    if spec.size is not None and len(items) != spec.size:
        raise ParameterError(f'{name} has {len(items)} values; it must have {spec.size}')
    low, high = spec.bounds
    for item in items:
        if isinstance(item, (bool, str)):
            continue
        if not (math.isfinite(item) and low <= item <= high):
            raise ParameterError(
                f'{name} is {item}; it must be a finite number in [{low:g}, {high:g}]'
            )
        if 0 < item < spec.smallest:
            raise ParameterError(f'{name} is {item}; it must be 0 or at least {spec.smallest:g}')


def joint_order(joints: tuple[str, ...], joint_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the joints in the order of the parameter `joints`; for [''] that of the model.

    Raises ParameterError unless it names every joint once.
    """
    order = given(joints) or joint_names
    if sorted(order) != sorted(joint_names):
        message = (
            f'joints is {", ".join(order)}; it must name each of {", ".join(joint_names)} once'
        )
        if set(order).isdisjoint(joint_names):
            message += (
                '; they are of another robot, or of coupled motors (identify --coupling), whose '
                'parameters are not supported'
            )
        raise ParameterError(message)
    return order


def per_joint(
    name: str,
    value: tuple[float, ...],
    order: tuple[str, ...],
    joint_names: tuple[str, ...] | None = None,
) -> Array:
    """Return one number per joint from a parameter with one value for all, or one for each.

    Args:
        name: the parameter, for the message.
        value: its value.
        order: the joints in the order of the parameter.
        joint_names: the joints in the order of the result; default: `order`.

    Raises ParameterError if the sizes differ.
    """
    try:
        row = joint_values.per_joint(name, value, order)
    except ShapeError as error:
        raise ParameterError(str(error)) from None
    return row[[order.index(joint) for joint in joint_names or order]]


# -- declaration ----------------------------------------------------------------------------


def declare(
    node: Any, table: type, accept: Callable[[Any], None], adopt: Callable[[Any], None]
) -> Any:
    """Declare a table's parameters on a node and return their values.

    Args:
        node: the rclpy node.
        table: a dataclass of parameters.
        accept: called with the candidate values before a change at run time; a
            RobotDynamicsError that it raises rejects the change and is the reason returned.
        adopt: called with the new values after a change that was accepted.

    Raises:
        ParameterError: a value given at start is rejected.
    """
    from rcl_interfaces.msg import SetParametersResult

    known = specs(table)
    started_with = {
        name: node.declare_parameter(name, spec.default, descriptor(spec)).value
        for name, spec in known.items()
    }

    def candidate(parameters: Any) -> Any:
        changes = {p.name: p.value for p in parameters if p.name in known}
        return snapshot(table, {**values(node.parameters), **changes})

    def is_concerned(parameters: Any) -> bool:
        # rclpy declares parameters of its own, for each topic.
        return any(p.name in known for p in parameters)

    def after_set(parameters: Any) -> None:
        if is_concerned(parameters):
            adopt(candidate(parameters))

    def on_set(parameters: Any) -> SetParametersResult:
        try:
            if is_concerned(parameters):
                accept(candidate(parameters))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(on_set)
    node.add_post_set_parameters_callback(after_set)
    return snapshot(table, started_with)


def descriptor(spec: Spec) -> ParameterDescriptor:
    """Return what ROS shows and enforces of a parameter."""
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    low, high = spec.bounds
    result = ParameterDescriptor(
        description=spec.description, read_only=not (spec.live or spec.description_of_robot)
    )
    if spec.choices:
        result.additional_constraints = f'one of {", ".join(spec.choices)}'
    if math.isinf(low) and math.isinf(high):
        return result
    if type(spec.default) is float:
        result.floating_point_range = [
            FloatingPointRange(from_value=float(low), to_value=float(high))
        ]
    elif type(spec.default) is int:
        highest = LARGEST_INTEGER if math.isinf(high) else int(high)
        result.integer_range = [IntegerRange(from_value=int(low), to_value=highest)]
    else:
        result.additional_constraints = f'each in [{low:g}, {high:g}]'
    if spec.smallest:
        result.additional_constraints = f'0 or at least {spec.smallest:g}'
    return result
