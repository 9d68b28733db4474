from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from robot_dynamics.ros.publisher_guard import FEW, TWO_ANSWER, PublisherGuard


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
