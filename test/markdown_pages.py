# SPDX-License-Identifier: Apache-2.0
"""Links, headings and sections of Markdown pages."""

import re

LINK = re.compile(r'\]\(([^)\s]+)\)')


def anchors(page):
    """Return the anchors that GitHub and Sphinx make of the headings of a page."""
    text = re.sub(r'^```.*?^```', '', page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r'^#+ (.*)$', text, re.MULTILINE):
        yield _slug(heading)
    yield from re.findall(r'^\(([\w-]+)\)=$', text, re.MULTILINE)


def section(page, anchor):
    """Return the text from a heading to the next one of its level; of the whole page for ''."""
    text = page.read_text()
    parts = re.split(r'^(?=#+ )', text, flags=re.MULTILINE)
    for k, part in enumerate(parts):
        heading, _, _ = part.partition('\n')
        if anchor and _slug(heading.lstrip('#')) == anchor:
            deeper = heading[: heading.index(' ')] + '#'
            below = parts[k + 1 :]
            ends = [j for j, after in enumerate(below) if not after.startswith(deeper)]
            return ''.join([part, *below[: ends[0] if ends else None]])
    return text


def _slug(heading):
    plain = re.sub(r'[^\w\- ]', '', heading.replace('`', '').lower())
    return plain.strip().replace(' ', '-')
