# SPDX-License-Identifier: Apache-2.0
"""Creation of matplotlib figures and animations; matplotlib is an optional dependency."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.common.files import write_file

RESOLUTION = 120  # dots per inch


class MatplotlibMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """matplotlib cannot be imported."""


def sheet(width: float, height: float) -> Any:
    """Return an empty matplotlib Figure of a size in inches, without a window.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return _figure_class()(figsize=(width, height), dpi=RESOLUTION, layout='constrained')


def plain(text: str) -> str:
    """Return a text that matplotlib draws as it is: `$` begins no formula, `_` hides no label."""
    escaped = text.replace('$', r'\$')
    # A space without width: the legend omits labels that begin with `_`.
    return f'\u200b{escaped}' if escaped.startswith('_') else escaped


def save(figure: Any, file: str | Path | None, **options: Any) -> Any:
    """Write a Figure in the format of the file's suffix, PNG without one, and return it.

    Args:
        figure: the matplotlib Figure.
        file: the picture; None: it is not written.
        options: of `Figure.savefig`.

    Raises:
        OSError: names the file.
    """
    if file is not None:
        path = Path(file)
        path = path if path.suffix else path.with_suffix('.png')
        write_file(path, encoded(figure, path.suffix[1:].lower(), **options))
    return figure


def encoded(figure: Any, kind: str, **options: Any) -> bytes:
    """Return the content of a picture file of a kind such as 'png', options as `save`."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, **options)
    return stream.getvalue()


def joint_panels(names: Sequence[str], width: float, height: float, columns: int = 1) -> Any:
    """Return a Figure and its axes (n, columns) over time, a row per joint.

    Args:
        names: of the n joints, with which the rows are labelled.
        width: of the figure, inches.
        height: of a row, inches.
        columns: number of quantities.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(width, 1 + height * len(names))
    axes = figure.subplots(len(names), columns, sharex=True, squeeze=False)
    for panel, name in zip(axes[:, 0], names, strict=True):
        panel.set_ylabel(plain(name), rotation=0, ha='right', va='center')
    for panel in axes[-1]:
        panel.set_xlabel('time [s]')
    return figure, axes


def draw_limits(panel: Any, *limits: float) -> None:
    """Draw the limits of a quantity as lines, those that are finite."""
    for limit in filter(math.isfinite, limits):
        panel.axhline(limit, color='tab:red', linestyle='--', linewidth=0.8)


def picture_formats() -> list[str]:
    """Return the suffixes of the file formats that matplotlib writes, such as 'png'.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return sorted(_figure_class()().canvas.get_supported_filetypes())


class AnimationFormatError(RobotDynamicsError, ValueError):
    """Animations cannot be written in this format."""


def animation_writer(file: Path, frames_per_second: int) -> Any:
    """Return the matplotlib writer of an animation: GIF by Pillow, MP4 by ffmpeg.

    Raises:
        MatplotlibMissing: it is not installed.
        AnimationFormatError: another suffix, or MP4 without ffmpeg.
    """
    _figure_class()
    # matplotlib itself needs Pillow.
    from matplotlib.animation import FFMpegWriter, PillowWriter

    suffix = file.suffix.lower()
    if suffix not in ('.gif', '.mp4'):
        raise AnimationFormatError(
            f'animation is {file}; expected a name that ends in .gif or .mp4'
        )
    if suffix == '.gif':
        return PillowWriter(fps=frames_per_second)
    if not FFMpegWriter.isAvailable():
        raise AnimationFormatError(
            f'animation is {file}: MP4 needs the program ffmpeg, which is not found; install '
            'ffmpeg, or give a name that ends in .gif'
        )
    return FFMpegWriter(fps=frames_per_second)


def _figure_class() -> Any:
    with needed('demo', 'figures need matplotlib', MatplotlibMissing):
        from matplotlib.figure import Figure
    return Figure
