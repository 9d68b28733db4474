from robot_dynamics.nodes.publisher_guard import PublisherGuard, RivalGuard


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
    assert not guard.look(['/ours', '/theirs'], 12.0)
    assert not guard.waits
    assert guard.conflict == '/theirs commands the same motors'
    assert not guard.look(['/ours'], 13.0)
    assert not guard.conflict


def test_the_ghost_of_ones_own_past_is_no_rival():
    guard = RivalGuard('/ours')
    guard.switch_on(0.0)
    guard.look(['/ours', '/ours'], 0.1)
    assert not guard.waits
