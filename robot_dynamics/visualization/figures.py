"""Creation of matplotlib figures; matplotlib is an optional dependency."""

from __future__ import annotations

from typing import Any

from robot_dynamics.errors import RobotDynamicsError

RESOLUTION = 120  # dots per inch


class MatplotlibMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """matplotlib cannot be imported."""


def sheet(width: float, height: float) -> Any:
    """Return an empty matplotlib Figure of a size in inches, without a window.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return _figure_class()(figsize=(width, height), dpi=RESOLUTION, layout='constrained')


def picture_formats() -> list[str]:
    """Return the suffixes of the file formats that matplotlib writes, such as 'png'.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return sorted(_figure_class()().canvas.get_supported_filetypes())


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MatplotlibMissing(
            f'figures need matplotlib, which cannot be imported ({error}): pip install matplotlib'
        ) from error
    return Figure
