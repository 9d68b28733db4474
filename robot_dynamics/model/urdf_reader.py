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
from typing import Any
from xml.etree import ElementTree

from urdf_parser_py.urdf import URDF
from urdf_parser_py.xml_reflection.core import ParseError

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf_rules import checked_element, refuse_misspelt

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_LINKS = 2_000
MAX_ITEMS = 200_000  # elements and attributes

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
    clean = ElementTree.Element('robot', name=root.get('name') or 'robot')
    for position, element in enumerate(root, start=1):
        if element.tag in ('link', 'joint'):
            clean.append(checked_element(element, position))
        else:
            refuse_misspelt(element.tag, ('link', 'joint'), f'the robot holds <{element.tag}>')
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
    root, depth, links, items = None, 0, 0, 0
    try:
        for event, element in _events(text):
            if event == 'end':
                depth -= 1
                continue
            root = element if root is None else root
            depth += 1
            links += depth == 2 and element.tag == 'link'
            items += 1 + len(element.attrib)
            if depth > MAX_DEPTH:
                raise ModelError(f'the URDF is nested more than {MAX_DEPTH} elements deep')
            if links > MAX_LINKS:
                raise ModelError(f'the URDF has more than {MAX_LINKS} links')
            if items > MAX_ITEMS:
                raise ModelError(f'the URDF has more than {MAX_ITEMS} elements and attributes')
            namespace, _, tag = element.tag.rpartition('}')
            if 'xacro' in namespace:
                raise ModelError(
                    f'<xacro:{tag}> is a xacro instruction; expand the file first, '
                    'or load it by its .xacro path'
                )
    except ElementTree.ParseError as error:
        raise ModelError(f'the URDF is not well-formed XML: {error}') from None
    if root is None:
        raise ModelError('the URDF holds no element; it must hold a <robot> element')
    return root


def _events(text: str) -> Iterator[tuple[str, ElementTree.Element]]:
    """Yield ('start' | 'end', element) piece by piece, so that the reader can stop at once."""
    parser: Any = ElementTree.XMLPullParser(events=('start', 'end'))
    for start in range(0, len(text), 2**16):
        parser.feed(text[start : start + 2**16])
        yield from parser.read_events()
    parser.close()
    yield from parser.read_events()
