# SPDX-License-Identifier: Apache-2.0
"""The verb `demo`: a simulated arm follows a trajectory, with feed-forward and with PD alone.

    robot-dynamics demo --robot my_robot.urdf
    robot-dynamics demo --realistic

The four nodes of the package run as processes, with the parameter files that come with it. They
receive one trajectory twice; the recorded topics give tracking errors, latency and the agreement
with the reference engine. If a node ends early, the demonstration ends with an error.

With `--realistic` the same follows with an arm as imperfect as a real one: links, friction, drives
and sensors that differ from the nodes' model.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.cli.demo_hardware import TRACKING, Hardware, hardware
from robot_dynamics.cli.demo_nodes import NODES, TIME_STEP, node_parameters, started_nodes
from robot_dynamics.cli.demo_touch import demo_touch
from robot_dynamics.cli.options import (
    add_gravity,
    add_robot,
    gravity_in_base,
    integer,
    mounting,
    new_file,
    new_picture,
    number,
    ros_needed,
)
from robot_dynamics.cli.output import concise_warnings
from robot_dynamics.cli.view import MAX_PORT, PORT
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.json_files import write_json
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import Trajectory, pd_gains
from robot_dynamics.control.swing import Swing, swing
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.parameters import specs
from robot_dynamics.urdf.loading import parse_urdf, urdf_text
from robot_dynamics.urdf.robot_files import named, robot_file

LINES = 5  # of progress, per run
MOST_GAP = 0.5  # s of the motion without terms or states, 25 periods of the terms
ROBOT, DURATION = Path('panda'), 10.0  # defaults; s
REPORT, SIMULATION = '/pybullet_validator_node', '/simulator_node: health'  # diagnostics


def add_demo_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `demo`."""
    add_robot(parser, '--robot', absent=str(ROBOT), default=ROBOT)
    add_gravity(parser)
    parser.add_argument(
        '--duration',
        type=number(0.01, 3600.0),
        default=DURATION,
        help='duration of each run, s (10)',
    )
    parser.add_argument(
        '--realistic',
        type=Path,
        nargs='?',
        const=share_file('config/realistic_panda.yaml'),
        metavar='PROFILE',
        help='also run an arm of this hardware profile (config/realistic_panda.yaml)',
    )
    parser.add_argument(
        '--touch',
        action='store_true',
        help='instead, push and load the bundled panda and drive it against a wall; without ROS',
    )
    parser.add_argument(
        '--view',
        type=integer(0, MAX_PORT),
        nargs='?',
        const=PORT,
        metavar='PORT',
        help=f'with --touch: show it in the browser, on this TCP port ({PORT}; 0: any free port)',
    )
    parser.add_argument('--json', type=new_file, help='JSON file of the results')
    parser.add_argument(
        '--picture', type=new_picture, default=Path('demo.png'), help='figure file (demo.png)'
    )
    parser.add_argument(
        '--headless', action='store_true', help='print progress in separate lines, for logs'
    )


def demo(options: argparse.Namespace) -> int:
    """Simulate an arm that follows a trajectory, and verify its torques by a physics engine.

    Exit code 0: every node ran to the end, and the reference engine does not disagree. 1: it
    disagrees, or a node did not start, ended early or did not end cleanly. With --touch, the
    contacts of a simulated arm are compared with those it feels, see docs/guides/contact.md.
    """
    if options.touch:
        given = options.robot, options.xacro_arguments, mounting(options), options.duration
        if given != (ROBOT, {}, {}, DURATION):
            raise ModelError(
                '--touch takes no --robot, --duration, --gravity and --base-orientation: the arm '
                'is the panda, upright'
            )
        return demo_touch(options)
    if options.view is not None:
        raise ModelError('--view shows --touch only')
    return demo_tracking(options)


