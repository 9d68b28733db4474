# SPDX-License-Identifier: Apache-2.0
"""Size of the house: code lines, functions beyond the rules, private names that tests use."""

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
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LEVELS = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match),
    *(*FUNCTIONS, ast.ClassDef),
)
# Functions and methods, such as those of monkeypatch, that take the name of an attribute.
BY_NAME = {'getattr', 'setattr', 'delattr', 'hasattr'}


def code_line_numbers(source):
    """Return the lines that are neither blank nor of comments or docstrings alone."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - lines_of_docstrings(ast.parse(source))


def code_lines(source):
    """Return the number of lines that are neither blank nor of comments or docstrings alone."""
    return len(code_line_numbers(source))


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


def functions_of(source):
    """Return the functions and methods of a source, those inside others included."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTIONS)]


def lengths(source):
    """Yield each function with its code lines, from `def` to its end."""
    lines = code_line_numbers(source)
    for function in functions_of(source):
        yield function, len(lines.intersection(range(function.lineno, function.end_lineno + 1)))


def nestings(source):
    """Yield each function with the largest number of blocks around one of its statements.

    A block is that of if, for, while, with, try, match, def or class. An elif is a branch of its
    if: it adds no level.
    """
    for function in functions_of(source):
        yield function, max(map(nesting, function.body))


def nesting(node, parent=None):
    """Return the number of blocks within each other in a node, itself included."""
    deepest = max((nesting(child, node) for child in ast.iter_child_nodes(node)), default=0)
    # In the tree an elif is an if in the else of another; only its column is that of the other.
    is_elif = (
        isinstance(node, ast.If)
        and isinstance(parent, ast.If)
        and node.col_offset == parent.col_offset
    )
    return deepest + (isinstance(node, LEVELS) and not is_elif)


def parameters(source):
    """Yield each function with its parameters; *args and **kwargs are one each, self is none."""
    for function in functions_of(source):
        given = function.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        named = [parameter.arg for parameter in every if parameter]
        yield function, len(named) - (named[:1] in (['self'], ['cls']))


def is_private(name):
    """Return whether a name has one leading underscore and Python does not document it."""
    return name.startswith('_') and not name.startswith('__') and name not in DOCUMENTED


def is_own(node):
    """Return whether an expression is self or cls."""
    return isinstance(node, ast.Name) and node.id in ('self', 'cls')


def private_accesses(source):
    """Return the number of attributes with a leading underscore of anything but self and cls.

    Those of named tuples that Python documents are not private.
    """
    return sum(
        isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value)
        for node in ast.walk(ast.parse(source))
    )


def private_names(source):
    """Return the number of private names that are imported, or given to setattr and its like."""
    return sum(
        is_private(part)
        for node in ast.walk(ast.parse(source))
        for name in names_given(node)
        for part in name.split('.')
    )


def names_given(node):
    """Return the names that an import, or a call such as setattr(x, 'name', y), takes.

    A single string, as in monkeypatch.setattr('module.name', y), is a name with dots.
    """
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [getattr(node, 'module', None) or '', *(alias.name for alias in node.names)]
    called = getattr(node, 'func', None)
    function = getattr(called, 'attr', getattr(called, 'id', None))
    if function not in BY_NAME or not node.args or is_own(node.args[0]):
        return []
    return [
        argument.value
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def parts_of(folder, measure):
    """Return the measure of each file or folder directly in a folder, where it is not zero."""
    parts = Counter()
    for file in sorted(folder.rglob('*.py')):
        parts[file.relative_to(folder).parts[0]] += measure(file.read_text())
    return +parts


def exceeding(folder, measure, limit):
    """Return file:line, name and figure of the functions above a limit, the largest first."""
    found = [
        (figure, f'{file.relative_to(folder.parent)}:{function.lineno} {function.name}')
        for file in sorted(folder.rglob('*.py'))
        for function, figure in measure(file.read_text())
        if figure > limit
    ]
    return sorted(found, key=lambda entry: -entry[0])


# Measure of a function and its limit; CONTRIBUTING.md has the rule.
RULES = {
    'more than 40 code lines, docstring and comments excluded': (lengths, 40),
    'blocks nested more than 3 deep': (nestings, 3),
    'more than 8 parameters': (parameters, 8),
}


def main():
    for title, folder, measure in (
        (f'code lines in {PACKAGE}/', ROOT / PACKAGE, code_lines),
        ('private accesses in test/', ROOT / 'test', private_accesses),
        ('private names imported, or given to setattr, in test/', ROOT / 'test', private_names),
    ):
        parts = parts_of(folder, measure)
        print(f'{title}: {parts.total()}')
        for name, count in parts.most_common():
            print(f'{count:8d}  {name}')
    found = {rule: exceeding(ROOT / PACKAGE, *rule) for rule in RULES.values()}
    names = {name for entries in found.values() for _, name in entries}
    print(f'functions in {PACKAGE}/ beyond a rule: {len(names)}')
    for title, rule in RULES.items():
        print(f'{title}: {len(found[rule])}')
        for figure, name in found[rule]:
            print(f'{figure:8d}  {name}')


if __name__ == '__main__':
    main()
