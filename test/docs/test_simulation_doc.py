# SPDX-License-Identifier: Apache-2.0
"""docs/guides/simulation.md: its example runs, its names exist."""

import inspect
import re
from pathlib import Path

import numpy as np

from robot_dynamics import simulation
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.simulation import INTEGRATORS

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / 'docs' / 'guides' / 'simulation.md').read_text()


def test_the_example_runs_and_its_comments_hold(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in re.findall(r'```python\n(.*?)```', DOC, re.DOTALL):
        exec(code, names)
    simulator, run = names['simulator'], names['run']
    assert simulator.payloads.keys() == {'panda_link8'}
    assert run.q.shape == (501, simulator.arm.model.n)
    again = simulation.simulate(simulator, lambda t, q, qd: -20.0 * q - 2.0 * qd, 0.5)
    assert np.array_equal(again.q, run.q)


def test_the_integrators_and_effects_are_those_of_the_code():
    rows = re.findall(r'^\| `(\w+)`(?:, the default)? +\| \d', DOC, re.MULTILINE)
    assert rows == list(INTEGRATORS)
    holders = (simulation, simulation.Simulator, RobotModel, Dynamics)
    for name, arguments in re.findall(r'`(?:model\.)?(\w+)\(([\w=, ]*)\)`', DOC):
        (function,) = (getattr(holder, name) for holder in holders if hasattr(holder, name))
        taken = inspect.signature(getattr(function, 'method', function)).parameters
        named = [word.rstrip('=') for word in arguments.replace(',', ' ').split()]
        assert set(named) <= set(taken), name
