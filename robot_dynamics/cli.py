"""The command line: `robot-dynamics VERB ROBOT`, for whoever has a URDF and a question.

    check       what is in the description: joints, limits, masses, and what is wrong with it
    terms       the mass matrix, Coriolis matrix and gravity torque of a state
    validate    does another engine find the same torques
    compare     do all derivations in this package agree, and what does each cost
    simulate    let the arm fall, and see whether its energy stays
    monte-carlo let arms with random payloads follow a trajectory
    precompile  make the compiled programs now, so that no first call waits
    demo        four ROS 2 nodes: a simulated arm follows a trajectory
    replay      make a recorded simulation again, bit for bit

Only `demo` and `replay` need ROS 2. What cannot be done is said in one line, with exit code 2.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError, ShapeError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.urdf import load_urdf, urdf_text
from robot_dynamics.resources import share_file
from robot_dynamics.simulation import INTEGRATORS, Simulator, simulate
from robot_dynamics.simulation.many import monte_carlo
from robot_dynamics.spatial import Array
from robot_dynamics.validation.cross_check import compare
from robot_dynamics.validation.cross_check_plot import plot
from robot_dynamics.validation.engine_check import validate
from robot_dynamics.validation.engines import ENGINES
from robot_dynamics.validation.examiner import TOLERANCE

WRONG = 2  # exit code for what cannot be done, as argparse's for what it does not understand
DEFAULT_ROBOT = 'urdf/panda.urdf'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], int] = options.verb
    try:
        return verb(options)
    except (RobotDynamicsError, OSError) as error:
        print(f'robot-dynamics: {" ".join(str(error).split())}', file=sys.stderr)
        return WRONG


# -- what there is to ask -------------------------------------------------------------------


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
    _add_robot(one)
    one.add_argument('--strict', action='store_true', help='refuse non-physical inertia tensors')

    one = verb('terms', terms)
    _add_robot(one)
    _add_state(one)

    one = verb('validate', validate_robot)
    _add_robot(one)
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
    _add_robot(one)
    one.add_argument('--states', type=int, default=10, help='how many random states (10)')
    one.add_argument('--picture', type=_new_file, help='draw it here; needs matplotlib')

    one = verb('simulate', simulate_robot)
    _add_robot(one)
    _add_state(one)
    one.add_argument('--duration', type=_positive, default=2.0, help='s (2)')
    one.add_argument('--time-step', type=_positive, default=1e-3, help='s (0.001)')
    one.add_argument('--integrator', choices=sorted(INTEGRATORS), default='rk4', help='(rk4)')
    one.add_argument('--csv', type=_new_file, help='write time, positions and velocities here')

    monte_carlo.add_options(verb('monte-carlo', monte_carlo.run_study))

    one = verb('precompile', precompile)
    _add_robot(one)
    one.add_argument(
        '--frame', action='append', help='where Jacobians and poses are wanted; may be repeated'
    )

    _add_demo_options(verb('demo', demo))

    one = verb('replay', replay)
    one.add_argument('file', type=Path, help='an .mcap file that the simulator node recorded')
    return parser


def _add_robot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('robot', type=Path, help='path of a .urdf or .xacro file')


def _add_state(parser: argparse.ArgumentParser) -> None:
    for name, what in (('q', 'positions, rad or m'), ('qd', 'velocities')):
        parser.add_argument(
            f'--{name}', type=float, nargs='+', metavar='X', help=f'{what}, one per joint (zeros)'
        )


def _add_demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--robot', type=Path, help='path of a .urdf or .xacro file (a Panda)')
    parser.add_argument('--duration', type=_positive, default=10.0, help='of each run, s (10)')
    parser.add_argument('--json', type=_new_file, help='write the figures here')
    parser.add_argument(
        '--picture', type=_new_file, default=Path('demo.png'), help='where to draw (demo.png)'
    )
    parser.add_argument(
        '--headless', action='store_true', help='plain lines, for logs and machines without a user'
    )


def _positive(text: str) -> float:
    value = float(text)
    if not (np.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f'{text} is not a positive number')
    return value


def _new_file(text: str) -> Path:
    """Refuse a file that could not be written, before all the work is done."""
    file = Path(text)
    if not file.parent.is_dir() or file.is_dir():
        raise argparse.ArgumentTypeError(f'{text} cannot be written: no such folder')
    return file


# -- the verbs ------------------------------------------------------------------------------


def check(options: argparse.Namespace) -> int:
    """Show what is in a robot description, and warn of what is wrong with it."""
    with _warnings_in_short():
        model = load_urdf(options.robot, strict_inertials=options.strict)
    print(f'{model.name}: {model.n} joints, {model.nb} moving bodies of {model.mass.sum():.4g} kg')
    limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
    numbers = np.stack([*limits, model.viscous, model.coulomb], axis=1)
    _print_table(
        ('joint', 'kind', 'lower', 'upper', 'velocity', 'effort', 'viscous', 'dry friction'),
        [
            (name, kind, *map(_short, row))
            for name, kind, row in zip(model.joint_names, _kinds(model), numbers, strict=True)
        ],
    )
    parents = [model.body_names[parent] if parent >= 0 else 'base' for parent in model.parent]
    bodies = zip(model.body_names, parents, model.mass, model.com, strict=True)
    _print_table(
        ('moving body', 'parent', 'mass', 'centre of mass'),
        [(name, at, _short(mass), ' '.join(map(_short, com))) for name, at, mass, com in bodies],
    )
    return 0


def terms(options: argparse.Namespace) -> int:
    """Print the mass matrix, Coriolis matrix and gravity torque of a state."""
    arm = _arm(options.robot)
    q, qd = _state(arm.model, options)
    M, C, g = arm.terms(q, qd)
    with np.printoptions(precision=6, suppress=True, linewidth=160, threshold=sys.maxsize):
        for name, value in (
            ('joints', ', '.join(arm.model.joint_names)),
            ('mass matrix M', M),
            ('Coriolis matrix C', C),
            ('Coriolis torque C qd', C @ qd),
            ('gravity torque g', g),
        ):
            print(f'{name}\n{value}\n')
    return 0


def validate_robot(options: argparse.Namespace) -> int:
    """Compare a robot's dynamics with another engine's; exit code 1 if they differ.

    PyBullet judges; where it is missing, or holds another robot than the URDF says, MuJoCo or
    Pinocchio do, and the report says so.
    """
    with _warnings_in_short():
        model = load_urdf(options.robot)
    report = validate(
        urdf_text(options.robot),
        model=model,
        states=options.states,
        seed=options.seed,
        tolerance=options.tolerance,
        engines=options.engine or ENGINES,
        second_judges=options.second or (),
    )
    print(report)
    return report.exit_code


def compare_robot(options: argparse.Namespace) -> int:
    """Compute a robot's dynamics by every formulation; exit code 1 if two of them differ."""
    with _warnings_in_short():
        model = load_urdf(options.robot)
    comparison = compare(model, states=options.states)
    print(comparison.table())
    if options.picture is not None:
        plot(comparison, options.picture)
    return 0 if comparison.agrees else 1


