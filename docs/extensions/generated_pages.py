# SPDX-License-Identifier: Apache-2.0
"""Parts of pages that are generated from the code: the API and the command line.

A page has the line `<!-- api robot_dynamics.control -->` where the public names of a package are
to stand, or `<!-- command line -->` for the verbs of `robot-dynamics`.
"""

import argparse
import importlib
import inspect
import re
from collections.abc import Iterable
from types import ModuleType

import robot_dynamics
from robot_dynamics.core.compiled_robot import CompiledRobot

PLACE = re.compile(r'^<!-- (api|command line) ?([\w. ]*)-->$', re.MULTILINE)


def setup(app):
    """Register the replacement of the generated parts."""
    app.connect('source-read', fill)
    return {'parallel_read_safe': True}


def fill(_app, _page, source):
    """Replace the places of a page by what they name, and lead links to the notebooks taken in."""
    text = PLACE.sub(generated, source[0])
    source[0] = text.replace('(../../examples/notebooks/', '(../notebooks/')


def generated(place):
    """Return the Markdown for one place."""
    if place[1] == 'command line':
        return command_line()
    return '\n\n'.join(described(name) for name in place[2].split())


def described(name):
    """Return the entries of a module, or the entry of one of the package's own names."""
    outer, _, inner = name.rpartition('.')
    if outer == 'robot_dynamics' and inner in robot_dynamics.__all__:
        return '\n'.join(['```{eval-rst}', *entry(name, getattr(robot_dynamics, inner)), '```'])
    return entries(importlib.import_module(name))


# -- the API -----------------------------------------------------------------------------------


def public_names(module: ModuleType) -> list[str]:
    """Return the names of `__all__`, or of the functions and classes that the module defines."""
    if hasattr(module, '__all__'):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith('_')
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]


def entries(module):
    """Return a heading, the docstring of a module, and an entry for each of its public names."""
    heading, module_entry = f'## `{module.__name__}`', f'.. automodule:: {module.__name__}'
    text = [heading, '', '```{eval-rst}', module_entry, '']
    for name in public_names(module):
        thing = getattr(module, name)
        if not is_exported(name, thing):
            text += entry(f'{module.__name__}.{name}', thing)
    return '\n'.join([*text, '```'])


def is_exported(name, thing):
    """Return whether the package itself exports an object: its entry stands there."""
    return name in robot_dynamics.__all__ and getattr(robot_dynamics, name) is thing


def entry(name, thing):
    """Return the directive of one public name."""
    if inspect.isclass(thing):
        ours = [':inherited-members:'] if issubclass(thing, CompiledRobot) else []
        return [f'.. autoclass:: {name}', *(f'   {x}' for x in (':members:', *ours)), '']
    if inspect.isroutine(thing):
        return [f'.. autofunction:: {name}', '']
    values = thing if isinstance(thing, Iterable) else [thing]
    shown = ', '.join(f'``{value}``' for value in values)
    return [f'.. py:data:: {name}', '', f'   {shown}', '']


# -- the command line --------------------------------------------------------------------------


def command_line():
    """Return a section for each group of verbs, and one for each verb with its options."""
    from robot_dynamics.cli.commands import GROUPS, parser

    (verbs,) = (
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return '\n\n'.join(
        '\n\n'.join(
            [group_head(group), *(verb(name, verbs.choices[name]) for name in group.verbs)]
        )
        for group in GROUPS
    )


def group_head(group):
    """Return the heading of a group of verbs, its sentence and the command to begin with."""
    links = ', '.join(f'[{name}](#{name})' for name in group.verbs)
    return f'## {group.title}\n\n{group.sentence}\n\n```\n{group.first}\n```\n\nVerbs: {links}.'


def verb(name, parser):
    """Return the section of one verb."""
    text = [f'### {name}', '', inspect.cleandoc(parser.description or ''), '', '```']
    text += [parser.format_usage().removeprefix('usage: ').rstrip(), '```', '']
    text += ['| argument | meaning |', '|---|---|']
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            text.append(f'| {signature(action)} | {meaning(action)} |')
    return '\n'.join(text)


def signature(action):
    """Return an option with the names of its values, or a positional argument."""
    if not action.option_strings:
        return f'`{action.metavar or action.dest}`'
    values = argparse.HelpFormatter('')._format_args(action, action.dest.upper())
    names = ', '.join(action.option_strings)
    return f'`{names} {values}`' if action.nargs != 0 else f'`{names}`'


def meaning(action):
    """Return the help of an argument, with its default."""
    text = (action.help or '') % {**vars(action), 'prog': 'robot-dynamics'}
    if action.choices is not None and not action.help:
        text = ', '.join(map(str, action.choices))
    return re.sub(r'([|<>*])', r'\\\1', ' '.join(text.split()))
