# SPDX-License-Identifier: Apache-2.0
"""Deviations from the URDF specification that leave a description one meaning.

They are read in that meaning and noted, one sentence per kind, so that loading warns of them and
`check` lists them. Deviations that leave a doubt are rejected where the rules of `rules` apply.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, lookup
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from robot_dynamics.common.errors import ModelError

MOST_NAMES = 40  # of one kind in a message
MIMICS_FREE = (
    'joints that mimic a joint that is not defined move freely, so n and the joint order differ '
    'from those of the whole robot'
)
PRODUCTS_MISSING = 'products of inertia are missing and read as 0'
PRODUCTS_TWICE = 'products of inertia are also given below the diagonal'
UNKNOWN_ATTRIBUTES = 'attributes are unknown in URDF and are not used'
XACRO = 'xacro:'  # instructions that were left over, which have a remark of their own
UNKNOWN_ELEMENTS = 'elements are unknown in URDF and are not used'
# Encodings that contain ASCII, in which the declaration is written, and UTF-16.
ENCODINGS = ('ascii', 'big5', 'cp', 'euc_', 'gb', 'iso8859', 'koi8', 'shift_jis', 'utf-16')
NOT_UTF8 = 'the text is not in UTF-8, which other programs expect'
UTF8 = 'utf-8-sig'
_DECLARATION = re.compile(rb'\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["\']([-\w.:]{1,40})["\']')
# Elements of a xacro program; those of other names are calls of its macros.
_PROGRAM = ('include', 'macro', 'if', 'unless', 'insert_block')
_OTHER_FORMATS = {
    'mujoco': ('an MJCF file', 'load it by its path, which no text of a description can replace: '
               'it names other files'),
    'html': ('a web page', 'download the file itself, for instance as "raw" on GitHub'),
    'mujocoinclude': ('a part of an MJCF file', 'load the file that includes it'),
    'sdf': ('an SDF file', 'load the URDF it was made from, or convert it, for instance with '
            'sdf2urdf of pysdf'),
    'usd': ('a USD file', 'load the URDF it was made from, or export it, for instance with the '
            'URDF exporter of Isaac Sim or nvidia-srl-usd-to-urdf'),
}  # fmt: skip
_USD = (b'PXR-USDC', b'#usda')
# What precedes the root element, and how it ends.
_ENDS = {b'<?': b'?>', b'<!--': b'-->', b'<!DOCTYPE': b'>'}
_BEFORE_ROOT = re.compile(rb'\s*(<\?|<!--|<!DOCTYPE)')
_ROOT = re.compile(rb'\s*<([\w.:-]+)')
_GZIP, _ZIP = b'\x1f\x8b', b'PK\x03\x04'
_ZIPPED_NAME = slice(30, 286)  # of the first file; a zipped USD begins with a layer


class EncodingError(ModelError):
    """A text is not in the encoding it declares, or that is not read."""


class Remarks(dict[str, list[str]]):
    """What was read although it deviates from the specification: names by sentence."""

    def add(self, sentence: str, name: str) -> None:
        """Add the name of an element at which a deviation was found."""
        names = self.setdefault(sentence, [])
        if name not in names:
            names.append(name)

    def sentences(self) -> Iterator[str]:
        """Yield one sentence per kind, with its names."""
        for sentence, names in self.items():
            more = f', ... ({len(names)} in all)' if len(names) > MOST_NAMES else ''
            yield f'{sentence}: {", ".join(names[:MOST_NAMES])}{more}'


def normalize(robot: Element, remarks: Remarks) -> None:
    """Hold floating joints at the root, in place, and note prefixes and namespaces.

    Raises:
        ModelError: the robot is a xacro program.
    """
    _note_namespaces(robot, remarks)
    for joint in list(_floating_at_root(robot)):
        name = f'{joint.get("name", "")!r} ({joint.get("type")})'
        remarks.add('floating and planar joints at the root are held fixed', name)
        joint.set('type', 'fixed')


def free_mimics(robot: Element, remarks: Remarks) -> None:
    """Free joints whose leader is not defined, in place."""
    names = {joint.get('name') for joint in robot.findall('joint')}
    for joint in robot.findall('joint'):
        mimic = joint.find('mimic')
        leader = None if mimic is None else mimic.get('joint')
        if mimic is not None and leader and leader not in names and joint.get('type') != 'fixed':
            remarks.add(MIMICS_FREE, f'{joint.get("name", "")!r} (mimics {leader!r})')
            joint.remove(mimic)


def _note_namespaces(robot: Element, remarks: Remarks) -> None:
    """Note names with prefixes, which have no meaning in a URDF."""
    if 'xmlns' in robot.attrib:
        remarks.add('a default namespace has no meaning in URDF', repr(robot.get('xmlns')))
    used = dict.fromkeys(e.tag for e in robot.iter() if ':' in e.tag)
    if not used:
        return
    spaces = {
        key[6:]: value
        for element in robot.iter()
        for key, value in element.attrib.items()
        if key.startswith('xmlns:')
    }
    prefixes = {tag: tag.partition(':')[0] for tag in used}
    xacro = [t for t, p in prefixes.items() if p == 'xacro' or 'xacro' in spaces.get(p, '')]
    if any(tag.partition(':')[2] in _PROGRAM for tag in xacro):
        raise ModelError(
            f'<{xacro[0]}> is a xacro instruction; expand the file first, or load it by its '
            '.xacro path'
        )
    for tag in used:
        if tag in xacro:
            remarks.add('left-over xacro instructions are not expanded', f'<{tag}>')
        elif prefixes[tag] not in spaces:
            remarks.add('prefixes of namespaces are not declared', f'<{tag}>')


def _floating_at_root(robot: Element) -> Iterator[Element]:
    """Yield floating and planar joints on links that are, or are fixed to, a root link."""
    joints = robot.findall('joint')
    inward = {_link(joint, 'child'): joint for joint in joints}
    for joint in joints:
        if joint.get('type') not in ('floating', 'planar'):
            continue
        above = inward.get(_link(joint, 'parent'))
        for _ in joints:  # no more steps than joints, also in a loop
            if above is None or above.get('type') != 'fixed':
                break
            above = inward.get(_link(above, 'parent'))
        if above is None:
            yield joint


def _link(joint: Element, end: str) -> str | None:
    element = joint.find(end)
    return None if element is None else element.get('link')


# -- files ----------------------------------------------------------------------------------


def encoding_of(xml: bytes) -> str:
    """Return the encoding of a text: that of its byte order mark or XML declaration, or UTF-8.

    Raises:
        EncodingError: it declares one that is not read.
    """
    if xml.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return 'utf-16'
    if xml[:4] in (b'<\0?\0', b'\0<\0?'):
        return 'utf-16-le' if xml[0] else 'utf-16-be'
    declared = None if xml.startswith(BOM_UTF8) else _DECLARATION.match(xml[:400])
    if declared is None:
        return UTF8
    try:
        name = lookup(declared[1].decode()).name
    except LookupError:
        name = ''
    if name == 'utf-8':
        return UTF8
    if not name.startswith(ENCODINGS) or name.startswith('utf-16'):
        raise EncodingError(
            f'the URDF declares the encoding {declared[1].decode()!r}, which is not that of its '
            'bytes or not known; expected UTF-8'
        )
    return name


def in_utf8(xml: bytes) -> bytes:
    """Return a description in UTF-8: itself, or one that declares another encoding re-encoded.

    Raises:
        EncodingError: it is not in the encoding it declares.
    """
    encoding = encoding_of(xml)
    if encoding == UTF8:
        return xml
    try:
        text = xml.decode(encoding)
    except UnicodeError as error:
        raise EncodingError(f'the URDF is not {encoding} text: {error}') from None
    declaration = r'(<\?xml[^>]*?\sencoding\s*=\s*["\'])[^"\']*'
    return re.sub(declaration, r'\g<1>utf-8', text.lstrip('\ufeff'), count=1).encode()


def root_tag(contents: bytes) -> str:
    """Return the name of the root element of a text in an encoding with ASCII, '' without one.

    Comments need not be well-formed: MuJoCo reads those with two hyphens.
    """
    at = len(BOM_UTF8) if contents.startswith(BOM_UTF8) else 0
    while match := _BEFORE_ROOT.match(contents, at):
        at = contents.find(_ENDS[match[1]], match.end())
        if at < 0:
            return ''
        at += len(_ENDS[match[1]])
    found = _ROOT.match(contents, at)
    return found[1].decode() if found else ''


def reject_other_format(root: str) -> None:
    """Raise ModelError if a root element is not <robot>; other robot formats are named."""
    if root == 'robot':
        return
    if root.lower() == 'html':
        root = 'html'
    if root not in _OTHER_FORMATS:
        raise ModelError(f'the root element is <{root}>; expected <robot>')
    what, cure = _OTHER_FORMATS[root]
    raise ModelError(f'this is {what}, with the root element <{root}>; expected a URDF: {cure}')


def reject_binary(contents: bytes) -> None:
    """Raise ModelError if a file is compressed, or USD of text, binary or zipped."""
    zipped = contents.startswith(_ZIP)
    if contents.startswith(_USD) or (zipped and b'.usd' in contents[_ZIPPED_NAME]):
        what, cure = _OTHER_FORMATS['usd']
        raise ModelError(f'this is {what}; expected a URDF: {cure}')
    if zipped or contents.startswith(_GZIP):
        kind = 'zip' if zipped else 'gzip'
        raise ModelError(f'this is a {kind} file; expected a URDF: unpack it')
