# SPDX-License-Identifier: Apache-2.0
"""Compiled programs of one robot, and the registry of the algorithms they are made from.

Model parameters are compiled in as constants, which makes programs fast and specific to one robot.
Gravity and payloads may change while a controller runs, when there is no time to compile: in the
programs of a `Variation` they are inputs, so that a change only passes other numbers. On a moving
base, the motion of the base is an input after all others; a fixed base has programs of its own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.backends.cache import fingerprint
from robot_dynamics.codegen.calls import CompiledFunction, compile_program
from robot_dynamics.codegen.loops import LoopForm, Rows
from robot_dynamics.codegen.tracing.program import LANES
from robot_dynamics.common import scalars, spatial
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core import algorithms as alg
from robot_dynamics.core import friction
from robot_dynamics.core.algorithms.payload import carrier_moments, with_carrier, with_payload
from robot_dynamics.core.algorithms.repeated_bodies import (
    LoopTracer,
    independent,
    kind_keys,
    loop_tree,
)
from robot_dynamics.core.algorithms.simulation_step import (
    State,
    driven_acceleration,
    simulation_step,
)
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import CanonicalTree, canonical_tree
from robot_dynamics.core.model.robot_model import RobotModel

Scalars = Sequence[Any]


class Robot(NamedTuple):
    """A robot as algorithms over scalars take it."""

    model: RobotModel
    tree: CanonicalTree

    def friction(self, choice: str = 'model') -> Friction:
        """Return the friction coefficients (n) of the model, or zeros for 'none'."""
        share = float(choice == 'model')
        viscous, coulomb = share * self.model.viscous, share * self.model.coulomb
        return Friction(*(self.tree.per_joint(x.tolist()) for x in (viscous, coulomb)))


# -- the algorithms -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Algorithm:
    """An algorithm over scalars, and how programs are generated from it.

    Attributes:
        function: takes a `Robot`, one vector of scalars per input, and the options of a program.
        inputs: names; vectors of n entries, except those of `SIZES`.
        result: the named tuple of several results, None for a single one.
        loops: it visits bodies by the traversals of the tree alone, so that it can be generated as
            loops over the bodies.
        needs_inertia: it is undefined where a joint moves no inertia.
        couples: it solves equations between all joints, so that compiling a straight line takes a
            time cubic in their number.
        at_frame: its first option is the name of a frame.
    """

    function: Callable[..., Any]
    inputs: tuple[str, ...]
    result: type[Any] | None = None
    loops: bool = False
    needs_inertia: bool = False
    couples: bool = False
    at_frame: bool = False


# Entries of the inputs that are not one number per joint.
SIZES = {'wrench': 6, 'time_step': 1, 'base': 9}


def _of_tree(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an algorithm on a tree as one on a robot."""
    return lambda robot, *arguments: function(robot.tree, *arguments)


def _coriolis_torque(robot: Robot, q: Scalars, qd: Scalars) -> Any:
    none = (0.0, 0.0, 0.0)
    tree = replace(robot.tree, gravity=none, base_wd=none)
    torque = alg.bias_torque(tree, q, qd)
    if not tree.base_rotates:
        return torque
    # C qd = bias - g; of g, w x (w x r) remains here
    return [x - y for x, y in zip(torque, alg.gravity_torque(tree, q), strict=True)]


def _friction_torque(robot: Robot, qd: Scalars) -> Any:
    return robot.friction().torque(qd)


def _forward_dynamics(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, friction: str = 'none'
) -> Any:
    if friction == 'none':
        return alg.forward_dynamics(robot.tree, q, qd, tau)
    return driven_acceleration(robot.tree, robot.friction(), q, qd, tau)


def _forward_dynamics_derivatives(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, friction: str = 'none'
) -> Any:
    return alg.forward_dynamics_derivatives(robot.tree, robot.friction(friction), q, qd, tau)


def _simulation_step(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    time_step: Scalars,
    integrator: str,
    friction: str,
) -> State:
    lost = robot.friction(friction)
    return simulation_step(robot.tree, lost, integrator, q, qd, tau, time_step[0])


def _linearization(
    robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, friction: str
) -> alg.Linearization:
    return alg.linearization(robot.tree, robot.friction(friction), q, qd, tau)


