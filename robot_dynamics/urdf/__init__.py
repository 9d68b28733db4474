"""Conversion of robot descriptions, URDF or xacro, to a RobotModel."""
