# SPDX-License-Identifier: Apache-2.0
"""Texts of the sections of all pages, in one script: the search shows excerpts without a server.

Sphinx fetches each page that it found, which browsers do not allow for pages opened as files.
"""

import html.parser
import json
from pathlib import Path

UNSEEN = {'script', 'style', 'nav', 'button', 'svg'}


def setup(app):
    """Register the script and the writer of the texts."""
    app.connect('html-page-context', add_scripts)
    app.connect('build-finished', write)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}


def add_scripts(app, page, _template, _context, _doctree):
    """Load the texts in the page of the search alone."""
    if page == 'search':
        app.add_js_file('search_texts.js', priority=900)
        app.add_js_file('excerpts.js', priority=901)


def write(app, error):
    """Write `[[anchor, heading, text], ...]` of each built page, in the order of the page."""
    if error or app.builder.name != 'html':
        return
    out = Path(app.outdir)
    texts = {name: sections((out / f'{name}.html').read_text()) for name in app.env.found_docs}
    line = f'const SEARCH_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n'
    (out / '_static' / 'search_texts.js').write_text(line)


def sections(page):
    """Return anchor, heading and text of the sections and the entries of an HTML page."""
    reader = Sections()
    reader.feed(page)
    return [[anchor, *map(tidy, texts)] for anchor, *texts in reader.found]


def tidy(parts):
    """Return one line without the signs of the permanent links."""
    return ' '.join(''.join(parts).replace('¶', ' ').split())


class Sections(html.parser.HTMLParser):
    """Collects the text of the main part of a page, by section and by documented object."""

    def __init__(self):
        super().__init__()
        self.found = []
        self._heading = None
        self._main, self._unseen = 0, 0

    def handle_starttag(self, tag, attrs):
        """Begin a section, a heading, or a part without text."""
        given = dict(attrs)
        if given.get('role') == 'main':
            self._main += 1
        if not self._main:
            return
        self._unseen += tag in UNSEEN
        if given.get('id') and tag in ('section', 'dt'):
            self.found.append((given['id'], [], []))
        if tag in ('h1', 'h2', 'h3', 'h4', 'dt') and self.found:
            self._heading = tag

    def handle_endtag(self, tag):
        """End a heading, a part without text, or the main part."""
        if self._main and tag == 'article':
            self._main = 0
        self._unseen -= bool(self._main and tag in UNSEEN)
        if tag == self._heading:
            self._heading = None

    def handle_data(self, data):
        """Take text into the heading or the body of the section."""
        if self._main and not self._unseen and self.found:
            self.found[-1][1 if self._heading else 2].append(data)
