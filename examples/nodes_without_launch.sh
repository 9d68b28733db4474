#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Start a simulated arm, its feed-forward torque, its dynamics and its description as plain
# executables with --ros-args; `robot-dynamics view --live` shows the arm. Works with the ROS 2
# wheels, which have no `ros2` command.
#
#     examples/nodes_without_launch.sh [ROBOT.urdf]        Ctrl-C ends it
#
# With pip the executables are on the PATH; with colcon write `ros2 run robot_dynamics` before each.
set -euo pipefail

robot=${1:-$(dirname -- "${BASH_SOURCE[0]}")/../urdf/panda.urdf}

# One gain per joint, as a file of parameters.
gains=$(mktemp --suffix .yaml)
robot-dynamics gains "$robot" >"$gains"

# SIGTERM shuts the nodes down in order. (Background programs of a script ignore SIGINT.)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -f "$gains"' EXIT
trap 'exit 0' INT TERM

# The simulator publishes joint_states and /clock, which the other nodes use.
simulator_node --ros-args \
    -p robot_description_file:="$robot" -p publish_clock:=true &

# The torque is remapped to the command topic of the simulated arm.
feedforward_node --ros-args \
    -p robot_description_file:="$robot" -p use_sim_time:=true \
    --params-file "$gains" -r '~/feedforward_torque:=joint_effort' &

dynamics_node --ros-args \
    -p robot_description_file:="$robot" -p use_sim_time:=true &

# Publishes robot_description, and /tf where tf2_msgs is installed (no wheel has it).
state_publisher_node --ros-args -p robot_description_file:="$robot" -p use_sim_time:=true &

wait
