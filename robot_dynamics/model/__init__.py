"""What the robot is: data only, it never sees a joint position."""
