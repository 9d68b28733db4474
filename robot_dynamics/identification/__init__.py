"""How much of the efforts that a robot recorded a model explains, and what it lacks.

bag         joint states and the robot's description, out of a rosbag2 recording
recording   the same by joint, in the model's order, and what had to be left out
motion      smooth positions, velocities and accelerations, without lag
evaluation  measured effort against the model's torque, joint by joint
columns     what would be left over if a cause were missing in the model
causes      which of them are, and how large
report      the findings as text and JSON, the curves as CSV
picture     the curves as a picture

bag = read_bag('run')
arm = Dynamics(load_urdf('panda.urdf'))
found = evaluate(arm, by_joint(bag.samples, arm.model.joint_names))
print(text(found))
"""

from robot_dynamics.identification.bag import Bag as Bag
from robot_dynamics.identification.bag import BagError as BagError
from robot_dynamics.identification.bag import JointSample as JointSample
from robot_dynamics.identification.bag import read_bag as read_bag
from robot_dynamics.identification.causes import Cause as Cause
from robot_dynamics.identification.evaluation import Evaluation as Evaluation
from robot_dynamics.identification.evaluation import evaluate as evaluate
from robot_dynamics.identification.recording import Recording as Recording
from robot_dynamics.identification.recording import RecordingError as RecordingError
from robot_dynamics.identification.recording import by_joint as by_joint
from robot_dynamics.identification.report import text as text
