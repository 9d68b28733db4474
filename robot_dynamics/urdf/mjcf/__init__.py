# SPDX-License-Identifier: Apache-2.0
"""MJCF files of MuJoCo, which reads and compiles them: to a RobotModel, and back.

compiling      the file compiled by MuJoCo, without meshes where they are not needed
coordinates    joints of the file as coordinates: equalities, friction, rotors, limits, efforts
omissions      what a model leaves out, one sentence per kind
loading        `load_mjcf`: the compiled file as a RobotModel
as_urdf        the same as the text of a URDF, for verbs and nodes
writing        `write_mjcf`: a RobotModel as MJCF
editing        changes of the numbers of a file that keep all other bytes
"""
