# SPDX-License-Identifier: Apache-2.0
"""Registration of the verbs, and exit codes of errors."""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeGuard

from robot_dynamics import __version__
from robot_dynamics.cli.check import add_check_options, check
from robot_dynamics.cli.compare import add_compare_options, compare_robot
from robot_dynamics.cli.demo import add_demo_options, demo
from robot_dynamics.cli.derive import add_derive_options, derive_robot
from robot_dynamics.cli.evaluate import add_evaluate_options, evaluate_recording
from robot_dynamics.cli.excite import add_excite_options, excite_robot
from robot_dynamics.cli.export import add_export_options, export
from robot_dynamics.cli.gains import add_gains_options, gains
from robot_dynamics.cli.identify import add_identify_options, identify_robot
from robot_dynamics.cli.monte_carlo import add_monte_carlo_options, monte_carlo
from robot_dynamics.cli.options import urdf_of_table, with_xacro_arguments
from robot_dynamics.cli.payload import add_payload_options, payload
from robot_dynamics.cli.precompile import add_precompile_options, precompile
from robot_dynamics.cli.record import add_record_options, record_topics
from robot_dynamics.cli.same import add_same_options, same_robot
from robot_dynamics.cli.send import add_send_options, send_motion
from robot_dynamics.cli.simulate import add_simulate_options, simulate_robot
from robot_dynamics.cli.size import add_size_options, size
from robot_dynamics.cli.terms import add_terms_options, terms
from robot_dynamics.cli.thresholds import add_thresholds_options, thresholds
from robot_dynamics.cli.trajectory import add_trajectory_options, trajectory
from robot_dynamics.cli.validate import add_validate_options, validate_robot
from robot_dynamics.cli.view import add_view_options, view
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.core.model.joint_values import words_of

ERROR = 2  # exit code of an error, as in argparse
CLOSED = 141  # exit code of a broken pipe, as shells have it: 128 + SIGPIPE
NUMBERS = re.compile(r'(?=.*[][(),])[][(),\s\d.eE+-]+')  # of a list in Python, or a part of one

NAME_WIDTH = 15  # characters of a verb in --help


class VerbGroup(NamedTuple):
    """Verbs that --help and the page of the command line show together."""

    title: str
    sentence: str
    first: str  # the command to begin with
    verbs: tuple[str, ...]


GROUPS = (
    VerbGroup(
        'Models',
        'These need only a robot description. `check` examines it, `validate` compares its '
        'dynamics with a physics engine, `compare` with other derivations of the same equations, '
        'and `same` compares two descriptions.',
        'robot-dynamics check ROBOT.urdf',
        (
            *('check', 'same', 'validate', 'compare', 'view', 'terms', 'derive', 'simulate'),
            *('trajectory', 'size', 'gains', 'monte-carlo', 'export', 'precompile'),
        ),
    ),
    VerbGroup(
        'Recordings',
        'These read a rosbag2 folder or a CSV file of joint positions and efforts; `excite` '
        'writes the motion to record.',
        'robot-dynamics evaluate RECORDING --robot ROBOT.urdf',
        ('evaluate', 'payload', 'excite', 'identify', 'thresholds'),
    ),
    VerbGroup(
        'ROS 2',
        'These need ROS 2, and so does `view --live`.',
        'robot-dynamics demo',
        ('demo', 'record', 'send'),
    ),
)


