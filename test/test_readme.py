"""The README: its code runs, its tables are those of the code, what it names exists."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / 'README.md').read_text()

TABLES = {
    'RobotParameters': 'parameters',
    'FeedforwardParameters': 'feedforward_node',
    'DynamicsParameters': 'dynamics_node',
    'SimulatorParameters': 'simulator_node',
    'ValidatorParameters': 'pybullet_validator_node',
}


def blocks(language: str) -> list[str]:
    return re.findall(rf'```{language}\n(.*?)```', README, re.DOTALL)


def test_python_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    for code in blocks('python'):
        names: dict = {}
        exec(compile(code, 'README.md', 'exec'), names)
        # What the comments promise.
        assert names['tau'].shape == (7,)
        residual = names['M'] @ names['qdd'] + names['C'] @ names['qd'] + names['g']
        np.testing.assert_allclose(residual, names['tau'], atol=1e-9)
        assert names['J'].shape == (6, 7)
        assert names['many'].shape == (1000, 7)


def parameter_table(name: str) -> str:
    """Return the README's table of a node's own parameters, from the code."""
    module = importlib.import_module(f'robot_dynamics.nodes.{TABLES[name]}')
    parameters = importlib.import_module('robot_dynamics.nodes.parameters')
    inherited = (
        set() if name == 'RobotParameters' else parameters.specs(parameters.RobotParameters)
    )
    rows = ['| parameter | default | meaning |', '|---|---|---|']
    for key, spec in parameters.specs(getattr(module, name)).items():
        if key not in inherited:
            default = repr(spec.default)
            if isinstance(spec.default, bool):
                default = default.lower()
            live = ' May change while running.' if spec.live else ''
            rows.append(f'| `{key}` | `{default}` | {spec.description}{live} |')
    return '\n'.join(rows)


@pytest.mark.parametrize('name', TABLES)
def test_parameter_tables_are_those_of_the_code(name):
    if name != 'RobotParameters':
        pytest.importorskip('rclpy', reason='the nodes need ROS 2')
    written = re.search(rf'<!-- parameters {name} -->\n(.*?)\n?<!-- end -->', README, re.DOTALL)
    assert written
    assert written.group(1) == parameter_table(name)


def test_links_lead_somewhere():
    for target in re.findall(r'\]\(([^)#:]+)\)', README):
        assert (ROOT / target).exists(), target


def test_yaml_parses():
    import yaml

    for text in blocks('yaml'):
        assert yaml.safe_load(text)
