# SPDX-License-Identifier: Apache-2.0
"""A planar arm of two links as URDF text."""

# Two joints with friction and limits; the tree lists the shoulder first.
ELBOW = """
<robot name="elbow">
  <link name="base"/>
  <link name="upper_arm">
    <inertial>
      <origin xyz="0.25 0 0.01"/><mass value="1.5"/>
      <inertia ixx="0.004" iyy="0.03" izz="0.031" ixy="0.001" ixz="0" iyz="0.0005"/>
    </inertial>
  </link>
  <link name="forearm">
    <inertial>
      <origin xyz="0.2 0.01 0"/><mass value="0.7"/>
      <inertia ixx="0.001" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper_arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="5"/>
    <dynamics damping="0.1" friction="0.05"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper_arm"/><child link="forearm"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" effort="20" velocity="5"/>
    <dynamics damping="0.2" friction="0.02"/>
  </joint>
</robot>
"""
