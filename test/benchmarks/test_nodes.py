# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the nodes: counts and statistics. Times are not asserted."""

import json

import numpy as np
import pytest
from domains import use_free_domain

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from benchmarks import node_client, node_echo, nodes, timer_jitter
from robot_dynamics.common.resources import share_file
from robot_dynamics.ros.nodes import dynamics_node
from robot_dynamics.ros.serialization import JointStateWriter, MatrixWriter

MS = 1_000_000


@pytest.fixture(autouse=True)
def _own_domain():
    use_free_domain()


def running_block(count=4):
    return node_client._Running(count, first=7 * MS, period=1e-3)


def test_stamps_are_read_from_serialized_messages():
    stamp = 12_000_000_345
    torque = JointStateWriter(('a', 'b'), 'base', ('effort',)).fill(stamp, np.zeros(2))
    assert node_client.torque_stamp(torque) == stamp
    matrix = MatrixWriter(2).fill(stamp, np.zeros((2, 2)))
    assert node_client.matrix_stamp(matrix) == stamp


def test_the_echo_has_the_outputs_of_the_dynamics_node():
    # Without efforts and a wrench, which the client does not send.
    unasked = {'external_torque', 'effort_residual'}
    assert set(node_echo.MATRICES) == set(dynamics_node.MATRICES)
    assert set(node_echo.TORQUES) == set(dynamics_node.TORQUES) - unasked


def test_latency_ends_with_the_last_output_of_a_state():
    block = running_block()
    block.sent[:] = 0.0
    for k in (0, 1, 2):
        for _ in range(node_client.ANSWERS - (k == 2)):
            block.take((7 + k) * MS)
    result = block.result('x', 0.1)
    assert np.isfinite(result.latency).tolist() == [True, True, False, False]
    assert result.lost == 1 + node_client.ANSWERS
    # A state without outputs is late, whatever its time.
    assert result.late >= 2


def test_outputs_without_a_state_are_counted_separately():
    block = running_block()
    for stamp in (6 * MS, 11 * MS, 7 * MS + 1):
        block.take(stamp)
    for _ in range(node_client.ANSWERS + 1):
        block.take(7 * MS)
    assert block.unasked == 4
    assert block.open == 3 * node_client.ANSWERS


def test_the_slope_of_a_line_is_within_its_standard_error():
    t = np.arange(500.0)
    noise = np.random.default_rng(0).normal(0, 0.5, t.size)
    best, error = nodes.slope(np.stack([t, 80 + 0.01 * t + noise], axis=1))
    assert abs(best - 0.01) < 4 * error
    assert error < 0.002
    # Events while caches fill are not counted.
    start = np.where(t < 90, t / 90, 1.0)
    assert nodes.slope(np.stack([t, start], axis=1)) == pytest.approx((0, 0), abs=1e-12)


def blocks_of(latencies):
    return [
        node_client.Block('x', 1e-3, x, np.zeros(x.size), x, lost=0, cpu=0.0) for x in latencies
    ]


def test_the_interval_contains_the_ratio_and_accounts_for_common_phases():
    rng = np.random.default_rng(0)
    # Turns differ by more than the nodes; states differ by a little.
    phase = rng.uniform(1e-4, 9e-4, (40, 1))
    echo, ours = (phase * rng.normal(mean, 0.01, (40, 500)) for mean in (1.0, 1.2))
    found = nodes.ratio(blocks_of(ours), blocks_of(echo), 50)
    assert found.low < found.best < found.high
    assert found.low < 1.2 < found.high
    same = nodes.ratio(blocks_of(echo), blocks_of(echo), 99)
    assert (same.low, same.best, same.high) == (1, 1, 1)


def test_a_verdict_is_open_if_the_interval_contains_the_bound():
    assert nodes.Ratio(1.1, 1.0, 1.2).verdict == 'met'
    assert nodes.Ratio(1.2, 1.1, 1.3).verdict == 'open'
    assert nodes.Ratio(1.4, 1.3, 1.5).verdict == 'MISSED'


def test_wake_ups_of_a_sleeping_process_are_counted():
    with timer_jitter.measured(500.0) as jitter:
        while_it_runs = jitter.ticks
    assert while_it_runs == 0 < jitter.ticks
    assert 0 <= jitter.part <= 1


@pytest.mark.parametrize(
    'arguments',
    [
        pytest.param(['--qos', 'reliable'], id='echo', marks=pytest.mark.slow),
        pytest.param(['--qos', 'sensor', '--soak', '4'], id='soak', marks=pytest.mark.soak),
        pytest.param(
            ['--qos', 'reliable', '--soak', '4'], id='reliable soak', marks=pytest.mark.soak
        ),
    ],
)
def test_every_state_is_answered_and_counted(arguments, tmp_path, capfd):
    file = tmp_path / 'figures.json'
    common = ['--robot', str(share_file('urdf/planar_2r.urdf')), '--rate', '100']
    common += ['--seconds', '1', '--json', str(file)]
    assert nodes.main([*common, *arguments]) == 0
    (figures,) = json.loads(file.read_text())['figures']
    wanted = 400 if '--soak' in arguments else 100
    for answers in figures['nodes'].values():
        assert answers['states'] == wanted
        assert answers['lost'] == 0
        assert 0 < answers['median_us'] <= answers['p99_us'] <= answers['max_us']
        assert answers['cpu_percent'] > 0
    if '--soak' in arguments:
        assert np.isfinite(figures['slope']).all()
    text = capfd.readouterr().out
    assert 'CPU %' in text
    assert ('MiB/h' if '--soak' in arguments else 'of the echo; wanted: at most 1.25') in text
