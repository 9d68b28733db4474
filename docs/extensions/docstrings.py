# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the package, as reStructuredText.

The docstrings are plain text: names between backticks, formulas and examples indented, sections
as in Google's style. Napoleon turns the sections into fields; this extension does the rest.
"""

import inspect
import re

from robot_dynamics.common.made_once import made_once

SECTION = re.compile(
    r'^\s*(Args|Arguments|Attributes|Raises|Returns|Yields|Example|Examples|Note|Notes):\s*$'
)
FIELD = re.compile(r'^ {4}(\w+): .*?  # (.+)$')
# Outside code these characters would be markup.
TABLE = re.compile(r'^\s*={3,}( |$)')
SPECIAL = re.compile(r'(\*|\||@|(?<=\w)_(?!\w))')  # '/@' would be an address of e-mail
PAGE = re.compile(r'\bdocs/([\w/]+)\.md\b')
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
kept: dict[str, list[str]] = {}  # docstrings before Napoleon, by name


def setup(app):
    """Register the conversion, before Napoleon's at the default priority."""
    app.connect('autodoc-process-docstring', convert, priority=400)
    app.connect('autodoc-process-docstring', restore_property, priority=600)
    app.connect('autodoc-process-signature', name_aliases)
    app.connect('autodoc-skip-member', skip_fields)
    return {'parallel_read_safe': True}


def convert(_app, what, name, thing, _options, lines):
    """Replace the lines of a docstring; those of a data class or named tuple list its fields."""
    lines[:] = converted(lines)
    if what == 'class':
        show_properties(thing)
    if what == 'class' and (hasattr(thing, '__dataclass_fields__') or hasattr(thing, '_fields')):
        lines[:] = with_fields(lines, thing)
    kept[name] = list(lines)


def show_properties(kind):
    """Make the properties of a class that are made once such of autodoc, before its members."""
    for owner in kind.__mro__:
        for name, thing in list(vars(owner).items()):
            if isinstance(thing, made_once):
                setattr(owner, name, property(thing.method))


def restore_property(_app, what, name, _thing, _options, lines):
    """Undo Napoleon's reading of properties: it takes the words before a colon for a type."""
    if what in ('attribute', 'property'):
        lines[:] = kept[name]


def name_aliases(_app, _what, _name, _thing, _options, signature, result):
    """Write the alias of a type where autodoc writes the object that stands for it."""
    return tuple(text and ALIAS.sub(r'\1', text) for text in (signature, result))


def skip_fields(_app, _what, _name, thing, skip, _options):
    """Leave out the fields of a named tuple as members: the class lists them."""
    return True if (inspect.getdoc(thing) or '').startswith('Alias for field') else skip


def converted(lines):
    """Return the lines with literal blocks for what is indented, and escaped markup."""
    result = []
    margin = 0  # indentation of the present paragraph or section
    literal = None  # indentation of the present literal block
    in_table = False
    for line, before in zip(lines, ['', *lines], strict=False):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent < literal:
            literal = None
        if literal is not None or not line.strip():
            result.append(line)
            continue
        in_table = bool(TABLE.match(line)) or (in_table and bool(before.strip()))
        if not before.strip() and indent > margin and not in_table:
            literal = indent
            result += [' ' * margin + '::', '', line]
            continue
        result.append(escaped(line))
        margin = indent + 4 if SECTION.match(line) else min(margin, indent) if margin else indent
    return result


def escaped(line):
    """Return a line with its names between double backticks, pages as links, all else as text."""
    parts = line.split('`')
    if len(parts) % 2 == 0:  # an apostrophe of another kind
        return plain(line)
    return ''.join(f'``{part}``' if k % 2 else plain(part) for k, part in enumerate(parts))


def plain(text):
    """Return text without markup, in which docs/guides/simulation.md is a link to that page."""
    return PAGE.sub(r':doc:`/\1`', SPECIAL.sub(r'\\\1', text))


def with_fields(lines, thing):
    """Return the lines with the fields of a data class, where it has no list.

    A field is described by its setting (`robot_dynamics.common.settings`), or by its comment.
    """
    if any(line.strip() == 'Attributes:' for line in lines):
        return lines
    try:
        source = inspect.getsource(thing).splitlines()
    except (OSError, TypeError):
        return lines
    found = [
        (name, field.metadata['setting'].description)
        for name, field in getattr(thing, '__dataclass_fields__', {}).items()
        if 'setting' in field.metadata
    ] or [match.groups() for match in map(FIELD.match, source) if match]
    if not found:
        return lines
    return [
        *lines,
        '',
        'Attributes:',
        *(f'    {name}: {escaped(text)}' for name, text in found),
        '',
    ]
