"""Why the equations of motion are what they are: one derivation per file, to be read by the book.

Every module of `FORMULATIONS` has the verb `inverse_dynamics(model, q, qd, qdd)`, and the others
that its derivation yields, under the same names; all give the same numbers, for any tree of
revolute and prismatic joints. They share no dynamics: none imports another, so that their
agreement is evidence. Four share forward kinematics (`kinematics.body_poses`), of which
`euler_lagrange` and `hamiltonian` share the Jacobians of the centres of mass; `twist_wrench` and
`closed_form_matrix` share the conversion to screws; the two Newton-Euler modules have kinematics
of their own.

    module                    gives            wrench  cost   source
    ------------------------  ---------------  ------  -----  -----------------------------------
    euler_lagrange            tau M C g K P    yes     n^4    000, 6.2 and 6.3; 003, (29) to (46)
    lagrange_euler_4x4        tau M C g        no      n^4    002, (2.3) to (2.15)
    newton_euler_base_frame   tau              yes     n      002, table 1
    newton_euler_link_frame   tau              yes     n      002, table 2; 000, section 6.6
    generalized_dalembert     tau M   g h      no      n^3    002, (4.1) to (4.5)
    twist_wrench              tau              yes     n      001, (9.53) to (9.58)
    closed_form_matrix        tau M C g        yes     n^3    001, (9.62) to (9.88)
    hamiltonian               tau M   g p H    no      n^3    000, end of chapter 6

    tau inverse dynamics    M inertia matrix    C Christoffel matrix    g gravity torque
    K, P kinetic and potential energy    h Coriolis torque, translation and rotation apart
    p generalized momentum    H Hamiltonian
    wrench: takes tip_wrench=, tip_frame=, what the environment exerts on a frame of the robot

The cost is that of inverse dynamics as written here, n the number of joints. M is the inertia of
links and rotors; joint friction is in none of them, unless `viscous=` of the two Newton–Euler
modules asks for the damping of 002's tables.

Four modules stand beside the tuple. `forward_dynamics` (001, section 9.5) and `elastic_joints`
(000, example 6.2) take any `inverse_dynamics` as an argument, `task_space` (001, section 9.6)
takes M, C and g; `virtual_work` (000, section 6.1) needs no robot, only particles r_i(q).
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
