# SPDX-License-Identifier: Apache-2.0
"""Ablation of the search of causes: findings of `evaluate` with each of its stages left out.

    python -m benchmarks.evaluation_ablation --recordings 300 --output ablation.jsonl
    python -m benchmarks.evaluation_ablation --recordings 0 --show ablation.jsonl

Each recording is drawn at random from those of `benchmarks.evaluation`, with seeds of its own, or,
with a share of `--special`, from those for which a stage was made: several wrong links, friction
of a part of the time, one scale of all joints. `--identified` adds recordings of arms whose models
are identified. Each is searched once as it is and once without each stage. With `--halve`, numbers
of `identification.evaluation.search_numbers` are halved instead, one by one. Results are written
for each recording; rates are compared in pairs, by the exact test of McNemar.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import evaluation as rates
from benchmarks import evaluation_identified as identified
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.identification import Recording
from robot_dynamics.identification.evaluation import (
    causes,
    evaluation,
    hypotheses,
    last_fit,
    search_numbers,
    selection,
)
from robot_dynamics.identification.evaluation.cause_equations import Equations
from robot_dynamics.resources import share_file
from robot_dynamics.simulation import load_profile
from robot_dynamics.spatial import Array

Changes = list[tuple[Any, str, Any]]  # objects, names of their attributes, values
SEARCH: Any = causes._Search
FIT: Any = last_fit.LastFit
USERS = (causes, hypotheses, last_fit, selection)
SEARCHES = (
    'search without small errors',
    'search with small errors of gains',
    'search with small errors of drives and links',
    'search with one scale of all joints',
)
SPECIAL = ('several links', 'part of the time', 'scale of all joints', 'inexact model')
IDENTIFIED = 'identified'
WARM = 2.0  # times SHARE: friction of the first third
WHITE, GAINS = (0, 2, 6), (18, 20)  # indices of NOISES
INEXACT = (0.005, 0.015)  # least and largest error of each link, as of an identified model
WORSE = 1.25  # times the residual without causes


def stages() -> dict[str, Changes]:
    """Return the changes that leave out each stage."""
    searches, last = SEARCH._searches, SEARCH._last_fit

    def only(*kept: int) -> Changes:
        def some(self: Any, allowed: Sequence[int]) -> list[Any]:
            return [one for k, one in enumerate(searches(self, allowed)) if k in kept]

        return [(SEARCH, '_searches', some)]

    few = search_numbers.REPORTED._replace(few=1000)
    every = {*range(len(SEARCHES))}
    return {
        'sufficient causes': [(causes, 'sufficient', lambda rms, large, small: list(large))],
        'blocks held out': [(SEARCH, '_valid', lambda self, g, found: True)],
        'limit of small errors': [(SEARCH, '_minor', lambda self, found: True)],
        **{name: only(*every - {k}) for k, name in enumerate(SEARCHES)},
        'searches with small errors': only(*every - {1, 2}),
        'larger errors of several links': [
            (SEARCH, '_last_fit', lambda self, e, found, several: last(self, e, found, False))
        ],
        'larger sizes of many causes': [(causes, 'REPORTED', few)],
        'scales of the corrected torque': [(Equations, 'with_scale_of', lambda self, x: self)],
        'all parameters of a link': [
            (FIT, '_whole', lambda self, g, _: self._cause(g, self.solution))
        ],
        'errors from scores': [(Equations, 'spread', lambda self, solution, noise: solution)],
    }


def halved() -> dict[str, Changes]:
    """Return the changes that halve each number."""
    found = {}
    for record in ('MOTION', 'REPORTED', 'VALIDITY', 'SMALL', 'PRIORS', 'PRICES', 'LIMITS'):
        whole = getattr(search_numbers, record)
        for name, value in whole._asdict().items():
            if not isinstance(value, tuple):
                half = value // 2 if isinstance(value, int) else value / 2
                other = whole._replace(**{name: half})
                found[f'{record}.{name}'] = [
                    (user, record, other) for user in USERS if record in vars(user)
                ]
    # The default of hypotheses is that of their class.
    init, half = hypotheses.Hypothesis.__init__, search_numbers.PRICES.cause / 2
    found['PRICES.cause'].append((init, '__defaults__', (-1, -1, half, False)))
    half = search_numbers.CERTAIN / 2
    found['CERTAIN'] = [(user, 'CERTAIN', half) for user in USERS if 'CERTAIN' in vars(user)]
    return found


@contextmanager
def changed(changes: Changes) -> Iterator[None]:
    before = [(thing, name, getattr(thing, name)) for thing, name, _ in changes]
    for thing, name, value in changes:
        setattr(thing, name, value)
    try:
        yield
    finally:
        for thing, name, value in before:
            setattr(thing, name, value)


class Case(NamedTuple):
    """A recording, the model it is compared with, and the judgement of findings."""

    kind: str
    label: str
    arm: Dynamics
    recording: Recording
    outcome: Callable[[Any], rates.Outcome]
    unneeded: Changes  # parts of the findings that the outcome does not have


def drawn(kinds: Sequence[str], noises: Sequence[int], rng: random.Random, seed: int) -> Case:
    """Return a random recording of one of these errors."""
    kind, k = rng.choice(list(kinds)), rng.choice(list(noises))
    name, of = rng.choice(list(rates.ROBOTS)), rng.choice(rates.MOTIONS)
    if kind in SPECIAL:
        k = rng.choice(GAINS if kind == 'inexact model' else WHITE)
    noise, arm = rates.NOISES[k], rates.arm(name)
    true = special(name, kind, of, seed) if kind in SPECIAL else rates.error(name, kind, of, seed)
    recording = rates.recording(true, of, noise, seed)
    if kind == 'part of the time':
        j = seed % arm.model.n
        early = recording.t < recording.t[-1] / 3
        extra = WARM * rates.SHARE * rates.rms(recording.effort)[j]
        recording.effort[early, j] += extra * np.sign(np.gradient(recording.q[:, j]))[early]
    wanted = rates.recorded(true, noise, seed)

    def outcome(found: Any) -> rates.Outcome:
        if kind != 'several links':
            return rates.outcome(found, wanted, noise)
        return of_links(found, arm, wanted)

    hidden = [one for one in causes.SHOULD_BE_VISIBLE if true.named and one == true.named[0]]
    unneeded: Changes = [
        (evaluation, '_postures', lambda stretches: []),
        (FIT, '_alternatives', lambda self, g, allowed: ()),
        (causes, 'SHOULD_BE_VISIBLE', tuple(hidden)),
    ]
    label = f'{kind}, {name}, {of}, {noise}, {seed}'
    return Case(kind, label, arm, recording, outcome, unneeded)


def special(name: str, kind: str, of: str, seed: int) -> rates.Error:
    """Return an error for which a stage was made."""
    model = rates.arm(name).model
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    if kind == 'inexact model':
        error = rates.error(name, 'payload', of, seed)
        profile = replace(profile, model_error=INEXACT, friction_error=INEXACT[1])
        return replace(error, true=profile.actual(error.true, seed))
    if kind == 'several links':
        return rates.Error(profile.actual(model, seed), np.ones(model.n), None, np.zeros(0))
    more = rates.SHARE * (kind == 'scale of all joints')
    named = ('scale', '') if more else None
    return rates.Error(model, np.full(model.n, 1 + more), named, np.array([more]))


def of_links(found: Any, arm: Dynamics, true: rates.Error) -> rates.Outcome:
    """Return the outcome where all links and frictions are wrong: some link is to be named."""
    covered, false = [], 0
    for cause in found.causes:
        if cause.kind in ('inertia', 'load', 'centre of mass'):
            if cause.kind != 'centre of mass':
                i = int(arm.tree.frame(cause.place).body)
                more = true.true.mass[i] - arm.model.mass[i]
                covered.append(bool(abs(cause.value[0] - more) <= rates.CERTAIN * cause.error[0]))
        elif cause.kind not in ('dry friction', 'viscous friction'):
            false += 1
    return rates.Outcome(bool(covered), false, covered, found.doubtful or not found.searched)


def of_identified(arms: int, first_seed: int) -> Iterator[Case]:
    for model, of, recording, payload in identified.recordings(arms, first_seed):

        def outcome(found: Any, payload: Any = payload) -> rates.Outcome:
            one = identified.outcome(found, float(payload[0]), payload[1:])
            covered = [one.covered] if one.covered is not None else []
            named = one.named == 'payload' or not one.mass
            return rates.Outcome(named, one.other, covered, found.doubtful)

        label = f'{IDENTIFIED}, {of}, {payload.round(3)}'
        unneeded: Changes = [(causes, 'SHOULD_BE_VISIBLE', ())]
        yield Case(IDENTIFIED, label, model, recording, outcome, unneeded)


class _Asked:
    """In place of the search of causes: keeps what it is to compare, and finds none."""

    def __call__(self, compared: Any) -> tuple[hypotheses.Findings, Array]:
        self.compared = compared
        nothing = np.zeros_like(compared.columns.residual)
        return hypotheses.Findings(False, False, (), nothing[0], (0.0, 1.0), ()), nothing


def judged(case: Case, residual: Array, findings: Any) -> list[Any]:
    """Return the outcome, and whether the causes make a joint's residual much larger."""
    found, _ = findings
    worse = found.unexplained > WORSE * rates.rms(residual)
    return [*case.outcome(found), bool(worse.any())]


