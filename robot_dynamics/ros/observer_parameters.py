# SPDX-License-Identifier: Apache-2.0
"""Parameters of momentum_observer_node, and the settings that follow from them for one robot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, ClassVar

from robot_dynamics.common.settings import LOWEST_RATE, RATE, TIME
from robot_dynamics.control.contact import ContactSettings
from robot_dynamics.control.contact_thresholds import ContactThresholds, Learned, PairThresholds
from robot_dynamics.control.contact_wrench import DIRECTIONS
from robot_dynamics.control.momentum_observer import LONGEST_LEAD, ObserverSettings
from robot_dynamics.control.threshold_learning import SHORTEST
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros.parameters import ParameterError, group, parameter, parameter_values
from robot_dynamics.ros.robot_parameters import LiveRobotParameters, MeasuredParameters

# Groups of the thresholds of the pairs of poles in `BANK`.
BANK_THRESHOLDS = ('split_thresholds', 'medium_thresholds', 'slow_thresholds')


def threshold_values(learned: Learned) -> dict[str, Any]:
    """Return the parameters of learned thresholds; those of a bank that was not learned are 0."""
    found = parameter_values('thresholds', learned.thresholds)
    for name, pair in zip_longest(BANK_THRESHOLDS, learned.bank, fillvalue=PairThresholds()):
        found |= parameter_values(str(name), pair)
    return found


@dataclass(frozen=True)
class ObserverParameters(MeasuredParameters):
    """Parameters of the momentum observer node."""

    LIVE: ClassVar[tuple[str, ...]] = (
        *LiveRobotParameters.LIVE,
        'observer.',
        'thresholds.',
        *(f'{name}.' for name in BANK_THRESHOLDS),
        'detection.',
    )
    contact_frame: str = parameter(
        '', 'Frame of ~/external_wrench. Empty: payload.link, tip_link or the last moving link.'
    )
    contact_model: str = parameter(
        'wrench',
        'Model of the contact at contact_frame: wrench (a moment and a force) or force (at its '
        'origin, without a moment).',
        choices=tuple(DIRECTIONS),
    )
    publish_rate: float = parameter(
        0.0,
        'Largest rate of ~/external_torque and ~/external_wrench, Hz of the stamps; 0: one for '
        'every joint state.',
        RATE,
        smallest=LOWEST_RATE,
        live=True,
    )
    learn_timeout: float = parameter(
        900.0,
        'Longest run of ~/learn, s of joint states; a longer one is discarded.',
        (SHORTEST, TIME[1]),
        live=True,
    )
    observer: Any = group(ObserverSettings, 'effort_lead')
    thresholds: Any = group(ContactThresholds)
    split_thresholds: Any = group(PairThresholds)
    medium_thresholds: Any = group(PairThresholds)
    slow_thresholds: Any = group(PairThresholds)
    detection: Any = group(ContactSettings)

    def observer_settings(self, model: RobotModel) -> ObserverSettings:
        """Return the settings of the observer. Raises ParameterError."""
        settings: ObserverSettings = self.joint_settings('observer', model)
        return replace(settings, effort_lead=self._checked_lead())

    def _checked_lead(self) -> float:
        """Return the time by which efforts are earlier than velocities, s; negative: later.

        Raises ParameterError beyond LONGEST_LEAD.
        """
        lead = self.velocity_lag - self.effort_delay
        if abs(lead) > LONGEST_LEAD:
            raise ParameterError(
                f'velocity_lag is {self.velocity_lag:g} s and effort_delay {self.effort_delay:g} '
                f's; they must differ by at most {LONGEST_LEAD:g} s'
            )
        return lead

    def contact_thresholds(self, model: RobotModel) -> ContactThresholds:
        """Return the thresholds of contact. Raises ParameterError."""
        thresholds: ContactThresholds = self.joint_settings('thresholds', model)
        return thresholds

    def bank_thresholds(self, model: RobotModel) -> list[PairThresholds]:
        """Return the thresholds of the bank. Raises ParameterError."""
        return [self.joint_settings(name, model) for name in BANK_THRESHOLDS]

    def frame(self, model: RobotModel) -> str:
        """Return the frame of the wrench."""
        return self.contact_frame or self.payload_link(model)
