# SPDX-License-Identifier: Apache-2.0
"""Links in the pages, the README and the notebooks lead somewhere; elements of XML are shown."""

import re
from pathlib import Path

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


def leads_somewhere(link, page):
    if re.match(r'https?://', link):
        return True
    target, _, anchor = link.partition('#')
    file = (page.parent / target).resolve() if target else page
    return file.exists() and (not anchor or anchor in anchors(file))


def test_links_lead_somewhere():
    links = [(page, link) for page in PAGES for link in LINK.findall(text_without_code(page))]
    assert len(links) > len(PAGES)
    assert [(page.name, link) for page, link in links if not leads_somewhere(link, page)] == []


def test_every_folder_of_pages_has_pages():
    folders = {page.parent.name for page in PAGES}
    assert folders >= {'start', 'guides', 'concepts', 'reference', 'api', 'textbook', 'appendices'}


def test_no_element_is_taken_for_markup():
    # A browser would not show <dynamics> unless its bracket is escaped.
    found = {page.name: MARKUP.findall(text_without_code(page)) for page in PAGES}
    assert {page: elements for page, elements in found.items() if elements} == {}
