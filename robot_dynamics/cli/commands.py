"""The verbs of the command line and their options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from robot_dynamics import __version__
from robot_dynamics.cli.demo import add_demo_options, demo
from robot_dynamics.cli.evaluate import add_evaluate_options, evaluate_recording
from robot_dynamics.cli.gains import add_gains_options, gains
from robot_dynamics.cli.monte_carlo import add_monte_carlo_options, monte_carlo
from robot_dynamics.cli.options import (
    add_robot,
    add_state,
    count,
    new_file,
    new_picture,
    number,
    positive,
    seed,
)
from robot_dynamics.cli.ros import replay
from robot_dynamics.cli.verbs import (
    check,
    compare_robot,
    precompile,
    simulate_robot,
    terms,
    validate_robot,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation import INTEGRATORS
from robot_dynamics.validation.comparison import TOLERANCE
from robot_dynamics.validation.engines import ENGINES

WRONG = 2  # exit code for an error, as that of argparse


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with the message; the usage is left to --help."""
        self.exit(WRONG, f'{self.prog}: error: {message}; {self.prog} --help shows the options\n')


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    try:
        options = parser().parse_args(arguments)
        verb: Callable[[argparse.Namespace], int] = options.verb
        return verb(options)
    except (RobotDynamicsError, OSError) as error:
        print(f'robot-dynamics: {" ".join(str(error).split())}', file=sys.stderr)
        return WRONG
    except MemoryError as error:
        print(f'robot-dynamics: not enough memory: {error}', file=sys.stderr)
        return WRONG


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = OneLineParser(
        prog='robot-dynamics', description='Dynamics of robot arms from a URDF.'
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    verbs = parser.add_subparsers(metavar='VERB', required=True)

    def verb(name: str, function: Callable[..., int]) -> argparse.ArgumentParser:
        summary = (function.__doc__ or '').splitlines()[0]
        result = verbs.add_parser(name, help=summary, description=function.__doc__)
        result.set_defaults(verb=function)
        return result

    one = verb('check', check)
    add_robot(one)
    one.add_argument('--strict', action='store_true', help='reject non-physical inertias')

    one = verb('terms', terms)
    add_robot(one)
    add_state(one)

    add_gains_options(verb('gains', gains))

    one = verb('validate', validate_robot)
    add_robot(one)
    one.add_argument('--states', type=count(), default=100, help='how many random states (100)')
    one.add_argument('--seed', type=seed, default=0, help='of the random states (0)')
    one.add_argument(
        '--tolerance',
        type=number(above=0.0, high=1.0),
        default=TOLERANCE,
        help='largest relative difference that passes (1e-6)',
    )
    one.add_argument(
        '--engine', choices=ENGINES, action='append', help='whom to ask; may be repeated'
    )
    one.add_argument(
        '--second', choices=ENGINES, action='append', help='whom to ask besides; may be repeated'
    )

    one = verb('compare', compare_robot)
    add_robot(one)
    one.add_argument('--states', type=count(), default=10, help='how many random states (10)')
    one.add_argument('--picture', type=new_picture, help='draw it here; needs matplotlib')

    one = verb('simulate', simulate_robot)
    add_robot(one)
    add_state(one)
    one.add_argument('--duration', type=positive, default=2.0, help='s (2)')
    one.add_argument('--time-step', type=positive, default=1e-3, help='s (0.001)')
    one.add_argument('--integrator', choices=sorted(INTEGRATORS), default='rk4', help='(rk4)')
    one.add_argument('--csv', type=new_file, help='write time, positions and velocities here')
    one.add_argument('--picture', type=new_picture, help='draw them here; needs matplotlib')

    add_evaluate_options(verb('evaluate', evaluate_recording))

    add_monte_carlo_options(verb('monte-carlo', monte_carlo))

    one = verb('precompile', precompile)
    add_robot(one)
    one.add_argument(
        '--frame', action='append', help='where Jacobians and poses are wanted; may be repeated'
    )

    add_demo_options(verb('demo', demo))

    one = verb('replay', replay)
    one.add_argument('file', type=Path, help='an .mcap file that the simulator node recorded')
    return parser
