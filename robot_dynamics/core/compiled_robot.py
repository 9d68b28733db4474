# SPDX-License-Identifier: Apache-2.0
"""A robot whose methods are compiled programs, made on first use."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.core import rollout as stepping
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.integrators import check_integrator
from robot_dynamics.core.algorithms.repeated_bodies import independent
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.robot_model import RobotModel, shortened
from robot_dynamics.core.programs import ALGORITHMS, Programs

Method = TypeVar('Method', bound=Callable[..., Any])
Arm = TypeVar('Arm', bound='CompiledRobot')

# A matrix is singular if its smallest singular value is below this fraction of its largest, or
# the smallest eigenvalue of a mass matrix scaled to a unit diagonal below this.
SINGULAR = 1e-12

# Compiled methods with an argument `friction`, by default 'none'.
WITH_FRICTION = 'forward_dynamics', 'forward_dynamics_derivatives'


class _Compiled:
    """Descriptor of a method that machine code made for the robot answers.

    The first access on an instance compiles the program and stores its native callable in the
    instance, where Python finds it before this descriptor: later accesses are dictionary lookups,
    and a method that was kept (`f = arm.inverse_dynamics`) is native from the start. On the class
    it is a plain function, from which help() and inspect.signature() read arguments and units.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        @functools.wraps(method)
        def function(self: CompiledRobot, *args: Any, **named: Any) -> Any:
            return getattr(self, method.__name__)(*args, **named)

        self.function = function
        self.__doc__ = method.__doc__

    def __get__(self, arm: CompiledRobot | None, owner: type | None = None) -> Any:
        if arm is None:
            return self.function
        name = self.function.__name__
        call = arm.__dict__[name] = arm.program(name).call
        return call


def compiled(method: Method) -> Method:
    """Let machine code answer a method: see `_Compiled`. Type checkers see the method as it is."""
    return _Compiled(method)  # type: ignore[return-value]


class CompiledRobot:
    """A robot and its compiled programs.

    Attributes:
        model: the robot, under its present gravity and with its payloads.
        programs: its compiled programs.
    """

    def __init__(self, model: RobotModel, programs: Programs):
        self.model = model
        self.programs = programs

    @classmethod
    def of_programs(cls: type[Arm], model: RobotModel, programs: Programs) -> Arm:
        """Return the robot of a model whose programs exist."""
        arm = cls.__new__(cls)
        CompiledRobot.__init__(arm, model, programs)
        return arm

    def __repr__(self) -> str:
        name = type(self).__name__
        return f'<{name} of {self.model.name!r}: {shortened(self.model.joint_names)}>'

    def __reduce__(self) -> Any:
        # Programs are found again in the cache; machine code cannot be pickled.
        return type(self).of_programs, (self.model, self.programs)

    @property
    def tree(self) -> CanonicalTree:
        """The model in the frames and parameters that algorithms work on."""
        return self.programs.tree

    @made_once
    def joint_without_inertia(self) -> str | None:
        """Return a joint that accelerates without effort in every posture, None if none does."""
        return _joint_without_inertia(self.model, self.tree)

    def simulation_step(self, integrator: str, friction: str = 'model') -> CompiledFunction:
        """Return the program of one step: step(q, qd, tau, time_step) -> State(q, qd).

        Arguments are arrays as of `Dynamics.simulate`, `time_step` an array (1,) [s]. On a moving
        base, its motion (..., 9) follows, held over the step. Any time step is taken; `simulate`
        checks that the integrator resolves viscous friction.

        Raises:
            ModelError: a joint, which the message names, moves no inertia.
            ValueError: integrator or friction is not one of those of `simulate`; or the robot has
                too many joints with dry friction.
        """
        stepping.check_friction(friction)
        check_integrator(integrator)
        return self._kept('simulation_step', integrator, friction)

    def program(self, method: str) -> CompiledFunction:
        """Return the program of a compiled method without a frame.

        Raises:
            ModelError: a joint, which the message names, moves no inertia, and the method needs
                that.
        """
        self._require_defined(method)
        documentation = inspect.getdoc(getattr(type(self), method)) or ''
        friction = ('none',) if method in WITH_FRICTION else ()
        default = self.programs.compile(method, *friction, documentation=documentation)
        if not friction:
            return default
        twin = copy.copy(self)
        choices = {
            'none': lambda: default.call,
            'model': lambda: twin._kept(method, 'model').call,
        }
        chosen = default.choosing('friction', choices)
        programs = replace(self.programs, made={})
        chosen.unpickle_by(_program, type(self), self.model, programs, method)
        return chosen

    def _kept(self, name: str, *options: str) -> CompiledFunction:
        """Return the program of an algorithm with options, made on first use."""
        key = ' '.join((name, *options))
        made: CompiledFunction | None = self.__dict__.get(key)
        if made is None:
            self._require_defined(name)
            if self.programs.couples(name, *options):
                stepping.check_coupled(self.model.n)
            made = self.__dict__[key] = self.programs.compile(name, *options)
        return made

    def _require_defined(self, name: str) -> None:
        """Raise ModelError if an algorithm is undefined for the robot, or compiles too long."""
        if couples_too_many(name, self.tree):
            raise ModelError(
                f'{name} is compiled for at most {stepping.MOST_PAIRS} pairs of joints that are '
                f'coupled, as in a chain of {stepping.MOST_COUPLED}; {self.model.name!r} has more '
                f'in its {self.model.n}: solve M dqdd = -dtau with the results of '
                'inverse_dynamics_derivatives'
            )
        if ALGORITHMS[name].needs_inertia and self.joint_without_inertia is not None:
            raise ModelError(
                f'forward dynamics of {self.model.name!r} is undefined: joint '
                f'{self.joint_without_inertia!r} moves no inertia; give the links beyond it a '
                'mass, or lock it'
            )


def couples_too_many(name: str, tree: CanonicalTree) -> bool:
    """Return whether an algorithm takes too long to compile for a robot: see `Algorithm`."""
    algorithm = ALGORITHMS[name]
    in_loops = algorithm.loops and independent(tree)
    return algorithm.couples and not in_loops and stepping.too_coupled(tree)


def _program(
    kind: type[CompiledRobot], model: RobotModel, programs: Programs, method: str
) -> CompiledFunction:
    return kind.of_programs(model, programs).program(method)


def _joint_without_inertia(model: RobotModel, tree: CanonicalTree) -> str | None:
    massless = model.massless_joints()
    if massless:
        return massless[0]
    rng = np.random.default_rng(0)
    for q in rng.uniform(-np.pi, np.pi, (3, model.n)):
        M = np.array(crba(tree, q.tolist()), dtype=float)
        scale = np.sqrt(np.diag(M))
        if not np.all(scale > 0):
            return model.joint_names[int(np.argmin(scale))]
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] > SINGULAR:
            return None
    return model.joint_names[int(np.argmax(np.abs(vectors[:, 0])))]
