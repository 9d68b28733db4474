# SPDX-License-Identifier: Apache-2.0
"""Identification of a model from recordings.

Input: recordings and the `Dynamics` of a description. Output: parameters with errors, payloads,
motions to record. Other wings use `estimate_payload`.

excitation   motions that determine the parameters of a robot, apart from its own links
estimation   a physically consistent model that predicts the recorded efforts
payload      mass, centre of mass and inertia of what a link carries
servo        position servos, from commands and positions without efforts

arm = Dynamics(load_urdf('panda.urdf'))
found = identify(arm, [read_recording('run').recording(arm.model.joint_names)])
print(found.validation)
"""

from robot_dynamics.identification.estimation.estimation import identify as identify
from robot_dynamics.identification.estimation.identification_records import (
    Identification as Identification,
)
from robot_dynamics.identification.estimation.identification_records import (
    PayloadRecording as PayloadRecording,
)
from robot_dynamics.identification.excitation.excitation import Excitation as Excitation
from robot_dynamics.identification.excitation.excitation import ExcitationError as ExcitationError
from robot_dynamics.identification.excitation.excitation import limits_of as limits_of
from robot_dynamics.identification.excitation.excitation_search import excite as excite
from robot_dynamics.identification.excitation.servo_reference import (
    ServoExcitation as ServoExcitation,
)
from robot_dynamics.identification.excitation.servo_reference import excite_servo as excite_servo
from robot_dynamics.identification.payload.payload import Payload as Payload
from robot_dynamics.identification.payload.payload import PayloadError as PayloadError
from robot_dynamics.identification.payload.payload import estimate_payload as estimate_payload
from robot_dynamics.identification.servo.servo_identification import (
    identify_servo as identify_servo,
)
from robot_dynamics.identification.servo.servo_result import (
    ServoIdentification as ServoIdentification,
)