def simulate_robot(options: argparse.Namespace) -> int:
    """Let the arm fall from a state without any torque, and print how its energy drifts.

    The URDF's friction is left out, so that nothing but the integrator changes the energy.
    """
    arm = _arm(options.robot).without_friction()
    q, qd = _state(arm.model, options)
    simulator = Simulator(
        arm,
        q=q,
        qd=qd,
        time_step=options.time_step,
        integrator=INTEGRATORS[options.integrator],
    )
    no_torque = np.zeros(arm.model.n)
    began = time.perf_counter()
    run = simulate(simulator, lambda *_: no_torque, options.duration)
    elapsed = time.perf_counter() - began
    kinetic = arm.kinetic_energy(run.q, run.qd)
    energy = kinetic + arm.potential_energy(run.q)
    print(
        f'{arm.model.name}: {run.t[-1]:g} s in steps of {options.time_step:g} s with '
        f'{options.integrator}, {run.t[-1] / elapsed:.1f} x real time\n'
        f'largest kinetic energy {kinetic.max():.6g} J, energy drift '
        f'{np.abs(energy - energy[0]).max():.3g} J'
    )
    if options.csv is not None:
        _write_csv(options.csv, arm.model, run.t, run.q, run.qd)
    return 0


def precompile(options: argparse.Namespace) -> int:
    """Compile every program of a robot into the cache, so that no first call waits."""
    arm = _arm(options.robot)
    names = arm.precompilable(options.frame)
    began = time.perf_counter()
    for name in names:
        since = time.perf_counter()
        arm.precompile(name, frames=options.frame)
        print(f'{name:<32} {time.perf_counter() - since:6.2f} s')
    print(f'{len(names)} methods in {time.perf_counter() - began:.2f} s')
    return 0