def demo_tracking(options: argparse.Namespace) -> int:
    """Return the exit code of the demonstration with nodes; see `demo`."""
    with ros_needed('demo'):
        from robot_dynamics.cli.demo_client import DemoFailed
    robot = demo_robot(
        options.robot,
        options.xacro_arguments,
        options.package_path,
        gravity_in_base(options),
    )
    real = None
    if options.realistic is not None:
        real = hardware(options.realistic, robot.urdf, robot.arm.model, TIME_STEP)
    motion = swing(robot.arm, options.duration)
    trajectory = motion.trajectory(robot.arm.model.joint_names)
    introduce(robot, motion, real)
    gains = pd_gains(robot.arm, trajectory.at_waypoints().q, TIME_STEP)
    source = robot.source | mounting(options)
    parameters = node_parameters(source, robot.locked, motion.home, gains)
    try:
        results = [both_runs(parameters, trajectory, '', options)]
        if real is not None:
            parameters['simulator_node'] |= real.parameters
            results.append(both_runs(parameters, trajectory, 'realistic arm, ', options))
    except DemoFailed as error:
        print(f'robot-dynamics demo: {error}', file=sys.stderr)
        return 1
    figures = summarize(robot, motion, results[0].runs, results[0].reports)
    if real is not None:
        tracked = summarize(robot, motion, results[1].runs, results[1].reports)
        figures['realistic'] = {
            'profile': str(real.profile),
            **{name: tracked[name] for name in TRACKING},
        }
    return report(options, figures, results)


def report(options: argparse.Namespace, figures: dict[str, Any], results: Sequence[Result]) -> int:
    """Print and write the figures, draw the picture; return the exit code, see `demo`."""
    from robot_dynamics.cli.demo_figure import draw

    print_figures(figures)
    if options.json is not None:
        write_json(options.json, figures)
    draw(options.picture, figures['robot'], *(run for result in results for run in result.runs))
    print(f'picture: {options.picture}')
    unclean = [item for result in results for item in result.exit_codes.items() if item[1]]
    for name, code in unclean:
        print(f'robot-dynamics demo: {name} ended with exit code {code}', file=sys.stderr)
    return int(figures['verdict'] == 'FAIL' or bool(unclean))


class Result(NamedTuple):
    """Both runs of one arm."""

    runs: list[Any]  # with feed-forward, PD alone
    reports: dict[str, dict[str, str]]
    exit_codes: dict[str, int]  # of the nodes


def both_runs(
    parameters: dict[str, dict[str, Any]],
    trajectory: Trajectory,
    arm: str,
    options: argparse.Namespace,
) -> Result:
    """Return the runs with feed-forward and with PD alone. Raises DemoFailed."""
    with started_nodes(parameters) as (client, nodes):
        client.wait_for_nodes()
        runs = [
            client.run(trajectory, compensate=compensate, show=Progress(arm + title, options))
            for title, compensate in (('with feed-forward', True), ('PD alone', False))
        ]
        client.wait(lambda: REPORT in client.reports, 'report of the validator', 60.0)
    return Result(runs, client.reports, {name: node.returncode for name, node in nodes.items()})


# -- robot --------------------------------------------------------------------------------------


class DemoRobot(NamedTuple):
    """A robot that can be simulated."""

    urdf: bytes | str  # contents of a file, or the expansion of a .xacro
    source: dict[str, str]  # parameters of the nodes
    arm: Dynamics  # without the locked joints
    locked: dict[str, float]  # joints that move no inertia, and the positions of the locks


