# SPDX-License-Identifier: Apache-2.0
"""Rates of `evaluate` on simulated recordings: false causes, causes found, errors that cover.

    python -m benchmarks.evaluation --seeds 2 --only correct payload

A recording is a motion of a known robot, its inverse dynamics and noise. The model is either that
of the recording ('correct'), or lacks one thing ('payload', 'dry friction', ...), whose size is
chosen by its share of a joint's effort. A realistic arm has errors of its own, which are no false
causes: scales, offsets, delay and Stribeck friction.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks import robots
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import Array, axis_rotation
from robot_dynamics.control import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED
from robot_dynamics.core.friction.laws import STRIBECK_SPEED
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.evaluation import Evaluation, evaluate, text
from robot_dynamics.recordings import Recording
from robot_dynamics.simulation import (
    Actuators,
    FrictionSettings,
    HardwareProfile,
    Sensors,
    encoder_resolution,
    record_motion,
)
from robot_dynamics.urdf.loading import load_urdf

ROBOTS = {'panda': 'panda_link8', 'ur5': 'tool0', 'kuka_iiwa': '', 'chain6': ''}
MOTIONS = ('slow', 'fast', 'point to point')
DURATION = 30.0  # s
ENCODER = 2 * np.pi / 2**14  # rad
SHARE = 0.05  # of a joint's effort: size of an error
HEAVIER = 0.2  # of the mass of an inner link
SEEN = 0.02  # of a joint's effort: an inner link whose error has less is not tried
TILT = np.deg2rad(3.0)
ERRORS = ('payload', 'dry friction', 'Stribeck friction', 'scale', 'inner link', 'tilt')
STRIBECK = 0.03  # of the effort, in the realistic arm
REAL = ('scale', 'offset', 'delay', 'Stribeck friction')  # errors that it has
CERTAIN = 3.0  # standard deviations


class Noise(NamedTuple):
    """Noise of a recording, relative to each joint's standard deviation, and samples per second.

    Without velocities, positions are quantized at 14 bits.
    """

    velocity: float | None
    rate: float
    position: float = 0.0
    effort: float = 0.005

    def __str__(self) -> str:
        how = '14 bits' if self.velocity is None else f'{100 * self.velocity:g} %'
        more = f', positions {100 * self.position:g} %' if self.position else ''
        more += f', efforts {100 * self.effort:g} %' if self.effort != 0.005 else ''
        return f'{how}, {self.rate:g} Hz{more}'


class Realistic(NamedTuple):
    """Sensors and drives in proportion to config/realistic_panda.yaml."""

    friction: str = 'coulomb_memory'
    gain: float = 0.0  # error of the drives
    rate: float = 1000.0

    def __str__(self) -> str:
        more = f', gains {100 * self.gain:g} %' if self.gain else ''
        return f'realistic arm, {self.friction} friction{more}'


NOISES: tuple[Noise | Realistic, ...] = (
    *(Noise(share, rate) for share in (0.005, 0.01, 0.02) for rate in (250.0, 1000.0)),
    Noise(None, 250.0),
    Noise(None, 1000.0),
    # positions and velocities equally bad
    *(Noise(share, rate, share) for share in (0.005, 0.01, 0.02) for rate in (250.0, 1000.0)),
    Noise(0.01, 250.0, 0.001, 0.0),
    Noise(0.01, 250.0, 0.001, 0.05),
    Noise(None, 250.0, 0.0, 0.0),
    Noise(0.01, 100.0, 0.01),
    Realistic(),
    Realistic('stribeck'),
    Realistic('coulomb_memory', 0.015),
)


@dataclass(frozen=True, eq=False)
class Error:
    """A difference between the robot and its model.

    Attributes:
        true: the robot.
        scale: (n,) of its recorded efforts.
        named: kind and place of the cause.
        value: of the cause.
        stribeck: friction of the robot at low speed, which models do not have.
    """

    true: RobotModel
    scale: Array
    named: tuple[str, str] | None
    value: Array
    stribeck: Array | float = 0.0


@cache
def arm(name: str) -> Dynamics:
    """Return a robot whose drives have friction and rotors in proportion to its efforts."""
    # The package's own panda has no fingers.
    packaged = load_urdf(share_file('urdf/panda.urdf')) if name == 'panda' else None
    bare = Dynamics(packaged or robots.find(name).model)
    _, q, qd, qdd = motion(bare.model, 'slow', 100.0, 0)
    size = rms(bare.inverse_dynamics(q, qd, qdd))
    M = bare.mass_matrix(q[::50])
    return Dynamics(
        bare.model.with_actuation(
            viscous=0.03 * size / rms(qd),
            coulomb=0.08 * size,
            rotor_inertia=0.2 * np.diagonal(M, axis1=1, axis2=2).mean(axis=0),
        )
    )


def motion(model: RobotModel, kind: str, rate: float, seed: int) -> tuple[Array, ...]:
    """Return t (k,) and q, qd, qdd (k, n)."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(DURATION * rate)) / rate
    bounded = np.isfinite(model.lower + model.upper)
    middle = np.where(bounded, (model.lower + model.upper) / 2, 0.0)
    reach = np.where(bounded, np.minimum((model.upper - model.lower) / 2, 1.5), 1.5)
    if kind == 'point to point':
        return t, *_point_to_point(t, middle, reach, rng)
    base, harmonics = {'slow': (0.1, 5), 'fast': (0.3, 5)}[kind]
    w = 2 * np.pi * base * np.arange(1, harmonics + 1)[:, None, None]
    size = rng.uniform(0.3, 1.0, (harmonics, 1, model.n)) * reach * 0.25
    phase = rng.uniform(0, 2 * np.pi, size.shape)
    angle = w * t[:, None] + phase
    q = middle + (size * np.sin(angle)).sum(axis=0)
    return t, q, (size * w * np.cos(angle)).sum(axis=0), -(size * w**2 * np.sin(angle)).sum(axis=0)


