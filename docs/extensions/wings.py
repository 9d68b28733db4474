# SPDX-License-Identifier: Apache-2.0
"""Picture of the wings of the package, from the import contract of pyproject.toml.

`python docs/extensions/wings.py` prints it.
"""

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = re.compile(r'id = "wings".*?layers = \[(.*?)\]', re.DOTALL)
WIDTH = 96  # characters between the outer lines


def layers():
    """Return the names of the wings, a list for each layer, the highest first."""
    (listed,) = CONTRACT.findall((ROOT / 'pyproject.toml').read_text())
    return [row.split(' | ') for row in re.findall(r'"(.*)"', listed)]


def purpose(wing):
    """Return the first sentence of a wing's docstring."""
    source = (ROOT / 'robot_dynamics' / wing / '__init__.py').read_text()
    first = ast.get_docstring(ast.parse(source)).split('\n\n')[0]
    return re.split(r'[.:](?:\s|$)', ' '.join(first.split()))[0].replace('`', '')


def widths(number):
    """Return the widths of the boxes of a row."""
    inner = WIDTH - (number - 1)
    return [inner // number + (k < inner % number) for k in range(number)]


def box(wing, width):
    """Return the lines of a box: name and purpose."""
    lines = [wing, *textwrap.wrap(purpose(wing), width - 4)]
    return [f' {line}'.ljust(width) for line in lines]


def row(wings):
    """Return the lines of a row of boxes."""
    sizes = widths(len(wings))
    boxes = [box(*one) for one in zip(wings, sizes, strict=True)]
    high = max(map(len, boxes))
    filled = [
        lines + [' ' * size] * (high - len(lines))
        for lines, size in zip(boxes, sizes, strict=True)
    ]
    return ['│' + '│'.join(cells) + '│' for cells in zip(*filled, strict=True)]


def line(above, below):
    """Return the line between two rows."""
    characters = ['─'] * WIDTH
    for wings, with_other, alone in ((above, '┼', '┴'), (below, '┼', '┬')):
        at = -1
        for size in widths(len(wings))[:-1]:
            at += size + 1
            characters[at] = alone if characters[at] == '─' else with_other
    return '├' + ''.join(characters) + '┤'


def picture():
    """Return the picture: each wing imports only wings below it."""
    rows = layers()
    drawn = []
    for above, wings in zip([None, *rows], rows, strict=False):
        drawn += [line(above, wings)] if above else []
        drawn += row(wings)
    top, bottom = line([''], rows[0]), line(rows[-1], [''])
    return '\n'.join(['┌' + top[1:-1] + '┐', *drawn, '└' + bottom[1:-1] + '┘'])


if __name__ == '__main__':
    print(picture())