def demo_robot(
    path: Path,
    xacro_arguments: Mapping[str, str] | None = None,
    package_paths: Sequence[Path] = (),
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> DemoRobot:
    """Return the robot of a file or of a bundled robot's name, for simulation.

    Joints that move no inertia (casters, fingers) are locked. Warnings are printed. Arguments are
    those of `load_urdf`.

    Raises:
        ModelError: the description is rejected, or no joint moves an inertia.
    """
    path = robot_file(path)
    with concise_warnings(), named(path):
        contents = urdf_text(path, xacro_arguments, package_paths)
        model = parse_urdf(contents, gravity=gravity)
    massless = model.massless_joints()
    if len(massless) == model.n:
        raise ModelError(f'{path}: no joint moves a mass; a simulation needs at least one')
    # at the position nearest to zero within the limits
    rest = dict(zip(model.joint_names, np.clip(0.0, model.lower, model.upper), strict=True))
    locked = {name: float(rest[name]) for name in massless}
    if locked:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            model = parse_urdf(contents, gravity=gravity, locked_joints=locked)
    # Nodes know no --package-path.
    source = (
        {'robot_description': contents}
        if isinstance(contents, str)
        else {'robot_description_file': str(path.resolve())}
    )
    return DemoRobot(contents, source, Dynamics(model), locked)


# -- figures and output -------------------------------------------------------------------------


def summarize(
    robot: DemoRobot, motion: Swing, runs: Sequence[Any], reports: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """Return the figures of both runs, under the names of the JSON file.

    Errors are over all joints and states, rad or m; the residual is the largest difference to the
    reference engine, relative to the largest torque, `torque_scale`.
    """
    report, names = reports.get(REPORT, {}), robot.arm.model.joint_names
    feedforward, pd = (run.error() for run in runs)
    rms = [float(np.sqrt(np.mean(error**2))) for error in (feedforward, pd)]
    scale = max(float(np.abs(run.state(2)).max()) for run in runs)
    residuals = [row.values for run in runs for row in run.rows['residual']]
    latency = 1e6 * np.concatenate([run.latencies() for run in runs])
    sent = [run.column('states', 'sent') for run in runs]
    wall = sum(float(np.ptp(times)) for times in sent) / SECOND
    # The last states may be lost; the simulation has come to the end of every run.
    simulated = sum(run.end for run in runs) / SECOND
    recorded = float(sum(run.times('states')[-1] for run in runs))
    return {
        'robot': robot.arm.model.name,
        'joints': list(names),
        'simulated_s': simulated,
        'rms_error_feedforward_rad': rms[0],
        'rms_error_pd_rad': rms[1],
        'max_error_feedforward_rad': float(np.abs(feedforward).max()),
        'max_error_pd_rad': float(np.abs(pd).max()),
        'error_ratio': rms[1] / rms[0],
        'torque_scale': scale,
        'pybullet_residual_rel': float(np.abs(residuals).max()) / scale if residuals else None,
        'reference_engine': report.get('engine', ''),
        'verdict': report.get('verdict', 'NO VERDICT'),
        'verdict_notes': [text for key, text in report.items() if key.startswith('note ')]
        + too_busy(float(latency.max()) / 1e6, runs),
        'real_time_factor': recorded / wall,
        'state_rate_hz': recorded / TIME_STEP / wall,
        'states_recorded': sum(len(times) - 1 for times in sent) * TIME_STEP / simulated,
        'latency_p50_us': float(np.percentile(latency, 50)),
        'latency_p99_us': float(np.percentile(latency, 99)),
        'latency_max_us': float(latency.max()),
        'missed_commands': int(reports.get(SIMULATION, {}).get('missed commands', 0)),
        'restarts': dict.fromkeys(NODES, 0),
        'locked_joints': list(robot.locked),
        'still_joints': still_joints(names, motion),
    }


def largest_gap(times: Sequence[float]) -> float:
    """Return the longest time between two successive messages, s; 0 for fewer than two."""
    return float(np.diff(times).max()) if len(times) > 1 else 0.0


def too_busy(latency: float, runs: Sequence[Any]) -> list[str]:
    """Return notes on results that a busy machine has changed.

    Args:
        latency: the longest time from a state to its torque, s.
        runs: their records, in which terms or states may be missing.
    """
    gap = max(largest_gap(run.times('inertia')) for run in runs)
    lost = max(largest_gap([*run.times('states'), run.end / SECOND]) for run in runs)
    busy = 'the machine is too busy for the rate of the demo'
    timeout = specs(FeedforwardParameters)['silence_timeout'].default
    notes = []
    if latency > timeout:
        notes.append(
            f'{busy}: a torque came {latency:.3g} s after its state, and feedforward_node stops '
            f'after {timeout:g} s without states; the tracking errors and their ratio are not '
            'those of the control'
        )
    if gap > MOST_GAP:
        notes.append(f'{busy}: dynamics_node published no terms for {gap:.2g} s of the motion')
    if lost > MOST_GAP:
        notes.append(f'{busy}: {lost:.2g} s of the states are missing from the tracking errors')
    return notes


def still_joints(names: Sequence[str], motion: Swing) -> list[str]:
    """Return the joints that do not move."""
    return [name for name, a in zip(names, motion.amplitude, strict=True) if a == 0]


def introduce(robot: DemoRobot, motion: Swing, real: Hardware | None) -> None:
    """Print the robot and the plan."""
    model = robot.arm.model
    print(f'robot {model.name!r} with {model.n} joints: {", ".join(model.joint_names)}')
    if robot.locked:
        print(f'  note: locked, since they move no inertia: {", ".join(robot.locked)}')
    still = still_joints(model.joint_names, motion)
    if still:
        print(f'  note: too weak or too tightly limited to move: {", ".join(still)}')
    print(
        f'two runs of {motion.duration:g} s: with feed-forward, then PD alone, with the same gains'
    )
    if real is not None:
        print(f'then both with the arm of {real.profile.name}')
    print('starting the nodes ...', flush=True)


class Progress:
    """Prints the progress of one run: one line that is overwritten, or separate lines in a log."""

    def __init__(self, title: str, options: argparse.Namespace) -> None:
        self._title, self._duration = title, options.duration
        self._live = sys.stdout.isatty() and not options.headless
        self._parts = 20 * LINES if self._live else LINES
        self._shown = 0

    def __call__(self, t: float, error: float) -> None:
        """Print the time [s] and the error [rad or m], if it is time to."""
        part = int(self._parts * min(t / self._duration, 1.0))
        if part > self._shown:
            self._shown = part
            text = f'{self._title}: {t:5.2f} of {self._duration:g} s   error {error:.1e} rad'
            overwritten = self._live and part < self._parts
            print(text, end='\r' if overwritten else '\n', flush=True)


def print_figures(figures: dict[str, Any]) -> None:
    """Print the table of figures."""
    residual = figures['pybullet_residual_rel']
    note = 'none received'
    if residual is not None:
        note = f'{residual:.1e} of the largest torque, {figures["torque_scale"]:.1f} N m'
    rows = {
        'tracking error with feed-forward': 'RMS {rms_error_feedforward_rad:.2e}, '
        'max {max_error_feedforward_rad:.2e} rad',
        'tracking error with PD alone': 'RMS {rms_error_pd_rad:.2e}, '
        'max {max_error_pd_rad:.2e} rad',
        'ratio of RMS errors': '{error_ratio:.0f}',
        'reference engine': '{reference_engine}',
        'verdict': '{verdict}',
        'notes on the verdict': '{notes}',
        'maximum residual in motion': note,
        'real-time factor': '{real_time_factor:.2f}',
        'states per second': '{state_rate_hz:.0f} Hz, {states_recorded:.1%} recorded',
        'latency, state to torque': 'p50 {latency_p50_us:.0f} us, p99 {latency_p99_us:.0f} us, '
        'max {latency_max_us:.0f} us',
        'states without a command': '{missed_commands}',
    }
    if 'realistic' in figures:
        for title, kind in (('with feed-forward', 'feedforward'), ('with PD alone', 'pd')):
            rows[f'realistic arm, {title}'] = (
                f'RMS {{realistic[rms_error_{kind}_rad]:.2e}}, '
                f'max {{realistic[max_error_{kind}_rad]:.2e}} rad'
            )
        rows['realistic arm, ratio of RMS errors'] = '{realistic[error_ratio]:.1f}'
    notes = '; '.join(figures['verdict_notes']) or 'none'
    shown = [(name, row.format(**figures, notes=notes)) for name, row in rows.items()]
    print(*aligned(shown), sep='\n')