class _Once:
    """A method of a search whose results are kept: they are a function of its arguments."""

    def __init__(self, method: Callable[..., Any]):
        self._method, self._kept = method, dict[Any, Any]()

    def __call__(self, *arguments: Any) -> Any:
        key = tuple(map(tuple, arguments))
        if key not in self._kept:
            self._kept[key] = self._method(*arguments)
        return self._kept[key]


def fired(
    search: Any, residual: Array, case: Case, asked: list[Any]
) -> tuple[list[Any], set[str]]:
    """Return the outcome of a search as it is, and the stages after `_best` that change it.

    Args:
        search: the search.
        residual: of the recording.
        case: the recording.
        asked: to which choices are appended, with the hypotheses allowed to them.
    """
    best, valid, last = SEARCH._best, SEARCH._valid, SEARCH._last_fit
    whole, sufficient = FIT._whole, causes.sufficient
    at_work: set[str] = set()

    def of_best(self: Any, allowed: Any) -> Any:
        asked.append((list(allowed), best(self, allowed)))
        return asked[-1][1]

    def of_valid(self: Any, g: int, found: Any) -> bool:
        result = bool(valid(self, g, found))
        at_work.update([] if result else ['blocks held out'])
        return result

    def of_last(self: Any, equations: Any, found: Any, several: bool) -> Any:
        at_work.update(['larger errors of several links'] if several else [])
        many = len(found.causes) > search_numbers.REPORTED.few
        at_work.update(['larger sizes of many causes'] if many else [])
        return last(self, equations, found, several)

    def of_whole(self: Any, g: int, allowed: Any) -> Any:
        result = whole(self, g, allowed)
        same = np.array_equal(result.value, self._cause(g, self.solution).value)
        at_work.update([] if same else ['all parameters of a link'])
        return result

    def of_sufficient(rms: Any, large: Any, small: Any) -> list[int]:
        result = sufficient(rms, large, small)
        at_work.update([] if result == list(large) else ['sufficient causes'])
        return result

    wrapped: Changes = [
        (SEARCH, '_best', of_best),
        (SEARCH, '_valid', of_valid),
        (SEARCH, '_last_fit', of_last),
        (FIT, '_whole', of_whole),
        (causes, 'sufficient', of_sufficient),
    ]
    with changed(wrapped):
        found = judged(case, residual, search.findings())
    if asked[-1][1].causes:
        at_work |= {'scales of the corrected torque', 'errors from scores'}
    return found, at_work


