# SPDX-License-Identifier: Apache-2.0
"""Rates of false causes, of recordings of correct models.

docs/appendices/evaluation_rates.md has the table of `python -m benchmarks.evaluation`; here are
parts of it. With at most one false cause of 72 recordings, a rate of 8 % fails with a probability
of 98 %; with at most one of 48, a rate of 10 % with 96 %.
"""

from itertools import product

import pytest
from tiers import soak

from benchmarks.evaluation import MOTIONS, NOISES, ROBOTS, Noise, Realistic, outcomes, rates

WHITE = [k for k, noise in enumerate(NOISES) if isinstance(noise, Noise)]
REALISTIC = [k for k, noise in enumerate(NOISES) if isinstance(noise, Realistic)]
# The largest noise of velocities, and none, at the lowest rate.
WORST = [NOISES.index(Noise(velocity, 250.0)) for velocity in (0.02, None)]


def joined(table):
    return [one for of in table.values() for one in of]


def in_turn(noises, turns):
    """Return the outcomes of correct models: every robot with every noise, in turning motions."""
    found = []
    for turn, k, (i, name) in product(range(turns), noises, enumerate(ROBOTS)):
        of = MOTIONS[(turn + k + i) % len(MOTIONS)]
        seed = len(ROBOTS) * (len(NOISES) * turn + k) + i
        found += joined(outcomes(['correct'], [k], [name], [of], first_seed=seed))
    return found


@pytest.mark.slow
@pytest.mark.parametrize('of', [MOTIONS[0], *soak(MOTIONS[1:])])
@pytest.mark.parametrize('k', [WORST[0], *soak(WORST[1:])])
def test_a_correct_model_of_one_robot_has_no_causes(k, of):
    assert rates(joined(outcomes(['correct'], [k], ['panda'], [of])))[1] == 0


@pytest.mark.soak
def test_correct_models_have_few_false_causes():
    found = in_turn(WHITE, 1)
    assert len(found) == 72
    assert sum(one.false > 0 for one in found) <= 1


@pytest.mark.soak
def test_correct_models_of_realistic_arms_have_few_false_causes():
    found = in_turn(REALISTIC, 4)
    assert len(found) == 48
    assert sum(one.false > 0 for one in found) <= 1
