import numpy as np
import pytest

from robot_dynamics.nodes.simulation_loop import LAG, Command, LoopOptions, SimulationLoop
from robot_dynamics.simulation import Simulator

MS = 1_000_000
DT = 1e-3
HOLD = np.array([1.0, 0.5])  # N m, some torque
REPEAT = 0.1


def options(**changes):
    return LoopOptions(**{'time_step': DT, 'command_timeout': 0.5, **changes})


@pytest.fixture
def make(elbow):
    def make(initial=(0.3, -0.4), **changes):
        simulator = Simulator(elbow, time_step=DT)
        return SimulationLoop(simulator, np.array(initial), options(**changes))

    return make


def run(loop, now, seconds):
    """Step as the node does, in slices of a tenth of a step; return the time after."""
    for _ in range(round(seconds / (DT / 10))):
        now += DT / 10
        if loop.wants_publishing(now, REPEAT):
            loop.published(now)
        while loop.due(now):
            loop.step(now)
            if loop.wants_publishing(now, REPEAT):
                loop.published(now)
    return now


def answer(loop, now, tau=HOLD):
    loop.command(Command(np.array(tau), loop.stamp, now))


# -- free running ---------------------------------------------------------------------------


def test_simulated_time_follows_the_wall_clock(make):
    loop = make()
    now = run(loop, 10.0, 0.2)
    assert loop.steps == pytest.approx(200, abs=2)
    assert loop.stamp == loop.steps * MS
    loop.real_time_factor(now)
    assert loop.real_time_factor(run(loop, now, 0.5)) == pytest.approx(1.0, abs=0.01)


def test_the_real_time_factor_scales_time(make):
    loop = make(real_time_factor=0.25)
    run(loop, 0.0, 0.4)
    assert loop.steps == pytest.approx(100, abs=2)


def test_as_fast_as_possible_every_look_makes_a_step(make):
    loop = make(real_time_factor=0.0)
    for _ in range(50):
        assert loop.due(7.0)
        loop.step(7.0)
    assert loop.steps == 50
    assert loop.overruns == 0