def demo(options: argparse.Namespace) -> int:
    """Show a simulated arm that follows a trajectory, judged by another engine. Needs ROS 2."""
    _find_ros('the demo')
    from robot_dynamics.nodes.demo.demo import DemoOptions, run

    robot = options.robot or share_file(DEFAULT_ROBOT)
    chosen = DemoOptions(
        robot, options.duration, options.headless, json=options.json, picture=options.picture
    )
    return int(run(chosen))


def replay(options: argparse.Namespace) -> int:
    """Make a recorded simulation again; exit code 1 if it differs in any bit. Needs ROS 2."""
    _find_ros('replay')
    from robot_dynamics.nodes.recordings.replay import replay_file

    return int(replay_file(options.file))


def _find_ros(what: str) -> None:
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        raise RosMissing(
            f'{what} needs ROS 2, and rclpy cannot be imported ({error}): source a ROS 2 '
            'distribution, or type ./run demo, which installs one; the other verbs need none'
        ) from error


class RosMissing(RobotDynamicsError, ImportError):  # noqa: N818  (says what it is)
    """ROS 2 is not there."""


# -- what they share ------------------------------------------------------------------------


def _arm(path: Path) -> Dynamics:
    with _warnings_in_short():
        model = load_urdf(path)
    return Dynamics(model)


def _state(model: RobotModel, options: argparse.Namespace) -> tuple[Array, Array]:
    return _vector(model, 'q', options.q), _vector(model, 'qd', options.qd)


def _vector(model: RobotModel, name: str, values: list[float] | None) -> Array:
    if values is None:
        return np.zeros(model.n)
    if len(values) != model.n:
        raise ShapeError(
            f'--{name} has {len(values)} values; {model.name!r} has {model.n} joints: '
            f'{", ".join(model.joint_names)}'
        )
    return np.array(values)


@contextmanager
def _warnings_in_short() -> Iterator[None]:
    """Print warnings in a line each, on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    for warning in caught:
        print(f'warning: {warning.message}', file=sys.stderr)


def _kinds(model: RobotModel) -> list[str]:
    """Return what each coordinate is called in a URDF."""
    turns = (model.S[model.revolute] != 0).any(axis=0)
    limited = np.isfinite(model.lower) | np.isfinite(model.upper)
    return [
        'prismatic' if not turn else 'revolute' if limit else 'continuous'
        for turn, limit in zip(turns, limited, strict=True)
    ]


def _short(number: float) -> str:
    return f'{number:.4g}'


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns of the width of what is in them, after an empty line."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for line in lines:
        cells = (f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))
        print('  '.join(cells).rstrip())


def _write_csv(file: Path, model: RobotModel, t: Array, q: Array, qd: Array) -> None:
    with file.open('w', newline='') as stream:
        writer = csv.writer(stream)
        names = model.joint_names
        writer.writerow(['t', *names, *(f'{name} velocity' for name in names)])
        writer.writerows(np.column_stack([t, q, qd]).tolist())


if __name__ == '__main__':
    sys.exit(main())
