# SPDX-License-Identifier: Apache-2.0
"""Record a simulated arm that follows a trajectory: a stand-in for a real robot.

    robot-dynamics excite panda --output motion.yaml
    python examples/record_simulated_arm.py motion.yaml run

The arm differs from its description as real ones do: links by 5 to 10 %, friction, offsets,
noise, gains and ripple of the drives (config/realistic_panda.yaml). The recording is a rosbag2
folder with joint states at 1 kHz and the description, as `robot-dynamics record` makes it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, load_urdf
from robot_dynamics.common.extras import ExtraMissing, needed
from robot_dynamics.common.resources import share_file
from robot_dynamics.control import Reference
from robot_dynamics.control.trajectory_file import read_trajectory
from robot_dynamics.simulation import load_profile, record_tracking
from robot_dynamics.urdf.loading import urdf_text

RATE = 1000.0  # Hz
SECOND = 1_000_000_000  # ns


def rosbags():
    """Return the modules that write bags and messages. Raises ExtraMissing without rosbags."""
    with needed('bags', 'recordings are written by rosbags'):
        from rosbags import rosbag2, typesys
    return rosbag2, typesys


def write_bag(folder: Path, names, recording, description: str) -> None:
    """Write a rosbag2 folder with joint states and the robot description."""
    rosbag2, typesys = rosbags()
    store = typesys.get_typestore(typesys.Stores.LATEST)
    State, Header, String, Time = (
        store.types[name]
        for name in (
            'sensor_msgs/msg/JointState',
            'std_msgs/msg/Header',
            'std_msgs/msg/String',
            'builtin_interfaces/msg/Time',
        )
    )
    mcap = rosbag2.StoragePlugin.MCAP
    with rosbag2.Writer(folder, version=9, storage_plugin=mcap) as bag:
        states, texts = (
            bag.add_connection(topic, kind.__msgtype__, typestore=store)
            for topic, kind in (('/joint_states', State), ('/robot_description', String))
        )
        bag.write(texts, SECOND, store.serialize_cdr(String(description), String.__msgtype__))
        for t, *values in zip(*recording[:4], strict=True):
            stamp = SECOND + round(t * SECOND)
            header = Header(Time(*divmod(stamp, SECOND)), '')
            message = State(header, list(names), *values)
            bag.write(states, stamp, store.serialize_cdr(message, State.__msgtype__))


def main() -> None:
    """Record one motion."""
    parser = argparse.ArgumentParser(description='Record a simulated arm.')
    parser.add_argument('trajectory', type=Path, help='YAML file of `robot-dynamics excite`')
    parser.add_argument('bag', type=Path, help='new folder')
    parser.add_argument('--robot', default='panda', help='description of the arm (panda)')
    parser.add_argument('--seed', type=int, default=0, help='of the measurement errors (0)')
    parser.add_argument('--payload', type=float, default=0.0, help='at the last link, kg (0)')
    options = parser.parse_args()
    try:
        rosbags()  # before the simulation, which takes seconds
    except ExtraMissing as error:
        parser.exit(2, f'{parser.prog}: {error}\n')
    model = load_urdf(options.robot)
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    actual = profile.actual(model, seed=0)
    if options.payload:
        actual = actual.with_payload(model.link_names[-1], options.payload, [0.0, 0.0, 0.1])
    trajectory = read_trajectory(options.trajectory).in_order(model.joint_names)
    t = np.arange(trajectory.times[0], trajectory.duration, 1 / RATE)
    (recording,) = record_tracking(
        Dynamics(actual),
        Reference(*trajectory.sample(t)),
        profile,
        seeds=[options.seed],
        controller=Dynamics(model),
        rate=RATE,
    )
    text = urdf_text(options.robot)
    description = text.decode() if isinstance(text, bytes) else text
    write_bag(options.bag, model.joint_names, recording, description)
    print(f'{options.bag}: {recording.t[-1]:.1f} s of {model.name}, {len(recording.t)} states')


if __name__ == '__main__':
    main()
