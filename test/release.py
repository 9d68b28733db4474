# SPDX-License-Identifier: Apache-2.0
"""What a release still lacks: `python test/release.py X.Y.Z`, a step of RELEASE.md."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = {
    'setup.py': r"^VERSION = '(.*)'$",
    'package.xml': r'<version>(.*)</version>',
    'robot_dynamics/__init__.py': r"^__version__ = '(.*)'$",
    'CITATION.cff': r'^version: (.*)$',
    # The newest heading, or before the first release the text below Forthcoming.
    'CHANGELOG.rst': r'^(?:The first release, )?(\d+\.\d+\.\d+)(?=\.| \()',
}
PLACEHOLDERS = {
    # Of the maintainer and of the repository.
    'setup.py': 'example.com',
    'package.xml': 'example.com',
    'CITATION.cff': 'example.com',
    'SECURITY.md': '(to be filled in before the first release)',
}


def versions(root):
    """Return the version that each file names; None where it names none."""
    return {file: found(root / file, pattern) for file, pattern in VERSIONS.items()}


def found(file, pattern):
    """Return the first group of a pattern in a file, or None."""
    match = re.search(pattern, file.read_text(encoding='utf-8'), re.MULTILINE)
    return match and match[1]


def lacking(root, version):
    """Return what a checkout lacks for the release of a version, a line each."""
    lines = [
        f'{file}: the version is {other}; expected {version}'
        for file, other in versions(root).items()
        if other != version
    ]
    heading = rf'^{re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$'
    date = found(root / 'CHANGELOG.rst', heading)
    if date is None:
        lines.append(f'CHANGELOG.rst: there is no heading "{version} (YYYY-MM-DD)"')
    released = found(root / 'CITATION.cff', r'^date-released: (.*)$')
    if date is None or released != date:
        lines.append(
            f'CITATION.cff: date-released is {released}; expected the date of the heading'
        )
    lines += [
        f'{file}: the placeholder {text!r} is left'
        for file, text in PLACEHOLDERS.items()
        if text in (root / file).read_text(encoding='utf-8')
    ]
    return lines


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: python test/release.py X.Y.Z')
    if lines := lacking(ROOT, sys.argv[1]):
        sys.exit('\n'.join(lines))
