"""The examples run as they are, and print what they claim."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / 'examples'


def output_of(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name='__main__')
    return capsys.readouterr().out


def test_every_example_is_run():
    others = ('nodes/test_nodes_without_launch.py', 'examples/test_record_simulated_arm.py')
    files = [Path(__file__), *(Path(__file__).parents[1] / name for name in others)]
    tests = ''.join(file.read_text() for file in files)
    for path in EXAMPLES.iterdir():
        if path.name != '__pycache__':
            assert f"'{path.name}'" in tests


def test_from_dh(capsys):
    shown = output_of('from_dh.py', capsys)
    # The quill slides down, the drive pushes up: 1.2 kg times 9.81 m/s^2.
    assert re.search(r'gravity torque +\[ +0\. +0\. +-11\.772\]', shown)


def test_control_laws(capsys):
    names = runpy.run_path(str(EXAMPLES / 'control_laws.py'))
    errors = names['main']()
    shown = capsys.readouterr().out
    for name, (exact, loaded) in errors.items():
        assert f'{name} ' in shown
        if name != 'gravity_only':
            assert exact < 1e-4 < loaded < 0.1
    # Gravity alone holds an arm that it knows, and follows nothing.
    assert errors['gravity_only'][0] == pytest.approx(0.8, abs=1e-6)


def test_batches_and_derivatives(capsys):
    shown = output_of('batches_and_derivatives.py', capsys)
    assert '(100, 50, 7)' in shown
    (error,) = re.findall(r'error of the linear model (\S+)', shown)
    assert float(error) < 1e-3
