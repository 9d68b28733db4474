# SPDX-License-Identifier: Apache-2.0
"""The realistic arm of the demonstration: a hardware profile as parameters of the simulator node.

The simulated arm gets links, friction, drives and sensors of the profile; the other nodes keep the
nominal description, as with a real arm.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import parameter_values, specs
from robot_dynamics.ros.simulator_parameters import SimulatorParameters
from robot_dynamics.simulation.hardware import HardwareProfile, load_profile
from robot_dynamics.simulation.joint_models.actuators import Drives
from robot_dynamics.simulation.sensors import Sensing

SEED = 0  # of the errors of the model, and of the noise
TRACKING = (
    'rms_error_feedforward_rad',
    'rms_error_pd_rad',
    'max_error_feedforward_rad',
    'max_error_pd_rad',
    'error_ratio',
    'missed_commands',
)


class Hardware(NamedTuple):
    """A realistic arm."""

    profile: Path
    parameters: dict[str, Any]  # of the simulator node, besides those of an ideal arm


def hardware(profile: Path, urdf: bytes | str, model: RobotModel, time_step: float) -> Hardware:
    """Return a realistic arm.

    Args:
        profile: file of a hardware profile.
        urdf: the nominal description.
        model: the same, without the locked joints.
        time_step: of the simulation, s.

    Raises:
        ModelError, ProfileError, FrictionLawError: the profile is invalid or does not fit the
            robot.
    """
    found = load_profile(profile)
    if found.servo is not None:
        raise ModelError(
            f'{profile} has a servo, whose arm takes positions, and the demo commands efforts; '
            'expected a profile without: simulator_node and record_servo simulate servos'
        )
    if found.drives.velocity_limit != np.inf:
        raise ModelError(
            f'{profile}: drives has velocity_limit; the demo takes that of the description alone'
        )
    try:
        Sensing(model, found.sensors, time_step)
        Drives(model, found.drives, time_step)
        (found.friction or FrictionSettings()).of(model)
    except ModelError as error:
        raise ModelError(
            f'{profile}, for the {model.n} joints of {model.name!r}: {error}'
        ) from error
    return Hardware(profile, simulator_parameters(found, urdf))


def simulator_parameters(profile: HardwareProfile, urdf: bytes | str) -> dict[str, Any]:
    """Return the parameters of the simulator node that give it this profile."""
    actual = profile.actual_urdf(urdf if isinstance(urdf, bytes) else urdf.encode(), SEED)
    parameters = {
        'robot_description': actual.decode(),
        'sensors.seed': SEED,
        'effort_offset': np.atleast_1d(np.asarray(profile.drives.offset, dtype=float)).tolist(),
        **parameter_values('sensors', profile.sensors),
        **parameter_values('drives', profile.drives),
    }
    if profile.friction is not None:
        parameters |= parameter_values('friction', profile.friction)
    if profile.servo is not None:
        parameters |= parameter_values('servo', profile.servo)
    if profile.rotor_inertia is not None:
        rotors = np.atleast_1d(np.asarray(profile.rotor_inertia, dtype=float))
        parameters['rotor_inertia'] = rotors.tolist()
    known = specs(SimulatorParameters)
    return {name: value for name, value in parameters.items() if name in known}
