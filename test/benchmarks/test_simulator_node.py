# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

import pytest
from domains import use_free_domain

from benchmarks import ROOT

pytest.importorskip('rclpy')


@pytest.mark.processes
@pytest.mark.slow
def test_rates_and_jitter_are_printed():
    result = subprocess.run(
        [sys.executable, '-m', 'benchmarks.simulator_node', '--seconds', '0.2'],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'ROS_DOMAIN_ID': use_free_domain()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for what in ('a state every 1 step', 'a state every 100 steps'):
        row = re.search(rf'{what} +([\d.]+) +([\d.]+) +([\d.]+)', result.stdout)
        assert row, result.stdout
        assert all(float(figure) > 0 for figure in row.groups())
    for what in (
        'a loop that only sleeps',
        'alone',
        'with 1000 commands a second',
    ):
        row = re.search(rf'{what} +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)', result.stdout)
        assert row, result.stdout
        p50, p99, most = (int(figure) for figure in row.groups()[:3])
        assert 0 < p50 <= p99 <= most
