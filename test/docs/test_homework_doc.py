# SPDX-License-Identifier: Apache-2.0
"""docs/textbook/homework.md: its commands run in an empty folder, and print what it shows."""

import re
import shlex
from pathlib import Path

import pytest

from robot_dynamics import cli
from robot_dynamics.core.model import robots

PAGE = (Path(__file__).parents[2] / 'docs' / 'textbook' / 'homework.md').read_text()
BLOCKS = re.findall(r'^```(\w*)\n(.*?)^```', PAGE, re.M | re.S)


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip('sympy')
    monkeypatch.chdir(tmp_path)
    plain = [text for language, text in BLOCKS if not language]
    (tmp_path / 'arm.csv').write_text(plain[0])
    commands = [shlex.split(line) for text in plain[1:] for line in text.splitlines()]
    shown = []
    for program, verb, *words in commands:
        assert program == 'robot-dynamics'
        if verb == 'view':
            continue
        words = [word for word in words if word not in ('>', 'arm.py', '--animate', 'fall.gif')]
        assert cli.main([verb, *words]) == 0
        shown.append(capsys.readouterr().out)
    (expected,) = [text for language, text in BLOCKS if language == 'text']
    assert expected in ''.join(shown)
    assert 'def inverse_dynamics(q, qd, qdd):' in shown[2]
    assert 'energy drift' in shown[-1]


def test_the_extras_have_what_the_commands_import():
    extras = re.search(r"pip install '\.\[(.*?)\]'", PAGE)[1].split(',')
    setup = (Path(__file__).parents[2] / 'setup.py').read_text()
    needs = ''.join(re.search(rf"^        '{extra}': (.*)", setup, re.M)[1] for extra in extras)
    assert 'DERIVE' in needs  # SymPy, for `derive`
    assert 'matplotlib' in needs  # for --animate
    assert 'viser' in needs  # for `view`


def test_the_names_are_those_of_the_robots():
    for name in robots.TEXTBOOK_ROBOTS:
        assert f'`{name}`' in PAGE
