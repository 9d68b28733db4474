# SPDX-License-Identifier: Apache-2.0
"""Pages, help and messages install from the checkout: no package index has the package."""

import ast
import functools
import re
from pathlib import Path

import pytest
from verbs import verbs

ROOT = Path(__file__).parents[2]
BUILT = {'_build', '.venv', '.venv-kilted'}
PAGES = [
    page
    for pattern in ('*.md', '*.rst', 'docs/**/*.md', 'examples/**/*.md')
    for page in sorted(ROOT.glob(pattern))
    if not BUILT & set(page.parts)
]
SOURCES = [
    *(ROOT / name for name in ('run', 'setup.py', 'package.xml')),
    *(
        source
        for folder in ('robot_dynamics', 'examples', 'launch', 'docs')
        for source in sorted((ROOT / folder).rglob('*.py'))
        if not BUILT & set(source.parts)
    ),
]
INSTALL = re.compile(r'\b(?:pip3?|pipx|uv) (?:install|add)\b((?:[^`;,#)]|,\w)*?)(?=[`;,#)]|\. |$)')
OWN_NAME = re.compile(r'(?i)\brobot[-_.]dynamics\b')
EXTRAS = re.compile(r"(?:^|[\s'\"`])\.\[([\w,-]+)\]")


def joined(text):
    return re.sub(r'\s+', ' ', text)


def text_of_page(page):
    """Return a page as it is read: prose joined, and blocks of code line by line."""
    parts = re.split(r'^```.*$', page.read_text(), flags=re.MULTILINE)
    parts[1::2] = [re.sub(r'(?<!\\)\n', ' ; ', code) for code in parts[1::2]]
    return joined(' ; '.join(parts))


def text_of_source(source):
    """Return the strings of a source, those of several lines joined; of other files each line."""
    if source.suffix != '.py':
        return joined(' ; '.join(source.read_text().splitlines()))
    strings = []
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [getattr(part, 'value', '...') for part in node.values]
            strings.append(''.join(part if isinstance(part, str) else '...' for part in parts))
    return joined(' ; '.join(strings))


@functools.cache
def texts():
    """Return what pages, sources and --help say, by its place."""
    files = {page: text_of_page(page) for page in PAGES}
    files |= {source: text_of_source(source) for source in SOURCES}
    helps = {f'{name} --help': joined(verb.format_help()) for name, verb in verbs().items()}
    return helps | {str(file.relative_to(ROOT)): text for file, text in files.items()}


def own_names(text):
    """Return the commands of a text that install the package by its name."""
    return [found for found in INSTALL.findall(text) if OWN_NAME.search(found)]


def test_nothing_installs_the_package_from_an_index():
    wrong = {where: found for where, text in texts().items() if (found := own_names(text))}
    assert not wrong


def test_the_commands_install_extras_that_the_package_has():
    setup = (ROOT / 'setup.py').read_text()
    call = next(
        one
        for one in ast.walk(ast.parse(setup))
        if isinstance(one, ast.keyword) and one.arg == 'extras_require'
    )
    known = {key.value for key in call.value.keys}
    named = {
        where: set(','.join(EXTRAS.findall(text)).split(',')) - {''}
        for where, text in texts().items()
    }
    assert set().union(*named.values()) <= known
    assert {'identify', 'bags'} <= named['identify --help']
    assert {'jax', 'torch'} <= named['docs/guides/arrays.md']


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('`pip install robot_dynamics[jax]`', True),
        ("trimesh is not installed: pip install 'robot-dynamics[check]'", True),
        ('Needs cvxpy: pip install\n    robot_dynamics[identify,bags].', True),
        ('pip install --upgrade rosbags robot_dynamics', True),
        ("pip install rosbags, or in a checkout pip install '.[bags]'", False),
        ('`pip install .` installs robot_dynamics', False),
    ],
)
def test_a_command_with_the_name_of_the_package_is_found(text, found):
    assert bool(own_names(joined(text))) == found
