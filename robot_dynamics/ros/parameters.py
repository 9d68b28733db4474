"""Parameter tables: declaration, ranges, and a typed snapshot of the values.

A table is a frozen dataclass whose fields are made by `parameter(...)`. It gives the ROS
descriptors, the validation of values at start and at run time, and the object that the node reads.
Parameters are read-only, except those marked `live`, which may change while the node is active,
and those of the description, which may change while it is unconfigured.
`parameter_declaration.py` declares a table on a node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from robot_dynamics.errors import RobotDynamicsError

# Bounds far beyond any robot, and far from overflow.
LONGEST_TIME = 86400.0  # s
HIGHEST_RATE = 1e6  # Hz
LOWEST_RATE = 1e-3  # Hz, other than 0
FURTHEST = 1000.0  # rad or m
LARGEST_EFFORT = 1e9  # N m or N, also per second
LARGEST_GAIN = 1e9  # N m/rad, N/m, N m s/rad or N s/m
LONGEST_DIFFERENCE = 0.5  # s between two samples that still give a derivative


class ParameterError(RobotDynamicsError, ValueError):
    """A parameter has an invalid value; the message has its name, the value and valid ones."""


@dataclass(frozen=True)
class Spec:
    """Default, description and limits of a parameter."""

    default: Any
    description: str
    low: float = -math.inf
    high: float = math.inf
    smallest: float = 0.0  # smallest positive value, if 0 means off
    sizes: tuple[int, ...] = ()  # allowed lengths of an array; any if empty
    choices: tuple[str, ...] = ()
    live: bool = False
    description_of_robot: bool = False  # may change while the node is unconfigured
    name: str = ''  # where the ROS name has a dot


def parameter(default: Any, description: str, **limits: Any) -> Any:
    """Return a dataclass field for a parameter; the keywords are those of Spec."""
    spec = Spec(default, description, **limits)
    initial = tuple(default) if isinstance(default, list) else default
    return field(default=initial, metadata={'spec': spec})


def attributes(table: type) -> dict[str, str]:
    """Return the table's attribute names by ROS parameter name."""
    return {item.metadata['spec'].name or item.name: item.name for item in fields(table)}


def specs(table: type) -> dict[str, Spec]:
    """Return the table's parameters by their ROS names."""
    return {
        item.metadata['spec'].name or item.name: item.metadata['spec'] for item in fields(table)
    }


def changed(before: Any, after: Any) -> set[str]:
    """Return the ROS names of the parameters in which two filled tables differ."""
    old, new = values(before), values(after)
    return {name for name in new if new[name] != old[name]}


def live(table: Any, name: str) -> Any:
    """Return the field of a table for a parameter that may change while the node is active."""
    (item,) = (item for item in fields(table) if item.name == name)
    spec = replace(item.metadata['spec'], live=True)
    return field(default=item.default, metadata={'spec': spec})


def values(parameters: Any) -> dict[str, Any]:
    """Return the values of a filled table by ROS parameter name."""
    return {name: getattr(parameters, item) for name, item in attributes(type(parameters)).items()}


def snapshot(table: type, given_values: Mapping[str, Any]) -> Any:
    """Return the table filled with values by ROS name; others keep their defaults.

    Raises:
        ParameterError: an unknown name, or a value that is out of range or not finite.
    """
    known = specs(table)
    for name, value in given_values.items():
        if name not in known:
            raise ParameterError(f'no parameter {name!r}; there are {", ".join(known)}')
        _check(name, value, known[name])
    attribute = attributes(table)
    return table(
        **{
            attribute[name]: value if isinstance(value, (bool, int, float, str)) else tuple(value)
            for name, value in given_values.items()
        }
    )


def _check(name: str, value: Any, spec: Spec) -> None:
    if spec.choices and value not in spec.choices:
        raise ParameterError(f'{name} is {value!r}; it must be {" or ".join(spec.choices)}')
    items = [value] if isinstance(value, (bool, int, float, str)) else list(value)
    if spec.sizes and len(items) not in spec.sizes:
        sizes = ' or '.join(map(str, spec.sizes))
        raise ParameterError(f'{name} has {len(items)} values; it must have {sizes}')
    for item in items:
        if isinstance(item, (bool, str)):
            continue
        if not (math.isfinite(item) and spec.low <= item <= spec.high):
            raise ParameterError(
                f'{name} is {item}; it must be a finite number in [{spec.low:g}, {spec.high:g}]'
            )
        if 0 < item < spec.smallest:
            raise ParameterError(f'{name} is {item}; it must be 0 or at least {spec.smallest:g}')


