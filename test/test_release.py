# SPDX-License-Identifier: Apache-2.0
"""Files of a release agree, and a release with a placeholder is rejected."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import release
import yaml

import robot_dynamics

ROOT = release.ROOT
VERSION = robot_dynamics.__version__
LISTS = ['Added', 'Changed', 'Fixed', 'Removed']


def test_all_files_name_one_version():
    assert set(release.versions(ROOT).values()) == {VERSION}
    # The documentation takes it from the package.
    conf = ROOT / 'docs' / 'conf.py'
    assert release.found(conf, r'^version = release = (.*)$') == 'robot_dynamics.__version__'


def test_all_files_name_one_maintainer():
    maintainer = ElementTree.parse(ROOT / 'package.xml').find('maintainer')
    named = (maintainer.text, maintainer.get('email'))
    (author,) = citation()['authors']
    assert (author['name'], author['email']) == named
    patterns = (r"^    maintainer='(.*)',$", r"^    maintainer_email='(.*)',$")
    assert tuple(release.found(ROOT / 'setup.py', pattern) for pattern in patterns) == named


def test_all_files_name_one_repository():
    (url,) = ElementTree.parse(ROOT / 'package.xml').findall('url')
    assert url.get('type') == 'repository'
    assert citation()['repository-code'] == url.text
    assert release.found(ROOT / 'setup.py', r"^REPOSITORY = '(.*)'$") == url.text


def citation():
    return yaml.safe_load((ROOT / 'CITATION.cff').read_text())


def test_the_citation_has_what_its_format_requires():
    fields = citation()
    assert fields['cff-version'] == '1.2.0'
    assert fields['license'] == 'Apache-2.0'
    assert all(fields[key] for key in ('message', 'title', 'abstract', 'authors'))


# -- the check of RELEASE.md ---------------------------------------------------------------------


COMPLETE = {
    'setup.py': "VERSION = '0.2.0'\n",
    'package.xml': '<package>\n  <version>0.2.0</version>\n</package>\n',
    'robot_dynamics/__init__.py': "__version__ = '0.2.0'\n",
    'CITATION.cff': 'version: 0.2.0\ndate-released: 2030-01-31\n',
    'CHANGELOG.rst': '0.2.0 (2030-01-31)\n---\n* New.\n\n0.1.0 (2029-01-31)\n---\n* Old.\n',
    'SECURITY.md': '**Contact:** jane.doe@arms.org\n',
}


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the files of a complete release."""
    (tmp_path / 'robot_dynamics').mkdir()
    for name, text in COMPLETE.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_complete_release_lacks_nothing(checkout):
    assert release.lacking(checkout, '0.2.0') == []


def test_a_placeholder_is_rejected(checkout):
    for name, text in release.PLACEHOLDERS.items():
        (checkout / name).write_text(COMPLETE[name] + text)
        assert release.lacking(checkout, '0.2.0') == [f'{name}: the placeholder {text!r} is left']
        (checkout / name).write_text(COMPLETE[name])


def test_another_version_is_rejected(checkout):
    for name in release.VERSIONS:
        (checkout / name).write_text(COMPLETE[name].replace('0.2.0', '0.3.0'))
        line = f'{name}: the version is 0.3.0; expected 0.2.0'
        assert line in release.lacking(checkout, '0.2.0')
        (checkout / name).write_text(COMPLETE[name])


def test_a_version_without_a_date_is_rejected(checkout):
    text = 'Forthcoming\n---\nThe first release, 0.2.0.\n'
    (checkout / 'CHANGELOG.rst').write_text(text)
    assert release.lacking(checkout, '0.2.0') == [
        'CHANGELOG.rst: there is no heading "0.2.0 (YYYY-MM-DD)"',
        'CITATION.cff: date-released is 2030-01-31; expected the date of the heading',
    ]


def test_another_date_is_rejected(checkout):
    text = COMPLETE['CITATION.cff'].replace('2030', '2029')
    (checkout / 'CITATION.cff').write_text(text)
    (line,) = release.lacking(checkout, '0.2.0')
    assert 'date-released is 2029-01-31' in line


def test_the_check_ends_with_exit_code_1_and_names_each_file():
    lines = release.lacking(ROOT, '9.9.9')
    done = subprocess.run(
        [sys.executable, release.__file__, '9.9.9'], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()) == (1, lines)
    assert {line.partition(':')[0] for line in lines} >= {*release.VERSIONS}


# -- the changelog -------------------------------------------------------------------------------


def versions_of_changelog():
    """Return the headings of the changelog with the text below each."""
    text = (ROOT / 'CHANGELOG.rst').read_text()
    _, *parts = re.split(r'^(.+)\n-{3,}\n', text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_changelog_has_the_format_of_ros():
    """As REP 132: bloom omits headings below that of a version, and what is under them."""
    versions = versions_of_changelog()
    assert versions
    form = r'Forthcoming|\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)'
    assert [heading for heading in versions if not re.fullmatch(form, heading)] == []
    for text in versions.values():
        assert re.findall(r'^([^\w\s])\1{2,}$', text, re.MULTILINE) == []


def test_each_version_lists_what_is_added_changed_fixed_and_removed():
    for text in versions_of_changelog().values():
        before, *parts = re.split(r'^\*\*(\w+)\*\*$', text, flags=re.MULTILINE)
        names, lists = parts[::2], parts[1::2]
        assert names
        assert names == [name for name in LISTS if name in names]
        # Each list is below its name.
        assert '\n* ' not in before
        assert all('\n* ' in entries for entries in lists)


# -- the files of the hosting site ---------------------------------------------------------------


def test_the_workflow_runs_what_continuous_integration_runs():
    workflow = yaml.safe_load((ROOT / '.github' / 'workflows' / 'ci.yml').read_text())
    (job,) = workflow['jobs'].values()
    assert job['timeout-minutes'] == 90
    commands = [step['run'] for step in job['steps'] if 'run' in step]
    assert commands == ['python test/release.py "$GITHUB_REF_NAME"', '${{ matrix.command }}']
    of_images = {run['image']: run['command'] for run in job['strategy']['matrix']['include']}
    # The newest Python runs the fast tests.
    assert of_images == {'python:3.11-bookworm': '.ci/run', 'python:3.14-bookworm': './run test'}
    assert Path(ROOT, '.ci', 'run').stat().st_mode & 0o100


def test_forms_of_issues_have_questions():
    forms = sorted((ROOT / '.github' / 'ISSUE_TEMPLATE').glob('*.yml'))
    assert forms
    for form in map(yaml.safe_load, (file.read_text() for file in forms)):
        assert form['name']
        assert form['description']
        assert all(question['attributes'] for question in form['body'])
        assert any(question['type'] != 'markdown' for question in form['body'])
