# SPDX-License-Identifier: Apache-2.0
"""Run control: play, pause, stop, step, reset."""

import numpy as np
import pytest

from robot_dynamics.simulation import Simulator
from robot_dynamics.simulation.plant import ExternalWrench, Plant, SetState
from robot_dynamics.simulation.run_control import (
    MOST_STEPS,
    Result,
    RunControl,
    RunState,
)
from robot_dynamics.simulation.scheduling import LoopOptions, ReceivedCommand, SimulationLoop

START = SetState(np.array([0.3, -0.4]), np.zeros(2))
ELSEWHERE = SetState(np.array([1.0, 0.5]), np.array([0.2, -0.1]))
HOLD = np.array([1.0, 0.5])


@pytest.fixture
def make(elbow):
    def make(**changes):
        loop = SimulationLoop(Plant(Simulator(elbow)), START, LoopOptions(**changes))
        return RunControl(loop)

    return make


def answer_of(outcome):
    return outcome.success, outcome.message


def go(requests, steps, now=0.0):
    for _ in range(steps):
        requests.loop.step(now)


def diverge(requests):
    requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
    requests.loop.step(0.0)
    requests.loop.plant.simulator.reset(requests.loop.plant.q, [1e200, 1e200])
    requests.loop.step(0.0)
    assert requests.loop.diverged


def test_play_and_pause_report_the_state(make):
    requests = make()
    assert requests.state is RunState.PLAYING
    assert answer_of(requests.play()) == (True, 'was running already')
    assert answer_of(requests.pause()) == (True, 'paused')
    assert requests.pause().result is Result.ALREADY
    assert requests.state is RunState.PAUSED
    assert not requests.loop.is_due(100.0)
    assert answer_of(requests.play()) == (True, 'resumed')
    assert requests.loop.is_due(100.0)


def test_the_duration_of_a_pause_is_not_caught_up(make):
    requests = make()
    loop = requests.loop
    loop.step(0.0)
    requests.pause()
    requests.play()
    assert loop.is_due(50.0)
    loop.step(50.0)
    assert not loop.is_due(50.0)


def test_steps_only_while_paused(make):
    requests = make(start_paused=True, hold_until_command=False)
    requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
    assert answer_of(requests.step()) == (True, 'at 0.001 s')
    assert answer_of(requests.step()) == (True, 'at 0.002 s')
    assert answer_of(requests.step(40)) == (True, 'at 0.042 s')
    np.testing.assert_array_equal(requests.loop.plant.effort, HOLD)
    requests.play()
    assert answer_of(requests.step()) == (False, 'running: pause first')
    requests.stop(START)
    assert answer_of(requests.step()) == (False, 'stopped: pause first')
    assert requests.loop.steps == 0


def test_n_steps_at_once_equal_n_single_steps(make):
    states = []
    for count, times in ((1, 50), (50, 1)):
        requests = make(start_paused=True)
        requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
        for _ in range(times):
            requests.step(count)
        states.append(requests.loop.plant.q.tobytes() + requests.loop.plant.qd.tobytes())
    assert states[0] == states[1]


@pytest.mark.parametrize('steps', [0, -1, MOST_STEPS + 1, 2**64 - 1])
def test_a_wrong_number_of_steps_changes_nothing(make, steps):
    requests = make(start_paused=True)
    outcome = requests.step(steps)
    assert outcome.result is Result.WRONG
    assert f'{steps} steps' in outcome.message
    assert str(MOST_STEPS) in outcome.message
    assert requests.loop.steps == 0


def test_the_callback_follows_each_step(make):
    requests = make(start_paused=True)
    seen = []
    requests.step(5, lambda: seen.append(requests.loop.steps))
    assert seen == [1, 2, 3, 4, 5]


def test_reset_returns_to_a_state_exactly_and_time_to_zero(make):
    requests = make()
    requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
    requests.loop.apply_wrench(ExternalWrench('forearm', np.ones(6)))
    go(requests, 100)
    plant = requests.loop.plant
    assert np.abs(plant.q - START.q).min() > 0
    assert answer_of(requests.reset(START)) == (True, 'reset')
    assert (requests.loop.stamp, requests.loop.commanded) == (0, False)
    assert (plant.q.tobytes(), plant.qd.tobytes()) == (START.q.tobytes(), START.qd.tobytes())
    assert plant.braked
    assert not plant.wrenches
    # The same commands from there give the same motion.
    motions = []
    for _ in range(2):
        requests.reset(START)
        requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
        go(requests, 50)
        motions.append(plant.q.tobytes() + plant.qd.tobytes())
    assert motions[0] == motions[1]


