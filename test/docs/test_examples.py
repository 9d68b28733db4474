# SPDX-License-Identifier: Apache-2.0
"""Pages without a test of their own: their Python runs, in order and in one namespace each."""

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ('start', 'concepts', 'reference/api', 'textbook')
TESTED = {'textbook'}  # elsewhere
PAGES = [
    page
    for folder in FOLDERS
    for page in sorted((ROOT / 'docs' / folder).glob('*.md'))
    if page.stem not in TESTED
]
GUIDES = (
    *('arrays', 'batches_and_derivatives', 'contact', 'dh_tables', 'four_bar', 'impedance'),
    *('leading', 'moveit', 'moving_base', 'payloads', 'ur_friction', 'view', 'without_ros'),
)
PAGES += [ROOT / 'docs' / 'guides' / f'{name}.md' for name in GUIDES]


def code_of(page):
    return re.findall(r'^```python\n(.*?)^```', page.read_text(), re.DOTALL | re.MULTILINE)


WITH_CODE = [page for page in PAGES if code_of(page)]


@pytest.mark.parametrize('page', WITH_CODE, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    if 'robot_dynamics.ros' in page.read_text():
        pytest.importorskip('rclpy')
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for code in code_of(page):
            exec(compile(code, page.name, 'exec'), names)


@pytest.mark.parametrize('page', WITH_CODE, ids=lambda page: page.stem)
def test_an_example_imports_what_it_uses(page):
    """The first block of a page stands alone: a reader copies it."""
    first = code_of(page)[0]
    assert 'import' in first
