# SPDX-License-Identifier: Apache-2.0
"""Command line of the benchmarks: `./run bench`, or `python -m benchmarks.run`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import batches, clock, compiling, report, robots, single, starting, stepping
from benchmarks.agreement import Disagreement
from benchmarks.clock import Effort
from benchmarks.compiling import Compilation
from benchmarks.contenders import RobotRefused
from benchmarks.results import Results, this_machine
from benchmarks.robots import Robot, RobotMissing

CACHE_VARIABLE = 'ROBOT_DYNAMICS_CACHE_DIR'
PARTS = ('single', 'batches', 'starting', 'stepping')
STARTS, QUICK_STARTS = 10, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the figures; return 1 if results disagree, else 0."""
    options = parsed(arguments)
    results = Results(this_machine())
    with _empty_cache():
        try:
            for name in options.robots:
                measure(name, options, results)
        except Disagreement as disagreement:
            print(f'no figures because results disagree: {disagreement}', file=sys.stderr)
            return 1
    text = report.markdown(results)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(results.as_dict(), indent=1) + '\n', encoding='utf-8')
    if options.markdown:
        options.markdown.write_text(text, encoding='utf-8')
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='./run bench', description='Measure speed beside other libraries in one run.'
    )
    known = ', '.join((*robots.DESCRIPTIONS, *robots.PYBULLET_DATA))
    parser.add_argument(
        '--robots', nargs='+', metavar='NAME', help=f'{known}, chainN or the path of a URDF'
    )
    parser.add_argument('--quick', action='store_true', help='fewer robots, rougher figures')
    parser.add_argument(
        '--only', nargs='+', choices=PARTS, default=PARTS, help='what to measure (default: all)'
    )
    parser.add_argument('--json', type=Path, metavar='FILE', help='file for all figures')
    parser.add_argument('--markdown', type=Path, metavar='FILE', help='file for the tables')
    parser.add_argument(
        '--limit',
        type=float,
        default=compiling.LIMIT,
        metavar='SECONDS',
        help='give up compiling a function after this time (default: %(default)g)',
    )
    options = parser.parse_args(arguments)
    options.robots = options.robots or (robots.QUICK if options.quick else robots.DEFAULT)
    return options


def measure(name: str, options: argparse.Namespace, results: Results) -> None:
    """Add the figures of one robot to the results.

    Raises:
        Disagreement: results differ.
    """
    try:
        robot = robots.find(name)
    except RobotMissing as error:
        results.notes.append(f'{name} left out: {error}')
        return
    effort = clock.QUICK if options.quick else clock.FULL
    made = _compiled(robot, options, results)
    functions = [compilation.function for compilation in made]
    if 'single' in options.only:
        _say(robot, 'single calls')
        results.single += single.measure(robot, functions, effort, results.notes)
    if 'batches' in options.only:
        _say(robot, 'batches')
        batched = [compilation.function for compilation in made if compilation.batch_s is not None]
        results.batches += batches.measure(robot, batched, effort)
    if 'starting' in options.only and 'inverse_dynamics' in functions:
        _say(robot, 'fresh processes')
        repeats = QUICK_STARTS if options.quick else STARTS
        results.starts.append(starting.measure(robot, repeats))
    steps = robot.model.n <= stepping.MOST_JOINTS and 'forward_dynamics' in functions
    if 'stepping' in options.only and steps:
        _say(robot, 'simulation')
        _step(robot, effort, results)


def _compiled(robot: Robot, options: argparse.Namespace, results: Results) -> list[Compilation]:
    """Compile the functions of a robot; return the successful ones."""
    _say(robot, 'compiling')
    batched = batches.functions_of(robot) if 'batches' in options.only else []
    made, given_up = compiling.compile_all(robot, batched, options.limit)
    results.compilations += made
    results.given_up += given_up
    results.notes += [
        f'{lost.robot}: {lost.function}, {lost.kind}, left out: compiling it: {lost.why}'
        for lost in given_up
    ]
    return made


def _step(robot: Robot, effort: Effort, results: Results) -> None:
    try:
        results.stepping.append(stepping.measure(robot, effort))
    except RobotRefused as error:
        results.notes.append(f'{robot.name}: no simulation beside MuJoCo: {error}')


def _say(robot: Robot, what: str) -> None:
    print(f'{robot.name}, {robot.model.n} joints: {what} ...', file=sys.stderr, flush=True)


@contextlib.contextmanager
def _empty_cache() -> Iterator[None]:
    """Use an empty cache folder within this context."""
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE_VARIABLE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before


if __name__ == '__main__':
    sys.exit(main())
