# SPDX-License-Identifier: Apache-2.0
"""Recordings of real arms: read, checked, sampled evenly and smoothed.

Input: bags, CSV files and data sets of motions. Output: `Recording`, with the kind and unit of its
efforts; smooth signals and their noise. Other wings use `read_recording`, `read_commands` and
`Recording`.

bag              joint states and robot description of a rosbag2 recording
recording_files  the same of CSV files, and the choice between both by the name of the file
known_headers    headers of the logs of drivers and tools
lerobot          episodes of LeRobot data sets
commands         commands and positions of arms that need not measure efforts
held_commands    commands of drives, held at the times of measured positions
recording        samples by joint in the model's order, and the samples that were omitted
coupling         motors that turn by several joints: robot and recording in their coordinates
drives           friction law, offset and delay of the efforts, beyond the description
sampling         evenly spaced samples between gaps
noise            noise of positions, velocities and efforts, from their spectra
smoothing        smooth positions, velocities and accelerations, without lag
velocities       recorded velocities without their lag, or derivatives of the positions
periods          average of repeated periods
effort_unit      kind and unit of efforts, and whether their scale is known
plausibility     whether a recording is of the joints of a model, in SI units
gravity_setting  whether the efforts include gravity, from postures at rest
effort_columns   columns of an episode: efforts of the model, and torques from outside
effort_curves    figure of measured and computed efforts
"""

from robot_dynamics.recordings.bag import Bag as Bag
from robot_dynamics.recordings.bag import BagError as BagError
from robot_dynamics.recordings.bag import read_bag as read_bag
from robot_dynamics.recordings.commands import CommandLog as CommandLog
from robot_dynamics.recordings.commands import read_commands as read_commands
from robot_dynamics.recordings.coupling import Coupling as Coupling
from robot_dynamics.recordings.coupling import CouplingError as CouplingError
from robot_dynamics.recordings.coupling import read_coupling as read_coupling
from robot_dynamics.recordings.recording import JointSample as JointSample
from robot_dynamics.recordings.recording import Recording as Recording
from robot_dynamics.recordings.recording import RecordingError as RecordingError
from robot_dynamics.recordings.recording import by_joint as by_joint
from robot_dynamics.recordings.recording_files import read_recording as read_recording
