# SPDX-License-Identifier: Apache-2.0
"""Verdicts for given figures."""

import math

import pytest

from benchmarks import batches, report, single, starting, stepping
from benchmarks.batches import Batch
from benchmarks.compiling import SINGLE, Compilation, GivenUp
from benchmarks.results import Results, this_machine
from benchmarks.single import SingleCall
from benchmarks.starting import Start
from benchmarks.stepping import Stepping
from benchmarks.targets import MET, MISSED, OPEN, TARGETS


def call(robot, joints, function, new, out=10.0):
    ns = {single.REFERENCE: 1000.0, single.NEW: new, single.KEPT: 2 * new, single.OUT: out}
    return SingleCall(robot, joints, function, ns, {single.NEW: 1e-15, single.OUT: 1e-15})


@pytest.fixture
def results():
    return Results(this_machine())


def target(title):
    (found,) = [t for t in TARGETS if t.title.startswith(title)]
    return found


def test_targets_without_figures_are_not_measured(results):
    assert {t.verdict(results) for t in TARGETS} == {OPEN}
    assert 'not measured' in report.markdown(results)


def test_the_worst_of_the_arms_decides(results):
    five = target('ID, M, g, C, FD, single call, new array')
    results.single = [
        call('arm', 6, 'inverse_dynamics', 50.0),
        call('other', 7, 'mass_matrix', 100.0),
        call('chain12', 12, 'inverse_dynamics', 999.0),
        call('arm', 6, 'inverse_dynamics_derivatives', 999.0),
    ]
    ratio, where = five.worst(results)
    assert (ratio, where) == (pytest.approx(10.0), 'other mass_matrix')
    assert five.verdict(results) == MET
    results.single.append(call('third', 9, 'forward_dynamics', 120.0))
    assert five.verdict(results) == MISSED


def test_named_robots_have_targets_of_their_own(results):
    results.single = [call('chain12', 12, 'inverse_dynamics', 400.0)]
    assert target('12-joint chain').verdict(results) == MISSED
    assert target('100-joint chain, single').verdict(results) == OPEN


def test_batches_and_steps(results):
    ns = {batches.OURS: 20.0, batches.LOOP: 800.0, batches.POOL: 500.0}
    results.batches = [Batch('arm', 6, 'inverse_dynamics', 100, ns, 0.0)]
    assert target('batch, one core, against a Python loop').worst(results)[0] == 40.0
    assert target('batch, one core, against its pool').verdict(results) == MISSED
    rates = {stepping.SIMULATE: 6e6, stepping.SIMULATOR: 1e5, stepping.MUJOCO: 4e5}
    results.stepping = [Stepping('arm', 6, rates, 0.0)]
    assert target('simulation steps').verdict(results) == MET


def test_times_are_upper_bounds_and_an_abandoned_function_is_infinite(results):
    made = Compilation('chain100', 'inverse_dynamics', 0.1, 1.5, 0.0, {'mul': 3}, 90.0)
    results.compilations = [made]
    assert target('100-joint chain, compile ID').verdict(results) == MET
    assert target('100-joint chain, compile all').verdict(results) == MET
    results.given_up = [GivenUp('chain100', 'forward_dynamics', SINGLE, 'more than 9 s')]
    assert target('100-joint chain, compile FD').worst(results)[0] == math.inf
    assert target('100-joint chain, compile all').verdict(results) == MISSED
    results.starts = [Start('arm', 6, {starting.OURS: 149.0}, {starting.OURS: 80.0})]
    assert target('cached start').verdict(results) == MET
