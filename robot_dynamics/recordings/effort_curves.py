# SPDX-License-Identifier: Apache-2.0
"""Figure of efforts over time, a panel per joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.common.reporting.figures import joint_panels, plain
from robot_dynamics.common.spatial import Array

MAX_POINTS = 4000  # drawn per curve
STYLES: dict[str, dict[str, Any]] = {
    'measured effort': {'color': 'black', 'linewidth': 1.0},
    'model': {'color': 'tab:blue', 'linewidth': 1.0},
    'model with the causes': {'color': 'tab:orange', 'linewidth': 1.0, 'linestyle': '--'},
    'residual before': {'color': 'tab:orange', 'linewidth': 0.8},
    'residual': {'color': 'tab:red', 'linewidth': 0.8},
}


def effort_curves(
    t: Array, curves: Mapping[str, Array], names: Sequence[str], units: Sequence[str], title: str
) -> Any:
    """Return the matplotlib Figure of curves (k, n), by names of STYLES, over times t (k,) [s].

    Raises:
        MatplotlibMissing: it is not installed.
    """
    labels = [f'{name}\n[{unit}]' for name, unit in zip(names, units, strict=True)]
    figure, panels = joint_panels(labels, 11, 1.8)
    axes = panels[:, 0]
    drawn = slice(None, None, -(-len(t) // MAX_POINTS))
    for j, axis in enumerate(axes):
        for label, values in curves.items():
            axis.plot(*_with_gaps(t[drawn], values[drawn, j]), label=label, **STYLES[label])
        axis.axhline(0.0, color='grey', linewidth=0.5)
        axis.margins(x=0.01)
    axes[0].legend(loc='lower right', bbox_to_anchor=(1, 1), ncols=4, frameon=False)
    axes[0].set_title(plain(title), loc='left')
    return figure


def _with_gaps(t: Array, x: Array) -> tuple[Array, Array]:
    """Return the curve with NaN between stretches, where lines are interrupted."""
    steps = np.diff(t)
    cuts = 1 + np.flatnonzero((steps <= 0) | (steps > 1.5 * np.median(steps)))
    return np.insert(t, cuts, np.nan), np.insert(x, cuts, np.nan)
