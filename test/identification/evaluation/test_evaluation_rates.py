# SPDX-License-Identifier: Apache-2.0
"""Rates of false causes, of recordings of correct models.

docs/appendices/evaluation_rates.md has the table of `python -m benchmarks.evaluation`; here are
parts of it.
"""

import pytest

from benchmarks.evaluation import NOISES, Noise, Realistic, outcomes, rates

WHITE = [k for k, noise in enumerate(NOISES) if isinstance(noise, Noise)]
REALISTIC = [k for k, noise in enumerate(NOISES) if isinstance(noise, Realistic)]
# The largest noise of velocities, and none, at the lowest rate.
WORST = [NOISES.index(Noise(velocity, 250.0)) for velocity in (0.02, None)]
FALSE = 0.05


def joined(table):
    return [one for of in table.values() for one in of]


def test_a_correct_model_of_one_robot_has_no_causes():
    assert rates(joined(outcomes(['correct'], WORST, ['panda'])))[1] == 0


@pytest.mark.slow
def test_correct_models_have_few_false_causes():
    found = joined(outcomes(['correct'], WHITE))
    assert len(found) == 12 * len(WHITE)
    assert rates(found)[1] <= FALSE


@pytest.mark.slow
def test_correct_models_of_realistic_arms_have_few_false_causes():
    assert rates(joined(outcomes(['correct'], REALISTIC, seeds=2)))[1] <= FALSE