def test_brakes_hold_until_the_first_command_and_time_goes_on(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    assert loop.braked
    assert loop.steps > 90
    np.testing.assert_array_equal(loop.simulator.q, [0.3, -0.4])
    np.testing.assert_array_equal(loop.applied_effort, [0, 0])
    loop.command(Command(HOLD, None, now))
    run(loop, now, 0.05)
    assert not loop.braked
    assert np.abs(loop.simulator.qd).min() > 0
    np.testing.assert_array_equal(loop.applied_effort, HOLD)


def test_without_brakes_it_falls_from_the_start(make, elbow):
    loop = make(hold_until_command=False)
    falling = Simulator(elbow, q=(0.3, -0.4), time_step=DT)
    for _ in range(10):
        loop.step(0.0)
        falling.step(np.zeros(2))
    np.testing.assert_array_equal(loop.simulator.q, falling.q)
    assert np.abs(falling.qd).min() > 0


def test_a_command_by_name_wins_over_one_by_order_until_it_is_old(make):
    loop = make()
    loop.command(Command(np.array([5.0, 0.0]), None, 0.0))
    loop.command(Command(np.array([0.0, 1.0]), 123, 0.0))
    loop.step(0.0)
    np.testing.assert_array_equal(loop.applied_effort, [0, 1])
    loop.command(Command(np.array([5.0, 0.0]), None, 0.6))
    loop.step(0.6)
    np.testing.assert_array_equal(loop.applied_effort, [5, 0])


@pytest.mark.parametrize('choice', ['brake', 'zero', 'hold_last'])
def test_when_commands_run_dry(make, choice):
    loop = make(on_command_timeout=choice)
    loop.command(Command(HOLD, None, 0.0))
    now = run(loop, 0.0, 0.4)
    assert (loop.missed, loop.starved) == (0, False)
    moving = loop.simulator.qd.copy()
    run(loop, now, 0.2)
    assert (loop.missed, loop.starved) == (1, True)  # once per famine, not per step
    if choice == 'brake':
        assert loop.braked
        assert np.abs(moving).min() > 0
        np.testing.assert_array_equal(loop.simulator.qd, [0, 0])
    else:
        expected = [0, 0] if choice == 'zero' else HOLD
        np.testing.assert_array_equal(loop.applied_effort, expected)


def test_steps_that_come_late_are_counted_and_caught_up(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    before, steps = loop.overruns, loop.steps
    now = run(loop, now + 0.05, DT / 10)
    assert loop.steps - steps == pytest.approx(50, abs=2)
    assert loop.overruns - before == pytest.approx(50, abs=3)


def test_far_behind_the_schedule_starts_afresh(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    steps = loop.steps
    run(loop, now + 100 * LAG, DT / 10)
    assert loop.steps - steps < 10


# -- lock step ------------------------------------------------------------------------------


def test_time_stands_until_the_first_command(make):
    loop = make(lockstep=True)
    now = run(loop, 0.0, 2.0)
    assert loop.steps == 0
    assert loop.missed == 0
    answer(loop, now)
    run(loop, now, 0.01)
    assert loop.steps == 1


def test_each_state_waits_for_its_own_answer(make):
    loop = make(lockstep=True, real_time_factor=0.0)
    for k in range(20):
        assert loop.wants_publishing(0.0, REPEAT)
        loop.published(0.0)
        assert not loop.wants_publishing(0.0, REPEAT)
        assert not loop.due(0.0)
        loop.command(Command(HOLD, loop.stamp - MS, 0.0))  # the answer before: late
        assert not loop.due(0.0)
        answer(loop, 0.0)
        assert loop.due(0.0)
        loop.step(0.0)
        assert loop.steps == k + 1
    assert loop.strays == 20
    assert loop.missed == 0


def test_a_command_without_a_stamp_answers_nothing(make):
    loop = make(lockstep=True, real_time_factor=0.0)
    loop.published(0.0)
    loop.command(Command(HOLD, None, 0.0))
    assert not loop.due(0.1)
    assert not loop.commanded


def test_the_state_is_repeated_while_nobody_answers(make):
    loop = make(lockstep=True)
    loop.published(0.0)
    assert not loop.wants_publishing(REPEAT * 0.9, REPEAT)
    assert loop.wants_publishing(REPEAT, REPEAT)
    loop.published(REPEAT)
    assert not loop.wants_publishing(REPEAT * 1.9, REPEAT)


def test_an_answer_that_does_not_come_is_counted_and_the_arm_braked(make):
    loop = make(lockstep=True)
    loop.published(0.0)
    answer(loop, 0.0)
    loop.step(0.0)
    loop.published(0.001)
    loop.published(0.3)  # a repetition does not prolong the wait
    assert not loop.due(0.5)
    assert loop.due(0.502)
    loop.step(0.502)
    assert (loop.missed, loop.starved) == (1, True)
    assert loop.braked
    np.testing.assert_array_equal(loop.simulator.qd, [0, 0])
    # The controller is back: the motion goes on.
    loop.published(0.502)
    answer(loop, 0.51)
    assert loop.due(0.51)
    loop.step(0.51)
    assert not loop.braked
    assert (loop.missed, loop.starved) == (1, False)


def test_between_published_states_the_answer_holds(make):
    loop = make(lockstep=True, real_time_factor=0.0, publish_every=4)
    loop.published(0.0)
    answer(loop, 0.0)
    for _ in range(4):
        assert loop.due(0.0)
        loop.step(0.0)
        np.testing.assert_array_equal(loop.applied_effort, HOLD)
    assert loop.wants_publishing(0.0, REPEAT)
    loop.published(0.0)
    assert not loop.due(0.0)
    assert loop.missed == 0


def test_the_same_answers_give_the_same_bits_whatever_the_wall_clock(make):
    def motion(rng, pauses):
        loop, now = make(lockstep=True, real_time_factor=0.0), 0.0
        for _ in range(200):
            now += pauses.uniform(0, 0.4)
            loop.published(now)
            answer(loop, now, rng.uniform(-5, 5, 2))
            loop.step(now)
        return loop.simulator.q.tobytes() + loop.simulator.qd.tobytes()

    first = motion(np.random.default_rng(1), np.random.default_rng(2))
    assert first == motion(np.random.default_rng(1), np.random.default_rng(3))
    assert first != motion(np.random.default_rng(4), np.random.default_rng(2))


# -- services -------------------------------------------------------------------------------


def test_pause_and_resume(make):
    loop = make(hold_until_command=False)
    now = run(loop, 0.0, 0.05)
    assert loop.pause() == (True, 'paused')
    assert loop.pause() == (True, 'was paused already')
    steps = loop.steps
    now = run(loop, now, 0.5)
    assert loop.steps == steps
    assert loop.resume(now) == (True, 'resumed')
    assert loop.resume(now) == (True, 'was running already')
    run(loop, now, 0.05)
    assert loop.steps - steps == pytest.approx(50, abs=2)  # the pause is not caught up


def test_single_steps_only_while_paused(make):
    loop = make(start_paused=True, hold_until_command=False)
    assert not loop.due(100.0)
    loop.command(Command(HOLD, None, 0.0))
    for k in range(3):
        assert loop.single_step() == (True, f'at 0.00{k + 1} s')
    np.testing.assert_array_equal(loop.applied_effort, HOLD)
    loop.resume(0.0)
    refused = loop.single_step()
    assert not refused.success
    assert 'pause first' in refused.message
    assert loop.steps == 3


def test_reset_returns_to_the_start(make):
    loop = make()
    loop.command(Command(HOLD, None, 0.0))
    run(loop, 0.0, 0.1)
    assert np.abs(loop.simulator.q - [0.3, -0.4]).min() > 0
    assert loop.reset().success
    np.testing.assert_array_equal(loop.simulator.q, [0.3, -0.4])
    np.testing.assert_array_equal(loop.simulator.qd, [0, 0])
    assert loop.stamp == 0
    assert loop.braked
    assert not loop.commanded


def test_a_motion_that_diverges_stops_and_only_a_reset_goes_on(make):
    loop = make(initial=(0.0, 0.0), hold_until_command=False)
    loop.step(0.0)
    good = loop.simulator.q.copy()
    loop.simulator.qd = np.array([1e200, 1e200])  # whatever brought it there
    loop.step(0.001)
    assert 'reset to go on' in loop.diverged
    np.testing.assert_array_equal(loop.simulator.q, good)
    assert not loop.due(1.0)
    assert not loop.resume(1.0).success
    assert not loop.single_step().success
    assert loop.reset().success
    assert not loop.diverged
    assert loop.due(1.0)
