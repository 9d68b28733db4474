# SPDX-License-Identifier: Apache-2.0
"""Latency of the dynamics node beside an echo: `python -m benchmarks.nodes`, requires ROS 2.

A client publishes joint states at 1 kHz for one node at a time, in short turns, and records when
the last output for each state is received. One node is the dynamics node; the other, the echo,
publishes messages of the same sizes and computes nothing. All are processes with the same executor
and the same settings of the middleware.

`--soak SECONDS` measures the memory and the deadlines of the dynamics node alone.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.qos import ReliabilityPolicy

from benchmarks import timer_jitter
from benchmarks.ending import tidy_on_sigterm
from benchmarks.node_client import ANSWERS, DEPTH, Block, Client
from benchmarks.node_process import NodeDied, NodeProcess, running
from benchmarks.results import this_machine
from benchmarks.shared_memory import remove_shared_memory, shared_memory
from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.middleware import isolate
from robot_dynamics.urdf.loading import load_urdf

OURS, ECHO = 'dynamics_node', 'echo'
PROGRAMS = {OURS: ('robot_dynamics.ros.executables', OURS), ECHO: ('benchmarks.node_echo',)}
WARM_UP = 300  # states
TURN = 0.5  # s, duration of a turn of one node
WANTED = 1.25  # times the latency of the echo
JITTER = 2.0  # s, to measure the timer jitter of the machine
RESAMPLINGS = 500  # of the turns, for the interval of a ratio
LIKELY = (2.5, 97.5)  # percentiles of the resampled ratios: the interval
SAMPLE = 1.0  # s between two samples of the memory
SETTLING = 0.2  # fraction of a soak excluded from the slope
QOS = {
    'sensor': ('sensor QoS: best effort, depth 10', ReliabilityPolicy.BEST_EFFORT, 10),
    'reliable': (f'reliable, depth {DEPTH}', ReliabilityPolicy.RELIABLE, DEPTH),
}


@tidy_on_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a node fails, else 0."""
    options = parsed(arguments)
    before = shared_memory()
    isolate()
    gc.disable()
    try:
        figures = [measure(options, qos) for qos in options.qos]
    except NodeDied as error:
        print(f'benchmarks.nodes: {error}', file=sys.stderr)
        return 1
    finally:
        remove_shared_memory(before)
    if options.json:
        everything = {'machine': this_machine(), 'figures': figures}
        options.json.write_text(json.dumps(everything, indent=1) + '\n', encoding='utf-8')
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.nodes',
        description='Measure the latency of the dynamics node beside an echo.',
    )
    parser.add_argument('--robot', type=Path, default=share_file('urdf/panda.urdf'))
    parser.add_argument('--rate', type=float, default=1000.0, help='joint states per second')
    parser.add_argument('--seconds', type=float, default=30.0, help='duration for each node')
    parser.add_argument('--soak', type=float, metavar='SECONDS', help='dynamics_node alone')
    parser.add_argument('--qos', nargs='+', choices=QOS, default=list(QOS), help='of the input')
    parser.add_argument('--json', type=Path, metavar='FILE', help='file for all figures')
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace, qos: str) -> dict[str, Any]:
    """Return the figures with one QoS, and print them."""
    title, reliability, depth = QOS[qos]
    joints = load_urdf(options.robot).joint_names
    print(f'\n{len(joints)} joints, {options.rate:g} Hz, {ANSWERS} answers each; {title}\n')
    client = Client(joints, options.rate, reliability)
    with contextlib.closing(client), nodes(options, joints, reliability, depth) as asked:
        for node in asked:
            client.add(node)
            client.ask(node, WARM_UP)
        ask = soak if options.soak else compare
        return ask(client, asked, options)


@contextlib.contextmanager
def nodes(
    options: argparse.Namespace,
    joints: tuple[str, ...],
    reliability: ReliabilityPolicy,
    depth: int,
) -> Iterator[list[NodeProcess]]:
    """Run the nodes, each in its own namespace."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = []
        for name in (OURS,) if options.soak else (OURS, ECHO):
            parameters = {
                'qos_overrides': {
                    f'/{name}/joint_states': {
                        'subscription': {
                            'reliability': reliability.name.lower(),
                            'history': 'keep_last',
                            'depth': depth,
                        }
                    }
                },
                **({'joints': list(joints)} if name == ECHO else robot(options)),
            }
            file = folder / f'{name}.yaml'
            # JSON is YAML.
            file.write_text(json.dumps({'/**': {'ros__parameters': parameters}}))
            ros = ('--params-file', str(file), '-r', f'__ns:=/{name}')
            started.append(stack.enter_context(running(name, PROGRAMS[name], *ros)))
        yield started


def robot(options: argparse.Namespace) -> dict[str, Any]:
    return {'robot_description_file': str(options.robot.resolve())}


# -- comparison with the echo ---------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """Figures of all blocks of one node."""

    median_us: float
    p99_us: float
    max_us: float
    cpu_percent: float
    states: int
    lost: int  # answers
    late: int  # states whose outputs were not complete within a period


def summary(blocks: Sequence[Block]) -> Answers:
    """Return the figures of all blocks of a node."""
    latency = 1e6 * np.concatenate([block.answered for block in blocks])
    median, p99, most = np.percentile(latency, (50, 99, 100))
    return Answers(
        float(median),
        float(p99),
        float(most),
        100 * float(np.mean([block.cpu for block in blocks])),
        sum(len(block.latency) for block in blocks),
        sum(block.lost for block in blocks),
        sum(block.late for block in blocks),
    )


def compare(
    client: Client, asked: Sequence[NodeProcess], options: argparse.Namespace
) -> dict[str, Any]:
    """Measure the nodes in alternation; print and return their figures."""
    per_turn = max(1, round(TURN * options.rate))
    blocks: dict[str, list[Block]] = {node.name: [] for node in asked}
    for _ in range(max(1, round(options.seconds / TURN))):
        for node in asked:
            blocks[node.name].append(client.ask(node, per_turn))
    # Afterwards, because a third process would disturb both.
    with timer_jitter.measured(options.rate) as jitter:
        time.sleep(JITTER)
    figures = {name: summary(row) for name, row in blocks.items()}
    compared = {
        name: ratio(blocks[OURS], blocks[ECHO], percent)
        for name, percent in {'median': 50, 'p99': 99}.items()
    }
    print(table(figures))
    for name, r in compared.items():
        print(
            f'{name}: {r.best:.2f} of the echo; wanted: at most {WANTED}: {r.verdict} '
            f'(95 %: {r.low:.2f} to {r.high:.2f})'
        )
    print(f'a process that only sleeps was late by more than a period in {jitter.part:.3%}')
    return {
        'nodes': {name: vars(answers) for name, answers in figures.items()},
        'ratios': {name: vars(r) for name, r in compared.items()},
        'timer': vars(jitter),
    }


@dataclass(frozen=True)
class Ratio:
    """Latency relative to the echo, with its 95 % interval."""

    best: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`met`, `MISSED`, or `open` if the interval contains the bound."""
        if self.high <= WANTED:
            return 'met'
        return 'MISSED' if self.low > WANTED else 'open'


