"""Robot descriptions: URDF and xacro files are read, checked and turned into a RobotModel."""
