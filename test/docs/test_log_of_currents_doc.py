# SPDX-License-Identifier: Apache-2.0
"""docs/guides/log_of_currents.md: its commands have these options, its catalogue is read."""

import re
import shlex
from pathlib import Path

import pytest

from robot_dynamics.cli import commands
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.control.sizing import Drive, read_drives
from robot_dynamics.recordings.known_headers import advice

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


def test_the_motion_is_within_the_limits_with_the_known_load_and_its_centre_is_estimated():
    first, second = re.findall(r'^robot-dynamics (?:excite|identify) .+$', PAGE, re.MULTILINE)
    load = re.search(r'--payload (\w+ [\d.]+) --output', first)[1]
    assert f'--payload-bag loaded.csv --payload {load} --output' in second


def test_the_columns_of_the_page_are_those_of_the_error():
    heads = ['clock', 'angle a', 'angle b', 'speed a', 'speed b', 'amps a', 'amps b']
    assert advice(heads, [False] * 7, 2) in PAGE.replace('…', '')


def test_the_catalogue_of_the_page_is_read(tmp_path):
    file = tmp_path / 'catalogue.csv'
    file.write_text(re.search(r'```\n(name,peak.*?)```', PAGE, re.DOTALL)[1])
    assert read_drives(file) == [Drive('large', 2.4, 0.9, 630.0, 3e-5, 100.0)]
