# SPDX-License-Identifier: Apache-2.0
"""Ablation of the search of causes: its stages exist, and searches with shared results agree."""

import numpy as np
import pytest

from benchmarks import evaluation as rates
from benchmarks import evaluation_ablation as ablation
from robot_dynamics.evaluation import causes, evaluation


def test_changes_are_undone():
    for of in (ablation.stages(), ablation.halved()):
        for changes in of.values():
            assert changes
            before = [vars(thing).get(name) for thing, name, _ in changes]
            with ablation.changed(changes):
                assert all(getattr(thing, name) is value for thing, name, value in changes)
            assert [vars(thing).get(name) for thing, name, _ in changes] == before


@pytest.mark.slow
def test_searches_that_share_results_find_the_same_and_each_has_a_name():
    noise, seed, asked, counts = rates.NOISES[0], 7, ablation._Asked(), []
    error = rates.error('kuka_iiwa', 'correct', 'slow', seed)
    recording = rates.recording(error, 'slow', noise, seed)
    with ablation.changed([(evaluation, 'find_causes', asked)]):
        alone = evaluation.evaluate(rates.arm('kuka_iiwa'), recording)
    searches, kept = causes._Search._searches, {}

    def counted(search, *arguments):
        found = searches(search, *arguments)
        counts.append(len(found))
        return found

    with ablation.changed([*ablation.once(kept), (causes._Search, '_searches', counted)]):
        for _ in range(2):
            found, _ = causes.find_causes(*asked.arguments)
            assert rates.outcome(found, error, noise) == rates.outcome(alone, error, noise)
            np.testing.assert_array_equal(found.unexplained, alone.unexplained)
            counts.append(len(kept))
    assert counts[0] == counts[2] == len(ablation.SEARCHES)
    assert counts[1] == counts[3]
