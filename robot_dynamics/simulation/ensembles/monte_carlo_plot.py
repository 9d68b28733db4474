"""The picture of a Monte-Carlo study: every sample a point, medians as lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.visualization.figures import sheet

BINS = 20
COLOURS = ('tab:blue', 'tab:orange')


def plot(
    robot: str,
    payload: float,
    payload_error: Array,
    tracking_error: Mapping[str, Array],
    file: Path,
) -> None:
    """Draw tracking errors over payload errors; the name of the file says in which format.

    Args:
        robot: its name.
        payload: what the controller believes, kg.
        payload_error: (N,) kg.
        tracking_error: (N,) m, root mean square, by controller.
        file: where to draw.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(9, 5.5)
    axis = figure.add_subplot()
    for (name, error), colour in zip(tracking_error.items(), COLOURS, strict=True):
        axis.plot(payload_error, 1e3 * error, '.', markersize=3, alpha=0.25, color=colour)
        axis.plot(*_medians(payload_error, 1e3 * error), color=colour, linewidth=2.5, label=name)
    axis.axvline(0.0, color='black', linewidth=0.8, linestyle=':')
    axis.set_yscale('log')
    axis.set_xlabel(f'true payload - believed payload of {payload:g} kg [kg]')
    axis.set_ylabel('error of the tip, root mean square [mm]')
    axis.set_title(f'{robot}: what an error of the payload costs ({len(payload_error)} arms each)')
    axis.grid(which='both', alpha=0.25)
    axis.spines[['top', 'right']].set_visible(False)
    axis.margins(x=0.01)
    axis.legend(loc='best')
    figure.savefig(file)


def _medians(x: Array, y: Array) -> tuple[Array, Array]:
    """Return medians of y in bins of x, at the middles of the bins."""
    edges = np.quantile(x, np.linspace(0, 1, min(BINS, max(1, len(x) // 10)) + 1))
    bins = np.clip(np.searchsorted(edges, x, side='right') - 1, 0, len(edges) - 2)
    used = np.unique(bins)
    return (
        np.array([np.median(x[bins == k]) for k in used]),
        np.array([np.median(y[bins == k]) for k in used]),
    )
