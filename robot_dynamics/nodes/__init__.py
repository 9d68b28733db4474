"""The only place that knows ROS 2: thin adapters around the pure functions of the package.

A node decodes a message, calls one pure function and encodes the answer; arithmetic lives
elsewhere. What is common to the nodes is here once:

    joint_state_bytes.py  joint states as they come, decoded without a message object
    joint_states.py   joint data by name: shuffled, partial, short and broken messages
    messages.py       the package's arrays <-> ROS messages (linear-first wrenches, layouts)
    parameters.py     one table per node: declaration, ranges, validation, typed snapshot
    description.py    robot_description from parameter, file or latched topic
    managed_node.py   the lifecycle: configure, activate, deactivate, cleanup, shutdown
    qos.py            the profiles, by purpose
    diagnostics.py    what every node says about itself once a second
    described_node.py a node that takes its robot from the description
    preparation.py    another robot, made ready in the background
    robot_node.py     one of them with parameters, joint states and diagnostics
    varying_robot.py  a node whose robot may carry something else while it works
    live_robot.py     one of them that answers joint states
    _main.py          start, run and stop: the only exit path
    executables.py    the console scripts, which need no ROS to say what is missing
    usage.py          the text of --help

and each node is a file: dynamics_node, feedforward_node, simulator_node, pybullet_validator_node,
markers_node (with markers.py and thinning.py), state_publisher_node. launch_values.py is what the
launch files compute.
What decides needs no ROS either: reference_follower.py says what the feed-forward node follows,
simulator/ when the simulator steps and what people may ask of it. recordings/ keeps its runs in
files and makes them again.
"""
