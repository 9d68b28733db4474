# SPDX-License-Identifier: Apache-2.0
"""Pages about rviz, several robots and ros2_control: their names exist, their code compiles."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    'visualization',
    'several_robots',
    'ros2_control',
    'feedforward',
    'first_node',
    'first_robot',
)
OTHERS = {'joint_states', 'feedforward_node'}  # first cells that are no parameters


def text(page):
    # docs/reference/api has pages of the same names, made from the docstrings.
    (file,) = (ROOT / 'docs').glob(f'*/{page}.md')
    return file.read_text()


@pytest.mark.parametrize('page', PAGES)
def test_python_compiles(page):
    for code in re.findall(r'```python\n(.*?)```', text(page), re.DOTALL):
        compile(code, page, 'exec')


@pytest.mark.parametrize('page', PAGES)
def test_launch_files_exist_and_take_the_arguments(page):
    dynamics = (ROOT / 'launch' / 'dynamics.launch.py').read_text()
    for name, arguments in re.findall(r'ros2 launch robot_dynamics (\S+)(.*)', text(page)):
        (file,) = (*ROOT.glob(f'launch/{name}'), *ROOT.glob(f'config/*/{name}'))
        known = file.read_text() + dynamics
        for argument in re.findall(r'(\w+):=', arguments):
            assert f"'{argument}'" in known, f'{name}: {argument}'


def test_parameters_on_the_pages_exist():
    known = set(re.findall(r'^\| `([\w.]+)`', text('parameters'), re.M))
    for file in (ROOT / 'config').glob('*.yaml'):
        known |= set(re.findall(r'^ +(\w+):', file.read_text(), re.MULTILINE))
    rows = [row for page in PAGES for row in re.findall(r'^\| `(\w+)[:`]', text(page), re.M)]
    namespaces = set(re.findall(r"^    '(\w+)': \(", markers_source(), re.M))
    assert namespaces
    unknown = [row for row in rows if row not in known | namespaces | OTHERS]
    assert unknown == []


def markers_source():
    return (ROOT / 'robot_dynamics' / 'ros' / 'nodes' / 'markers_node.py').read_text()


def test_every_kind_of_marker_is_described():
    page = text('visualization')
    for kind in re.findall(r"^    '(\w+)': \(", markers_source(), re.M):
        assert f'| `{kind}` |' in page
