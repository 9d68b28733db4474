"""What is between an ideal torque and an ideal joint: drives, friction, stops, loads.

`joint_effects` is the choice of them that a simulator is given.
"""
