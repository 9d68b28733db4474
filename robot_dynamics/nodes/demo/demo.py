"""The demonstration from its first line to its exit code."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import rclpy
from rclpy.signals import SignalHandlerOptions

from robot_dynamics.control import Trajectory, pd_gains
from robot_dynamics.drawing import MatplotlibMissing
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes._main import new_executor
from robot_dynamics.nodes.demo import figures, motion, picture
from robot_dynamics.nodes.demo.conductor import Conductor
from robot_dynamics.nodes.demo.figures import Figures
from robot_dynamics.nodes.demo.graph import TIME_STEP, graph, isolate
from robot_dynamics.nodes.demo.monitor import Monitor, Recorder, values
from robot_dynamics.nodes.demo.recording import Recording
from robot_dynamics.nodes.demo.robot import DemoRobot, demo_robot
from robot_dynamics.nodes.demo.screen import Screen, new_screen
from robot_dynamics.nodes.demo.supervisor import Supervisor, remove_shared_memory, shared_memory

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class DemoOptions:
    """What may be chosen."""

    robot: Path
    duration: float = 10.0  # s, of each run
    headless: bool = False
    json: Path | None = None
    picture: Path | None = None


def run(options: DemoOptions) -> int:
    """Run the demonstration and return its exit code.

    0: it went through, and the engine that judges does not disagree. 1: that engine disagrees, or
    a node did not start, stay up or end as it should.

    Raises:
        ModelError: the robot cannot be simulated.
        KeyboardInterrupt: it was stopped by a signal; its nodes have ended.
    """
    _on_a_stop(_interrupt)
    robot = demo_robot(options.robot)
    isolate()
    before = shared_memory()
    try:
        with new_screen(headless=options.headless) as screen:
            return _demonstrate(options, robot, screen)
    except RobotDynamicsError as error:
        print(f'robot-dynamics demo: {error}', file=sys.stderr)
        return 1
    finally:
        remove_shared_memory(before)


def _on_a_stop(handler: Callable[[int, Any], Any] | signal.Handlers) -> None:
    for number in STOPS:
        signal.signal(number, handler)


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def _demonstrate(options: DemoOptions, robot: DemoRobot, screen: Screen) -> int:
    swing = motion.swing(robot.arm, options.duration)
    trajectory = motion.trajectory(robot.model, swing)
    gains = pd_gains(robot.arm, trajectory.at_waypoints().q, TIME_STEP)
    still = [
        name
        for name, amplitude in zip(robot.model.joint_names, swing.amplitude, strict=True)
        if amplitude == 0
    ]
    _introduce(screen, robot, still, options.duration)
    with tempfile.TemporaryDirectory(prefix='robot_dynamics-') as scratch:
        nodes = graph(robot, gains, swing.home, Path(scratch))
        supervisor = Supervisor(nodes, partial(_pass_on, screen, robot))
        with _running(supervisor, robot, screen) as (conductor, monitor):
            runs = _two_runs(conductor, screen, trajectory)
            conductor.wait_until(lambda: monitor.report is not None, 'the verdict')
        result = _figures(robot, still, runs, monitor, supervisor)
    _report(options, screen, result, robot, runs)
    ended_well = not any(supervisor.exit_codes.values())
    return int(result.verdict == 'FAIL' or not ended_well)


def _introduce(screen: Screen, robot: DemoRobot, still: list[str], duration: float) -> None:
    model = robot.model
    screen.say(f'robot {model.name!r} with {model.n} joints: {", ".join(model.joint_names)}')
    for remark in robot.remarks:
        screen.say(f'  note: {remark}')
    if still:
        screen.say(f'  note: too weak or too tightly limited to move: {", ".join(still)}')
    screen.say(f'two runs of {duration:g} s: with feed-forward, then PD alone, the same gains')
    screen.say('starting the nodes ...')


def _pass_on(screen: Screen, robot: DemoRobot, node: str, line: str) -> None:
    """Show what a node says, except what was said about the robot already."""
    if not any(remark in line for remark in robot.remarks):
        screen.node(node, line)


@contextmanager
def _running(
    supervisor: Supervisor, robot: DemoRobot, screen: Screen
) -> Iterator[tuple[Conductor, Monitor]]:
    """Run the nodes and our own for as long as the context lasts."""
    # What is raised inside the ROS client library or Popen comes out as another error, or leaves
    # a process that nobody knows: the conductor looks here between two turns.
    stops: list[int] = []
    _on_a_stop(lambda number, _frame: stops.append(number))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    monitor, recorder, executor = Monitor(), Recorder(robot.model.joint_names), new_executor()
    executor.add_node(monitor)
    try:
        supervisor.start()
        yield Conductor(supervisor, monitor, recorder, executor, screen, stops), monitor
    finally:
        # From here on another Ctrl-C would only leave something behind.
        _on_a_stop(signal.SIG_IGN)
        supervisor.stop()
        executor.shutdown()
        recorder.destroy_node()
        monitor.destroy_node()
        rclpy.try_shutdown()


def _two_runs(
    conductor: Conductor, screen: Screen, trajectory: Trajectory
) -> tuple[Recording, Recording]:
    conductor.wait_for_graph()
    runs = []
    for title, compensate in (('with feed-forward', True), ('PD alone', False)):
        screen.begin(title, trajectory.duration)
        runs.append(conductor.run(trajectory, compensate=compensate))
        screen.end()
    return runs[0], runs[1]


def _figures(
    robot: DemoRobot,
    still: list[str],
    runs: tuple[Recording, Recording],
    monitor: Monitor,
    supervisor: Supervisor,
) -> Figures:
    (rms, worst), (rms_pd, worst_pd) = map(figures.tracking_error, runs)
    simulated = sum(run.simulated for run in runs)
    wall = sum(run.wall_time for run in runs)
    states = simulated / TIME_STEP
    scale, residual = figures.torque_scale(runs), figures.largest_residual(runs)
    p50, p99, slowest = figures.latencies_us(runs)
    report = values(monitor.report)
    return Figures(
        robot=robot.model.name,
        joints=list(robot.model.joint_names),
        simulated_s=simulated,
        rms_error_feedforward_rad=rms,
        rms_error_pd_rad=rms_pd,
        max_error_feedforward_rad=worst,
        max_error_pd_rad=worst_pd,
        error_ratio=rms_pd / rms,
        torque_scale=scale,
        pybullet_residual_rel=None if residual is None else residual / scale,
        judge=report.get('engine', ''),
        verdict=report.get('verdict', 'NO VERDICT'),
        verdict_notes=[text for name, text in report.items() if name.startswith('note ')],
        real_time_factor=simulated / wall,
        state_rate_hz=states / wall,
        states_heard=sum(len(run.q) - 1 for run in runs) / states,
        latency_p50_us=p50,
        latency_p99_us=p99,
        latency_max_us=slowest,
        missed_commands=int(values(monitor.simulation).get('missed commands', 0)),
        restarts=supervisor.restarts,
        locked_joints=list(robot.locked),
        still_joints=still,
    )


def _report(
    options: DemoOptions,
    screen: Screen,
    result: Figures,
    robot: DemoRobot,
    runs: tuple[Recording, Recording],
) -> None:
    screen.table(figures.rows(result))
    if options.json is not None:
        options.json.write_text(json.dumps(result.as_json(), indent=2) + '\n')
        screen.say(f'figures: {options.json}')
    if options.picture is not None:
        title = f'{result.robot}: feed-forward follows {result.error_ratio:.0f} times better'
        try:
            picture.draw(options.picture, title, robot.model.joint_names, *runs)
            screen.say(f'picture: {options.picture}')
        except MatplotlibMissing as error:
            screen.say(str(error))
