# SPDX-License-Identifier: Apache-2.0
"""Ablation of the search of causes: findings of `evaluate` with each of its stages left out.

    python -m benchmarks.evaluation_ablation --recordings 40 --only correct --noise 18 20

Each recording is drawn at random from those of `benchmarks.evaluation`, with seeds of its own, and
is searched once as it is and once without each stage. Those of correct models show which stages
prevent false causes. With `--halve`, numbers of `evaluation.search_numbers` are
halved instead, one at a time.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks import evaluation as rates
from robot_dynamics.evaluation import (
    causes,
    evaluation,
    hypotheses,
    last_fit,
    search_numbers,
    selection,
)

Changes = list[tuple[Any, str, Any]]  # objects, names of their attributes, values
SEARCH: Any = causes._Search
USERS = (causes, hypotheses, last_fit, selection)
# In the order of `_Search._searches`.
SEARCHES = (
    'search that begins with causes of joints',
    'search with small errors of gains',
    'search with small errors of drives',
    'search with small errors of drives and links',
    'search with one scale of all joints',
)
REPEATED = ('_converged', '_with_large', '_log_probability', '_minor')


def stages() -> dict[str, Changes]:
    """Return the changes that leave out each stage, or several."""
    searches = SEARCH._searches

    def without(*left_out: str) -> Changes:
        def some(self: Any, *arguments: Any) -> list[Any]:
            found = zip(SEARCHES, searches(self, *arguments), strict=True)
            return [one for name, one in found if name not in left_out]

        return [(SEARCH, '_searches', some)]

    no_large: Changes = [(SEARCH, '_with_large', lambda self, found, *_: found)]
    return {
        'sufficient causes': [(causes, 'sufficient', lambda rms, large, small: list(large))],
        'blocks held out': [(SEARCH, '_valid', lambda self, g, found: True)],
        'causes in place of small errors': no_large,
        'limit of small errors': [(SEARCH, '_minor', lambda self, found: True)],
        **{name: without(name) for name in SEARCHES},
        'all searches with small errors': without(*SEARCHES[1:4]),
        'causes in place of small errors, searches from joints and of drives': [
            *no_large,
            *without(SEARCHES[0], SEARCHES[2]),
        ],
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


class _Asked:
    """The search of causes, which keeps its arguments."""

    def __call__(self, *arguments: Any) -> tuple[hypotheses.Findings, Any]:
        self.arguments = arguments
        return causes.find_causes(*arguments)


def once(kept: dict[Any, Any]) -> Changes:
    """Return changes by which the searches of one recording share results, kept by arguments."""

    def of(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def found(search: Any, *arguments: Any) -> Any:
            key = (name, *map(_key, arguments))
            if key not in kept:
                kept[key] = method(search, *arguments)
            return kept[key]

        return found

    return [(SEARCH, name, of(name, getattr(SEARCH, name))) for name in REPEATED]


def _key(x: Any) -> Any:
    if isinstance(x, causes._Choice):
        return tuple(x.causes), tuple(x.small), x.inexact, _key(x.noise)
    if isinstance(x, causes.Noise):
        return x.sigma.tobytes(), x.coefficients.tobytes()
    return tuple(x) if isinstance(x, Sequence) else x


def outcomes(
    kinds: Sequence[str], noises: Sequence[int], seeds: range, halve: bool
) -> Iterator[tuple[str, dict[str, rates.Outcome]]]:
    """Yield a label of each recording, and its outcomes as it is ('') and with each change."""
    variants, rng = (halved if halve else stages)(), random.Random(seeds.start)
    for seed in seeds:
        kind, noise = rng.choice(kinds), rates.NOISES[rng.choice(noises)]
        kind = kind if rates.possible(kind, noise) else 'correct'
        name, of = rng.choice(list(rates.ROBOTS)), rng.choice(rates.MOTIONS)
        true = rates.error(name, kind, of, seed)
        recording = rates.recording(true, of, noise, seed)
        wanted, asked = rates.recorded(true, noise, seed), _Asked()
        # Results that depend on halved numbers are not shared.
        with changed([] if halve else once({})):
            with changed([(evaluation, 'find_causes', asked)]):
                found: hypotheses.Findings = evaluation.evaluate(rates.arm(name), recording)
            of_each = {'': rates.outcome(found, wanted, noise)}
            for label, changes in variants.items():
                with changed(changes):
                    found, _ = causes.find_causes(*asked.arguments)
                of_each[label] = rates.outcome(found, wanted, noise)
        yield f'{kind}, {name}, {of}, {noise}, {seed}', of_each


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each stage changes."""
    parser = argparse.ArgumentParser(description='Ablation of the search of causes.')
    add = parser.add_argument
    add('--recordings', type=int, default=10)
    add('--only', nargs='+', default=['correct', *rates.ERRORS], help='errors of the models')
    add('--noise', type=int, nargs='+', default=[0, 2, 6, 18, 20], help='indices of NOISES')
    add('--first-seed', type=int, default=700_000)
    add('--halve', action='store_true')
    add('--verbose', action='store_true', help='show recordings that a stage changes')
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.recordings)
    table: dict[str, list[tuple[rates.Outcome, rates.Outcome]]] = defaultdict(list)
    for recording, of_each in outcomes(options.only, options.noise, seeds, options.halve):
        whole = of_each.pop('')
        for label, one in of_each.items():
            table[label].append((whole, one))
            if options.verbose and one != whole:
                print(f'--- {recording}, without {label}: {one} instead of {whole}')
    print('| without | recordings | named | false cause | cannot tell | changed |')
    for label, of_label in table.items():
        columns = [
            ' → '.join(str(sum(map(count, side))) for side in zip(*of_label, strict=True))
            for count in (lambda x: x.named, lambda x: x.false > 0, lambda x: x.undetermined)
        ]
        different = sum(one != other for one, other in of_label)
        print(f'| {label} | {len(of_label)} | {" | ".join(columns)} | {different} |')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