def searched(case: Case, variants: dict[str, Changes]) -> dict[str, list[Any]]:
    """Return the outcomes of all variants; those that cannot differ are not computed."""
    asked = _Asked()
    with changed([(evaluation, 'find_causes', asked)]):
        evaluation.evaluate(case.arm, case.recording)
    search, residual = SEARCH(asked.compared), asked.compared.columns.residual
    if not search.searchable:
        whole = judged(case, residual, causes.find_causes(asked.compared))
        return dict.fromkeys(['as it is', *variants], whole)
    search._converged = _Once(search._converged)
    chosen: list[Any] = []
    whole, at_work = fired(search, residual, case, chosen)
    outcomes = {'as it is': whole}
    for label, changes in variants.items():
        of_best = any(name in ('_searches', '_minor') for _, name, _ in changes)
        with changed(changes):
            differs = label in at_work or (
                of_best and any(search._best(allowed) is not one for allowed, one in chosen)
            )
            outcomes[label] = judged(case, residual, search.findings()) if differs else whole
    return outcomes


def halved_outcomes(case: Case, variants: dict[str, Changes]) -> dict[str, list[Any]]:
    """Return the outcomes with each number halved."""
    asked, outcomes = _Asked(), {}
    with changed([(evaluation, 'find_causes', asked)]):
        evaluation.evaluate(case.arm, case.recording)
    for label, changes in {'as it is': [], **variants}.items():
        with changed(changes):
            found = causes.find_causes(asked.compared)
            outcomes[label] = judged(case, asked.compared.columns.residual, found)
    return outcomes