def _step_linearization(
    robot: Robot,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    time_step: Scalars,
    integrator: str,
    friction: str,
) -> alg.Linearization:
    lost = robot.friction(friction)
    return alg.step_linearization(robot.tree, lost, integrator, q, qd, tau, time_step[0])


Q, QD, MOTION = ('q',), ('q', 'qd'), ('q', 'qd', 'qdd')
ALGORITHMS = {
    'inverse_dynamics': Algorithm(_of_tree(alg.rnea), MOTION, loops=True),
    'base_wrench': Algorithm(_of_tree(alg.base_wrench), MOTION),
    'mass_matrix': Algorithm(_of_tree(alg.crba), Q, loops=True),
    'coriolis_matrix': Algorithm(_of_tree(alg.coriolis_matrix), QD, loops=True),
    'gravity_torque': Algorithm(_of_tree(alg.gravity_torque), Q, loops=True),
    'gravity_torque_derivative': Algorithm(_of_tree(alg.gravity_torque_derivative), Q, loops=True),
    'coriolis_torque': Algorithm(_coriolis_torque, QD, loops=True),
    'bias_torque': Algorithm(_of_tree(alg.bias_torque), QD, loops=True),
    'friction_torque': Algorithm(_friction_torque, ('qd',)),
    'terms': Algorithm(_of_tree(alg.terms), QD, alg.Terms, loops=True),
    'inverse_dynamics_derivatives': Algorithm(
        _of_tree(alg.inverse_dynamics_derivatives), MOTION, alg.Derivatives, loops=True
    ),
    'forward_dynamics_derivatives': Algorithm(
        _forward_dynamics_derivatives,
        ('q', 'qd', 'tau'),
        alg.AccelerationDerivatives,
        loops=True,
        needs_inertia=True,
        couples=True,
    ),
    'momentum': Algorithm(_of_tree(alg.momentum), QD, alg.Momentum, loops=True),
    'kinetic_energy': Algorithm(_of_tree(alg.kinetic_energy), QD),
    'potential_energy': Algorithm(_of_tree(alg.potential_energy), Q),
    'regressor': Algorithm(_of_tree(alg.regressor), MOTION),
    'base_wrench_regressor': Algorithm(_of_tree(alg.base_wrench_regressor), MOTION),
    'forward_dynamics': Algorithm(
        _forward_dynamics,
        ('q', 'qd', 'tau'),
        loops=True,
        needs_inertia=True,
    ),
    'simulation_step': Algorithm(
        _simulation_step,
        ('q', 'qd', 'tau', 'time_step'),
        State,
        loops=True,
        needs_inertia=True,
    ),
    'linearization': Algorithm(
        _linearization,
        ('q', 'qd', 'tau'),
        alg.Linearization,
        needs_inertia=True,
        couples=True,
    ),
    'step_linearization': Algorithm(
        _step_linearization,
        ('q', 'qd', 'tau', 'time_step'),
        alg.Linearization,
        needs_inertia=True,
        couples=True,
    ),
    'forward_kinematics': Algorithm(_of_tree(alg.forward_kinematics), Q, at_frame=True),
    'jacobian': Algorithm(_of_tree(alg.jacobian), Q, at_frame=True),
    'jacobian_dot': Algorithm(_of_tree(alg.jacobian_dot), QD, at_frame=True),
    'wrench_torque': Algorithm(_of_tree(alg.wrench_torque), ('q', 'wrench'), at_frame=True),
    'operational_space': Algorithm(
        _of_tree(alg.operational_space), QD, alg.OperationalSpace, at_frame=True
    ),
}


# -- the programs of one robot --------------------------------------------------------------------


