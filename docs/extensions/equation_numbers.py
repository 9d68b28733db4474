# SPDX-License-Identifier: Apache-2.0
"""Equations that readers find: numbers as words of the search, and tags of equations.

Sphinx's search takes (6.63) for two words that are digits alone, and leaves both out.
"""

import re

from docutils import nodes
from sphinx.search import SearchEnglish, languages

HEADING = '\n## Equation by equation\n'  # of the tables of a source
WORD = re.compile(r'\(\d{1,3}\)|\d+\.\d+|\w+')
# A row of a table that begins with numbers: 6.1–6.5, or 27–28.
ROW = re.compile(r'^\| (?:(\d+)\.)?(\d+)(?:–(?:\d+\.)?(\d+))? \|', re.MULTILINE)
# A row, and a dotted name in it; modules whose names another one exports.
CELL = re.compile(r'^\|.*\|$', re.MULTILINE)
NAME = re.compile(r'`([a-z_]\w*(?:\.\w+)+)`')
EXPORTERS = {
    'dynamics.': '',
    'model.robot_model.': '',
    'model.dh.from_dh': 'from_dh',
    'model.screws.from_screws': 'from_screws',
    'textbook.closed_forms.': 'textbook.',
    'textbook.properties.': 'textbook.',
}


class SearchEquations(SearchEnglish):
    """Search in English, in which 6.63 and (46) are words."""

    js_splitter_code = r"""
var splitQuery = (query) => query.match(/\(\d{1,3}\)|\d+\.\d+|[\p{L}\p{N}_]+/gu) || [];
"""

    def split(self, input):
        """Return the words of a text."""
        return WORD.findall(input)


def setup(app):
    """Register the search, the numbers in tables and the tags of equations."""
    languages['en'] = SearchEquations
    app.connect('source-read', write_out)
    app.connect('doctree-read', keep_tags)
    return {'parallel_read_safe': True}


def write_out(_app, page, source):
    """Write ranges of equation numbers out, so that the search finds each; link the names."""
    head, heading, table = source[0].partition(HEADING)
    if page.startswith('textbook/') and heading:
        source[0] = head + heading + CELL.sub(linked, ROW.sub(numbers, table))


def numbers(row):
    """Return the first cell of a row with every number: (6.1) (6.2) (6.3)."""
    chapter, first, last = row.groups()
    prefix = f'{chapter}.' if chapter else ''
    every = range(int(first), int(last or first) + 1)
    return f'| {" ".join(f"({prefix}{number})" for number in every)} |'


def linked(cell):
    """Return the names of a cell as links to their entries in the reference."""
    return NAME.sub(link, cell[0])


def link(name):
    """Return a link to the entry of a name, which has that of the package that exports it."""
    entry = name[1]
    for module, exporter in EXPORTERS.items():
        if entry.startswith(module):
            entry = exporter + entry.removeprefix(module)
    return f'{{py:obj}}`{name[1]} <robot_dynamics.{entry}>`'


def keep_tags(_app, tree):
    """Leave equations with a number of their own as they are: MathJax wants no `split` there."""
    for node in tree.findall(nodes.math_block):
        text = node.astext()
        if r'\tag' in text:
            node['no-wrap'] = node['nowrap'] = True
            node.children = [nodes.Text(f'\\begin{{equation}}{text}\\end{{equation}}')]
