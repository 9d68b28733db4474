# SPDX-License-Identifier: Apache-2.0
"""The check of a student's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.operational_space import ALL_DIRECTIONS
from robot_dynamics.formulations.task_space import check_regular
from robot_dynamics.textbook.grading.functions import FORMS, Function, FunctionError
from robot_dynamics.textbook.grading.grading_examination import Examination
from robot_dynamics.textbook.grading.grading_report import Report, merged
from robot_dynamics.textbook.grading.references import (
    Model,
    Reference,
    Robot,
    free_states,
    reference,
)
from robot_dynamics.textbook.grading.shared_laws import check_against_reference, check_together
from robot_dynamics.textbook.grading.single_laws import check_alone

MOST_JOINTS = 12  # that are tried
STATES = 6  # random, the same ones in every check
TOLERANCE = 1e-8


def check(
    robot: Robot | None = None,
    *,
    joints: int | None = None,
    inverse_dynamics: Callable[..., Any] | None = None,
    mass_matrix: Callable[..., Any] | None = None,
    coriolis_matrix: Callable[..., Any] | None = None,
    coriolis_torque: Callable[..., Any] | None = None,
    gravity_torque: Callable[..., Any] | None = None,
    forward_dynamics: Callable[..., Any] | None = None,
    kinetic_energy: Callable[..., Any] | None = None,
    potential_energy: Callable[..., Any] | None = None,
    generalized_momentum: Callable[..., Any] | None = None,
    hamiltonian: Callable[..., Any] | None = None,
    friction_torque: Callable[..., Any] | None = None,
    regressor: Callable[..., Any] | None = None,
    task_inertia: Callable[..., Any] | None = None,
    task_bias: Callable[..., Any] | None = None,
    frame: str = '',
    directions: Sequence[int] = ALL_DIRECTIONS,
    tolerance: float = TOLERANCE,
) -> Report:
    """Check functions of a robot's dynamics, and name the laws that fail.

    Every function is checked alone (M symmetric, tau affine in qdd, ...), against the others
    (dM/dt - 2 C skew-symmetric, g the gradient of P, ...) and against the robot. At least one is
    needed. The equation of motion is without friction: M qdd + C qd + g = tau;
    friction is checked as a function of its own.

    Args:
        robot: the robot: a closed form such as `PlanarElbow(...)`, a RobotModel, a Dynamics or the
            path of a URDF. None: the functions are checked alone and against each other.
        joints: the number of coordinates n, where no robot is given. None: the smallest number of
            joints that all functions accept.
        inverse_dynamics: tau (n,) of q, qd and qdd.
        mass_matrix: M (n, n) of q.
        coriolis_matrix: C (n, n) of q and qd.
        coriolis_torque: C qd (n,) of q and qd.
        gravity_torque: g (n,) of q.
        forward_dynamics: qdd (n,) of q, qd and tau.
        kinetic_energy: K of q and qd, a scalar.
        potential_energy: P of q, a scalar, with any zero level.
        generalized_momentum: p = M qd (n,) of q and qd.
        hamiltonian: H = 1/2 p^T M^-1 p + P of q and p, a scalar.
        friction_torque: F (n,) of qd, what the motors supply against friction.
        regressor: Y (n, l) of q, qd and qdd, for the parameters of the robot in their order.
        task_inertia: Lambda (m, m) of q, with F = Lambda dV/dt + eta, V = J qd.
        task_bias: eta (m,) of q and qd.
        frame: the frame of a model at which Lambda and eta are; J is world-aligned at its origin.
        directions: the m rows of its J (6, n), the angular ones first, m <= n.
        tolerance: of differences, relative to the largest compared value.

    Returns:
        The report, with `passed`, `findings`, and a text when printed.

    Raises:
        FunctionError: no function is given; or one of them raises an exception, or returns NaN.
        ShapeError: one of them returns an array of another shape.
        ModelError: `robot` is not a robot.
        FrameNotFound: the robot has no such frame.
        SingularityError: J has more rows than columns, or is singular in a state.

    Sources: Spong, Hutchinson and Vidyasagar, sections 6.3 to 6.5; Lynch and Park, draft, sections
    9.5 and 9.6; `validation.identities`.
    """
    functions = _given(
        inverse_dynamics=inverse_dynamics,
        mass_matrix=mass_matrix,
        coriolis_matrix=coriolis_matrix,
        coriolis_torque=coriolis_torque,
        gravity_torque=gravity_torque,
        forward_dynamics=forward_dynamics,
        kinetic_energy=kinetic_energy,
        potential_energy=potential_energy,
        generalized_momentum=generalized_momentum,
        hamiltonian=hamiltonian,
        friction_torque=friction_torque,
        regressor=regressor,
        task_inertia=task_inertia,
        task_bias=task_bias,
    )
    return _graded(functions, robot, joints, frame, directions, tolerance)


def _given(**functions: Callable[..., Any] | None) -> dict[str, Callable[..., Any]]:
    """Return the functions that are not None, in the order of FORMS.

    Raises:
        FunctionError: all are None.
    """
    given = {name: f for name in FORMS if (f := functions[name]) is not None}
    if not given:
        raise FunctionError(f'no function is given; expected one or more of {", ".join(FORMS)}')
    return given


def _graded(
    given: dict[str, Callable[..., Any]],
    robot: Robot | None,
    joints: int | None,
    frame: str,
    directions: Sequence[int],
    tolerance: float,
) -> Report:
    """Return the report on these functions; the other arguments and errors are as of `check`."""
    known = _reference(given, robot)
    of_task = 'task_inertia' in given or 'task_bias' in given
    if of_task and not isinstance(known, Model):
        raise FunctionError(f'robot is {robot!r}; Lambda and eta need a model and a frame')
    n = _number_of_joints(given, known, joints)
    columns = known.columns() if known is not None and 'regressor' in given else 0
    sizes = {'n': n, 'm': len(directions), 'l': columns}
    functions = {name: Function(name, f, sizes) for name, f in given.items()}
    rng = np.random.default_rng(0)
    states = free_states(n, STATES, rng) if known is None else known.states(STATES, rng)
    if of_task and isinstance(known, Model):
        _set_regular_task(known, frame, directions, states.q)
    examination = Examination(functions, n, states, known, tolerance)
    check_alone(examination)
    if known is not None:
        check_against_reference(examination, known)
    check_together(examination)
    title = f'a robot of {n} joint{"s" * (n > 1)}' if known is None else known.text
    return Report(
        title,
        tuple(examination.checked),
        merged(examination.findings),
        tuple(examination.notes),
    )


def _reference(given: dict[str, Callable[..., Any]], robot: Robot | None) -> Reference | None:
    """Return what the functions are compared with; None without a robot.

    Raises:
        FunctionError: a regressor is given without a robot.
    """
    known = None if robot is None else reference(robot)
    if 'regressor' in given and known is None:
        raise FunctionError('regressor is given without a robot; expected one, for its parameters')
    return known


def _number_of_joints(
    given: dict[str, Callable[..., Any]], known: Reference | None, joints: int | None
) -> int:
    """Return the number of joints: of the robot, as wanted, or that all functions accept.

    Raises:
        FunctionError: `joints` is less than 1, or not that of the robot.
    """
    n = known.n if known is not None else joints or _smallest_number_of_joints(given)
    if n < 1 or joints not in (None, n):
        raise FunctionError(f'joints is {joints}; expected {"1 or more" if n < 1 else n}')
    return n


def _set_regular_task(known: Model, frame: str, directions: Sequence[int], q: Array) -> None:
    """Add Lambda and eta to a model.

    Raises:
        SingularityError: J is singular at one of the postures q (k, n).
    """
    known.set_task(frame, directions)
    for posture in q:
        check_regular(known.jacobians[''](posture))


def _smallest_number_of_joints(functions: dict[str, Callable[..., Any]]) -> int:
    """Return the smallest number of joints with which every function returns its shape."""
    for n in range(1, MOST_JOINTS + 1):
        under_test = [Function(name, f, {'n': n}) for name, f in functions.items()]
        values = tuple(np.random.default_rng(0).uniform(0.5, 1.0, (3, n)))
        try:
            for f in under_test:
                f(*f.arguments_of(values))
        except (FunctionError, ShapeError):
            continue
        return n
    raise FunctionError(
        f'the functions do not return arrays of the right shapes for 1 to {MOST_JOINTS} joints; '
        'expected joints=, with which the error of a function is shown, or a robot'
    )
