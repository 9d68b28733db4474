# SPDX-License-Identifier: Apache-2.0
"""Every shipped parameter file applies to its nodes, in a namespace as without one."""

import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

import rclpy

ROOT = Path(__file__).parents[2]


def entries():
    """Yield (text, name of a node, its parameters) of each file in config and block in docs."""
    for file in sorted(ROOT.glob('config/**/*.yaml')):
        for key, value in yaml.safe_load(file.read_text()).items():
            if isinstance(value, dict) and 'ros__parameters' in value:
                yield file.name, file.read_text(), key, file.stem, value['ros__parameters']
    for page in (ROOT / 'README.md', *sorted(ROOT.glob('docs/**/*.md'))):
        for text in re.findall(r'```yaml\n(.*?)```', page.read_text(), re.DOTALL):
            for key, value in yaml.safe_load(text).items():
                if isinstance(value, dict) and 'ros__parameters' in value:
                    yield page.name, text, key, 'any_node', value['ros__parameters']


def flat(tree, prefix=''):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{key}.')
        else:
            yield prefix + key, value


ENTRIES = list(entries())


def test_there_are_files_to_look_at():
    assert {'feedforward_node.yaml', 'controllers.yaml', 'ros2_control.md'} <= {
        name for name, *_ in ENTRIES
    }


@pytest.mark.parametrize('namespace', ['', 'left', 'cell/left'])
@pytest.mark.parametrize(
    ('text', 'key', 'node', 'parameters'),
    [entry[1:] for entry in ENTRIES],
    ids=[f'{name}:{key.strip("/*")}' for name, _, key, *_ in ENTRIES],
)
def test_the_parameters_arrive(graph, tmp_path, text, key, node, parameters, namespace):
    file = tmp_path / 'parameters.yaml'
    file.write_text(text)
    # A node without parameters of its own: what it has came from the file.
    one = rclpy.create_node(
        key.strip('/*') or node,
        namespace=namespace,
        context=graph.context,
        cli_args=['--ros-args', '--params-file', str(file)],
        automatically_declare_parameters_from_overrides=True,
    )
    arrived = {
        name: parameter.value for name, parameter in one.get_parameters_by_prefix('').items()
    }
    one.destroy_node()
    for name, value in flat(parameters):
        found = arrived[name]
        assert (list(found) if isinstance(value, list) else found) == value
