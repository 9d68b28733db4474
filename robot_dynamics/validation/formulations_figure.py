"""The picture of a comparison: which derivations agree, and what each costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.validation.formulations import Comparison
from robot_dynamics.visualization.figures import sheet

SMALLEST = 1e-17  # shown for exact agreement, which has no logarithm


def plot(comparison: Comparison, path: str | Path | None = None) -> Any:
    """Draw the differences as a map and the times as bars; save them if a path is given.

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
    agreement.set_title(f'{comparison.robot}: worst relative difference')
    figure.colorbar(image, ax=agreement, label='power of ten')

    cost.barh(range(k), comparison.seconds)
    cost.set_xscale('log')
    cost.set_yticks(range(k), [str(j + 1) for j in range(k)])
    cost.invert_yaxis()
    cost.set_title('time per call of inverse dynamics [s]')
    if path is not None:
        figure.savefig(path, bbox_inches='tight')
    return figure
