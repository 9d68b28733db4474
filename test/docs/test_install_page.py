# SPDX-License-Identifier: Apache-2.0
"""docs/start/install.md: its commands install the package in a bare environment."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from setup_extras import INTERNAL, extras

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs/start/install.md').read_text()
# How this machine reaches an index of packages; nothing else of its environment is passed on.
NETWORK = ('PIP_', 'HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy')


def section(title):
    return PAGE.partition(f'\n## {title}\n')[2].partition('\n## ')[0]


@pytest.mark.slow
@pytest.mark.processes
def test_the_commands_install_in_an_empty_folder_and_a_bare_environment(tmp_path):
    checkout = tmp_path / 'robot_dynamics'
    ignored = shutil.ignore_patterns('.*', 'build', '_build', 'install', 'log', '*.egg-info')
    shutil.copytree(ROOT, checkout, ignore=ignored)
    commands = re.search(r'^```\n(.*?)^```', section('Getting started'), re.M | re.S)[1]
    bare = {name: value for name, value in os.environ.items() if name.startswith(NETWORK)}
    python = Path(sys.base_prefix, 'bin')
    bare |= {'HOME': str(tmp_path), 'PATH': f'{python}:/usr/bin:/bin'}
    done = subprocess.run(
        ['bash', '-e', '-c', f'{commands}\ncommand -v robot-dynamics'],
        cwd=checkout,
        env=bare,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 'mass matrix M' in done.stdout
    assert done.stdout.endswith(f'{tmp_path}/venvs/robot_dynamics/bin/robot-dynamics\n')


def test_the_table_has_a_line_for_every_extra():
    lines = re.findall(r"`pip install '\.\[([\w-]+)\]'`", section('Extras').partition('|---')[2])
    assert sorted(lines) == sorted(set(extras()) - INTERNAL)


def test_each_page_of_commands_says_in_which_environment_they_run():
    pages = [
        page for folder in ('guides', 'start') for page in (ROOT / 'docs' / folder).glob('*.md')
    ]
    command = re.compile(
        r'^```(?:bash|sh)?\n(?:(?!```).*\n)*?(?:\$ )?(?:robot-dynamics|ros2) ', re.M
    )
    with_commands = [page for page in sorted(pages) if command.search(page.read_text())]
    assert len(with_commands) > 15
    silent = [page.name for page in with_commands if 'install.md#' not in page.read_text()]
    assert silent == ['install.md']
