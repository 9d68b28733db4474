# SPDX-License-Identifier: Apache-2.0
"""docs/textbook/textbook.md: its examples run, and every exported name is listed."""

import ast
import re
from pathlib import Path

import pytest

from robot_dynamics import cli, textbook

DOC = (Path(__file__).resolve().parents[2] / 'docs' / 'textbook' / 'textbook.md').read_text()


def test_the_examples_run_and_print_the_values_of_their_comments(capsys):
    names = {}
    for code in re.findall(r'```python\n(.*?)```', DOC, re.DOTALL):
        capsys.readouterr()
        exec(compile(code, 'textbook.md', 'exec'), names)
        printed = capsys.readouterr().out
        for expected in re.findall(r'# (Operations\(.*\))', code):
            assert expected in printed


def test_the_printed_report_is_that_of_the_example(capsys):
    names = {}
    for code in re.findall(r'```python\n(.*?)```', DOC, re.DOTALL):
        exec(compile(code, 'textbook.md', 'exec'), names)
        if 'report' in names:
            break
    (text,) = re.findall(r'```text\n(.*?)\n```', DOC, re.DOTALL)
    assert repr(names['report']) == text


def test_the_commands_print_what_the_page_shows(capsys):
    for command, output in re.findall(
        r'```console\n\$ robot-dynamics (.*?)\n(.*?)```', DOC, re.DOTALL
    ):
        assert cli.main(command.split()) == 0
        assert capsys.readouterr().out == output


def test_every_exported_name_is_listed():
    table = DOC.split('| name | contents |')[1].split('\n\n')[0]
    assert set(re.findall(r'`(\w+)`', table)) == set(textbook.__all__)


@pytest.mark.parametrize('code', re.findall(r'```python\n(.*?)```', DOC, re.DOTALL))
def test_examples_import_only_exported_names(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == 'robot_dynamics.textbook':
            assert {alias.name for alias in node.names} <= set(textbook.__all__)