class OneLineParser(argparse.ArgumentParser):
    """Argument parser with one-line errors."""

    def error(self, message: str) -> NoReturn:
        """Print the message in one line and exit."""
        self.exit(ERROR, f'{self.prog}: error: {message}; {self.prog} --help shows the options\n')


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code; CLOSED if the reader of the output has ended."""
    try:
        try:
            return _run(arguments)
        finally:
            print(end='', flush=True)  # here, not in the shutdown of the interpreter
    except OSError as error:
        # What is left in the buffer cannot be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED
        print(f'robot-dynamics: standard output: {error.strerror}', file=sys.stderr)
        return ERROR


def _output_is_closed() -> bool:
    """Return whether standard output is a pipe whose reader has ended, as in `... | head`."""
    if sys.platform == 'win32':
        return False
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return False  # not a file: replaced by the caller, closed or absent
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _run(arguments: Sequence[str] | None) -> int:
    """Run one verb and return its exit code; that of an error after its message.

    Raises:
        BrokenPipeError: the reader of the output has ended.
    """
    words = sys.argv[1:] if arguments is None else arguments
    given = [part for word in words for part in _parts(word)]
    options = argparse.Namespace()
    try:
        options = with_xacro_arguments(given, parser().parse_args)
        verb: Callable[[argparse.Namespace], int] = options.verb
        with urdf_of_table(options):
            return verb(options)
    except (RobotDynamicsError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _output_is_closed():
            raise
        reason = f'{error.filename}: {error.strerror}' if _names_file(error) else str(error)
        reason = _option(given, options, reason) + reason
        print(f'robot-dynamics: {" ".join(reason.split())}', file=sys.stderr)
        return ERROR
    except MemoryError as error:
        print(f'robot-dynamics: not enough memory: {error}', file=sys.stderr)
        return ERROR


def _parts(word: str) -> list[str]:
    """Return the numbers of a list, '[0, 1]' or '--q=[0, 1]', as words of their own."""
    option, sign, value = word.rpartition('=')
    if not NUMBERS.fullmatch(value) or not (option.startswith('--') or not sign):
        return [word]
    return [option, *words_of(value)] if sign else words_of(value)


def _names_file(error: Exception) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and bool(error.filename and error.strerror)


def _option(given: Sequence[str], options: argparse.Namespace, reason: str) -> str:
    """Return the option, and a space, of the file with which a reason begins, '' if there is none.

    The parameters that `identify` writes belong to the option of the URDF beside them.
    """
    begun = [word.partition('=')[0] for word in given if word.startswith('--')]
    for name, value in vars(options).items():
        option = f'--{name.replace("_", "-")}'
        files = (value, value.parent / f'{value.stem}.yaml') if isinstance(value, Path) else ()
        named = any(reason.startswith(f'{file}: ') for file in files)
        if named and any(map(option.startswith, begun)):
            return f'{option} '
    return ''


@cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which a program that runs many verbs makes once."""
    parser = OneLineParser(
        prog='robot-dynamics',
        description='Dynamics of robot arms from a URDF.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    verbs = parser.add_subparsers(
        metavar='VERB', required=True, help='robot-dynamics VERB --help prints its options'
    )

    def verb(name: str, function: Callable[..., int]) -> argparse.ArgumentParser:
        result = verbs.add_parser(name, description=function.__doc__)
        result.set_defaults(verb=function)
        return result

    add_check_options(verb('check', check))
    add_terms_options(verb('terms', terms))
    add_gains_options(verb('gains', gains))
    add_trajectory_options(verb('trajectory', trajectory))
    add_size_options(verb('size', size))
    add_validate_options(verb('validate', validate_robot))
    add_compare_options(verb('compare', compare_robot))
    add_same_options(verb('same', same_robot))
    add_derive_options(verb('derive', derive_robot))
    add_simulate_options(verb('simulate', simulate_robot))
    add_evaluate_options(verb('evaluate', evaluate_recording))
    add_payload_options(verb('payload', payload))
    add_thresholds_options(verb('thresholds', thresholds))
    add_excite_options(verb('excite', excite_robot))
    add_identify_options(verb('identify', identify_robot))
    add_view_options(verb('view', view))
    add_monte_carlo_options(verb('monte-carlo', monte_carlo))
    add_precompile_options(verb('precompile', precompile))
    add_export_options(verb('export', export))
    add_demo_options(verb('demo', demo))
    add_send_options(verb('send', send_motion))
    add_record_options(verb('record', record_topics))
    parser.epilog = '\n\n'.join(_help_of(group, verbs.choices) for group in GROUPS)
    return parser


def _help_of(group: VerbGroup, parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the title, the sentence, the first command and the verbs of a group."""
    width = max(shutil.get_terminal_size().columns - 2, 2 * NAME_WIDTH)
    lines = textwrap.wrap(group.sentence.replace('`', ''), width - 2)
    text = [f'{group.title}:', *(f'  {line}' for line in (*lines, f'First: {group.first}')), '']
    for name in group.verbs:
        summary = (parsers[name].description or '').splitlines()[0]
        first, *rest = textwrap.wrap(summary, width - NAME_WIDTH)
        text.append(f'  {name:<{NAME_WIDTH - 2}}{first}')
        text += [f'{"":{NAME_WIDTH}}{line}' for line in rest]
    return '\n'.join(text)
