"""Comparison of recorded efforts with a model, and the causes of differences.

bag              joint states and robot description of a rosbag2 recording
recording        samples by joint in the model's order, and the samples that were omitted
smoothing        smooth positions, velocities and accelerations, without lag
evaluation       measured effort and the model's torque, joint by joint
cause_columns    torque that each cause would add, per unit of its unknowns
hypotheses       possible causes, and their physical limits
causes           the causes that explain the residual: cause_equations, selection,
                 sufficient_causes; last_fit has their size, errors and alternatives
autoregression   noise of the residual, and its innovations
selection        regression with the most probable groups of unknowns
base_parameters  combinations of inertial parameters that torques determine
report           findings as text, JSON and figure, curves as CSV
excitation       periodic motions with ramps; excitation_search optimises them, clearance keeps
                 links apart by the capsules of `capsules`, excitation_report writes messages

estimation          a physically consistent model that predicts the recorded efforts
observations        rows of a recording: regressor, efforts, friction features, filtered
parameter_fit       weighted fit of all parameters, drive gains included
pseudo_inertia      the convex problem, closest to the description
base_fit            least squares on the base parameters
friction_choice     friction law and pre-sliding lengths by the residual held out
velocities          recorded velocities without their lag, or derivatives of the positions
delay, periods      constant delay of the efforts; average of repeated periods
validation          residuals before and after, and drift
identified_files    URDF, YAML and JSON; identified_text and identified_report for people
effort_curves       figure of measured and computed efforts

payload          mass, centre of mass and inertia of a payload, by payload_fit from a motion or
                 payload_bounds from postures; payload_report prints them

bag = read_bag('run')
arm = Dynamics(load_urdf('panda.urdf'))
found = evaluate(arm, by_joint(bag.samples, arm.model.joint_names))
print(text(found))
"""

from robot_dynamics.identification.bag import Bag as Bag
from robot_dynamics.identification.bag import BagError as BagError
from robot_dynamics.identification.bag import JointSample as JointSample
from robot_dynamics.identification.bag import read_bag as read_bag
from robot_dynamics.identification.estimation import Identification as Identification
from robot_dynamics.identification.estimation import PayloadRecording as PayloadRecording
from robot_dynamics.identification.estimation import identify as identify
from robot_dynamics.identification.evaluation import Evaluation as Evaluation
from robot_dynamics.identification.evaluation import evaluate as evaluate
from robot_dynamics.identification.excitation import Excitation as Excitation
from robot_dynamics.identification.excitation import ExcitationError as ExcitationError
from robot_dynamics.identification.excitation import limits_of as limits_of
from robot_dynamics.identification.excitation_search import excite as excite
from robot_dynamics.identification.hypotheses import Cause as Cause
from robot_dynamics.identification.payload import Payload as Payload
from robot_dynamics.identification.payload import PayloadError as PayloadError
from robot_dynamics.identification.payload import estimate_payload as estimate_payload
from robot_dynamics.identification.recording import Recording as Recording
from robot_dynamics.identification.recording import RecordingError as RecordingError
from robot_dynamics.identification.recording import by_joint as by_joint
from robot_dynamics.identification.report import plot as plot
from robot_dynamics.identification.report import text as text
