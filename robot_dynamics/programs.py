"""Methods over scalars become the compiled programs of one robot.

Numbers of the model are constants of a program: that is what makes it fast, and why another robot
needs other programs. Gravity and loads may change while a controller runs, when nothing can wait
for a compiler: in the programs of a `Variation` they are inputs, and a change is a matter of
passing other numbers.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from robot_dynamics import algorithms, spatial
from robot_dynamics.algorithms.payload import carrier_moments, with_carrier, with_payload
from robot_dynamics.algorithms.repeated_bodies import (
    Rolling,
    coordinate_terms,
    independent,
    kind_keys,
    per_joint,
    rolled_tree,
)
from robot_dynamics.codegen.backends.cache import fingerprint
from robot_dynamics.codegen.calls import CompiledFunction, compile_program
from robot_dynamics.codegen.loops import Coordinates, Rolled, Rows
from robot_dynamics.codegen.tracing.program import LANES
from robot_dynamics.model.canonical import CanonicalTree, canonical_tree
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

Scalars = Sequence[Any]
T = TypeVar('T')

# Methods whose algorithms go through the tree by `algorithms.sweeps` alone.
SWEEPING = frozenset(
    {
        'inverse_dynamics',
        'mass_matrix',
        'coriolis_matrix',
        'gravity_torque',
        'coriolis_torque',
        'bias_torque',
        'terms',
        'inverse_dynamics_derivatives',
        'forward_dynamics',
        'simulation_step',
    }
)

# Of these, what needs joints that are coordinates of their own.
OF_JOINTS = frozenset({'forward_dynamics', 'simulation_step'})


class Robot(NamedTuple):
    """What a method over scalars sees of the robot."""

    model: RobotModel
    tree: CanonicalTree

    def per_joint(self, values: Array) -> list[Any]:
        """Return numbers (n) of the model as the tree's algorithms take them."""
        return per_joint(self.tree, values.tolist())


class program:  # noqa: N801  (reads as the decorator it is)
    """A method over scalars which becomes a compiled program on first use.

    In the place of `self` the method gets a `Robot`. Its arguments are vectors of n scalars.
    """

    def __init__(self, method: Callable[..., Any], result: type[Any] | None = None):
        functools.update_wrapper(self, method)  # type: ignore[arg-type]
        self.method = method
        self.inputs = tuple(inspect.signature(method).parameters)[1:]
        self.result = result

    @classmethod
    def returning(cls, result: type[Any]) -> Callable[[Callable[..., Any]], program]:
        """Decorate a method whose several results are the fields of a named tuple."""
        return functools.partial(cls, result=result)

    def __get__(self, owner: Programmed | None, kind: type | None = None) -> Any:
        if owner is None:
            return self
        # Python finds this before the descriptor from now on.
        owner.__dict__[self.method.__name__] = call = self.of(owner).call
        return call

    def of(self, owner: Programmed) -> CompiledFunction:
        """Return the program of a robot."""
        made = owner.programs.compiled(
            self.method.__name__.lstrip('_'),
            self.method,
            dict.fromkeys(self.inputs, owner.model.n),
            result=self.result,
            documentation=inspect.getdoc(self.method) or '',
        )
        # Without what is compiled: that would be a circle of references.
        reduced: Any = owner.__reduce__()
        make, (model, programs) = reduced
        made.made_by(make, model, replace(programs, made={}))
        return made


class made_once(Generic[T]):  # noqa: N801  (reads as the decorator it is)
    """As `functools.cached_property`, without the lock that it has before Python 3.12.

    A child forked while another thread compiles inside such a property would wait for that lock.
    """

    def __init__(self, method: Callable[[Any], T]):
        functools.update_wrapper(self, method)  # type: ignore[arg-type]
        self.method = method

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        if owner is None:
            return self  # type: ignore[return-value]
        # Python finds this before the descriptor from now on.
        value = owner.__dict__[self.method.__name__] = self.method(owner)
        return value


@dataclass(frozen=True)
class Variation:
    """Gravity, and what carries loads, given to programs at run time."""

    tree: CanonicalTree  # the robot under this gravity, with these loads
    carriers: tuple[str, ...] = ()  # a frame of each body that carries something

    @functools.cached_property
    def values(self) -> dict[str, Array]:
        """The inputs that all programs of this variation have in common."""
        moments = [carrier_moments(self.tree, frame) for frame in self.carriers]
        bodies = {f'carrier{k}': np.array(entries) for k, entries in enumerate(moments)}
        return {'gravity': np.array(self.tree.gravity), **bodies}

    def applied(self, tree: CanonicalTree, gravity: Scalars, *moments: Scalars) -> CanonicalTree:
        """Return a tree of the robot with these inputs, all of them scalars."""
        tree = replace(tree, gravity=list(gravity))
        for frame, entries in zip(self.carriers, moments, strict=True):
            tree = with_carrier(tree, frame, entries)
        return tree

    @property
    def bodies(self) -> list[int]:
        """The bodies that carry something."""
        return [self.tree.frame(frame).body for frame in self.carriers]

    def key(self) -> str:
        """Return what programs of this variation have in the cache beside the robot."""
        return f'gravity and moments of bodies {self.bodies} as inputs'


