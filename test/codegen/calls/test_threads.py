# SPDX-License-Identifier: Apache-2.0
"""Batches over threads: the same bits for any number of them."""

import os
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program, kernels, threads
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import random_tree


@pytest.mark.parametrize('count', [1, 2, 3, 7])
@pytest.mark.parametrize('samples', [1, 2, 5, 1000])
def test_parts_cover_every_sample_once(count, samples, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', str(count))
    seen, names = np.zeros(samples, int), set()

    def work(begin, end):
        assert begin < end
        seen[begin:end] += 1
        names.add(threading.current_thread().name)

    threads.in_parts(work, samples, 2 * threads.SMALLEST_PART)
    assert (seen == 1).all()
    assert threading.current_thread().name in names


@pytest.mark.parametrize('fails', [None, 0, 1, 2])
@pytest.mark.parametrize('slow', [0, 1, 2])
def test_every_part_has_ended_and_a_failure_of_any_arrives(slow, fails, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '3')
    ended = []

    def work(begin, end):
        if begin == slow:
            time.sleep(0.05)
        ended.append(begin)
        if begin == fails:
            raise ArithmeticError(f'part {begin}')

    expected = nullcontext() if fails is None else pytest.raises(ArithmeticError, match=f'{fails}')
    with expected:
        threads.in_parts(work, 3, threads.SMALLEST_PART)
    assert sorted(ended) == [0, 1, 2]


def test_small_batches_stay_in_the_calling_thread(monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '4')
    parts = []
    threads.in_parts(lambda begin, end: parts.append((begin, end)), 1000, 100)
    assert parts == [(0, 1000)]


def test_thread_count(monkeypatch):
    monkeypatch.delenv('ROBOT_DYNAMICS_THREADS', raising=False)
    assert 1 <= threads.thread_count() <= os.cpu_count()
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '3')
    assert threads.thread_count() == 3


@pytest.mark.parametrize('value', ['many', '1.5', '0', '-2'])
def test_a_wrong_number_of_threads_is_rejected(monkeypatch, value):
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', value)
    message = f"ROBOT_DYNAMICS_THREADS is '{value}', expected an integer above 0"
    with pytest.raises(RobotDynamicsError, match=message):
        threads.thread_count()


@pytest.mark.usefixtures('machine')
def test_any_number_of_threads_and_any_place_give_the_same_bits(monkeypatch, random_function):
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1000)
    compiled = compile_program(
        random_function(np.random.default_rng(3), outputs=11), {'x': 5}, backend='llvm'
    )
    x = np.random.default_rng(4).normal(size=(4001, 5))
    results = []
    for count in (1, 2, 3, 8):
        monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', str(count))
        results.append(compiled(x))
    assert all(np.array_equal(result, results[0]) for result in results)
    for begin, end in [(3, 4), (5, 12), (17, 4000)]:
        assert np.array_equal(compiled(x[begin:end]), results[0][begin:end])


@pytest.mark.usefixtures('machine')
def test_callers_in_several_threads(monkeypatch):
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1000)
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '3')
    compiled = compile_program(lambda x: [x[0] * x[1], x[0].sin()], {'x': 2}, backend='llvm')
    failures = []

    def caller(seed):
        x = np.random.default_rng(seed).normal(size=(1000, 2))
        for _ in range(20):
            batch = compiled(x)
            if not np.array_equal(batch[7], compiled(x[7])) or batch[9, 0] != x[9, 0] * x[9, 1]:
                failures.append(seed)

    callers = [threading.Thread(target=caller, args=(seed,)) for seed in range(6)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert failures == []


@pytest.mark.slow
@pytest.mark.usefixtures('machine')
def test_each_part_of_a_batch_of_loops_has_memory_of_its_own(monkeypatch):
    """2,000 samples of 150 joints over 4 threads, whichever of them run at the same time."""
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '4')
    arm = Dynamics(random_tree(150, np.random.default_rng(0), branching=0.0))
    q = np.random.default_rng(1).uniform(-3, 3, (2000, 150))
    memory, parts, by_parts = [], [], threads.in_parts
    make = kernels.loop_memory

    def noted_memory(doubles):
        memory.append(make(doubles))  # kept: another part's would have the same address
        return memory[-1]

    def noted_parts(work, samples, operations):
        def noted_work(begin, end):
            parts.append(begin)
            work(begin, end)

        by_parts(noted_work, samples, operations)

    arm.mass_matrix(q[:8])  # compiles
    monkeypatch.setattr(kernels, 'loop_memory', noted_memory)
    monkeypatch.setattr(threads, 'in_parts', noted_parts)
    together = arm.mass_matrix(q)
    assert len(parts) == 4
    assert len({array.ctypes.data for (array,) in memory}) >= 4
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '1')
    assert np.array_equal(arm.mass_matrix(q), together)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
@pytest.mark.filterwarnings('ignore:.*multi-threaded.*:DeprecationWarning')
@pytest.mark.usefixtures('machine')
def test_a_forked_process_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1000)
    monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', '3')
    compiled = compile_program(lambda x: [x[0].sin()], {'x': 1}, backend='llvm')
    x = np.linspace(-3, 3, 5000)[:, None]
    expected = compiled(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(compiled(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
