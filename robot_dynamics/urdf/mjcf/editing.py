# SPDX-License-Identifier: Apache-2.0
"""Byte-preserving changes of the numbers of an MJCF file and of those that it includes.

Bodies and joints are found by name in `<worldbody>`, also in included files. An attribute of a
joint replaces that of its class. A file that is included and changes is written under another
name, so the original file stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.editing import (
    BLANK,
    Change,
    Nested,
    Piece,
    TextElement,
    applied,
    changed_element,
    grouped,
    located,
    written,
)
from robot_dynamics.urdf.mjcf.compiling import Compiled, compile_spec, compiled
from robot_dynamics.urdf.mjcf.loading import inertial
from robot_dynamics.urdf.robot_files import named

CONTAINERS = ('worldbody', 'body', 'frame', 'replicate')
ORIENTATIONS = ('quat', 'axisangle', 'xyaxes', 'zaxis', 'euler')
JOINT_VALUES = ('armature', 'damping', 'frictionloss')
# Written numbers have 9 digits; a tensor is diagonalized by MuJoCo.
ROUNDING = 1e-8  # relative difference between a compiled number and the one that was written


@dataclass
class _File:
    """A file: its text, and what is included where."""

    path: Path
    name: str  # as the file that includes it has it
    head: bytes
    text: bytes
    root: TextElement
    includes: list[tuple[TextElement, _File]] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)


class _Place(NamedTuple):
    """An element of a file."""

    file: _File
    element: TextElement


def body_changes(body: str, value: Inertial) -> list[Change]:
    """Return the changes that give a body an inertia, expressed in its frame."""
    I = value.inertia_com
    return [
        Change('body', body, 'inertial/@mass', value.mass),
        Change('body', body, 'inertial/@pos', value.com.tolist()),
        Change(
            'body',
            body,
            'inertial/@fullinertia',
            I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist(),
        ),
    ]


def edited_mjcf(path: Path, changes: Iterable[Change], output: Path) -> dict[Path, bytes]:
    """Return the contents of the files that make up a changed robot; they are not written.

    MuJoCo compiles both: what is changed has the new values, all other inertias and values of
    joints are as they were.

    Args:
        path: the MJCF file.
        changes: of bodies, as `body_changes`, and of `@armature`, `@damping` and `@frictionloss`
            of joints.
        output: the file to write, in the same folder.

    Returns:
        The contents by path: that of `output`, and of each included file that changes, beside the
        original.

    Raises:
        ModelError: a body or joint is not in the files exactly once, a text is not well-formed,
            the folder is another one, or MuJoCo does not use a number that is changed.
    """
    if output.absolute().parent != path.absolute().parent:
        raise ModelError(
            f'the output is {output}; expected a file beside {path}, because its includes and '
            'meshes are relative to that folder'
        )
    changes = list(changes)
    main = _read(path, path.name, path.parent)
    places = list(_places(main))
    for (tag, name), values in grouped(changes).items():
        found = [
            p for p in places if p.element.tag == tag and p.element.values.get('name') == name
        ]
        if len(found) != 1:
            raise ModelError(
                f'{path} and the files that it includes have {len(found)} {tag} elements named '
                f'{name!r}; expected one'
            )
        file, element = found[0]
        where = f'{tag} {name!r}'
        file.pieces += _without_other_forms(file, element, values)
        file.pieces += changed_element(file.text, element, values, where)
    contents, includes = _contents(main, output)
    text = contents[output]
    new = compile_spec(
        lambda mj: _spec(mj, text.decode('utf-8-sig'), includes, path.absolute().parent), path
    )
    _verify(compiled(path), new, changes)
    return contents


def _spec(mj: Any, text: str, includes: Mapping[str, bytes], folder: Path) -> Any:
    spec = mj.MjSpec.from_string(text, include=includes)
    spec.modelfiledir = str(folder)
    return spec


# -- files and elements -----------------------------------------------------------------------


def _read(path: Path, name: str, folder: Path, above: tuple[Path, ...] = ()) -> _File:
    """Return a file and those that it includes, relative to the main file or to it."""
    with named(path):
        try:
            contents = path.read_bytes()
        except OSError as error:
            raise ModelError(f'cannot read the file: {error.strerror}') from error
        text = contents.lstrip(BLANK)
        head = contents[: len(contents) - len(text)]
        file = _File(path, name, head, text, located(text))
        if path in above:
            raise ModelError('the file includes itself')
    for element in _elements(file.root):
        if element.tag == 'include' and (other := element.values.get('file')):
            places = folder / other, path.parent / other
            target = next((place for place in places if place.is_file()), places[0])
            file.includes.append((element, _read(target, other, folder, (*above, path))))
    return file


def _elements(element: TextElement) -> Iterator[TextElement]:
    yield element
    for child in element.children:
        yield from _elements(child)


def _places(file: _File, element: TextElement | None = None) -> Iterator[_Place]:
    """Yield the bodies and joints of a file and of those that it includes."""
    parent = file.root if element is None else element
    for child in parent.children:
        if child.tag in CONTAINERS:
            yield _Place(file, child)
            yield from _places(file, child)
        elif child.tag == 'include':
            yield from (p for at, other in file.includes if at is child for p in _places(other))
        elif child.tag == 'joint':
            yield _Place(file, child)


def _without_other_forms(file: _File, element: TextElement, values: Nested) -> list[Piece]:
    """Return the pieces that remove other forms of a tensor, where one is written."""
    found = [child for child in element.children if child.tag == 'inertial']
    new = values.get('inertial')
    if not isinstance(new, dict) or '@fullinertia' not in new or not found:
        return []
    if 'fullinertia' in found[0].attributes:
        return []
    pieces = []
    for name in ('diaginertia', *ORIENTATIONS):
        if name in found[0].attributes:
            start, end = found[0].attributes[name]
            begin = file.text.rindex(name.encode(), 0, start)
            begin = len(file.text[:begin].rstrip())
            pieces.append(Piece(begin, end + 1, b''))
    return pieces


def _contents(main: _File, output: Path) -> tuple[dict[Path, bytes], dict[str, bytes]]:
    """Return the new contents by path, and those of all included files by their names."""
    contents = {output: b''}
    includes: dict[str, bytes] = {}

    def new(file: _File, is_main: bool) -> tuple[str, bytes]:
        pieces = list(file.pieces)
        for element, other in file.includes:
            name, text = new(other, False)
            includes[name] = text
            if name != other.name:
                start, end = element.attributes['file']
                pieces.append(Piece(start, end, name.encode()))
        text = file.head + applied(file.text, pieces)
        name = file.name
        if pieces and not is_main:
            name = str(Path(name).with_name(f'{output.stem}_{Path(name).name}'))
            contents[file.path.with_name(Path(name).name)] = text
        return name, text

    contents[output] = new(main, True)[1]
    return contents, includes


# -- verification -----------------------------------------------------------------------------


def _verify(old: Compiled, new: Compiled, changes: Iterable[Change]) -> None:
    """Raise ModelError unless MuJoCo has the new values, and all others as they were."""
    if (old.bodies, old.joints) != (new.bodies, new.joints):
        raise ModelError('MuJoCo compiles another tree of bodies after the change')
    wanted = {(c.tag, c.name, c.attribute): np.atleast_1d(c.value) for c in changes}
    before = _values(old)
    for key, value in _values(new).items():
        expected = wanted.get(key, before[key])
        slack = ROUNDING * (np.abs(expected).max() or 1.0) if key in wanted else 0.0
        if np.abs(value - expected).max() > slack:
            tag, name, attribute = key
            raise ModelError(
                f'MuJoCo compiles {attribute} of {tag} {name!r} as {written(value)} after the '
                f'change; expected {written(expected)}. Options of <compiler> may change it'
            )


def _values(c: Compiled) -> dict[tuple[str, str, str], Array]:
    """Return the compiled values of bodies and joints, by their place in the file."""
    values: dict[tuple[str, str, str], Array] = {}
    for b, name in enumerate(c.bodies):
        for change in body_changes(name, inertial(c, b)):
            values[change.tag, change.name, change.attribute] = np.atleast_1d(change.value)
    for j, name in enumerate(c.joints):
        dof = int(c.model.jnt_dofadr[j])
        for key in JOINT_VALUES:
            values['joint', name, f'@{key}'] = np.atleast_1d(getattr(c.model, f'dof_{key}')[dof])
    return values
