# SPDX-License-Identifier: Apache-2.0
"""The nodes of the package, one per file.

    dynamics_node             terms of the equation of motion for every joint state
    feedforward_node          torques that follow a trajectory or a stream of references
    simulator_node            simulation of an effort-controlled arm
    pybullet_validator_node   comparison of published torques with a reference engine
    momentum_observer_node    torques and contact of the environment
    markers_node              weights, torques and inertias as rviz markers
    state_publisher_node      transforms of all links

A node is a subclass of `RobotNode` that owns parts; both are in `robot_dynamics.ros`. Parts that
serve one node alone are in the folder of its name. Begin with `dynamics_node`.
"""
