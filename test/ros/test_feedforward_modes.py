# SPDX-License-Identifier: Apache-2.0
"""The mode of the feed-forward node, against the table of `Mode`, event by event."""

import math
import time

import numpy as np
import pytest
import tiers

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from elbow import ELBOW
from rclpy.serialization import serialize_message
from std_srvs.srv import SetBool
from waiting import wait_until

from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import command_guard
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.feedforward_parts.motor_mode import Mode
from robot_dynamics.urdf.loading import parse_urdf

MS = 1_000_000
SILENCE = 0.01  # s
COLUMNS = 'mode', 'event', 'if', 'next mode'


def documented():
    """Return the next mode by mode, event and condition, from the docstring."""
    lines = Mode.__doc__.splitlines()
    (head,) = (k for k, line in enumerate(lines) if line.split() == ' '.join(COLUMNS).split())
    begins = [lines[head].index(name) for name in COLUMNS]
    table = {}
    for line in lines[head + 1 :]:
        if line.strip():
            cells = zip(begins, [*begins[1:], None], strict=True)
            mode, event, condition, after = (line[a:b].strip() for a, b in cells)
            assert (Mode[mode], event, condition) not in table
            table[Mode[mode], event, condition] = Mode[after]
    return table


TABLE = documented()


class Driven:
    """A node without an executor: everything that happens to it is a call of this test."""

    def __init__(self, graph, monkeypatch):
        self.node = graph.start(
            FeedforwardNode,
            start_enabled=False,
            ramp_time=0.0,
            max_torque_rate=[5.0],
            silence_timeout=SILENCE,
            on_collision='hold',
            on_contact_lost='hold',
        )
        self.kind = 'none'  # of contact
        self.stamp, self.others, self.q = 0, [], np.array([0.1, 0.2])
        self.poll = self.node.torques.guard.poll
        # All that are there were there first.
        monkeypatch.setattr(command_guard, 'DISCOVERY', math.inf)
        monkeypatch.setattr(self.node, 'count_publishers', lambda _: 1 + len(self.others))
        monkeypatch.setattr(command_guard, 'publishing_nodes', lambda *_: self.others)
        self.events = {
            'enabled': lambda: self.enable(True),
            'disabled': lambda: self.enable(False),
            'joint state': self.state,
            'joint states stop': self.silence,
            'blocked': lambda: self.publish_elsewhere('/other'),
            'unblocked': self.publish_elsewhere,
            'torque released': self.release,
            'other joints': self.use_other_joints,
            'activated again': self.activate_again,
        }
        self.conditions = {
            '': lambda: None,
            'another node commands': lambda: self.publish_elsewhere('/other'),
            'a torque was published': self.command_once,
            'joint states stopped': self.silence,
            'far from the reference': lambda: self.state(np.array([1.1, 1.2])),
            'a collision counts': self.collide,
            'contacts are lost': self.lose_contacts,
        }

    def enable(self, on):
        (service,) = (one for one in self.node.services if one.srv_name.endswith('/enable'))
        response = service.callback(SetBool.Request(data=on), SetBool.Response())
        assert response.success

    def state(self, q=None):
        self.stamp += MS
        q = self.q if q is None else q
        self.publish_contact()
        self.node.on_joint_state(JointReading(self.stamp, q, np.zeros(2), None))

    def silence(self):
        def is_detected():
            for timer in self.node.timers:
                timer.callback()
            return self.node.watch.silent

        wait_until(is_detected, 'the silence', 20.0, lambda: time.sleep(SILENCE / 10))

    def publish_elsewhere(self, *names):
        self.others = list(names)
        self.poll()

    def release(self):
        for _ in range(20_000):
            if not self.node.torques.gate.last.any():
                return
            self.state()

    def use_other_joints(self):
        arm = Dynamics(parse_urdf(ELBOW.replace('shoulder', 'hip')))
        for part in self.node.parts:
            part.use(arm)
        self.node.base = self.node.arm = arm

    def activate_again(self):
        self.node.trigger_deactivate()
        self.node.trigger_activate()

    def publish_contact(self):
        (contact,) = (
            one for one in self.node.subscriptions if one.topic_name.endswith('/contact')
        )
        status = DiagnosticStatus(message=self.kind)
        contact.callback(serialize_message(DiagnosticArray(status=[status])))

    def collide(self):
        self.kind = 'collision'
        self.publish_contact()

    def lose_contacts(self):
        self.kind = 'unknown'
        self.node.contact.level.silence = 10**9

    def command_once(self):
        self.state()
        self.silence()

    def enter(self, mode):
        if mode is not Mode.DISABLED:
            self.enable(True)
        if mode in (Mode.COMMANDING, Mode.RELEASING, Mode.BLOCKED, Mode.COLLIDED):
            for _ in range(1000):
                self.state()
        if mode is Mode.RELEASING:
            self.enable(False)
        if mode is Mode.COLLIDED:
            self.collide()
            self.state()
        if mode is Mode.BLOCKED:
            self.publish_elsewhere('/other')
        assert self.node.mode is mode


EVENTS = list(dict.fromkeys(event for _, event, _ in TABLE))
# What changes no mode, event by event
UNCHANGED = [case for mode in Mode for event in EVENTS if (case := (mode, event, '')) not in TABLE]


@pytest.mark.parametrize(
    ('mode', 'event', 'condition'),
    [
        *tiers.slow_rows([*TABLE, *UNCHANGED[::3]]),
        *tiers.soak_rows([*UNCHANGED[1::3], *UNCHANGED[2::3]]),
    ],
    ids=lambda item: item.name if isinstance(item, Mode) else item,
)
def test_the_mode_changes_as_the_table_says(graph, monkeypatch, mode, event, condition):
    driven = Driven(graph, monkeypatch)
    driven.enter(mode)
    driven.conditions[condition]()
    assert driven.node.mode is mode, 'a condition is no event'
    driven.events[event]()
    assert driven.node.mode is TABLE.get((mode, event, condition), mode)


def test_the_table_has_every_event_and_condition(graph, monkeypatch):
    driven = Driven(graph, monkeypatch)
    assert set(driven.events) == set(EVENTS)
    assert set(driven.conditions) == {condition for _, _, condition in TABLE}
    assert {mode for mode, _, _ in TABLE} == set(TABLE.values()) == set(Mode)
