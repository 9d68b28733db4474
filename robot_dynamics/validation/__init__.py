# SPDX-License-Identifier: Apache-2.0
"""Validation of a robot's dynamics: laws of physics, derivations, and reference engines.

Input: a description, or torques that a system publishes. Output: a verdict, residuals, and
the mistake that explains them. Other wings use `EngineComparison` (comparison), `MotionComparison`
(observation) and `Report` (engine_report).

identities          laws that hold for every robot, each a function that returns its residual
formulations        all derivations of this package, compared with one another on one robot
comparison          a robot compared with PyBullet, MuJoCo or Pinocchio
observation         the torques that a running system publishes, compared in the same way
diagnosis           the modelling mistake that explains a difference
mistakes            mistakes in which torques are linear: gravity, inertias, friction, scale
kinematic_mistakes  joint order, mimic joints at rest, reversed axes, shifted origins
report              verdict, residuals and notes of a comparison
engines             one adapter per physics engine, each in a process of its own
"""
