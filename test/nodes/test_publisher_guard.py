from robot_dynamics.nodes.publisher_guard import PublisherGuard


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
