"""Processes that are restarted and ended, and leave nothing behind; the nodes are stand-ins."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from robot_dynamics.nodes.demo import supervisor as module
from robot_dynamics.nodes.demo.supervisor import (
    SHARED_MEMORY,
    NodeFailed,
    NodeProcess,
    Supervisor,
    remove_shared_memory,
    shared_memory,
)

DEADLINE = 20.0  # s

GOOD = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
print('up', flush=True)
while True:
    time.sleep(0.01)
"""
STUBBORN = GOOD.replace('lambda *_: sys.exit(0)', 'signal.SIG_IGN')
RUDE = GOOD.replace('sys.exit(0)', 'sys.exit(3)')
BROKEN = "print('no robot'); raise SystemExit(1)"


@pytest.fixture
def supervise():
    """Start stand-ins, and see them gone in the end."""
    started = []

    def start(**programs):
        said = []
        nodes = [
            NodeProcess(name, [sys.executable, '-c', text]) for name, text in programs.items()
        ]
        started.append(Supervisor(nodes, lambda *line: said.append(line)))
        started[-1].start()
        return started[-1], said

    yield start
    for each in started:
        for node in each.nodes:
            node.process.kill()
            node.process.wait()


def until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_lines_come_with_the_name_and_nodes_end_well(supervise):
    graph, said = supervise(a=GOOD, b=GOOD)
    until(lambda: set(said) == {('a', 'up'), ('b', 'up')})
    assert graph.look() == []
    graph.stop()
    assert graph.exit_codes == {'a': 0, 'b': 0}
    assert len(said) == 2


def test_a_killed_node_is_started_again(supervise):
    graph, said = supervise(a=GOOD, b=GOOD)
    until(lambda: len(said) == 2)
    before = {node.name: node.process.pid for node in graph.nodes}
    os.kill(before['a'], signal.SIGKILL)
    restarted = []
    until(lambda: restarted.extend(graph.look()) or restarted)
    assert restarted == ['a']
    assert ('a', 'died (killed by SIGKILL); starting it again') in said
    until(lambda: said.count(('a', 'up')) == 2)
    after = {node.name: node.process.pid for node in graph.nodes}
    assert after['a'] != before['a']
    assert after['b'] == before['b']
    assert graph.restarts == {'a': 1, 'b': 0}


def test_a_node_that_cannot_start_says_why(supervise):
    graph, _ = supervise(a=BROKEN)
    graph.nodes[0].process.wait()
    with pytest.raises(NodeFailed, match=r'a does not stay up \(exit code 1\): no robot'):
        graph.look()


def test_a_node_that_keeps_dying_is_given_up(supervise):
    graph, said = supervise(a=GOOD)

    def kill_and_look():
        ups = said.count(('a', 'up'))
        os.kill(graph.nodes[0].process.pid, signal.SIGKILL)
        until(graph.look)
        until(lambda: said.count(('a', 'up')) > ups)

    until(lambda: said)
    for _ in range(module.QUICK_DEATHS - 1):
        kill_and_look()
    with pytest.raises(NodeFailed, match='killed by SIGKILL'):
        kill_and_look()
    assert graph.restarts == {'a': module.QUICK_DEATHS - 1}


def test_who_does_not_end_well_is_named(supervise, monkeypatch):
    monkeypatch.setattr(module, 'PATIENCE', 0.3)
    graph, said = supervise(stubborn=STUBBORN, rude=RUDE)
    until(lambda: len(said) == 2)
    graph.stop()
    assert graph.exit_codes == {'stubborn': -signal.SIGKILL, 'rude': 3}
    assert ('rude', 'did not end well (exit code 3): up') in said
    assert ('stubborn', 'did not end well (killed by SIGKILL): up') in said


@pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason='shared memory is elsewhere here')
def test_only_new_and_unused_shared_memory_is_removed():
    old, used, left, strange = (
        SHARED_MEMORY / f'{prefix}robot_dynamics_test_{os.getpid()}_{k}'
        for k, prefix in enumerate(('fastrtps_', 'fastrtps_', 'sem.fastdds_', 'other_'))
    )
    try:
        old.touch()
        before = shared_memory()
        for file in (left, strange):
            file.touch()
        with used.open('w'):
            remove_shared_memory(before)
            assert [file.exists() for file in (old, used, left, strange)] == [
                True,
                True,
                False,
                True,
            ]
    finally:
        for file in (old, used, left, strange):
            Path(file).unlink(missing_ok=True)
