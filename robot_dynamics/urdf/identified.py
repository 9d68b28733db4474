# SPDX-License-Identifier: Apache-2.0
"""Comment in an identified description: the file beside it, and what that file alone has.

A URDF has no rotors, friction laws or drives. `identify` writes them as parameters beside it, and
their file into the URDF as a comment before the root. A processing instruction, which XML has for
it, is an error to TinyXML-2 (tinyxml2.cpp: declarations come first), with which urdfdom reads.

    <!-- robot_dynamics parameters="arm.yaml" missing="rotor_inertia up to 2.2 kg m^2, ..." -->
    <!-- robot_dynamics identified: inertias and friction are from recordings, ... -->
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from urllib.parse import quote, unquote
from xml.parsers import expat

_COMMENT = re.compile(
    r'<!--\s?robot_dynamics parameters="([^"<>]{1,1000})" missing="([^"<>]{1,1000})"\s?-->\n?'
)


_VALUES = re.compile(r'<!-- robot_dynamics identified: [^<>]{1,1000} -->\n?')


def marked(urdf: bytes, file: str, missing: Sequence[str], values: str = '') -> bytes:
    """Return a well-formed URDF in UTF-8 with the comment, instead of an earlier one.

    Args:
        urdf: the description.
        file: name of the parameter file beside it.
        missing: what only that file has, each beginning with the name of a parameter; nothing:
            no comment.
        values: sentence on the identified values, in a comment of its own; '': none.
    """
    text = _VALUES.sub('', _COMMENT.sub('', urdf.decode()))
    name = quote(file).replace('-', '%2D')  # two hyphens end a comment
    comment = ''
    if missing:
        comment = f'<!-- robot_dynamics parameters="{name}" missing="{", ".join(missing)}" -->\n'
    if values:
        comment += f'<!-- robot_dynamics identified: {values} -->\n'
    head, contents = _before_root(text.encode())
    return head + comment.encode() + contents


def _before_root(urdf: bytes) -> tuple[bytes, bytes]:
    """Return what is before the root element, and the rest."""
    found: list[int] = []
    # Space before the XML declaration is tolerated by the reader, but not by expat.
    body = urdf.lstrip()
    parser = expat.ParserCreate('utf-8')
    parser.StartElementHandler = lambda *_: found.append(parser.CurrentByteIndex)
    parser.Parse(body, True)
    at = len(urdf) - len(body) + found[0]
    return urdf[:at], urdf[at:]


def lacking(urdf: str | bytes, unset: Collection[str] | None = None) -> str:
    """Return what a description lacks without the parameters beside it, '' for nothing.

    Args:
        urdf: the description.
        unset: names of parameters that have their default; None: all.
    """
    text = urdf if isinstance(urdf, str) else urdf.decode(errors='replace')
    found = _COMMENT.search(text)
    if found is None:
        return ''
    file, missing = unquote(found[1]), found[2].split(', ')
    parts = [part for part in missing if unset is None or part.split(' ')[0] in unset]
    if not parts:
        return ''
    return (
        f'identified with {", ".join(parts)}, which a URDF cannot hold: give the parameters of '
        f'{file!r} as well'
    )
