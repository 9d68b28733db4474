# SPDX-License-Identifier: Apache-2.0
"""Rates of errors named, and of estimates that cover the truth.

docs/appendices/evaluation_rates.md has the table of `python -m benchmarks.evaluation`; here are
parts of it.
"""

import numpy as np
import pytest

from benchmarks import evaluation_identified
from benchmarks.evaluation import ERRORS, MOTIONS, NOISES, Noise, Realistic, outcomes, rates

GAINS = [k for k, noise in enumerate(NOISES) if isinstance(noise, Realistic) and noise.gain]
LITTLE = [NOISES.index(Noise(*noise)) for noise in ((0.005, 1000.0), (0.01, 250.0))]
FALSE, NAMED, COVERED = 0.05, 0.9, 0.95


def joined(table):
    return [one for of in table.values() for one in of]


@pytest.mark.slow
def test_errors_of_one_robot_are_named():
    found = joined(outcomes(ERRORS, LITTLE[1:], ['panda'], ['slow']))
    assert rates(found)[:2] == (1.0, 0.0)


@pytest.mark.slow
def test_realistic_arms_have_stribeck_friction_of_their_own():
    assert not outcomes(['Stribeck friction'], GAINS)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['payload', 'scale'])
@pytest.mark.parametrize('k', GAINS)
def test_errors_of_one_arm_with_inexact_gains_cover_the_truth(kind, k):
    found = joined(outcomes([kind], [k], ['panda'], ['slow']))
    assert rates(found)[0] == 1
    assert rates(found)[3] == 1


@pytest.mark.soak
def test_errors_of_arms_with_inexact_gains_cover_the_truth():
    found = joined(outcomes(['payload', 'scale', 'tilt'], GAINS))
    assert rates(found)[0] >= NAMED
    assert rates(found)[3] >= COVERED


@pytest.mark.soak
@pytest.mark.parametrize('kind', ERRORS)
def test_errors_are_named_and_their_estimates_cover_the_truth(kind):
    # In fast motion, friction at low speed is above the cut-off frequency.
    motions = [of for of in MOTIONS if (kind, of) != ('Stribeck friction', 'fast')]
    found = joined(outcomes([kind], LITTLE, motions=motions))
    named, false, _, covered = rates(found)
    assert named >= NAMED
    assert false <= FALSE
    assert np.isnan(covered) == (kind == 'inner link')
    assert not covered < COVERED


@pytest.mark.soak
def test_payloads_of_an_identified_arm_are_named_and_cover_the_truth():
    found = list(evaluation_identified.outcomes(1, 600))
    loaded = [one for one in found if one.mass > 0]
    assert len(loaded) == len(found) - 1
    assert all(one.named for one in loaded)
    assert all(one.covered for one in loaded)
