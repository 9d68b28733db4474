# SPDX-License-Identifier: Apache-2.0
"""Comparison of recorded efforts with a model; identification of the model from recordings.

Input: recordings and the `Dynamics` of a description. Output: parameters with errors, causes
of residuals, payloads, motions to record. Other wings use `Recording` and
`read_recording` (recordings), and `estimate_payload` (payload).

recordings   samples of a bag, cleaned and smoothed: what everything else begins with
excitation   motions that determine the parameters of a robot, apart from its own links
estimation   a physically consistent model that predicts the recorded efforts
payload      mass, centre of mass and inertia of what a link carries
servo        position servos, from commands and positions without efforts
evaluation   measured and computed efforts, and the causes of their differences

arm = Dynamics(load_urdf('panda.urdf'))
found = evaluate(arm, read_recording('run').recording(arm.model.joint_names))
print(text(found))
"""

from robot_dynamics.identification.estimation.estimation import identify as identify
from robot_dynamics.identification.estimation.identification_records import (
    Identification as Identification,
)
from robot_dynamics.identification.estimation.identification_records import (
    PayloadRecording as PayloadRecording,
)
from robot_dynamics.identification.evaluation.evaluation import Evaluation as Evaluation
from robot_dynamics.identification.evaluation.evaluation import evaluate as evaluate
from robot_dynamics.identification.evaluation.evaluation_report import plot as plot
from robot_dynamics.identification.evaluation.evaluation_report import text as text
from robot_dynamics.identification.evaluation.hypotheses import Cause as Cause
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
from robot_dynamics.identification.recordings.bag import Bag as Bag
from robot_dynamics.identification.recordings.bag import BagError as BagError
from robot_dynamics.identification.recordings.bag import read_bag as read_bag
from robot_dynamics.identification.recordings.commands import CommandLog as CommandLog
from robot_dynamics.identification.recordings.commands import read_commands as read_commands
from robot_dynamics.identification.recordings.coupling import Coupling as Coupling
from robot_dynamics.identification.recordings.coupling import CouplingError as CouplingError
from robot_dynamics.identification.recordings.coupling import read_coupling as read_coupling
from robot_dynamics.identification.recordings.recording import JointSample as JointSample
from robot_dynamics.identification.recordings.recording import Recording as Recording
from robot_dynamics.identification.recordings.recording import RecordingError as RecordingError
from robot_dynamics.identification.recordings.recording import by_joint as by_joint
from robot_dynamics.identification.recordings.recording_files import (
    read_recording as read_recording,
)
from robot_dynamics.identification.servo.servo_identification import (
    identify_servo as identify_servo,
)
from robot_dynamics.identification.servo.servo_result import (
    ServoIdentification as ServoIdentification,
)
