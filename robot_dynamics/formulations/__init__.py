# SPDX-License-Identifier: Apache-2.0
"""Derivations of the equations of motion, one per file, each in the notation of its source.

Input: a `RobotModel` and a state. Output: the same torques, by derivations that share no
dynamics. Other wings use `FORMULATIONS`, `generalized_dalembert` and `newton_euler_link_frame`.

Every module of `FORMULATIONS` has a function `inverse_dynamics(model, q, qd, qdd)`, and further
functions of its derivation, under common names; all give the same numbers, for any tree of
revolute and prismatic joints. No module imports another, so that their agreement is evidence. Four
share forward kinematics (`core.kinematics.body_poses`), of which `euler_lagrange` and
`hamiltonian` share the Jacobians of the centres of mass; `twist_wrench` and `closed_form_matrix`
share the conversion to screws; the two Newton–Euler modules have kinematics of their own.

    module                    gives            wrench  cost   source
    ------------------------  ---------------  ------  -----  -----------------------------------
    euler_lagrange            tau M C g K P    yes     n^4    Spong, 6.2, 6.3; notes, (29) to (46)
    lagrange_euler_4x4        tau M C g        no      n^4    Milićević, (2.3) to (2.15)
    newton_euler_base_frame   tau              yes     n      Milićević, table 1
    newton_euler_link_frame   tau              yes     n      Milićević, table 2; Spong, 6.6
    generalized_dalembert     tau M   g h      no      n^3    Milićević, (4.1) to (4.5)
    twist_wrench              tau              yes     n      Lynch, draft (9.53) to (9.58)
    closed_form_matrix        tau M C g        yes     n^3    Lynch, draft (9.62) to (9.88)
    hamiltonian               tau M   g p H    no      n^3    Spong, end of chapter 6

    tau inverse dynamics    M inertia matrix    C Christoffel matrix    g gravity torque
    K, P kinetic and potential energy    h Coriolis torque, translation and rotation separate
    p generalized momentum    H Hamiltonian
    wrench: takes tip_wrench=, tip_frame=, the wrench of the environment on a frame of the robot

Sources in full: Spong, Hutchinson and Vidyasagar, chapter 6; Lynch and Park, draft, chapter 9;
Milićević, Golubović and Slavković; lecture notes, Lagrangian formulation. See
docs/textbook/references.md.

The cost is that of inverse dynamics as written here, n the number of joints. M is the inertia of
links and rotors; joint friction is in none of them, except that `viscous=` of the two Newton–Euler
modules adds the damping of the tables of Milićević et al.

Four modules are not in the tuple. `forward_dynamics` (Lynch and Park, draft, section 9.5) and
`elastic_joints` (Spong et al., example 6.2) take any `inverse_dynamics` as an argument,
`task_space` (Lynch and Park, draft, section 9.6) takes M, C and g, and `virtual_work` (Spong et
al., section 6.1) takes particles r_i(q) instead of a robot.
"""

from types import ModuleType

from robot_dynamics.formulations import (
    closed_form_matrix,
    euler_lagrange,
    generalized_dalembert,
    hamiltonian,
    lagrange_euler_4x4,
    newton_euler_base_frame,
    newton_euler_link_frame,
    twist_wrench,
)

FORMULATIONS: tuple[ModuleType, ...] = (
    euler_lagrange,
    lagrange_euler_4x4,
    newton_euler_base_frame,
    newton_euler_link_frame,
    generalized_dalembert,
    twist_wrench,
    closed_form_matrix,
    hamiltonian,
)
