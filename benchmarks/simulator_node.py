# SPDX-License-Identifier: Apache-2.0
"""Speed and jitter of the simulator node: `python -m benchmarks.simulator_node [--robot URDF]`.

Measures how fast the loop of the node simulates without pacing, and the periods between steps at 1
kHz: alone, with a controller in another process that commands every state, and while recording.
Brakes are off. Periods are measured with the clock of the node, beside those of a loop that only
sleeps. On a loaded machine, the factor per processor time estimates that of an idle one. Requires
ROS 2.

The arm swings with friction and without torque; steps with a joint at its stop take longer.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from benchmarks import ROOT
from benchmarks.ending import tidy_on_sigterm
from benchmarks.results import this_machine
from robot_dynamics.common.resources import share_file
from robot_dynamics.ros import executable as _main
from robot_dynamics.ros import qos
from robot_dynamics.ros.middleware import isolate
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

WANTED = 20.0  # times real time
SETTLING = 0.3  # fraction of the time, added before the measurement
COMMANDER = '--as-command-publisher'
QUIET = ['--ros-args', '--log-level', 'error']


@tidy_on_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parsed(arguments)
    isolate()
    if options.as_command_publisher:
        return command()
    robot = {
        'robot_description_file': str(options.robot or share_file('urdf/panda.urdf')),
        'tip_link': options.tip_link if options.robot else 'panda_link8',
        'hold_until_command': False,
        'stops.kind': 'none',
        'wall_stamps': True,
    }
    machine = this_machine()
    print(f'{machine["processor"]}, {machine["cores"]} cores, load {machine["load_before"]:g}\n')
    print(f'{"as fast as possible":<30}{"x real time":>12}{"x CPU time":>12}{"us per step":>13}')
    for every in (1, 10, 100):
        speed = fastest(robot | {'publish_every': every}, options.seconds)
        fast_row(f'a state every {every} step{"s" * (every > 1)}', *speed)
    speed = fastest(robot | {'publish_every': 100, 'stops.kind': 'inelastic'}, options.seconds)
    fast_row('the same, on its stops', *speed)
    print(f'wanted: {WANTED:g} with few states published\n')
    print(f'{"1 kHz":<30}{"p50":>8}{"p99":>8}{"max us":>8}{"CPU %":>8}{"late":>6}')
    row('a loop that only sleeps', *sleeping(options.seconds), 0)
    row('alone', *paced(robot, options.seconds))
    with command_publisher():
        row('with 1000 commands a second', *paced(robot, options.seconds))
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.simulator_node')
    parser.add_argument('--robot', type=Path, help='path of a .urdf or .xacro file (a Panda)')
    parser.add_argument('--tip-link', default='', help='keep the joints up to this link')
    parser.add_argument('--seconds', type=float, default=5.0, help='for each figure (5)')
    parser.add_argument(COMMANDER, action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def fast_row(what: str, factor: float, of_cpu: float) -> None:
    """Print simulated time per wall time, and per processor time."""
    print(f'{what:<30}{factor:12.1f}{of_cpu:12.1f}{1e3 / of_cpu:13.1f}')


def row(what: str, periods: NDArray[np.float64], cpu: float, late: int) -> None:
    """Print the percentiles of periods [s] and the share of a processor."""
    p50, p99, most = 1e6 * np.percentile(periods, (50, 99, 100))
    print(f'{what:<30}{p50:8.0f}{p99:8.0f}{most:8.0f}{100 * cpu:8.0f}{late:6d}')


# -- the node -------------------------------------------------------------------------------


@contextlib.contextmanager
def node(parameters: dict[str, Any], settling: float) -> Iterator[tuple[SimulatorNode, Any]]:
    """Run the node in this process, with the executor of its executable."""
    context = Context()
    rclpy.init(args=QUIET, context=context)
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    simulator = SimulatorNode(context=context, parameter_overrides=overrides)
    executor = _main.new_executor(context)
    executor.add_node(simulator)
    try:
        spin(executor, settling)
        gc.collect()
        yield simulator, executor
    finally:
        simulator.end()
        executor.shutdown()
        simulator.destroy_node()
        context.try_shutdown()


def spin(executor: Any, seconds: float) -> None:
    """Spin the executor as the executable does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)


def fastest(parameters: dict[str, Any], seconds: float) -> tuple[float, float]:
    """Return simulated time per wall time, and per processor time, without pacing."""
    with node(parameters | {'real_time_factor': 0.0}, SETTLING * seconds) as (simulator, executor):
        loop = simulator.loop
        began, cpu, steps = time.monotonic(), time.process_time(), loop.steps
        spin(executor, seconds)
        simulated = (loop.steps - steps) * loop.options.time_step
        return simulated / (time.monotonic() - began), simulated / (time.process_time() - cpu)


def paced(parameters: dict[str, Any], seconds: float) -> tuple[NDArray[np.float64], float, int]:
    """Return the periods [s] at 1 kHz, the share of a processor, and the late steps."""
    with node(parameters, SETTLING * seconds) as (simulator, executor):
        loop, times = simulator.loop, []
        step = loop.step

        def timed(now: float) -> None:
            times.append(time.monotonic())
            step(now)

        loop.step = timed
        late, began, cpu = loop.pace.late, time.monotonic(), time.process_time()
        spin(executor, seconds)
        share = (time.process_time() - cpu) / (time.monotonic() - began)
        return np.diff(times), share, loop.pace.late - late


def sleeping(seconds: float) -> tuple[NDArray[np.float64], float]:
    """Return the periods of a loop that sleeps until each millisecond."""
    times, cpu = [time.monotonic()], time.process_time()
    count = round(seconds * 1000)
    for k in range(1, count):
        time.sleep(max(0.0, times[0] + k * 1e-3 - time.monotonic()))
        times.append(time.monotonic())
    return np.diff(times), (time.process_time() - cpu) / seconds


# -- a controller ---------------------------------------------------------------------------


@contextlib.contextmanager
def command_publisher() -> Iterator[None]:
    """Command every state from another process."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'benchmarks.simulator_node', COMMANDER], cwd=ROOT
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def command() -> int:
    """Publish a torque of zero by name for every joint state, until SIGTERM."""
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda caught, _frame: stop.append(caught))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    here = rclpy.create_node('command_publisher')
    out = here.create_publisher(JointState, 'joint_effort', qos.STREAM_OUT)

    def answer(state: JointState) -> None:
        state.effort = [0.0] * len(state.name)
        out.publish(state)

    here.create_subscription(JointState, 'joint_states', answer, qos.JOINT_STATES_IN)
    executor = _main.new_executor()
    executor.add_node(here)
    while not stop:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    here.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