@dataclass(frozen=True)
class Programs:
    """The programs of one robot. Its variations share what has been compiled."""

    model: RobotModel  # as it is without a variation
    constants: CanonicalTree  # of that model
    snap: float
    backend: str
    variation: Variation | None = None
    made: dict[str, CompiledFunction] = field(default_factory=dict)

    @classmethod
    def of(cls, model: RobotModel, snap: float, backend: str) -> Programs:
        """Return the programs of a model."""
        return cls(model, canonical_tree(model, snap=snap), snap, backend)

    @functools.cached_property
    def tree(self) -> CanonicalTree:
        """The robot as it is, with the variation applied."""
        return self.constants if self.variation is None else self.variation.tree

    def varied(self, gravity: Array, link: str = '', load: Array | None = None) -> Programs:
        """Return programs under another gravity, and with one more load on a link."""
        carriers = () if self.variation is None else self.variation.carriers
        tree = replace(self.tree, gravity=tuple(float(x) for x in gravity))
        if load is not None:
            tree = with_payload(tree, link, load.tolist())
            bodies = {tree.frame(frame).body: frame for frame in (link, *carriers)}
            carriers = tuple(bodies[body] for body in sorted(bodies))
        return replace(self, variation=Variation(tree, carriers))

    def without_friction(self) -> Programs:
        """Return programs of the same robot with ideal bearings."""
        model = self.model.with_actuation(viscous=0.0, coulomb=0.0)
        return replace(self, model=model, made={})

    def without_dry_friction(self) -> Programs:
        """Return programs of the same robot with viscous friction alone."""
        return replace(self, model=self.model.with_actuation(coulomb=0.0), made={})

    def compiled(
        self,
        key: str,
        function: Callable[..., Any],
        inputs: Mapping[str, int],
        *,
        result: type[Any] | None = None,
        documentation: str = '',
    ) -> CompiledFunction:
        """Return the program of a function, its gravity and loads given if it has any.

        Args:
            key: the program's name, then what else it depends on besides the robot.
            function: takes a `Robot` and one vector of scalars per input.
            inputs: their names and sizes.
            result: the named tuple of several results.
            documentation: of the function.
        """
        variation = self.variation
        full_key = key if variation is None else f'{key} {variation.key()}'
        values = {} if variation is None else variation.values

        def over_scalars(*scalars: Scalars) -> Any:
            own, given = scalars[: len(inputs)], scalars[len(inputs) :]
            tree = (
                self.constants if variation is None else variation.applied(self.constants, *given)
            )
            return function(Robot(self.model, tree), *own)

        if full_key not in self.made:
            version = version_of(function.__module__)
            several = {} if result is None else {'outputs': result._fields, 'pack': result._make}
            self.made[full_key] = compile_program(
                over_scalars,
                {**inputs, **{name: len(value) for name, value in values.items()}},
                name=key.split()[0],
                key=f'{self._fingerprint} {self.snap!r} {full_key} {version}',
                backend=self.backend,
                documentation=documentation,
                rolled=self._rolled(key, function, inputs),
                **several,
            )
        made = self.made[full_key]
        return made.bind(**values) if values else made

    def _rolled(
        self, key: str, function: Callable[..., Any], inputs: Mapping[str, int]
    ) -> Rolled | None:
        """Return how a function is recorded as loops over the bodies, if it can be."""
        name, tree, coordinates = key.split()[0], self.constants, None
        if name not in SWEEPING:
            return None
        if not independent(tree):
            if name in OF_JOINTS or any(tree.reflected_inertia):
                return None
            coordinates = Coordinates(tree.n, tuple(coordinate_terms(tree)))
        variation, apart = self.variation, set()
        if variation is not None:
            apart = set(variation.bodies)

        def over_kinds(rolling: Rolling, *scalars: Scalars) -> Any:
            own, given = scalars[: len(inputs)], scalars[len(inputs) :]
            kinds: CanonicalTree = rolled_tree(tree, rolling, apart)
            kinds = kinds if variation is None else variation.applied(kinds, *given)
            return function(Robot(self.model, kinds), *own)

        rows = Rows.of([joint.parent for joint in tree.joints], kind_keys(tree, apart))
        vectors = tuple(name for name, size in inputs.items() if size == tree.n)
        return Rolled(over_kinds, rows, vectors, coordinates)

    def __reduce__(self) -> Any:
        # Machine code cannot be pickled.
        return Programs, (self.model, self.constants, self.snap, self.backend, self.variation)

    @functools.cached_property
    def _fingerprint(self) -> str:
        return self.model.fingerprint()


class Programmed:
    """A robot and what compiles its programs."""

    model: RobotModel
    programs: Programs

    @property
    def tree(self) -> CanonicalTree:
        """The model in the frames and parameters that algorithms work on."""
        return self.programs.tree


def make_all_kernels(made: CompiledFunction) -> None:
    """Make what a program needs for many samples, and for loops if its results feed it."""
    fed_back = {name for name, _ in made.signature.outputs}
    if any(name in fed_back for name, _ in made.signature.inputs):
        made.precompile()
    else:
        # Fewer samples than there are lanes would be taken one by one.
        made(*(np.zeros((LANES, size)) for _, size in made.signature.inputs))


@functools.cache
def version_of(module: str) -> str:
    """Return a digest of the code that a module's programs come from: other code, others."""
    names = algorithms.__name__, CanonicalTree.__module__, spatial.__name__, __name__, module
    whole, canonical, *files = (Path(str(sys.modules[name].__file__)) for name in names)
    return fingerprint(whole.parent, canonical.parent, *files)
