# SPDX-License-Identifier: Apache-2.0
"""Frames of drives in MIT mode, and an arm that such drives hold, without ROS.

A frame has position, velocity, both gains and torque in 8 bytes. The drive closes the loop at its
own rate, until the next frame, with

    tau = kp (q_d - q) + kd (qd_d - qd) + tau_ff

`ControlLoop` gives the numbers of a frame for each joint. Run this file for the difference that
tau_ff makes: a simulated Panda with the gains of light arms, held with and without it.

`StandInDrive` takes the place of a drive; for a real one, send the frame on its bus. The ranges
and the order of the fields are those of its data sheet; they differ from drive to drive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import robot_dynamics as rd

PERIOD, STEP = 0.005, 0.0005  # s, of the loop and of the drives


class Field(NamedTuple):
    """Range and bits of a number in the frame."""

    low: float
    high: float
    bits: int

    def rounded(self, value: float) -> float:
        """Return a value within the range, as the bits hold it."""
        return self.low + self.of(value) / (2**self.bits - 1) * (self.high - self.low)

    def of(self, value: float) -> int:
        """Return the bits of a value; one beyond the range is clamped to it."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(share * (2**self.bits - 1))


def fields_of(q: float, qd: float, tau: float) -> dict[str, Field]:
    """Return the fields of a drive with these ranges: rad, rad/s and N m in both directions."""
    return {
        'q': Field(-q, q, 16),
        'qd': Field(-qd, qd, 12),
        'kp': Field(0.0, 500.0, 12),
        'kd': Field(0.0, 5.0, 12),
        'tau': Field(-tau, tau, 12),
    }


FIELDS = fields_of(12.5, 45.0, 54.0)


def pack(fields: dict[str, Field] = FIELDS, **values: float) -> bytes:
    """Return a frame; numbers beyond their range are clamped to it."""
    frame = 0
    for name, field in fields.items():
        frame = frame << field.bits | field.of(values[name])
    return frame.to_bytes(8, 'big')


def unpack(data: bytes, fields: dict[str, Field] = FIELDS) -> dict[str, float]:
    """Return the numbers in a frame, rounded to its bits."""
    frame, values = int.from_bytes(data, 'big'), {}
    for name, (low, high, bits) in reversed(fields.items()):
        values[name] = low + (frame & 2**bits - 1) / (2**bits - 1) * (high - low)
        frame >>= bits
    return values


def frames(command: rd.Command, fields: Sequence[dict[str, Field]]) -> list[bytes]:
    """Return a frame for each joint."""
    rows = zip(*command, fields, strict=True)
    return [pack(of, q=q, qd=qd, kp=kp, kd=kd, tau=tau) for q, qd, kp, kd, tau, of in rows]


class StandInDrive:
    """What a drive does with its frames, and its gains, N m/rad and N m s/rad."""

    def __init__(self, kp: float, kd: float, fields: dict[str, Field] = FIELDS) -> None:
        for name, gain in (('kp', kp), ('kd', kd)):
            if not 0 < gain <= fields[name].high:
                raise ValueError(f'{name} is {gain}; expected 0 to {fields[name].high:g}')
        self.kp, self.kd, self.fields = kp, kd, fields
        self.desired = {'q': 0.0, 'qd': 0.0, 'kp': 0.0, 'kd': 0.0, 'tau': 0.0}
        self.frames = 0

    def receive(self, frame: bytes) -> None:
        """Use a frame until the next one."""
        self.desired = unpack(frame, self.fields)
        self.frames += 1

    def torque(self, q: float, qd: float) -> float:
        """Return the torque [N m] at a measured position [rad] and velocity [rad/s]."""
        d = self.desired
        return d['kp'] * (d['q'] - q) + d['kd'] * (d['qd'] - qd) + d['tau']


def sag(
    loop: rd.ControlLoop,
    arm: rd.Dynamics,
    drives: Sequence[StandInDrive],
    start: np.ndarray,
    with_torque: bool = True,
    duration: float = 4.0,
) -> np.ndarray:
    """Return how far (n,) a simulated arm is in the end from where it is to be held, rad.

    Nothing holds it before, so that it sinks in the soft start.

    Args:
        loop: computes the frames.
        arm: which the drives move; it may differ from that of the loop.
        drives: n.
        start: (n,) where it is held, rad.
        with_torque: whether the frames have tau_ff.
        duration: s.
    """
    q, qd, fields = np.array(start), np.zeros(len(start)), [drive.fields for drive in drives]
    for k in range(round(duration / PERIOD)):
        measured = (  # as the drives report it
            [field['q'].rounded(value) for value, field in zip(q, fields, strict=True)],
            [field['qd'].rounded(value) for value, field in zip(qd, fields, strict=True)],
        )
        command = loop.command(PERIOD * k, *measured)
        if not with_torque:
            command = command._replace(tau=np.zeros(len(q)))
        for drive, frame in zip(drives, frames(command, fields), strict=True):
            drive.receive(frame)
        for _ in range(round(PERIOD / STEP)):
            tau = [drive.torque(*state) for drive, *state in zip(drives, q, qd, strict=True)]
            qd = qd + STEP * arm.forward_dynamics(q, qd, tau, friction='none')
            q = q + STEP * qd
    if loop.fault:
        raise RuntimeError(loop.fault)
    return q - start


def main() -> None:
    """Hold an arm with and without tau_ff."""
    arm = rd.Dynamics(rd.load_urdf('panda'))
    kp, kd = [400.0, 400.0, 400.0, 400.0, 30.0, 30.0, 30.0], [5.0, 5.0, 5.0, 5.0, 0.3, 0.3, 0.3]
    start = np.array([0.0, -0.4, 0.0, -1.8, 0.0, 1.6, 0.8])
    drives = [
        StandInDrive(*gains, fields_of(12.5, 45.0, 90.0)) for gains in zip(kp, kd, strict=True)
    ]
    for name, with_torque in (('without', False), ('with', True)):
        off = sag(rd.ControlLoop(arm, kp=kp, kd=kd), arm, drives, start, with_torque)
        print(f'{name} tau_ff: {1e3 * np.abs(off).max():.1f} mrad from the reference')


if __name__ == '__main__':
    main()
