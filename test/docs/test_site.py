# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds without warnings and without ROS, and works offline."""

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import browser
import pytest

DOCS = Path(__file__).parents[2] / 'docs'
BUILD = """
import sys
sys.modules['rclpy'] = None  # as where ROS is not installed
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """Build the site without executing the notebooks, which have tests of their own."""
    folder = tmp_path_factory.mktemp('site')
    arguments = ['-W', '--keep-going', '-q', '-D', 'nb_execution_mode=off', '-b', 'html']
    done = subprocess.run(
        [sys.executable, '-c', BUILD, *arguments, str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stderr.splitlines()] == [
        ['docs:', stage] for stage in ('reading', 'linking', 'writing', 'done')
    ]
    return folder


class Loaded(html.parser.HTMLParser):
    """Collects what a browser loads for a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in ('script', 'img', 'iframe', 'source', 'video'):
            self.addresses.append(found.get('src') or '')
        if tag == 'link' and found.get('rel') in ('stylesheet', 'icon', 'preload'):
            self.addresses.append(found['href'])


@pytest.mark.slow
def test_pages_load_nothing_from_the_network(site):
    pages = list(site.rglob('*.html'))
    assert len(pages) > 40
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text())
        for address in filter(None, loaded.addresses):
            assert not re.match(r'(https?:)?//', address), (page.name, address)
            assert (page.parent / address.split('?')[0].split('#')[0]).exists(), address


@pytest.mark.slow
def test_equations_and_the_search_are_local(site):
    assert (site / '_static' / 'mathjax' / 'tex-chtml.js').stat().st_size > 500_000
    assert list(site.glob('_static/mathjax/output/chtml/fonts/**/*.woff'))
    scorer = (site / '_static' / 'language_data.js').read_text()
    (folders,) = re.findall(r'^const FOLDERS = \{(.*)\};$', scorer, re.MULTILINE)
    for folder in re.findall(r'(\w+):', folders):
        assert list((site / folder).glob('*.html')), folder
    index = (site / 'searchindex.js').read_text()
    for word in ('coriolis', 'passiv', 'jacobian', 'feedforward_nod'):
        assert f'"{word}' in index or f'{word}:' in index, word


@pytest.mark.slow
def test_every_verb_and_public_name_is_on_a_page(site):
    from verbs import verbs

    commands = (site / 'reference' / 'command_line.html').read_text()
    for verb in verbs():
        assert f'id="{verb}"' in commands
    names = (site / 'reference' / 'api' / 'robot_dynamics.html').read_text()
    for name in ('Dynamics.inverse_dynamics', 'load_urdf', 'RobotModel', 'ShapeError'):
        assert f'id="robot_dynamics.{name}"' in names
    assert 'docs/guides/' not in names  # pages are links


@pytest.mark.slow
def test_equations_have_tags_that_mathjax_accepts(site):
    for page in site.rglob('*.html'):
        for equation in re.findall(
            r'\\begin\{split\}.*?\\end\{split\}', page.read_text(), re.DOTALL
        ):
            assert r'\tag' not in equation, page.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ('number', 'page'),
    [('6.63', 'spong'), ('9.55', 'lynch_park'), ('2.3', 'milicevic'), ('(46)', 'lecture_notes')],
)
def test_the_search_finds_the_number_of_an_equation(site, number, page):
    index = json.loads(
        (site / 'searchindex.js').read_text().removeprefix('Search.setIndex(').rstrip(')')
    )
    found = index['terms'][number]
    assert index['docnames'].index(f'textbook/{page}') in (
        found if isinstance(found, list) else [found]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ('words', 'first'),
    [
        ('payload', 'guides/payloads.html'),
        ('getting started', 'start/install.html#getting-started'),
        ('gravity compensation', 'guides/feedforward.html#gravity-compensation'),
    ],
)
@pytest.mark.skipif(not (browser.CHROMIUM and browser.DRIVER), reason='needs Chromium')
def test_the_search_of_files_finds_pages_first_with_excerpts(site, words, first):
    window = browser.Browser()
    try:
        window.driver.get(f'{(site / "search.html").as_uri()}?q={words}')
        window.until(
            lambda: 'Results' in window.driver.find_element('css selector', 'h2').text, 'results'
        )
        links = window.driver.execute_script(
            "return [...document.querySelectorAll('.search li > a')].map(a => a.href)"
        )
        excerpts = window.driver.execute_script(
            "return [...document.querySelectorAll('.search .context')].map(p => p.textContent)"
        )
        sections = window.driver.execute_script(
            "return [...document.querySelectorAll('.search .context a')].map(a => a.href)"
        )
    finally:
        window.close()
    assert links[0].endswith(first)
    assert len(excerpts) > 3
    assert all(excerpts)
    for address in sections:
        page, _, anchor = address.removeprefix('file://').partition('#')
        assert f'id="{anchor}"' in Path(page).read_text()
