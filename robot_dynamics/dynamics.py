"""The front door: the dynamics of one robot, as functions of arrays.

    arm = Dynamics(load_urdf('panda.urdf'))
    tau = arm.inverse_dynamics(q, qd, qdd)

Each method below says in one line, over scalars, which algorithm it is. Its first use turns that
line into a program for this one robot and puts the program in the method's place, so that every
later call goes straight to it. The equation of motion throughout is

    M(q) qdd + C(q, qd) qd + g(q) + friction(qd) = tau + J(q)^T F_ext

`friction_torque` is the friction of it. `simulate` and `rollout` include friction and
`forward_dynamics` leaves it out, unless `friction='none'` or `'model'` says otherwise; every other
method leaves it out. docs/simulation.md has the table for the whole package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.algorithms.coriolis import coriolis_matrix
from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.derivatives import Derivatives, inverse_dynamics_derivatives
from robot_dynamics.algorithms.energy import kinetic_energy, potential_energy
from robot_dynamics.algorithms.friction import friction_torque
from robot_dynamics.algorithms.gravity import gravity_torque
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.regressor import regressor
from robot_dynamics.algorithms.rnea import bias_torque, rnea
from robot_dynamics.algorithms.terms import Terms, terms
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.frame_methods import AT_FRAMES, FrameMethods
from robot_dynamics.model.canonical import ROUNDING
from robot_dynamics.model.inertia import Inertial, to_parameters
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.motion_methods import MotionMethods
from robot_dynamics.programs import Programs, Scalars, make_all_kernels, program


class Dynamics(MotionMethods, FrameMethods):
    """The dynamics of one robot.

    Every argument is array-like `(..., n)`; leading axes broadcast as in NumPy, and results are
    new C-ordered float64 arrays, or `out=` where one is given (a tuple for several results).
    Result arrays are recycled once unreferenced, their views included.
    Positions are in rad or m, torques in N m or N, six-vectors have the angular part first.
    All methods raise ShapeError, which names the argument, for a wrong shape or type, more than
    30 leading axes, or an `out=` that shares memory with another argument or overlaps itself.
    Values are not checked: NaN and infinity propagate to the results, as in NumPy, and nothing is
    raised or printed; the simulator and the nodes reject them.
    Angles of magnitude above 2^40 rad (about 1.1e12) give NaN in machine code: neighbouring
    float64 numbers are 1e-4 rad apart there.

    Friction is left out, except where `friction='model'` is the default or given: see the table in
    docs/simulation.md.

    `with_payload` on an arm that carries a load adds a second load. To replace a load, keep the
    arm without it, and call `with_payload` of that one.

    Methods can be pickled (`multiprocessing`, Dask), as their arm can: the other process compiles
    them again, or finds them in the cache.

    A method's first use compiles it, which takes 20 ms to 1 s for an arm, or finds it in the
    cache on disk, which takes 5 ms. `precompile` moves that to a moment of your choice.

    Numbers of the model are constants of the programs. Where gravity or a load changes while a
    controller runs, let them be inputs instead, and compile beforehand:

        arm.with_payload('tool', 0.0).precompile('inverse_dynamics')
        ...
        held = arm.with_payload('tool', 1.2, [0.0, 0.0, 0.1])   # no compiling: 0.3 ms
        tau = held.inverse_dynamics(q, qd, qdd)

    The first call of a method costs 0.1 ms then, each later one a tenth more than with constants,
    forward dynamics and a simulated step a fifth; a sample of a batch a fifth to two thirds. `arm`
    itself stays as it was, so that a control loop may go on with it, or with the arm before, until
    another thread hands it this one.

    Args:
        model: the robot.
        snap: numbers of the model within this distance of 0 and 1 are set to it. The default
            removes rounding errors only; see `model.canonical` for 1e-11.
        backend: 'llvm' for machine code, 'python' for none, 'auto' for the best there is.

    Attributes:
        model: the robot, under its present gravity and with its loads.
        programs: what compiles it.
    """

    def __init__(self, model: RobotModel, *, snap: float = ROUNDING, backend: str = 'auto'):
        self.model = model
        self.programs = Programs.of(model, snap, backend)

    def __repr__(self) -> str:
        return f'<Dynamics of {self.model.name!r}: {", ".join(self.model.joint_names)}>'

    def __reduce__(self) -> Any:
        # Programs are found again in the cache; machine code cannot be pickled.
        return _dynamics, (self.model, self.programs)

    def with_gravity(self, gravity: Any) -> Dynamics:
        """Return the dynamics under another gravity (3,) [m/s^2], base frame, as things fall.

        Nothing is compiled but at the first change ever. Raises ModelError for another shape.
        """
        model = self.model.with_gravity(gravity)
        return self._varied(model, self.programs.varied(model.gravity))

    def with_payload(
        self, link: str, mass: float, com: Any = (0.0, 0.0, 0.0), inertia: Any = None
    ) -> Dynamics:
        """Return the dynamics with a load on a link, as `RobotModel.with_payload` has it.

        Nothing is compiled but at the first load ever on this link; a mass of 0 will do for that.
        A second load on the link adds to the first: to change a load, begin without it.

        Raises:
            FrameNotFound: no such link.
            ModelError: a negative or non-finite value, or a link that is fixed to the base.
        """
        model = self.model.with_payload(link, mass, com, inertia)
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
        load = to_parameters(Inertial(float(mass), np.asarray(com, dtype=float), tensor))
        return self._varied(model, self.programs.varied(model.gravity, link, load))

    def without_friction(self) -> Dynamics:
        """Return the dynamics of the same arm with ideal bearings."""
        model = self.model.with_actuation(viscous=0.0, coulomb=0.0)
        return self._varied(model, self.programs.without_friction())

    def without_dry_friction(self) -> Dynamics:
        """Return the dynamics of the same arm with viscous friction alone."""
        model = self.model.with_actuation(coulomb=0.0)
        return self._varied(model, self.programs.without_dry_friction())

    def precompile(self, *methods: str, frames: Sequence[str] = ()) -> None:
        """Compile now, and keep on disk, what the first calls would otherwise wait for.

        Args:
            methods: names; all of them if none is given, `simulate` with every integrator. The
                default of `friction` is compiled, the other choice at its first call.
            frames: where those methods are wanted that are asked for at a frame.

        Raises:
            ValueError: a method that is not compiled, by name.
            FrameNotFound: no such frame.
        """
        for name in methods or self.precompilable(frames):
            if name not in PROGRAMS:
                raise ValueError(
                    f'{name!r} is no compiled method; these are: {", ".join(PROGRAMS)}'
                )
            if name in AT_FRAMES and not frames:
                raise ValueError(f'{name} is compiled for a frame: name it, frames=[...]')
            for made in self._programs_of(name, frames):
                make_all_kernels(made)

    # -- the equation of motion -------------------------------------------------------------

    @program
    def inverse_dynamics(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Any:
        """Return the torques (..., n) of a motion.   tau = M(q) qdd + C(q, qd) qd + g(q)."""
        return rnea(self.tree, q, qd, qdd)

    @program
    def mass_matrix(self, q: Scalars) -> Any:
        """Return M (..., n, n), symmetric and positive definite."""
        return crba(self.tree, q)

    @program
    def coriolis_matrix(self, q: Scalars, qd: Scalars) -> Any:
        """Return C (..., n, n) of Christoffel symbols: dM/dt - 2 C is skew-symmetric."""
        return coriolis_matrix(self.tree, q, qd)

    @program
    def gravity_torque(self, q: Scalars) -> Any:
        """Return g (..., n): what the motors must supply to hold the arm."""
        return gravity_torque(self.tree, q)

    @program
    def coriolis_torque(self, q: Scalars, qd: Scalars) -> Any:
        """Return C(q, qd) qd (..., n): what speed alone takes."""
        return bias_torque(replace(self.tree, gravity=(0.0, 0.0, 0.0)), q, qd)

    @program
    def bias_torque(self, q: Scalars, qd: Scalars) -> Any:
        """Return C(q, qd) qd + g(q) (..., n)."""
        return bias_torque(self.tree, q, qd)

    @program
    def friction_torque(self, qd: Scalars) -> Any:
        """Return viscous and dry friction (..., n): what the motors must supply against it."""
        return friction_torque(self.model.viscous.tolist(), self.model.coulomb.tolist(), qd)

    @program.returning(Terms)
    def terms(self, q: Scalars, qd: Scalars) -> Any:
        """Return Terms(M, C, g) in one pass."""
        return terms(self.tree, q, qd)

    @program.returning(Derivatives)
    def inverse_dynamics_derivatives(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Any:
        """Return Derivatives(dtau_dq, dtau_dqd, M) of inverse dynamics."""
        return inverse_dynamics_derivatives(self.tree, q, qd, qdd)

    @program
    def kinetic_energy(self, q: Scalars, qd: Scalars) -> Any:
        """Return 1/2 qd^T M(q) qd (...), J."""
        return kinetic_energy(self.tree, q, qd)

    @program
    def potential_energy(self, q: Scalars) -> Any:
        """Return the potential energy U (...), J, zero at the base's origin: g = dU/dq."""
        return potential_energy(self.tree, q)

    @program
    def regressor(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Any:
        """Return Y (..., n, 10 nb): tau = Y pi + B qdd, pi = `model.inertial_parameters()`.

        B is the reflected inertia of the rotors, zero unless the model has been given one.
        """
        return regressor(self.tree, q, qd, qdd)

    # -- all of them --------------------------------------------------------------------------

    def precompilable(self, frames: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the names that `precompile` takes: the methods that this robot can answer."""
        return tuple(
            name
            for name in PROGRAMS
            if (frames or name not in AT_FRAMES)
            and (name not in NEED_INERTIA or self.joint_without_inertia is None)
        )

    def _varied(self, model: RobotModel, programs: Programs) -> Dynamics:
        arm = _dynamics(model, programs)
        if self.joint_without_inertia is None:
            # Nor will there be one: a load takes no inertia away.
            arm.__dict__['joint_without_inertia'] = None
        return arm

    def _programs_of(self, name: str, frames: Sequence[str]) -> list[CompiledFunction]:
        """Return the programs of a method."""
        if name in AT_FRAMES:
            return [self.frame_program(name, frame) for frame in frames]
        if name == 'simulate':
            return [self.simulation_step(integrator) for integrator in INTEGRATORS]
        if name == 'forward_dynamics':
            return [self.forward_dynamics_program()]
        method: program = vars(Dynamics)[name]
        return [method.of(self)]


NEED_INERTIA = ('forward_dynamics', 'simulate')
PROGRAMS = (
    *(name for name, item in vars(Dynamics).items() if isinstance(item, program)),
    *NEED_INERTIA,
    *AT_FRAMES,
)


def _dynamics(model: RobotModel, programs: Programs) -> Dynamics:
    """Return the dynamics of a model whose programs there are."""
    arm = Dynamics.__new__(Dynamics)
    arm.model, arm.programs = model, programs
    return arm
