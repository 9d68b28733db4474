# SPDX-License-Identifier: Apache-2.0
import pytest

from benchmarks.operations import PUBLISHED, counted

# The same sources' figures for six joints.
SIX = [(852, 738), (792, 662), (425, 369)]


@pytest.mark.parametrize(('published', 'wanted'), list(zip(PUBLISHED, SIX, strict=True)))
def test_published_counts_for_six_joints(published, wanted):
    assert published.of(6) == wanted


def test_divisions_count_as_products_and_signs_are_not_counted():
    found = counted({'mul': 5, 'div': 2, 'add': 3, 'sub': 4, 'neg': 9, 'sin': 1})
    assert found == (7, 7)
