# SPDX-License-Identifier: Apache-2.0
"""Steps of control that are exported: a result named as an input is the state of the next.

Their friction is that of the model: viscous and Coulomb friction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.cartesian_impedance import (
    ImpedanceInputs,
    ImpedanceTorque,
    Sliding,
    cartesian_impedance,
)
from robot_dynamics.core.algorithms.joint_impedance import JointImpedanceTorque, joint_impedance
from robot_dynamics.core.algorithms.momentum_observer import (
    ObservedFriction,
    ObserverState,
    observe,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.laws import TERMS
from robot_dynamics.core.programs import Robot


class ObserverStep(NamedTuple):
    """What a step of the momentum observer keeps, and the external torque: (n) each."""

    p: Any
    u: Any
    across: Any
    across2: Any
    along: Any
    along2: Any
    external_torque: Any


class ControlStep(NamedTuple):
    """A step of control: its function of a robot, a frame and the inputs, and how it is called.

    An input of size 0 has n entries.
    """

    function: Callable[..., Any]
    inputs: dict[str, int]
    result: type[Any]
    documentation: str
    at_frame: bool = False
    begin: tuple[str, ...] = ()  # inputs of the first sample; without them the state begins at 0

    def compiled(self, name: str, arm: Dynamics, frame: str | None) -> CompiledFunction:
        """Return the step of an arm, at a frame if it has one.

        Raises:
            FrameNotFound: the arm has no frame of that name.
        """
        options = () if frame is None else (frame,)
        if frame is not None:
            arm.tree.frame(frame)

        def function(robot: Robot, *inputs: Any) -> Any:
            return self.function(robot, *options, *inputs)

        key = ' '.join((name, 'exported', *options))
        return arm.programs.compiled(key, function, self.sizes(arm), result=self.result)

    def sizes(self, arm: Dynamics) -> dict[str, int]:
        """Return the sizes of the inputs."""
        return {key: size or arm.model.n for key, size in self.inputs.items()}


def _observer(robot: Robot, q: Any, qd: Any, effort: Any, h: Any, poles: Any, *state: Any) -> Any:
    n = len(q)
    viscous, coulomb = robot.friction()
    coefficients = {'viscous': viscous, 'coulomb': coulomb}
    friction = ObservedFriction(coefficients, [1.0] * n, [0.0] * n, memory=False)
    p, u, *filters = state
    unused = [[0.0] * n] * 3  # the memory of friction
    before = ObserverState(p, u, *unused, *filters, *[[0.0] * n] * 2)
    found = observe(robot.tree, friction, before, q, qd, effort, h[0], poles)
    return *(getattr(found, name) for name in ObserverStep._fields[:-1]), found.prompt_torque


def _cartesian_impedance(robot: Robot, frame: str, *inputs: Any) -> ImpedanceTorque:
    *given, presliding, time_step, z = inputs
    own: dict[str, Sequence[Any]] = dict(
        zip(('viscous', 'coulomb'), robot.friction(), strict=True)
    )
    terms = [own.get(term, [0.0] * len(z)) for term in TERMS]
    sliding = Sliding(terms, presliding, 1.0, z, time_step[0])
    return cartesian_impedance(robot.tree, frame, ImpedanceInputs(*given), sliding)


def _joint_impedance(robot: Robot, *inputs: Any) -> JointImpedanceTorque:
    q, qd, q_d, qd_d, qdd_d, stiffness, damping_ratio = inputs
    return joint_impedance(robot.tree, stiffness, damping_ratio, q_d, qd_d, qdd_d, q, qd)


STATE = """\
    q: (n) joint positions, rad or m.
    qd: (n) joint velocities, rad/s or m/s.
"""

STEPS = {
    'momentum_observer': ControlStep(
        _observer,
        dict.fromkeys(('q', 'qd', 'effort'), 0)
        | {'time_step': 1, 'poles': 2}
        | dict.fromkeys(ObserverStep._fields[:-1], 0),
        ObserverStep,
        f"""\
External torque by the momentum observer: d = dp/dt - C^T qd + g + friction - effort, low-passed.
{STATE}\
    effort: (n) mean efforts of the drives since the last step, N m or N.
    time_step: (1) time since the last step, s, positive.
    poles: (2) rates of the two equal poles, and of those along the momentum, 1/s; such as 150.
Result:
    (n) external torque by which contact is found, N m or N; friction is that of the model.""",
        begin=('q', 'qd', 'effort'),
    ),
    'cartesian_impedance': ControlStep(
        _cartesian_impedance,
        ImpedanceInputs.sizes(0) | {'presliding': 0, 'time_step': 1, 'z': 0},
        ImpedanceTorque,
        f"""\
Torque of a spring and a damper between a frame and its target; tau is the sum of the three parts.
{STATE}\
    target: (4, 4) pose of the target in the base frame.
    velocity: (6) of the target, world-aligned at its origin, rad/s and m/s.
    acceleration: (6) likewise, rad/s^2 and m/s^2.
    wrench: (6) on the environment, world-aligned at the origin of the frame, N m and N.
    posture: (n) to which the null space is pulled; q for none.
    posture_velocity: (n) its velocity, for friction.
    stiffness: (6) in the axes of the target, N m/rad and N/m; such as 30 and 600.
    posture_stiffness: (n) N m/rad or N/m; above 0 the law is not passive.
    damping: (2) damping ratio of the modes, such as 0.7; rate of the null space, 1/s, such as 5.
    presliding: (n) displacement in which friction reverses, rad or m, positive.
    time_step: (1) time since the last step, s.
    z: (n) state: direction of sliding at the last step; 0 at first.
Result:
    (n) impedance, gravity, and friction of the desired velocity, N m or N; (6) error of the frame
    in the axes of the target, rad and m; friction is that of the model, with memory.""",
        at_frame=True,
    ),
    'joint_impedance': ControlStep(
        _joint_impedance,
        dict.fromkeys(('q', 'qd', 'q_d', 'qd_d', 'qdd_d', 'joint_stiffness', 'damping_ratio'), 0),
        JointImpedanceTorque,
        f"""\
Torque of springs and dampers between joints and their reference; tau is the sum of the four parts.
{STATE}\
    q_d: (n) desired positions.
    qd_d: (n) desired velocities.
    qdd_d: (n) desired accelerations.
    joint_stiffness: (n) N m/rad or N/m; a joint without stiffness has no damping.
    damping_ratio: (n) such as 0.7.
Result:
    (n) g, C qd_d, M qdd_d, and the feedback of springs and dampers, N m or N each.""",
    ),
}


def step_inputs(arm: Dynamics, frame: str | None, q: Array) -> dict[str, Array]:
    """Return the inputs of steps that are not arbitrary, to test functions with."""
    n = arm.model.n
    found = {'time_step': [1e-3], 'poles': [150.0, 60.0], 'damping': [0.7, 5.0]}
    found |= {'joint_stiffness': [30.0] * n, 'damping_ratio': [0.7] * n}
    found |= {'posture_stiffness': [10.0] * n, 'presliding': [1e-3] * n}
    found |= {'stiffness': [30.0] * 3 + [600.0] * 3}
    given = {name: np.array(value) for name, value in found.items()}
    # Slow, as the direction of sliding has the rounding errors of velocities times 1 / presliding.
    given |= {
        'velocity': np.linspace(-0.01, 0.01, 6),
        'posture_velocity': np.linspace(0.01, -0.01, n),
    }
    given |= {'acceleration': np.linspace(-1.0, 1.0, 6)}
    if frame is not None:
        given['target'] = np.ravel(arm.forward_kinematics(q + 0.1, frame))
    return given
