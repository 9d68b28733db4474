"""The only place that knows ROS 2: thin adapters around the pure functions of the package.

A node decodes a message, calls one pure function and encodes the answer; arithmetic lives
elsewhere. What is common to the nodes is here once:

    joint_states.py   joint data by name: shuffled, partial, short and broken messages
    messages.py       the package's arrays <-> ROS messages (linear-first wrenches, layouts)
    parameters.py     one table per node: declaration, ranges, validation, typed snapshot
    description.py    robot_description from parameter, file or latched topic
    managed_node.py   the lifecycle: configure, activate, deactivate, cleanup, shutdown
    qos.py            the profiles, by purpose
    diagnostics.py    what every node says about itself once a second
    robot_node.py     a node that has a robot
    live_robot.py     one that answers joint states, of a robot whose load may change
    _main.py          start, run and stop: the only exit path

and each node is a file: dynamics_node, feedforward_node, simulator_node, pybullet_validator_node,
markers_node (with markers.py and thinning.py), state_publisher_node. launch_values.py is what the
launch files compute.
What decides needs no ROS either: reference_follower.py says what the feed-forward node follows,
simulator/ when the simulator steps and what people may ask of it. recordings/ keeps its runs in
files and makes them again.
"""
