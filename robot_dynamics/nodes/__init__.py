"""The only place that knows ROS 2: thin adapters around the pure functions of the package.

A node decodes a message, calls one pure function and encodes the answer; arithmetic lives
elsewhere. What is common to the nodes is here once:

    joint_states.py   joint data by name: shuffled, partial, short and broken messages
    messages.py       the package's arrays <-> ROS messages (linear-first wrenches, layouts)
    parameters.py     one table per node: declaration, ranges, validation, typed snapshot
    description.py    robot_description from parameter, file or latched topic
    qos.py            the profiles, by purpose
    diagnostics.py    what every node says about itself once a second
    robot_node.py     a node that has a robot
    _main.py          start, run and stop: the only exit path

and each node is a file: dynamics_node, feedforward_node, simulator_node, pybullet_validator_node.
The state machines of two of them need no ROS either: reference_follower.py decides what the
feed-forward node follows, simulation_loop.py when the simulator steps.
"""
