# SPDX-License-Identifier: Apache-2.0
"""The simulation loop: free running, lock step, timeouts of commands."""

import numpy as np
import pytest

from robot_dynamics.simulation import Actuators, JointModels, Sensors, Simulator
from robot_dynamics.simulation.plant import ExternalWrench, Plant, SetState
from robot_dynamics.simulation.scheduling import (
    LONGEST_LAG,
    LoopOptions,
    ReceivedCommand,
    SimulationLoop,
)
from robot_dynamics.simulation.sensors import Sensing

MS = 1_000_000
DT = 1e-3
HOLD = np.array([1.0, 0.5])  # N m, some torque
REPEAT = 0.1


def options(**changes):
    return LoopOptions(**{'time_step': DT, 'command_timeout': 0.5, **changes})


@pytest.fixture
def make(elbow):
    def make(initial=(0.3, -0.4), velocity=(0.0, 0.0), **changes):
        plant = Plant(Simulator(elbow, time_step=DT))
        start = SetState(np.array(initial), np.array(velocity))
        return SimulationLoop(plant, start, options(**changes))

    return make


def run(loop, now, seconds):
    """Step as the node does, in slices of a tenth of a step; return the time after."""
    for _ in range(round(seconds / (DT / 10))):
        now += DT / 10
        if loop.needs_publishing(now, REPEAT):
            loop.state_published(now)
        while loop.is_due(now):
            loop.step(now)
            if loop.needs_publishing(now, REPEAT):
                loop.state_published(now)
    return now


def answer(loop, now, tau=HOLD):
    loop.command(ReceivedCommand(np.array(tau), loop.stamp, now))


# -- free running ---------------------------------------------------------------------------


def test_simulated_time_follows_the_wall_clock(make):
    loop = make()
    now = run(loop, 10.0, 0.2)
    assert loop.steps == pytest.approx(200, abs=2)
    assert loop.stamp == loop.steps * MS
    loop.pace.factor(now, loop.steps)
    assert loop.pace.factor(run(loop, now, 0.5), loop.steps) == pytest.approx(1.0, abs=0.01)


def test_the_real_time_factor_scales_time(make):
    loop = make(real_time_factor=0.25)
    run(loop, 0.0, 0.4)
    assert loop.steps == pytest.approx(100, abs=2)


def test_as_fast_as_possible_every_poll_makes_a_step(make):
    loop = make(real_time_factor=0.0)
    for _ in range(50):
        assert loop.is_due(7.0)
        loop.step(7.0)
    assert loop.steps == 50
    assert loop.pace.late == 0


