# SPDX-License-Identifier: Apache-2.0
"""A table-top arm of position servos, and recordings of its commands and positions."""

import numpy as np

from robot_dynamics import Dynamics, parse_urdf
from robot_dynamics.recordings import Recording
from robot_dynamics.simulation import FrictionSettings, PerStep, Servo, simulate_batch

# name, origin, axis, mass, centre of mass, moments of inertia
LINKS = (
    ('pan', '0 0 0.05', '0 0 1', 0.10, '0 0 0.03', (8e-5, 8e-5, 3e-5)),
    ('lift', '0 0 0.06', '0 1 0', 0.20, '0.02 0 0.10', (3e-4, 3e-4, 5e-5)),
    ('elbow', '0 0 0.12', '0 1 0', 0.15, '0.10 0 0', (4e-5, 3e-4, 3e-4)),
    ('roll', '0.16 0 0', '1 0 0', 0.10, '0.05 0 0', (2e-5, 8e-5, 8e-5)),
)
DT = 0.02  # s between samples
STEP = 2e-4  # s, of the simulation
ENCODER = 2 * np.pi / 4096  # rad


def table_arm_urdf(joints=4):
    """Return the description of the first joints of the arm."""
    parts, parent = ['<robot name="table_arm"><link name="base"/>'], 'base'
    for name, origin, axis, mass, com, (xx, yy, zz) in LINKS[:joints]:
        parts.append(
            f'<link name="{name}_link"><inertial><origin xyz="{com}"/>'
            f'<mass value="{mass}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" '
            'iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{name}_link"/><origin xyz="{origin}"/><axis xyz="{axis}"/>'
            '<limit lower="-2" upper="2" effort="100" velocity="20"/></joint>'
        )
        parent = f'{name}_link'
    return ''.join([*parts, '</robot>'])


def table_arm(joints=4):
    """Return the arm as described: without friction, armature and servos."""
    return Dynamics(parse_urdf(table_arm_urdf(joints)))


def drawn_servos(joints, seed):
    """Return servos as those of hobby arms: kp, D, A, fc, tmax and delay, (n,) each."""
    rng = np.random.default_rng(seed)
    return {
        'kp': 8.9 * rng.uniform(0.8, 1.2, joints),
        'D': 0.6 * rng.uniform(0.7, 1.3, joints),
        'A': 0.028 * rng.uniform(0.7, 1.3, joints),
        'fc': rng.uniform(0.05, 0.2, joints),
        'tmax': np.full(joints, 3.25),
        'delay': np.full(joints, rng.uniform(0.005, 0.03)),
    }


def chirp(t, rng):
    """Return a sine of 0.1 to 4 Hz in 20 s."""
    f = 0.1 * 40.0 ** (((t * rng.uniform(0.9, 1.1)) % 20) / 20)
    return 0.17 * np.sin(2 * np.pi * np.cumsum(f) * DT + rng.uniform(0, 6))


def steps(t, rng):
    """Return jumps every 1.2 s, which saturate the servos."""
    return rng.uniform(-0.35, 0.35, int(t[-1] / 1.2) + 1)[(t / 1.2).astype(int)]


def ramps(t, rng):
    """Return slow ramps with rests."""
    times = np.cumsum(rng.uniform(0.6, 2.0, int(t[-1]) + 2))
    goals = np.repeat(rng.uniform(-0.35, 0.35, len(times) // 2 + 1), 2)[: len(times)]
    return np.interp(t, times, goals)


def smooth(t, rng):
    """Return a sum of sines up to 0.6 Hz, as of teleoperation."""
    x = sum(
        rng.uniform(0.3, 1) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6))
        for f in rng.uniform(0.05, 0.6, 6)
    )
    return 0.35 * x / np.abs(x).max()


def mix(t, rng):
    """Return a chirp, steps and ramps, one after the other."""
    third = len(t) // 3
    parts = (make(t[: len(t) - 2 * third], rng) for make in (chirp, steps, ramps))
    return np.concatenate([x[:third] for x in parts] + [np.zeros(3)])[: len(t)]


def commands(kind, joints, seconds, seed):
    """Return times (k,) and commands (k, n)."""
    rng, t = np.random.default_rng(seed), np.arange(0, seconds, DT)
    return t, np.column_stack([kind(t, rng) for _ in range(joints)])


def positions(servos, t, u, encoder=ENCODER, presliding=1e-5):
    """Return simulated positions (k, n) of the arm, as its encoders read them."""
    model = table_arm(u.shape[1]).model.with_actuation(
        gear_ratio=1.0, rotor_inertia=servos['A'], viscous=servos['D'], coulomb=servos['fc']
    )
    every = round(DT / STEP)
    run = simulate_batch(
        Dynamics(model),
        u[:1],
        np.zeros(u.shape[1]),
        PerStep(np.repeat(u[:-1], every, axis=0)),
        steps=every * (len(t) - 1),
        time_step=STEP,
        servo=Servo(servos['kp'], 0.0, servos['delay'], servos['tmax']),
        friction=FrictionSettings('coulomb_memory', presliding=presliding),
        record_every=every,
    )
    return np.round(run.q[0] / encoder) * encoder if encoder else run.q[0]


def recording(t, u, q, **more):
    """Return commands (k, n) and positions (k, n) as a recording without efforts."""
    names = tuple(link[0] for link in LINKS[: u.shape[1]])
    return Recording(names, t, q, None, None, command=u, **more)
