# SPDX-License-Identifier: Apache-2.0
"""docs/guides/identification.md: its commands and examples run, and every option is explained."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs' / 'guides' / 'identification.md').read_text()
# Those of a robot, `record` and `send`, run in test/ros/test_record_and_send.py.
BLOCK = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r'^(?:sed |robot-dynamics (?!record|send)|python ).*$', re.MULTILINE)


def table(shown):
    """Return the residuals in the output of `evaluate`."""
    rows = [line.split() for line in shown.splitlines() if line.startswith('panda_joint')]
    return np.array([float(row[5]) for row in rows])


@pytest.mark.slow
def test_the_chain_runs_and_ends_with_a_better_model(tmp_path):
    for module in ('rosbags', 'cvxpy', 'clarabel'):
        pytest.importorskip(module)
    for folder in ('urdf', 'examples'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    environment = {
        **os.environ,
        'PYTHONPATH': str(ROOT),
        'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
    }
    shown = {}
    for language, block in BLOCK.findall(PAGE):
        if language:
            continue
        for command in COMMAND.findall(block):
            done = subprocess.run(
                ['bash', '-c', command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, (command, done.stderr)
            shown[command] = done.stdout
    assert len(shown) == 12
    repaired = (tmp_path / 'repaired.urdf').read_text()
    assert repaired == (ROOT / 'urdf' / 'panda.urdf').read_text()
    before, after = (table(text) for command, text in shown.items() if 'evaluate other' in command)
    assert (after < before).all()
    assert np.exp(np.log(after / before).mean()) < 0.6
    payload = json.loads((tmp_path / 'payload.json').read_text())
    assert abs(payload['mass'] - 0.8) < 0.06  # errors of the identified model included
    assert abs(payload['mass'] - 0.8) < 3 * payload['mass_error']
    assert payload['mass_error'] < 0.03
    for name in ('excitation.png', 'residual.png', 'report.html', 'identified.yaml'):
        assert (tmp_path / name).stat().st_size > 500


def test_every_option_is_explained(capsys):
    for verb in ('excite', 'identify', 'payload'):
        with pytest.raises(SystemExit):
            cli.main([verb, '--help'])
        options = set(re.findall(r'--[a-z-]+', capsys.readouterr().out)) - {'--help'}
        assert {option for option in options if f'`{option}' not in PAGE} == set()


def test_pictures_are_there_and_small():
    for name in re.findall(r'\]\((\w+\.png)\)', PAGE):
        assert 10_000 < (ROOT / 'docs' / 'guides' / name).stat().st_size < 200_000


@pytest.mark.slow
def test_the_example_in_python_runs():
    (code,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
    names = {}
    exec(code, names)
    assert names['q'].shape == (100, 7)
    assert 1 < names['found'].condition < 50