def joint_order(joints: tuple[str, ...], joint_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the joints in the order of the parameter `joints`; for [''] that of the model.

    Raises ParameterError unless it names every joint once.
    """
    order = given(joints) or joint_names
    unknown = [name for name in order if name not in joint_names]
    missing = [name for name in joint_names if name not in order]
    if unknown or missing or len(order) != len(joint_names):
        raise ParameterError(
            f'joints is {", ".join(order)}; it must name each of {", ".join(joint_names)} once'
        )
    return order


def per_joint(
    name: str,
    value: tuple[float, ...],
    order: tuple[str, ...],
    joint_names: tuple[str, ...] | None = None,
) -> np.ndarray:
    """Return one number per joint from a parameter with one value for all, or one for each.

    Args:
        name: the parameter, for the message.
        value: its value.
        order: the joints in the order of the parameter.
        joint_names: the joints in the order of the result; default: `order`.

    Raises ParameterError if the sizes differ.
    """
    if len(value) not in (1, len(order)):
        raise ParameterError(
            f'{name} has {len(value)} values; it must have 1, or {len(order)} in the order '
            f'{", ".join(order)}'
        )
    values = np.broadcast_to(np.array(value, dtype=float), (len(order),))
    return values[[order.index(joint) for joint in joint_names or order]]


def given(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a list; [''] means none, as ROS cannot type an empty list."""
    return tuple(name for name in names if name)


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of every node: the robot, and diagnostics."""

    autostart: bool = parameter(
        True,
        'Configure and activate as soon as the description is available; false: wait for a '
        'lifecycle manager.',
    )
    robot_description: str = parameter(
        '',
        'The URDF as text. If empty: robot_description_file, else the topic robot_description.',
        description_of_robot=True,
    )
    robot_description_file: str = parameter(
        '', 'Path of a .urdf or .xacro file.', description_of_robot=True
    )
    description_timeout: float = parameter(
        10.0,
        'Longest wait for the topic robot_description, s; 0: no limit.',
        low=0.0,
        high=LONGEST_TIME,
        description_of_robot=True,
    )
    tip_link: str = parameter(
        '',
        'Keep only the joints that move this link, lock all others at 0. Empty: the whole tree.',
        description_of_robot=True,
    )
    locked_joints: tuple[str, ...] = parameter([''], 'Joints to lock.', description_of_robot=True)
    locked_positions: tuple[float, ...] = parameter(
        [0.0],
        'Positions of the locked joints, rad or m; one value or one per joint.',
        low=-FURTHEST,
        high=FURTHEST,
        description_of_robot=True,
    )
    strict_inertials: bool = parameter(
        False,
        'Reject physically inconsistent inertia tensors instead of warning.',
        description_of_robot=True,
    )
    joints: tuple[str, ...] = parameter(
        [''],
        'Order of the joints in lists with one value per joint and in messages without names. '
        "Empty: the model's.",
        description_of_robot=True,
    )
    gravity: tuple[float, ...] = parameter(
        [0.0, 0.0, -9.81],
        'Gravity vector in the frame that base_orientation refers to, m/s^2.',
        sizes=(3,),
        low=-1000.0,
        high=1000.0,
    )
    base_orientation: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0],
        'Roll, pitch, yaw of the base in that frame, rad.',
        sizes=(3,),
        low=-100.0,
        high=100.0,
    )
    payload_link: str = parameter(
        '', 'Link or frame that carries the payload.', name='payload.link'
    )
    payload_mass: float = parameter(
        0.0, 'Mass of the payload, kg.', low=0.0, high=1e6, name='payload.mass'
    )
    payload_com: tuple[float, ...] = parameter(
        [0.0, 0.0, 0.0],
        "Centre of mass of the payload in the link's frame, m.",
        sizes=(3,),
        low=-FURTHEST,
        high=FURTHEST,
        name='payload.com',
    )
    payload_inertia: tuple[float, ...] = parameter(
        [0.0] * 6,
        'ixx ixy ixz iyy iyz izz of the payload about its centre of mass, kg m^2.',
        sizes=(6,),
        low=-1e9,
        high=1e9,
        name='payload.inertia',
    )
    friction_viscous: tuple[float, ...] = parameter(
        [-1.0],
        "Viscous friction, N m s/rad or N s/m, one value or one per joint; negative: the URDF's "
        '<dynamics damping>.',
        low=-LARGEST_GAIN,
        high=LARGEST_GAIN,
        name='friction.viscous',
    )
    friction_coulomb: tuple[float, ...] = parameter(
        [-1.0],
        "Dry friction, N m or N, one value or one per joint; negative: the URDF's <dynamics "
        'friction>.',
        low=-LARGEST_EFFORT,
        high=LARGEST_EFFORT,
        name='friction.coulomb',
    )
    frame_prefix: str = parameter(
        '',
        "Prefix of link names in the frame_id of messages, as `left/`: that of the robot's state "
        'publisher.',
    )
    diagnostics_period: float = parameter(
        1.0, 'Time between two messages on /diagnostics, s.', low=0.1, high=60.0, live=True
    )


@dataclass(frozen=True)
class VaryingRobotParameters(RobotParameters):
    """Parameters of a node whose gravity and payload may change while it is active."""

    gravity: tuple[float, ...] = live(RobotParameters, 'gravity')
    base_orientation: tuple[float, ...] = live(RobotParameters, 'base_orientation')
    payload_link: str = live(RobotParameters, 'payload_link')
    payload_mass: float = live(RobotParameters, 'payload_mass')
    payload_com: tuple[float, ...] = live(RobotParameters, 'payload_com')
    payload_inertia: tuple[float, ...] = live(RobotParameters, 'payload_inertia')


@dataclass(frozen=True)
class LiveRobotParameters(VaryingRobotParameters):
    """Parameters of a node that answers joint states; friction may change as well."""

    friction_viscous: tuple[float, ...] = live(RobotParameters, 'friction_viscous')
    friction_coulomb: tuple[float, ...] = live(RobotParameters, 'friction_coulomb')
    input_timeout: float = parameter(
        0.1,
        'How long the last value of a joint is held without a new one, s.',
        low=0.0,
        high=LONGEST_TIME,
        live=True,
    )
    missing_velocity: str = parameter(
        'gravity',
        'For joint states without velocity: gravity (publish only terms that need none) or '
        'differentiate (velocities from positions, low-pass filtered).',
        choices=('gravity', 'differentiate'),
        live=True,
    )
    velocity_cutoff: float = parameter(
        50.0, 'Cutoff frequency of that low-pass filter, Hz.', low=0.1, high=1000.0, live=True
    )
