# SPDX-License-Identifier: Apache-2.0
"""Tasks in the background thread of a node: slow ones, failing ones, and those that follow."""

import threading

import numpy as np
import pytest

pytest.importorskip('rclpy')

from elbow import ELBOW
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode


class Task:
    """A task of a node: each waits for `end`, and fails if that has an error."""

    def __init__(self, graph, monkeypatch, kind):
        self.graph, self.kind, self.number = graph, kind, 0
        self.began, self.allowed, self.error = threading.Event(), threading.Event(), None
        self.ended = []
        robot = {} if kind == 'estimate' else {'description': ''}
        self.descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
        if kind == 'robot':
            self.describe()
        self.node = graph.start(DynamicsNode, **robot)
        graph.until(lambda: self.node.active, 'the node')
        self.part = self.node.estimator if kind == 'estimate' else self.node.robot
        run = self.part._in_background

        def slow(*arguments):
            self.began.set()
            assert self.allowed.wait(20.0)
            try:
                if self.error is not None:
                    raise self.error
                return run(*arguments)
            finally:
                self.ended.append(self.error)

        monkeypatch.setattr(self.part, '_in_background', slow)

    def describe(self):
        self.number += 1
        self.descriptions.publish(
            String(data=ELBOW.replace('<mass value="0.7"/>', f'<mass value="{self.number}"/>'))
        )

    def begin(self):
        """Begin a task, which waits for `end`."""
        self.began.clear()
        self.allowed.clear()
        if self.kind == 'robot':
            self.describe()
        else:
            for k in range(500):
                q = np.array([np.sin(0.02 * k), np.cos(0.03 * k)])
                qd = np.array([np.cos(0.02 * k), -1.5 * np.sin(0.03 * k)]) * 2
                self.node.estimator.record(JointReading(k * SECOND // 100, q, qd, 0 * q + 1.0))
            assert self.graph.call(Trigger, 'dynamics_node/estimate_payload').success
        self.graph.until(self.began.is_set, 'the task')

    def end(self, error=None):
        self.error = error
        self.allowed.set()
        self.graph.until(lambda: self.part._task is None, 'its end')

    @property
    def used(self):
        """Number of the result in use."""
        if self.kind == 'robot':
            return self.node.base.model.mass[1]
        return None if self.part._found is None else self.number


@pytest.mark.parametrize('error', [ModelError('a test'), ArithmeticError('a test')])
@pytest.mark.parametrize('kind', ['robot', 'estimate'])
def test_a_task_that_fails_is_reported_and_the_next_one_runs(graph, monkeypatch, kind, error):
    task = Task(graph, monkeypatch, kind)
    before, counts = task.used, task.node.health.counts.copy()
    task.begin()
    assert task.used == before  # while it runs
    task.end(error)
    assert task.used == before
    reported = task.node.health.counts != counts or 'a test' in str(task.part.status())
    assert reported
    assert task.part._thread._work_queue.empty()
    task.begin()
    task.end()
    assert task.ended == [error, None]
    assert task.used != before or task.part.status() is not None


@pytest.mark.parametrize('kind', ['robot', 'estimate'])
def test_a_slow_task_of_a_robot_that_is_replaced_has_no_effect(graph, monkeypatch, kind):
    task = Task(graph, monkeypatch, kind)
    task.begin()
    for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
        getattr(task.node, f'trigger_{transition}')()
    arm = task.node.arm
    task.end()
    assert task.node.arm is arm
    if kind == 'estimate':
        assert task.part._found is None
        assert 'changed meanwhile' in task.part.status()[1]
