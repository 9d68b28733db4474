"""Thousands of arms at once, which differ in their loads, friction and starts.

`batch` steps them, `perturbations` says in what they differ, `tracking` makes them follow a
trajectory, `progress` shows how far they are; `monte_carlo` is a study made of these.
"""
