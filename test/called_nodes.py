# SPDX-License-Identifier: Apache-2.0
"""Nodes whose inputs are given to their callbacks, without the middleware."""

import numpy as np
from rclpy.serialization import serialize_message

from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode


def rows(values):
    """Return nested results as lists, which compare by their numbers."""
    if isinstance(values, tuple):
        return [rows(value) for value in values]
    return values.tolist() if isinstance(values, np.ndarray) else values


class CalledNode:
    """A dynamics or feed-forward node, and what it would publish."""

    def __init__(self, graph, node_class, **parameters):
        self.node = graph.start(node_class, **parameters)
        self._answer = {}
        if node_class is DynamicsNode:
            self.node.terms.publish = lambda stamp, terms: self._answer.update(
                {name: values.tolist() for name, values in terms.items()}
            )
        else:
            self.node.torques.publish = lambda stamp, tau: self._answer.update(tau=tau.tolist())
            self.node.states.publish = lambda state, reference, *_, **__: self._answer.update(
                reference=rows(tuple(reference)), stamp=state.stamp
            )

    def give(self, topic, content):
        """Call back with a message, if the node subscribes to its topic."""
        for subscription in self.node.subscriptions:
            if subscription.topic_name == topic:
                subscription.callback(serialize_message(content))

    def answer(self, state):
        """Return what the node publishes for a message of joint states, by name."""
        self._answer.clear()
        self.give('/joint_states', state)
        return dict(self._answer)

    def begin_anew(self):
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            getattr(self.node, f'trigger_{transition}')()
