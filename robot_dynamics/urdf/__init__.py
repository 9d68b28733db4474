# SPDX-License-Identifier: Apache-2.0
"""Conversion of robot descriptions, URDF, xacro or MJCF, to a RobotModel, and back.

Input: a file or its text. Output: a model whose every number is checked, or an error that
names the element. Other wings use `load_urdf`, `parse_urdf` and `urdf_text` (loading).

reader, elements, rules  the text as records; their numbers, defaults and rules
deviations               what deviates from URDF and has one meaning; other formats
loading, tree, link_frames    payloads and locked joints; records to a model; its frames
xacro_process, packages       expansion of xacro files; folders of ROS packages
geometry                 primitives, meshes and volumes of links
editing, physics_only    changes of a text that keep all other bytes; a text without geometry
writing                  a model as URDF
mjcf                     the same with files of MuJoCo
robot_files              names of robots and files
"""