@dataclass(frozen=True)
class Variation:
    """Gravity, and the bodies that carry payloads, as inputs of programs."""

    tree: CanonicalTree  # the robot under this gravity, with these payloads
    carriers: tuple[str, ...] = ()  # a frame of each body that carries a payload

    @made_once
    def values(self) -> dict[str, Array]:
        """The values of the inputs that every program of this variation has."""
        moments = [carrier_moments(self.tree, frame) for frame in self.carriers]
        bodies = {f'carrier{k}': np.array(entries) for k, entries in enumerate(moments)}
        return {'gravity': np.array(self.tree.gravity), **bodies}

    def applied(self, tree: CanonicalTree, gravity: Scalars, *moments: Scalars) -> CanonicalTree:
        """Return a tree with this gravity and these moments of the carriers, all scalars."""
        tree = replace(tree, gravity=list(gravity))
        for frame, entries in zip(self.carriers, moments, strict=True):
            tree = with_carrier(tree, frame, entries)
        return tree

    @property
    def bodies(self) -> list[int]:
        """The bodies that carry payloads."""
        return [self.tree.frame(frame).body for frame in self.carriers]

    def carrier(self, frame: str) -> str:
        """Return the input that holds the moments of the body of a frame, which is a carrier."""
        return f'carrier{self.bodies.index(self.tree.frame(frame).body)}'

    def key(self) -> str:
        """Return the part of the cache key that names the additional inputs."""
        return f'gravity and moments of bodies {self.bodies} as inputs'