def test_an_arm_that_starts_in_motion_is_not_braked(make):
    requests = make()
    requests.reset(ELSEWHERE)
    np.testing.assert_array_equal(requests.loop.plant.qd, ELSEWHERE.qd)
    go(requests, 1)
    assert not requests.loop.plant.braked
    np.testing.assert_array_equal(requests.loop.plant.effort, [0, 0])
    assert np.abs(requests.loop.plant.q - ELSEWHERE.q).min() > 0


def test_state_and_time_can_be_reset_separately(make):
    requests = make()
    requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
    go(requests, 20)
    q = requests.loop.plant.q.copy()
    requests.reset(None)
    assert requests.loop.steps == 0
    np.testing.assert_array_equal(requests.loop.plant.q, q)
    go(requests, 20)
    requests.reset(START, time=False)
    assert requests.loop.steps == 20
    np.testing.assert_array_equal(requests.loop.plant.q, START.q)


def test_a_command_from_before_a_reset_is_not_used_for_later_states(make):
    requests = make(lockstep=True, real_time_factor=0.0)
    loop = requests.loop
    for _ in range(3):
        loop.state_published(0.0)
        loop.command(ReceivedCommand(HOLD, loop.stamp, 0.0))
        loop.step(0.0)
    loop.state_published(0.0)
    loop.command(ReceivedCommand(HOLD, loop.stamp, 0.0))  # at 3 ms
    requests.reset(None)
    for _ in range(3):
        loop.state_published(0.0)
        loop.command(ReceivedCommand(HOLD, loop.stamp, 0.0))
        loop.step(0.0)
    loop.state_published(0.0)
    assert loop.stamp == 3_000_000
    loop.command(ReceivedCommand(HOLD, 2_000_000, 0.0))
    assert not loop.is_due(0.1)


def test_a_wrench_keeps_its_duration_over_a_reset_of_time(make):
    requests = make(wrench_timeout=0.01)
    loop = requests.loop
    loop.command(ReceivedCommand(HOLD, None, 0.0))
    go(requests, 3)
    loop.apply_wrench(ExternalWrench('forearm', np.ones(6)))
    go(requests, 4)
    requests.reset(None)
    go(requests, 6)
    assert loop.plant.wrenches
    go(requests, 1)
    assert not loop.plant.wrenches


def test_stop_returns_to_the_start_and_waits(make):
    requests = make()
    requests.loop.command(ReceivedCommand(HOLD, None, 0.0))
    go(requests, 20)
    assert answer_of(requests.stop(START)) == (True, 'stopped')
    assert requests.state is RunState.STOPPED
    assert requests.loop.steps == 0
    np.testing.assert_array_equal(requests.loop.plant.q, START.q)
    assert requests.stop(START).result is Result.ALREADY
    # "It can also be paused, which means starting simulation in a paused state immediately".
    assert answer_of(requests.pause()) == (True, 'paused')
    assert requests.stop(START).result is Result.DONE
    assert answer_of(requests.play()) == (True, 'resumed')
    assert requests.state is RunState.PLAYING


def test_a_motion_that_diverges_is_paused_until_a_reset(make):
    requests = make()
    go(requests, 1)
    good = requests.loop.plant.q.copy()
    diverge(requests)
    assert requests.state is RunState.PAUSED
    assert 'paused at 0.002 s; reset to continue' in requests.loop.diverged
    assert requests.loop.plant.braked
    assert np.isfinite(requests.loop.plant.q).all()
    np.testing.assert_allclose(requests.loop.plant.q, good, atol=1e-4)
    assert not requests.loop.is_due(1.0)
    for refused in (requests.play(), requests.step(), requests.reset(None)):
        assert not refused.success
        assert 'reset to continue' in refused.message
    assert answer_of(requests.reset(START)) == (True, 'reset, paused')
    assert not requests.loop.diverged
    assert requests.play().success
    assert requests.loop.is_due(1.0)


def test_a_divergence_within_several_steps_ends_them(make):
    requests = make(start_paused=True)
    loop = requests.loop
    loop.command(ReceivedCommand(HOLD, None, 0.0))
    plant = loop.plant

    def kick():
        if loop.steps == 7:
            plant.simulator.reset(plant.q, [1e200, 1e200])

    outcome = requests.step(50, kick)
    assert outcome.result is Result.FAILED
    assert loop.steps == 7
    assert plant.braked
