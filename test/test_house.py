# SPDX-License-Identifier: Apache-2.0
"""The figures of ./run house."""

import house

SOURCE = '''"""Docstring.

Of several lines.
"""

# comment
X = 1  # comment


def f(self, other):
    """Return one value, and another."""
    text = """lines
    of a text
    """
    return (
        self._own, other._private, other.of._private, other.__dict__
    ), text
'''


def test_blank_lines_comments_and_docstrings_are_no_code_lines():
    # X; def; three of the text; three of the return
    assert house.code_lines(SOURCE) == 8
    assert house.code_lines('') == 0


def test_private_names_of_others_are_counted():
    assert house.private_accesses(SOURCE) == 2


NAMED = """
from _pytest import outcomes
from os import _exit
from other import _one, two, _three as three
import other._four
setattr(x, '_five', 1)
monkeypatch.setattr('other.module._six', 1)
getattr(x, '_seven', '_not_a_name')
setattr(x, '__dunder__', 1)
setattr(self, '_own', 1)
delete(x, '_no_name')
"""


def test_private_names_that_are_imported_or_given_by_name_are_counted():
    # _pytest, and one to seven without two
    assert house.private_names(NAMED) == 7
    assert house.private_accesses(NAMED) == 0


FUNCTIONS = '''
@decorated
def outer(self, a, /, b, *c, d=1, **e):
    """Docstring."""

    # comment
    if a:
        pass
    elif b:
        pass
    elif c:
        for x in c:
            pass
    else:
        if d:
            with d:
                def inner(
                    y,
                ):
                    """Docstring."""
                    return [z for z in y if z]


async def flat():
    """Only a docstring."""
'''


def figures(measure):
    return {function.name: figure for function, figure in measure(FUNCTIONS)}


def test_functions_are_measured():
    # The lines of inner are lines of outer as well; not the decorator, comments and docstrings.
    assert figures(house.lengths) == {'outer': 15, 'inner': 4, 'flat': 1}
    # else (if), if, with, def; an elif adds no level, nor does a comprehension
    assert figures(house.nestings) == {'outer': 4, 'inner': 0, 'flat': 0}
    assert figures(house.parameters) == {'outer': 5, 'inner': 1, 'flat': 0}


def test_functions_above_a_limit_have_their_place_and_figure(tmp_path):
    (tmp_path / 'package').mkdir()
    (tmp_path / 'package' / 'one.py').write_text(FUNCTIONS)
    found = house.exceeding(tmp_path / 'package', house.lengths, 3)
    assert found == [(15, 'package/one.py:3 outer'), (4, 'package/one.py:17 inner')]
    assert house.exceeding(tmp_path / 'package', house.lengths, 15) == []


def test_a_folder_is_measured_by_its_parts(tmp_path):
    (tmp_path / 'package').mkdir()
    for name in ('one.py', 'package/two.py', 'package/three.py', 'package/__init__.py'):
        (tmp_path / name).write_text('' if '__' in name else SOURCE)
    assert house.parts_of(tmp_path, house.code_lines) == {'one.py': 8, 'package': 16}
