# SPDX-License-Identifier: Apache-2.0
"""Recordings for the tests: a known robot on a known motion, and rosbag2 folders of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.recordings import JointSample

START = 1_700_000_000 * SECOND


def lively(model, duration=20.0, rate=500.0, seed=0):
    """Return t (k,) and q, qd, qdd (k, n) of a motion of all joints, sums of slow sines."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    w = 2 * np.pi * rng.uniform(0.1, 0.9, (3, 1, model.n))
    size, phase = rng.uniform(0.1, 0.35, w.shape), rng.uniform(0, 2 * np.pi, w.shape)
    angle = w * t[:, None] + phase
    middle = np.where(np.isfinite(model.lower + model.upper), (model.lower + model.upper) / 2, 0.0)
    q = middle + (size * np.sin(angle)).sum(axis=0)
    return t, q, (size * w * np.cos(angle)).sum(axis=0), -(size * w**2 * np.sin(angle)).sum(axis=0)


def torque(model, q, qd, qdd):
    """Return the motor torques of a robot along a motion, friction included."""
    arm = Dynamics(model)
    return arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)


def samples(names, t, q, qd, effort):
    """Return joint states; without velocities if qd is None."""
    stamps = START + np.round(t * SECOND).astype(np.int64)
    empty = np.zeros(0)
    return [
        JointSample(int(s), int(s) + 1000, tuple(names), q[k], empty if qd is None else qd[k], e)
        for k, (s, e) in enumerate(zip(stamps, effort, strict=True))
    ]


def write_bag(folder: Path, topics, *, storage='mcap', descriptions=None, file_compression=False):
    """Write a rosbag2 folder with the library's own writer, and return it.

    Args:
        folder: new.
        topics: lists of JointSamples by topic.
        storage: 'mcap' or 'sqlite3'.
        descriptions: URDF texts by topic.
        file_compression: compress the whole file, as `ros2 bag record --compression-mode file`.
    """
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    state, header, text, time = (
        store.types[name]
        for name in (
            'sensor_msgs/msg/JointState',
            'std_msgs/msg/Header',
            'std_msgs/msg/String',
            'builtin_interfaces/msg/Time',
        )
    )
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if file_compression:
        writer.set_compression(CompressionMode.FILE, CompressionFormat.ZSTD)
    with writer:
        for topic, urdf in (descriptions or {}).items():
            connection = writer.add_connection(topic, text.__msgtype__, typestore=store)
            data = store.serialize_cdr(text(urdf), text.__msgtype__)
            writer.write(connection, START, data)
        for topic, states in topics.items():
            connection = writer.add_connection(topic, state.__msgtype__, typestore=store)
            for one in states:
                message = state(
                    header(time(*divmod(one.stamp, SECOND)), ''),
                    list(one.names),
                    *(np.asarray(x, dtype=float) for x in one[3:]),
                )
                data = store.serialize_cdr(message, state.__msgtype__)
                writer.write(connection, one.logged, data)
    return folder
