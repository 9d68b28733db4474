# SPDX-License-Identifier: Apache-2.0
"""The functions of an export: their programs, documentation and numbers to test them with."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.loops.loop_program import LoopProgram
from robot_dynamics.codegen.tracing.program import Program
from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.payload import with_payload
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.states import random_states
from robot_dynamics.core.programs import ALGORITHMS, SIZES, Robot, Scalars
from robot_dynamics.export.control_steps import STEPS, step_inputs

# Algorithms that are not exported, and what to use instead.
NOT_EXPORTED = {
    'simulation_step': 'its integrator and friction belong to the simulation; '
    'integrate forward_dynamics instead',
    'linearization': 'A and B consist of the results of forward_dynamics_derivatives; '
    'export that instead',
    'step_linearization': 'its integrator and friction belong to the simulation; '
    'export forward_dynamics_derivatives instead',
    'operational_space': 'it is undefined at singular postures, which only the method detects; '
    'export jacobian, jacobian_dot, mass_matrix and bias_torque instead',
}

FUNCTIONS = (*(name for name in ALGORITHMS if name not in NOT_EXPORTED), *STEPS)

# A longer straight line takes a compiler minutes; an arm's longest function has a tenth of it.
MOST_NODES = 60_000

STATES = 4  # that a function is tested in
PAYLOAD = Inertial(1.5, np.array([0.02, -0.01, 0.1]), np.diag([0.01, 0.02, 0.015]))  # likewise

# Inputs that functions may have besides those of the methods: their sizes, and what they mean.
VARIABLE = {'gravity': 3, 'payload': 10, 'base': SIZES['base']}
MEANING = {
    'gravity': 'gravity: (3) gravity vector in the base frame, m/s^2.',
    'payload': 'payload: (10) m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz of what '
    'link {} carries:\n        mass, mass times centre of mass, and inertia about the origin of '
    'the link, in its frame.',
    'base': 'base: (9) angular velocity, rad/s, angular acceleration, rad/s^2, and proper '
    'acceleration of the origin\n        of the base, m/s^2, in the base frame; at rest 9.81 '
    'upwards.',
}
# Algorithms without a meaning on a base that moves.
ENERGIES = ('kinetic_energy', 'potential_energy')


def plain(text: str) -> str:
    """Return text of a model as a part of generated source; what C may interpret becomes `_`."""
    return re.sub(r'[^A-Za-z0-9_. -]', '_', text)


class ExportError(RobotDynamicsError, ValueError):
    """A function or robot cannot be exported as asked."""


@dataclass(frozen=True)
class Function:
    """A function that is exported."""

    made: CompiledFunction
    documentation: str  # its equation, arguments and units
    begin: tuple[str, ...] = ()  # inputs of the first sample, of a step whose state they begin
    frame: str | None = None  # that it is computed at

    @property
    def program(self) -> Program | LoopProgram:
        """The program that it computes."""
        return self.made.kernels.program


def functions(
    arm: Dynamics,
    names: Sequence[str],
    frame: str | None = None,
    variable: Sequence[str] = (),
    link: str | None = None,
    *,
    loops: bool = False,
) -> list[Function]:
    """Return functions of a robot by the names of its methods.

    Args:
        arm: the robot.
        names: of `FUNCTIONS`; each once.
        frame: name of the frame of those that take one.
        variable: of `VARIABLE`: inputs of the functions that depend on them.
        link: that carries the variable payload.
        loops: over the joints, for each function that can be written so and has no variable input,
            also where the library runs a straight line.

    Raises:
        ExportError: a function that is not exported, a payload without its link or a link
            without payload, gravity besides the motion of the base, an energy on a moving base,
            a frame that is missing or not used, a program that is too long, or loops for none of
            the functions.
        FrameNotFound: the model has no such frame or link.
        ModelError: a joint moves no inertia, and a function needs that; the link does not move.
    """
    if ('payload' in variable) != (link is not None):
        raise ExportError('a payload as an input and the link that carries it; expected both')
    if {'gravity', 'base'} <= set(variable):
        raise ExportError('gravity is part of the motion of the base; expected one of both inputs')
    for name in names:
        if name in STEPS and variable:
            raise ExportError(f'function {name!r} has no variable {variable[0]}; expected none')
        if name in ENERGIES and 'base' in variable:
            raise ExportError(f'function {name!r} has no variable base; expected a fixed base')
        if name in NOT_EXPORTED:
            raise ExportError(f'function {name!r} is not exported: {NOT_EXPORTED[name]}')
        if name not in FUNCTIONS:
            raise ExportError(f'function {name!r} is unknown; expected {", ".join(FUNCTIONS)}')
    names, variable = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(variable))
    at_frame = [name for name in names if (STEPS.get(name) or ALGORITHMS[name]).at_frame]
    if at_frame and frame is None:
        raise ExportError(f'function {at_frame[0]!r} is computed at a frame; expected its name')
    if frame is not None and not at_frame:
        raise ExportError(f'frame {frame!r} is not used by {", ".join(names)}; expected none')
    found = [_function(arm, name, frame, variable, link, loops) for name in names]
    if loops and not any(isinstance(function.program, LoopProgram) for function in found):
        raise ExportError(
            f'{", ".join(names)} of {arm.model.name!r} cannot be written as loops over joints; '
            'expected such a function, no variable inputs, and no joint that follows another'
        )
    return found


def _function(
    arm: Dynamics,
    name: str,
    frame: str | None,
    variable: tuple[str, ...],
    link: str | None,
    loops: bool,
) -> Function:
    if name in STEPS:
        step = STEPS[name]
        at = frame if step.at_frame else None
        return Function(step.compiled(name, arm, at), step.documentation, step.begin, at)
    if ALGORITHMS[name].at_frame:
        assert frame is not None
        made = arm.frame_program(name, frame)
    else:
        made = arm.program(name)
        if loops and ALGORITHMS[name].loops and isinstance(made.kernels.program, Program):
            made = _in_loops(arm, name)
    documentation = _documentation(name)
    varied = _varied(arm, name, frame, variable, link) if variable else made
    read = {node[1] for node in _nodes(varied) if node[0] == 'input'}.intersection(variable)
    if read:
        used = tuple(key for key in variable if key in read)
        made = varied if used == variable else _varied(arm, name, frame, used, link)
        lines = ''.join(f'\n    {MEANING[key].format(plain(str(link)))}' for key in used)
        before, result, after = documentation.partition('\nResult:')
        documentation = before + lines + result + after
    program = made.kernels.program
    if isinstance(program, Program) and len(program.nodes) > MOST_NODES:
        raise ExportError(
            f'function {name!r} of {arm.model.name!r} has {len(program.nodes)} operations in a '
            f'straight line; expected at most {MOST_NODES}: export it for fewer joints'
        )
    return Function(made, documentation, frame=frame if ALGORITHMS[name].at_frame else None)


def _in_loops(arm: Dynamics, name: str) -> CompiledFunction:
    """Return the program of an algorithm as loops; a straight line if joints follow others."""
    algorithm = ALGORITHMS[name]
    return arm.programs.compiled(
        f'{name} loops',
        algorithm.function,
        {key: SIZES.get(key, arm.model.n) for key in algorithm.inputs},
        result=algorithm.result,
        loops=True,
        always_loops=True,
    )


def _varied(
    arm: Dynamics, name: str, frame: str | None, variable: tuple[str, ...], link: str | None
) -> CompiledFunction:
    """Return the program of an algorithm with more inputs, as a straight line."""
    algorithm = ALGORITHMS[name]
    options = () if frame is None or not algorithm.at_frame else (frame,)
    own = {key: SIZES.get(key, arm.model.n) for key in algorithm.inputs}

    def function(robot: Robot, *vectors: Scalars) -> Any:
        given = dict(zip(variable, vectors[len(own) :], strict=True))
        tree = robot.tree
        if 'gravity' in given:
            tree = replace(tree, gravity=list(given['gravity']))
        if 'base' in given:
            tree = tree.on_moving_base(given['base'])
        if 'payload' in given:
            assert link is not None
            tree = with_payload(tree, link, list(given['payload']))
        return algorithm.function(robot._replace(tree=tree), *vectors[: len(own)], *options)

    return arm.programs.compiled(
        ' '.join((name, *options, 'variable', *variable, str(link))),
        function,
        {**own, **{key: VARIABLE[key] for key in variable}},
        result=algorithm.result,
    )


def _nodes(made: CompiledFunction) -> Sequence[Any]:
    program = made.kernels.program
    return program.nodes if isinstance(program, Program) else ()


def _documentation(name: str) -> str:
    """Return what the docstring of a method says of results and arguments of one state."""
    text = inspect.getdoc(getattr(Dynamics, name)) or ''
    text = re.split(r'\n(?:Raises|Source):', text)[0]
    text = re.sub(r'\n    (?:out|friction|frame): .*(?:\n        .*)*', '', text)
    text = text.replace('(..., ', '(').replace('(...)', '(1)').replace('Args:\n', '')
    return re.sub(r'\n{2,}', '\n', text).replace('Returns:\n', 'Result:\n').strip()


class Case(NamedTuple):
    """Arguments of a function, and its results."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def cases(arm: Dynamics, function: Function, scalar: np.dtype[Any]) -> list[Case]:
    """Return a function's results in several states, for arguments exact in the scalars' format.

    Torques are those of a motion, so that accelerations are as large as in a motion.
    """
    rng = np.random.default_rng(0)
    found = []
    for q, qd, qdd in zip(*random_states(arm.model, STATES, rng), strict=True):
        tau, payload = arm.inverse_dynamics(q, qd, qdd), to_parameters(PAYLOAD)
        given = {'q': q, 'qd': qd, 'qdd': qdd, 'tau': tau, 'payload': payload}
        given |= step_inputs(arm, function.frame, q)
        inputs = tuple(
            given[name] if name in given else rng.uniform(-1.0, 1.0, size)
            for name, size in function.made.signature.inputs
        )
        inputs = tuple(np.asarray(value, scalar).astype(float) for value in inputs)
        results = function.made(*inputs)
        several = len(function.made.signature.outputs) > 1
        outputs = tuple(results) if several else (results,)
        found.append(Case(inputs, tuple(np.ravel(value) for value in outputs)))
    return found
