"""The command line: `robot-dynamics VERB ROBOT`, for whoever has a URDF and a question.

    check       what is in the description: joints, limits, masses, and what is wrong with it
    terms       the mass matrix, Coriolis matrix and gravity torque of a state
    validate    does another engine find the same torques
    compare     do all derivations in this package agree, and what does each cost
    simulate    let the arm fall, and see whether its energy stays
    evaluate    how much of a robot's recorded efforts the model explains, and what it lacks
    monte-carlo let arms with random payloads follow a trajectory
    precompile  make the compiled programs now, so that no first call waits
    demo        four ROS 2 nodes: a simulated arm follows a trajectory
    replay      make a recorded simulation again, bit for bit

Only `demo` and `replay` need ROS 2. What cannot be done is said in one line, with exit code 2;
Ctrl-C ends with 130.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from robot_dynamics.cli.evaluate import add_evaluate_options, evaluate_recording
from robot_dynamics.cli.options import add_robot, add_state, new_file, positive
from robot_dynamics.cli.ros import add_demo_options, demo, replay
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
from robot_dynamics.simulation.many import monte_carlo
from robot_dynamics.validation.engines import ENGINES
from robot_dynamics.validation.examiner import TOLERANCE

WRONG = 2  # exit code for what cannot be done, as argparse's for what it does not understand
INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], int] = options.verb
    try:
        return verb(options)
    except (RobotDynamicsError, OSError) as error:
        print(f'robot-dynamics: {" ".join(str(error).split())}', file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print('robot-dynamics: interrupted', file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='robot-dynamics', description='Dynamics of robot arms from a URDF.'
    )
    verbs = parser.add_subparsers(metavar='VERB', required=True)

    def verb(name: str, function: Callable[..., int]) -> argparse.ArgumentParser:
        summary = (function.__doc__ or '').splitlines()[0]
        result = verbs.add_parser(name, help=summary, description=function.__doc__)
        result.set_defaults(verb=function)
        return result

    one = verb('check', check)
    add_robot(one)
    one.add_argument('--strict', action='store_true', help='refuse non-physical inertia tensors')

    one = verb('terms', terms)
    add_robot(one)
    add_state(one)

    one = verb('validate', validate_robot)
    add_robot(one)
    one.add_argument('--states', type=int, default=100, help='how many random states (100)')
    one.add_argument('--seed', type=int, default=0, help='of the random states (0)')
    one.add_argument('--tolerance', type=float, default=TOLERANCE, help='relative (1e-6)')
    one.add_argument(
        '--engine', choices=ENGINES, action='append', help='whom to ask; may be repeated'
    )
    one.add_argument(
        '--second', choices=ENGINES, action='append', help='whom to ask besides; may be repeated'
    )

    one = verb('compare', compare_robot)
    add_robot(one)
    one.add_argument('--states', type=int, default=10, help='how many random states (10)')
    one.add_argument('--picture', type=new_file, help='draw it here; needs matplotlib')

    one = verb('simulate', simulate_robot)
    add_robot(one)
    add_state(one)
    one.add_argument('--duration', type=positive, default=2.0, help='s (2)')
    one.add_argument('--time-step', type=positive, default=1e-3, help='s (0.001)')
    one.add_argument('--integrator', choices=sorted(INTEGRATORS), default='rk4', help='(rk4)')
    one.add_argument('--csv', type=new_file, help='write time, positions and velocities here')

    add_evaluate_options(verb('evaluate', evaluate_recording))

    monte_carlo.add_options(verb('monte-carlo', monte_carlo.run_study))

    one = verb('precompile', precompile)
    add_robot(one)
    one.add_argument(
        '--frame', action='append', help='where Jacobians and poses are wanted; may be repeated'
    )

    add_demo_options(verb('demo', demo))

    one = verb('replay', replay)
    one.add_argument('file', type=Path, help='an .mcap file that the simulator node recorded')
    return parser
