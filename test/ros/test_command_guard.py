# SPDX-License-Identifier: Apache-2.0
"""The command guard, with a node and a graph that tests can write to."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from robot_dynamics.ros import diagnostics
from robot_dynamics.ros.command_guard import (
    DISCOVERY,
    CommandGuard,
    CommandInputGuard,
    ConflictError,
)

TOPIC = '/commands'


class Node:
    """The part of a node that the guards use."""

    active = True

    def __init__(self):
        self.publishers = ['ours']

    def get_fully_qualified_name(self):
        return '/ours'

    def create_steady_timer(self, period, callback):
        assert 0 < period < DISCOVERY / 10
        self.timer = callback

    def count_publishers(self, topic):
        return len(self.publishers)

    def get_publishers_info_by_topic(self, topic):
        assert topic == TOPIC
        return [SimpleNamespace(node_namespace='/', node_name=name) for name in self.publishers]


class Setting:
    def __init__(self):
        self.now, self.blocked, self.node = 10.0, 0, Node()
        self.guard = CommandGuard(
            self.node, [SimpleNamespace(topic_name=TOPIC)], self.on_change, lambda: self.now
        )
        self.guard.enable()

    def on_change(self):
        self.blocked += self.guard.blocked

    def poll(self, after, *others):
        self.now, self.node.publishers = 10.0 + after, ['ours', *others]
        self.node.timer()


def test_alone_a_node_commands():
    setting = Setting()
    setting.poll(1.0)
    assert not setting.guard.blocked
    assert setting.guard.status() is None


def test_a_node_discovered_soon_was_there_first_and_blocks_until_it_is_gone():
    setting = Setting()
    setting.poll(DISCOVERY / 2, 'theirs')
    assert setting.guard.blocked
    assert setting.blocked == 1
    level, message = setting.guard.status()
    assert level == diagnostics.ERROR
    assert message == '/theirs commands the same motors: no torque is published until it stops'
    setting.poll(10 * DISCOVERY, 'theirs')
    assert setting.guard.blocked
    assert setting.blocked == 1
    setting.poll(11 * DISCOVERY)
    assert not setting.guard.blocked


def test_enabling_while_another_node_commands_is_blocked_each_time():
    setting = Setting()
    setting.poll(2 * DISCOVERY, 'theirs')
    for count in (1, 2):
        setting.guard.enable()
        assert setting.guard.blocked
        assert setting.blocked == count
    setting.poll(3 * DISCOVERY)
    setting.guard.enable()
    assert not setting.guard.blocked
    assert setting.blocked == 2


def test_a_node_that_was_never_enabled_is_blocked_by_a_poll_alone():
    node, now = Node(), 10.0
    guard = CommandGuard(node, [SimpleNamespace(topic_name=TOPIC)], clock=lambda: now)
    assert not guard.blocked
    now += 2 * DISCOVERY
    node.publishers = ['ours', 'theirs']
    node.timer()
    assert not guard.blocked
    assert guard.others == ['/theirs']


@pytest.mark.parametrize('enabled', [True, False])
def test_an_inactive_node_does_not_look_for_others(enabled):
    setting = Setting()
    setting.node.active = enabled
    setting.poll(2 * DISCOVERY, 'theirs')
    assert (setting.guard.status() is not None) == enabled


def test_a_node_that_comes_later_is_an_error_and_blocks_only_the_next_enabling():
    setting = Setting()
    setting.poll(2 * DISCOVERY, 'theirs')
    assert not setting.guard.blocked
    assert setting.guard.status() == (diagnostics.ERROR, '/theirs commands the same motors')
    setting.guard.enable()
    assert setting.guard.blocked


def test_a_publisher_of_the_same_name_or_of_no_known_node_never_blocks():
    setting = Setting()
    for after in (0.1, 2 * DISCOVERY):
        # As rmw names the node of a publisher that is discovered before its node.
        setting.poll(after, 'ours', '_NODE_NAME_UNKNOWN_')
        assert not setting.guard.blocked
        assert not setting.guard.conflict


def test_commands_of_several_nodes_are_a_conflict_until_one_is_gone():
    node = Node()
    guard = CommandInputGuard(node, [TOPIC])
    for publishers, conflict in (
        (['a'], ''),
        (['a', 'a'], ''),
        (['b', 'a'], '/a, /b all send commands; stop all but one'),
        (['b'], ''),
    ):
        node.publishers = publishers
        node.timer()
        assert guard.conflict == conflict
        with pytest.raises(ConflictError, match=conflict) if conflict else nullcontext():
            guard.reject_conflict()
        assert (guard.status() is None) == (not conflict)
