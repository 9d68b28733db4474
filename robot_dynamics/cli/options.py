# SPDX-License-Identifier: Apache-2.0
"""Options common to several verbs, and checks of option values."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ModelError, RobotDynamicsError, ShapeError
from robot_dynamics.common.reporting.figures import (
    AnimationFormatError,
    animation_writer,
    picture_formats,
)
from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.dh import CONVENTIONS, load_dh
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.executables import ROS_MISSING
from robot_dynamics.ros.parameters import specs
from robot_dynamics.ros.robot_parameters import RobotParameters
from robot_dynamics.urdf.writing import write_urdf
from robot_dynamics.urdf.xacro_process import ARGUMENT, xacro_arguments

MAX_NUMBER = 1e12  # keeps squares finite and angles within 2^40 rad
MAX_COUNT = 1_000_000  # of states or samples
TIMEOUT = 10.0  # s, for what nodes publish


def add_robot(
    parser: argparse.ArgumentParser,
    option: str = 'robot',
    *,
    absent: str = '',
    default: Path | None = None,
    further: Iterable[str] = (),
) -> None:
    """Add the robot of a verb: `robot`, a description, or `--dh`, a table that becomes one.

    Verbs read the path `robot` alone, which `urdf_of_table` sets in the second case. Its
    `xacro_arguments` are set by `with_xacro_arguments`.

    Args:
        parser: of the verb.
        option: the name of the argument, '--robot' where the verb has another one.
        absent: which robot it is where neither is given; '': one of them is required.
        default: the path of that robot.
        further: names of robots without a file that the verb takes as well.
    """
    group = parser.add_mutually_exclusive_group(required=not absent)
    number: dict[str, Any] = {} if option.startswith('-') else {'nargs': '?'}
    known = _known_robots(further)
    group.add_argument(
        option,
        type=Path,
        default=default,
        help=f'{known} ({absent})' if absent else known,
        **number,
    )
    group.add_argument(
        '--dh',
        type=Path,
        metavar='TABLE.csv',
        help='instead, a Denavit-Hartenberg table: a, alpha, d, theta, type, mass, com, inertia',
    )
    parser.add_argument('--convention', choices=CONVENTIONS, help='letters of the table of --dh')
    parser.add_argument(
        '--package-path',
        action='append',
        default=[],
        type=folder,
        metavar='DIR',
        help='folder of packages, or of one package, where meshes and $(find) of a .xacro are '
        'searched (repeatable)',
    )


def _known_robots(further: Iterable[str]) -> str:
    """Return what the robot of a verb may be."""
    names = (
        f'{", ".join(bundled_robots())}, those of example-robot-data and robot_descriptions on '
        'this disk'
    )
    textbooks = ', '.join(further)
    return (
        'path of a .urdf, .xacro or MJCF file, with arguments as name:=value (a .xacro is a '
        'program, an MJCF file reads others: open only those of a known source), or a robot by '
        f'name: {names}{", and of textbooks: " if textbooks else ""}{textbooks}'
    )


def with_xacro_arguments(
    words: Sequence[str], parse: Callable[[list[str]], argparse.Namespace]
) -> argparse.Namespace:
    """Return the options of a command line, those given as name:=value in `xacro_arguments`.

    Args:
        words: of the command line.
        parse: reads all others.

    Raises:
        ModelError: an argument is given twice, or there is no description for it.
    """
    given = [word for word in words if ARGUMENT.fullmatch(word)]
    options = parse([word for word in words if word not in given])
    options.xacro_arguments = xacro_arguments(given)
    if given and vars(options).get('robot') is None:
        raise ModelError(
            f'{given[0]} is an argument of a .xacro or MJCF file; expected its path as well'
        )
    return options


@contextmanager
def urdf_of_table(options: argparse.Namespace) -> Iterator[None]:
    """Set `robot` to a URDF of the table of `--dh`, if there is one, while the verb runs."""
    table, convention = (vars(options).get(name) for name in ('dh', 'convention'))
    if (table is None) != (convention is None):
        raise ModelError(
            '--dh and --convention belong together; expected both or neither: the letters of a '
            f'table mean different numbers, {" or ".join(CONVENTIONS)}'
        )
    if table is None or convention is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # the verb repeats them, of the URDF
        model = load_dh(table, convention=convention)
    with TemporaryDirectory() as folder:
        options.robot = write_urdf(model, Path(folder, f'{table.stem}.urdf'))
        yield


def add_gravity(group: Any) -> None:
    """Add `--gravity` and `--base-orientation`, parameters of nodes, to a parser or a group."""
    for name, words, quantity in (
        ('gravity', 'X Y Z', 'gravity vector, m/s^2 (0 0 -9.81)'),
        (
            'base_orientation',
            'ROLL PITCH YAW',
            'orientation of the base in the frame of --gravity, rad (0 0 0; upside down: '
            '3.141592653589793 0 0)',
        ),
    ):
        group.add_argument(
            f'--{name.replace("_", "-")}',
            type=number(*specs(RobotParameters)[name].bounds),
            nargs=3,
            metavar=tuple(words.split()),
            help=quantity,
        )


def add_graph(group: Any, awaited: str, when: str = '') -> None:
    """Add `--namespace` and `--timeout` of ROS topics to a parser or a group of it."""
    add = group.add_argument
    add('--namespace', default='', help=f'{when}namespace of the topics, such as left')
    add(
        '--timeout',
        type=positive,
        default=TIMEOUT,
        help=f'{when}longest wait for {awaited}, s ({TIMEOUT:g})',
    )


def add_state(parser: argparse.ArgumentParser) -> None:
    """Add the options `--q` and `--qd` of a state."""
    for name, quantity in (('q', 'positions, rad or m'), ('qd', 'velocities')):
        parser.add_argument(
            f'--{name}',
            type=finite,
            nargs='+',
            metavar='X',
            help=f'{quantity}, one per joint (zeros)',
        )


@contextmanager
def ros_needed(name: str) -> Iterator[None]:
    """Import what needs ROS 2; name the verb or option if it cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise RosMissing(ROS_MISSING.format(name, error)) from error


class RosMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names what is missing)
    """ROS 2 is not installed."""


# -- numbers --------------------------------------------------------------------------------


def number(
    low: float = -MAX_NUMBER, high: float = MAX_NUMBER, *, above: float | None = None
) -> Callable[[str], float]:
    """Return a reader of numbers in [low, high], or in (above, high]."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan  # outside any range
        if not (low <= value <= high and (above is None or value > above)):
            raise argparse.ArgumentTypeError(f'is {text}; expected a number {expected}')
        return value

    if above is not None:
        expected = f'above {above:g}, at most {high:g}'
    else:
        expected = f'from {low:g} to {high:g}'
    return read


finite = number()
positive = number(above=0.0)
non_negative = number(low=0.0)


def nonzero(text: str) -> float:
    """Return a finite number other than zero."""
    value = finite(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f'is {text}; expected a number other than zero')
    return value


def count(high: int = MAX_COUNT) -> Callable[[str], int]:
    """Return a reader of integers from 1 to `high`."""
    return integer(1, high)


def integer(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of integers in [low, high]."""
    expected = f'an integer from {low} to {high}'

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'is {text}; expected {expected}')
        return value

    return read


seed = integer(0, 2**64 - 1)


def add_parameter(add: Any, option: str, table: type, name: str, help: str) -> None:
    """Add an option for a parameter of a node: its range or choices, and its default.

    Args:
        add: `add_argument` of a parser or group.
        option: its name.
        table: of parameters.
        name: of the parameter, a number or a text.
        help: its end is the default.
    """
    spec = specs(table)[name]
    values: dict[str, Any] = (
        {'choices': spec.choices} if spec.choices else {'type': number(*spec.bounds)}
    )
    add(option, default=spec.default, help=help.format(spec.default), **values)


# -- files ----------------------------------------------------------------------------------


def folder(text: str) -> Path:
    """Return the path of a folder that exists."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f'{text} is not a folder')
    return path


def new_file(text: str) -> Path:
    """Return the path of a file to write. Rejected before the computation if not writable."""
    file = Path(text)
    if file.is_dir():
        raise argparse.ArgumentTypeError(f'{text} is a folder; expected a file')
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f'{text} cannot be written: no such folder')
    return file


def new_folder(text: str) -> Path:
    """Return the path of a folder to create. Rejected if that is not possible."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f'{text} cannot be created: no such folder')
    return path


def new_report(text: str) -> Path:
    """Return the path of a page with figures to write.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    picture_formats()
    return new_file(text)


def new_picture(text: str) -> Path:
    """Return the path of a picture to draw, in a format that matplotlib writes.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    file, formats = new_file(text), picture_formats()
    if file.suffix.removeprefix('.').lower() not in formats:
        raise argparse.ArgumentTypeError(
            f'is {text}; expected a name that ends in .{", .".join(formats)}'
        )
    return file


def new_animation(text: str) -> Path:
    """Return the path of an animation to write, .gif or .mp4.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    file = new_file(text)
    try:
        animation_writer(file, 1)
    except AnimationFormatError as error:
        raise argparse.ArgumentTypeError(str(error).replace('animation is', 'is', 1)) from error
    return file


# -- values that depend on the robot --------------------------------------------------------


def mounting(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given options of `add_gravity`, as parameters of the nodes."""
    names = ('gravity', 'base_orientation')
    return {name: x for name in names if (x := getattr(options, name)) is not None}


def gravity_in_base(options: argparse.Namespace, given: RobotParameters | None = None) -> Array:
    """Return the gravity vector (3,) in the base frame, m/s^2.

    Args:
        options: of `add_gravity`; they replace
        given: the parameters of a file.
    """
    return replace(given or RobotParameters(), **mounting(options)).gravity_in_base()


def state(model: RobotModel, options: argparse.Namespace) -> tuple[Array, Array]:
    """Return q and qd (n,) of the options. Raises ShapeError if there are not n of them."""
    return _vector(model, 'q', options.q), _vector(model, 'qd', options.qd)


def _vector(model: RobotModel, name: str, values: list[float] | None) -> Array:
    """Return n values, zeros if there are none. Raises ShapeError if there are not n."""
    if values is None:
        return np.zeros(model.n)
    if len(values) != model.n:
        raise ShapeError(
            f'--{name} has {plural(len(values), "value")}; {model.name!r} has '
            f'{plural(model.n, "joint")}: {", ".join(model.joint_names)}'
        )
    return np.array(values)
