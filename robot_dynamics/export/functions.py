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
# Without a meaning on a base that moves: energies, and the spring of a frame.
FIXED_BASE = ('kinetic_energy', 'potential_energy', 'cartesian_impedance')


def plain(text: str) -> str:
    """Return text of a model for a comment of generated source; what C may interpret is `_`."""
    return re.sub(r'[^A-Za-z0-9_. -]', '_', text)


def c_string(text: str) -> str:
    """Return text of a model as a string of C with the same bytes, in ASCII."""
    kept = re.compile(rb'[A-Za-z0-9_. /-]')
    # Three octal digits end an escape, so that a digit after it is text.
    parts = [chr(x) if kept.match(bytes([x])) else f'\\{x:03o}' for x in text.encode()]
    return f'"{"".join(parts)}"'


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
    unused: bool = False,
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
        unused: with all variable inputs, also those that a function of this robot does not
            depend on, so that it is called in the same way for every robot.

    Raises:
        ExportError: a function that is not exported, a payload without its link or a link
            without payload, gravity besides the motion of the base, a function without a meaning
            on a moving base, a frame that is missing or not used, a program that is too long, or
            loops for none of the functions.
        FrameNotFound: the model has no such frame or link.
        ModelError: a joint moves no inertia, and a function needs that; the link does not move.
    """
    if ('payload' in variable) != (link is not None):
        raise ExportError('a payload as an input and the link that carries it; expected both')
    if {'gravity', 'base'} <= set(variable):
        raise ExportError('gravity is part of the motion of the base; expected one of both inputs')
    for name in names:
        if name in FIXED_BASE and 'base' in variable:
            raise ExportError(f'function {name!r} has no variable base; expected a fixed base')
        if name in NOT_EXPORTED:
            raise ExportError(f'function {name!r} is not exported: {NOT_EXPORTED[name]}')
        if name not in FUNCTIONS:
            raise ExportError(f'function {name!r} is unknown; expected {", ".join(FUNCTIONS)}')
    names, variable = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(variable))
    at_frame = [name for name in names if (STEPS.get(name) or ALGORITHMS[name]).at_frame]
    if at_frame and frame is None:
        raise ExportError(
            f'function {at_frame[0]!r} is computed at a frame; expected its name (--frame), one '
            f'of {arm.model.listed_frames()}'
        )
    if frame is not None and not at_frame:
        raise ExportError(f'frame {frame!r} is not used by {", ".join(names)}; expected none')
    found = [_function(arm, name, frame, _Varied(variable, link, unused), loops) for name in names]
    if loops and not any(isinstance(function.program, LoopProgram) for function in found):
        raise ExportError(
            f'{", ".join(names)} of {arm.model.name!r} cannot be written as loops over joints; '
            'expected such a function, no variable inputs, and no joint that follows another'
        )
    return found


class _Varied(NamedTuple):
    """What becomes an input of a function."""

    variable: tuple[str, ...]  # of `VARIABLE`
    link: str | None  # that carries the payload
    unused: bool  # also where the function does not depend on it


def _function(
    arm: Dynamics, name: str, frame: str | None, varied: _Varied, loops: bool
) -> Function:
    own = STEPS.get(name) or ALGORITHMS[name]
    at = frame if own.at_frame else None
    documentation = STEPS[name].documentation if name in STEPS else _documentation(name)
    used = _used(arm, name, at, varied)
    if used:
        made = _with_inputs(arm, name, at, varied._replace(variable=used))
        lines = ''.join(f'\n    {MEANING[key].format(plain(str(varied.link)))}' for key in used)
        before, result, after = documentation.partition('\nResult:')
        documentation = before + lines + result + after
    else:
        made = _made(arm, name, at, loops)
    program = made.kernels.program
    if isinstance(program, Program) and len(program.nodes) > MOST_NODES:
        raise ExportError(
            f'function {name!r} of {arm.model.name!r} has {len(program.nodes)} operations in a '
            f'straight line; expected at most {MOST_NODES}: export it for fewer joints'
        )
    begin = STEPS[name].begin if name in STEPS else ()
    return Function(made, documentation, (*begin, *used) if begin else (), at)


def _made(arm: Dynamics, name: str, at: str | None, loops: bool) -> CompiledFunction:
    """Return the program of a function without variable inputs."""
    if name in STEPS:
        return STEPS[name].compiled(name, arm, at)
    if at is not None:
        return arm.frame_program(name, at)
    made = arm.program(name)
    if loops and ALGORITHMS[name].loops and isinstance(made.kernels.program, Program):
        return _in_loops(arm, name)
    return made


def _used(arm: Dynamics, name: str, at: str | None, varied: _Varied) -> tuple[str, ...]:
    """Return the variable inputs that a function has."""
    if varied.unused or not varied.variable:
        return varied.variable
    program = _with_inputs(arm, name, at, varied).kernels.program
    nodes = program.nodes if isinstance(program, Program) else ()
    read = {node[1] for node in nodes if node[0] == 'input'}
    return tuple(key for key in varied.variable if key in read)


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


def _with_inputs(arm: Dynamics, name: str, at: str | None, varied: _Varied) -> CompiledFunction:
    """Return the program of a function with more inputs, as a straight line."""
    options = () if at is None else (at,)
    if at is not None:
        arm.tree.frame(at)
    variable, link = varied.variable, varied.link
    own: dict[str, int]
    result: type[Any] | None
    if name in STEPS:
        step = STEPS[name]
        own, result = step.sizes(arm), step.result
    else:
        algorithm = ALGORITHMS[name]
        own = {key: SIZES.get(key, arm.model.n) for key in algorithm.inputs}
        result = algorithm.result

    def function(robot: Robot, *vectors: Scalars) -> Any:
        robot = _with_given(robot, dict(zip(variable, vectors[len(own) :], strict=True)), link)
        given = vectors[: len(own)]
        if name in STEPS:
            return STEPS[name].function(robot, *options, *given)
        return ALGORITHMS[name].function(robot, *given, *options)

    return arm.programs.compiled(
        ' '.join((name, *options, 'variable', *variable, str(link))),
        function,
        {**own, **{key: VARIABLE[key] for key in variable}},
        result=result,
    )


def _with_given(robot: Robot, given: dict[str, Scalars], link: str | None) -> Robot:
    """Return a robot with gravity, motion of the base and payload that are inputs."""
    tree = robot.tree
    if 'gravity' in given:
        tree = replace(tree, gravity=list(given['gravity']))
    if 'base' in given:
        tree = tree.on_moving_base(given['base'])
    if 'payload' in given:
        assert link is not None
        tree = with_payload(tree, link, list(given['payload']))
    return robot._replace(tree=tree)


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
