# SPDX-License-Identifier: Apache-2.0
# A colcon workspace with this package on ROS 2 jazzy, as docs/start/install.md builds one.
FROM ros:jazzy

WORKDIR /ws
COPY . src/robot_dynamics
# rviz2 and the window of sliders need a display, and the engines come from pip; pinocchio remains.
RUN apt-get update && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src --ignore-src -y --skip-keys 'python3-pybullet-pip python3-mujoco-pip rviz2 joint_state_publisher_gui' \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages llvmlite
RUN . /opt/ros/jazzy/setup.sh && colcon build --packages-select robot_dynamics

ENTRYPOINT ["bash", "-c", "source /ws/install/setup.bash && exec \"$@\"", "--"]
CMD ["ros2", "launch", "robot_dynamics", "simulation.launch.py", "rviz:=false"]
