"""Creation of matplotlib figures and animations; matplotlib is an optional dependency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.files import replacing

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


def save(figure: Any, file: str | Path, **options: Any) -> None:
    """Write a Figure in the format of the file's suffix, PNG without one.

    Args:
        figure: the matplotlib Figure.
        file: the picture.
        options: of `Figure.savefig`.

    Raises:
        OSError: names the file.
    """
    path = Path(file)
    path = path if path.suffix else path.with_suffix('.png')
    with replacing(path) as stream:
        figure.savefig(stream, format=path.suffix[1:].lower(), **options)


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
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MatplotlibMissing(
            f'figures need matplotlib, which cannot be imported ({error}): pip install matplotlib'
        ) from error
    return Figure
