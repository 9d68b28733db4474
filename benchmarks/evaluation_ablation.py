# SPDX-License-Identifier: Apache-2.0
"""Ablation of the search of causes: findings of `evaluate` with each of its stages left out.

    python -m benchmarks.evaluation_ablation --recordings 40 --noise 0 2 6 18 20

Each recording is drawn at random from those of `benchmarks.evaluation`, with seeds of its own, and
is searched once as it is and once without each stage. With `--halve`, numbers of
`identification.evaluation.search_numbers` are halved instead, one at a time.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks import evaluation as rates
from robot_dynamics.identification.evaluation import (
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


def stages() -> dict[str, Changes]:
    """Return the changes that leave out each stage."""
    kinds = SEARCH._kinds_of_small
    only = {'gains': [1, 2], 'drives': [0, 2], 'links': [0, 1]}
    return {
        'sufficient causes': [(causes, 'sufficient', lambda rms, large, small: list(large))],
        'blocks held out': [(SEARCH, '_valid', lambda self, g, found: True)],
        'causes for small errors': [(SEARCH, '_with_large', lambda self, found, *_: found)],
        'limit of small errors': [(SEARCH, '_minor', lambda self, found: True)],
        'all searches with small errors': [(SEARCH, '_kinds_of_small', lambda self: [])],
        **{
            f'search with small errors: {name}': [
                (SEARCH, '_kinds_of_small', lambda self, kept=kept: [kinds(self)[k] for k in kept])
            ]
            for name, kept in only.items()
        },
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each stage changes."""
    parser = argparse.ArgumentParser(description='Ablation of the search of causes.')
    add = parser.add_argument
    add('--recordings', type=int, default=10)
    add('--noise', type=int, nargs='+', default=[0, 2, 6, 18, 20], help='indices of NOISES')
    add('--first-seed', type=int, default=700_000)
    add('--halve', action='store_true')
    options = parser.parse_args(arguments)
    variants, rng = (halved if options.halve else stages)(), random.Random(options.first_seed)
    table: dict[str, list[tuple[rates.Outcome, rates.Outcome]]] = defaultdict(list)
    for seed in range(options.first_seed, options.first_seed + options.recordings):
        kind = rng.choice(['correct', *rates.ERRORS])
        noise = rates.NOISES[rng.choice(options.noise)]
        name, of = rng.choice(list(rates.ROBOTS)), rng.choice(rates.MOTIONS)
        true = rates.error(name, kind, of, seed)
        recording = rates.recording(true, of, noise, seed)
        wanted, asked = rates.recorded(true, noise, seed), _Asked()
        with changed([(evaluation, 'find_causes', asked)]):
            whole = rates.outcome(evaluation.evaluate(rates.arm(name), recording), wanted, noise)
        for label, changes in variants.items():
            with changed(changes):
                found, _ = causes.find_causes(*asked.arguments)
            table[label].append((whole, rates.outcome(found, wanted, noise)))
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