def ratio(ours: Sequence[Block], echo: Sequence[Block], percent: float) -> Ratio:
    """Return the ratio of a percentile of the latencies of nodes measured in alternation.

    Single latencies are not independent, because the machine has slow phases. Therefore pairs of
    turns are resampled instead of single latencies.
    """
    a, b = ([block.answered for block in blocks] for blocks in (ours, echo))

    def of(turns: Sequence[int]) -> float:
        top, bottom = (
            np.percentile(np.concatenate([row[k] for k in turns]), percent) for row in (a, b)
        )
        return float(top / bottom)

    rng = np.random.default_rng(0)
    resampled = [of(rng.choice(len(a), len(a)).tolist()) for _ in range(RESAMPLINGS)]
    return Ratio(of(range(len(a))), *map(float, np.percentile(resampled, LIKELY)))


def table(figures: dict[str, Answers]) -> str:
    """Return the figures as Markdown."""
    rows = ['| node | median us | p99 us | max us | CPU % | answers lost | late by a period |']
    rows.append('|---|---|---|---|---|---|---|')
    for name, f in figures.items():
        lost = f'{f.lost} of {f.states * ANSWERS}'
        rows.append(
            f'| {name} | {f.median_us:.0f} | {f.p99_us:.0f} | {f.max_us:.0f} '
            f'| {f.cpu_percent:.0f} | {lost} | {f.late} of {f.states} |'
        )
    return '\n'.join(rows)


# -- soak -----------------------------------------------------------------------------------------


def soak(
    client: Client, asked: Sequence[NodeProcess], options: argparse.Namespace
) -> dict[str, Any]:
    """Measure the dynamics node without a pause; print and return the figures."""
    (node,) = asked
    samples: list[tuple[float, float]] = []  # s, MiB
    every = max(1, round(SAMPLE * options.rate))

    def sample(k: int) -> None:
        if k % every == 0:
            samples.append((k / options.rate, node.resident_mib()))

    with timer_jitter.measured(options.rate) as jitter:
        block = client.ask(node, round(options.soak * options.rate), sample)
    figures = summary([block])
    memory, error = slope(np.array(samples))
    print(table({node.name: figures}))
    print(
        f'memory: {samples[-1][1]:.1f} MiB at the end, slope {3600 * memory:+.2f} '
        f'+- {3600 * error:.2f} MiB/h'
    )
    print(
        f'later than a period: {figures.late / figures.states:.3%}; a process that only sleeps: '
        f'{jitter.part:.3%}; states sent late: {float((block.lateness > block.period).mean()):.3%}'
    )
    latency = np.percentile(block.answered, timer_jitter.PERCENTILES).tolist()
    print(deadlines(latency, jitter.lateness, block.period))
    return {
        'nodes': {node.name: vars(figures)},
        'latency': latency,
        'memory': samples,
        'slope': [memory, error],
        'timer': vars(jitter),
    }


def deadlines(latency: Sequence[float], lateness: Sequence[float], period: float) -> str:
    """Return for each percentile whether the deadline was met, as Markdown.

    The deadline is a period [s] plus the lateness of the sleeping process at the same percentile:
    further delay is caused by the node.
    """
    rows = ['| percentile | answered us | sleeper late us | deadline |', '|---|---|---|---|']
    for percentile, answered, late in zip(
        timer_jitter.PERCENTILES, latency, lateness, strict=True
    ):
        met = 'met' if answered <= period + late else 'MISSED'
        rows.append(f'| {percentile:g} | {1e6 * answered:.0f} | {1e6 * late:.0f} | {met} |')
    return '\n'.join(rows)


def slope(samples: NDArray) -> tuple[float, float]:
    """Return the slope of samples (k, 2) of (time, value) and its standard error.

    The beginning is excluded: caches fill, and the allocator obtains its memory.
    """
    t, y = samples[int(SETTLING * len(samples)) :].T
    if len(t) < 3:
        return float('nan'), float('nan')
    t = t - t.mean()
    best = float(t @ y / (t @ t))
    residual = y - y.mean() - best * t
    return best, float(np.sqrt(residual @ residual / (len(t) - 2) / (t @ t)))


if __name__ == '__main__':
    sys.exit(main())
