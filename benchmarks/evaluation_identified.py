# SPDX-License-Identifier: Apache-2.0
"""Rates of `evaluate` on identified models: payloads named, and estimates that cover.

    python -m benchmarks.evaluation_identified --arms 8 --first-seed 0

A simulated arm, as in config/realistic_panda.yaml with other links and gains for each seed, is
identified from one motion. The model is that of the identified URDF, without rotors. Recordings
of other motions have a payload at the tip, on the axis of the last joint or beside it, or none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.evaluation import CERTAIN, MOTIONS, REAL, motion
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.evaluation import Evaluation, evaluate, text
from robot_dynamics.identification import identify
from robot_dynamics.recordings import Recording
from robot_dynamics.simulation import HardwareProfile, load_profile, record_tracking
from robot_dynamics.urdf.loading import load_urdf

LINK = 'panda_link8'
RATE = 1000.0  # samples per second
GAINS = 0.01, 0.02  # least and largest error of a drive
MASSES = 0.4, 1.5  # kg, least and largest payload
BESIDE = 0.08  # m from the axis of the last joint


class Payload(NamedTuple):
    """A payload of a recording, and how the evaluation names it."""

    mass: float  # kg
    com: Array  # (3,) m, frame of LINK
    named: str  # 'payload', 'alternative' or ''
    other: int  # links, frictions or rotors named in addition, or instead
    covered: bool | None  # by the payload's stated error; None if it is not named


def arm(description: RobotModel, seed: int) -> tuple[RobotModel, HardwareProfile]:
    """Return the true robot, and its sensors and drives."""
    rng = np.random.default_rng(seed)
    n = description.n
    gain = 1 + rng.choice([-1, 1], n) * rng.uniform(*GAINS, n)
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    profile = replace(profile, drives=replace(profile.drives, gain=gain))
    return profile.actual(description, seed=seed), profile


def recorded(
    true: RobotModel, description: RobotModel, profile: HardwareProfile, of: str, seed: int
) -> Recording:
    """Return a recording of a robot that is controlled by its description."""
    _, *along = motion(description, of, RATE, seed)
    (one,) = record_tracking(
        Dynamics(true),
        Reference(*along),
        profile,
        seeds=[seed],
        controller=Dynamics(description),
        rate=RATE,
    )
    return Recording(description.joint_names, one.t, one.q, one.qd, one.effort)


def outcome(found: Evaluation, mass: float, com: Array) -> Payload:
    """Return how a payload is named, and the number of other causes.

    Every link of an identified model has a small error, so that others are not all false.
    """
    truth = ('load', LINK)
    named, other, covered = '', 0, None
    for cause in found.causes:
        of_payload = [
            one for one in (cause, *cause.alternatives) if (one.kind, one.place) == truth
        ]
        if of_payload and mass > 0:
            named = 'payload' if of_payload[0] is cause else 'alternative'
            off = of_payload[0].value - [mass, *com]
            covered = bool((np.abs(off) <= CERTAIN * of_payload[0].error).all())
        elif cause.kind not in REAL:
            other += 1
    return Payload(mass, com, named, other, covered)


def outcomes(arms: int, first_seed: int, verbose: bool = False) -> Iterator[Payload]:
    """Yield the outcomes of all arms, motions and payloads."""
    description = load_urdf(share_file('urdf/panda.urdf'))
    for seed in range(first_seed, first_seed + arms):
        true, profile = arm(description, seed)
        run = recorded(true, description, profile, 'fast', seed)
        model = Dynamics(
            identify(Dynamics(description), run).model.with_actuation(rotor_inertia=0.0)
        )
        rng = np.random.default_rng(seed)
        for k, of in enumerate((*MOTIONS, *MOTIONS, 'fast')):
            mass, com = rng.uniform(*MASSES), np.array([0.0, 0.0, rng.uniform(0.03, 0.15)])
            if k >= len(MOTIONS):
                com[:2] = rng.uniform(-BESIDE, BESIDE, 2)
            if k == 2 * len(MOTIONS):
                mass = 0.0
            loaded = true.with_payload(LINK, mass, com) if mass > 0 else true
            other = recorded(loaded, description, profile, of, 1000 + 10 * seed + k)
            found = evaluate(model, other)
            one = outcome(found, mass, com)
            if verbose and (one.other or (mass > 0 and not one.covered)):
                print(f'--- {seed}, {of}: {one}\n{text(found)}', flush=True)
            yield one


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rates."""
    parser = argparse.ArgumentParser(description='Rates of `evaluate` on identified models.')
    add = parser.add_argument
    add('--arms', type=int, default=1, help='arms, of seven recordings each')
    add('--first-seed', type=int, default=0)
    add('--verbose', action='store_true', help='show recordings whose causes are not as wanted')
    options = parser.parse_args(arguments)
    found = list(outcomes(options.arms, options.first_seed, options.verbose))
    loaded = [one for one in found if one.mass > 0]
    print('| payload | recordings | named | as alternative | another cause | within 3 sigma |')
    for title, some in (
        ('on the axis', [one for one in loaded if not one.com[:2].any()]),
        ('beside it', [one for one in loaded if one.com[:2].any()]),
        ('none', [one for one in found if one.mass == 0]),
    ):
        print(
            f'| {title} | {len(some)} | {sum(one.named == "payload" for one in some)} '
            f'| {sum(one.named == "alternative" for one in some)} '
            f'| {sum(one.other > 0 for one in some)} '
            f'| {sum(bool(one.covered) for one in some)} |'
        )
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