@dataclass(frozen=True)
class Programs:
    """The programs of one robot; its variations share compiled programs."""

    model: RobotModel  # without the variation
    constants: CanonicalTree  # of that model
    snap: float
    backend: str
    variation: Variation | None = None
    moving: bool = False  # whether the motion of the base is an input
    made: dict[str, CompiledFunction] = field(default_factory=dict)

    @classmethod
    def of(cls, model: RobotModel, snap: float, backend: str) -> Programs:
        """Return the programs of a model."""
        return cls(model, canonical_tree(model, snap=snap), snap, backend)

    @made_once
    def tree(self) -> CanonicalTree:
        """The robot with its variation."""
        return self.constants if self.variation is None else self.variation.tree

    def varied(self, gravity: Array, link: str = '', load: Array | None = None) -> Programs:
        """Return the programs under another gravity, and with one more payload on a link."""
        carriers = () if self.variation is None else self.variation.carriers
        tree = replace(self.tree, gravity=tuple(float(x) for x in gravity))
        if load is not None:
            tree = with_payload(tree, link, load.tolist())
            bodies = {tree.frame(frame).body: frame for frame in (link, *carriers)}
            carriers = tuple(bodies[body] for body in sorted(bodies))
        return replace(self, variation=Variation(tree, carriers))

    def on_moving_base(self) -> Programs:
        """Return the programs of the same robot with the motion of its base as their last input.

        This is `base` (9), see `CanonicalTree.on_moving_base`; gravity is part of it.
        """
        return replace(self, moving=True)

    def without_friction(self) -> Programs:
        """Return the programs of the same robot without friction."""
        model = self.model.with_actuation(viscous=0.0, coulomb=0.0)
        return replace(self, model=model, made={})

    def without_dry_friction(self) -> Programs:
        """Return the programs of the same robot with viscous friction alone."""
        return replace(self, model=self.model.with_actuation(coulomb=0.0), made={})

    def couples(self, name: str, *options: Any) -> bool:
        """Return whether a program solves dry friction: all joints in one equation.

        No traversal of the tree solves that.
        """
        return name == 'simulation_step' and 'model' in options and bool(self.model.coulomb.any())

    def compile(self, name: str, *options: Any, documentation: str = '') -> CompiledFunction:
        """Return the program of one of `ALGORITHMS`.

        Args:
            name: of the algorithm.
            options: a frame, an integrator, ...: what its function takes after the inputs.
            documentation: of the callable.
        """
        algorithm = ALGORITHMS[name]

        def function(robot: Robot, *vectors: Scalars) -> Any:
            return algorithm.function(robot, *vectors, *options)

        made = self.compiled(
            ' '.join(map(str, (name, *options))),
            function,
            {key: SIZES.get(key, self.model.n) for key in algorithm.inputs},
            result=algorithm.result,
            documentation=documentation,
            loops=algorithm.loops and not self.couples(name, *options),
        )
        # Without the programs compiled so far: they would be a circle of references.
        make = functools.partial(Programs.compile, documentation=documentation)
        made.unpickle_by(make, replace(self, made={}), name, *options)
        return made

    def compiled(
        self,
        key: str,
        function: Callable[..., Any],
        inputs: Mapping[str, int],
        *,
        result: type[Any] | None = None,
        documentation: str = '',
        loops: bool = False,
        always_loops: bool = False,
    ) -> CompiledFunction:
        """Return the program of a function; a variation's gravity and payloads are bound to it.

        Args:
            key: the program's name, then everything else it depends on besides the robot.
            function: takes a `Robot` and one vector of scalars per input.
            inputs: names and sizes, without `base`.
            result: the named tuple of several results.
            documentation: of the callable.
            loops: as in `Algorithm`.
            always_loops: also where a straight line takes less time.
        """
        variation, count = self.variation, len(inputs)
        full_key = key if variation is None else f'{key} {variation.key()}'
        values = {} if variation is None else variation.values
        if self.moving:
            full_key, inputs = f'{full_key} on a moving base', {**inputs, 'base': SIZES['base']}

        def over_scalars(*scalars: Scalars) -> Any:
            tree = self._with_inputs(self.constants, scalars[count:])
            return function(Robot(self.model, tree), *scalars[:count])

        if full_key not in self.made:
            version = version_of(function.__module__)
            several = (
                {} if result is None else {'outputs': result._fields, 'result_type': result._make}
            )
            as_loops = self._loop_form(function, inputs, count, always_loops) if loops else None
            self.made[full_key] = compile_program(
                over_scalars,
                {**inputs, **{name: len(value) for name, value in values.items()}},
                name=key.split()[0],
                key=f'{self._fingerprint} {self.snap!r} {full_key} {version}',
                backend=self.backend,
                documentation=documentation,
                loops=as_loops,
                **several,
            )
        made = self.made[full_key]
        return made.bind(**values) if values else made

    def _with_inputs(self, tree: CanonicalTree, given: Sequence[Scalars]) -> CanonicalTree:
        """Return a tree with the motion of the base, and the variation, that are inputs."""
        if self.variation is not None:
            tree = self.variation.applied(tree, *given[self.moving :])
        return tree.on_moving_base(given[0]) if self.moving else tree

    def _loop_form(
        self, function: Callable[..., Any], inputs: Mapping[str, int], count: int, always: bool
    ) -> LoopForm | None:
        """Return how a function, which takes `count` of the inputs, is recorded as loops.

        None if joints follow others: the entries of vectors are not those of the bodies' joints.
        """
        tree = self.constants
        if not independent(tree):
            return None
        separate = set() if self.variation is None else set(self.variation.bodies)

        def over_kinds(tracer: LoopTracer, *scalars: Scalars) -> Any:
            kinds = self._with_inputs(loop_tree(tree, tracer, separate), scalars[count:])
            return function(Robot(self.model, kinds), *scalars[:count])

        rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree, separate))
        # A robot of nine joints has vectors of the size of the base's motion.
        vectors = tuple(name for name, size in inputs.items() if size == tree.n and name != 'base')
        return LoopForm(over_kinds, rows, vectors, always)

    def __reduce__(self) -> Any:
        # Machine code cannot be pickled.
        made_of = self.model, self.constants, self.snap, self.backend, self.variation, self.moving
        return Programs, made_of

    @made_once
    def _fingerprint(self) -> str:
        return self.model.fingerprint()


def make_all_kernels(made: CompiledFunction) -> None:
    """Compile the kernels for batches, and for iteration if outputs are fed back to inputs."""
    fed_back = {name for name, _ in made.signature.outputs}
    if any(name in fed_back for name, _ in made.signature.inputs):
        made.precompile()
    else:
        # Fewer samples than lanes would run the kernel of single samples.
        made(*(np.zeros((LANES, size)) for _, size in made.signature.inputs))


@functools.cache
def version_of(module: str) -> str:
    """Return a digest of the source that the programs of a module are generated from."""
    packages = alg.__name__, friction.__name__, CanonicalTree.__module__
    files = scalars.__name__, spatial.__name__, made_once.__module__, __name__, module
    folders = [_source(name).parent for name in packages]
    return fingerprint(*folders, *map(_source, files))


def _source(module: str) -> Path:
    return Path(str(sys.modules[module].__file__))
