# SPDX-License-Identifier: Apache-2.0
"""A package for ros2_control: a controller with the dynamics of one robot, and a simulated arm.

Other wings use `ros2_control_files` (package_files).

=================  ===============================================================================
`package_files`    the files of the package, from templates and the exported C
`library_cases`    torques of the library, with which the package tests its control laws
`templates`        C++, CMake and launch files with marks such as `@package@`
=================  ===============================================================================
"""
