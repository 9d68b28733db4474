# SPDX-License-Identifier: Apache-2.0
"""docs/guides/loops.md: its example runs as printed, its names exist."""

import re
from pathlib import Path

import numpy as np

from robot_dynamics.core.model.closures import EQUATIONS
from robot_dynamics.simulation.closed_chains import ClosedChain

DOC = (Path(__file__).resolve().parents[2] / 'docs' / 'guides' / 'loops.md').read_text()


def test_the_example_runs(capsys):
    (code,) = re.findall(r'```python\n(.*?)```', DOC, re.DOTALL)
    names = {}
    exec(code, names)
    assert capsys.readouterr().out.startswith('2 [')
    # as its comment says, the linkage stays where its motors hold it
    simulator = names['simulator']
    for _ in range(100):
        simulator.step(names['tau'])
    assert np.abs(simulator.q - names['q']).max() < 1e-12


def test_methods_and_kinds_exist():
    table = DOC.split('## Methods of a chain')[1].split('\n- ')[0]
    cells = [line.split('|')[1] for line in table.splitlines() if line.startswith('| `')]
    named = {name for cell in cells for name in re.findall(r'`(\w+)', cell)}
    public = {name for name in dir(ClosedChain) if not name.startswith('_')} - {'constraints'}
    assert named - {'q0'} == public
    assert dict(re.findall(r'^\| `(\w+)` +\| (\d)', DOC, re.MULTILINE)) == {
        kind: str(count) for kind, count in EQUATIONS.items()
    }
