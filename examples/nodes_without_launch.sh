#!/usr/bin/env bash
# A simulated arm, its feed-forward torque and its dynamics, without `ros2 launch`: as plain
# executables with --ros-args. Works with the ROS 2 wheels, which have no `ros2` command.
#
#     examples/nodes_without_launch.sh [ROBOT.urdf]        Ctrl-C ends it
#
# With pip the executables are on the PATH; with colcon write `ros2 run robot_dynamics` before each.
set -euo pipefail

robot=${1:-$(dirname -- "${BASH_SOURCE[0]}")/../urdf/panda.urdf}

# One gain per joint, as a file of parameters.
gains=$(mktemp --suffix .yaml)
robot-dynamics gains "$robot" >"$gains"

# The nodes end with this script: SIGTERM makes each shut down in order. (Programs that a script
# starts in the background ignore SIGINT.)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -f "$gains"' EXIT
trap 'exit 0' INT TERM

# The simulator publishes joint_states and /clock, and the others take their time from it.
simulator_node --ros-args \
    -p robot_description_file:="$robot" -p publish_clock:=true &

# Its torque goes to the simulated arm by name.
feedforward_node --ros-args \
    -p robot_description_file:="$robot" -p use_sim_time:=true \
    --params-file "$gains" -r '~/feedforward_torque:=joint_effort' &

dynamics_node --ros-args \
    -p robot_description_file:="$robot" -p use_sim_time:=true &

wait