def _point_to_point(
    t: Array, middle: Array, reach: Array, rng: np.random.Generator
) -> list[Array]:
    """Return quintic moves between random postures, each followed by a rest."""
    duration, rest = 1.5, 0.5
    count = int(t[-1] / (duration + rest)) + 2
    points = middle + reach * rng.uniform(-0.9, 0.9, (count, len(middle)))
    k = (t / (duration + rest)).astype(int)
    s = np.clip((t - k * (duration + rest)) / duration, 0, 1)[:, None]
    way = points[k + 1] - points[k]
    return [
        points[k] + way * (10 * s**3 - 15 * s**4 + 6 * s**5),
        way * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        way * (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    ]


def recording(error: Error, of: str, noise: Noise | Realistic, seed: int) -> Recording:
    """Return a recording of a motion of the robot."""
    t, q, qd, qdd = motion(error.true, of, noise.rate, seed)
    true = Dynamics(error.true)
    if isinstance(noise, Realistic):
        return _realistic(true, error, Reference(q, qd, qdd), noise, seed)
    dry = np.tanh(qd / COULOMB_SPEED)
    effort = true.inverse_dynamics(q, qd, qdd) + true.friction_torque(qd)
    effort += error.stribeck * dry * np.exp(-((qd / STRIBECK_SPEED) ** 2))
    rng = np.random.default_rng(10_000 + seed)
    effort = effort + noise.effort * effort.std(axis=0) * rng.normal(size=q.shape)
    if noise.velocity is None:
        q, measured = ENCODER * np.round(q / ENCODER), None
    else:
        q = q + noise.position * q.std(axis=0) * rng.normal(size=q.shape)
        measured = qd + noise.velocity * qd.std(axis=0) * rng.normal(size=q.shape)
    return Recording(error.true.joint_names, t, q, measured, error.scale * effort)


def _realistic(
    true: Dynamics, error: Error, along: Reference, noise: Realistic, seed: int
) -> Recording:
    size = rms(true.inverse_dynamics(*along))
    profile = HardwareProfile(
        Sensors(
            position_resolution=encoder_resolution(20),
            velocity='differentiated',
            velocity_cutoff=100.0,
            effort_noise=0.02 * size,
            effort_bandwidth=20.0,
            effort_offset=0.02 * size * _signs(len(size), seed)[0],
            latency=1e-3,
            jitter=2e-4,
        ),
        Actuators(
            bandwidth=100.0,
            gain=_gains(noise, len(size), seed),
            ripple=0.01 * size,
            ripple_periods=30.0,
        ),
        FrictionSettings(
            noise.friction, stribeck=(noise.friction == 'stribeck') * STRIBECK * size
        ),
    )
    (one,) = record_motion(true, along, profile, seeds=[seed], rate=noise.rate)
    return Recording(error.true.joint_names, one.t, one.q, one.qd, error.scale * one.effort)


def _signs(n: int, seed: int) -> Array:
    """Return the signs (3, n) of the errors of sensors and drives."""
    return np.asarray(np.random.default_rng(seed).choice([-1.0, 1.0], (3, n)))


def _gains(noise: Realistic, n: int, seed: int) -> Array:
    """Return the torques (n,) of the drives per reported torque."""
    return np.asarray(1 + noise.gain * _signs(n, seed)[1])


def recorded(true: Error, noise: Noise | Realistic, seed: int) -> Error:
    """Return an error whose scale includes the gain of the drive, as the recording does."""
    if not isinstance(noise, Realistic) or true.named is None or true.named[0] != 'scale':
        return true
    j = true.true.joint_names.index(true.named[1])
    gain = _gains(noise, true.true.n, seed)[j]
    return replace(true, value=(1 + true.value) / gain - 1)


def error(name: str, kind: str, of: str, seed: int) -> Error:
    """Return a robot that differs from its model by one error; each seed has another joint."""
    model, rng = arm(name).model, np.random.default_rng(77 + seed)
    ones = np.ones(model.n)
    _, *state = motion(model, of, 50.0, seed)
    size = rms(arm(name).inverse_dynamics(*state) + arm(name).friction_torque(state[1]))
    j = int(rng.integers(model.n))
    if kind == 'correct':
        return Error(model, ones, None, np.zeros(0))
    if kind == 'dry friction':
        more = SHARE * size[j]
        coulomb = model.coulomb + more * np.eye(model.n)[j]
        true = model.with_actuation(coulomb=coulomb)
        return Error(true, ones, (kind, model.joint_names[j]), np.array([more]))
    if kind == 'Stribeck friction':
        low = np.tanh(state[1] / COULOMB_SPEED) * np.exp(-((state[1] / STRIBECK_SPEED) ** 2))
        more = SHARE * size / rms(low) * np.eye(model.n)[j]
        named = (kind, model.joint_names[j])
        return Error(model, ones, named, np.array([more[j]]), stribeck=more)
    if kind == 'scale':
        scale = ones + SHARE * np.eye(model.n)[j]
        return Error(model, scale, (kind, model.joint_names[j]), np.array([SHARE]))
    if kind == 'tilt':
        axis = rng.normal(size=3)
        axis -= model.gravity * (axis @ model.gravity) / (model.gravity @ model.gravity)
        gravity = axis_rotation(axis / np.linalg.norm(axis), TILT) @ model.gravity
        return Error(model.with_gravity(gravity), ones, ('gravity', ''), gravity - model.gravity)
    if kind == 'payload':
        link = ROBOTS[name] or model.link_names[-1]
        com = rng.uniform(-0.1, 0.1, 3)
        one = torque(model.with_payload(link, 1.0, com), state) - torque(model, state)
        main = int(np.argmax(size))
        mass = SHARE * size[main] / rms(one)[main]
        true = model.with_payload(link, mass, com)
        return Error(true, ones, ('load', link), np.array([mass, *com]))
    bodies = [heavier(model, i) for i in range(model.nb - 1)]
    shares = [(rms(torque(b, state) - torque(model, state)) / size).max() for b in bodies]
    i = int(rng.choice([i for i, share in enumerate(shares) if share > SEEN]))
    return Error(bodies[i], ones, ('inertia', model.body_names[i]), np.zeros(0))


def heavier(model: RobotModel, i: int) -> RobotModel:
    mass, tensor = model.mass.copy(), model.inertia_com.copy()
    mass[i] *= 1 + HEAVIER
    tensor[i] *= 1 + HEAVIER
    return replace(model, mass=mass, inertia_com=tensor)


def torque(model: RobotModel, state: Sequence[Array]) -> Array:
    return Dynamics(model).inverse_dynamics(*state)


def rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))


