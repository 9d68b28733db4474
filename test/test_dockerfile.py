# SPDX-License-Identifier: Apache-2.0
"""Dockerfile: its lines refer to what exists, and install what docs/start/install.md installs."""

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / 'docs/start/install.md').read_text()


def instructions():
    """Return the instructions of the Dockerfile, each with its arguments on one line."""
    lines = [line for line in (ROOT / 'Dockerfile').read_text().splitlines() if line[:1] != '#']
    return re.findall(r'^([A-Z]+) (.*)$', '\n'.join(lines).replace('\\\n', ''), re.MULTILINE)


def commands(text, program):
    """Return the words of each command of a program, in a Dockerfile's RUN or in a page."""
    found = re.findall(rf'(?:^|&& )({program} [^&\n]*)', text, re.MULTILINE)
    return [shlex.split(one) for one in found]


def runs():
    return '\n'.join(text for kind, text in instructions() if kind == 'RUN')


def skipped(text):
    """Return the keys that the rosdep command of a text skips."""
    (words,) = commands(text, 'rosdep install')
    return set(words[words.index('--skip-keys') + 1].split())


def test_it_is_built_on_a_supported_distribution():
    (base,) = (text for kind, text in instructions() if kind == 'FROM')
    image, distribution = base.split(':')
    assert image == 'ros'
    assert f'/opt/ros/{distribution}/setup.sh' in runs()
    assert distribution in re.search(r'Supported distributions are (.*?):', PAGE)[1]


def test_it_installs_what_the_page_installs():
    keys = {
        e.text for e in ElementTree.parse(ROOT / 'package.xml').iter() if e.tag[-6:] == 'depend'
    }
    assert skipped(PAGE) <= skipped(runs()) <= keys
    of_page, own = (
        [word for words in commands(text, 'pip install') for word in words if word[0] != '-']
        for text in (PAGE.partition('## In a colcon workspace')[2], runs())
    )
    assert own == of_page == ['pip', 'install', 'llvmlite']
    assert commands(runs(), 'colcon') == [
        ['colcon', 'build', '--packages-select', 'robot_dynamics']
    ]


def test_what_the_installation_needs_is_copied():
    ignored = (ROOT / '.dockerignore').read_text().split()
    needed = {'robot_dynamics', 'launch', 'urdf', 'config', 'resource', 'package.xml', 'README.md'}
    needed |= {'setup.py', 'setup.cfg', 'LICENSE'}
    assert {name for name in needed if any(fnmatch(name, one) for one in ignored)} == set()
    assert ('COPY', '. src/robot_dynamics') in instructions()
    assert ('WORKDIR', '/ws') in instructions()


def test_it_starts_what_the_package_has():
    entry, command = (
        json.loads(text) for kind, text in instructions() if kind in ('ENTRYPOINT', 'CMD')
    )
    assert entry[2].startswith('source /ws/install/setup.bash && exec "$@"')
    assert command[:3] == ['ros2', 'launch', 'robot_dynamics']
    launch = (ROOT / 'launch' / command[3]).read_text()
    (argument,) = command[4:]
    assert (
        f"'{argument.partition(':=')[0]}'"
        in launch + (ROOT / 'launch/dynamics.launch.py').read_text()
    )
