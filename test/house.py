# SPDX-License-Identifier: Apache-2.0
"""Size of the house: code lines of the package, and private names that its tests use."""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'robot_dynamics'
DOCUMENTED = {'_replace', '_fields', '_asdict', '_make', '_exit'}
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def code_lines(source):
    """Return the number of lines that are neither blank nor of comments or docstrings alone."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - lines_of_docstrings(ast.parse(source)))


def lines_of_docstrings(tree):
    """Return the lines of the docstrings of a module, its classes and functions."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            is_string = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if is_string and isinstance(first.value.value, str):
                lines.update(range(first.lineno, first.end_lineno + 1))
    return lines


def private_accesses(source):
    """Return the number of attributes with a leading underscore of anything but self and cls.

    Those of named tuples that Python documents are not private.
    """
    return sum(
        isinstance(node, ast.Attribute)
        and node.attr.startswith('_')
        and not node.attr.startswith('__')
        and node.attr not in DOCUMENTED
        and not (isinstance(node.value, ast.Name) and node.value.id in ('self', 'cls'))
        for node in ast.walk(ast.parse(source))
    )


def parts_of(folder, measure):
    """Return the measure of each file or folder directly in a folder, where it is not zero."""
    parts = Counter()
    for file in sorted(folder.rglob('*.py')):
        parts[file.relative_to(folder).parts[0]] += measure(file.read_text())
    return +parts


def main():
    for title, folder, measure in (
        (f'code lines in {PACKAGE}/', ROOT / PACKAGE, code_lines),
        ('private accesses in test/', ROOT / 'test', private_accesses),
    ):
        parts = parts_of(folder, measure)
        print(f'{title}: {parts.total()}')
        for name, count in parts.most_common():
            print(f'{count:8d}  {name}')


if __name__ == '__main__':
    main()
