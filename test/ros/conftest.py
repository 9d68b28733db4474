# SPDX-License-Identifier: Apache-2.0
"""Nodes in process: a graph of their own, real messages, and deadlines instead of sleeps."""

import functools
import gc
import os
import time
from pathlib import Path

import pytest
from domains import use_free_domain
from elbow import ELBOW
from live_nodes import kill_all
from waiting import wait_until

from robot_dynamics.ros.middleware import VARIABLES

# Read when rclpy and the messages are imported; messages check their fields.
use_free_domain()
os.environ['ROS_PYTHON_CHECK_FIELDS'] = '1'
# Read when the first node is made. Tests kill processes, and where these share memory with others,
# Fast DDS 2.14 ends one of a hundred of the others, with a segmentation fault when it removes its
# participant. The range LOCALHOST would add shared memory to the profile, which is as narrow.
os.environ.update(dict.fromkeys(VARIABLES, str(Path(__file__).with_name('loopback.xml'))))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SUBNET'

# s, for what takes milliseconds unless it is broken or the machine is busy
DEADLINE = 20.0
DEADLINE_OF_PROCESSES = 60.0  # which have to start first


def has_children():
    """Return whether this process has started others."""
    return any(path.read_text() for path in Path('/proc/self/task').glob('*/children'))


@functools.cache
def set_aside():
    """Spare later collections what all the other tests have left: once."""
    gc.collect()
    gc.freeze()


class Graph:
    """Some nodes in one process and one context, and a probe that talks to them."""

    def __init__(self):
        import rclpy
        from rclpy.context import Context

        from robot_dynamics.ros.executable import new_executor

        use_free_domain()
        # Nodes and their callbacks hold each other. Until they are collected each keeps its
        # threads and sockets, and hundreds of them are more than a process can have.
        set_aside()
        gc.collect()
        self.context = Context()
        rclpy.init(context=self.context)
        self.executor = new_executor(self.context)
        self.nodes = []
        self.clients = {}
        self.probe = rclpy.create_node('probe', context=self.context)
        self.executor.add_node(self.probe)

    def start(self, node_class, remap=(), description=ELBOW, **parameters):
        """Start a node; parameter names with dots are written with double underscores."""
        from rclpy.parameter import Parameter

        values = {name.replace('__', '.'): value for name, value in parameters.items()}
        if description:
            values['robot_description'] = description
        arguments = [item for rule in remap for item in ('-r', rule)]
        node = node_class(
            context=self.context,
            parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
            cli_args=['--ros-args', *arguments] if arguments else None,
        )
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def stop(self, node):
        self.executor.remove_node(node)
        self.nodes.remove(node)
        self.drain(0.05)  # what the executor has in hand still goes to the node
        node.destroy_node()

    def until(self, condition, what):
        """Turn the executor until the condition holds."""
        deadline = DEADLINE_OF_PROCESSES if has_children() else DEADLINE
        wait_until(condition, what, deadline, lambda: self.executor.spin_once(timeout_sec=0.01))

    def drain(self, seconds=0.2):
        """Turn the executor for a while, to see that something does not happen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def listen(self, message_type, topic, qos=10):
        """Return a list that fills with the topic's messages, once its publisher is there."""
        import copy

        received = []
        subscription = self.probe.create_subscription(
            message_type, topic, lambda message: received.append(copy.deepcopy(message)), qos
        )
        self.until(lambda: self.probe.count_publishers(subscription.topic_name), topic)
        return received

    def publisher(self, message_type, topic, qos=10):
        """Return a publisher that has a subscriber."""
        publisher = self.probe.create_publisher(message_type, topic, qos)
        self.until(lambda: publisher.get_subscription_count(), f'a subscriber of {topic}')
        return publisher

    def call(self, service_type, name, request=None):
        """Return a service's response."""
        if name not in self.clients:
            self.clients[name] = self.probe.create_client(service_type, name)
        client = self.clients[name]
        self.until(client.service_is_ready, name)
        future = client.call_async(request or service_type.Request())
        self.until(future.done, f'an answer of {name}')
        return future.result()

    def close(self):
        self.executor.shutdown()
        for node in (*self.nodes, self.probe):
            node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(autouse=True)
def _end_processes():
    """End the nodes that a test has started, also if it fails."""
    yield
    kill_all()


@pytest.fixture
def graph():
    pytest.importorskip('rclpy')
    graph = Graph()
    yield graph
    kill_all()  # while the context is there: their messages reach no subscription that has ended
    graph.close()
