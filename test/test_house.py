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


def test_a_folder_is_measured_by_its_parts(tmp_path):
    (tmp_path / 'package').mkdir()
    for name in ('one.py', 'package/two.py', 'package/three.py', 'package/__init__.py'):
        (tmp_path / name).write_text('' if '__' in name else SOURCE)
    assert house.parts_of(tmp_path, house.code_lines) == {'one.py': 8, 'package': 16}
