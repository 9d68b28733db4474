# SPDX-License-Identifier: Apache-2.0
"""The page on the verb lists the kinds of findings as they are."""

import re
from pathlib import Path

from robot_dynamics.check.findings import KINDS, TIERS

PAGE = (Path(__file__).parents[2] / 'docs' / 'guides' / 'check.md').read_text()


def test_the_page_lists_every_kind_with_its_tier_and_reason():
    rows = re.findall(r'^\| `([\w-]+)` \| (\w+) \| [^|]+ \| ([^|]+?) \|', PAGE, re.MULTILINE)
    listed = {kind: (tier, why.replace('²', '^2')) for kind, tier, why in rows if kind in KINDS}
    assert listed == {name: (kind.tier, kind.why) for name, kind in KINDS.items()}
    assert list(listed) == list(KINDS)


def test_tiers_are_those_of_the_page():
    assert {kind.tier for kind in KINDS.values()} == set(TIERS)
