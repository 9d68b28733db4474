# SPDX-License-Identifier: Apache-2.0
"""Links in the pages, the README and the notebooks lead somewhere; elements of XML are shown."""

import re
from pathlib import Path

import pytest
from markdown_pages import LINK, anchors

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob('*.md')),
    *sorted((ROOT / 'examples').rglob('*.md')),
    *sorted(
        page
        for page in (ROOT / 'docs').rglob('*.md')
        if not {'_build', 'notebooks'} & set(page.relative_to(ROOT).parts)
    ),
]
MARKUP = re.compile(r'(?<!\\)</?(?!sub\b|sup\b|br\b|https?:)[a-zA-Z][^\n>]*>')


def text_without_code(page):
    text = re.sub(r'^```.*?^```', '', page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r'`[^`\n]*`', 'code', text)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(text_without_code(page)):
        if re.match(r'https?://', link):
            continue
        target, _, anchor = link.partition('#')
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file), link


def test_every_folder_of_pages_has_pages():
    folders = {page.parent.name for page in PAGES}
    assert folders >= {'start', 'guides', 'concepts', 'reference', 'api', 'textbook', 'appendices'}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_element_is_taken_for_markup(page):
    # A browser would not show <dynamics> unless its bracket is escaped.
    assert MARKUP.findall(text_without_code(page)) == []
