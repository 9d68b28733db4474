# SPDX-License-Identifier: Apache-2.0
"""The example that records a simulated arm: its motion and payload, and without rosbags."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.common.resources import share_file
from robot_dynamics.recordings import by_joint, read_bag
from robot_dynamics.urdf.loading import load_urdf

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'record_simulated_arm.py'
POINTS = ((1.0, [0, 0, 0, -1.5, 0, 1.5, 0]), (2.0, [0.3, 0.2, 0, -1.2, 0, 1.8, 0.3]))


def test_the_recording_is_of_the_motion(tmp_path, monkeypatch, capsys):
    pytest.importorskip('rosbags')
    model = load_urdf(share_file('urdf/panda.urdf'))
    still = [0.0] * 7
    motion = tmp_path / 'motion.yaml'
    lines = [f'joint_names: {list(model.joint_names)}', 'points:']
    for t, q in POINTS:
        lines += [
            f'- positions: {q}',
            f'  velocities: {still}',
            f'  accelerations: {still}',
            f'  time_from_start: {{sec: {int(t)}, nanosec: 0}}',
        ]
    motion.write_text('\n'.join(lines))
    efforts = {}
    for payload in ('0', '0.5'):
        bag = tmp_path / f'run{payload}'
        monkeypatch.setattr(sys, 'argv', ['x', str(motion), str(bag), '--payload', payload])
        runpy.run_path(str(EXAMPLE), run_name='__main__')
        assert f'run{payload}: 1.0 s of panda, 1000 states' in capsys.readouterr().out
        read = read_bag(bag)
        recording = by_joint(read.samples, model.joint_names)
        assert '<robot name="panda"' in read.description
        for k, (_, q) in zip((0, -1), POINTS, strict=True):
            assert np.abs(recording.q[k] - q).max() < 0.15
        efforts[payload] = recording.effort
    # The shoulder carries more.
    assert np.abs((efforts['0.5'] - efforts['0'])[:, 1]).mean() > 1.5


def test_without_rosbags_there_is_help_and_an_error_that_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'rosbags', None)
    for words, code in ((['--help'], 0), (['motion.yaml', 'run'], 2)):
        monkeypatch.setattr(sys, 'argv', ['x', *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(EXAMPLE), run_name='__main__')
        assert ended.value.code == code
    error = capsys.readouterr().err
    assert error.startswith(
        f'{EXAMPLE.name}: recordings are written by rosbags, which cannot be imported'
    )
    assert error.rstrip().endswith("in a checkout pip install '.[bags]'")
