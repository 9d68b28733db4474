# SPDX-License-Identifier: Apache-2.0
"""docs/appendices/newcomer_tasks.md: the places that it names exist, and hold what it names."""

import re
from pathlib import Path

import pytest
from markdown_pages import LINK, anchors, section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / 'docs' / 'appendices' / 'newcomer_tasks.md'
ROWS = [
    [cell.strip() for cell in line.strip('|').split('|')]
    for line in PAGE.read_text().splitlines()
    if '`' in line and line.startswith('|')
]


def test_there_are_thirty_tasks_within_three_looks():
    tasks = {task for task, *_ in ROWS}
    assert len(tasks) == len(ROWS) == 30
    assert all(1 <= int(looks) <= 3 for *_, looks in ROWS)


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row[0])
def test_the_answer_is_at_the_named_place(row):
    _, answer, *_ = row
    (name,) = re.findall(r'`([^`]+)`', answer)
    # Pages of the site cannot link to the README.
    sections = [(ROOT / 'README.md').read_text()] if answer.startswith('README') else []
    for link in LINK.findall(answer):
        target, _, anchor = link.partition('#')
        file = (PAGE.parent / target).resolve()
        assert not anchor or anchor in anchors(file), link
        sections.append(section(file, anchor))
    assert any(name.lower() in text.lower() for text in sections)
