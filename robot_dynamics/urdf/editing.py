# SPDX-License-Identifier: Apache-2.0
"""Byte-preserving changes of the numbers of a URDF.

An XML library that writes a document back reformats it: comments move, quotes and line endings
change. Here the byte positions of elements and attributes are located, and the bytes of the
changed values alone are replaced. Attributes and elements that are missing are inserted, indented
as their siblings are.

    text = edited(text, [Change('link', 'forearm', 'inertial/mass/@value', 2.5)])
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.findings import Value
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.deviations import reject_other_format
from robot_dynamics.urdf.reader import xml_element
from robot_dynamics.urdf.rules import TENSOR

_TAG = re.compile(rb'<[^\s/>]+')
_ATTRIBUTE = re.compile(rb'\s*([^\s=/>]+)\s*=\s*("[^"]*"|\'[^\']*\')')
BLANK = b'\xef\xbb\xbf \t\r\n'
_INDENT = '  '


class Change(NamedTuple):
    """A number or vector to write into an attribute of a link or joint."""

    tag: str  # 'link' or 'joint'; 'body' of an MJCF file
    name: str
    attribute: str  # path below the link or joint, such as 'inertial/inertia/@ixx'
    value: Value


def edited(text: bytes, changes: Iterable[Change]) -> bytes:
    """Return a URDF with changed numbers; every other byte is as it was.

    Numbers that already have the value stay as written, also the components of a vector. New
    numbers are written with the digits that reproduce them exactly. Later changes of an attribute
    replace earlier ones.

    Args:
        text: the URDF, UTF-8.
        changes: the values to write, rad, m, kg, N m.

    Raises:
        ModelError: the text is not well-formed, a value is not finite, or a link, joint or element
            is missing or ambiguous.
    """
    # Space before the XML declaration is tolerated by the reader, but not by expat.
    body = text.lstrip(BLANK)
    head, text = text[: len(text) - len(body)], body
    robot = located(text)
    reject_other_format(robot.tag)
    pieces: list[Piece] = []
    for (tag, name), values in grouped(changes).items():
        found = [e for e in robot.children if e.tag == tag and e.values.get('name') == name]
        if len(found) != 1:
            raise ModelError(f'the URDF has {len(found)} {tag}s named {name!r}; expected one')
        pieces.extend(changed_element(text, found[0], values, f'{tag} {name!r}'))
    return head + applied(text, pieces)


def applied(text: bytes, pieces: Iterable[Piece]) -> bytes:
    """Return a text with pieces that do not overlap in place of what they replace."""
    for piece in sorted(pieces, key=lambda piece: piece.start, reverse=True):
        text = text[: piece.start] + piece.new + text[piece.end :]
    return text


def inertial_changes(link: str, body: Inertial) -> list[Change]:
    """Return the changes that give a link an inertia, expressed in the link's frame."""
    tensor = body.inertia_com[np.triu_indices(3)].tolist()
    return [
        Change('link', link, 'inertial/origin/@xyz', body.com.tolist()),
        Change('link', link, 'inertial/origin/@rpy', (0.0, 0.0, 0.0)),
        Change('link', link, 'inertial/mass/@value', body.mass),
        *(
            Change('link', link, f'inertial/inertia/@{entry}', value)
            for entry, value in zip(TENSOR, tensor, strict=True)
        ),
    ]


# -- positions in the text --------------------------------------------------------------------


@dataclass
class TextElement:
    """An element and the byte positions of its parts."""

    tag: str
    values: dict[str, str]  # attributes, decoded
    start: int  # of '<'
    name_end: int = 0  # behind '<tag'
    attributes: dict[str, tuple[int, int]] = field(default_factory=dict)  # within the quotes
    opened: int = 0  # behind the '>' of the start tag
    closed: int = 0  # of '</tag>', or `opened` if the element is '<tag/>'
    end: int = 0  # behind the element
    children: list[TextElement] = field(default_factory=list)


class Piece(NamedTuple):
    """New bytes between two positions of the old text."""

    start: int
    end: int
    new: bytes


def located(text: bytes) -> TextElement:
    """Return the root element with the positions of all elements in a text without leading space.

    Raises:
        ModelError: the text is not well-formed.
    """
    xml_element(text)  # bounds of size and depth, and no document type
    parser = expat.ParserCreate('utf-8')
    parser.buffer_text = True
    waiting = [TextElement('', {}, 0)]

    def begin(tag: str, values: dict[str, str]) -> None:
        element = TextElement(tag, values, parser.CurrentByteIndex)
        _locate_attributes(text, element)
        waiting[-1].children.append(element)
        waiting.append(element)

    def end(_: str) -> None:
        element = waiting.pop()
        if text[element.opened - 2 : element.opened] == b'/>':
            element.closed = element.end = element.opened
        else:
            element.closed = parser.CurrentByteIndex
            element.end = text.index(b'>', element.closed) + 1

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.Parse(text, True)
    return waiting[0].children[0]


