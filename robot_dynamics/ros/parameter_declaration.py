"""Put a parameter table on a node: declare it, validate changes, keep the snapshot current."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.parameters import Spec, snapshot, specs, values

LARGEST_INTEGER = 2**63 - 1


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
    known = specs(table)
    started_with = {
        name: node.declare_parameter(name, spec.default, descriptor(spec)).value
        for name, spec in known.items()
    }

    def changed(parameters: Any) -> Any:
        changes = {p.name: p.value for p in parameters if p.name in known}
        return snapshot(table, {**values(node.parameters), **changes})

    def after_set(parameters: Any) -> None:
        adopt(changed(parameters))

    # Before Iron there is no callback after the change: then accepted values are adopted at once.
    has_post_callback = hasattr(node, 'add_post_set_parameters_callback')

    def on_set(parameters: Any) -> SetParametersResult:
        try:
            accept(changed(parameters))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not has_post_callback:
            after_set(parameters)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(on_set)
    if has_post_callback:
        node.add_post_set_parameters_callback(after_set)
    return snapshot(table, started_with)


def descriptor(spec: Spec) -> ParameterDescriptor:
    """Return what ROS shows and enforces of a parameter."""
    result = ParameterDescriptor(
        description=spec.description, read_only=not (spec.live or spec.description_of_robot)
    )
    if spec.choices:
        result.additional_constraints = f'one of {", ".join(spec.choices)}'
    if math.isinf(spec.low) and math.isinf(spec.high):
        return result
    if type(spec.default) is float:
        result.floating_point_range = [
            FloatingPointRange(from_value=float(spec.low), to_value=float(spec.high))
        ]
    elif type(spec.default) is int:
        highest = LARGEST_INTEGER if math.isinf(spec.high) else int(spec.high)
        result.integer_range = [IntegerRange(from_value=int(spec.low), to_value=highest)]
    else:
        result.additional_constraints = f'each in [{spec.low:g}, {spec.high:g}]'
    if spec.smallest:
        result.additional_constraints = f'0 or at least {spec.smallest:g}'
    return result