def test_brakes_hold_until_the_first_command_and_time_goes_on(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    assert loop.plant.braked
    assert loop.steps > 90
    np.testing.assert_array_equal(loop.plant.q, [0.3, -0.4])
    np.testing.assert_array_equal(loop.plant.effort, [0, 0])
    loop.command(ReceivedCommand(HOLD, None, now))
    run(loop, now, 0.05)
    assert not loop.plant.braked
    assert np.abs(loop.plant.qd).min() > 0
    np.testing.assert_array_equal(loop.plant.effort, HOLD)


def test_without_brakes_the_arm_falls_from_the_start(make, elbow):
    loop = make(hold_until_command=False)
    falling = Simulator(elbow, q=(0.3, -0.4), time_step=DT)
    for _ in range(10):
        loop.step(0.0)
        falling.step(np.zeros(2))
    np.testing.assert_array_equal(loop.plant.q, falling.q)
    assert np.abs(falling.qd).min() > 0


def test_a_command_by_name_takes_precedence_until_its_timeout(make):
    loop = make()
    loop.command(ReceivedCommand(np.array([5.0, 0.0]), None, 0.0))
    loop.command(ReceivedCommand(np.array([0.0, 1.0]), 123, 0.0))
    loop.step(0.0)
    np.testing.assert_array_equal(loop.plant.effort, [0, 1])
    loop.command(ReceivedCommand(np.array([5.0, 0.0]), None, 0.6))
    loop.step(0.6)
    np.testing.assert_array_equal(loop.plant.effort, [5, 0])


@pytest.mark.parametrize('choice', ['brake', 'zero', 'hold_last'])
def test_the_fallback_when_commands_stop(make, choice):
    loop = make(on_command_timeout=choice)
    loop.command(ReceivedCommand(HOLD, None, 0.0))
    now = run(loop, 0.0, 0.4)
    assert (loop.missed, loop.starved) == (0, False)
    moving = loop.plant.qd.copy()
    run(loop, now, 0.2)
    assert (loop.missed, loop.starved) == (
        1,
        True,
    )  # Once per interruption of the commands, not per step.
    if choice == 'brake':
        assert loop.plant.braked
        assert np.abs(moving).min() > 0
        np.testing.assert_array_equal(loop.plant.qd, [0, 0])
    else:
        expected = [0, 0] if choice == 'zero' else HOLD
        np.testing.assert_array_equal(loop.plant.effort, expected)


def test_steps_that_come_late_are_counted_and_caught_up(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    before, steps = loop.pace.late, loop.steps
    now = run(loop, now + 0.05, DT / 10)
    assert loop.steps - steps == pytest.approx(50, abs=2)
    assert loop.pace.late - before == pytest.approx(50, abs=3)


def test_a_schedule_far_behind_is_restarted(make):
    loop = make()
    now = run(loop, 0.0, 0.1)
    steps = loop.steps
    run(loop, now + 100 * LONGEST_LAG, DT / 10)
    assert loop.steps - steps < 10


def test_a_clock_that_jumps_back_starts_a_new_schedule_each_time(make):
    loop = make()
    now = run(loop, 20.0, 0.1)
    for jumps in (1, 2):
        loop.pace.factor(now, loop.steps)
        steps = loop.steps
        now = run(loop, now - 5.0, 0.01)
        assert loop.pace.jumps == jumps
        assert loop.steps - steps == pytest.approx(10, abs=2)
        assert loop.pace.factor(now, loop.steps) == 0.0  # of a new period


def test_an_unstamped_command_from_after_a_jump_of_the_clock_is_too_old(make):
    loop = make()
    run(loop, 10.0, 0.01)
    loop.command(ReceivedCommand(HOLD, None, 10.01))
    loop.step(10.01)
    np.testing.assert_array_equal(loop.plant.effort, HOLD)
    loop.step(5.0)
    assert loop.plant.braked
    assert (loop.missed, loop.starved) == (1, True)


@pytest.mark.parametrize(
    ('steps', 'timeout', 'reset_after'), [(10, 10.0, None), (10, 10.0, 4), (1, 0.2, None)]
)
def test_a_wrench_acts_for_its_timeout_also_beyond_a_reset_of_time(
    make, steps, timeout, reset_after
):
    loop = make(wrench_timeout=timeout * DT)
    for _ in range(3):
        loop.step(0.0)
    push = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    loop.apply_wrench(ExternalWrench('forearm', push))
    for k in range(steps):
        if k == reset_after:
            loop.reset_time()
            assert loop.steps == 0
        loop.step(0.0)
        np.testing.assert_array_equal(loop.plant.wrenches['forearm'], push)
    loop.step(0.0)
    assert 'forearm' not in loop.plant.wrenches


def test_a_wrench_of_zero_ends_the_last_one_and_another_frame_keeps_its_own(make):
    loop = make()
    for frame in ('forearm', 'upper_arm'):
        loop.apply_wrench(ExternalWrench(frame, np.ones(6)))
    loop.apply_wrench(ExternalWrench('forearm', np.zeros(6)))
    loop.step(0.0)
    assert set(loop.plant.wrenches) == {'upper_arm'}


@pytest.mark.parametrize('stamp', [None, 7])
def test_no_effort_is_held_from_before_the_state_was_set(make, stamp):
    loop = make(on_command_timeout='hold_last', hold_until_command=False)
    for _ in range(2):
        loop.command(ReceivedCommand(np.ones(2), stamp, -1.0))  # too old
        loop.step(0.0)
        assert not loop.plant.braked
        np.testing.assert_array_equal(loop.plant.effort, [0, 0])
        loop.command(ReceivedCommand(HOLD, stamp, 0.0))
        loop.step(0.0)
        loop.step(0.6)
        np.testing.assert_array_equal(loop.plant.effort, HOLD)
        loop.set_state(SetState(np.zeros(2), np.zeros(2)))


# -- lock step ------------------------------------------------------------------------------


def test_time_does_not_advance_before_the_first_command(make):
    loop = make(lockstep=True)
    now = run(loop, 0.0, 2.0)
    assert loop.steps == 0
    assert loop.missed == 0
    answer(loop, now)
    run(loop, now, 0.01)
    assert loop.steps == 1


def test_each_step_waits_for_the_command_of_its_state(make):
    loop = make(lockstep=True, real_time_factor=0.0)
    for k in range(20):
        assert loop.needs_publishing(0.0, REPEAT)
        loop.state_published(0.0)
        assert not loop.needs_publishing(0.0, REPEAT)
        assert not loop.is_due(0.0)
        loop.command(
            ReceivedCommand(HOLD, loop.stamp - MS, 0.0)
        )  # The command for the previous state is late.
        assert not loop.is_due(0.0)
        answer(loop, 0.0)
        assert loop.is_due(0.0)
        loop.step(0.0)
        assert loop.steps == k + 1
    assert loop.unmatched == 20
    assert loop.missed == 0


def test_the_stamp_of_a_command_from_before_a_reset_of_time_answers_no_state(make):
    loop = make(lockstep=True, real_time_factor=0.0)
    answer(loop, 0.0)
    loop.step(0.0)
    answer(loop, 0.0)
    loop.step(0.0)
    loop.reset_time()
    loop.state_published(0.0)
    assert loop.is_due(0.6)
    loop.step(0.6)  # of the state with the stamp 0
    loop.state_published(0.6)
    assert not loop.is_due(0.7)  # 1 ms, as the command before the reset
    assert loop.missed == 1


def test_a_command_without_a_stamp_is_ignored_in_lock_step(make):
    loop = make(lockstep=True, real_time_factor=0.0)
    loop.state_published(0.0)
    loop.command(ReceivedCommand(HOLD, None, 0.0))
    assert not loop.is_due(0.1)
    assert not loop.commanded


def test_the_state_is_repeated_without_a_command(make):
    loop = make(lockstep=True)
    loop.state_published(0.0)
    assert not loop.needs_publishing(REPEAT * 0.9, REPEAT)
    assert loop.needs_publishing(REPEAT, REPEAT)
    loop.state_published(REPEAT)
    assert not loop.needs_publishing(REPEAT * 1.9, REPEAT)


def test_a_missing_command_is_counted_and_the_arm_braked(make):
    loop = make(lockstep=True)
    loop.state_published(0.0)
    answer(loop, 0.0)
    loop.step(0.0)
    loop.state_published(0.001)
    loop.state_published(0.3)  # a repetition does not prolong the wait
    assert not loop.is_due(0.5)
    assert loop.is_due(0.502)
    loop.step(0.502)
    assert (loop.missed, loop.starved) == (1, True)
    assert loop.plant.braked
    np.testing.assert_array_equal(loop.plant.qd, [0, 0])
    # The controller continues, and so does the motion.
    loop.state_published(0.502)
    answer(loop, 0.51)
    assert loop.is_due(0.51)
    loop.step(0.51)
    assert not loop.plant.braked
    assert (loop.missed, loop.starved) == (1, False)


def test_between_published_states_the_command_is_held(make):
    loop = make(lockstep=True, real_time_factor=0.0, publish_every=4)
    loop.state_published(0.0)
    answer(loop, 0.0)
    for _ in range(4):
        assert loop.is_due(0.0)
        loop.step(0.0)
        np.testing.assert_array_equal(loop.plant.effort, HOLD)
    assert loop.needs_publishing(0.0, REPEAT)
    loop.state_published(0.0)
    assert not loop.is_due(0.0)
    assert loop.missed == 0


def test_the_same_commands_give_the_same_bits_for_any_wall_clock(make):
    def motion(rng, pauses):
        loop, now = make(lockstep=True, real_time_factor=0.0), 0.0
        for _ in range(200):
            now += pauses.uniform(0, 0.4)
            loop.state_published(now)
            answer(loop, now, rng.uniform(-5, 5, 2))
            loop.step(now)
        return loop.plant.q.tobytes() + loop.plant.qd.tobytes()

    first = motion(np.random.default_rng(1), np.random.default_rng(2))
    assert first == motion(np.random.default_rng(1), np.random.default_rng(3))
    assert first != motion(np.random.default_rng(4), np.random.default_rng(2))


def test_sensors_and_delays_begin_anew_at_each_start_with_the_bits_of_their_seed(elbow):
    start = SetState(np.array([0.3, -0.4]), np.zeros(2))
    sensors = Sensors(
        position_noise=1e-4, velocity_noise=1e-3, effort_noise=0.1, latency=2e-3, jitter=1e-3
    )

    def loop_of(seed):
        simulator = Simulator(
            elbow, time_step=DT, joint_models=JointModels(actuators=Actuators(delay=3e-3))
        )
        sensing = Sensing(elbow.model, sensors, DT, (seed,))
        return SimulationLoop(
            Plant(simulator), start, options(lockstep=True, real_time_factor=0.0), sensing=sensing
        )

    def motion(loop):
        commands, measured = np.random.default_rng(1), []
        for k in range(100):
            loop.state_published(float(k))
            answer(loop, float(k), commands.uniform(-5, 5, 2))
            loop.step(float(k))
            measured.append(b''.join(values.tobytes() for values in loop.measured))
        return measured

    loop = loop_of(0)
    first = motion(loop)
    loop.set_state(start)
    loop.reset_time()
    assert first == motion(loop) == motion(loop_of(0))
    assert first != motion(loop_of(1))
