"""A sheet to draw on, where matplotlib is: it is not among the package's requirements."""

from __future__ import annotations

from typing import Any

from robot_dynamics.errors import RobotDynamicsError

RESOLUTION = 120  # dots per inch


class MatplotlibMissing(RobotDynamicsError, ImportError):  # noqa: N818  (says what it is)
    """matplotlib is not there."""


def sheet(width: float, height: float) -> Any:
    """Return an empty matplotlib Figure of a size in inches, which belongs to no window.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return _figure_class()(figsize=(width, height), dpi=RESOLUTION, layout='constrained')


def picture_formats() -> list[str]:
    """Return the suffixes of the files that matplotlib writes, as 'png'.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    return sorted(_figure_class()().canvas.get_supported_filetypes())


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MatplotlibMissing(
            f'a picture needs matplotlib, which cannot be imported ({error}): '
            'pip install matplotlib'
        ) from error
    return Figure
