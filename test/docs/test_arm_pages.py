# SPDX-License-Identifier: Apache-2.0
"""Pages of single arms: their commands have these options, nodes and parameters."""

import re
import shlex
from pathlib import Path

import pytest

from robot_dynamics import cli
from robot_dynamics.cli.commands import parser
from robot_dynamics.cli.options import with_xacro_arguments
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.yaml_text import parameters_text
from robot_dynamics.ros.feedforward_parameters import FeedforwardParameters
from robot_dynamics.ros.observer_parameters import ObserverParameters
from robot_dynamics.ros.parameters import specs

ROOT = Path(__file__).parents[2]
ARMS = ('ur5e', 'franka', 'openarm')
NODES = {'feedforward_node': FeedforwardParameters, 'momentum_observer_node': ObserverParameters}


def lines(arm, program):
    """Return the words after a program in each of its commands on a page."""
    text = (ROOT / 'docs' / 'guides' / f'{arm}.md').read_text().replace('\\\n', ' ')
    code = '\n'.join(re.findall(r'^```\n(.*?)^```', text, re.MULTILINE | re.DOTALL))
    return [shlex.split(line) for line in re.findall(rf'^{program} (.+)$', code, re.MULTILINE)]


@pytest.mark.parametrize('arm', ARMS)
def test_the_page_begins_with_a_command(arm):
    title, _, first = (ROOT / 'docs' / 'guides' / f'{arm}.md').read_text().split('\n', 2)
    assert title.startswith('# ')
    assert first.startswith('```\ngit clone ')


@pytest.mark.parametrize('arm', ARMS)
def test_the_verbs_have_these_options(arm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('found.yaml').write_text(parameters_text({'rotor_inertia': [0.1]}))
    verbs = lines(arm, 'robot-dynamics')
    assert {'check', 'terms', 'excite', 'identify', 'thresholds'} <= {words[0] for words in verbs}
    for words in verbs:
        given = words[: words.index('>')] if '>' in words else words
        with_xacro_arguments(given, parser().parse_args)


@pytest.mark.parametrize('arm', ARMS)
def test_the_nodes_have_these_parameters(arm):
    nodes = lines(arm, 'ros2 run robot_dynamics')
    assert {words[0] for words in nodes} == set(NODES)
    for words in nodes:
        given = {words[k + 1].partition(':=')[0] for k, word in enumerate(words) if word == '-p'}
        assert 'robot_description_file' in given
        assert given - set(specs(NODES[words[0]])) == set()


def test_the_first_commands_run_with_the_bundled_panda(tmp_path, monkeypatch, capsys):
    """The descriptions of the pages are in other repositories."""
    monkeypatch.chdir(tmp_path)
    check, terms = lines('franka', 'robot-dynamics')[:2]
    check[1:3] = [str(share_file('urdf/panda.urdf'))]
    for words in (check, terms):
        assert cli.main(words) == 0
    assert Path('fr3.urdf').is_file()
    assert 'gravity torque g, N m' in capsys.readouterr().out
