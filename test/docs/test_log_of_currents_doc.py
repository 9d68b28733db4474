# SPDX-License-Identifier: Apache-2.0
"""docs/guides/log_of_currents.md: its commands have these options, its catalogue is read."""

import re
import shlex
from pathlib import Path

import pytest

from robot_dynamics.cli import commands
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.control.sizing import Drive, read_drives

PAGE = (Path(__file__).parents[2] / 'docs' / 'guides' / 'log_of_currents.md').read_text()


def test_the_commands_of_the_page_have_these_options(tmp_path, monkeypatch):
    pytest.importorskip('matplotlib')
    monkeypatch.chdir(tmp_path)
    Path('found.yaml').write_text(parameters_text({'rotor_inertia': [0.1]}))
    lines = re.findall(r'^robot-dynamics (.+)$', PAGE, re.MULTILINE)
    assert [line.split()[0] for line in lines[:5]] == re.findall(
        r'^\| `(\w+)` \|', PAGE, re.MULTILINE
    )
    for line in lines:
        commands.parser().parse_args(shlex.split(line))


def test_the_catalogue_of_the_page_is_read(tmp_path):
    file = tmp_path / 'catalogue.csv'
    file.write_text(re.search(r'```\n(name,peak.*?)```', PAGE, re.DOTALL)[1])
    assert read_drives(file) == [Drive('large', 2.4, 0.9, 630.0, 3e-5, 100.0)]
