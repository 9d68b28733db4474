# SPDX-License-Identifier: Apache-2.0
"""Imperfections of a real arm, as a profile: sensors, drives, friction, errors of the model.

    profile = load_profile('config/realistic_panda.yaml')
    true_model = profile.actual(nominal_model, seed=0)

A profile is a YAML file of up to seven entries; see `config/realistic_panda.yaml`, and
`config/hobby_servo.yaml` of an arm that takes positions:

    sensors: {effort_noise: [...], ...}     attributes of `Sensors`
    drives: {bandwidth: 100.0, ...}         attributes of `Actuators`
    friction: {law: coulomb_memory, ...}    attributes of `FrictionSettings`
    servo: {kp: 8.9, delay: 0.015, ...}     attributes of `Servo`
    rotor_inertia: 0.028                    seen at the joints, kg m^2 or kg; one, or one each
    model_error: [0.05, 0.10]               least and largest relative error of inertial parameters
    friction_error: 0.10                    largest relative error of friction coefficients
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.yaml_text import YamlError, is_number, read_yaml, require_known
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.simulation.joint_models.actuators import Actuators
from robot_dynamics.simulation.joint_models.servo import Servo
from robot_dynamics.simulation.sensors import Sensors
from robot_dynamics.urdf.editing import Change, edited, inertial_changes
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.physics_only import inertials

Settings = TypeVar('Settings', Sensors, Actuators, FrictionSettings, Servo)


class ProfileError(RobotDynamicsError, ValueError):
    """A hardware profile cannot be read, or is invalid."""


@dataclass(frozen=True, eq=False)
class HardwareProfile:
    """What distinguishes a real arm from its nominal model. By default nothing does.

    Attributes:
        sensors: errors of the measurements.
        drives: delay, limits, bandwidth, gain errors and ripple.
        friction: of the joints; None: viscous and Coulomb friction without memory.
        model_error: least and largest relative error of the inertial parameters.
        friction_error: largest relative error of the friction coefficients.
        servo: position servos; None: the drives take efforts.
        rotor_inertia: r^2 J_m, seen at the joints, one number or (n,); None: that of the model.
    """

    sensors: Sensors = field(default_factory=Sensors)
    drives: Actuators = field(default_factory=Actuators)
    friction: FrictionSettings | None = None
    model_error: tuple[float, float] = (0.0, 0.0)
    friction_error: float = 0.0
    servo: Servo | None = None
    rotor_inertia: ArrayLike | None = None

    def actual(self, nominal: RobotModel, seed: int) -> RobotModel:
        """Return an arm that differs from its nominal model by the errors of the profile.

        Mass and inertia of each body, and each coordinate of its centre of mass, are scaled by
        1 + e, with |e| uniform between the bounds of `model_error` and a random sign. The bodies
        stay physically consistent.

        Args:
            nominal: the model.
            seed: of the random errors.
        """
        rng = np.random.default_rng(seed)
        bodies = [self._scaled(nominal.inertial(i), rng) for i in range(nominal.nb)]
        viscous, coulomb = self._friction_scale(nominal.n, rng)
        if self.rotor_inertia is not None:
            nominal = nominal.with_actuation(rotor_inertia=self.rotor_inertia)
        return replace(
            nominal,
            mass=np.array([body.mass for body in bodies]),
            com=np.array([body.com for body in bodies]),
            inertia_com=np.array([body.inertia_com for body in bodies]),
            viscous=nominal.viscous * viscous,
            coulomb=nominal.coulomb * coulomb,
        )

    def actual_urdf(self, nominal: bytes, seed: int) -> bytes:
        """Return the description of such an arm: a URDF whose links have these errors.

        Args:
            nominal: text of the URDF.
            seed: of the random errors.

        Raises:
            ModelError: the URDF is rejected.
        """
        rng = np.random.default_rng(seed)
        changes: list[Change] = []
        for link, body in inertials(nominal).items():
            if body.mass > 0:
                changes += inertial_changes(link, self._scaled(body, rng))
        model = parse_urdf(nominal)
        scales = self._friction_scale(model.n, rng)
        for name, own, scale in zip(
            ('damping', 'friction'), (model.viscous, model.coulomb), scales, strict=True
        ):
            changes += [
                Change('joint', joint, f'dynamics/@{name}', value)
                for joint, value in zip(model.joint_names, own * scale, strict=True)
                if value
            ]
        return edited(nominal, changes)

    def _scaled(self, body: Inertial, rng: np.random.Generator) -> Inertial:
        scale = 1 + rng.uniform(*self.model_error, 4) * rng.choice([-1.0, 1.0], 4)
        return Inertial(body.mass * scale[0], body.com * scale[1:], body.inertia_com * scale[0])

    def _friction_scale(self, n: int, rng: np.random.Generator) -> Array:
        """Return the factors (2, n) of the viscous and Coulomb coefficients."""
        return 1 + rng.uniform(-self.friction_error, self.friction_error, (2, n))


def load_profile(path: str | Path) -> HardwareProfile:
    """Return the profile of a YAML file. Raises ProfileError, which names the file and entry."""
    try:
        content = read_yaml(path)
    except OSError as error:
        raise ProfileError(f'{path}: {error.strerror}') from error
    except YamlError as error:
        raise ProfileError(f'{path}: {error}') from error
    if not isinstance(content, Mapping):
        raise ProfileError(f'{path}: expected entries {", ".join(ENTRIES)}')
    try:
        return parse_profile(content)
    except (ValueError, TypeError) as error:
        raise ProfileError(f'{path}: {error}') from error


ENTRIES = tuple(item.name for item in fields(HardwareProfile))


def parse_profile(content: Mapping[str, Any]) -> HardwareProfile:
    """Return a profile from the entries of its file. Raises ValueError or TypeError."""
    require_known('profile', content, ENTRIES)
    for name in ('model_error', 'friction_error', 'rotor_inertia'):
        _require_numbers(name, content.get(name, 0.0))
    low, high = np.broadcast_to(content.get('model_error', 0.0), 2).tolist()
    friction_error = float(content.get('friction_error', 0.0))
    if not (0 <= low <= high < 1 and 0 <= friction_error < 1):
        raise ValueError(
            f'model_error is {low} to {high} and friction_error {friction_error}; they must be '
            'in [0, 1), in ascending order'
        )
    return HardwareProfile(
        _settings(Sensors, 'sensors', content),
        _settings(Actuators, 'drives', content),
        _settings(FrictionSettings, 'friction', content) if 'friction' in content else None,
        (low, high),
        friction_error,
        _settings(Servo, 'servo', content) if 'servo' in content else None,
        content.get('rotor_inertia'),
    )


def _settings(kind: type[Settings], name: str, content: Mapping[str, Any]) -> Settings:
    entry = content.get(name) or {}
    require_known(name, entry, [item.name for item in fields(kind)])
    for item in fields(kind):
        if item.default is MISSING and item.name not in entry:
            raise ValueError(f'{name} has no entry {item.name!r}')
    for item in fields(kind):
        if item.name in entry and not isinstance(item.default, str):
            _require_numbers(f'{name}: {item.name}', entry[item.name])
    return kind(**entry)


def _require_numbers(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a number, several, or None."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if one is not None and not is_number(one):
            raise ValueError(f'{name} is {one!r}; expected numbers')
