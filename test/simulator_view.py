# SPDX-License-Identifier: Apache-2.0
"""Client of a simulator node for tests: commands, states, services and parameters."""

import numpy as np

from robot_dynamics.ros import messages

START = [0.3, -0.4]
MS = 1_000_000


def stamp(message):
    return messages.nanoseconds(message.header.stamp)


class SimulatorView:
    """A simulator node, its states, and a way to answer them."""

    def __init__(self, graph, commands='joint_effort', remap=(), **parameters):
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from robot_dynamics.ros.nodes.simulator_node import SimulatorNode

        self.graph = graph
        values = {'initial_positions': START, **parameters}
        self.node = graph.start(SimulatorNode, remap=remap, **values)
        self.states = graph.listen(JointState, 'joint_states', 100)
        kind = Float64MultiArray if commands.endswith('commands') else JointState
        self.commands = graph.publisher(kind, commands)

    def command(self, tau, at=0, names=('elbow', 'shoulder')):
        """Send a torque in the model's order, by name."""
        from sensor_msgs.msg import JointState

        message = JointState(name=list(names), effort=[float(tau[1]), float(tau[0])])
        message.header.stamp = messages.time_message(at)
        self.commands.publish(message)

    def state(self, after=-1):
        """Return a state published later than the stamp `after`."""
        self.graph.until(
            lambda: self.states and stamp(self.states[-1]) > after, f'a state after {after} ns'
        )
        return self.states[-1]

    def steps(self):
        """Return the times between the states, ns; a state that is late is published again."""
        return set(np.diff(np.unique([stamp(message) for message in self.states])))

    def call(self, verb):
        from std_srvs.srv import Trigger

        return self.graph.call(Trigger, f'simulator_node/{verb}')

    def set(self, **values):
        """Set parameters together; return why they were rejected, or ''."""
        from rcl_interfaces.srv import SetParametersAtomically
        from rclpy.parameter import Parameter

        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
                for name, value in values.items()
            ]
        )
        result = self.graph.call(
            SetParametersAtomically, 'simulator_node/set_parameters_atomically', request
        ).result
        return '' if result.successful else result.reason

    def drive(self, rng, steps):
        """Send random torques for a number of states in lock step."""
        for _ in range(steps):
            now = self.state(after=self.node.loop.stamp - 1)
            self.command(rng.uniform(-5, 5, 2), at=stamp(now))
            self.state(after=stamp(now))
