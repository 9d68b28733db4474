# SPDX-License-Identifier: Apache-2.0
"""Motors that turn by several joints, as those of many wrists.

    q_m = C q,    tau = C^T tau_m

Rows of C are motors behind their gears, columns are joints; the shaft of a motor turns by its
ratio times q_m. Friction and rotor inertias belong to the motors:

    tau = inverse_dynamics(q, qd, qdd) + C^T (B C qdd + friction(C qd)).

In the coordinates q_m they are those of each motor alone, so an arm with coupled joints is
identified as any other: `Coupling.robot` and `Coupling.recording` describe it by its motors.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots (2002), section 9.3.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import YamlError, is_number, read_yaml
from robot_dynamics.core.model.coordinates import friction_of_coordinates, with_coordinates
from robot_dynamics.core.model.robot_model import RATE_LIMITS, RobotModel
from robot_dynamics.recordings.recording import Recording, efforts_of

ENTRIES = ('joints', 'motors', 'ratios', 'matrix')
LARGEST_CONDITION = 1e6  # of the matrix: efforts of motors lose as many digits


class CouplingError(RobotDynamicsError, ValueError):
    """A file of coupled joints is rejected."""


@dataclass(frozen=True, eq=False)
class Coupling:
    """Motors of the joints of a model.

    Attributes:
        joints: n names, in the model's order.
        motors: n names.
        ratios: (n,) of the motors' shafts to q_m.
        matrix: (n, n) C: q_m = C q.
    """

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    ratios: Array
    matrix: Array

    @property
    def alone(self) -> Array:
        """(n,) factor from a joint to its motor, 0 where one of both has another partner."""
        C = self.matrix != 0
        return np.where((C.sum(axis=0) == 1) & (C.sum(axis=1) == 1), self.matrix.diagonal(), 0.0)

    def robot(self, model: RobotModel) -> RobotModel:
        """Return a robot described by its motors; friction is that of each motor moving alone."""
        C, S = self.matrix, np.linalg.inv(self.matrix)
        up, down = np.maximum(C, 0.0), np.minimum(C, 0.0)
        return with_coordinates(
            model,
            S,
            joint_names=self.motors,
            lower=_product(up, model.lower) + _product(down, model.upper),
            upper=_product(up, model.upper) + _product(down, model.lower),
            effort_limit=_product(np.abs(S.T), model.effort_limit),
            reflected_inertia=(S**2).T @ model.reflected_inertia,
            **{name: _product(np.abs(C), getattr(model, name)) for name in RATE_LIMITS},
            **friction_of_coordinates(S, model.viscous, model.coulomb),
        )

    def recording(self, recording: Recording, *, efforts: str) -> Recording:
        """Return a recording of the joints as one of the motors.

        Args:
            recording: of the joints.
            efforts: as for `identify`. Currents are those of the motors, in the order of the
                joints; torques are those of the joints.
        """
        C, qd = self.matrix, recording.qd
        # q_m = C q,  tau_m = C^-T tau
        to_motors = np.diag(self.ratios) if efforts == 'currents' else np.linalg.inv(C)
        coupled = ', '.join(np.array(self.motors)[self.alone == 0]) or 'none'
        note = (
            f'friction, rotors and efforts are of motors, behind their gears; coupled: {coupled}'
        )
        return replace(
            recording,
            joint_names=self.motors,
            q=recording.q @ C.T,
            qd=None if qd is None else qd @ C.T,
            effort=efforts_of(recording) @ to_motors,
            **{
                name: values @ matrix
                for name, matrix in (
                    ('command', C.T),
                    ('command_qd', C.T),
                    ('feedforward', np.linalg.inv(C)),
                )
                if (values := getattr(recording, name)) is not None
            },
            notes=(*recording.notes, note),
        )


def read_coupling(file: Path, joint_names: tuple[str, ...]) -> Coupling:
    """Return the coupling of the joints of a model.

    Args:
        file: YAML with the names `joints` and `motors`, `ratios`, and `matrix`, a row per motor.
        joint_names: n names of the model.

    Raises:
        OSError: the file cannot be read.
        CouplingError: it does not fit the joints, or its matrix is singular; the message names the
            file.
    """
    try:
        return _coupling(read_yaml(file), joint_names)
    except (CouplingError, YamlError) as error:
        raise CouplingError(f'{file}: {error}') from error


def _coupling(content: Any, joint_names: tuple[str, ...]) -> Coupling:
    if not isinstance(content, dict) or set(content) != set(ENTRIES):
        given = (
            ', '.join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        )
        raise CouplingError(f'the entries are {given}; expected {", ".join(ENTRIES)}')
    joints, motors = (_names(entry, content[entry]) for entry in ('joints', 'motors'))
    if sorted(joints) != sorted(joint_names):
        raise CouplingError(
            f'joints is {", ".join(joints)}; expected each of {", ".join(joint_names)} once'
        )
    # Parameters of the motors are not to be taken for those of the joints.
    if len(motors) != len(joints) or len({*motors, *joints}) != 2 * len(joints):
        raise CouplingError(
            f'motors is {", ".join(motors)}; expected {len(joints)} names, each once, that are no '
            'joints'
        )
    n = len(joints)
    ratios = _numbers('ratios', content['ratios'], n)
    if 0 in ratios:
        raise CouplingError(f'the ratio of {motors[ratios.index(0)]} is 0; expected another')
    rows = content['matrix']
    if not isinstance(rows, list) or len(rows) != n:
        raise CouplingError(f'matrix is {reprlib.repr(rows)}; expected {n} rows, one per motor')
    C = np.array([_numbers(f'row {k + 1} of matrix', row, n) for k, row in enumerate(rows)])
    if not np.linalg.cond(C) < LARGEST_CONDITION:
        raise CouplingError(
            f'matrix is {C.tolist()}, which is singular; expected an invertible one'
        )
    order = [joints.index(name) for name in joint_names]
    return Coupling(
        joint_names,
        tuple(motors[k] for k in order),
        np.array(ratios)[order],
        C[np.ix_(order, order)],
    )


def _names(entry: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise CouplingError(f'{entry} is {reprlib.repr(value)}; expected a list of names')
    return value


def _numbers(entry: str, value: Any, number: int) -> list[float]:
    finite = isinstance(value, list) and all(is_number(x) and np.isfinite(x) for x in value)
    if not finite or len(value) != number:
        raise CouplingError(f'{entry} is {reprlib.repr(value)}; expected {number} numbers')
    return [float(x) for x in value]


def _product(A: Array, x: Array) -> Array:
    """Return A x (n,), where zeros of A omit what is infinite."""
    with np.errstate(invalid='ignore'):
        return np.asarray(np.where(A != 0, A * x, 0.0).sum(axis=1))
