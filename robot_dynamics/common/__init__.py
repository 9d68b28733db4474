# SPDX-License-Identifier: Apache-2.0
"""Shared utilities: errors, files, vectors, settings, results for people.

Input: nothing of this package. Output: functions and classes without a robot. Other wings use
`RobotDynamicsError` (errors), `Array` and `pose` (spatial).

errors, made_once       exceptions of the package; properties that are computed once
files, resources        files written whole or not at all; the data files of the package
scalars, spatial        functions of scalars, floats or recorded; rotations, poses, six-vectors
stamps                  nanoseconds in a second
settings, yaml_text     declaration of a setting: name, unit, range; YAML of users
reporting               tables, numbers with errors, figures, findings, JSON
"""
