# SPDX-License-Identifier: Apache-2.0
"""What every wing uses and none owns: errors, files, vectors, settings, results for people.

Comes in: nothing of this package. Goes out: functions and classes without a robot. Others use
`RobotDynamicsError` (errors), `Array` and `pose` (spatial).

errors, made_once       exceptions of the package; properties that are computed once
files, resources        files written whole or not at all; the data files of the package
scalars, spatial        functions of scalars, floats or recorded; rotations, poses, six-vectors
stamps                  nanoseconds in a second
settings, yaml_text     declaration of a setting: name, unit, range; YAML of users
reporting               tables, numbers with errors, figures, findings, JSON
"""
