from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from robot_dynamics.ros.publisher_guard import (
    FEW,
    SETTLING,
    SILENCE,
    TWO_ANSWER,
    NamesakeGuard,
    PublisherGuard,
    RivalGuard,
)


def exchange(guard, states, answers):
    for _ in range(states):
        guard.published()
    for _ in range(answers):
        guard.heard()


def test_one_commander_is_fine():
    guard = PublisherGuard()
    exchange(guard, 100, 100)
    guard.look(['/controller'])
    assert not guard.conflict


def test_two_nodes_of_different_names_are_two_commanders_until_one_is_gone():
    guard = PublisherGuard()
    guard.look(['/controller', '/somebody_else'])
    assert '/controller, /somebody_else' in guard.conflict
    guard.look(['/controller'])
    assert not guard.conflict


def test_the_ghost_of_a_restarted_controller_does_not_lock_it_out():
    guard = PublisherGuard()
    exchange(guard, 100, 101)
    guard.look(['/controller', '/controller'])
    assert not guard.conflict


def test_two_nodes_of_one_name_are_known_by_their_answers():
    guard = PublisherGuard()
    exchange(guard, 100, 200)
    guard.look(['/controller', '/controller'])
    assert 'several nodes named /controller' in guard.conflict
    exchange(guard, 100, 100)
    guard.look(['/controller', '/controller'])
    assert not guard.conflict


def test_a_conflict_that_is_gone_can_come_again():
    guard = PublisherGuard()
    for _ in range(2):
        exchange(guard, 100, 200)
        guard.look(['/controller', '/controller'])
        assert guard.conflict
        exchange(guard, 100, 100)
        guard.look(['/controller', '/controller'])
        assert not guard.conflict
    # Also after the second one was gone, and what was counted then.
    exchange(guard, 1000, 1000)
    guard.look(['/controller'])
    exchange(guard, 100, 200)
    guard.look(['/controller', '/controller'])
    assert guard.conflict


class GuardMachine(RuleBasedStateMachine):
    """A verdict depends on the publishers and on the messages since the last verdict alone."""

    def __init__(self):
        super().__init__()
        self.guard = PublisherGuard()
        self.commands = self.states = 0

    @rule(states=st.integers(0, 40), commands=st.integers(0, 80))
    def exchange(self, states, commands):
        exchange(self.guard, states, commands)
        self.states, self.commands = self.states + states, self.commands + commands

    @rule(publishers=st.lists(st.sampled_from(['/first', '/second']), max_size=3))
    def look(self, publishers):
        before = self.guard.conflict
        self.guard.look(publishers)
        conflict, names = self.guard.conflict, set(publishers)
        if len(publishers) < 2:
            assert not conflict
        elif len(names) == 2:
            assert '/first, /second all send commands' in conflict
        elif self.commands < FEW:
            assert conflict == before
            return  # no verdict: the counts add up
        else:
            assert bool(conflict) == (self.commands > TWO_ANSWER * self.states)
            assert not conflict or f'several nodes named {names.pop()}' in conflict
        self.commands = self.states = 0


TestGuardMachine = GuardMachine.TestCase


def test_few_commands_change_no_verdict_but_add_up():
    guard = PublisherGuard()
    exchange(guard, 3, 6)
    guard.look(['/controller', '/controller'])
    assert guard.conflict
    # Refused commands stop a simulation in lock step: few states, and two answers to each.
    for _ in range(6):
        exchange(guard, 1, 2)
        guard.look(['/controller', '/controller'])
        assert guard.conflict
    for _ in range(6):
        exchange(guard, 1, 1)
        guard.look(['/controller', '/controller'])
    assert not guard.conflict
    exchange(guard, 3, 6)
    guard.look(['/controller', '/controller'])
    guard.look(['/controller'])
    assert not guard.conflict


def test_who_comes_second_waits_until_the_first_is_gone():
    guard = RivalGuard('/ours')
    guard.switch_on(10.0)
    assert not guard.look(['/ours'], 10.1)
    assert not guard.waits
    assert not guard.conflict
    assert not guard.look(['/ours', '/theirs'], 10.2)  # discovered late, but there before
    assert guard.waits
    assert '/theirs commands the same motors: no torque' in guard.conflict
    assert not guard.look(['/ours', '/theirs'], 60.0)
    assert guard.waits
    assert guard.look(['/ours'], 60.1)
    assert not guard.waits
    assert not guard.look(['/ours'], 60.2)


