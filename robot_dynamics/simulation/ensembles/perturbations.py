# SPDX-License-Identifier: Apache-2.0
"""Differences between the arms of a batch: payload, friction and rotors.

They are inputs of the compiled step, so thousands of different arms share one program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.integrators import check_integrator
from robot_dynamics.core.algorithms.payload import carrier_moments, with_carrier, with_payload
from robot_dynamics.core.algorithms.servo_drive import SERVO_INPUTS, with_drives
from robot_dynamics.core.algorithms.simulation_step import State, simulation_step
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.programs import Robot, Scalars
from robot_dynamics.core.rollout import check_coupled
from robot_dynamics.simulation.joint_models.friction_step import PARAMETERS

# Properties of drives that may differ; the coefficients of friction first.
DRIVES = ('viscous', 'coulomb', 'rotor_inertia')


@dataclass(frozen=True, eq=False)
class Perturbations:
    """Differences between arms; None: as in the model.

    Attributes:
        payload_link: the link of the payloads, which are added to its own inertia.
        payload: (N, 10), or (10,) for all; see `payload_parameters`.
        viscous: (N, n), (n,) or one number, N m s/rad or N s/m, replaces the model's.
        coulomb: (N, n), (n,) or one number, N m or N.
        rotor_inertia: (N, n), (n,) or one number, r^2 J_m seen at the joint (the armature of
            simulators), kg m^2 or kg, replaces the model's.

    Raises:
        ModelError: a payload without link or a link without payload, or a coefficient that is
            negative or not finite.
    """

    payload_link: str | None = None
    payload: ArrayLike | None = None
    viscous: ArrayLike | None = None
    coulomb: ArrayLike | None = None
    rotor_inertia: ArrayLike | None = None

    def __post_init__(self) -> None:
        if (self.payload_link is None) != (self.payload is None):
            raise ModelError('a payload needs a link to be on: give payload_link and payload')
        for name in DRIVES:
            value = getattr(self, name)
            array = np.asarray(0.0 if value is None else value, dtype=float)
            if not (np.isfinite(array) & (array >= 0)).all():
                raise ModelError(f'{name} has a coefficient that is not finite, or not 0 or more')

    def inputs(self, arm: Dynamics) -> dict[str, Array]:
        """Return the inputs of the step that differ between arms, (N, size) or (size,).

        Raises:
            ShapeError: an array has a wrong shape.
            ModelError: the payload link is fixed to the base.
            FrameNotFound: the link does not exist.
        """
        model, given = arm.model, {}
        if self.payload is not None:
            given['payload'] = np.asarray(self.payload, dtype=float), PARAMETERS
        rubs = self.viscous is not None or self.coulomb is not None
        named = [*(DRIVES[:2] if rubs else ()), *DRIVES[2:]]
        for name, own in ((name, getattr(self, name)) for name in named):
            if own is not None or name in DRIVES[:2]:
                array = np.asarray(getattr(model, name) if own is None else own, dtype=float)
                given[name] = array if array.ndim else np.full(model.n, array), model.n
        for name, (array, size) in given.items():
            if array.ndim not in (1, 2) or array.shape[-1] != size:
                raise ShapeError(f'{name} has shape {array.shape}; it must be (N, {size})')
        arrays = {name: array for name, (array, _) in given.items()}
        if self.payload_link is not None:
            # Payload and body are combined once, not at every step.
            tree = with_payload(arm.tree, self.payload_link, [*arrays.pop('payload').T])
            moments = carrier_moments(tree, self.payload_link)
            arrays['carrier'] = np.stack(np.broadcast_arrays(*moments), axis=-1)
        return arrays

    def step(self, arm: Dynamics, integrator: str, servo: bool = False) -> CompiledFunction:
        """Return the compiled step of perturbed arms: q, qd, tau, time_step, inputs to State.

        Args:
            arm: the robot.
            integrator: as of `simulate_batch`.
            servo: whether tau is the target of `servo_drive`, with the inputs `SERVO_INPUTS`.

        Raises:
            ModelError: joints that move no inertia, by name.
            ValueError: no such integrator; or too many joints with dry friction.
            ShapeError, FrameNotFound: as `inputs`.
        """
        more = {name: array.shape[-1] for name, array in self.inputs(arm).items()}
        more |= dict.fromkeys(SERVO_INPUTS if servo else (), arm.model.n)
        if not more:
            return arm.simulation_step(integrator)
        check_integrator(integrator)
        if 'coulomb' in more or arm.model.coulomb.any():
            check_coupled(arm.model.n)
        still = self.lightest(arm).joint_without_inertia
        if still is not None:
            raise ModelError(f'joint {still!r} moves no inertia')
        link = self.payload_link

        def step(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, *given: Scalars) -> State:
            (h,), values = given[0], dict(zip(more, given[1:], strict=True))
            model, tree = robot
            if link is not None:
                tree = with_carrier(tree, link, values['carrier'])
            tree, tau = with_drives(tree, q, tau, values, h)
            friction = Friction(
                values.get('viscous', model.viscous.tolist()),
                values.get('coulomb', model.coulomb.tolist()),
            )
            return simulation_step(tree, friction, integrator, q, qd, tau, h)

        return arm.programs.compiled(
            f'perturbed_step {integrator}, {", ".join(more)} given, on {link!r}',
            step,
            {**dict.fromkeys(('q', 'qd', 'tau'), arm.model.n), 'time_step': 1, **more},
            result=State,
        )

    def lightest(self, arm: Dynamics) -> Dynamics:
        """Return an arm with the smallest rotor inertia of all arms."""
        if self.rotor_inertia is None:
            return arm
        rotors = np.asarray(self.rotor_inertia, dtype=float)
        rotors = rotors.min(axis=0) if rotors.ndim > 1 else rotors
        return Dynamics(
            arm.model.with_actuation(rotor_inertia=rotors),
            snap=arm.programs.snap,
            backend=arm.programs.backend,
        )

    def without_friction(self) -> Perturbations:
        """Return the same payloads. Raises ValueError if there are coefficients of friction."""
        if self.viscous is not None or self.coulomb is not None:
            raise ValueError("friction is 'none', but the perturbations have coefficients of it")
        return self

    def damped(self, kd: Array) -> Perturbations:
        """Return the same arms with more viscous friction (n,)."""
        return self if self.viscous is None else replace(self, viscous=kd + self.viscous)

    def part(self, begin: int, end: int) -> Perturbations:
        """Return the perturbations of some of the arms."""
        arrays = {
            name: None if value is None else arms(np.asarray(value), begin, end)
            for name, value in ((name, getattr(self, name)) for name in ('payload', *DRIVES))
        }
        return Perturbations(self.payload_link, **arrays)


AS_MODELLED = Perturbations()


def arms(array: Array, begin: int, end: int) -> Array:
    """Return the rows of some arms; one row, or a vector, applies to all of them."""
    return array if array.ndim < 2 or len(array) == 1 else array[begin:end]


def payload_parameters(mass: ArrayLike, com: ArrayLike = 0.0, inertia: ArrayLike = 0.0) -> Array:
    """Return the parameters (..., 10) of bodies about the frame that carries them.

    m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz

    Args:
        mass: (...) kg.
        com: (..., 3) m, in the frame's axes.
        inertia: (..., 3, 3) kg m^2 about the centre of mass; without it a point mass.

    Raises:
        ModelError: a mass is negative, or a number not finite.
    """
    m = np.asarray(mass, dtype=float)
    if not (np.isfinite(m) & (m >= 0)).all():
        raise ModelError(f'a payload has mass {m.min()} kg; it must be finite and not negative')
    c = np.broadcast_to(np.asarray(com, dtype=float), (*m.shape, 3))
    # I = I_c + m (c.c 1 - c c^T)
    outward = (c * c).sum(-1)[..., None, None] * np.eye(3) - c[..., :, None] * c[..., None, :]
    I = np.asarray(inertia, dtype=float) + m[..., None, None] * outward
    i, j = np.triu_indices(3)
    parameters = np.concatenate([m[..., None], m[..., None] * c, I[..., i, j]], axis=-1)
    if not np.isfinite(parameters).all():
        raise ModelError('centre of mass or inertia of a payload is not finite')
    return parameters