class Outcome(NamedTuple):
    """One recording: whether its error is named, what else is, and its estimates over errors."""

    named: bool
    false: int
    covered: list[bool]
    undetermined: bool


def outcome(found: Evaluation, true: Error, noise: Noise | Realistic) -> Outcome:
    named, false, covered = true.named is None, 0, []
    for cause in found.causes:
        if (cause.kind, cause.place) == true.named:
            named = True
            if len(true.value) == len(cause.value):
                inside = np.abs(cause.value - true.value) <= CERTAIN * cause.error
                covered.append(bool(inside.all()))
        elif not (isinstance(noise, Realistic) and cause.kind in REAL):
            false += 1
    cannot_tell = found.doubtful or not found.searched or true.named in found.undetermined
    return Outcome(named, false, covered, cannot_tell)


def possible(kind: str, noise: Noise | Realistic) -> bool:
    """Return whether an error can be added: realistic arms have Stribeck friction anyway."""
    return not (kind == 'Stribeck friction' and isinstance(noise, Realistic))


def outcomes(
    kinds: Sequence[str],
    noises: Sequence[int],
    names: Sequence[str] = tuple(ROBOTS),
    motions: Sequence[str] = MOTIONS,
    seeds: int = 1,
    first_seed: int = 0,
    show: Callable[[str], None] = lambda line: None,
) -> dict[tuple[str, str], list[Outcome]]:
    """Return the outcomes by error and noise, of all robots, motions and seeds."""
    table: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    recordings = list(enumerate(product(names, motions, range(seeds)), start=first_seed))
    for kind, k, (i, (name, of, _)) in product(kinds, noises, recordings):
        noise, seed = NOISES[k], len(recordings) * k + i
        if not possible(kind, noise):
            continue
        true = error(name, kind, of, seed)
        found = evaluate(arm(name), recording(true, of, noise, seed))
        one = outcome(found, recorded(true, noise, seed), noise)
        table[kind, str(noise)].append(one)
        if one.false or not one.named or not all(one.covered) or one.undetermined:
            show(f'--- {kind} {true.named} {true.value}, {name}, {of}, {noise}, {seed}: {one}')
            show(text(found))
    return table