def test_who_was_first_goes_on_and_complains():
    guard = RivalGuard('/ours')
    guard.switch_on(10.0)
    guard.look(['/ours'], 10.1)
    assert not guard.look(['/ours', '/theirs'], 10.1 + SETTLING)
    assert not guard.waits
    assert guard.conflict == '/theirs commands the same motors'
    assert not guard.look(['/ours'], 20.0)
    assert not guard.conflict


def test_the_ghost_of_ones_own_past_is_no_rival():
    guard = RivalGuard('/ours')
    guard.switch_on(0.0)
    guard.look(['/ours', '/ours'], 0.1)
    assert not guard.waits


def states(guard, begin, end, step=0.01):
    """Let states come in a span of time; return whether the last was to be answered."""
    answered, now = None, begin
    while now < end:
        answered, now = guard.asked(now), now + step
    return answered


def test_alone_there_is_nothing_to_wait_for_and_nothing_to_hear():
    guard = NamesakeGuard('/ours')
    guard.switch_on(10.0)
    guard.look(0, 10.0)
    assert guard.asked(10.0)
    assert not guard.listens
    assert not guard.conflict


def test_a_ghost_does_not_answer_and_is_forgotten():
    guard = NamesakeGuard('/ours')
    guard.switch_on(10.0)
    guard.look(1, 10.0)
    assert guard.listens
    assert not guard.asked(30.0)  # however long there was nothing to be answered
    assert not states(guard, 30.0, 30.0 + SILENCE)
    assert not guard.conflict
    assert states(guard, 30.0 + SILENCE, 31.1)
    guard.look(1, 31.1)
    assert not guard.waits
    assert not guard.conflict
    guard.look(1, 31.1 + 2 * SETTLING)
    assert not guard.listens
    guard.look(0, 50.0)
    assert guard.asked(50.0)


def test_a_namesake_that_answers_has_the_motors_until_it_is_gone():
    guard = NamesakeGuard('/ours')
    guard.switch_on(10.0)
    guard.look(1, 9.9 + SETTLING)  # discovered late, but there before
    now = 14.0
    while now < 20.0:
        assert not guard.asked(now)
        guard.heard()
        guard.look(1, now)
        now += 0.01
    assert 'another /ours commands the same motors: no torque' in guard.conflict
    assert not states(guard, 20.0, 20.0 + SILENCE - 0.02)
    guard.look(0, 20.5)
    assert guard.asked(20.5)
    assert not guard.conflict


def test_a_namesake_that_comes_later_is_complained_about_and_changes_nothing():
    guard = NamesakeGuard('/ours')
    guard.switch_on(10.0)
    guard.look(0, 10.1)
    guard.look(1, 10.1 + SETTLING)
    assert guard.asked(20.0)
    assert guard.conflict == 'another /ours is there for the same motors'
    guard.look(0, 21.0)
    assert not guard.conflict


def test_of_several_that_begin_together_one_remains():
    """Each hears what all say. Whoever is still silent then leaves the motors to the speaker."""
    for count in (2, 3):
        for _ in range(20):
            guards = [NamesakeGuard('/ours') for _ in range(count)]
            for guard in guards:
                guard.switch_on(0.0)
            speaking = []
            for k in range(10_000):  # states at 1 kHz, heard by all; answers are heard by the next
                for _ in speaking:
                    for guard in guards:
                        guard.heard()
                if k % 100 == 0:
                    for guard in guards:
                        guard.look(count - 1, k * 1e-3)
                speaking = [guard for guard in guards if guard.asked(k * 1e-3)]
            assert len(speaking) == 1


def test_two_that_have_begun_at_the_same_time_hear_each_other_and_try_again(monkeypatch):
    luck = iter([0.5, 0.5, 0.2, 0.8])
    monkeypatch.setattr('robot_dynamics.ros.publisher_guard.random.random', lambda: next(luck))
    guards = [NamesakeGuard('/ours') for _ in range(2)]
    together = 0
    for guard in guards:
        guard.switch_on(0.0)
    speaking = []
    for k in range(5_000):
        for _ in speaking:
            for guard in guards:
                guard.heard()
        for guard in guards:
            guard.look(1, k * 1e-3)
        speaking = [guard for guard in guards if guard.asked(k * 1e-3)]
        together += len(speaking) == 2
    assert 0 < together < 20
    assert speaking == guards[:1]
