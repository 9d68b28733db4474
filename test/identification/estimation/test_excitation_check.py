# SPDX-License-Identifier: Apache-2.0
"""Refusals name the recording, also those that are overridden."""

import pytest

from robot_dynamics.identification.estimation.excitation_check import (
    LowExcitationError,
    Refusals,
    RefusedError,
    refused,
)


@pytest.mark.parametrize('kind', [RefusedError, LowExcitationError])
def test_a_refusal_names_its_recording_and_keeps_its_type(kind):
    found = []
    overridden, strict = Refusals(found.append), Refusals(refused)
    for name in ('', 'test recording: '):
        with overridden(name):
            raise kind('too short')
        with pytest.raises(kind, match=f'^{name}too short$'), strict(name):
            raise kind('too short')
    assert [(type(one), str(one)) for one in found] == [
        (kind, 'too short'),
        (kind, 'test recording: too short'),
    ]
    assert overridden.overridden == [f'identified although refused: {one}' for one in found]
    assert strict.overridden == []