def rates(of: Sequence[Outcome]) -> tuple[float, float, float, float]:
    """Return the shares named, with a false cause, undetermined, and of estimates that cover."""
    covered = [inside for one in of for inside in one.covered]
    return (
        float(np.mean([one.named for one in of])),
        float(np.mean([one.false > 0 for one in of])),
        float(np.mean([one.undetermined for one in of])),
        float(np.mean(covered)) if covered else np.nan,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description='Rates of `evaluate` on simulated recordings.')
    add = parser.add_argument
    add('--only', nargs='+', default=['correct', *ERRORS], help='errors of the models')
    add('--robots', nargs='+', default=list(ROBOTS))
    add('--motions', nargs='+', default=MOTIONS)
    add('--noise', type=int, nargs='+', default=range(len(NOISES)), help='indices of NOISES')
    add('--seeds', type=int, default=1, help='recordings of each robot, motion and noise')
    add('--first-seed', type=int, default=0)
    add('--verbose', action='store_true', help='show recordings whose causes are not as wanted')
    options = parser.parse_args(arguments)
    table = outcomes(
        options.only,
        options.noise,
        options.robots,
        options.motions,
        options.seeds,
        options.first_seed,
        print if options.verbose else lambda line: None,
    )
    print('| error | noise | recordings | named | false cause | cannot tell | within 3 sigma |')
    for (kind, noise), of in table.items():
        shares = ' | '.join(f'{share:.1%}' for share in rates(of))
        print(f'| {kind} | {noise} | {len(of)} | {shares} |')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
