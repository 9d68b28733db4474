# SPDX-License-Identifier: Apache-2.0
"""Targets, and whether a run meets them: ratios to Pinocchio's Python call, and times.

The worst of several figures decides, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import batches, single, starting, stepping
from benchmarks.compiling import SINGLE
from benchmarks.results import Results

MET, MISSED, OPEN = 'met', 'NOT MET', 'not measured'

ARMS = range(6, 10)  # joints
FIVE = ('inverse_dynamics', 'mass_matrix', 'gravity_torque', 'coriolis_matrix', 'forward_dynamics')

# A figure, and the robot and function it belongs to.
Figure = tuple[float, str]


@dataclass(frozen=True)
class Target:
    """A bound for one figure of the run.

    Attributes:
        title: description.
        unit: 'x' for a ratio (a lower bound), else a unit of time (an upper bound).
        bound: required value.
        aim: desired value.
        figures: yields the figures it applies to.
    """

    title: str
    unit: str
    bound: float
    aim: float | None
    figures: Callable[[Results], Iterator[Figure]]

    def worst(self, results: Results) -> Figure | None:
        """Return the worst figure, None if there are none."""
        figures = list(self.figures(results))
        if not figures:
            return None
        return min(figures) if self.unit == 'x' else max(figures)

    def verdict(self, results: Results) -> str:
        """Return MET, MISSED or OPEN."""
        worst = self.worst(results)
        if worst is None:
            return OPEN
        met = worst[0] >= self.bound if self.unit == 'x' else worst[0] <= self.bound
        return MET if met else MISSED


def _single(
    contender: str, functions: tuple[str, ...], *, joints: range = ARMS, robot: str = ''
) -> Callable[[Results], Iterator[Figure]]:
    def figures(results: Results) -> Iterator[Figure]:
        for call in results.single:
            chosen = call.robot == robot if robot else call.joints in joints
            if chosen and call.function in functions:
                yield call.ratio(contender), f'{call.robot} {call.function}'

    return figures


def _batch(slower: str) -> Callable[[Results], Iterator[Figure]]:
    def figures(results: Results) -> Iterator[Figure]:
        for batch in results.batches:
            if batch.joints in ARMS and slower in batch.ns and batch.samples > batches.FEW:
                where = f'{batch.robot} {batch.function}'
                yield batch.ratio(batches.OURS, slower), where

    return figures


def _steps(results: Results) -> Iterator[Figure]:
    for run in results.stepping:
        if run.joints in ARMS:
            rates = run.steps_per_s
            yield rates[stepping.SIMULATE] / rates[stepping.MUJOCO], run.robot


def _compile(functions: tuple[str, ...], robot: str) -> Callable[[Results], Iterator[Figure]]:
    def figures(results: Results) -> Iterator[Figure]:
        for made in results.compilations:
            if made.robot == robot and made.function in functions:
                yield made.single_s, f'{made.robot} {made.function}'
        for lost in results.given_up:
            if (lost.robot, lost.kind) == (robot, SINGLE) and lost.function in functions:
                yield float('inf'), f'{lost.robot} {lost.function}: {lost.why}'

    return figures


def _compile_all(robot: str) -> Callable[[Results], Iterator[Figure]]:
    def figures(results: Results) -> Iterator[Figure]:
        seconds = [made.single_s for made in results.compilations if made.robot == robot]
        lost = any((lost.robot, lost.kind) == (robot, SINGLE) for lost in results.given_up)
        if seconds or lost:
            yield float('inf') if lost else sum(seconds), robot

    return figures


def _start(results: Results) -> Iterator[Figure]:
    for start in results.starts:
        if start.joints in ARMS:
            yield start.ms[starting.OURS], start.robot


ID, DERIVATIVES = ('inverse_dynamics',), ('inverse_dynamics_derivatives',)
FORWARD_DERIVATIVES = ('forward_dynamics_derivatives',)
TARGETS = (
    Target('ID, M, g, C, FD, single call, new array', 'x', 9, 10, _single(single.NEW, FIVE)),
    Target('the same, results kept', 'x', 7, None, _single(single.KEPT, FIVE)),
    Target('the same, out=', 'x', 11, 17, _single(single.OUT, FIVE)),
    Target(
        'ID derivatives, single call, new array', 'x', 10, 12, _single(single.NEW, DERIVATIVES)
    ),
    Target(
        'FD derivatives, single call, new array',
        'x',
        7,
        8,
        _single(single.NEW, FORWARD_DERIVATIVES),
    ),
    Target('batch, one core, against a Python loop', 'x', 35, 75, _batch(batches.LOOP)),
    Target('batch, one core, against its pool, 1 thread', 'x', 30, 55, _batch(batches.POOL)),
    Target('talos, single call ID', 'x', 6, 10, _single(single.NEW, ID, robot='talos_reduced')),
    Target(
        'talos, single call ID derivatives',
        'x',
        4.5,
        6,
        _single(single.NEW, DERIVATIVES, robot='talos_reduced'),
    ),
    Target('12-joint chain, single call ID', 'x', 3, 8, _single(single.NEW, ID, robot='chain12')),
    Target(
        '100-joint chain, single call ID', 'x', 1, 3, _single(single.NEW, ID, robot='chain100')
    ),
    Target('simulation steps, against mj_step', 'x', 13, 15, _steps),
    Target('100-joint chain, compile ID', 's', 2, None, _compile(ID, 'chain100')),
    Target(
        '100-joint chain, compile FD', 's', 2, None, _compile(('forward_dynamics',), 'chain100')
    ),
    Target('100-joint chain, compile all', 's', 10, None, _compile_all('chain100')),
    Target('cached start to the first result', 'ms', 150, None, _start),
)
