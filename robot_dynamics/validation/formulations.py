# SPDX-License-Identifier: Apache-2.0
"""Comparison of all derivations on one robot: agreement and cost.

    comparison = compare(load_urdf('panda.urdf'))
    print(comparison.table())
    plot(comparison, 'comparison.png')

Every formulation computes the torques of the same random motions, and mass matrix, Coriolis matrix
and gravity torque of the same states where it has them; so does `Dynamics`, which shares no code
with them. The table has the largest difference of each pair, relative to the largest entry of the
compared values, or of the mass matrix if that is larger, since a torque may vanish. Formulations
share no dynamics, so agreement to rounding is evidence that all are correct; a wrong one shows as
a row and a column.

Times are per call of the inverse dynamics for one state, the shortest of several runs: `Dynamics`
is compiled, the formulations are written for reading.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.reporting.figures import plain, save, sheet
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import States, chosen_states
from robot_dynamics.formulations import FORMULATIONS
from robot_dynamics.validation.identities import Bound, scaled

TOLERANCE = 1e-9  # relative: a larger difference of two derivations is not rounding
TIMING_RUNS = 5
SHORTEST_RUN = 2e-3  # s: a run has as many calls as that takes
SMALLEST = 1e-17  # drawn for exact agreement, which has no logarithm


class Comparison(NamedTuple):
    """Comparison of k implementations of the dynamics of one robot."""

    robot: str
    states: int  # number of states
    names: tuple[str, ...]  # (k) of the formulations, 'compiled' last
    differences: Array  # (k, k) maximum relative difference of each pair, symmetric
    seconds: Array  # (k,) per call of inverse dynamics

    @property
    def largest(self) -> float:
        """The largest difference of all pairs."""
        return float(self.differences.max())

    @property
    def agrees(self) -> bool:
        """Whether all pairs agree to rounding."""
        return self.largest <= TOLERANCE

    def table(self) -> str:
        """Return the differences and the time per call as text."""
        marks = [f'[{k + 1}]' for k in range(len(self.names))]
        verdict = 'all within tolerance' if self.agrees else f'NOT ALL WITHIN {TOLERANCE:g}'
        rows = [['', *marks, 'time/call']]
        for k, name in enumerate(self.names):
            row = ['·' if j == k else f'{x:.1e}' for j, x in enumerate(self.differences[k])]
            rows.append([f'{marks[k]:>4} {name}', *row, _duration(self.seconds[k])])
        title = f'{self.robot}: maximum relative difference in {self.states} states, {verdict}'
        return '\n'.join([title, *aligned(rows, '<>')])


def compare(
    model: RobotModel, *, states: States | int = 10, rng: np.random.Generator | None = None
) -> Comparison:
    """Compare all formulations and the compiled methods on one robot.

    Args:
        model: the robot.
        states: the motions, or the number of random ones within the robot's limits.
        rng: source of the random ones; of a fixed seed if omitted.

    Raises:
        ShapeError: the motions are not (k, n), or there is none.
    """
    motions = chosen_states(model, states, np.random.default_rng(0) if rng is None else rng)
    implementations: dict[str, Any] = {
        formulation.__name__.rsplit('.', maxsplit=1)[-1]: Bound(formulation, model)
        for formulation in FORMULATIONS
    }
    implementations['compiled'] = Dynamics(model)

    results = [_results(each, motions) for each in implementations.values()]
    inertias = results[-1]['mass_matrix']
    differences = [[_largest(one, other, inertias) for other in results] for one in results]
    seconds = [_seconds_per_call(i.inverse_dynamics, motions) for i in implementations.values()]
    return Comparison(
        model.name,
        len(motions.q),
        tuple(implementations),
        np.array(differences),
        np.array(seconds),
    )


# Compared methods, and the number of their arguments of a motion (q, qd, qdd).
METHODS = {'inverse_dynamics': 3, 'mass_matrix': 1, 'coriolis_matrix': 2, 'gravity_torque': 1}


def _results(arm: Any, motions: States) -> dict[str, list[Array]]:
    """Return the results of an implementation in every state, by the name of its methods."""
    owner = arm.formulation if isinstance(arm, Bound) else arm
    return {
        name: [getattr(arm, name)(*motion[:inputs]) for motion in zip(*motions, strict=True)]
        for name, inputs in METHODS.items()
        if hasattr(owner, name)
    }


def _largest(
    one: dict[str, list[Array]], other: dict[str, list[Array]], inertias: list[Array]
) -> float:
    """Return the largest relative difference in the methods that both have."""
    found = [
        scaled(x - y, x, y, M)
        for name in METHODS
        if name in one and name in other
        for x, y, M in zip(one[name], other[name], inertias, strict=True)
    ]
    # NaN counts as the largest.
    return float(np.max(found))


def _seconds_per_call(inverse_dynamics: Callable[..., Array], motions: States) -> float:
    state = [vectors[0] for vectors in motions]
    timer = timeit.Timer(lambda: inverse_dynamics(*state))
    timer.timeit(number=1)  # compiles, fills caches
    calls = 1 + int(SHORTEST_RUN / timer.timeit(number=1))
    return min(timer.repeat(TIMING_RUNS, calls)) / calls


def _duration(seconds: float) -> str:
    for unit, size in (('s', 1.0), ('ms', 1e-3)):
        if seconds >= size:
            return f'{seconds / size:.3g} {unit}'
    return f'{seconds / 1e-6:.3g} µs'


def plot(comparison: Comparison, path: str | Path | None = None) -> Any:
    """Draw the differences as a map and the times as bars; save the figure if a path is given.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    names, k = comparison.names, len(comparison.names)
    figure = sheet(11, 5)
    agreement, cost = figure.subplots(1, 2, width_ratios=(3, 2))

    size = np.log10(np.maximum(comparison.differences, SMALLEST))
    image = agreement.imshow(size, cmap='viridis', vmin=np.log10(SMALLEST), vmax=0)
    agreement.set_xticks(range(k), [str(j + 1) for j in range(k)])
    agreement.set_yticks(range(k), [f'{name}  {j + 1}' for j, name in enumerate(names)])
    agreement.set_title(f'{plain(comparison.robot)}: maximum relative difference')
    figure.colorbar(image, ax=agreement, label='power of ten')

    cost.barh(range(k), comparison.seconds)
    cost.set_xscale('log')
    cost.set_yticks(range(k), [str(j + 1) for j in range(k)])
    cost.invert_yaxis()
    cost.set_title('time per call of inverse dynamics [s]')
    return save(figure, path, bbox_inches='tight')
