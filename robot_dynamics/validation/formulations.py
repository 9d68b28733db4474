"""All derivations on one robot: whether they agree, and what each costs.

    comparison = compare(load_urdf('panda.urdf'))
    print(comparison.table())

Every formulation computes the torques of the same random motions, and the mass matrix, Coriolis
matrix and gravity torque of the same states where it yields them; so does `Dynamics`, which shares
no code with them. The table holds, for each pair, the worst difference found, relative to the
largest entry of what was compared, or of the mass matrix where that is larger, since a torque may
vanish. Formulations share no dynamics, so agreement to rounding is evidence that all are right,
and one that is wrong stands out as a row and a column.

Times are per call of the inverse dynamics for one state, the shortest of several runs: `Dynamics`
is compiled, the formulations are written to be read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.model.states import States, chosen_states
from robot_dynamics.spatial import Array
from robot_dynamics.validation.differences import scaled
from robot_dynamics.validation.identities import Bound

AGREED = 1e-9  # relative: beyond it, two derivations differ by more than rounding
TIMING_RUNS = 5
LEAST_RUN = 2e-3  # s: shorter runs are made of several calls


class Comparison(NamedTuple):
    """How k ways to compute the dynamics of one robot compare."""

    robot: str
    states: int  # how many were compared
    names: tuple[str, ...]  # (k) of the formulations, 'compiled' last
    differences: Array  # (k, k) worst relative difference of each pair, symmetric
    seconds: Array  # (k,) per call of inverse dynamics

    @property
    def worst(self) -> float:
        """The largest difference of all pairs."""
        return float(self.differences.max())

    @property
    def agrees(self) -> bool:
        """Whether all pairs agree to rounding."""
        return self.worst <= AGREED

    def table(self) -> str:
        """Return the differences, and the time per call, as lines of text."""
        marks = [f'[{k + 1}]' for k in range(len(self.names))]
        width = max(map(len, self.names))
        verdict = 'all agree' if self.agrees else f'NOT ALL AGREE to {AGREED:g}'
        lines = [
            f'{self.robot}: worst relative difference in {self.states} states, {verdict}',
            ' ' * (width + 5) + ''.join(f'{mark:>9}' for mark in marks) + '     time/call',
        ]
        for k, name in enumerate(self.names):
            row = ''.join(
                f'{"·":>9}' if j == k else f'{value:9.1e}'
                for j, value in enumerate(self.differences[k])
            )
            lines.append(f'{marks[k]:>4} {name:<{width}}{row}{_duration(self.seconds[k]):>14}')
        return '\n'.join(lines)


def compare(
    model: RobotModel, *, states: States | int = 10, rng: np.random.Generator | None = None
) -> Comparison:
    """Return how all formulations and the compiled functions compare on one robot.

    Args:
        model: the robot.
        states: the motions to compare in, or how many random ones within the robot's limits.
        rng: source of the random ones; the same ones each time if omitted.

    Raises:
        ShapeError: the motions are not (k, n), or there is none.
    """
    motions = chosen_states(model, states, np.random.default_rng(0) if rng is None else rng)
    ways: dict[str, Any] = {
        formulation.__name__.rsplit('.', maxsplit=1)[-1]: Bound(formulation, model)
        for formulation in FORMULATIONS
    }
    ways['compiled'] = Dynamics(model)

    answers = [_answers(way, motions) for way in ways.values()]
    inertias = answers[-1]['mass_matrix']
    differences = [[_worst(one, other, inertias) for other in answers] for one in answers]
    seconds = [_seconds_per_call(way.inverse_dynamics, motions) for way in ways.values()]
    return Comparison(
        model.name, len(motions.q), tuple(ways), np.array(differences), np.array(seconds)
    )


# What is compared, and of which part of a motion (q, qd, qdd) it is a function.
VERBS = {'inverse_dynamics': 3, 'mass_matrix': 1, 'coriolis_matrix': 2, 'gravity_torque': 1}


def _answers(way: Any, motions: States) -> dict[str, list[Array]]:
    """Return what one way gives in every state, verb by verb; what it does not yield is absent."""
    owner = way.formulation if isinstance(way, Bound) else way
    return {
        verb: [getattr(way, verb)(*motion[:inputs]) for motion in zip(*motions, strict=True)]
        for verb, inputs in VERBS.items()
        if hasattr(owner, verb)
    }


def _worst(
    one: dict[str, list[Array]], other: dict[str, list[Array]], inertias: list[Array]
) -> float:
    """Return the largest relative difference in all that both ways give."""
    found = [
        scaled(x - y, x, y, M)
        for verb in VERBS
        if verb in one and verb in other
        for x, y, M in zip(one[verb], other[verb], inertias, strict=True)
    ]
    # NaN counts as the largest.
    return float(np.max(found))


def _seconds_per_call(inverse_dynamics: Callable[..., Array], motions: States) -> float:
    state: Sequence[Array] = [vectors[0] for vectors in motions]
    inverse_dynamics(*state)
    calls, shortest = 1, np.inf
    for _ in range(TIMING_RUNS):
        elapsed = _run(inverse_dynamics, state, calls)
        while elapsed < LEAST_RUN:
            calls *= 2
            elapsed = _run(inverse_dynamics, state, calls)
        shortest = min(shortest, elapsed / calls)
    return float(shortest)


def _run(function: Callable[..., Array], arguments: Sequence[Array], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function(*arguments)
    return time.perf_counter() - start


def _duration(seconds: float) -> str:
    for unit, size in (('s', 1.0), ('ms', 1e-3)):
        if seconds >= size:
            return f'{seconds / size:.3g} {unit}'
    return f'{seconds / 1e-6:.3g} µs'
