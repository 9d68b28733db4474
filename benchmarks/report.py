# SPDX-License-Identifier: Apache-2.0
"""The figures as Markdown tables, aligned to be readable as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks import batches, single
from benchmarks.functions import FUNCTIONS
from benchmarks.operations import PUBLISHED, counted
from benchmarks.results import Results
from benchmarks.single import SingleCall
from benchmarks.targets import TARGETS, Target

NONE = '-'


def markdown(results: Results) -> str:
    """Return the whole report."""
    parts = [
        ('Targets', targets(results)),
        ('Single call from Python, ns', single_calls(results)),
        ('Batches, ns per sample', batch_calls(results)),
        ('Simulation, steps per second', steps(results)),
        ('Compiling, s', compilations(results)),
        ('A fresh process, inverse dynamics from the cache', starts(results)),
        ('Multiplications / additions of inverse dynamics', operations(results)),
        ('Left out', '\n'.join(f'* {note}' for note in results.notes)),
    ]
    text = [machine(results)] + [f'### {title}\n\n{body}' for title, body in parts if body]
    return '\n\n'.join(text) + '\n'


def machine(results: Results) -> str:
    """Return one paragraph about the machine and the versions."""
    facts = results.machine
    versions = ', '.join(f'{name} {number}' for name, number in facts['versions'].items())
    load = facts['load_before']
    busy = '' if load is None else f' Load average before the run: {load}.'
    return (
        f'Machine: {facts["processor"]}; {facts["cores"]} cores, {facts["system"]}; '
        f'Python {facts["python"]}, {versions}.{busy}'
    )


def targets(results: Results) -> str:
    """Return the targets and the worst figure of each."""
    rows = []
    for target in TARGETS:
        worst = target.worst(results)
        found, where = (NONE, '') if worst is None else (_amount(target, worst[0]), worst[1])
        aim = NONE if target.aim is None else _amount(target, target.aim)
        bound = _amount(target, target.bound)
        rows.append([target.title, found, where, bound, aim, target.verdict(results)])
    return table(['', 'worst', 'of', 'at least / at most', 'aim', ''], rows)


def _amount(target: Target, value: float) -> str:
    if value == math.inf:
        return 'never'
    return f'{value:.3g}x' if target.unit == 'x' else f'{value:.3g} {target.unit}'


def single_calls(results: Results) -> str:
    """Return the single calls, a row per robot and function."""
    others = [name for name in single.OTHERS if any(name in call.ns for call in results.single)]
    sides = (single.REFERENCE, single.OUT, single.NEW, single.KEPT)
    head = ['robot', '', *sides, 'ratio out=', 'ratio new', 'ratio kept']
    rows = [
        [
            *_robot_and_function(call),
            *(_ns(call.ns.get(name)) for name in sides),
            *(f'{call.ratio(name):.1f}' for name in sides[1:]),
            *(_ns(call.ns.get(name)) for name in others),
            f'{max(call.error[name] for name in (single.NEW, single.OUT)):.0e}',
        ]
        for call in results.single
    ]
    return table([*head, *others, 'error'], rows)


def batch_calls(results: Results) -> str:
    """Return the batches, a row per robot and function."""
    sides = (
        batches.LOOP,
        batches.POOL,
        batches.POOL_TWO,
        batches.OURS,
        batches.OURS_NEW,
        batches.OURS_TWO,
        batches.WRITING,
    )
    rows = []
    for batch in results.batches:
        ratios = [
            f'{batch.ratio(batches.OURS, slower):.0f}' if slower in batch.ns else NONE
            for slower in (batches.LOOP, batches.POOL)
        ]
        figures = [_ns(batch.ns.get(side)) for side in sides]
        title = FUNCTIONS[batch.function].title
        rows.append([batch.robot, title, str(batch.samples), *figures, *ratios])
    return table(['robot', '', 'samples', *sides, 'loop / 1 core', 'pool / 1 core'], rows)


def steps(results: Results) -> str:
    """Return the simulation steps per second."""
    if not results.stepping:
        return ''
    sides = list(results.stepping[0].steps_per_s)
    rows = [
        [run.robot, *(f'{run.steps_per_s[side]:.3g}' for side in sides), f'{run.error:.0e}']
        for run in results.stepping
    ]
    return table(['robot', *sides, 'error'], rows)


def compilations(results: Results) -> str:
    """Return the seconds to the first result, a row per robot: single call / batch."""
    rows = []
    for robot in dict.fromkeys(made.robot for made in results.compilations):
        made = {m.function: m for m in results.compilations if m.robot == robot}
        cells = [
            f'{_seconds(made[f].single_s)} / {_seconds(made[f].batch_s)}' if f in made else NONE
            for f in FUNCTIONS
        ]
        total = sum(m.single_s for m in made.values())
        peaks = [m.peak_mib for m in made.values() if m.peak_mib is not None]
        memory = f'{max(peaks):.0f}' if peaks else NONE
        rows.append([robot, *cells, f'{total:.2f}', memory])
    titles = [function.title for function in FUNCTIONS.values()]
    return table(['single / batch', *titles, 'all, single', 'peak MiB'], rows)


def starts(results: Results) -> str:
    """Return time and memory of new processes."""
    if not results.starts:
        return ''
    sides, processes = list(results.starts[0].ms), list(results.starts[0].peak_mib)
    rows = [
        [
            start.robot,
            *(f'{start.ms[side]:.0f}' for side in sides),
            *(f'{mib:.0f}' if (mib := start.peak_mib[p]) is not None else NONE for p in processes),
        ]
        for start in results.starts
    ]
    head = [*(f'{side}, ms' for side in sides), *(f'{process}, MiB' for process in processes)]
    return table(['robot', *head], rows)


def operations(results: Results) -> str:
    """Return the operation counts of inverse dynamics, beside published formulas."""
    rows = []
    joints = {call.robot: call.joints for call in results.single}
    for made in results.compilations:
        if made.function == 'inverse_dynamics' and made.robot in joints:
            counts = [counted(made.operations)]
            counts += [published.of(joints[made.robot]) for published in PUBLISHED]
            rows.append([made.robot, *(f'{c.products} / {c.sums}' for c in counts)])
    if not rows:
        return ''
    sources = '\n'.join(f'* {published.title}: {published.source}.' for published in PUBLISHED)
    head = ['robot', 'this package', *(published.title for published in PUBLISHED)]
    return f'{table(head, rows)}\n\n{sources}'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, first column to the left, numbers to the right; '' without rows."""
    lines = [list(head), *map(list, rows)]
    if len(lines) == 1:
        return ''
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = ['-' * widths[0], *('-' * (width - 1) + ':' for width in widths[1:])]
    aligned = [
        [line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]
        for line in (lines[0], rule, *lines[1:])
    ]
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in aligned)


def _robot_and_function(call: SingleCall) -> tuple[str, str]:
    return call.robot, FUNCTIONS[call.function].title


def _seconds(value: float | None) -> str:
    return NONE if value is None else f'{value:.2f}'


def _ns(value: float | None) -> str:
    if value is None:
        return NONE
    return f'{value:.1f}' if value < 100 else f'{value:.0f}'
