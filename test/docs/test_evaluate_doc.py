# SPDX-License-Identifier: Apache-2.0
"""docs/guides/evaluate.md: its output is current, and every part of it is explained."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rosbags')

from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.evaluation import evaluation_report
from robot_dynamics.recordings import recording
from robot_dynamics.urdf.loading import load_urdf

PAGE = (Path(__file__).parents[2] / 'docs' / 'guides' / 'evaluate.md').read_text()
NUMBER = re.compile(r'-?\d+(?:\.\d+)?(?:e-\d+)?')


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A Panda with more friction than in its URDF, and a tool that the URDF lacks."""
    model = load_urdf(share_file('urdf/panda.urdf'))
    coulomb = model.coulomb.copy()
    coulomb[3] += 1.9
    true = model.with_actuation(coulomb=coulomb).with_payload('panda_link8', 1.3, [0, 0, 0.1])
    t, q, qd, qdd = lively(model, rate=250.0, duration=30.0)
    rng = np.random.default_rng(0)
    effort = torque(true, q, qd, qdd) + 0.2 * rng.normal(size=q.shape)
    qd = qd + 2e-3 * rng.normal(size=q.shape)
    description = {'/robot_description': share_file('urdf/panda.urdf').read_text()}
    write_bag(
        tmp_path / 'run',
        {'/joint_states': samples(model.joint_names, t, q, qd, effort)},
        descriptions=description,
    )
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_output_on_the_page_is_printed(run, capsys):
    command, *wanted = re.search(r'```\n\$ (robot-dynamics .*?)```', PAGE, re.DOTALL)[
        1
    ].splitlines()
    assert cli.main(command.split()[1:]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [words(line) for line in shown] == [words(line) for line in wanted]
    for got, line in zip(shown, wanted, strict=True):
        assert numbers(got) == pytest.approx(numbers(line), rel=0.1, abs=0.01)


def words(line):
    return NUMBER.sub('', line).split()


def numbers(line):
    return [float(number) for number in NUMBER.findall(line)]


def test_every_cause_is_explained():
    for kind in evaluation_report.WORDS:
        assert f'| {kind} |' in PAGE, kind


def test_every_column_is_explained():
    for column in evaluation_report.HEAD[2:]:
        assert f'| `{column}` |' in PAGE, column


def test_every_reason_is_explained():
    reasons = [value for name, value in vars(recording).items() if name.isupper()]
    for reason in filter(lambda value: isinstance(value, str), reasons):
        assert f'`{reason}`' in PAGE, reason


def test_every_option_is_explained(capsys):
    with pytest.raises(SystemExit):
        cli.main(['evaluate', '--help'])
    options = set(re.findall(r'--[a-z-]+', capsys.readouterr().out)) - {'--help'}
    assert {option for option in options if f'`{option}' not in PAGE} == set()
