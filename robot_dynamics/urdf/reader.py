# SPDX-License-Identifier: Apache-2.0
"""Safe reading of untrusted URDF text into checked urdf_parser_py objects.

A robot description may come from a file, a topic or an unknown source. Its size and depth are
bounded, and document types are rejected, and with them entities that could expand or be fetched.
Only elements that matter to dynamics are kept: links with their inertials, joints with parent,
child, origin, axis, limit, dynamics and mimic. They are checked against the tables of `rules.py`,
the defaults of the URDF specification are filled in, and urdf_parser_py parses the result.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from urdf_parser_py.urdf import URDF
from urdf_parser_py.xml_reflection.core import ParseError

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf.deviations import (
    NOT_UTF8,
    UNKNOWN_ELEMENTS,
    UTF8,
    XACRO,
    Remarks,
    encoding_of,
    free_mimics,
    normalize,
    reject_binary,
    reject_other_format,
)
from robot_dynamics.urdf.rules import (
    EXTENSIONS,
    MAX_NAME,
    RATES,
    checked_element,
    number,
    reject_misspelt,
    shown,
)

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_LINKS = 2_000
MAX_ITEMS = 200_000  # elements and attributes
MAX_ATTRIBUTES = 100  # of one element
MAX_TAGS = 1_000  # kinds of elements
HOME = 'home'  # the state of joints that is the start posture
PIECE = 2**20  # characters parsed at a time; a bound stops the parser after the piece

_PARSER_ERRORS = (ParseError, ValueError, AssertionError, TypeError, KeyError, AttributeError)


def read_urdf(xml: str | bytes, remarks: Remarks | None = None) -> Any:
    """Return the `urdf_parser_py` robot of a URDF text.

    Links and joints are in document order. Axis, limit, dynamics and mimic of fixed joints are
    dropped. Missing `inertial`, `limit`, `dynamics` and `mimic` are None; other optional elements
    and attributes have the defaults of the specification. The limits of URDF 1.2 are attributes
    of `limit` that urdf_parser_py does not know, 0 where none is given; so is `armature` of
    `dynamics`. The attribute `home` has the positions of the <group_state> `home`, by joint.

    Args:
        xml: the text.
        remarks: takes what is read although it deviates from the specification.

    Raises:
        ModelError: the text is no URDF, or a value in it is wrong.
    """
    remarks = Remarks() if remarks is None else remarks
    root = xml_root(xml)
    if not isinstance(xml, str) and (encoding := encoding_of(xml)) != UTF8:
        remarks.add(NOT_UTF8, encoding)
    normalize(root, remarks)
    free_mimics(root, remarks)
    name = root.get('name') or 'robot'
    if len(name) > MAX_NAME:
        raise ModelError(
            f'the name of the robot has {len(name)} characters; at most {MAX_NAME} are read'
        )
    clean = ElementTree.Element('robot', name=name)
    for tag in dict.fromkeys(element.tag for element in root):
        reject_misspelt(tag, ('link', 'joint'), f'the robot contains <{tag}>')
        if not (tag in ('link', 'joint', *EXTENSIONS) or tag.startswith(XACRO)):
            remarks.add(UNKNOWN_ELEMENTS, f'<{tag}>')
    for position, element in enumerate(root, start=1):
        if element.tag in ('link', 'joint'):
            clean.append(checked_element(element, position, remarks))
    parsed = _parsed(clean)
    parsed.home = _home(root)
    return parsed


def _home(root: ElementTree.Element) -> dict[str, float]:
    """Return the positions by joint of the <group_state> `home`, as in an SRDF; none without."""
    values: dict[str, float] = {}
    for state in root.findall('group_state'):
        for joint in state.findall('joint') if state.get('name') == HOME else ():
            name, text = joint.get('name', ''), joint.get('value', '')
            try:
                values[name] = float(number(text))
            except ValueError as reason:
                where = f'group_state {shown(HOME)}: joint {shown(name)}'
                raise ModelError(f'{where} has value={shown(text)}, which {reason}') from None
    return values


def _parsed(clean: ElementTree.Element) -> Any:
    """Return the urdf_parser_py robot of checked elements."""
    rotors = [joint.find('dynamics') for joint in clean.iter('joint')]
    armatures = [0.0 if one is None else float(one.attrib.pop('armature')) for one in rotors]
    limits = [joint.find('limit') for joint in clean.iter('joint')]
    rates = [
        {key: float(limit.attrib.pop(key)) for key in RATES} if limit is not None else {}
        for limit in limits
    ]
    try:
        robot = URDF.from_xml_string(ElementTree.tostring(clean, encoding='unicode'))
    except _PARSER_ERRORS as error:
        raise ModelError(f'urdf_parser_py rejected the description: {error}') from error
    for joint, given, armature in zip(robot.joints, rates, armatures, strict=True):
        for key, value in given.items():
            setattr(joint.limit, key, value)
        if joint.dynamics is not None:
            joint.dynamics.armature = armature
    return robot


# -- safe XML -------------------------------------------------------------------------------


def xml_root(xml: str | bytes) -> ElementTree.Element:
    """Return the root element of an untrusted text.

    Namespaces have no meaning in a URDF: a name with a prefix is a name, as in urdfdom.

    Raises:
        ModelError: the text is not well-formed, too large, no URDF, or has a document type.
    """
    root = xml_element(xml)
    reject_other_format(root.tag)
    return root


def xml_element(xml: str | bytes) -> ElementTree.Element:
    """Return the root element of an untrusted text of any format. Raises ModelError."""
    return _parse_xml(_as_text(xml))


def _as_text(xml: str | bytes) -> str:
    """Return the decoded text, within bounds and without a document type."""
    if not isinstance(xml, (str, bytes, bytearray)):
        raise ModelError(f'the URDF text is a {type(xml).__name__}; expected str or bytes')
    if len(xml) > MAX_BYTES:
        raise ModelError(f'the URDF has more than {MAX_BYTES} bytes; expected at most that')
    encoding = UTF8
    if not isinstance(xml, str):
        reject_binary(bytes(xml[:400]))
        encoding = encoding_of(bytes(xml[:400]))
    try:
        text = xml if isinstance(xml, str) else bytes(xml).decode(encoding)
        text.encode()
    except UnicodeError as error:
        name = encoding.removesuffix('-sig').upper()
        raise ModelError(f'the URDF is not {name} text: {error}') from None
    if not text.strip():
        raise ModelError('the URDF is empty; expected a <robot> element')
    # Entities are declared in a document type; without one none can expand.
    if text.lstrip('\ufeff \t\r\n')[:14].lower() == '<!doctype html':
        reject_other_format('html')
    if '<!DOCTYPE' in text:
        raise ModelError('the URDF contains <!DOCTYPE>; expected a text without a document type')
    return text.lstrip('\ufeff \t\r\n')


def _parse_xml(text: str) -> ElementTree.Element:
    """Return the root element of a text of limited depth and size."""
    builder, parser = _BoundedBuilder(), expat.ParserCreate('utf-8')
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    try:
        for start in range(0, len(text), PIECE):
            parser.Parse(text[start : start + PIECE].encode())
        parser.Parse(b'', True)
    except expat.ExpatError as error:
        raise ModelError(f'the URDF is not well-formed XML: {error}') from None
    return builder.close()


class _BoundedBuilder(ElementTree.TreeBuilder):
    """Builder of a tree of limited depth and size."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._links = self._items = 0  # items: elements and attributes
        self._tags: set[str] = set()

    def start(self, tag: str, attributes: dict[str, str]) -> ElementTree.Element:
        """Begin an element. Raises ModelError above a bound."""
        self._depth += 1
        self._links += self._depth == 2 and tag == 'link'
        self._items += 1 + len(attributes)
        if self._depth > MAX_DEPTH:
            raise ModelError(f'the URDF is nested more than {MAX_DEPTH} elements deep')
        if self._links > MAX_LINKS:
            raise ModelError(f'the URDF has more than {MAX_LINKS} links')
        if self._items > MAX_ITEMS:
            raise ModelError(f'the URDF has more than {MAX_ITEMS} elements and attributes')
        if len(attributes) > MAX_ATTRIBUTES:
            raise ModelError(f'an element has more than {MAX_ATTRIBUTES} attributes')
        if tag not in self._tags:
            self._add_tag(tag)
        return super().start(tag, attributes)

    def end(self, tag: str) -> ElementTree.Element:
        """End an element."""
        self._depth -= 1
        return super().end(tag)

    def _add_tag(self, tag: str) -> None:
        self._tags.add(tag)
        if len(tag) > MAX_NAME:
            raise ModelError(
                f'the name of an element has {len(tag)} characters; at most {MAX_NAME} are read'
            )
        if len(self._tags) > MAX_TAGS:
            raise ModelError(f'the URDF has more than {MAX_TAGS} kinds of elements')