def _locate_attributes(text: bytes, element: TextElement) -> None:
    """Set the positions within the start tag of an element."""
    at = _end_of(_TAG.match(text, element.start))
    element.name_end = at
    while match := _ATTRIBUTE.match(text, at):
        start, at = match.span(2)
        element.attributes[match[1].decode()] = start + 1, at - 1
    element.opened = text.index(b'>', at) + 1


def _end_of(match: re.Match[bytes] | None) -> int:
    assert match is not None, 'expat reports the positions of start tags'
    return match.end()


# -- changes of one link or joint -------------------------------------------------------------

Nested = dict[str, 'Value | Nested']


def grouped(changes: Iterable[Change]) -> dict[tuple[str, str], Nested]:
    """Return the changes by element, nested as the elements are."""
    groups: dict[tuple[str, str], Nested] = {}
    for change in changes:
        *tags, attribute = change.attribute.split('/')
        if not (attribute.startswith('@') and all(tags)) or not np.isfinite(change.value).all():
            raise ModelError(
                f'{change.tag} {change.name!r}: cannot write {change.value} to '
                f'{change.attribute!r}; expected finite numbers and a path such as axis/@xyz'
            )
        inner = groups.setdefault((change.tag, change.name), {})
        for tag in tags:
            inner = inner.setdefault(tag, {})  # type: ignore[assignment]
        inner[attribute] = change.value
    return groups


def changed_element(
    text: bytes, element: TextElement, values: Nested, where: str
) -> Iterator[Piece]:
    """Yield the changes of an element and its children."""
    missing: Nested = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found = [child for child in element.children if child.tag == key]
            if len(found) > 1:
                raise ModelError(f'{where} has <{key}> {len(found)} times; expected at most one')
            if found:
                yield from changed_element(text, found[0], value, f'{where}: <{key}>')
            else:
                missing[key] = value
        elif key == '@rpy' and 'quat_xyzw' in element.attributes:
            # Two orientations would be rejected.
            start, end = element.attributes['quat_xyzw']
            begin = text.rindex(b'quat_xyzw', 0, start)
            quote = text[start - 1 : start]
            yield Piece(begin, end, b'rpy=' + quote + written(value).encode())
        elif (name := key[1:]) in element.attributes:
            start, end = element.attributes[name]
            yield Piece(start, end, written(value, text[start:end].decode()).encode())
        else:
            after = max((e + 1 for _, e in element.attributes.values()), default=element.name_end)
            yield Piece(after, after, f' {name}="{written(value)}"'.encode())
    if missing:
        yield _insertion(text, element, missing)


def _insertion(text: bytes, element: TextElement, missing: Nested) -> Piece:
    """Return the piece that adds child elements behind the others."""
    if element.children:
        margin = _margin(text, element.children[0])
        at = element.children[-1].end
        return Piece(at, at, _elements(missing, margin).encode())
    outer = _margin(text, element)
    inner = _elements(missing, outer + _INDENT if outer else '')
    if element.end == element.opened:
        start = len(text[: element.opened - len(b'/>')].rstrip())
        return Piece(start, element.end, f'>{inner}{outer}</{element.tag}>'.encode())
    # The new elements follow whatever text there is, and precede the margin of the closing tag.
    body = text[element.opened : element.closed]
    margin_bytes = body[len(body.rstrip()) :]
    at = element.closed - len(margin_bytes)
    return Piece(at, at, (inner + ('' if b'\n' in margin_bytes else outer)).encode())


def _margin(text: bytes, element: TextElement) -> str:
    """Return the line break and indentation before an element, empty if it follows another."""
    before = text[: element.start]
    space = before[len(before.rstrip()) :]
    line = space.rfind(b'\n')
    if line < 0:
        return ''
    return space[line - 1 if space[line - 1 : line] == b'\r' else line :].decode()


def _elements(nested: Nested, margin: str) -> str:
    """Return the text of new elements."""
    parts = []
    for tag, values in nested.items():
        assert isinstance(values, dict)
        attributes = ''.join(
            f' {key[1:]}="{written(value)}"'
            for key, value in values.items()
            if not isinstance(value, dict)
        )
        inner: Nested = {k: value for k, value in values.items() if isinstance(value, dict)}
        content = _elements(inner, margin + _INDENT if margin else '')
        parts.append(
            f'{margin}<{tag}{attributes}>{content}{margin}</{tag}>'
            if inner
            else f'{margin}<{tag}{attributes}/>'
        )
    return ''.join(parts)


def written(value: ArrayLike, old: str = '') -> str:
    """Return the text of a number or vector; numbers that keep their value keep their digits."""
    numbers = (np.atleast_1d(np.asarray(value, dtype=float)) + 0.0).tolist()  # -0 becomes 0
    tokens: list[str] = re.findall(r'\S+', old)
    if len(tokens) != len(numbers):
        return ' '.join(map(repr, numbers))
    new = iter(
        token if _same(token, number) else repr(number)
        for token, number in zip(tokens, numbers, strict=True)
    )
    replace: Callable[[re.Match[str]], str] = lambda _: next(new)  # noqa: E731
    return re.sub(r'\S+', replace, old)


def _same(token: str, number: float) -> bool:
    try:
        return float(token) == number
    except ValueError:
        return False
