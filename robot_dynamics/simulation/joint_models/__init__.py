"""Models of joints and drives: actuators, friction, stops, payloads.

`JointModels` in `settings` selects them for a simulator.
"""
