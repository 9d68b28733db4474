# SPDX-License-Identifier: Apache-2.0
"""The wheel and the source distribution: they build, agree, and pass the check of an index."""

import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # one build of each

ROOT = Path(__file__).resolve().parents[1]
SHARED = ('launch', 'urdf', 'config', 'config/ros2_control')


def build(source, target, *kinds):
    """Build distributions of a source folder, with the tools that are installed here."""
    subprocess.run(
        [sys.executable, '-m', 'build', '--no-isolation', *kinds, '--outdir', target, source],
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope='module')
def dist(tmp_path_factory):
    """Return the folder of both distributions, each built from the files of the repository."""
    source = tmp_path_factory.mktemp('source') / 'robot_dynamics'
    listed = ['git', '-c', 'safe.directory=*', '-C', ROOT, 'ls-files', '-z']
    files = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    for name in files.split('\0')[:-1]:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp('dist')
    build(source, target, '--sdist', '--wheel')
    return target


def contents(wheel):
    """Return the bytes of each file in a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def description(wheel):
    """Return the metadata of a wheel, whose payload is the README."""
    (text,) = (data for name, data in contents(wheel).items() if name.endswith('/METADATA'))
    return email.message_from_bytes(text)


def test_both_pass_the_strict_check_of_an_index(dist):
    files = sorted(dist.iterdir())
    assert [file.suffix for file in files] == ['.whl', '.gz']
    check = [sys.executable, '-m', 'twine', '--no-color', 'check', '--strict', *files]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('PASSED') == 2


def test_the_source_distribution_builds_the_same_wheel(dist, tmp_path):
    (wheel,), (source,) = dist.glob('*.whl'), dist.glob('*.tar.gz')
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter='data')
    (folder,) = tmp_path.iterdir()
    build(folder, tmp_path / 'again', '--wheel')
    (again,) = (tmp_path / 'again').iterdir()
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def test_the_wheel_has_the_files_of_the_package_and_no_tests(dist):
    (wheel,) = dist.glob('*.whl')
    names = set(contents(wheel))
    package = {
        str(file.relative_to(ROOT))
        for file in (ROOT / 'robot_dynamics').rglob('*')
        if file.is_file() and file.suffix != '.pyc'
    }
    assert {'robot_dynamics/py.typed'} <= package
    assert any('/ros2_control/templates/' in name for name in package)
    (metadata,) = {name.split('/')[0] for name in names if '.dist-info/' in name}
    share = f'{metadata.removesuffix(".dist-info")}.data/data/share'
    shared = {
        f'{share}/robot_dynamics/{file.relative_to(ROOT)}'
        for file in (ROOT / 'package.xml', *(f for d in SHARED for f in (ROOT / d).iterdir()))
        if file.is_file()
    }
    index = f'{share}/ament_index/resource_index/packages/robot_dynamics'
    assert package | shared | {index, f'{metadata}/licenses/LICENSE'} <= names
    others = {name for name in names - package - shared if not name.startswith(metadata)}
    assert others == {index}


def test_links_of_the_description_are_those_of_the_readme_in_the_repository(dist):
    (wheel,) = dist.glob('*.whl')
    metadata = description(wheel)
    (version,) = re.findall(r'<version>(.*)</version>', (ROOT / 'package.xml').read_text())
    assert metadata['Description-Content-Type'] == 'text/markdown'
    linked = re.findall(r'\]\(([^)\s]+)\)', metadata.get_payload())
    assert [link for link in linked if not link.startswith('https://')] == []
    ours = re.compile(rf'https://[^)]*/(?:blob|raw)/{re.escape(version)}/([^#]*)')
    files = {found[1] for found in map(ours.match, linked) if found}
    assert {'docs/start/install.md', 'docs/view.gif', 'CONTRIBUTING.md'} <= files
    assert sorted(name for name in files if not (ROOT / name).exists()) == []