def mcnemar(lost: int, gained: int) -> float:
    """Return the two-sided probability of as many discordant pairs if both were equal."""
    n = lost + gained
    tail = sum(math.comb(n, k) for k in range(min(lost, gained) + 1)) / 2**n
    return min(1.0, 2 * tail)


RATES: dict[str, Callable[[Sequence[Any]], bool]] = {
    'named': lambda one: one[0],
    'false cause': lambda one: one[1] > 0,
    'cannot tell': lambda one: one[3],
    'truth missed': lambda one: not all(one[2]),
    'joint worse': lambda one: one[4],
}


def show(lines: Sequence[str], kinds: Sequence[str]) -> None:
    """Print the table of recordings of these kinds."""
    table: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for line in lines:
        row = json.loads(line)
        if row['kind'] in kinds:
            whole = row['outcomes'].pop('as it is')
            for label, one in row['outcomes'].items():
                table[label].append((whole, one))
    print(f'| without | recordings | {" | ".join(RATES)} | changed |')
    for label, pairs in table.items():
        columns = []
        for of in RATES.values():
            before, after = (sum(map(of, side)) for side in zip(*pairs, strict=True))
            lost = sum(of(one) and not of(other) for one, other in pairs)
            gained = sum(of(other) and not of(one) for one, other in pairs)
            p = f' (−{lost} +{gained}, p {mcnemar(lost, gained):.2g})' if lost + gained else ''
            columns.append(f'{before} → {after}{p}')
        different = sum(one != other for one, other in pairs)
        print(f'| {label} | {len(pairs)} | {" | ".join(columns)} | {different} |')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each stage changes."""
    parser = argparse.ArgumentParser(description='Ablation of the search of causes.')
    add = parser.add_argument
    add('--recordings', type=int, default=10)
    add('--special', type=float, default=0.0, help='share of recordings made for one stage')
    add('--identified', type=int, default=0, help='arms with identified models')
    add('--noise', type=int, nargs='+', default=[0, 2, 6, 18, 20], help='indices of NOISES')
    add('--first-seed', type=int, default=700_000)
    add('--halve', action='store_true')
    add('--output', type=Path, help='file of results, a line each, that this run appends')
    add('--show', type=Path, nargs='*', default=[], help='files of results of earlier runs')
    options = parser.parse_args(arguments)
    rng, lines = random.Random(options.first_seed), []
    usual = ['correct', *rates.ERRORS]

    def cases() -> Iterator[Case]:
        for seed in range(options.first_seed, options.first_seed + options.recordings):
            kinds = SPECIAL if rng.random() < options.special else usual
            yield drawn(kinds, options.noise, rng, seed)
        yield from of_identified(options.identified, options.first_seed)

    for case in cases():
        with changed(case.unneeded):
            outcomes = (halved_outcomes if options.halve else searched)(
                case, halved() if options.halve else stages()
            )
        lines.append(json.dumps({'kind': case.kind, 'label': case.label, 'outcomes': outcomes}))
        if options.output:
            with options.output.open('a') as file:
                file.write(lines[-1] + '\n')
    for file in options.show:
        lines += file.read_text().splitlines()
    for kinds in (usual, *([kind] for kind in (*SPECIAL, IDENTIFIED))):
        print(f'\n{", ".join(kinds)}')
        show(lines, kinds)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
