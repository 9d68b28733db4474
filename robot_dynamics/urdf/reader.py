"""Reading untrusted URDF text: from bytes to urdf_parser_py objects that are complete and clean.

A robot description may come from a file, a network topic or a stranger. Before anything else
looks at it, the text is bounded in size and depth, document types are refused (and with them
every entity that could expand or be fetched), and only what matters to dynamics is kept: links
with their inertials, joints with their parent, child, origin, axis, limit, dynamics and mimic.
What is kept is checked against the tables of `urdf_rules.py`, and each default of the URDF
specification is written out, so that the parser finds a description without surprises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from urdf_parser_py.urdf import URDF
from urdf_parser_py.xml_reflection.core import ParseError

from robot_dynamics.errors import ModelError
from robot_dynamics.urdf.rules import MAX_NAME, checked_element, refuse_misspelt

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_LINKS = 2_000
MAX_ITEMS = 200_000  # elements and attributes
MAX_ATTRIBUTES = 100  # of one element
MAX_TAGS = 1_000  # kinds of elements
PIECE = 2**15  # characters read at a time

_PARSER_ERRORS = (ParseError, ValueError, AssertionError, TypeError, KeyError, AttributeError)


def read_urdf(xml: str | bytes) -> Any:
    """Return the `urdf_parser_py` robot of a URDF text.

    Its links and joints are in document order. Fixed joints have lost their axis, limit, dynamics
    and mimic; everything else the specification makes optional is present, except for `inertial`,
    `limit`, `dynamics` and `mimic`, which are None where the text has none.

    Raises:
        ModelError: the text is no URDF, or a value in it is wrong.
    """
    root = _parse_xml(_as_text(xml))
    if root.tag != 'robot':
        raise ModelError(f'the root element is <{root.tag}>; a URDF starts with <robot>')
    name = root.get('name') or 'robot'
    if len(name) > MAX_NAME:
        raise ModelError(
            f'the name of the robot has {len(name)} characters; at most {MAX_NAME} are read'
        )
    clean = ElementTree.Element('robot', name=name)
    for tag in dict.fromkeys(element.tag for element in root):
        refuse_misspelt(tag, ('link', 'joint'), f'the robot holds <{tag}>')
    for position, element in enumerate(root, start=1):
        if element.tag in ('link', 'joint'):
            clean.append(checked_element(element, position))
    try:
        return URDF.from_xml_string(ElementTree.tostring(clean, encoding='unicode'))
    except _PARSER_ERRORS as error:
        raise ModelError(f'urdf_parser_py refused the description: {error}') from error


# -- safe XML -------------------------------------------------------------------------------


def _as_text(xml: str | bytes) -> str:
    """Return the decoded text, within bounds and without a document type."""
    if not isinstance(xml, (str, bytes, bytearray)):
        raise ModelError(f'a URDF text must be str or bytes, not {type(xml).__name__}')
    if len(xml) > MAX_BYTES:
        raise ModelError(f'the URDF has {len(xml)} bytes; at most {MAX_BYTES} are read')
    try:
        text = xml if isinstance(xml, str) else bytes(xml).decode('utf-8-sig')
        text.encode()
    except UnicodeError as error:
        raise ModelError(f'the URDF is not UTF-8 text: {error}') from None
    if not text.strip():
        raise ModelError('the URDF is empty; it must hold a <robot> element')
    # Entities can only be declared here; without a declaration none can expand.
    if '<!DOCTYPE' in text:
        raise ModelError('the URDF holds <!DOCTYPE>; no URDF needs one, remove it')
    return text.lstrip('\ufeff \t\r\n')


def _parse_xml(text: str) -> ElementTree.Element:
    """Return the root element of a text that is neither too deep nor too large."""
    root, depth, extent = None, 0, _Extent()
    try:
        for event, element in _events(text):
            if event == 'end':
                depth -= 1
                continue
            root = element if root is None else root
            depth += 1
            extent.grow(element, depth)
    except ElementTree.ParseError as error:
        raise ModelError(f'the URDF is not well-formed XML: {error}') from None
    if root is None:
        raise ModelError('the URDF holds no element; it must hold a <robot> element')
    return root


@dataclass
class _Extent:
    """How much of a text has been read."""

    links: int = 0
    items: int = 0  # elements and attributes
    tags: set[str] = field(default_factory=set)

    def grow(self, element: ElementTree.Element, depth: int) -> None:
        """Count one element more; raise ModelError where there are too many."""
        self.links += depth == 2 and element.tag == 'link'
        self.items += 1 + len(element.attrib)
        if depth > MAX_DEPTH:
            raise ModelError(f'the URDF is nested more than {MAX_DEPTH} elements deep')
        if self.links > MAX_LINKS:
            raise ModelError(f'the URDF has more than {MAX_LINKS} links')
        if self.items > MAX_ITEMS:
            raise ModelError(f'the URDF has more than {MAX_ITEMS} elements and attributes')
        if len(element.attrib) > MAX_ATTRIBUTES:
            raise ModelError(f'an element has more than {MAX_ATTRIBUTES} attributes')
        if element.tag not in self.tags:
            self._add_tag(element.tag)

    def _add_tag(self, tag: str) -> None:
        self.tags.add(tag)
        if len(tag) > MAX_NAME:
            raise ModelError(
                f'the name of an element has {len(tag)} characters; at most {MAX_NAME} are read'
            )
        if len(self.tags) > MAX_TAGS:
            raise ModelError(f'the URDF has more than {MAX_TAGS} kinds of elements')
        namespace, _, name = tag.rpartition('}')
        if 'xacro' in namespace:
            raise ModelError(
                f'<xacro:{name}> is a xacro instruction; expand the file first, '
                'or load it by its .xacro path'
            )


def _events(text: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """Yield ('start' | 'end', element) piece by piece, so that the reader can stop at once."""
    parser: Any = ElementTree.XMLPullParser(events=('start', 'end'))
    start, size = 0, PIECE
    while start < len(text):
        parser.feed(text[start : start + size])
        start += size
        # What has not ended in a piece, such as a comment of megabytes, is read from its beginning
        # with the next one: that must not happen often.
        size *= 2
        for event in parser.read_events():
            yield event
            size = PIECE
    parser.close()
    yield from parser.read_events()
