# SPDX-License-Identifier: Apache-2.0
"""Robots of every kind, their canonical trees, and Pinocchio models of the same robots."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import robots
from pin_model import PinRobot

from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import planar_2r, random_tree


def _with_frame(model: RobotModel, seed: int = 0) -> RobotModel:
    """Return the model with the frame `tool` somewhere on its last body."""
    tool = random_tree(1, np.random.default_rng(seed)).placement[0]
    return replace(
        model,
        frame_names=(*model.frame_names, 'tool'),
        frame_body=np.append(model.frame_body, model.nb - 1),
        frame_placement=np.concatenate([model.frame_placement, [tool]]),
    )


def random_model(seed: int, largest: int = 12) -> RobotModel:
    """Return a random tree of up to `largest` joints with a tool frame; half have rotors."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, largest + 1))
    model = random_tree(n, rng, branching=rng.uniform(0, 0.6), prismatic=rng.uniform(0, 0.6))
    if rng.random() < 0.5:
        model = model.with_actuation(gear_ratio=10.0, rotor_inertia=rng.uniform(0, 0.1, n))
    return _with_frame(model, seed)


def mimic_model(seed: int) -> RobotModel:
    """Return a random tree whose joints follow about half as many coordinates."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    k = int(rng.integers(1, n + 1))
    S = rng.integers(-2, 3, (n, k)) * rng.uniform(0.3, 1.0, (n, k))
    S[rng.permutation(n)[:k], np.arange(k)] = 3.0
    model = with_coordinates(random_tree(n, rng), S, rng.uniform(-1, 1, n))
    return _with_frame(replace(model, reflected_inertia=rng.uniform(0, 1, k)), seed)


def across_model() -> RobotModel:
    """Return two arms of two joints, whose elbows follow one coordinate: a gripper's fingers.

    Only this coordinate couples the shoulders, so that eliminating it creates a non-zero entry.
    """
    model = random_tree(4, np.random.default_rng(8), branching=0.0)
    model = replace(model, parent=[-1, -1, 0, 1])
    return _with_frame(with_coordinates(model, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -0.7]]))


MODELS = {
    'planar_2r': lambda: _with_frame(planar_2r()),
    'one_joint': lambda: _with_frame(random_tree(1, np.random.default_rng(0))),
    'prismatic': lambda: _with_frame(random_tree(4, np.random.default_rng(1), prismatic=1.0)),
    'chain': lambda: _with_frame(
        random_tree(9, np.random.default_rng(2), branching=0.0, prismatic=0.0)
    ),
    'star': lambda: _with_frame(random_tree(5, np.random.default_rng(3), branching=1.0)),
    **{f'tree{seed}': lambda seed=seed: random_model(seed) for seed in range(6)},
    'across': across_model,
    **{f'mimic{seed}': lambda seed=seed: mimic_model(seed) for seed in range(4)},
    **{name: lambda name=name: robots.load(name) for name in robots.NAMES},
}


def _last_frame(model: RobotModel, body: int) -> str:
    return model.frame_names[int(np.flatnonzero(model.frame_body == body)[-1])]


@cache
def case(name: str) -> SimpleNamespace:
    """Return a model, its canonical tree, its Pinocchio model, and random states."""
    model = MODELS[name]()
    rng = np.random.default_rng(7)
    states = [rng.uniform(-2.0, 2.0, (3, model.n)) for _ in range(3)]
    return SimpleNamespace(
        model=model,
        tree=canonical_tree(model),
        pin=PinRobot(model),
        states=states,
        frames=[_last_frame(model, i) for i in (-1, model.nb // 2, model.nb - 1)],
    )


@pytest.fixture(params=MODELS)
def robot(request) -> SimpleNamespace:
    return case(request.param)


@pytest.fixture(scope='session')
def make_random():
    """Return the maker of random models from a seed."""
    return random_model


@pytest.fixture(scope='session')
def make_mimic():
    """Return the maker of random models with coordinate maps from a seed."""
    return mimic_model


def _relative(ours, theirs, scale=0.0) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    difference = np.abs(ours - theirs).max(initial=0.0)
    size = max(np.abs(theirs).max(initial=0.0), scale)
    return 0.0 if difference == 0.0 else float(difference / size)


@pytest.fixture
def relative():
    """Return the largest difference relative to the largest entry, or to a given scale."""
    return _relative
